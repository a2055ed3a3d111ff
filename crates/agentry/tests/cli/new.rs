//! new
