//! Runs the secret scan and the verdict rules over what is new in the lake.
