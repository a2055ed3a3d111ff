//! The files in which OpenCode finds an agent, and how it merges them: key by key, each key at its first
//! position with its last value.

use std::collections::BTreeMap;

use agentry_model::AgentMode;
use agentry_policy::Action;
use agentry_text::{Data, FileId, Findings, SourceFile, json};

use super::ruleset::{OpencodeRule, flatten};
use crate::HarnessFiles;
use crate::encoding::EncodingView;
use crate::front_matter;
use crate::jsonc::{JsonDialect, JsoncDocument};
use crate::rivals::{self, AgentLanguage};

/// A place where OpenCode reads a part of an agent.
enum LayerPlace {
    /// A settings file.
    Settings(&'static str),
    /// A directory that contains directories of agents.
    Agents(&'static str),
}

use LayerPlace::{Agents, Settings};

/// All places, from the weakest to the strongest.
const PLACES: &[LayerPlace] = &[
    Settings("~/.config/opencode/config.json"),
    Settings("~/.config/opencode/opencode.json"),
    Settings("~/.config/opencode/opencode.jsonc"),
    Settings(".config/opencode/config.json"),
    Settings(".config/opencode/opencode.json"),
    Settings(".config/opencode/opencode.jsonc"),
    Settings("opencode.jsonc"),
    Settings("opencode.json"),
    Agents("~/.config/opencode"),
    Agents(".config/opencode"),
    Settings(".opencode/opencode.jsonc"),
    Settings(".opencode/opencode.json"),
    Agents(".opencode"),
    Settings("~/.opencode/opencode.jsonc"),
    Settings("~/.opencode/opencode.json"),
    Agents("~/.opencode"),
];

/// Returns the settings files.
fn all_settings() -> impl Iterator<Item = &'static str> {
    PLACES.iter().filter_map(|place| match place {
        Settings(path) => Some(*path),
        Agents(_) => None,
    })
}

/// Returns the directories that contain directories of agents.
pub(super) fn homes() -> impl Iterator<Item = &'static str> {
    PLACES.iter().filter_map(|place| match place {
        Agents(home) => Some(*home),
        Settings(_) => None,
    })
}

/// Settings files that any directory of a repository may have.
const IN_A_PROJECT: &[&str] =
    &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];
/// The names of directories of agents. Of two files in directories of one kind, OpenCode uses one and ignores
/// the other.
const KINDS: &[[&str; 2]] = &[["agent", "agents"], ["mode", "modes"]];

/// Tools that are allowed by default only while no other agent has started this one.
const FOR_PRIMARY: &[&str] = &["task", "todowrite"];

/// An agent as OpenCode finds it.
#[derive(Debug, Default)]
pub(super) struct OpencodeAgent {
    /// All its fields, merged.
    pub(super) fields: Data,
    /// The rules for every agent, which come before its own.
    pub(super) shared: Data,
    /// The files that mention it.
    pub(super) places: Vec<String>,
    /// The MCP servers that are defined.
    pub(super) servers: Vec<String>,
}

impl OpencodeAgent {
    /// Returns all rules in order; the last match decides.
    pub(super) fn rules(&self, view: EncodingView) -> Vec<OpencodeRule> {
        let mut rules = super::ruleset::defaults();
        rules.extend(flatten(&self.shared, view));
        rules.extend(flatten(self.fields.get("permission").unwrap_or(&Data::Null), view));
        rules
    }

    /// Returns the tools that an agent is denied while another one has started it, unless a rule in `said`
    /// has exactly that key.
    pub(super) fn denied_as_subagent(&self, agent_rules: &[OpencodeRule]) -> Vec<&'static str> {
        let is_new = |key: &&str| agent_rules.iter().all(|rule| rule.key != *key);
        let keys = FOR_PRIMARY.iter().copied().filter(is_new);
        keys.filter(|_| self.mode() != Some(AgentMode::Primary)).collect()
    }

    /// Returns these denials as rules, for an agent that is always started by another one.
    pub(super) fn of_subagents(&self, agent_rules: &[OpencodeRule]) -> Vec<OpencodeRule> {
        let denied = |key: &str| OpencodeRule {
            key: key.to_owned(),
            pattern: "*".to_owned(),
            action: Action::Deny,
        };
        let is_started = self.mode() == Some(AgentMode::Subagent);
        let unlisted = self.denied_as_subagent(agent_rules).into_iter().filter(|_| is_started);
        unlisted.map(denied).collect()
    }

    fn mode(&self) -> Option<AgentMode> {
        self.fields.get("mode").and_then(Data::as_str)?.parse().ok()
    }
}

