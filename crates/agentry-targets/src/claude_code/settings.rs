//! The settings of a project or a user: rules for every agent, and other options that affect them.
//!
//! Claude Code drops a whole file, with its denials, for one value of a wrong type. Such a file is never
//! written, and counts as absent.

use serde_json::{Value, json};

use super::hook;
use crate::HarnessFiles;
use crate::jsonc::{JsonDialect, JsoncDocument};
use crate::user_settings::files_in;

/// The shared settings of a project.
pub(super) const SHARED: &str = ".claude/settings.json";
/// The personal settings of one user in a project.
pub(super) const LOCAL: &str = ".claude/settings.local.json";
/// The settings of the user for every project.
pub(super) const PERSONAL: &str = "~/.claude/settings.json";
/// The managed settings of the machine.
const MANAGED: &[&str] = &[
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
];
/// The directory with more managed settings.
const MANAGED_PARTS: &str = "/etc/claude-code/managed-settings.d/";
/// The key that records which shared settings Agentry wrote, so that they can be removed again.
const OURS: &str = "x-agentry";

/// Rules of Claude Code by their verdict.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct ClaudeRuleLists {
    pub(super) allow: Vec<String>,
    pub(super) ask: Vec<String>,
    pub(super) deny: Vec<String>,
}

impl ClaudeRuleLists {
    const NAMES: [&'static str; 3] = ["allow", "ask", "deny"];

    pub(super) fn by_name(&self, name: &str) -> &Vec<String> {
        match name {
            "allow" => &self.allow,
            "ask" => &self.ask,
            _ => &self.deny,
        }
    }

    /// Whether there are neither asks nor denials.
    pub(super) fn is_only_allow(&self) -> bool {
        self.ask.is_empty() && self.deny.is_empty()
    }

    /// Returns every rule with the name of its list, except what is allowed.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let of = |name: &'static str| self.by_name(name).iter().map(move |text| (name, text));
        ["ask", "deny"].into_iter().flat_map(of)
    }

    /// Adds rules that are not present yet.
    pub(super) fn extend(&mut self, other: &Self) {
        for (own, more) in [
            (&mut self.allow, &other.allow),
            (&mut self.ask, &other.ask),
            (&mut self.deny, &other.deny),
        ] {
            for text in more {
                if !own.contains(text) {
                    own.push(text.clone());
                }
            }
        }
    }
}

/// The merged settings of several files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct ClaudeSettings {
    pub(super) rules: ClaudeRuleLists,
    /// The allow rules that Agentry wrote.
    ours: Vec<String>,
    /// Directories that also count as the workspace.
    pub(super) directories: Vec<String>,
    /// Whether only the managed settings may allow anything.
    pub(super) managed_only: bool,
    /// Whether all hooks are disabled.
    pub(super) without_hooks: bool,
    /// Whether the guard is asked about every call.
    pub(super) guarded: bool,
}

/// Returns the settings of a project.
pub(super) fn known(files: &dyn HarnessFiles) -> ClaudeSettings {
    known_by(files, &[SHARED, LOCAL])
}

/// Returns the rules in the shared settings of a project.
pub(super) fn of_project(files: &dyn HarnessFiles) -> ClaudeRuleLists {
    known_by(files, &[SHARED]).rules
}

/// Returns the shared settings of a project without what the user allows there. Like the modes of a session,
/// that is the choice of the user; it is reported as a gap.
pub(super) fn rendered_for_all(files: &dyn HarnessFiles) -> ClaudeSettings {
    let mut known = known_by(files, &[SHARED]);
    known.without_hooks |= known_by(files, &[LOCAL]).without_hooks;
    known.rules.allow = std::mem::take(&mut known.ours);
    known.directories.clear();
    known
}

/// What an earlier rendering wrote to the shared settings.
#[derive(Debug, Default)]
pub(super) struct RenderedSettings {
    /// Whether there is anything, rules or a hook.
    pub(super) is_some: bool,
    pub(super) rules: ClaudeRuleLists,
}

