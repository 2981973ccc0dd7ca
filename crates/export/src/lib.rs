//! Chooses sessions, assembles, masks and pairs them, and writes training sets.
