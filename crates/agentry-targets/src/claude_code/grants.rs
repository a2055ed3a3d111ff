//! How the original grants of a Claude Code agent are compared, completed and checked.

use agentry_policy::{PatternRule, Section};
use agentry_text::Data;

use super::encode::is_denied;
use super::ruleset::tools_in;
use super::tools::{GROUPS, beside, entries, plain};
use crate::original::{self, GrantReading, OriginalGrant};
use crate::subject::RenderSubject;

pub(super) const GRANTS: GrantReading =
    GrantReading { normalise, closed, is_shared: true, ..GrantReading::PLAIN };

/// Normalises metadata: a tool that is both listed and disallowed counts as not listed, and specifiers in
/// brackets are removed because Claude Code ignores them.
fn normalise(metadata: &Data) -> Data {
    let Data::Map(mut fields) = metadata.clone() else { return metadata.clone() };
    let tools = tools_in(metadata);
    let is_usual = |mode: &Data| matches!(mode.as_str(), Some("default" | "manual"));
    let lists = ["tools", "disallowedTools"];
    fields.retain(|(key, value)| {
        let is_default = key == "permissionMode" && is_usual(value);
        !(lists.contains(&key.as_str()) || is_default)
    });
    let (key, names) = match &tools.listed {
        Some(listed) => ("tools", listed.iter().filter(|name| tools.has(name)).collect()),
        None => ("disallowedTools", tools.removed.iter().collect::<Vec<_>>()),
    };
    if tools.listed.is_some() || !names.is_empty() {
        fields.push((key.to_owned(), Data::strings(names.into_iter().map(|name| plain(name)))));
    }
    Data::Map(fields)
}

/// Whether a value is a list of tools in which each entry has one clear meaning.
pub(super) fn is_tool_list(value: &Data) -> bool {
    let is_list = original::names(value).is_some();
    is_list && entries(value).is_some_and(|it| it.iter().all(|entry| is_entry(entry)))
}

/// Whether a value is a mode that may be restored: never one that skips all questions.
pub(super) fn is_mode(value: &Data) -> bool {
    let modes = ["default", "manual", "plan", "dontAsk", "acceptEdits"];
    value.as_str().is_some_and(|mode| modes.contains(&mode))
}

/// Whether an agent may work in a copy of the project.
pub(super) fn is_worktree(subject: &RenderSubject, value: &Data) -> bool {
    value.as_str() == Some("worktree") && is_alike(subject)
}

/// Whether an entry is a name with an optional specifier, whichever way it is parsed.
fn is_entry(entry: &str) -> bool {
    let entry = entry.trim_matches(' ');
    let (name, inner) = match entry.strip_suffix(')') {
        Some(rest) => rest.split_once('(').unwrap_or(("", "")),
        None => (entry, ""),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*');
    let inside = |c: char| (c.is_ascii_graphic() || c == ' ') && !matches!(c, '(' | ')');
    !name.is_empty()
        && name.chars().all(is_plain)
        && inner.chars().all(inside)
        // This would end the metadata of the file.
        && !inner.contains("---")
}

/// Removes every tool of a section that is denied as a whole, for an agent that has all tools except some.
fn closed(subject: &RenderSubject, grants: &mut [OriginalGrant]) {
    // A list of tools already excludes all others.
    if grants.iter().any(|grant| grant.key == "tools" && grant.value.is_some()) {
        return;
    }
    let removed = grants.iter_mut().find(|grant| grant.key == "disallowedTools");
    let Some(removed) = removed else { return };
    let written = removed.value.as_ref().and_then(entries).unwrap_or_default();
    let mut all: Vec<String> = written.into_iter().map(|it| it.trim().to_owned()).collect();
    for group in GROUPS.iter().filter(|group| is_denied(subject, group.section)) {
        let tools = group.tools.iter().copied().chain(beside(group.section));
        let more: Vec<String> =
            tools.filter(|tool| !all.iter().any(|it| it == tool)).map(str::to_owned).collect();
        all.extend(more);
    }
    removed.value = (!all.is_empty()).then(|| Data::str(all.join(", ")));
}

/// Whether the rules treat all files of the project alike. A rule about one path would not match in the copy
/// of the project in which an agent works.
fn is_alike(subject: &RenderSubject) -> bool {
    let is_about_all = |rule: &PatternRule| {
        matches!(rule.pattern.as_str(), "**/*" | "**" | "*" | ".")
            || rule.pattern.starts_with(['/', '~'])
    };
    [Section::Edit, Section::Read].iter().all(|section| {
        let rules = subject.permissions.get(*section);
        rules.is_none_or(|rules| rules.rules.iter().all(|rule| is_about_all(&rule.value)))
    })
}
