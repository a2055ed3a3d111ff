//! Inheritance: what is merged, what stays, what is refused.

mod chains;
mod differences;
mod formats;
mod generated;
mod merging;
mod trust;
mod vectors;

use agentry_compile::{CompiledAgent, MemoryWorld, WorkspaceConfig, check, discover};

/// Checks the one agent at `path`.
pub(super) fn checked(world: &MemoryWorld, path: &str) -> CompiledAgent {
    let found = discover(world, &[path.to_owned()], None, &|_| false);
    let found = found.agents.first().expect("an agent");
    check(world, found, &WorkspaceConfig::read(world, ""))
}

/// The codes and messages of the errors of an agent.
pub(super) fn errors(compiled: &CompiledAgent) -> Vec<String> {
    use agentry_compile::text::Severity;
    let errors = compiled.diagnostics.iter().filter(|found| found.severity == Severity::Error);
    errors.map(|found| format!("{} {}", found.rule.code, found.message)).collect()
}
