//! The protocol between the rendered extension and `agentry guard`: one call as JSON on standard
//! input, one decision as JSON on standard output.
//!
//! ```text
//! {"tool": "bash", "input": {"command": "git push"}, "directory": "/home/me/project"}
//! {"decision": "deny", "reason": "denied by git push*:deny: git push"}
//! ```

use agentry_policy::{Action, Section, Verdict};
use serde_json::{Value, json};

use crate::guard::{
    self, FileSearch, GuardAnswer, GuardProtocol, GuardQuestion, optional, parse, why,
};

pub(super) const GUARD: GuardProtocol = GuardProtocol { question, answer, confined: None, failure };

/// Tools for a child to talk to its parent; no section is about them.
const COORDINATION: &[&str] =
    &["contact_supervisor", "structured_output", "intercom", "bg_wait", "subagent_supervisor"];
/// Actions of `subagent` that start no agent.
const LOOKING: &[&str] = &["list", "get", "models", "status", "doctor", "inspect"];

fn question(text: &str) -> Result<GuardQuestion, String> {
    let question = parse(text)?;
    let tool = guard::needed(&question, "tool", "a question")?;
    let directory = guard::directory(&question, "directory")?;
    let input = guard::input(&question, "input")?;
    // The extension of the guard prefixes its replacements of Pi's tools.
    let tool = tool.strip_prefix("guarded_").unwrap_or(tool);
    let calls = calls(tool, input, directory)?;
    let searches = searches(tool, input, directory, &calls)?;
    Ok(GuardQuestion { directory: directory.to_owned(), calls, searches })
}

/// Returns everything that a call touches.
fn calls(tool: &str, input: &Value, directory: &str) -> Result<Vec<(Section, String)>, String> {
    let what = format!("`{tool}`");
    let needed = |key: &str| guard::needed(input, key, &what);
    let path = |given: &str| path(given, directory);
    match tool {
        "bash" => Ok(vec![(Section::Bash, needed("command")?.to_owned())]),
        "read" => Ok(vec![(Section::Read, path(needed("path")?)?)]),
        "edit" | "write" => Ok(vec![(Section::Edit, path(needed("path")?)?)]),
        "find" | "grep" | "ls" => {
            Ok(vec![(Section::Read, path(optional(input, "path", &what)?.unwrap_or("."))?)])
        }
        "fetch_content" => all(input, &["url", "urls"], Section::Webfetch),
        "web_search" => all(input, &["query", "queries"], Section::Websearch),
        "subagent" => delegated(input),
        "mcp" => Ok(vec![(Section::Mcp, format!("{}/{}", needed("server")?, needed("tool")?))]),
        tool if COORDINATION.contains(&tool) => Ok(Vec::new()),
        tool => Ok(vec![(Section::Tool, tool.to_owned())]),
    }
}

/// Returns what a search reads: names of files, or their contents.
fn searches(
    tool: &str,
    input: &Value,
    directory: &str,
    calls: &[(Section, String)],
) -> Result<Vec<FileSearch>, String> {
    let key = match tool {
        "find" => "pattern",
        "grep" => "glob",
        _ => return Ok(Vec::new()),
    };
    let pattern = optional(input, key, &format!("`{tool}`"))?;
    Ok(calls.iter().flat_map(|(_, path)| FileSearch::each(path, directory, pattern)).collect())
}

/// Returns one call per text under these keys; at least one is required.
fn all(input: &Value, keys: &[&str], section: Section) -> Result<Vec<(Section, String)>, String> {
    let mut calls = Vec::new();
    for value in keys.iter().filter_map(|key| input.get(key)) {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for value in values {
            let text = value.as_str().filter(|text| !text.contains('\0'));
            let text = text.ok_or_else(|| format!("{section} without a text"))?;
            calls.push((section, text.to_owned()));
        }
    }
    if calls.is_empty() { Err(format!("{section} without a subject")) } else { Ok(calls) }
}

/// Returns the agents that work is delegated to.
fn delegated(input: &Value) -> Result<Vec<(Section, String)>, String> {
    if let Some(action) = optional(input, "action", "`subagent`")? {
        return if LOOKING.contains(&action) {
            Ok(Vec::new())
        } else {
            Ok(vec![(Section::Tool, format!("subagent {action}"))])
        };
    }
    // Other inputs may start more agents, or change what one may do.
    let known = ["agent", "task", "async", "cwd", "model", "context", "skill"];
    let is_known = |key: &String| known.contains(&key.as_str());
    if !input.as_object().is_some_and(|input| input.keys().all(is_known)) {
        return Err("`subagent` with more than an agent and a task".to_owned());
    }
    all(input, &["agent"], Section::Delegate)
}

