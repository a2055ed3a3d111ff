//! Imports agents of OpenCode, with the settings that apply to all of them.
//!
//! The order of rules is reversed, because in the model the first match decides. OpenCode's asks about `.env`
//! files are left out: these are secrets, which the model asks about whatever the rules say.

use std::collections::BTreeSet;

use agentry_model::AgentMode;
use agentry_policy::{Action, PatternKind, PatternRule, Section};
use agentry_text::Data;

use super::fields::FIELDS;
use super::import_patterns::{is_broad, names, patterns};
use super::import_plugins::deciding;
use super::import_reading::{is_denied, reading};
use super::layers::{self, OpencodeAgent};
use super::names::unreal;
use super::options;
use super::ruleset::{OWN, OpencodeRule, READING, defaults, flatten, is_about_tool, of, takes};
use super::{NAME, grants};
use crate::HarnessFiles;
use crate::draft::{ImportDraft, at, inside};
use crate::encoding::EncodingView;
use crate::front_matter::{self, FrontMatter};
use crate::harness_files::FilesBelow;
use crate::import::{HarnessAgent, HarnessImport, ImportError, PermittedBound, SettingsAgents};
use crate::render_result::LossKind;
use crate::wildcard::reworded;

pub(super) const IMPORT: HarnessImport = HarnessImport {
    places: &[
        (".opencode/agent", ".md"),
        (".opencode/agents", ".md"),
        (".opencode/mode", ".md"),
        (".opencode/modes", ".md"),
        (".config/opencode/agent", ".md"),
        (".config/opencode/agents", ".md"),
    ],
    is_one: |path, _| place(path).is_some(),
    several: Some(SEVERAL),
    read,
    overrides: true,
    grants: grants::GRANTS,
};

/// Splits the path of an agent into the root of the project, the kind of directory, and the identifier.
fn place(path: &str) -> Option<(&str, &str, &str)> {
    let stem = path.strip_suffix(".md")?;
    for home in [".opencode/", ".config/opencode/"] {
        let Some(start) = stem.find(home) else { continue };
        let (root, rest) = stem.split_at(start);
        let (kind, id) = rest.strip_prefix(home)?.split_once('/')?;
        let is_root = root.is_empty() || root.ends_with('/');
        if is_root && matches!(kind, "agent" | "agents" | "mode" | "modes") {
            return Some((root, kind, id));
        }
    }
    None
}

/// The settings files that may define agents.
const SEVERAL: SettingsAgents = SettingsAgents {
    files: &[
        ".opencode/opencode.json",
        ".opencode/opencode.jsonc",
        ".config/opencode/opencode.json",
        ".config/opencode/opencode.jsonc",
        "opencode.json",
        "opencode.jsonc",
    ],
    names: |files, path| {
        let is_own = |name: &String| {
            // Other entries only extend an agent that has a file, or that is built in.
            let places = layers::places(files, name);
            !super::TARGET.built_in.contains(&name.as_str())
                && !places.iter().any(|place| place.strip_suffix(".md").is_some())
                && layers::find(files, name)
                    .is_some_and(|it| it.places.last().is_some_and(|last| last == path))
        };
        layers::names(files, path).into_iter().filter(is_own).collect()
    },
};

/// An agent that was found at a path: its root, its identifier and its front matter.
struct OpencodeAgentFile<'a> {
    root: &'a str,
    /// The kind of directory, or `settings`.
    kind: &'a str,
    id: &'a str,
    front: FrontMatter,
}