/// Returns the agent with these fields if OpenCode finds nothing else about it.
pub(super) fn alone(files: &dyn HarnessFiles, fields: Data) -> OpencodeAgent {
    let mut reading = LayerReading::default();
    all_settings().for_each(|path| reading.settings(files, path, None));
    let mut found = reading.done();
    found.add(fields, "");
    // The fields have no file of their own here.
    found.places.clear();
    found
}

/// Returns the agent `name` as OpenCode finds it; `None` if there is none.
pub(super) fn find(files: &dyn HarnessFiles, name: &str) -> Option<OpencodeAgent> {
    let mut reading = LayerReading::default();
    for place in PLACES {
        match place {
            Settings(path) => reading.settings(files, path, Some(name)),
            Agents(home) => reading.agents(files, home, name)?,
        }
    }
    let found = reading.done();
    let is_other = |id: &Data| id.as_str() != Some(name);
    let renamed = found.fields.get("name").is_some_and(is_other);
    let disabled = found.fields.get("disable") == Some(&Data::Bool(true));
    // OpenCode finds a renamed agent only under its new name.
    (!found.places.is_empty() && !renamed && !disabled).then_some(found)
}

/// The state while files are merged.
#[derive(Default)]
struct LayerReading {
    found: OpencodeAgent,
    /// `tools` and `permission` of the settings, each merged separately.
    tools: Data,
    permission: Data,
    /// Entries for the agent under `mode`, which are merged last.
    modes: Vec<(Data, &'static str)>,
}

impl LayerReading {
    /// Reads a settings file: the rules for all agents, and the fields of one.
    fn settings(&mut self, files: &dyn HarnessFiles, path: &'static str, name: Option<&str>) {
        let Some(settings) = files.text(path).and_then(|text| settings(&text)) else { return };
        let join = |before: &mut Data, after: Data| *before = joined(std::mem::take(before), after);
        join(&mut self.tools, settings.get("tools").cloned().unwrap_or_default());
        join(&mut self.permission, permission_of(&settings));
        if let Some(Data::Map(servers)) = settings.get("mcp") {
            self.found.servers.extend(servers.iter().map(|(name, _)| name.clone()));
        }
        let of_it = |key: &str| settings.get(key)?.get(name?).cloned();
        if let Some(fields) = of_it("agent") {
            self.found.add(fields, path);
        }
        self.modes.extend(of_it("mode").map(|fields| (fields, path)));
    }

    /// Reads the files of an agent in a directory; `None` if it is not known which of two files counts.
    fn agents(&mut self, files: &dyn HarnessFiles, home: &str, name: &str) -> Option<()> {
        for paths in markdown_in(home, name) {
            let [first, second] = paths.map(|path| files.text(&path).map(|text| (path, text)));
            if first.is_some() && second.is_some() {
                return None;
            }
            if let Some((path, text)) = first.or(second) {
                let fields = front_matter::read_leniently(&text).ok()?.metadata;
                let is_mode = path.contains("/mode/") || path.contains("/modes/");
                self.found.add(if is_mode { as_primary(fields) } else { fields }, &path);
            }
        }
        Some(())
    }

