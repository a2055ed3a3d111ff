//! Receipts by example.