fn placed<'a>(
    files: &dyn HarnessFiles,
    path: &'a str,
) -> Result<OpencodeAgentFile<'a>, ImportError> {
    let nowhere = "it is not where OpenCode looks for agents";
    if let (file, Some(id)) = SEVERAL.split(path) {
        let known = SEVERAL.files.iter().find_map(|known| file.strip_suffix(known));
        let root = known.ok_or(nowhere)?;
        let front = FrontMatter { metadata: Data::Map(vec![]), body: String::new(), notes: vec![] };
        return Ok(OpencodeAgentFile { root, kind: "settings", id, front });
    }
    let (root, kind, id) = place(path).ok_or(nowhere)?;
    let text = files.text(path).ok_or("it cannot be read")?;
    let front = match front_matter::read_leniently(&text) {
        Ok(front) => front,
        // OpenCode accepts a file without metadata as an agent with default permissions.
        Err(_) if !text.trim_start_matches('\u{feff}').trim_start().starts_with("---") => {
            let (body, metadata) = (text.trim().to_owned(), Data::Map(Vec::new()));
            FrontMatter { metadata, body, notes: Vec::new() }
        }
        Err(why) => return Err(why),
    };
    Ok(OpencodeAgentFile { root, kind, id, front })
}

fn read(files: &dyn HarnessFiles, path: &str) -> Result<HarnessAgent, ImportError> {
    let OpencodeAgentFile { root, kind, id, front } = placed(files, path)?;
    let below = FilesBelow { files, dir: root };
    if let Some(settings) = layers::broken(&below) {
        return Err(format!("`{settings}` cannot be read, so that OpenCode does not start").into());
    }
    let name = front.metadata.get("name").and_then(Data::as_str).unwrap_or(id);
    let found = layers::find(&below, name)
        // A `name` field renames the agent, so entries for its identifier do not apply.
        .filter(|_| name == id)
        .unwrap_or_else(|| layers::alone(&below, front.metadata.clone()));
    if found.fields.get("disable") == Some(&Data::Bool(true)) {
        return Err(ImportError::unused("it is switched off (`disable`)"));
    }
    let (own, _) = SEVERAL.split(path);
    let mut draft = match kind == "settings" {
        true if found.places.is_empty() => return Err(format!("it has no agent `{id}`").into()),
        true => from_settings(&below, &found, own.strip_prefix(root).unwrap_or(own), name),
        false => ImportDraft::new(name, &front.body),
    };
    draft.lenient(front.notes);
    for other in found.places.iter().filter(|other| format!("{root}{other}") != own) {
        draft.lose("name", LossKind::Gap, format!("`{other}` is about this agent too"));
    }
    fields(&found.fields, kind, &mut draft);
    let all = rules(&found, front.metadata.get("tools"), &mut draft);
    let written = if kind == "settings" { &found.fields } else { &front.metadata };
    let metadata = grants::metadata(written, &all, &found);
    if asks_about_secrets(&all) {
        let detail = "files like `x.env.y` are asked about in OpenCode, and are no secrets here";
        draft.lose("permissions.read", LossKind::Changed, detail);
    }
    let rules = without_secrets(all);
    permissions(&rules, &mut draft);
    let mut model = of(&rules, &found.servers, EncodingView::Strictest);
    reading(&rules, &mut model, &mut draft);
    if let Some(plugin) = deciding(&below) {
        let plugin_title = format!("the plugin `{plugin}` of OpenCode");
        draft.decided(Section::ALL, &plugin_title, &mut model);
    }
    let bound = PermittedBound::new(model).without(unreal(&found.servers));
    Ok(draft.read(bound, metadata))
}

/// Returns all rules in order, and reports those without effect.
fn rules(
    found: &OpencodeAgent,
    tools: Option<&Data>,
    draft: &mut ImportDraft,
) -> Vec<OpencodeRule> {
    let mut all = found.rules(EncodingView::Strictest);
    let own =
        flatten(found.fields.get("permission").unwrap_or(&Data::Null), EncodingView::Strictest);
    let of_agent = all.len().saturating_sub(own.len());
    if let Some(names) = tools.and_then(front_matter::list_items) {
        draft.lose("tools", LossKind::Changed, "a list here: no other tools are granted");
        only(&names, &mut all);
    }
    unread(found, draft);
    idle(found, &all, draft);
    let own_rules = all.get(of_agent..).unwrap_or_default().to_vec();
    let denied = found.of_subagents(&own_rules);
    if denied.is_empty() {
        apart_as_subagent(&found.denied_as_subagent(&own_rules), &all, draft);
    }
    all.extend(denied.into_iter().filter(|rule| !is_denied(&all, &rule.key)).collect::<Vec<_>>());
    all
}

