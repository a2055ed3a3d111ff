//! Imports agents of Gemini, with the rules that were rendered beside them and those of the user.

use agentry_policy::{Action, PatternRule, Section};
use agentry_text::Data;

use super::NAME;
use super::fields::FIELDS;
use super::import_settings::{GeminiLimits, limits};
use super::policy::{self, GeminiCondition, GeminiRule};
use super::tools::{groups, is_given, is_known, listed, needs, of, of_servers, servers_in};
use super::user_policy::others;
use crate::draft::{ImportDraft, stem};
use crate::encoding::EncodingView;
use crate::fields::is_known as is_known_field;
use crate::import::{HarnessAgent, ImportError, PermittedBound};
use crate::render_result::LossKind;
use crate::user_settings::files_in;
use crate::{HarnessFiles, HarnessModel, front_matter, original};

pub(super) fn read(files: &dyn HarnessFiles, path: &str) -> Result<HarnessAgent, ImportError> {
    let text = files.text(path).ok_or("it is not there")?;
    let front = front_matter::read_leniently(&text)?;
    let metadata = &front.metadata;
    let name = metadata.get("name").and_then(Data::as_str);
    let name = name.unwrap_or_else(|| stem(path, &[".md"])).to_owned();
    if metadata.get("kind").and_then(Data::as_str) == Some("remote") {
        return Err(ImportError::unused("it runs elsewhere (`kind: remote`)"));
    }
    let mut draft = ImportDraft::new(&name, &front.body);
    draft.lenient(front.notes);
    draft.read_known_fields(NAME, FIELDS, metadata);
    let is_known = |key: &str| is_known_field(FIELDS, key) || REMOVING.contains(&key);
    draft.report_unknown(metadata, is_known);
    refused(metadata, &mut draft);
    let own = metadata.get("mcp_servers").map(Data::to_json);
    let limits = limits(files, own.as_ref(), &mut draft)?;
    // The limits of the settings come first, because the first match decides.
    let rules = [limits.rules.clone(), rules(files, &name, &text, &mut draft)?].concat();
    let rules: Vec<GeminiRule> = rules.into_iter().flat_map(by_server).collect();
    let listed = names(metadata, &mut draft);
    let names = limits.names(listed.clone());
    let has = |tool: &str| names.iter().any(|name| name == tool || (name == "*" && is_given(tool)));
    draft.keep_tools(NAME, &groups(), is_given, has);
    let mut model = of(&names, &rules, EncodingView::Strictest);
    permissions(&names, &model, &rules, &limits, &mut draft);
    limits.bound(&listed, &mut model, &mut draft);
    Ok(draft.read(PermittedBound::new(model), front.metadata))
}

/// Reports that Gemini itself does not load the agent.
fn refused(metadata: &Data, draft: &mut ImportDraft) {
    let Data::Map(entries) = metadata else { return };
    let new = entries.iter().map(|(key, _)| key).filter(|key| !is_known_field(FIELDS, key));
    let new: Vec<String> = new.map(|key| format!("`{key}`")).collect();
    if !new.is_empty() {
        let detail =
            format!("Gemini itself rejects the agent: it does not know {}", new.join(", "));
        draft.lose("metadata", LossKind::Changed, detail);
    }
}

/// Keys of other harnesses that remove tools; Gemini does not have them.
const REMOVING: &[&str] = &["disallowedTools", "excludeTools"];

/// Returns the tools of an agent; none if the list is malformed.
fn names(metadata: &Data, draft: &mut ImportDraft) -> Vec<String> {
    let names = match metadata.get("tools") {
        Some(list) if front_matter::list_items(list).is_none() => {
            draft.lose("tools", LossKind::Narrowed, "it is not a list: it has no tools here");
            Vec::new()
        }
        _ => listed(metadata),
    };
    let removed = REMOVING.iter().filter_map(|key| metadata.get(key));
    let removed = removed.filter_map(front_matter::list_items).flatten();
    let removed: Vec<String> = removed.collect();
    let names: Vec<String> = names.into_iter().filter(|name| !removed.contains(name)).collect();
    for name in names.iter().filter(|name| !is_known(name)) {
        let detail = format!(
            "`{name}` is not a tool that is known: it is left out; Gemini itself rejects the agent"
        );
        draft.lose("tools", LossKind::Dropped, detail);
    }
    let has = |name: &str| names.iter().any(|it| it == name);
    let reads = ["*", "read_file", "read_many_files", "grep_search", "search_file_content"];
    if (has("glob") || has("list_directory")) && !reads.iter().any(|name| has(name)) {
        let detail = "`glob` and `list_directory` show names only, so that nothing is read here";
        draft.lose("permissions.read", LossKind::Narrowed, detail);
    }
    names
}

/// Whether every tool of a list is one of Gemini's, or may be an MCP tool.
pub(super) fn is_tool_list(value: &Data) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*');
    let fits = |name: &String| is_known(name) && name.chars().all(plain);
    original::names(value).is_some_and(|names| names.iter().all(fits))
}

