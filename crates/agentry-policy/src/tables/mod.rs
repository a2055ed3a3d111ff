//! What is known about programs and files of the world outside: plain tables.

pub mod global_options;
pub mod hazards;
