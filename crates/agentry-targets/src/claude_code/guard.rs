//! The guard's protocol: a `PreToolUse` hook gets a call on its standard input and answers with a
//! decision.

use agentry_policy::{Action, Section, Verdict};
use serde_json::{Value, json};

use crate::guard::{Answer, Asked, Guard, Search, literal, why};

pub(super) const GUARD: Guard = Guard { question, answer, failure };

/// The calls that a question is about.
fn question(text: &str) -> Result<Asked, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
    let name = value.get("tool_name").and_then(Value::as_str).ok_or("`tool_name` is missing")?;
    let directory = value.get("cwd").and_then(Value::as_str).ok_or("`cwd` is missing")?;
    if !directory.starts_with('/') {
        return Err("`cwd` is no whole path".to_owned());
    }
    let empty = json!({});
    let input = value.get("tool_input").unwrap_or(&empty);
    let calls = calls(name, input, directory)?;
    let searches = searches(name, input, directory);
    Ok(Asked { directory: directory.to_owned(), calls, searches })
}

fn calls(tool: &str, input: &Value, directory: &str) -> Result<Vec<(Section, String)>, String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    let needed = |key: &str| text(key).ok_or_else(|| format!("`{tool}` without `{key}`"));
    let one = |section, subject: String| Ok(vec![(section, subject)]);
    match tool {
        "Bash" => one(Section::Bash, needed("command")?),
        // A line of another shell is a program that the first one would be given.
        "PowerShell" => {
            let program = needed("command")?.replace('\'', r"'\''");
            one(Section::Bash, format!("pwsh -Command '{program}'"))
        }
        "Monitor" => match text("command") {
            Some(command) => one(Section::Bash, command),
            None => one(Section::Tool, tool.to_owned()),
        },
        "Read" => one(Section::Read, needed("file_path")?),
        "NotebookRead" => one(Section::Read, needed("notebook_path")?),
        "Edit" | "Write" | "MultiEdit" => one(Section::Edit, needed("file_path")?),
        "NotebookEdit" => one(Section::Edit, needed("notebook_path")?),
        "Glob" | "Grep" | "LS" => searched(tool, input, directory),
        "WebFetch" => one(Section::Webfetch, needed("url")?),
        "WebSearch" => one(Section::Websearch, needed("query")?),
        "Agent" | "Task" => {
            let agent = text("subagent_type").unwrap_or_else(|| "general-purpose".to_owned());
            one(Section::Delegate, agent)
        }
        "Skill" => {
            let name =
                text("skill").or_else(|| text("command")).ok_or("`Skill` without `skill`")?;
            one(Section::Skill, name.trim_start_matches('/').to_owned())
        }
        // They touch nothing: what they find or hand over is asked about when it is used.
        "ToolSearch" | "SubagentHandback" | "EndConversation" => Ok(Vec::new()),
        "AskUserQuestion" => one(Section::Question, asked(input)),
        _ => match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
            Some((server, name)) => one(Section::Mcp, format!("{server}/{name}")),
            None => one(Section::Tool, tool.to_owned()),
        },
    }
}

/// The directories that a search starts from: that which it is given, and that of its pattern.
fn searched(tool: &str, input: &Value, directory: &str) -> Result<Vec<(Section, String)>, String> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let mut calls = vec![(Section::Read, text("path").unwrap_or(directory).to_owned())];
    let pattern = if tool == "Glob" { text("pattern") } else { text("glob") };
    if let Some(pattern) = pattern {
        let start = literal(pattern).rsplit_once('/').map_or("", |(start, _)| start);
        if pattern.starts_with(['/', '~']) {
            calls.push((Section::Read, if start.is_empty() { "/" } else { start }.to_owned()));
        }
        if pattern.split('/').any(|part| part == "..") {
            return Err(format!("`{tool}` with `..` in its pattern"));
        }
    }
    Ok(calls)
}

/// What a search is about: the files below a directory that its pattern chooses.
fn searches(tool: &str, input: &Value, directory: &str) -> Vec<Search> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let start = text("path").unwrap_or(directory);
    match (tool, text("pattern")) {
        ("Glob", Some(pattern)) => vec![Search::glob(start, pattern)],
        ("Glob", None) => vec![Search { directory: start.to_owned(), pattern: None }],
        ("Grep", _) => {
            let pattern = text("glob");
            match pattern.filter(|it| it.starts_with(['/', '~'])) {
                Some(pattern) => vec![Search::glob(start, pattern)],
                None => {
                    let pattern = pattern.map(str::to_owned);
                    vec![Search { directory: start.to_owned(), pattern }]
                }
            }
        }
        _ => Vec::new(),
    }
}

/// The questions that a person would be asked.
fn asked(input: &Value) -> String {
    let questions = input.get("questions").and_then(Value::as_array);
    let text = |question: &Value| Some(question.get("question")?.as_str()?.to_owned());
    let texts: Vec<String> = questions.into_iter().flatten().filter_map(text).collect();
    if texts.is_empty() { "?".to_owned() } else { texts.join("\n") }
}