/// Reports what an agent may do only if no other agent has started it.
fn apart_as_subagent(unsaid: &[&str], all: &[OpencodeRule], draft: &mut ImportDraft) {
    if unsaid.contains(&"task") && !is_denied(all, "task") {
        let detail = "OpenCode denies it while another agent has started this one: one answer is for \
                      both here";
        draft.lose("permissions.delegate", LossKind::Changed, detail);
    }
}

/// Denies all tools except those in a list, a form of other harnesses. OpenCode would not start with it.
fn only(names: &[String], all: &mut Vec<OpencodeRule>) {
    let key = |name: &String| match name.to_lowercase().as_str() {
        "write" | "edit" | "multiedit" | "patch" | "apply_patch" => "edit".to_owned(),
        "agent" => "task".to_owned(),
        "ls" => "list".to_owned(),
        other => other.split('(').next().unwrap_or_default().trim().to_owned(),
    };
    let mut keys: BTreeSet<String> = names.iter().map(key).filter(|key| key != "*").collect();
    if keys.contains("read") {
        // The other reading tools show only a part of what `read` shows.
        keys.extend(READING.iter().map(|key| (*key).to_owned()));
    }
    let about = |key: &String| {
        let rules = all.iter().filter(|rule| takes(&rule.key, key)).cloned();
        rules.map(|rule| OpencodeRule { key: key.clone(), ..rule }).collect::<Vec<_>>()
    };
    let kept: Vec<OpencodeRule> = keys.iter().flat_map(about).collect();
    if !names.iter().any(|name| name == "*") {
        let (key, pattern) = ("*".to_owned(), "*".to_owned());
        all.push(OpencodeRule { key, pattern, action: Action::Deny });
        all.extend(kept);
    }
}

/// Reports rules that cannot be read and therefore deny.
fn unread(found: &OpencodeAgent, draft: &mut ImportDraft) {
    let Some(Data::Map(entries)) = found.fields.get("permission") else { return };
    let is_action = |data: &Data| data.as_str().is_some_and(|it| it.parse::<Action>().is_ok());
    for (key, value) in entries {
        let fits = match value {
            Data::Map(patterns) => patterns.iter().all(|(_, action)| is_action(action)),
            other => is_action(other),
        };
        if !fits {
            let detail = "allow, ask or deny is wanted here: denied";
            draft.lose(&format!("permission.{key}"), LossKind::Narrowed, detail);
        }
    }
}

/// Starts an agent of the settings, with its prompt from there or from a referenced file.
fn from_settings(
    files: &dyn HarnessFiles,
    found: &OpencodeAgent,
    settings: &str,
    name: &str,
) -> ImportDraft {
    let prompt = found.fields.get("prompt").and_then(Data::as_str).unwrap_or_default();
    let dir = settings.rsplit_once('/').map_or(String::new(), |(dir, _)| format!("{dir}/"));
    let file = prompt.trim().strip_prefix("{file:").and_then(|it| it.strip_suffix('}'));
    let path = file.map(|file| match file.strip_prefix("./") {
        Some(rest) => format!("{dir}{rest}"),
        None if file.starts_with("~/") => file.to_owned(),
        None => format!("{dir}{file}"),
    });
    let text = path.as_ref().map(|path| files.text(path));
    let mut draft = match &text {
        Some(text) => ImportDraft::new(name, text.as_deref().unwrap_or_default()),
        None => ImportDraft::new(name, prompt),
    };
    match (path, text) {
        (Some(path), Some(None)) => {
            let detail = format!("`{path}` is not there");
            draft.lose("instructions", LossKind::Dropped, detail);
        }
        (None, _) if prompt.contains("{file:") || prompt.contains("{env:") => {
            let detail = "what OpenCode puts in for `{file:…}` and `{env:…}` is not there";
            draft.lose("instructions", LossKind::Dropped, detail);
        }
        (None, _) if prompt.trim().is_empty() => {
            draft.lose("instructions", LossKind::Dropped, "OpenCode's own prompt is not there");
        }
        _ => {}
    }
    draft
}