/// Returns the rules that the agent needs and those of the user, the highest priority first. A missing or
/// malformed file is an error, since it may contain denials.
fn rules(
    files: &dyn HarnessFiles,
    name: &str,
    text: &str,
    draft: &mut ImportDraft,
) -> Result<Vec<GeminiRule>, String> {
    let mut all = Vec::new();
    let needed = needs(text);
    if let Some(path) = needed {
        let text = files.text(path).ok_or_else(|| format!("`{path}` is not there"))?;
        let ranked = policy::ranked(&text, name);
        all.extend(ranked.ok_or_else(|| format!("`{path}` cannot be read"))?);
    }
    let of_machine = files_in(files, "/etc/gemini-cli/policies/", ".toml");
    for (path, text) in others(files, needed).into_iter().chain(of_machine) {
        let ranked = policy::ranked(&text, name);
        let detail = match &ranked {
            Some(rules) if rules.is_empty() => continue,
            Some(_) => format!("what `{path}` asks about or denies is taken over"),
            None => format!("`{path}` is not understood: nothing is allowed that it may forbid"),
        };
        draft.lose("permissions", LossKind::Changed, detail);
        let (tool, action) = ("*".to_owned(), Action::Deny);
        let anything = GeminiRule { tool, server: None, when: GeminiCondition::Unknown, action };
        let ranked = ranked.unwrap_or_else(|| vec![(i64::MAX, anything)]);
        all.extend(ranked.into_iter().filter(|(_, rule)| rule.action > Action::Allow));
    }
    Ok(policy::sorted(all))
}

/// Splits a rule for an MCP tool in one word into rules for every server and tool that it may mean.
fn by_server(rule: GeminiRule) -> Vec<GeminiRule> {
    let name = rule.tool.strip_prefix("mcp_").filter(|name| rule.server.is_none() && *name != "*");
    let Some(name) = name.map(str::to_owned) else { return vec![rule] };
    let all = servers_in(&name);
    // An ambiguous allow is dropped, since it might allow another tool.
    let counts = rule.action > Action::Allow || all.len() == 1;
    let of = |(server, tool): (&str, &str)| GeminiRule {
        tool: tool.to_owned(),
        server: Some(server.to_owned()),
        ..rule.clone()
    };
    all.into_iter().filter(|_| counts).map(of).collect()
}

/// Imports what each tool may do.
fn permissions(
    names: &[String],
    model: &HarnessModel,
    rules: &[GeminiRule],
    limits: &GeminiLimits,
    draft: &mut ImportDraft,
) {
    draft.section(Section::ExternalDirectory, Action::Deny);
    for section in Section::ALL.iter().copied() {
        let Some(way) = model.ways.iter().find(|way| way.section == section) else { continue };
        let is_about = |rule: &&GeminiRule| match section {
            Section::Mcp => rule.server.is_some(),
            _ => rule.server.is_none() && (rule.tool == way.tool || rule.tool == "*"),
        };
        let about: Vec<&GeminiRule> = rules.iter().filter(is_about).collect();
        let written: Vec<PatternRule> =
            about.iter().filter_map(|rule| pattern(section, rule)).collect();
        let last = about.iter().find(|rule| is_for_all(rule));
        let mildest = way.layers.iter().map(|rules| rules.intent.action).min();
        let intent = last.map_or(mildest.unwrap_or(Action::Ask), |rule| rule.action);
        match section {
            Section::Read | Section::Edit => draft.files(section, intent, Action::Deny),
            Section::Tool => {
                let todos = PatternRule { pattern: way.tool.clone(), action: intent };
                // All tools include unknown ones.
                let all = names.iter().any(|name| name == "*");
                draft.rules(section, vec![todos], if all { Action::Ask } else { Action::Deny });
            }
            Section::Mcp => {
                let (written, intent) = servers(names, written, intent, limits);
                draft.rules(section, written, intent);
            }
            _ => {
                let (written, intent) = limits.written(section, written, intent);
                draft.rules(section, written, intent);
            }
        }
    }
}

/// Returns the rules for MCP tools that are listed and not excluded.
fn servers(
    names: &[String],
    written: Vec<PatternRule>,
    intent: Action,
    limits: &GeminiLimits,
) -> (Vec<PatternRule>, Action) {
    let (mut written, otherwise) = limits.written(Section::Mcp, written, intent);
    let listed = of_servers(names);
    if listed.iter().any(|pattern| pattern == "**") {
        return (written, otherwise);
    }
    for pattern in listed {
        if written.iter().all(|rule| rule.pattern != pattern) {
            written.push(PatternRule { pattern, action: intent });
        }
    }
    (written, Action::Deny)
}

fn is_for_all(rule: &GeminiRule) -> bool {
    let all = match &rule.when {
        GeminiCondition::Always => true,
        GeminiCondition::Command(text) | GeminiCondition::Name(text) => text == "*",
        GeminiCondition::Unknown => false,
    };
    all && rule.server.as_deref().is_none_or(|server| server == "*" && rule.tool == "*")
}

/// Converts a rule to a pattern; `None` for a rule that matches all other calls.
fn pattern(section: Section, rule: &GeminiRule) -> Option<PatternRule> {
    if is_for_all(rule) {
        return None;
    }
    let text = match (&rule.when, &rule.server) {
        (GeminiCondition::Command(text), _) if section == Section::Bash => text.clone(),
        (GeminiCondition::Name(text), _) => text.clone(),
        (GeminiCondition::Always, Some(server)) => format!("{server}/{}", rule.tool),
        _ => "**".to_owned(),
    };
    Some(PatternRule { pattern: text, action: rule.action })
}
