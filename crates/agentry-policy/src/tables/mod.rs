//! What is known about programs and files of the world outside: plain tables.

pub mod builtins;
pub mod hazards;
pub mod wrappers;
