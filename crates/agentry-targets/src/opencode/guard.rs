//! The protocol between the rendered plugin and `agentry guard`: one call as JSON on standard input,
//! one decision as JSON on standard output.
//!
//! ```text
//! {"tool": "bash", "args": {"command": "git push"}, "directory": "/home/me/project", "servers": ["github"]}
//! {"decision": "deny", "reason": "denied by git push*:deny: git push"}
//! ```

use agentry_policy::{Action, Section, Verdict};
use agentry_text::path::is_inside;
use serde_json::{Value, json};

use super::names::sanitised;
use crate::guard::{
    self, FileSearch, GuardAnswer, GuardProtocol, GuardQuestion, literal, needed, optional, parse,
    readings, why,
};

pub(super) const GUARD: GuardProtocol = GuardProtocol { question, answer, confined: None, failure };

/// The source of the plugin that asks the guard.
pub(super) const PLUGIN: &str = include_str!("plugin.js");

/// The sections and subjects that one tool call touches.
type OpencodeCalls = Vec<(Section, String)>;

fn question(text: &str) -> Result<GuardQuestion, String> {
    let question = parse(text)?;
    let tool = needed(&question, "tool", "a question")?;
    let directory = guard::directory(&question, "directory")?;
    let call = OpencodeToolCall { tool, args: guard::input(&question, "args")?, directory };
    let (directory, calls) = match tool {
        "bash" => call.command()?,
        _ => (directory.to_owned(), call.calls(question.get("servers"))?),
    };
    Ok(GuardQuestion { directory, calls, searches: call.searches()? })
}

/// One tool call of a question.
struct OpencodeToolCall<'a> {
    tool: &'a str,
    args: &'a Value,
    directory: &'a str,
}

impl OpencodeToolCall<'_> {
    fn text(&self, key: &str) -> Result<Option<&str>, String> {
        optional(self.args, key, &format!("`{}`", self.tool))
    }

    fn needed(&self, key: &str) -> Result<&str, String> {
        needed(self.args, key, &format!("`{}`", self.tool))
    }

    /// Returns a path as OpenCode resolves it: `~` is an ordinary name.
    fn path(&self, given: &str) -> String {
        if given.starts_with('/') {
            given.to_owned()
        } else {
            format!("{}/{given}", self.directory)
        }
    }

    /// Returns a command line, and the directory that it starts in.
    fn command(&self) -> Result<(String, OpencodeCalls), String> {
        let mut calls = vec![(Section::Bash, self.needed("command")?.to_owned())];
        let Some(given) = self.text("workdir")? else {
            return Ok((self.directory.to_owned(), calls));
        };
        let path = self.path(given);
        // A working directory outside needs its own permission.
        if !within(&path, self.directory) {
            calls.push((Section::ExternalDirectory, path.clone()));
        }
        Ok((path, calls))
    }

    /// Returns everything that a call touches.
    fn calls(&self, servers: Option<&Value>) -> Result<OpencodeCalls, String> {
        let file = |section, key: &str| {
            let readings = readings(&self.path(self.needed(key)?), self.directory);
            Ok(readings.into_iter().map(|path| (section, path)).collect())
        };
        let named = |section, key: &str| Ok(vec![(section, self.needed(key)?.to_owned())]);
        match self.tool {
            "edit" | "write" | "multiedit" => file(Section::Edit, "filePath"),
            "patch" | "apply_patch" => self.patched(),
            "read" | "lsp" => file(Section::Read, "filePath"),
            "glob" | "grep" | "list" => self.searched(),
            "webfetch" => named(Section::Webfetch, "url"),
            "websearch" => named(Section::Websearch, "query"),
            "task" => named(Section::Delegate, "subagent_type"),
            "skill" => named(Section::Skill, "name"),
            "question" => self.questions(),
            tool => Ok(other(tool, servers)),
        }
    }

    /// Returns the files that a patch changes.
    fn patched(&self) -> Result<OpencodeCalls, String> {
        const MARKS: &[&str] =
            &["*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"];
        let lines = self.needed("patchText")?.lines().map(str::trim);
        let named = |line: &str| {
            MARKS.iter().find_map(|mark| Some(line.strip_prefix(mark)?.trim().to_owned()))
        };
        let paths: Vec<String> = lines.filter_map(named).collect();
        // A patch in an unknown format could change any file.
        if paths.is_empty() {
            return Err("a patch that names no file".to_owned());
        }
        let readings = paths.iter().flat_map(|path| readings(&self.path(path), self.directory));
        Ok(readings.map(|path| (Section::Edit, path)).collect())
    }

    /// Returns the directory that is searched, and the one that its pattern leads to.
    fn searched(&self) -> Result<OpencodeCalls, String> {
        let base = self.path(self.text("path")?.unwrap_or("."));
        let known = literal(self.pattern()?.unwrap_or_default());
        let elsewhere = known.starts_with('/') || known.split('/').any(|part| part == "..");
        let led = if known.starts_with('/') { known.to_owned() } else { format!("{base}/{known}") };
        let led = elsewhere.then_some((Section::Read, led));
        let bases = readings(&base, self.directory).into_iter().map(|path| (Section::Read, path));
        Ok(bases.chain(led).collect())
    }

    /// Returns the glob that selects files.
    fn pattern(&self) -> Result<Option<&str>, String> {
        match self.tool {
            "glob" => self.text("pattern"),
            "grep" => self.text("include"),
            _ => Ok(None),
        }
    }

    /// Returns what a search reads: the files that its pattern selects, below the directory that it leads to.
    fn searches(&self) -> Result<Vec<FileSearch>, String> {
        if !matches!(self.tool, "glob" | "grep") {
            return Ok(Vec::new());
        }
        let pattern = self.pattern()?;
        let base = self.path(self.text("path")?.unwrap_or("."));
        let each = |path: String| FileSearch::each(&path, self.directory, pattern);
        Ok(readings(&base, self.directory).into_iter().flat_map(each).collect())
    }

    fn questions(&self) -> Result<OpencodeCalls, String> {
        let questions = self.args.get("questions").and_then(Value::as_array);
        let texts = questions.into_iter().flatten().filter_map(|it| it.get("question")?.as_str());
        let calls: OpencodeCalls = texts.map(|text| (Section::Question, text.to_owned())).collect();
        if calls.is_empty() { Err("a question without a text".to_owned()) } else { Ok(calls) }
    }
}

