//! AG7021 to AG7026: names of agents, within a file and across the files of a repository.

use std::collections::HashMap;

use agentry_text::{Diagnostic, Findings, Severity, Span, Spanned, path, rules};

use super::agent::{AgentOrigin, AuthoredAgent};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        REFUSED_NAME: "AG7021",
        BUILT_IN_NAME: "AG7022",
        NAME_CLASH: "AG7023",
        RENAMED_AGENT: "AG7024",
        MERGED_AGENT: "AG7025",
        UNREAD_FILE: "AG7026",
    ]
}

pub(super) fn check(agent: &AuthoredAgent<'_>, findings: &mut Findings) {
    let name = agent.name();
    let title = agent.target.title;
    if let Some(rule) = agent.facts.name.filter(|rule| !(rule.fits)(&name.value)) {
        let message = format!("the name `{}` is not accepted by {title}", name.value);
        findings
            .add(&REFUSED_NAME, name.span, message)
            .hint(format!("use {}; {}", rule.form, rule.otherwise));
    }
    let is_own = |own: &&&str| own.eq_ignore_ascii_case(&name.value);
    // A settings file is the documented way to change a built-in agent.
    let is_file = agent.origin == AgentOrigin::File;
    if is_file && agent.target.built_in.iter().find(is_own).is_some() {
        let message = format!("`{}` is also the name of a built-in agent of {title}", name.value);
        let found = findings.add(&BUILT_IN_NAME, name.span, message);
        let overrides = agent.target.import.as_ref().is_some_and(|import| import.overrides);
        if overrides {
            found.severity = Severity::Note;
            found
                .hint("this file replaces or changes it; choose another name if that is not meant");
        } else {
            found.hint("choose another name");
        }
    }
    if agent.target.name == "opencode"
        && agent.origin == AgentOrigin::File
        && let Some(written) = agent.text("name").filter(|name| name.value != agent.id)
    {
        let message = format!("the agent is called `{}` and not `{}`", written.value, agent.id);
        findings
            .add(&RENAMED_AGENT, written.span, message)
            .hint("remove `name`, or give the file that name");
    }
}

/// Reports an agent file that its harness does not read.
pub(super) fn unread(title: &str, place: Span, path: &str, findings: &mut Findings) {
    let is_nested = path.contains(".gemini/");
    let (message, hint) = if is_nested {
        ("this directory is", "move the file to `.gemini/agents`")
    } else {
        ("a Markdown file here is", "write the agent as `*.toml`")
    };
    findings.add(&UNREAD_FILE, place, format!("{message} not read by {title}")).hint(hint);
}

/// An agent, as far as other agents of the repository matter to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSummary {
    /// The harness.
    pub harness: &'static str,
    /// The directory or file within which names must differ.
    pub scope: String,
    /// Whether it is in a settings file.
    pub in_settings: bool,
    /// The name, with its span.
    pub name: Spanned<String>,
    /// The description, with its span.
    pub description: Option<Spanned<String>>,
}

/// Returns the part of a path up to the directory of agents, within which names must differ.
pub(super) fn scope(path: &str) -> String {
    let dir = ["/agents/", "/agent/", "/modes/", "/mode/"]
        .iter()
        .find_map(|part| path.rfind(part).and_then(|at| path.get(..at + part.len())));
    dir.unwrap_or(path::split(path).0).to_owned()
}

/// Finds agents that share their name with an earlier one: the positions of both, and the finding.
pub(super) fn clashes(agents: &[(&str, &AgentSummary)]) -> Vec<(usize, Diagnostic)> {
    let mut out = Vec::new();
    let mut seen: HashMap<(&str, &str, &str), usize> = HashMap::new();
    let mut by_name: HashMap<(&str, &str), usize> = HashMap::new();
    for (at, (_, agent)) in agents.iter().enumerate().filter(|(_, (_, it))| it.harness != "skill") {
        let key = (agent.harness, agent.scope.as_str(), agent.name.value.as_str());
        let path_of = |at: usize| agents.get(at).map_or("", |(path, _)| *path);
        let name = &agent.name.value;
        if let Some(first) = seen.insert(key, at) {
            let message = format!("the name `{name}` is taken by `{}`", path_of(first));
            let mut found = Diagnostic::new(&NAME_CLASH, agent.name.span, message);
            found.hint("give each agent its own name");
            out.push((at, found));
        }
        if agent.harness != "opencode" {
            continue;
        }
        let other = by_name.insert((agent.harness, name), at);
        let other = other.filter(|other| {
            agents.get(*other).is_some_and(|(_, it)| it.in_settings != agent.in_settings)
        });
        if let Some(first) = other {
            let message = format!("`{name}` is also defined in `{}`", path_of(first));
            let mut found = Diagnostic::new(&MERGED_AGENT, agent.name.span, message);
            found.hint("keep one definition");
            out.push((at, found));
        }
    }
    out
}
