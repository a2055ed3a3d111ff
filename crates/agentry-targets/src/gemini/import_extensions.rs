//! Extensions of Gemini: what an extension removes, and its hooks. What it adds is ignored.

use serde_json::{Map, Value};

use crate::HarnessFiles;
use crate::draft::ImportDraft;
use crate::jsonc::{JsonDialect, JsoncDocument};
use crate::render_result::LossKind;

/// The directories of extensions. A disabled extension counts too.
const PLACES: &[&str] = &[".gemini/extensions/", "~/.gemini/extensions/"];

/// The keys of a manifest that remove something.
const KEYS: &[&str] = &["excludeTools", "mcpServers"];

/// Returns what each extension removes, in the form of settings, with the path of its manifest.
pub(super) fn extensions(
    files: &dyn HarnessFiles,
    draft: &mut ImportDraft,
) -> Vec<(String, Value)> {
    let dirs = PLACES.iter().flat_map(|place| {
        let names = files.names(place).unwrap_or_default();
        // A listing may contain paths below the directory; only the first segment is the extension.
        let names = names.iter().filter_map(|name| name.split('/').next());
        let mut dirs: Vec<String> = names.map(|name| format!("{place}{name}/")).collect();
        dirs.dedup();
        dirs
    });
    dirs.filter_map(|dir| {
        let path = format!("{dir}gemini-extension.json");
        let text = files.text(&path)?;
        Some((settings(files, &dir, &path, &text, draft), path))
    })
    .map(|(value, path)| (path, value))
    .collect()
}

fn settings(
    files: &dyn HarnessFiles,
    dir: &str,
    path: &str,
    text: &str,
    draft: &mut ImportDraft,
) -> Value {
    let mut unread = |path: &str| {
        let detail = format!("`{path}` is not looked at: what it denies is not taken over");
        draft.lose("permissions", LossKind::Gap, detail);
    };
    let mut found = Map::new();
    match json(text) {
        Some(Value::Object(manifest)) => {
            found.extend(manifest.into_iter().filter(|(key, _)| KEYS.contains(&key.as_str())));
        }
        _ => unread(path),
    }
    let hooks = format!("{dir}hooks/hooks.json");
    match files.text(&hooks).map(|text| json(&text)) {
        Some(Some(value)) => {
            let inner = value.get("hooks").cloned().unwrap_or(value);
            found.insert("hooks".to_owned(), inner);
        }
        Some(None) => unread(&hooks),
        None => {}
    }
    let policies = format!("{dir}policies/");
    if files.names(&policies).is_some_and(|names| !names.is_empty()) {
        unread(&policies);
    }
    Value::Object(found)
}

fn json(text: &str) -> Option<Value> {
    JsoncDocument::read(text, JsonDialect::Relaxed).ok().map(|document| document.value())
}
