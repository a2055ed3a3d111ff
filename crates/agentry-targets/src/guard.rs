//! The guard protocol: a harness asks Agentry about each call in its own format, and gets the answer in that
//! format.
//!
//! Reading a question and writing an answer are pure functions of text; the caller asks the policy.

mod search;

use agentry_policy::{Action, LayerSource, Section, Verdict, VerdictReason};
use agentry_text::report::{cut, visible};
use agentry_text::tree_rules::DUPLICATE_KEY;
use agentry_text::{FileId, Findings, json};
use serde_json::Value;

pub use search::FileSearch;

/// How a harness asks the guard.
#[derive(Debug)]
pub struct GuardProtocol {
    /// Parses a question from standard input, or explains why it cannot be parsed.
    pub question: fn(&str) -> Result<GuardQuestion, String>,
    /// Writes the answer to a question.
    pub answer: fn(&Verdict) -> GuardAnswer,
    /// Writes the answer to a question about a command that may run only in the sandbox, if the harness lets
    /// an answer change the command: it runs what `wrap` makes of it. Returns why this call cannot be changed.
    pub confined: Option<ConfinedAnswer>,
    /// Writes the answer after a failure with this reason: never an approval.
    pub failure: fn(&str) -> GuardAnswer,
}

/// Makes the command line that runs a command line in the sandbox.
pub type CommandWrapper<'a> = &'a dyn Fn(&str) -> String;

/// See [`GuardProtocol::confined`].
pub type ConfinedAnswer = fn(&str, &Verdict, CommandWrapper<'_>) -> Result<GuardAnswer, String>;

/// One question of a harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardQuestion {
    /// The directory that relative paths start from.
    pub directory: String,
    /// Everything that the tool call touches; all of it must be allowed. An unknown tool is asked about by
    /// its name, as [`Section::Tool`].
    pub calls: Vec<(Section, String)>,
    /// What the call searches, apart from the directories themselves.
    pub searches: Vec<FileSearch>,
}

/// Returns the start of a glob, up to its first special character.
pub(crate) fn literal(pattern: &str) -> &str {
    let end = pattern.find(['*', '?', '[', '{', '(', '\\']).unwrap_or(pattern.len());
    pattern.get(..end).unwrap_or_default()
}

/// The response to the harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardAnswer {
    /// Text for standard output.
    pub output: String,
    /// Text for standard error.
    pub errors: String,
    /// The exit code.
    pub code: u8,
}

/// The most characters of each part of a reason, which hooks and models have to read.
const LONGEST: usize = 500;

/// Explains a verdict to the model and the user: `denied by git push*:deny: git push origin`. Text from the
/// model comes last.
pub fn why(verdict: &Verdict) -> String {
    let decides = |reason: &&VerdictReason| reason.action == verdict.action;
    let mut deciding = verdict.reasons.iter().filter(decides);
    // A built-in reason that only found no objection did not decide if a rule allows the call.
    let by_rule = |reason: &&VerdictReason| {
        verdict.action > Action::Allow || reason.layer != LayerSource::BuiltIn
    };
    let found = deciding.clone().find(by_rule).or_else(|| deciding.next());
    let Some(reason) = found else { return String::new() };
    let VerdictReason { segment, rule, note, layer, .. } = reason;
    let word = match verdict.action {
        Action::Allow => "allowed",
        Action::Ask => "needs approval",
        Action::Deny => "denied",
    };
    // A built-in reason is a sentence; any other reason is the text of a rule.
    let by = if *layer == LayerSource::BuiltIn { ":" } else { " by" };
    let note = note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
    let (rule, note, segment) = (short(rule), short(&note), short(segment));
    format!("{word}{by} {rule}{note}: {segment}")
}

