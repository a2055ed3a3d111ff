//! The files that may lie beside a manifest: skills and memories.

use agentry_model::{MemoryFile, SkillPack};
use agentry_text::Findings;

use crate::{Package, front};

/// The skills of `skills/`: `NAME/SKILL.md`, or a Markdown file of its own. Only path and text: what
/// a skill says of itself is read by the reader that all formats share.
pub(super) fn skill_packs(package: &mut Package<'_>, findings: &mut Findings) -> Vec<SkillPack> {
    let mut packs = Vec::new();
    for listed in package.files.list("skills", findings) {
        let path = match (listed.is_dir, is_markdown(&listed.name)) {
            (true, _) => format!("{}/SKILL.md", listed.name),
            (false, true) => listed.name,
            (false, false) => continue,
        };
        if let Some(source) = package.read(&format!("skills/{path}"), findings) {
            let text = front::trimmed(&source, source.whole());
            packs.push(SkillPack { path, text, ..SkillPack::default() });
        }
    }
    packs
}

/// The memories of `memory/`, each a Markdown file.
pub(super) fn memories(package: &mut Package<'_>, findings: &mut Findings) -> Vec<MemoryFile> {
    let mut memories = Vec::new();
    for listed in package.files.list("memory", findings) {
        if listed.is_dir || !is_markdown(&listed.name) {
            continue;
        }
        if let Some(source) = package.read(&format!("memory/{}", listed.name), findings) {
            let text = front::trimmed(&source, source.whole());
            let memory = MemoryFile {
                path: listed.name,
                kind: None,
                importance: None,
                created: None,
                source: None,
                text,
            };
            memories.push(memory);
        }
    }
    memories
}

fn is_markdown(name: &str) -> bool {
    name.strip_suffix(".md")
        .is_some_and(|stem| !stem.is_empty() && !stem.eq_ignore_ascii_case("readme"))
}
