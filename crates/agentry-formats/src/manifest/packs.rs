//! The skills and memories beside a manifest.

use agentry_model::MemoryFile;
use agentry_text::Findings;

use crate::skill::{self, SkillDialect};
use crate::{AgentPackage, front_matter};

/// The dialect of the skills of a manifest. The format does not define their content, so they are read as
/// leniently as those of an agent directory.
pub(super) const DIALECT: SkillDialect = SkillDialect::AgentDir;

/// Reads the memories of `memory/`, each a Markdown file.
pub(super) fn memories(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Vec<MemoryFile> {
    let mut memories = Vec::new();
    for listed in package.files.list("memory", findings) {
        if listed.is_dir || !is_markdown(&listed.name) {
            continue;
        }
        if let Some(source) = package.read(&format!("memory/{}", listed.name), findings) {
            let text = front_matter::trimmed(&source, source.whole());
            let memory = MemoryFile {
                path: listed.name,
                kind: None,
                importance: None,
                created: None,
                source: None,
                pinned: None,
                text,
            };
            memories.push(memory);
        }
    }
    memories
}

fn is_markdown(name: &str) -> bool {
    let stem = name.strip_suffix(".md");
    stem.is_some_and(|stem| !stem.is_empty()) && !skill::is_readme(name)
}
