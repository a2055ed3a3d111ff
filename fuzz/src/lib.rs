//! What the fuzz targets share: bytes become the files of an agent, every command runs on the agent,
//! and invariants are asserted.

pub mod agent;
pub mod convert;
pub mod execution;
pub mod harness;
pub mod pattern;
pub mod text;
