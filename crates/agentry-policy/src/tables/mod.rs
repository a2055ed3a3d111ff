//! What is known about programs and files of the world outside: plain tables.

pub mod builtins;
pub mod environment;
pub mod global_options;
pub mod hazards;
pub mod operands;
pub mod secrets;
pub mod spellings;
pub mod wrappers;
