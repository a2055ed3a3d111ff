//! Limits on sizes. Each is reported with an error, and nothing that exceeds one is accepted.

/// The most bytes that one file of an agent may have.
pub const FILE_BYTES: u64 = 1024 * 1024;
/// The most bytes of one instruction text.
pub const INSTRUCTION_BYTES: usize = 256 * 1024;
/// The deepest nesting of YAML, TOML, JSON and ACL.
pub const DEPTH: usize = 64;
/// The most values of one YAML, TOML, JSON or ACL document, with aliases expanded.
pub const NODES: usize = 20_000;
/// The most levels of inheritance above an agent.
pub const BASES: usize = 16;
/// The most files of one agent.
pub const FILES: usize = 10_000;