/// Returns the calls of a tool without its own section: an MCP tool with server and tool, or any other. If
/// the servers are not known, every possible split counts.
fn other(tool: &str, servers: Option<&Value>) -> OpencodeCalls {
    let of = |server: &str, rest: &str| (Section::Mcp, format!("{server}/{rest}"));
    let Some(servers) = servers.and_then(Value::as_array) else {
        let splits = tool.match_indices('_').map(|(at, _)| {
            of(tool.get(..at).unwrap_or_default(), tool.get(at + 1..).unwrap_or_default())
        });
        return splits.chain([(Section::Tool, tool.to_owned())]).collect();
    };
    let names = servers.iter().filter_map(Value::as_str);
    let calls: OpencodeCalls = names
        .filter_map(|name| {
            let rest = tool.strip_prefix(&sanitised(name))?.strip_prefix('_')?;
            Some(of(name, rest))
        })
        .collect();
    if calls.is_empty() { vec![(Section::Tool, tool.to_owned())] } else { calls }
}

/// Whether a path is inside a directory, judged by names alone.
fn within(path: &str, directory: &str) -> bool {
    let climbs = path.split('/').any(|part| part == "..");
    !climbs && is_inside(path, directory)
}

fn answer(verdict: &Verdict) -> GuardAnswer {
    guard_answer(verdict.action, &why(verdict), 0)
}

fn failure(why: &str) -> GuardAnswer {
    guard_answer(Action::Deny, why, 2)
}

