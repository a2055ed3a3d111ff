//! What the fuzz targets share: bytes become the files of an agent, the agent goes through
//! everything that a command does with it, and what must always hold is asserted.

pub mod agent;
pub mod convert;
pub mod execution;
pub mod pattern;
pub mod text;
