//! The guard protocol of Claude Code: a `PreToolUse` hook gets a call on standard input and answers with a
//! decision.

use agentry_policy::{Action, Section, Verdict};
use serde_json::{Value, json};

use crate::guard::{
    self, CommandWrapper, FileSearch, GuardAnswer, GuardProtocol, GuardQuestion, literal, needed,
    optional, parse, readings, why,
};

pub(super) const GUARD: GuardProtocol =
    GuardProtocol { question, answer, confined: Some(confined), failure };

/// Parses a question into the calls that it is about.
fn question(text: &str) -> Result<GuardQuestion, String> {
    let question = parse(text)?;
    let event = optional(&question, "hook_event_name", "a question")?;
    if let Some(event) = event.filter(|event| *event != "PreToolUse") {
        return Err(format!("`{event}` is not a question about a call"));
    }
    let tool = needed(&question, "tool_name", "a question")?;
    let directory = guard::directory(&question, "cwd")?;
    let call = ClaudeToolCall { tool, input: guard::input(&question, "tool_input")?, directory };
    let (calls, searches) = (call.calls()?, call.searches()?);
    Ok(GuardQuestion { directory: directory.to_owned(), calls, searches })
}

/// The sections and subjects that one tool call touches.
type ClaudeCalls = Vec<(Section, String)>;

/// One tool call of a question.
struct ClaudeToolCall<'a> {
    tool: &'a str,
    input: &'a Value,
    directory: &'a str,
}

impl ClaudeToolCall<'_> {
    fn text(&self, key: &str) -> Result<Option<&str>, String> {
        optional(self.input, key, &format!("`{}`", self.tool))
    }

    fn needed(&self, key: &str) -> Result<&str, String> {
        needed(self.input, key, &format!("`{}`", self.tool))
    }

    fn calls(&self) -> Result<ClaudeCalls, String> {
        let one = |section, subject: &str| Ok(vec![(section, subject.to_owned())]);
        let tool = self.tool;
        match tool {
            "Bash" => one(Section::Bash, self.needed("command")?),
            // Judged as the argument of `pwsh`, since the line has another syntax than the policy's shell.
            "PowerShell" => {
                let program = self.needed("command")?.replace('\'', r"'\''");
                one(Section::Bash, &format!("pwsh -Command '{program}'"))
            }
            "Monitor" => match self.text("command")? {
                Some(command) => one(Section::Bash, command),
                None => one(Section::Tool, tool),
            },
            "Read" => self.file(Section::Read, "file_path"),
            "NotebookRead" => self.file(Section::Read, "notebook_path"),
            "Edit" | "Write" | "MultiEdit" => self.file(Section::Edit, "file_path"),
            "NotebookEdit" => self.file(Section::Edit, "notebook_path"),
            "Glob" | "Grep" | "LS" => self.searched(),
            "WebFetch" => one(Section::Webfetch, self.needed("url")?),
            "WebSearch" => one(Section::Websearch, self.needed("query")?),
            "Agent" | "Task" => {
                one(Section::Delegate, self.text("subagent_type")?.unwrap_or("general-purpose"))
            }
            "Skill" => {
                let name = match self.text("skill")? {
                    Some(name) => name,
                    None => self.needed("command")?,
                };
                one(Section::Skill, name.trim_start_matches('/'))
            }
            // These touch nothing: what they find or hand over is asked about when it is used.
            "ToolSearch" | "SubagentHandback" | "EndConversation" => Ok(Vec::new()),
            "AskUserQuestion" => one(Section::Question, &asked(self.input)),
            _ => match tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")) {
                Some((server, name)) => one(Section::Mcp, &format!("{server}/{name}")),
                None => one(Section::Tool, tool),
            },
        }
    }

    /// A file, once per way in which its path may be resolved.
    fn file(&self, section: Section, key: &str) -> Result<ClaudeCalls, String> {
        let readings = readings(self.needed(key)?, self.directory);
        Ok(readings.into_iter().map(|path| (section, path)).collect())
    }

    /// The directories that a search starts from: the given one, and the one in its pattern.
    fn searched(&self) -> Result<ClaudeCalls, String> {
        let start = self.text("path")?.unwrap_or(self.directory);
        let mut paths = readings(start, self.directory);
        if let Some(pattern) = self.pattern()? {
            let start = literal(pattern).rsplit_once('/').map_or("", |(start, _)| start);
            if pattern.starts_with(['/', '~']) {
                paths.push(if start.is_empty() { "/" } else { start }.to_owned());
            }
            // A glob that climbs cannot be resolved to directories, so the call is denied.
            if pattern.split('/').any(|part| part == "..") {
                return Err(format!("`{}` with `..` in its pattern", self.tool));
            }
        }
        Ok(paths.into_iter().map(|path| (Section::Read, path)).collect())
    }

    /// Returns the glob that selects files.
    fn pattern(&self) -> Result<Option<&str>, String> {
        match self.tool {
            "Glob" => self.text("pattern"),
            "Grep" => self.text("glob"),
            _ => Ok(None),
        }
    }

    /// Returns what a search reads: the files below a directory that its pattern selects.
    fn searches(&self) -> Result<Vec<FileSearch>, String> {
        if !matches!(self.tool, "Glob" | "Grep") {
            return Ok(Vec::new());
        }
        let pattern = self.pattern()?;
        let start = self.text("path")?.unwrap_or(self.directory);
        let each = |path: String| FileSearch::each(&path, self.directory, pattern);
        Ok(readings(start, self.directory).into_iter().flat_map(each).collect())
    }
}