/// Reports rules without effect: another key decides, or a later rule always does.
fn idle(found: &OpencodeAgent, all: &[OpencodeRule], draft: &mut ImportDraft) {
    let own =
        flatten(found.fields.get("permission").unwrap_or(&Data::Null), EncodingView::Strictest);
    let first = defaults().len();
    let of_agent = all.len().saturating_sub(own.len());
    for (at, rule) in all.iter().enumerate().skip(first) {
        let OpencodeRule { key, pattern, action } = rule;
        let field = format!("permission.{key}");
        if matches!(key.as_str(), "write" | "patch" | "apply_patch" | "multiedit") {
            let detail = format!("{action} does nothing: OpenCode asks `edit` about it");
            draft.lose(&field, LossKind::Dropped, detail);
            continue;
        }
        let covers = |(later, other): (usize, &OpencodeRule)| {
            // An agent may override the settings for all agents, so these are not reported.
            let counts = pattern != "*" || at >= of_agent;
            let all = other.pattern == "*" && takes(&other.key, key);
            later > at && counts && all && other.action != *action
        };
        if let Some((_, other)) = all.iter().enumerate().find(|it| covers(*it)) {
            let detail = format!(
                "`{pattern}` to {action} does nothing: `{}: {}` comes later",
                other.key, other.action
            );
            draft.lose(&field, LossKind::Dropped, detail);
        }
    }
}

/// Imports the fields except the rules.
fn fields(metadata: &Data, kind: &str, draft: &mut ImportDraft) {
    draft.read_known_fields(NAME, FIELDS, metadata);
    let mode = draft.agent.identity.mode.unwrap_or(at(AgentMode::All));
    let mode = if kind.starts_with("mode") { at(AgentMode::Primary) } else { mode };
    draft.agent.identity.mode = Some(mode);
    match metadata {
        // In settings, `prompt` is the prompt of the agent and not an option.
        Data::Map(entries) if kind == "settings" => {
            let others = entries.iter().filter(|(key, _)| key != "prompt").cloned();
            options::keep(&Data::Map(others.collect()), draft);
        }
        _ => options::keep(metadata, draft),
    }
}

/// Whether OpenCode's own asks about `.env` files can take effect: no later rule matches all files.
fn asks_about_secrets(rules: &[OpencodeRule]) -> bool {
    let all = rules.iter().rposition(|rule| rule.pattern == "*" && takes(&rule.key, "read"));
    let after = rules.get(all.map_or(0, |at| at + 1)..).unwrap_or_default();
    without_secrets(after.to_vec()).len() < after.len()
}

/// Removes the asks about `.env` files, and the exception from them.
fn without_secrets(rules: Vec<OpencodeRule>) -> Vec<OpencodeRule> {
    let is_secret = |rule: &OpencodeRule| {
        let own = ["*.env", "*.env.*", "*.env.example"];
        rule.key == "read" && own.contains(&rule.pattern.as_str())
    };
    // After a deny, an allow is an exception from that deny, so it stays.
    let denied = rules.iter().position(|rule| is_secret(rule) && rule.action == Action::Deny);
    let rules = rules.into_iter().enumerate().filter(|(at, rule)| match rule.action {
        Action::Deny => true,
        Action::Ask => !is_secret(rule),
        Action::Allow => !is_secret(rule) || denied.is_some_and(|denied| *at > denied),
    });
    rules.map(|(_, rule)| rule).collect()
}