/// Returns what an earlier rendering wrote to the shared settings.
pub(super) fn rendered(text: Option<&str>) -> RenderedSettings {
    let document = JsoncDocument::read(text.unwrap_or_default(), JsonDialect::Strict).ok();
    let Some(value) = document.map(|document| document.value()) else {
        return RenderedSettings::default();
    };
    let texts = |name: &str| -> Vec<String> {
        let items = value.pointer(&format!("/{OURS}/{name}")).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let [allow, ask, deny] = ClaudeRuleLists::NAMES.map(texts);
    let hooks = value.pointer("/hooks/PreToolUse").and_then(Value::as_array);
    let has_hook = hooks.into_iter().flatten().any(hook::is_ours);
    let is_some = has_hook || value.get(OURS).is_some();
    RenderedSettings { is_some, rules: ClaudeRuleLists { allow, ask, deny } }
}

/// Returns the settings of a project and of the user.
pub(super) fn known_by_all(files: &dyn HarnessFiles) -> ClaudeSettings {
    known_by(files, &[SHARED, LOCAL, PERSONAL])
}

/// Returns the settings of the user alone.
pub(super) fn personal(files: &dyn HarnessFiles) -> ClaudeSettings {
    known_by(files, &[PERSONAL])
}

/// Returns the managed settings files of the machine.
pub(super) fn managed(files: &dyn HarnessFiles) -> Vec<(String, String)> {
    let whole = MANAGED.iter().filter_map(|path| Some(((*path).to_owned(), files.text(path)?)));
    whole.chain(files_in(files, MANAGED_PARTS, ".json")).collect()
}

/// Describes the first file that Claude Code would drop.
pub(super) fn dropped(files: &dyn HarnessFiles) -> Option<String> {
    let own = [SHARED, LOCAL, PERSONAL].into_iter();
    let own = own.filter_map(|path| Some((path.to_owned(), files.text(path)?)));
    own.chain(managed(files)).find_map(|(path, text)| {
        match JsoncDocument::read(&text, JsonDialect::Strict) {
            Ok(document) => Some(format!("`{path}`: {}", wrong_type(&document.value())?)),
            Err(wrong) => Some(wrong.describe(&path)),
        }
    })
}

/// Parses one settings file; `None` if Claude Code would drop it.
pub(super) fn read(text: &str) -> Option<ClaudeSettings> {
    let value = JsoncDocument::read(text, JsonDialect::Strict).ok()?.value();
    let mut known = ClaudeSettings::default();
    known.add(&value);
    wrong_type(&value).is_none().then_some(known)
}

fn known_by(files: &dyn HarnessFiles, paths: &[&str]) -> ClaudeSettings {
    let texts: Vec<String> = paths.iter().filter_map(|path| files.text(path)).collect();
    match files.memo() {
        Some(memo) => memo.claude_code.settings.get(texts.clone(), || joined(&texts)),
        None => joined(&texts),
    }
}

fn joined(texts: &[String]) -> ClaudeSettings {
    let mut known = ClaudeSettings::default();
    for text in texts {
        let document = JsoncDocument::read(text, JsonDialect::Strict).ok();
        // Claude Code drops a malformed file.
        let Some(value) = document.map(|document| document.value()) else { continue };
        if wrong_type(&value).is_none() {
            known.add(&value);
        }
    }
    known
}

impl ClaudeSettings {
    fn add(&mut self, value: &Value) {
        let texts = |pointer: &str| -> Vec<String> {
            let items = value.pointer(pointer).and_then(Value::as_array);
            items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        self.rules.extend(&ClaudeRuleLists {
            allow: texts("/permissions/allow"),
            ask: texts("/permissions/ask"),
            deny: texts("/permissions/deny"),
        });
        self.ours.extend(texts(&format!("/{OURS}/allow")));
        self.directories.extend(texts("/permissions/additionalDirectories"));
        let only = value.get("allowManagedPermissionRulesOnly");
        self.managed_only |= only == Some(&Value::Bool(true));
        self.without_hooks |= value.get("disableAllHooks") == Some(&Value::Bool(true));
        let hooks = value.pointer("/hooks/PreToolUse").and_then(Value::as_array);
        self.guarded |= hooks.into_iter().flatten().any(hook::is_ours);
    }
}

/// The type that a setting must have.
struct SettingType {
    pointer: &'static str,
    holds: fn(&Value) -> bool,
    what: &'static str,
}

const fn of_type(
    pointer: &'static str,
    holds: fn(&Value) -> bool,
    what: &'static str,
) -> SettingType {
    SettingType { pointer, holds, what }
}

const TYPES: &[SettingType] = &[
    of_type("/permissions", Value::is_object, "an object"),
    of_type("/permissions/allow", is_list, "a list of texts"),
    of_type("/permissions/ask", is_list, "a list of texts"),
    of_type("/permissions/deny", is_list, "a list of texts"),
    of_type("/permissions/additionalDirectories", is_list, "a list of texts"),
    of_type("/permissions/defaultMode", Value::is_string, "a text"),
    of_type("/hooks", Value::is_object, "an object"),
    of_type("/hooks/PreToolUse", Value::is_array, "a list"),
    of_type("/disableAllHooks", Value::is_boolean, "`true` or `false`"),
    of_type("/model", Value::is_string, "a text"),
    of_type("/agent", Value::is_string, "a text"),
    of_type("/env", Value::is_object, "an object"),
];

fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}

/// Describes the first value whose type makes Claude Code drop the whole file.
fn wrong_type(value: &Value) -> Option<String> {
    TYPES.iter().find_map(|SettingType { pointer, holds, what }| {
        let found = value.pointer(pointer)?;
        let name = pointer.trim_start_matches('/').replace('/', ".");
        (!holds(found)).then(|| format!("`{name}` must be {what}, or Claude Code drops the file"))
    })
}

/// Returns the shared settings with these rules and hooks in place of those that Agentry wrote before; `None`
/// if there is nothing to write.
pub(super) fn merged(
    existing: Option<String>,
    rules: &ClaudeRuleLists,
    hooks: Option<Value>,
) -> Result<Option<String>, String> {
    let text = existing.clone().unwrap_or_default();
    let mut document =
        JsoncDocument::read(&text, JsonDialect::Strict).map_err(|wrong| wrong.describe(SHARED))?;
    if let Some(wrong) = wrong_type(&document.value()) {
        return Err(format!("`{SHARED}`: {wrong}"));
    }
    // Start without Agentry's own entries, so that stale rules disappear.
    take_back(&mut document);
    let before = document.value();
    let mut ours = serde_json::Map::new();
    for name in ClaudeRuleLists::NAMES {
        let known = before.pointer(&format!("/permissions/{name}")).and_then(Value::as_array);
        let is_known =
            |text: &&String| known.is_some_and(|known| known.iter().any(|it| it == *text));
        // A rule that the user wrote is not recorded as ours, so that it is never removed.
        let new: Vec<&String> = rules.by_name(name).iter().filter(|text| !is_known(text)).collect();
        for text in &new {
            document.push(&["permissions", name], &json!(text));
        }
        if !new.is_empty() {
            ours.insert(name.to_owned(), json!(new));
        }
    }
    if let Some(hook) = hooks {
        document.push(&["hooks", "PreToolUse"], &hook);
    }
    if !ours.is_empty() {
        document.set(&[OURS], &Value::Object(ours));
    }
    let empty = existing.is_none() && document.value() == json!({});
    let unchanged = existing.as_ref().is_some_and(|text| document.text() == *text);
    let text = if unchanged { existing } else { Some(document.text()) };
    Ok(text.filter(|_| !empty))
}

/// Whether settings say nothing at all.
pub(super) fn is_empty(text: &str) -> bool {
    let document = JsoncDocument::read(text, JsonDialect::Strict);
    document.is_ok_and(|document| document.value() == json!({}))
}

/// Removes what Agentry wrote before.
fn take_back(document: &mut JsoncDocument) {
    let value = document.value();
    for name in ClaudeRuleLists::NAMES {
        let ours = value.pointer(&format!("/{OURS}/{name}")).and_then(Value::as_array);
        let is_ours = |text: &Value| ours.is_some_and(|ours| ours.contains(text));
        document.take(&["permissions", name], is_ours);
    }
    document.take(&["hooks", "PreToolUse"], hook::is_ours);
    document.remove(&[OURS]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(ask: &[&str]) -> ClaudeRuleLists {
        ClaudeRuleLists {
            ask: ask.iter().map(|it| (*it).to_owned()).collect(),
            ..ClaudeRuleLists::default()
        }
    }

    #[test]
    fn merging_keeps_user_rules_and_replaces_agentry_rules() {
        let mine =
            "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"ask\": [\"Bash\"]\n  }\n}\n";
        let written = merged(Some(mine.to_owned()), &rules(&["Bash", "WebFetch"]), None);
        let written = written.expect("settings").expect("a text");
        let value = JsoncDocument::read(&written, JsonDialect::Strict).expect("json").value();
        assert_eq!(value["permissions"]["ask"], json!(["Bash", "WebFetch"]));
        assert_eq!(value[OURS]["ask"], json!(["WebFetch"]));
        let again = merged(Some(written.clone()), &rules(&["Bash", "WebFetch"]), None);
        assert_eq!(again.expect("settings").as_deref(), Some(written.as_str()));
        let back = merged(Some(written), &ClaudeRuleLists::default(), None)
            .expect("settings")
            .expect("a text");
        let value = JsoncDocument::read(&back, JsonDialect::Strict).expect("json").value();
        assert_eq!(value, json!({"model": "opus", "permissions": {"ask": ["Bash"]}}));
    }

    #[test]
    fn invalid_settings_are_not_written() {
        let cases = [
            ("{\"permissions\": {\"ask\": \"x\"}}", "`permissions.ask` must be a list of texts"),
            ("{\"model\": 5}", "`model` must be a text"),
            ("{\n // why\n}", "`.claude/settings.json:2:2`: "),
            ("{", "`.claude/settings.json:1:1`: "),
        ];
        for (text, expected) in cases {
            let wrong =
                merged(Some(text.to_owned()), &ClaudeRuleLists::default(), None).expect_err(text);
            assert!(wrong.contains(expected), "{wrong}");
        }
    }

    #[test]
    fn empty_rules_write_no_settings() {
        assert_eq!(merged(None, &ClaudeRuleLists::default(), None), Ok(None));
    }
}
