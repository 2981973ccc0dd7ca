//! Signed verdicts: envelope, statement, trust file, what a flip is and what a cheat is.