/// Resolves a path as Pi does: `..` goes up by name, regardless of symbolic links.
fn path(given: &str, directory: &str) -> Result<String, String> {
    // Pi treats these as ordinary spaces, and drops a leading `@`.
    let is_space = |c: char| {
        matches!(c, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
    };
    let given: String = given.chars().map(|c| if is_space(c) { ' ' } else { c }).collect();
    let given = given.strip_prefix('@').unwrap_or(&given);
    if given.starts_with("file://") {
        return Err(format!("the path `{given}` is an address"));
    }
    let (root, rest) = match given.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => ("~", rest.to_owned()),
        _ if given.starts_with('/') => ("", given.to_owned()),
        _ => ("", format!("{directory}/{given}")),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.is_empty() && root == "~" => {
                return Err(format!("the path `{given}` leads above the home directory"));
            }
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    Ok(format!("{root}/{}", parts.join("/")))
}

fn answer(verdict: &Verdict) -> GuardAnswer {
    guard_answer(verdict.action, &why(verdict), 0)
}

fn failure(why: &str) -> GuardAnswer {
    GuardAnswer { errors: format!("{why}\n"), ..guard_answer(Action::Deny, why, 2) }
}

fn guard_answer(action: Action, reason: &str, code: u8) -> GuardAnswer {
    let output = json!({ "decision": action.as_str(), "reason": reason });
    GuardAnswer { output: format!("{output}\n"), errors: String::new(), code }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_calls_map_to_sections() {
        let one = |section, text: &str| Some(vec![(section, text.to_owned())]);
        let cases = [
            (r#""bash","input":{"command":"ls"}"#, one(Section::Bash, "ls")),
            (r#""guarded_bash","input":{"command":"ls"}"#, one(Section::Bash, "ls")),
            (r#""bash","input":{"command":7}"#, None),
            (r#""read","input":{"path":"a/../b"}"#, one(Section::Read, "/w/b")),
            (r#""read","input":{"path":"@/etc/passwd"}"#, one(Section::Read, "/etc/passwd")),
            (r#""read","input":{"path":"~/x"}"#, one(Section::Read, "~/x")),
            (r#""read","input":{"path":"~/../x"}"#, None),
            (r#""read","input":{"path":"~root/x"}"#, one(Section::Read, "/w/~root/x")),
            (r#""read","input":{"path":"file:///etc/passwd"}"#, None),
            (r#""write","input":{"path":"../x","content":""}"#, one(Section::Edit, "/x")),
            (r#""edit","input":{}"#, None),
            (r#""ls","input":{}"#, one(Section::Read, "/w")),
            (r#""grep","input":{"pattern":"x"}"#, one(Section::Read, "/w")),
            (r#""subagent","input":{"agent":"x","task":"y"}"#, one(Section::Delegate, "x")),
            (r#""subagent","input":{"agent":"x","tasks":[]}"#, None),
            (r#""subagent","input":{"action":"list"}"#, Some(Vec::new())),
            (r#""contact_supervisor","input":{}"#, Some(Vec::new())),
            (r#""deploy","input":{}"#, one(Section::Tool, "deploy")),
            (r#""fetch_content","input":{"url":"https://x"}"#, one(Section::Webfetch, "https://x")),
            (r#""fetch_content","input":{}"#, None),
        ];
        for (case, expected) in cases {
            let text = format!(r#"{{"tool":{case},"directory":"/w"}}"#);
            assert_eq!(question(&text).ok().map(|asked| asked.calls), expected, "{case}");
        }
        let twice = r#"{"tool":"ls","tool":"bash","input":{},"directory":"/w"}"#;
        let typed = r#"{"tool":"ls","input":{"path":["a"]},"directory":"/w"}"#;
        for text in ["", "{}", "[]", twice, typed, r#"{"tool":"ls","input":{},"directory":"w"}"#] {
            assert!(question(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_guard_failure_is_a_denial() {
        let answer = failure("no such agent");
        assert_eq!(answer.output, "{\"decision\":\"deny\",\"reason\":\"no such agent\"}\n");
        assert_eq!((answer.errors.as_str(), answer.code), ("no such agent\n", 2));
    }
}
