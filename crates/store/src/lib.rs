//! The bytes in the lake: raw log, tables, derive, compact, read a session.