/// Quotes a path as one word for a shell.
pub fn shell_word(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

/// Cuts a text and escapes hidden characters: hooks, models and the user have to read the answer.
fn short(text: &str) -> String {
    cut(&visible(text), LONGEST)
}

/// Parses a question as JSON. A duplicate key is an error, since the harness might read the other value.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("no JSON: {error}"))?;
    if !value.is_object() {
        return Err("the question is not an object".to_owned());
    }
    // `serde_json` keeps the last of two equal keys silently; this parser reports them.
    let source = agentry_text::SourceFile::new(FileId::BUILT_IN, "", text);
    let mut findings = Findings::default();
    json::parse(&source, &mut findings);
    match findings.iter().find(|found| *found.rule == DUPLICATE_KEY) {
        Some(found) => Err(format!("the question is not clear: {}", found.message)),
        None => Ok(value),
    }
}

/// Returns a text of the question that is required.
pub(crate) fn needed<'a>(of: &'a Value, key: &str, what: &str) -> Result<&'a str, String> {
    optional(of, key, what)?.ok_or_else(|| format!("{what} without `{key}`"))
}

/// Returns an optional text of the question. Another type is an error: the tool might convert it to text.
pub(crate) fn optional<'a>(
    of: &'a Value,
    key: &str,
    what: &str,
) -> Result<Option<&'a str>, String> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(None),
        // A zero byte would end a path early for the system.
        Some(Value::String(text)) if text.contains('\0') => {
            Err(format!("{what} with a zero in `{key}`"))
        }
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("{what} with a `{key}` that is not text")),
    }
}

/// Returns the directory of a question, which relative paths start from.
pub(crate) fn directory<'a>(question: &'a Value, key: &str) -> Result<&'a str, String> {
    let directory = needed(question, key, "a question")?;
    if directory.starts_with('/') {
        Ok(directory)
    } else {
        Err(format!("the directory `{directory}` is not absolute"))
    }
}

/// Returns the input of a tool call; a missing input counts as empty.
pub(crate) fn input<'a>(question: &'a Value, key: &str) -> Result<&'a Value, String> {
    match question.get(key) {
        None => Ok(&Value::Null),
        Some(input) if input.is_object() || input.is_null() => Ok(input),
        Some(_) => Err(format!("`{key}` is not an object")),
    }
}

/// Returns the files that a path may lead to from `directory`. The system resolves `..` after a symbolic
/// link, some tools resolve it by names alone, and some tools trim spaces around a path.
pub(crate) fn readings(path: &str, directory: &str) -> Vec<String> {
    let mut out = vec![path.to_owned()];
    let trimmed = path.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    for given in [path, trimmed] {
        let climbs = given.split('/').any(|part| part == "..");
        let known = if climbs { by_names(given, directory) } else { given.to_owned() };
        if !out.contains(&known) {
            out.push(known);
        }
    }
    out
}

