//! The nouns of a trace: event, session, outcome. Reads a line, folds a session.
