//! Splits fuzzer input into the files of one agent, and runs the commands on it.

use agentry_compile::formats::info;
use agentry_compile::model::Format;
use agentry_compile::text::report::{github, human, json};
use agentry_compile::text::{Diagnostic, FileId, SourceFiles};
use agentry_compile::{
    CompiledAgent, WorkspaceConfig, FixMode, FoundAgent, MemoryWorld, check, fix, hash, prompt, resolved, rows,
};

/// The separator between files: a form feed, so that seeds are plain text.
const BETWEEN: u8 = 0x0C;

/// The paths of a made-up agent, the main file first.
pub const fn files(format: Format) -> &'static [&'static str] {
    match format {
        Format::AgentMd => &["agents/help_helper.agent.md"],
        Format::AgentToml => &["helper/agent.toml", "helper/system-prompt.md"],
        Format::Manifest => &[
            "helper/agent.yaml",
            "helper/SOUL.md",
            "helper/RULES.md",
            "helper/skills/search/SKILL.md",
            "helper/memory/notes.md",
        ],
        Format::AgentFs => &[
            "helper/agent.json",
            "helper/persona.md",
            "helper/principles.md",
            "helper/skills/search/SKILL.md",
            "helper/memory/notes.md",
            "helper/schedules/daily.json",
            "helper/memory/_policy.json",
        ],
        Format::AgentDir => &[
            "helper/instructions.md",
            "helper/agent.acl",
            "helper/tools/search.md",
            "helper/schedules/daily.md",
            "helper/skills/search/SKILL.md",
            "helper/skills/short.md",
            "helper/tools/count.md",
            "helper/scripts/count.js",
        ],
    }
}

/// The agent in `bytes`: its world and its path. An empty file counts as missing.
pub fn agent(format: Format, bytes: &[u8]) -> (MemoryWorld, FoundAgent) {
    let names = files(format);
    let parts = bytes.splitn(names.len(), |byte| *byte == BETWEEN);
    let all = names.iter().map(|name| (*name).to_owned()).zip(parts);
    let world = MemoryWorld::new(all.filter(|(_, part)| !part.is_empty()));
    let (dir, main) = names[0].split_once('/').unwrap_or_default();
    let is_file = info(format).files.mains.is_empty();
    let path = if is_file { names[0] } else { dir };
    let found = FoundAgent { path: path.to_owned(), dir: dir.to_owned(), main: main.to_owned(), format };
    (world, found)
}

/// Does what the commands do with an agent: checks, shows, hashes and fixes it.
pub fn everything(format: Format, bytes: &[u8]) {
    let (world, found) = agent(format, bytes);
    let config = WorkspaceConfig::default();
    let compiled = check(&world, &found, &config);
    look_at(&compiled);
    let _ = (hash(&world, &compiled), prompt(&world, &compiled));
    look_at(&fix(&world, &found, &config, FixMode::Unsafe).compiled);
}

/// Shows an agent and its findings in every output format.
fn look_at(compiled: &CompiledAgent) {
    let CompiledAgent { agent, sources, diagnostics, .. } = compiled;
    let _ = (rows(agent, compiled), rows(&resolved(compiled), compiled));
    for diagnostic in diagnostics {
        fits(diagnostic, sources);
        let _ = human::render(diagnostic, sources, human::ReportStyle::default());
        let _ = (github::line(diagnostic, sources), json::diagnostic(diagnostic, sources));
    }
}

/// Asserts that every span of a finding is inside its file.
pub fn fits(diagnostic: &Diagnostic, sources: &SourceFiles) {
    let related = diagnostic.related.iter().map(|label| label.span);
    let edits = diagnostic.fix.iter().flat_map(|fix| fix.edits.iter().map(|edit| edit.span));
    for span in std::iter::once(diagnostic.span).chain(related).chain(edits) {
        let source = sources.get(span.file);
        let is_there = source.is_some_and(|source| source.text.get(span.range()).is_some());
        assert!(is_there || span.file == FileId::BUILT_IN, "{span:?} of {diagnostic:#?}");
    }
}
