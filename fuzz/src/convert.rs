//! Converts an agent of any format to all five.

use agentry_compile::formats::{FORMATS, OutputShape, WriteTarget, convert, info};
use agentry_compile::model::{Agent, Format};
use agentry_compile::text::Severity;
use agentry_compile::{WorkspaceConfig, check};

use crate::agent::agent;

/// Reads the agent in `bytes`, whose first byte is its format, and writes it in every format.
/// A result of an agent without errors must have no errors.
pub fn everywhere(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let Some(info) = FORMATS.get(usize::from(first % 8)) else { return };
    let (world, found) = agent(info.format, bytes);
    let compiled = check(&world, &found, &WorkspaceConfig::default());
    for info in FORMATS {
        for target in targets(info.format, &compiled.agent) {
            let converted = convert(&compiled.agent, info.format, &target);
            let mut findings = converted.findings.iter();
            let error = findings.find(|found| found.severity == Severity::Error);
            let is_sound = compiled.has_errors() || error.is_none();
            assert!(is_sound, "{}: {error:#?}\n{:#?}", info.format, converted.files);
        }
    }
}

fn targets(format: Format, agent: &Agent) -> Vec<WriteTarget> {
    let target = |name: String, shape| WriteTarget { name, shape, ..WriteTarget::default() };
    let name = if agent.name().is_empty() { "helper" } else { agent.name() };
    let files = &info(format).files;
    let file = files.ending.map(|ending| target(format!("help_{name}{ending}"), OutputShape::File));
    let directory = target(name.to_owned(), OutputShape::Directory);
    file.into_iter().chain(Some(directory).filter(|_| !files.mains.is_empty())).collect()
}
