//! Finds finished traces, cuts segments, uploads and commits batches.
