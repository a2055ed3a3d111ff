//! The settings of Codex, and the agents that they define: `[agents.NAME]`, with a file for all other fields.

use agentry_text::Data;

use super::role::parse;
use crate::HarnessFiles;

/// The settings of the project, for values that an agent leaves out.
pub(super) const SETTINGS: &str = ".codex/config.toml";
/// The settings of the user, for values that the project leaves out.
pub(super) const OWN_SETTINGS: &str = "~/.codex/config.toml";

/// An agent in the settings.
pub(super) struct CodexAgentEntry {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// The file with all other fields.
    pub(super) file: Option<String>,
}

/// Parses the settings at `path`. Import and rendering report invalid TOML elsewhere.
pub(super) fn settings(files: &dyn HarnessFiles, path: &str) -> Option<Data> {
    parse(files.text(path)?.trim_start_matches('\u{feff}'))
}

/// Returns the agents in the settings at `path`.
pub(super) fn listed(files: &dyn HarnessFiles, path: &str) -> Vec<CodexAgentEntry> {
    let data = settings(files, path).unwrap_or_default();
    let Some(Data::Map(agents)) = data.get("agents") else { return Vec::new() };
    let dir = path.strip_suffix("config.toml").unwrap_or_default();
    // Next to the agents there are settings for all of them, such as `max_threads`.
    let tables = agents.iter().filter(|(_, table)| matches!(table, Data::Map(_)));
    let agent = |(name, table): &(String, Data)| {
        let word = |key: &str| table.get(key).and_then(Data::as_str);
        CodexAgentEntry {
            name: name.clone(),
            description: word("description").map(str::to_owned),
            file: word("config_file").map(|file| below(dir, file)),
        }
    };
    tables.map(agent).collect()
}

/// Resolves a path from a directory, and removes `.` and `..` where possible.
fn below(dir: &str, file: &str) -> String {
    if file.starts_with('/') {
        return file.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in dir.split('/').chain(file.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, ".." | "~")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_file_paths_are_resolved() {
        let cases = [
            (".codex/", "agents/a.toml", ".codex/agents/a.toml"),
            (".codex/", "./agents/../roles//a.toml", ".codex/roles/a.toml"),
            (".codex/", "../a.toml", "a.toml"),
            (".codex/", "../../a.toml", "../a.toml"),
            ("~/.codex/", "../../a.toml", "~/../a.toml"),
            (".codex/", "/etc/a.toml", "/etc/a.toml"),
        ];
        for (dir, file, expected) in cases {
            assert_eq!(below(dir, file), expected, "{dir}{file}");
        }
    }
}