/// Returns the text of the questions to the user.
fn asked(input: &Value) -> String {
    let questions = input.get("questions").and_then(Value::as_array);
    let text = |question: &Value| Some(question.get("question")?.as_str()?.to_owned());
    let texts: Vec<String> = questions.into_iter().flatten().filter_map(text).collect();
    if texts.is_empty() { "?".to_owned() } else { texts.join("\n") }
}

/// Writes a decision with its reason.
fn answer(verdict: &Verdict) -> GuardAnswer {
    let why = why(verdict);
    let reason = if why.is_empty() { why } else { format!("agentry: {why}") };
    GuardAnswer { output: decision(verdict.action, &reason), errors: String::new(), code: 0 }
}

/// Tools that run a command line of a shell that the policy understands.
const SHELLS: &[&str] = &["Bash", "Monitor"];

/// Writes a decision that also replaces the input of the tool.
fn confined(
    text: &str,
    verdict: &Verdict,
    wrap: CommandWrapper<'_>,
) -> Result<GuardAnswer, String> {
    let question = parse(text)?;
    let tool = needed(&question, "tool_name", "a question")?;
    // The new input replaces the whole old one, so every other field is repeated.
    let mut input = guard::input(&question, "tool_input")?.clone();
    if !SHELLS.contains(&tool) {
        return Err(format!("this agent runs commands only in the sandbox, which `{tool}` leaves"));
    }
    let command = wrap(needed(&input, "command", &format!("`{tool}`"))?);
    if let Some(fields) = input.as_object_mut() {
        fields.insert("command".to_owned(), Value::String(command));
    }
    let reason = format!("agentry: {}; it runs in the sandbox", why(verdict));
    let mut value = decision_of(verdict.action, &reason);
    if let Some(output) = value.get_mut("hookSpecificOutput").and_then(Value::as_object_mut) {
        output.insert("updatedInput".to_owned(), input);
    }
    Ok(GuardAnswer { output: format!("{value}\n"), errors: String::new(), code: 0 })
}

/// Denies in both ways that Claude Code understands: by JSON and by exit code 2.
fn failure(why: &str) -> GuardAnswer {
    let reason = format!("agentry: {why}");
    GuardAnswer { output: decision(Action::Deny, &reason), errors: reason + "\n", code: 2 }
}

fn decision(action: Action, reason: &str) -> String {
    format!("{}\n", decision_of(action, reason))
}

fn decision_of(action: Action, reason: &str) -> Value {
    json!({
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": action.as_str(),
            "permissionDecisionReason": reason,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_calls_map_to_sections() {
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
    fn search_calls_list_directory_and_glob() {
        let cases = [
            ("Grep", json!({"pattern": "x"}), "/w -"),
            ("Grep", json!({"pattern": "x", "glob": ".env", "path": "a"}), "a .env"),
            ("Grep", json!({"pattern": "x", "glob": "a/**"}), "/w/a **"),
            ("Grep", json!({"pattern": "x", "glob": "*.a,.env"}), "/w *.a, /w .env, /w *.a,.env"),
            ("Glob", json!({"pattern": "**/*.rs"}), "/w **/*.rs"),
            ("Glob", json!({"pattern": "a/*.rs"}), "/w/a *.rs"),
            ("Glob", json!({"pattern": "a/*.rs", "path": "b"}), "/w/b/a *.rs"),
            ("Glob", json!({"pattern": "/etc/x/*.d"}), "/etc/x *.d, /w/etc/x *.d"),
            ("Glob", json!({"pattern": "~/.ssh/id_*"}), "~/.ssh id_*"),
            ("LS", json!({"path": "/etc"}), ""),
            ("Read", json!({"file_path": "/etc"}), ""),
        ];
        for (tool, input, expected) in cases {
            let text = json!({"tool_name": tool, "tool_input": input, "cwd": "/w"}).to_string();
            let searches = question(&text).expect(tool).searches;
            let shown = searches.iter().map(|it| {
                let FileSearch { directory, pattern } = it;
                format!("{directory} {}", pattern.as_deref().unwrap_or("-"))
            });
            assert_eq!(shown.collect::<Vec<_>>().join(", "), expected, "{tool} {input}");
        }
    }

    #[test]
    fn malformed_guard_questions_are_errors() {
        let cases = [
            "",
            "[]",
            "{\"tool_name\": \"Bash\"}",
            "{\"tool_name\": \"Bash\", \"cwd\": \"/\", \"tool_input\": {}}",
            "{\"tool_name\": \"Read\", \"cwd\": \"/\", \"tool_input\": {\"file_path\": [\"a\"]}}",
            "{\"tool_name\": \"Grep\", \"cwd\": \"/\", \"tool_input\": {\"path\": 1}}",
            "{\"tool_name\": \"TodoWrite\", \"cwd\": \"/\", \"tool_input\": []}",
            "{\"tool_name\": \"Bash\", \"cwd\": \"/\", \"tool_input\": {\"command\": \"a\\u0000b\"}}",
            "{\"tool_name\": \"TodoWrite\", \"cwd\": \"/\", \"hook_event_name\": \"PostToolUse\"}",
            "{\"tool_name\": \"TodoWrite\", \"cwd\": \"/\", \"tool_name\": \"Bash\"}",
            "{\"tool_name\": \"Glob\", \"cwd\": \"/\", \"tool_input\": {\"pattern\": \"../*\"}}",
        ];
        for text in cases {
            assert!(question(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_guard_failure_is_a_denial() {
        let GuardAnswer { output, errors, code } = failure("no such file");
        assert_eq!(code, 2);
        assert_eq!(errors, "agentry: no such file\n");
        assert!(output.contains("\"permissionDecision\":\"deny\""), "{output}");
    }
}
