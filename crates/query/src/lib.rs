//! The SQL surface: views, saved queries, the read-only guard.