fn guard_answer(action: Action, reason: &str, code: u8) -> GuardAnswer {
    let output = json!({ "decision": action.as_str(), "reason": reason });
    let errors = if code == 0 { String::new() } else { format!("{reason}\n") };
    GuardAnswer { output: format!("{output}\n"), errors, code }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(question: &Value) -> String {
        match super::question(&question.to_string()) {
            Ok(GuardQuestion { directory, calls, .. }) => {
                let calls = calls.iter().map(|(section, text)| format!("{section} {text}"));
                std::iter::once(directory).chain(calls).collect::<Vec<_>>().join(", ")
            }
            Err(why) => why,
        }
    }

    #[test]
    fn tool_calls_map_to_sections() {
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n*** Move to: ../b\n*** End Patch";
        let cases = [
            ("bash", json!({"command": "ls"}), "/w, bash ls"),
            ("bash", json!({"command": "ls", "workdir": "a"}), "/w/a, bash ls"),
            (
                "bash",
                json!({"command": "ls", "workdir": "/x"}),
                "/x, bash ls, external_directory /x",
            ),
            ("edit", json!({"filePath": "a"}), "/w, edit /w/a"),
            ("write", json!({"filePath": "/x/a"}), "/w, edit /x/a"),
            ("write", json!({"filePath": "~/a"}), "/w, edit /w/~/a"),
            ("apply_patch", json!({"patchText": patch}), "/w, edit /w/a, edit /w/../b, edit /b"),
            ("patch", json!({"patchText": "x"}), "a patch that names no file"),
            ("read", json!({}), "`read` without `filePath`"),
            ("read", json!({"filePath": 1}), "`read` with a `filePath` that is not text"),
            ("read", json!({"filePath": "a\0"}), "`read` with a zero in `filePath`"),
            (
                "bash",
                json!({"command": "ls", "workdir": []}),
                "`bash` with a `workdir` that is not text",
            ),
            ("todowrite", json!([]), "`args` is not an object"),
            ("glob", json!({"pattern": "*.rs"}), "/w, read /w/."),
            ("glob", json!({"pattern": "../*.rs", "path": "a"}), "/w, read /w/a, read /w/a/../"),
            ("grep", json!({"pattern": "/x", "path": "/etc"}), "/w, read /etc"),
            ("webfetch", json!({"url": "https://x.org"}), "/w, webfetch https://x.org"),
            ("websearch", json!({"query": "x"}), "/w, websearch x"),
            ("task", json!({"subagent_type": "general"}), "/w, delegate general"),
            ("skill", json!({"name": "pdf"}), "/w, skill pdf"),
            ("question", json!({"questions": [{"question": "Why?"}]}), "/w, question Why?"),
            ("question", json!({}), "a question without a text"),
            ("todowrite", json!({}), "/w, tool todowrite"),
            ("git_hub_x", json!({}), "/w, mcp git_hub/x"),
            ("my_tool", json!({}), "/w, tool my_tool"),
        ];
        for (tool, args, expected) in cases {
            let servers = ["git_hub"];
            let question =
                json!({"tool": tool, "args": args, "directory": "/w", "servers": servers});
            assert_eq!(asked(&question), expected, "{tool}");
        }
    }

    #[test]
    fn search_calls_list_directory_and_glob() {
        let cases = [
            ("grep", json!({"pattern": "x"}), "/w/. -"),
            ("grep", json!({"pattern": "x", "include": ".env", "path": "a"}), "/w/a .env"),
            ("glob", json!({"pattern": "a/*.rs"}), "/w/a *.rs"),
            ("glob", json!({"pattern": "/etc/*"}), "/etc *, /w/etc *"),
            ("list", json!({"path": "a"}), ""),
        ];
        for (tool, args, expected) in cases {
            let question = json!({"tool": tool, "args": args, "directory": "/w"}).to_string();
            let searches = super::question(&question).expect(tool).searches;
            let shown = searches.iter().map(|it| {
                let FileSearch { directory, pattern } = it;
                format!("{directory} {}", pattern.as_deref().unwrap_or("-"))
            });
            assert_eq!(shown.collect::<Vec<_>>().join(", "), expected, "{tool} {args}");
        }
    }

    #[test]
    fn malformed_guard_questions_are_errors() {
        let cases = [
            (json!({}), "a question without `tool`"),
            (json!({"tool": "bash"}), "a question without `directory`"),
            (json!({"tool": "x", "directory": "w"}), "the directory `w` is not absolute"),
            (json!({"tool": "a_b_c", "directory": "/w"}), "/w, mcp a/b_c, mcp a_b/c, tool a_b_c"),
        ];
        for (question, expected) in cases {
            assert_eq!(asked(&question), expected, "{question}");
        }
        assert!(super::question("{").is_err());
    }

    #[test]
    fn a_guard_failure_is_a_denial() {
        let GuardAnswer { output, code, .. } = failure("no such file");
        assert_eq!(output, "{\"decision\":\"deny\",\"reason\":\"no such file\"}\n");
        assert_eq!(code, 2);
    }
}