    fn done(self) -> OpencodeAgent {
        let Self { mut found, tools, permission, modes } = self;
        for (fields, path) in modes {
            found.add(as_primary(fields), path);
        }
        let all = [("tools", tools), ("permission", permission)];
        let all = all.map(|(key, value)| (key.to_owned(), value));
        found.shared = own_rules(&Data::Map(all.into()));
        found
    }
}

/// Returns the plugins that settings name.
pub(super) fn plugins(files: &dyn HarnessFiles) -> Vec<String> {
    let all = all_settings().filter_map(|path| files.text(path).and_then(|text| settings(&text)));
    let plugins = all.filter_map(|settings| settings.get("plugin").cloned());
    let name = |data: &Data| match data {
        Data::Str(name) => name.clone(),
        other => other.to_json().to_string(),
    };
    let names = |plugins: Data| match plugins {
        Data::List(items) => items.iter().map(name).collect(),
        Data::Null => Vec::new(),
        one => vec![name(&one)],
    };
    plugins.flat_map(names).collect()
}

/// Returns the agents that a settings file mentions.
pub(super) fn names(files: &dyn HarnessFiles, path: &str) -> Vec<String> {
    let settings = files.text(path).and_then(|text| settings(&text)).unwrap_or_default();
    let mut names = Vec::new();
    for key in ["mode", "agent"] {
        if let Some(Data::Map(agents)) = settings.get(key) {
            names.extend(agents.iter().map(|(name, _)| name.clone()));
        }
    }
    names.dedup();
    names
}

/// Returns the possible paths of an agent, in the order in which OpenCode reads them.
fn markdown(name: &str) -> impl Iterator<Item = [String; 2]> {
    homes().flat_map(move |home| markdown_in(home, name))
}

fn markdown_in(home: &str, name: &str) -> impl Iterator<Item = [String; 2]> {
    let place = move |kind: &str| format!("{home}/{kind}/{name}.md");
    KINDS.iter().map(move |kinds| kinds.map(place))
}

/// Returns the files that mention the agent `name`, even unreadable ones.
pub(super) fn places(files: &dyn HarnessFiles, name: &str) -> Vec<String> {
    let mut reading = LayerReading::default();
    all_settings().for_each(|path| reading.settings(files, path, Some(name)));
    let found = reading.done().places;
    let written = markdown(name).flatten().filter(|path| files.text(path).is_some());
    found.into_iter().chain(written).collect()
}

/// Returns a file above the project that mentions the agent `name`. OpenCode merges it too, and the
/// precedence is not known.
pub(super) fn above(files: &dyn HarnessFiles, name: &str) -> Option<String> {
    rivals::above(files).find_map(|dir| {
        let below = |path: &str| files.text(&format!("{dir}{path}"));
        let places = IN_A_PROJECT.iter().filter(|path| {
            let settings = below(path).and_then(|text| settings(&text));
            let agents = |key: &str| settings.as_ref().and_then(|it| it.get(key)?.get(name));
            agents("agent").is_some() || agents("mode").is_some()
        });
        let settings = places.map(|path| (*path).to_owned());
        let own = |path: &String| path.starts_with(".opencode/") && below(path).is_some();
        let written = markdown(name).flatten().filter(own);
        settings.chain(written).next().map(|path| format!("{dir}{path}"))
    })
}

/// Returns agent files by the `name` field in them.
pub(super) fn renamed(files: &dyn HarnessFiles) -> BTreeMap<String, Vec<String>> {
    let kinds = KINDS.iter().flatten();
    let dirs: Vec<String> =
        kinds.flat_map(|kind| homes().map(move |home| format!("{home}/{kind}/"))).collect();
    let dirs: Vec<&str> = dirs.iter().map(String::as_str).collect();
    rivals::by_name(files, AgentLanguage::Markdown, &dirs, |text| {
        let metadata = front_matter::read_leniently(text).ok()?.metadata;
        metadata.get("name").and_then(Data::as_str).map(str::to_owned)
    })
}

/// Returns the other file of the same agent, of which OpenCode uses only one.
pub(super) fn rival(files: &dyn HarnessFiles, name: &str, path: &str) -> Option<String> {
    let mut pairs = markdown(name).filter(|paths| paths.iter().any(|known| known == path));
    let others = pairs.next()?.into_iter().filter(|other| other != path);
    others.into_iter().find(|other| files.text(other).is_some())
}

/// Returns the first settings file that cannot be parsed, with the position: `opencode.json:3:5`.
pub(super) fn broken(files: &dyn HarnessFiles) -> Option<String> {
    all_settings().find_map(|path| {
        let text = files.text(path).filter(|text| settings(text).is_none())?;
        let wrong = JsoncDocument::read(&text, JsonDialect::Relaxed).err();
        let place = wrong.map(|wrong| format!(":{}:{}", wrong.line, wrong.column));
        Some(format!("{path}{}", place.unwrap_or_default()))
    })
}

impl OpencodeAgent {
    fn add(&mut self, mut fields: Data, path: &str) {
        let rules = own_rules(&fields);
        if let Data::Map(entries) = &mut fields {
            // Both become one block, so that the keys of a later file override it.
            entries.retain(|(key, _)| key != "permission" && key != "tools");
            if !rules.is_empty() {
                entries.push(("permission".to_owned(), rules));
            }
        }
        let before = std::mem::take(&mut self.fields);
        self.fields = joined(before, fields);
        self.places.push(path.to_owned());
    }
}

/// Turns an agent that is written as a mode, the older form, into a primary agent.
fn as_primary(fields: Data) -> Data {
    let mode = ("mode".to_owned(), Data::str(AgentMode::Primary.as_str()));
    joined(fields, Data::Map(vec![mode]))
}

/// Parses a settings file; `None` if it has errors. Comments and trailing commas are allowed.
fn settings(text: &str) -> Option<Data> {
    let source = SourceFile::new(FileId::BUILT_IN, "", text.trim_start_matches('\u{feff}'));
    let mut findings = Findings::default();
    let data = json::parse_as(&source, JsonDialect::Relaxed, &mut findings).to_data();
    (findings.is_empty() && matches!(data, Data::Map(_))).then_some(data)
}

/// Returns `permission` with the older `tools` before it.
pub(super) fn own_rules(fields: &Data) -> Data {
    let older = match fields.get("tools") {
        // Several tools map to one key, which must occur only once.
        Some(Data::Map(tools)) => {
            let rules = tools.iter().filter_map(older_rule);
            rules.fold(Data::Map(vec![]), |all, rule| joined(all, Data::Map(vec![rule])))
        }
        _ => Data::Null,
    };
    joined(older, permission_of(fields))
}

/// Returns `permission`; a plain value becomes a rule for everything.
fn permission_of(fields: &Data) -> Data {
    match fields.get("permission") {
        Some(word @ Data::Str(_)) => Data::Map(vec![("*".to_owned(), word.clone())]),
        Some(rules) => rules.clone(),
        None => Data::Null,
    }
}

/// A tool that edits files in some releases.
pub(super) const MULTIEDIT: &str = "multiedit";

/// Converts an older rule: `write: false` means `edit: deny`.
fn older_rule((tool, on): &(String, Data)) -> Option<(String, Data)> {
    let Data::Bool(on) = on else { return None };
    // Not every release treats it as an editing tool, so an allow is not relied on.
    if tool == MULTIEDIT && *on {
        return None;
    }
    let key = match tool.as_str() {
        "write" | "edit" | "patch" | "multiedit" => "edit",
        other => other,
    };
    let action = if *on { Action::Allow } else { Action::Deny };
    Some((key.to_owned(), Data::str(action.as_str())))
}

/// Merges two maps: each key keeps its first position and gets its last value.
fn joined(before: Data, after: Data) -> Data {
    match (before, after) {
        (Data::Map(mut entries), Data::Map(others)) => {
            for (key, value) in others {
                match entries.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, known)) => *known = joined(std::mem::take(known), value),
                    None => entries.push((key, value)),
                }
            }
            Data::Map(entries)
        }
        (before, Data::Null) => before,
        (_, after) => after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_keys_keep_their_first_position() {
        let data = |text: &str| settings(text).unwrap_or_default();
        let before = data(r#"{"*": "deny", "git *": "allow", "x": "ask"}"#);
        let after = data(r#"{"git *": "deny", "*": "ask", "x": {"a": "deny"}}"#);
        let expected = data(r#"{"*": "ask", "git *": "deny", "x": {"a": "deny"}}"#);
        assert_eq!(joined(before, after), expected);
    }

    /// All orders of two to four of the tools that edit files, each on and off.
    fn older() -> Vec<Vec<(String, Data)>> {
        let mut lists: Vec<Vec<(String, Data)>> = vec![vec![]];
        let mut all = Vec::new();
        for _ in 0..4 {
            let longer = lists.iter().flat_map(|list| {
                let new = ["write", "edit", "patch", "multiedit"].into_iter();
                let new = new.filter(|tool| list.iter().all(|(known, _)| known != tool));
                let new = new.flat_map(|tool| [true, false].map(|on| (tool, on)));
                new.map(|(tool, on)| [&list[..], &[(tool.to_owned(), Data::Bool(on))]].concat())
            });
            lists = longer.collect();
            all.extend(lists.iter().filter(|list| list.len() > 1).cloned());
        }
        all
    }

    #[test]
    fn permission_overrides_the_older_tools_field() {
        let maps = [r#"{"*": "allow", "src/*": "deny"}"#, r#"{"*": "deny", "a": "allow"}"#, "{}"];
        let maps = maps.map(|text| settings(text).unwrap_or_default());
        let kinds: Vec<Data> =
            ["allow", "ask", "deny"].map(Data::str).into_iter().chain(maps).collect();
        for tools in older() {
            let on = Data::Bool(true);
            let mut counted = tools.iter().filter(|(tool, it)| tool != MULTIEDIT || *it != on);
            let last = counted.next_back().expect("one that counts").1 == on;
            let last = Data::str(if last { "allow" } else { "deny" });
            let older = ("tools".to_owned(), Data::Map(tools));
            let alone = own_rules(&Data::Map(vec![older.clone()]));
            assert_eq!(alone, Data::Map(vec![("edit".to_owned(), last)]), "{older:?}");
            for kind in &kinds {
                let rules = Data::Map(vec![("edit".to_owned(), kind.clone())]);
                let newer = ("permission".to_owned(), rules.clone());
                for fields in [[older.clone(), newer.clone()], [newer, older.clone()]] {
                    assert_eq!(own_rules(&Data::Map(fields.into())), rules, "{older:?}");
                }
            }
        }
    }
}
