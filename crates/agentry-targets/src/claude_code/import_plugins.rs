//! Enabled plugins of Claude Code: the hooks of a plugin may deny a call.

use std::collections::BTreeSet;

use agentry_policy::Section;
use serde_json::Value;

use super::import_hooks::{are_off, before_calls, settings};
use crate::HarnessFiles;
use crate::jsonc::{JsonDialect, JsoncDocument};

/// The file in which Claude Code records where each plugin is installed.
const INSTALLED: &str = "~/.claude/plugins/installed_plugins.json";
/// The directory of plugins, below a home directory.
const PLACE: &str = "/.claude/plugins/";

/// An enabled plugin.
#[derive(Debug)]
pub(super) struct ClaudePlugin {
    /// The name with its marketplace: `name@marketplace`.
    pub(super) name: String,
    /// The sections that its hooks decide about, or why they are unknown.
    pub(super) hooks: Result<Vec<Section>, String>,
}

/// Returns the plugins that any settings file enables.
pub(super) fn plugins(files: &dyn HarnessFiles) -> Vec<ClaudePlugin> {
    if are_off(files) {
        return Vec::new();
    }
    let all = settings(files);
    let enabled = all.iter().filter_map(|it| it.get("enabledPlugins")?.as_object());
    // Any value except `false` may enable a plugin.
    let on = enabled.flatten().filter(|(_, on)| **on != Value::Bool(false));
    let names: BTreeSet<&String> = on.map(|(name, _)| name).collect();
    let plugin = |name: &String| ClaudePlugin { name: name.clone(), hooks: hooks(files, name) };
    names.into_iter().map(plugin).collect()
}

/// Returns the sections that the hooks of a plugin decide about, over all its installations.
fn hooks(files: &dyn HarnessFiles, name: &str) -> Result<Vec<Section>, String> {
    let installed = json(files, INSTALLED).ok_or(format!("`{INSTALLED}` cannot be read"))?;
    let entries = installed.get("plugins").and_then(|plugins| plugins.get(name));
    let entries: Vec<&Value> = match entries {
        Some(Value::Array(entries)) => entries.iter().collect(),
        one => one.into_iter().collect(),
    };
    let paths = entries.iter().filter_map(|entry| entry.get("installPath")?.as_str());
    let places: Vec<Option<String>> = paths.map(place).collect();
    if places.is_empty() {
        return Err(format!("`{INSTALLED}` does not say where it is"));
    }
    let mut sections = Vec::new();
    for place in places {
        let place = place.ok_or(format!("it is not below `~{PLACE}`, and is not looked at"))?;
        sections.extend(brought(files, &place)?);
    }
    sections.sort();
    sections.dedup();
    Ok(sections)
}

/// Returns the directory of a plugin below the home directory.
fn place(path: &str) -> Option<String> {
    let (_, rest) = path.split_once(PLACE)?;
    let plain = !rest.split('/').any(|part| part == "..");
    plain.then(|| format!("~{PLACE}{}", rest.trim_end_matches('/')))
}

/// Returns the sections that the hooks of the plugin in a directory decide about.
fn brought(files: &dyn HarnessFiles, dir: &str) -> Result<Vec<Section>, String> {
    let manifest = format!("{dir}/.claude-plugin/plugin.json");
    let declared = json(files, &manifest).and_then(|manifest| manifest.get("hooks").cloned());
    let mut paths = vec![format!("{dir}/hooks/hooks.json")];
    let mut sections = Vec::new();
    match declared {
        Some(Value::Object(hooks)) => sections.extend(of(&Value::Object(hooks))),
        Some(Value::String(path)) => paths.push(format!("{dir}/{}", path.trim_start_matches("./"))),
        Some(_) => return Err(format!("`hooks` in `{manifest}` is not understood")),
        None => {}
    }
    // If none of the files can be read, the hooks are unknown and not absent.
    if files.text(&manifest).is_none() && paths.iter().all(|path| files.text(path).is_none()) {
        return Err(format!("`{manifest}` cannot be read"));
    }
    for path in paths {
        match (files.text(&path), json(files, &path)) {
            (_, Some(hooks)) => sections.extend(of(&hooks)),
            (Some(_), None) => return Err(format!("`{path}` cannot be read")),
            (None, None) => {}
        }
    }
    Ok(sections)
}

/// Returns the sections of a hooks file, with or without a top-level `hooks` key.
fn of(hooks: &Value) -> Vec<Section> {
    before_calls(hooks.get("hooks").unwrap_or(hooks))
}

fn json(files: &dyn HarnessFiles, path: &str) -> Option<Value> {
    JsoncDocument::read(&files.text(path)?, JsonDialect::Relaxed)
        .ok()
        .map(|document| document.value())
}
