//! The only module here that calls the API: text in, text out.

use agentry_compile::model::Format;
use agentry_compile::{
    AgentDiscovery, FileTree as _, FoundAgent, FoundHarnessFile, MemoryWorld, SearchAs,
    WorkspaceConfig, check, check_harness, check_harness_together, discover_all, duplicate_names,
};

/// A world of files given as paths and texts.
pub(crate) fn world(files: &[(&str, &str)]) -> MemoryWorld {
    MemoryWorld::new(
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())),
    )
}

/// Everything that `check` reports on a world, one finding a line:
/// `path:line:column severity[code] message`.
pub(crate) fn report(world: &MemoryWorld) -> Vec<String> {
    findings(world).into_iter().map(|finding| finding.line).collect()
}

/// A finding, as text and by its code.
#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) hint: String,
    pub(crate) line: String,
}

/// Everything that `check` reports on a world.
pub(crate) fn findings(world: &MemoryWorld) -> Vec<Finding> {
    findings_as(world, None)
}

/// Searches a world. A file that the search does not recognise is named and read as `format`.
fn search(world: &MemoryWorld, config: &WorkspaceConfig, format: Option<Format>) -> AgentDiscovery {
    let found = discover_all(world, &[String::new()], None, &|path| config.excludes_path(path));
    if format.is_none() || !found.agents.is_empty() {
        return found;
    }
    let entries = world.list("", "").unwrap_or_default();
    let names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
    discover_all(world, &names, format.map(SearchAs::Format), &|_| false)
}

/// Everything that `check` reports on a world whose agents are of `format`.
pub(crate) fn findings_as(world: &MemoryWorld, format: Option<Format>) -> Vec<Finding> {
    let config = WorkspaceConfig::read(world, "");
    let found = search(world, &config, format);
    let mut out = Vec::new();
    let mut add = |diagnostics: &[agentry_compile::text::Diagnostic],
                   sources: &agentry_compile::text::SourceFiles| {
        for found in diagnostics {
            let at = sources.start(found.span);
            let (path, code) = (sources.path(found.span), found.rule.code);
            let line = format!(
                "{path}:{}:{} {}[{code}] {}",
                at.line, at.column, found.severity, found.message
            );
            let hint = found.hint.clone().unwrap_or_default();
            out.push(Finding { code, message: found.message.clone(), hint, line });
        }
    };
    add(&config.diagnostics, &config.sources);
    add(&found.diagnostics, &found.sources);
    let mut compiled: Vec<_> =
        found.agents.iter().map(|agent| check(world, agent, &config)).collect();
    let names: Vec<_> = compiled
        .iter()
        .map(|agent| (agent.workspace.clone(), agent.agent.name().to_owned()))
        .collect();
    let names = names.iter().map(|(workspace, name)| (workspace.as_str(), name.as_str()));
    for taken in duplicate_names(names) {
        let first = compiled[taken.first].found.clone();
        compiled[taken.second].name_taken(&first, &config);
    }
    compiled.iter().for_each(|agent| add(&agent.diagnostics, &agent.sources));
    let mut summaries = Vec::new();
    for file in &found.harness {
        let checked = check_harness(world, file, &config);
        add(&checked.diagnostics, &checked.sources);
        summaries.extend(checked.agents.into_iter().map(|agent| (file.clone(), agent)));
    }
    let config = std::sync::Arc::new(config);
    for checked in check_harness_together(world, &summaries, &|_| config.clone()) {
        add(&checked.diagnostics, &checked.sources);
    }
    out
}

/// The agents of a world.
pub(crate) fn agents(world: &MemoryWorld, format: Option<Format>) -> Vec<FoundAgent> {
    search(world, &WorkspaceConfig::default(), format).agents
}

/// The files of harnesses in a world.
pub(crate) fn harness_files(world: &MemoryWorld, format: Option<Format>) -> Vec<FoundHarnessFile> {
    search(world, &WorkspaceConfig::default(), format).harness
}

/// Whether a world has nothing to check.
pub(crate) fn is_empty(world: &MemoryWorld, format: Option<Format>) -> bool {
    let found = search(world, &WorkspaceConfig::default(), format);
    found.agents.is_empty() && found.harness.is_empty()
}