/// Imports the rules of each section, of which the first match decides.
fn permissions(rules: &[OpencodeRule], draft: &mut ImportDraft) {
    let keys = [
        (Section::Bash, "bash"),
        (Section::Edit, "edit"),
        (Section::Read, "read"),
        (Section::Webfetch, "webfetch"),
        (Section::Websearch, "websearch"),
        (Section::Question, "question"),
        (Section::ExternalDirectory, "external_directory"),
        (Section::Skill, "skill"),
        (Section::Delegate, "task"),
    ];
    for (section, key) in keys {
        let about: Vec<&OpencodeRule> = rules.iter().filter(|rule| takes(&rule.key, key)).collect();
        let last = about.iter().rposition(|rule| rule.pattern == "*");
        let intent = last.and_then(|at| about.get(at)).map_or(Action::Ask, |rule| rule.action);
        let after = about.get(last.map_or(0, |at| at + 1)..).unwrap_or_default();
        let mut written = Vec::new();
        for OpencodeRule { pattern, action, .. } in after.iter().rev() {
            let words = patterns(section, pattern, *action, intent);
            if let Some(detail) = reworded(section, pattern, *action, &words) {
                draft.lose(&format!("permissions.{section}"), LossKind::Narrowed, detail);
            }
            let rule = |pattern| PatternRule { pattern, action: *action };
            written.extend(words.into_iter().map(rule));
        }
        let is_files = section.kind() == PatternKind::Path;
        let written = if is_files { apart(written, intent) } else { written };
        draft.rules(section, written, intent);
    }
    by_name(rules, draft);
}

/// Moves rules for any directory behind a catch-all rule for the workspace, where they would otherwise match
/// more inside it: `*/x` matches an `x` in every directory outside, but not at the top of the workspace.
fn apart(rules: Vec<PatternRule>, intent: Action) -> Vec<PatternRule> {
    let is_anywhere = |rule: &PatternRule| rule.pattern.starts_with("/**");
    let is_deeper = |rule: &PatternRule| rule.pattern.starts_with("*/**/");
    if !rules.iter().any(is_deeper) || !rules.iter().any(is_anywhere) {
        return rules;
    }
    let (anywhere, before): (Vec<_>, Vec<_>) = rules.into_iter().partition(is_anywhere);
    before.into_iter().chain(inside(intent)).chain(anywhere).collect()
}

/// Imports rules by tool name: a key may match an MCP tool, or any other.
fn by_name(rules: &[OpencodeRule], draft: &mut ImportDraft) {
    let about: Vec<&OpencodeRule> = rules
        .iter()
        .filter(|rule| {
            !OWN.contains(&rule.key.as_str()) && is_about_tool(rule, EncodingView::Strictest)
        })
        .collect();
    let last = about.iter().rposition(|rule| rule.key == "*");
    let intent = last.and_then(|at| about.get(at)).map_or(Action::Ask, |rule| rule.action);
    let after = about.get(last.map_or(0, |at| at + 1)..).unwrap_or_default();
    for section in [Section::Mcp, Section::Tool] {
        let patterns = after.iter().rev().flat_map(|rule| {
            let names = names(section, &rule.key, is_broad(rule.action, intent));
            names.into_iter().map(|pattern| PatternRule { pattern, action: rule.action })
        });
        draft.rules(section, patterns.collect(), intent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_names_are_derived_from_paths() {
        let cases = [
            (".opencode/agents/x.md", Some(("", "agents", "x"))),
            ("a/.opencode/agent/sub/x.md", Some(("a/", "agent", "sub/x"))),
            (".config/opencode/modes/x.md", Some(("", "modes", "x"))),
            (".opencode/command/x.md", None),
            (".opencode/agents/x.txt", None),
            ("x.opencode/agents/x.md", None),
        ];
        for (path, expected) in cases {
            assert_eq!(place(path), expected, "{path}");
        }
    }
}