/// Resolves each `..` of a path by removing the name before it.
fn by_names(path: &str, directory: &str) -> String {
    let is_whole = path.starts_with(['/', '~']);
    let whole = if is_whole { path.to_owned() } else { format!("{directory}/{path}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            // The home directory is not expanded here, so `..` above it cannot be resolved.
            ".." if parts.last() == Some(&"~") => parts.push(".."),
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root = if whole.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// The call of a question, for the look before and after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedCall {
    /// What the harness calls it; empty if it has no name.
    pub id: String,
    /// Whether it has ended.
    pub is_over: bool,
}

/// Returns the call that a question is about.
pub fn call(question: &str) -> Result<GuardedCall, String> {
    let question = parse(question)?;
    let id = match optional(&question, "tool_use_id", "a question")? {
        Some(id) => Some(id),
        None => optional(&question, "call", "a question")?,
    };
    let event = optional(&question, "hook_event_name", "a question")?;
    let is_over = event == Some("PostToolUse") || question.get("ended") == Some(&Value::Bool(true));
    Ok(GuardedCall { id: id.unwrap_or_default().to_owned(), is_over })
}

/// Returns the agent that a question names, for a hook that serves several agents; `None` if it names none.
/// A question that cannot be parsed may be about any agent, so it is an error.
pub fn agent(question: &str) -> Result<Option<String>, String> {
    let question = parse(question)?;
    match question.get("agent_type").or_else(|| question.get("agent")) {
        None => Ok(None),
        Some(Value::String(name)) => Ok(Some(name.clone())),
        Some(_) => Err("`agent_type` is not text".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_json_questions_are_refused() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(500), "]".repeat(500));
        let texts = [
            "",
            "[]",
            "1",
            "nonsense",
            "\u{feff}{}",
            "{} {}",
            "{\"a\":1,\"a\":1}",
            "{\"a\":1,\"\\u0061\":2}",
            "{\"x\":{\"a\":1,\"a\":2}}",
            "{\"x\":[{\"a\":1,\"b\":3,\"a\":2}]}",
            "{\"a\":\"\\ud800\"}",
            &deep,
        ];
        for text in texts {
            assert!(parse(text).is_err(), "{text}");
            assert!(agent(text).is_err(), "{text}");
        }
        assert!(parse("{\"a\":{\"b\":1},\"c\":{\"b\":1}}").is_ok());
        assert_eq!(agent("{\"agent_type\":\"x\"}"), Ok(Some("x".to_owned())));
        assert!(agent("{\"agent_type\":1}").is_err());
    }

    #[test]
    fn ambiguous_paths_have_all_their_readings() {
        let cases = [
            ("a", "a"),
            ("a/../b", "a/../b | /w/b"),
            ("/x/../b", "/x/../b | /b"),
            ("/../../b", "/../../b | /b"),
            ("~/a/../b", "~/a/../b | ~/b"),
            ("~/../b", "~/../b"),
            (" .env", " .env | .env"),
            ("../x\t", "../x\t | /x\t | /x"),
        ];
        for (path, expected) in cases {
            assert_eq!(readings(path, "/w").join(" | "), expected, "{path}");
        }
    }

    #[test]
    fn verdict_reasons_are_sentences() {
        let reason = |action, rule: &str, layer, note: Option<&str>| VerdictReason {
            segment: "git push".to_owned(),
            action,
            rule: rule.to_owned(),
            span: None,
            layer,
            note: note.map(str::to_owned),
        };
        let own = LayerSource::Permissions;
        let cases = [
            (
                reason(Action::Deny, "git push*:deny", own, None),
                "denied by git push*:deny: git push",
            ),
            (reason(Action::Ask, "x:ask", own, Some("y")), "needs approval by x:ask (y): git push"),
            (
                reason(Action::Ask, "a secret", LayerSource::BuiltIn, None),
                "needs approval: a secret: git push",
            ),
        ];
        for (reason, expected) in cases {
            let other = VerdictReason { action: Action::Allow, ..reason.clone() };
            let verdict = Verdict { action: reason.action, reasons: vec![other, reason] };
            assert_eq!(why(&verdict), expected);
        }
        let hidden = reason(Action::Ask, "x:ask", own, Some("\u{1b}[2J"));
        let hidden = VerdictReason { segment: "a\u{202e}b\u{200b}\nc".to_owned(), ..hidden };
        let verdict = Verdict { action: Action::Ask, reasons: vec![hidden] };
        let escaped = r"needs approval by x:ask (\u{1b}[2J): a\u{202e}b\u{200b}\nc";
        assert_eq!(why(&verdict), escaped);
        assert_eq!(why(&Verdict { action: Action::Allow, reasons: Vec::new() }), "");
        let nested = reason(Action::Allow, "nothing is against it", LayerSource::BuiltIn, None);
        let whole = reason(Action::Allow, "git *:allow", own, None);
        let verdict = Verdict { action: Action::Allow, reasons: vec![nested.clone(), whole] };
        assert_eq!(why(&verdict), "allowed by git *:allow: git push");
        let verdict = Verdict { action: Action::Allow, reasons: vec![nested] };
        assert_eq!(why(&verdict), "allowed: nothing is against it: git push");
    }
}
