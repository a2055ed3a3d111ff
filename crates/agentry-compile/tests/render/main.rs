//! Rendering for harnesses: each known trap by name, and never wider than the source.

#![expect(clippy::expect_used, reason = "a test that cannot start has failed")]

mod agent_skills;
mod agents_md;
mod agree;
mod back;
mod chiron;
mod claude_code;
mod claude_code_settings;
mod codex;
mod convert;
mod copilot;
mod cursor;
mod formats;
mod gemini;
mod guard;
mod hostile;
mod identity;
mod identity_fields;
mod import_bound;
mod import_gemini;
mod import_hooks;
mod import_least;
mod import_shapes;
mod import_told;
mod narrowing;
mod opencode;
mod opencode_exact;
mod opencode_grants;
mod opencode_guard;
mod opencode_import;
mod opencode_oracle;
mod opencode_probes;
mod opencode_search;
mod original_grants;
mod personal;
mod pi;
mod pi_guard;
mod policies;
mod property;
mod protection;
mod questions;
mod refused;
mod shared_files;
mod skills;
mod survival;
mod toolless;
mod traps;
mod traps_each;

use agentry_compile::targets::ListedFiles;
use agentry_compile::targets::{
    ProjectRendering, RenderScope, RenderSettings, RenderSubject, RenderedAgent, render, target,
};
use agentry_compile::{MemoryWorld, discover, read, subject};

/// A section of permissions in agent-toml.
pub(crate) fn section(name: &str, intent: &str, rules: &[&str]) -> String {
    format!("[permissions.{name}]\nintent = \"{intent}\"\nrules = {rules:?}\n")
}

/// An agent in agent-toml, with these lines after its name and description.
pub(crate) fn agent(name: &str, lines: &str) -> Vec<(String, String)> {
    let head = format!("name = \"{name}\"\ndescription = \"Answers questions\"\n");
    vec![
        (format!("agents/{name}/agent.toml"), format!("{head}{lines}")),
        (format!("agents/{name}/system-prompt.md"), "You answer questions.\n".to_owned()),
    ]
}

/// An agent with all usual fields.
pub(crate) fn chiron() -> Vec<(String, String)> {
    chiron::files()
}

/// The options of a test.
#[derive(Default, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command")]
pub(crate) struct Wish<'a> {
    pub(crate) guard: bool,
    pub(crate) close_gaps: bool,
    pub(crate) unattended: bool,
    /// Whether shared files are left alone.
    pub(crate) unshared: bool,
    /// The fields whose losses are accepted.
    pub(crate) accepted: &'a [&'a str],
    /// Whether files of the user are replaced.
    pub(crate) force: bool,
    /// The scope; a project by default.
    pub(crate) scope: Option<RenderScope>,
    /// Options of the target.
    pub(crate) options: &'a [(&'a str, &'a str)],
    /// The agent's name in the target.
    pub(crate) alias: Option<&'a str>,
    /// Existing files, by path and text.
    pub(crate) existing: &'a [(&'a str, &'a str)],
}

/// Only with the guard.
pub(crate) const GUARD: Wish<'_> = Wish {
    guard: true,
    close_gaps: false,
    unattended: false,
    unshared: false,
    accepted: &[],
    force: false,
    scope: None,
    options: &[],
    alias: None,
    existing: &[],
};

/// The agents among `files`.
pub(crate) fn subjects<T: Clone + Into<Vec<u8>>>(
    files: &[(String, T)],
    alias: Option<&str>,
) -> Vec<RenderSubject> {
    let world = MemoryWorld::new(files.iter().cloned());
    let found = discover(&world, &[String::new()], None, &|_| false);
    let agents = found.agents.iter().map(|found| {
        let compiled = read(&world, found);
        assert!(!compiled.has_errors(), "{:?}", compiled.diagnostics);
        subject(&world, &compiled, alias, true)
    });
    agents.collect()
}

/// The agents among `files`, rendered for a harness.
pub(crate) fn rendering<T: Clone + Into<Vec<u8>>>(
    harness: &str,
    files: &[(String, T)],
    wish: Wish<'_>,
) -> ProjectRendering {
    let subjects = subjects(files, wish.alias);
    let existing = ListedFiles(wish.existing);
    let options: Vec<_> =
        wish.options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let accepted: Vec<String> = wish.accepted.iter().map(|field| (*field).to_owned()).collect();
    let settings = RenderSettings {
        scope: wish.scope.unwrap_or(RenderScope::Project),
        guard: wish.guard,
        close_gaps: wish.close_gaps,
        unattended: wish.unattended,
        shared: !wish.unshared,
        accepted: &accepted,
        force: wish.force,
        options: &options,
        existing: &existing,
    };
    render(target(harness).expect("a target"), &subjects, &settings)
}

/// One agent with these lines, rendered for a harness.
pub(crate) fn one(harness: &str, lines: &str, wish: Wish<'_>) -> RenderedAgent {
    rendering(harness, &agent("helper", lines), wish).agents.remove(0)
}

/// The text of the file whose path ends with this.
pub(crate) fn file<'a>(rendered: &'a RenderedAgent, end: &str) -> &'a str {
    let found = rendered.files.iter().find(|file| file.path.ends_with(end));
    found.unwrap_or_else(|| panic!("no file `{end}`: {:?}", rendered.refused)).text()
}

/// Everything reported to the user, one line each.
pub(crate) fn report_of(rendered: &RenderedAgent) -> String {
    let refused = rendered.refused.iter().map(|it| format!("refused {}: {}", it.field, it.message));
    let losses =
        rendered.losses.iter().map(|it| format!("{} {}: {}", it.kind, it.field, it.detail));
    refused.chain(losses).collect::<Vec<_>>().join("\n")
}