/// A decision, with what decided.
fn answer(verdict: &Verdict) -> Answer {
    let why = why(verdict);
    let reason = if why.is_empty() { why } else { format!("agentry: {why}") };
    Answer { output: decision(verdict.action, &reason), errors: String::new(), code: 0 }
}

/// A denial, in both ways that Claude Code understands.
fn failure(why: &str) -> Answer {
    let reason = format!("agentry: {why}");
    Answer { output: decision(Action::Deny, &reason), errors: reason + "\n", code: 2 }
}

fn decision(action: Action, reason: &str) -> String {
    let value = json!({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": action.as_str(),
            "permissionDecisionReason": reason,
        },
    });
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_by_tool() {
        let cases = [
            ("Bash", json!({"command": "ls"}), "bash ls"),
            ("PowerShell", json!({"command": "rm 'x'"}), r"bash pwsh -Command 'rm '\''x'\'''"),
            ("Read", json!({"file_path": "/w/a"}), "read /w/a"),
            ("Edit", json!({"file_path": "/w/a", "old_string": ""}), "edit /w/a"),
            ("Write", json!({"file_path": "a", "content": ""}), "edit a"),
            ("NotebookEdit", json!({"notebook_path": "a"}), "edit a"),
            ("Glob", json!({"pattern": "**/*.rs"}), "read /w"),
            ("Glob", json!({"pattern": "/etc/*"}), "read /w, read /etc"),
            ("Grep", json!({"pattern": "x", "path": "src"}), "read src"),
            ("LS", json!({"path": "/etc"}), "read /etc"),
            ("WebFetch", json!({"url": "https://x.org"}), "webfetch https://x.org"),
            ("WebSearch", json!({"query": "x"}), "websearch x"),
            ("Agent", json!({"subagent_type": "Explore"}), "delegate Explore"),
            ("Task", json!({}), "delegate general-purpose"),
            ("Skill", json!({"skill": "/pdf"}), "skill pdf"),
            ("mcp__gh__list_all", json!({}), "mcp gh/list_all"),
            ("AskUserQuestion", json!({"questions": [{"question": "why"}]}), "question why"),
            ("ToolSearch", json!({"query": "x"}), ""),
            ("TodoWrite", json!({}), "tool TodoWrite"),
            ("Workflow", json!({}), "tool Workflow"),
        ];
        for (tool, input, expected) in cases {
            let text = json!({"tool_name": tool, "tool_input": input, "cwd": "/w"}).to_string();
            let asked = question(&text).expect(tool);
            let calls: Vec<_> = asked.calls.iter().map(|(at, it)| format!("{at} {it}")).collect();
            assert_eq!(calls.join(", "), expected, "{tool}");
        }
    }

    #[test]
    fn what_is_searched() {
        let cases = [
            ("Grep", json!({"pattern": "x"}), "/w -"),
            ("Grep", json!({"pattern": "x", "glob": ".env", "path": "a"}), "a .env"),
            ("Glob", json!({"pattern": "**/*.rs"}), "/w **/*.rs"),
            ("Glob", json!({"pattern": "a/*.rs"}), "/w/a *.rs"),
            ("Glob", json!({"pattern": "a/*.rs", "path": "b"}), "b/a *.rs"),
            ("Glob", json!({"pattern": "/etc/x/*.d"}), "/etc/x *.d"),
            ("Glob", json!({"pattern": "~/.ssh/id_*"}), "~/.ssh id_*"),
            ("LS", json!({"path": "/etc"}), ""),
            ("Read", json!({"file_path": "/etc"}), ""),
        ];
        for (tool, input, expected) in cases {
            let text = json!({"tool_name": tool, "tool_input": input, "cwd": "/w"}).to_string();
            let searches = question(&text).expect(tool).searches;
            let shown = searches.iter().map(|it| {
                let Search { directory, pattern } = it;
                format!("{directory} {}", pattern.as_deref().unwrap_or("-"))
            });
            assert_eq!(shown.collect::<Vec<_>>().join(", "), expected, "{tool} {input}");
        }
    }

    #[test]
    fn what_is_not_understood_is_no_question() {
        let cases = [
            "",
            "[]",
            "{\"tool_name\": \"Bash\"}",
            "{\"tool_name\": \"Bash\", \"cwd\": \"/\", \"tool_input\": {}}",
            "{\"tool_name\": \"Glob\", \"cwd\": \"/\", \"tool_input\": {\"pattern\": \"../*\"}}",
        ];
        for text in cases {
            assert!(question(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_failure_is_a_denial() {
        let Answer { output, errors, code } = failure("no such file");
        assert_eq!(code, 2);
        assert_eq!(errors, "agentry: no such file\n");
        assert!(output.contains("\"permissionDecision\":\"deny\""), "{output}");
    }
}
