//! `allowed_tools` of a script: names of tools, some with a pattern, and the layer of the policy that they
//! make.

use agentry_compile::native_tool;
use agentry_compile::policy::{PathAnchors, PolicyLayer, allowed_tools};
use agentry_compile::text::Spanned;

/// The tools that a script may call.
pub(super) struct ScriptToolList {
    /// The names of the tools, as a model knows them.
    pub(super) names: Vec<String>,
    /// The same for the policy.
    entries: Vec<Spanned<String>>,
}

impl ScriptToolList {
    pub(super) fn new(written: &[Spanned<String>]) -> Self {
        let mut allowed = Self { names: Vec::new(), entries: Vec::new() };
        for entry in written {
            for text in expanded(entry) {
                let tool = text.split_once('(').map_or(text.as_str(), |(tool, _)| tool).trim();
                allowed.names.push(offered_name(tool));
                allowed.entries.push(Spanned::new(text, entry.span));
            }
        }
        allowed
    }

    pub(super) fn layer(&self, places: &PathAnchors) -> PolicyLayer {
        allowed_tools(&self.entries, places)
    }
}

/// Returns what an entry stands for: `git` is a command, `search` is two tools.
fn expanded(entry: &str) -> Vec<String> {
    let entry = entry.trim();
    let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match entry {
        "git" => own(&["bash(git *)"]),
        "search" => own(&["grep", "glob"]),
        _ => match entry.split_once('(') {
            Some((tool, part)) => match native_tool(tool) {
                Some(native) => vec![format!("{native}({part}")],
                None => vec![entry.to_owned()],
            },
            None => match native_tool(entry) {
                Some(native) => own(&[native]),
                None => server_entry(entry),
            },
        },
    }
}

/// A tool of a server, by the name that a model knows, is one of the `mcp` section.
fn server_entry(entry: &str) -> Vec<String> {
    let is_offered = entry.contains("__") && !entry.starts_with("mcp__");
    let as_server = is_offered.then(|| format!("mcp__{entry}"));
    as_server.into_iter().chain([entry.to_owned()]).collect()
}

/// Returns the name under which a model knows a tool.
fn offered_name(tool: &str) -> String {
    let tool = tool.strip_prefix("mcp__").unwrap_or(tool);
    native_tool(tool).map_or_else(|| tool.replace('/', "__"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use agentry_compile::text::{FileId, Span};

    use super::*;

    #[test]
    fn allowed_tools_entries_resolve_to_tools() {
        let cases: [(&str, &[&str], &[&str]); 9] = [
            ("read", &["read"], &["read"]),
            ("Read", &["read"], &["read"]),
            ("ls", &["list"], &["list"]),
            ("git", &["bash"], &["bash(git *)"]),
            ("search", &["grep", "glob"], &["grep", "glob"]),
            ("Bash(npm test)", &["bash"], &["bash(npm test)"]),
            ("mcp__tracker__find", &["tracker__find"], &["mcp__tracker__find"]),
            (
                "tracker__find",
                &["tracker__find", "tracker__find"],
                &["mcp__tracker__find", "tracker__find"],
            ),
            ("other-script", &["other-script"], &["other-script"]),
        ];
        for (entry, names, entries) in cases {
            let written = Spanned::new(entry.to_owned(), Span::start_of(FileId(0)));
            let allowed = ScriptToolList::new(&[written]);
            assert_eq!(allowed.names, names, "{entry}");
            let found: Vec<&str> = allowed.entries.iter().map(|it| it.value.as_str()).collect();
            assert_eq!(found, entries, "{entry}");
        }
    }
}
