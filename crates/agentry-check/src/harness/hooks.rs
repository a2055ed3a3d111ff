//! AG8201 to AG8206: hooks, in settings, in files of their own, and in the metadata of an agent.

use agentry_formats::PathPresence;
use agentry_text::json::JsonDialect;
use agentry_text::suggestion::nearest;
use agentry_text::{Findings, Fix, TreeEntry, TreeMap, TreeNode, TreeValue, rules};

use super::document::read_json;
use super::{HarnessFileKind, HarnessSubject, HookDialect, settings};

rules! {
    /// Every rule of this file, in code order.
    pub(super) RULES = [
        MISSING_PROGRAM: "AG8201",
        UNKNOWN_EVENT: "AG8202",
        MATCHER: "AG8203",
        HOOK_SHAPE: "AG8204",
        TIMEOUT_UNIT: "AG8205",
        NO_COMMAND: "AG8206",
    ]
}

/// Events of Claude Code, for suggestions. New ones are not reported as unknown.
const CLAUDE_EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "PermissionDenied",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "Notification",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "SessionStart",
    "SessionEnd",
    "PreCompact",
    "PostCompact",
    "Setup",
    "TeammateIdle",
    "TaskCreated",
    "TaskCompleted",
    "InstructionsLoaded",
    "ConfigChange",
    "WorktreeCreate",
    "WorktreeRemove",
    "Elicitation",
    "ElicitationResult",
    "CwdChanged",
    "FileChanged",
];

/// Events of Gemini CLI.
const GEMINI_EVENTS: &[&str] = &[
    "BeforeTool",
    "AfterTool",
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "SessionStart",
    "SessionEnd",
    "PreCompress",
    "Notification",
];

/// Events whose matcher names a tool.
const ABOUT_TOOLS: &[&str] =
    &["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"];

/// Longest timeout in seconds that is plausible; above it the unit is wrong.
const LONGEST_SECONDS: i64 = 3600;
/// Shortest timeout in milliseconds that a program can keep.
const SHORTEST_MILLISECONDS: i64 = 100;

/// Checks a file of hooks.
pub(super) fn check_file(
    subject: &HarnessSubject<'_>,
    dialect: HookDialect,
    findings: &mut Findings,
) {
    let rule = (&HOOK_SHAPE, "a file of hooks is JSON");
    let Some(map) = read_json(subject.source, JsonDialect::Relaxed, rule, findings) else { return };
    if let Some(hooks) = map.get("hooks") {
        check(subject, hooks, written_for(hooks, dialect), findings);
    }
}

/// The harness that hooks are written for. Extensions of Gemini CLI and plugins of Cursor and Copilot keep them
/// in the same file as plugins of Claude Code, and only the events tell.
fn written_for(hooks: &TreeNode, dialect: HookDialect) -> HookDialect {
    let entries = hooks.as_map().map(|events| events.entries.as_slice()).unwrap_or_default();
    let mut events = entries.iter().map(|entry| entry.key.text.as_str());
    let is_of_gemini =
        |event: &str| GEMINI_EVENTS.contains(&event) && !CLAUDE_EVENTS.contains(&event);
    if dialect != HookDialect::Claude {
        dialect
    } else if events.clone().any(is_of_gemini) {
        HookDialect::Gemini
    } else if !entries.is_empty()
        && events.all(|event| event.starts_with(|c: char| c.is_lowercase()))
    {
        HookDialect::Cursor
    } else {
        dialect
    }
}

/// Checks the hooks of one place.
pub(super) fn check(
    subject: &HarnessSubject<'_>,
    hooks: &TreeNode,
    dialect: HookDialect,
    findings: &mut Findings,
) {
    let Some(events) = hooks.as_map() else { return };
    let mut events = events.clone();
    if matches!(subject.kind, HarnessFileKind::Agent(_) | HarnessFileKind::PluginAgent) {
        foreign_events(&mut events, findings);
    }
    if no_list(subject.kind, &events, findings) {
        return;
    }
    for TreeEntry { key, value } in &events.entries {
        event(key.text.as_str(), key.span, dialect, findings);
        let Some(entries) = value.as_list() else { continue };
        for entry in entries {
            let Some(map) = entry.as_map() else {
                findings.add(&HOOK_SHAPE, entry.span, "an entry of an event is a map");
                continue;
            };
            match dialect {
                HookDialect::Cursor => command(subject, map, entry, dialect, findings),
                HookDialect::Claude | HookDialect::Gemini => {
                    group(subject, &key.text, map, (entry, dialect), findings);
                }
            }
        }
    }
}

/// Reports an event without a list. Hooks of another program have another shape everywhere, which is one
/// mistake.
fn no_list(kind: HarnessFileKind, events: &TreeMap, findings: &mut Findings) -> bool {
    let wrong = events.entries.iter().find(|entry| entry.value.as_list().is_none());
    let Some(TreeEntry { key, value }) = wrong else { return false };
    let message = format!("`{}` is {} and not a list", key.text, value.value.describe());
    let effect = match kind {
        HarnessFileKind::Agent(_) | HarnessFileKind::PluginAgent => {
            "an agent with hooks of another shape is not loaded"
        }
        _ => "an event has a list of entries",
    };
    findings.add(&HOOK_SHAPE, key.span, message).hint(effect);
    true
}

/// Takes out the events of another program, and reports them once: Claude Code loads an agent with them, and
/// runs nothing for an event that it does not know.
fn foreign_events(events: &mut TreeMap, findings: &mut Findings) {
    let has_entries = |node: &TreeNode| {
        node.as_list().is_some_and(|list| list.iter().all(|it| it.as_map().is_some()))
    };
    let is_foreign = |entry: &TreeEntry| {
        !CLAUDE_EVENTS.contains(&entry.key.text.as_str()) && !has_entries(&entry.value)
    };
    if let Some(first) = events.entries.iter().find(|entry| is_foreign(entry)) {
        let message = format!("Claude Code has no event `{}`: nothing runs for it", first.key.text);
        let found = findings.add(&UNKNOWN_EVENT, first.key.span, message);
        found.hint("use an event such as `PreToolUse`, with a list of matchers, or remove it");
    }
    events.entries.retain(|entry| !is_foreign(entry));
}

fn event(name: &str, span: agentry_text::Span, dialect: HookDialect, findings: &mut Findings) {
    let known = match dialect {
        HookDialect::Claude => CLAUDE_EVENTS,
        HookDialect::Gemini => GEMINI_EVENTS,
        // Its events are not all known here.
        HookDialect::Cursor => return,
    };
    if known.contains(&name) {
        return;
    }
    if let Some(near) = nearest(name, known.iter().copied()) {
        findings
            .add(&UNKNOWN_EVENT, span, format!("there is no event `{name}`"))
            .hint(format!("did you mean `{near}`?"));
    }
}

/// An entry of an event: a matcher and its hooks.
fn group(
    subject: &HarnessSubject<'_>,
    event: &str,
    map: &TreeMap,
    (entry, dialect): (&TreeNode, HookDialect),
    findings: &mut Findings,
) {
    if dialect == HookDialect::Claude && ABOUT_TOOLS.contains(&event) {
        matcher(map, findings);
    }
    let Some(hooks) = map.get("hooks").and_then(TreeNode::as_list) else {
        let place = map.entries.first().map_or(entry.span, |first| first.key.span);
        findings
            .add(&HOOK_SHAPE, place, "the entry has no list `hooks`")
            .hint("write `{\"matcher\": \"…\", \"hooks\": [{\"type\": \"command\", …}]}`");
        return;
    };
    for hook in hooks {
        if let Some(map) = hook.as_map() {
            command(subject, map, hook, dialect, findings);
        }
    }
}

/// Reports words of a matcher that no tool has.
fn matcher(map: &TreeMap, findings: &mut Findings) {
    let Some(node) = map.get("matcher") else { return };
    let Some(text) = node.as_str() else { return };
    let is_word = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric());
    for word in text.split('|').map(str::trim).filter(is_word) {
        // Only a near miss is certain: a new tool is not known here.
        if let Some(near) = settings::nearest_tool(word) {
            let found = findings.add(&MATCHER, node.span, format!("no tool is called `{word}`"));
            found.hint(format!("did you mean `{near}`?"));
            if word == text {
                found.fix(Fix::word(format!("write `{near}`"), node.span, near));
            }
        }
    }
}

fn command(
    subject: &HarnessSubject<'_>,
    map: &TreeMap,
    hook: &TreeNode,
    dialect: HookDialect,
    findings: &mut Findings,
) {
    let kind = map.get("type").and_then(TreeNode::as_str);
    // Copilot names a command for each shell.
    let of_shell = ["bash", "powershell"].iter().any(|shell| map.entry(shell).is_some());
    if kind.is_none_or(|kind| kind == "command") && !of_shell {
        match map.get("command") {
            Some(node) => program(subject, node, findings),
            None => {
                let place = map.entries.first().map_or(hook.span, |first| first.key.span);
                findings.add(&NO_COMMAND, place, "the hook has no `command`").hint("add `command`");
            }
        }
    }
    let Some(node) = map.get("timeout") else { return };
    let TreeValue::Int(timeout) = node.value else { return };
    let (wrong, hint) = match dialect {
        HookDialect::Claude => (timeout > LONGEST_SECONDS, "Claude Code counts in seconds"),
        HookDialect::Gemini => {
            (timeout < SHORTEST_MILLISECONDS, "Gemini CLI counts in milliseconds")
        }
        HookDialect::Cursor => (false, ""),
    };
    if wrong {
        findings
            .add(&TIMEOUT_UNIT, node.span, format!("a timeout of {timeout} is hardly meant"))
            .hint(hint);
    }
}

/// Directories of harnesses in a project.
const IN_PROJECT: &[&str] = &["/.claude/", "/.codex/", "/.gemini/", "/.cursor/", "/.github/"];

/// How a command names the project or the plugin that it belongs to.
const OWN_DIRECTORY: &[&str] = &[
    "$CLAUDE_PROJECT_DIR/",
    "${CLAUDE_PROJECT_DIR}/",
    "$GEMINI_PROJECT_DIR/",
    "${GEMINI_PROJECT_DIR}/",
    "$CLAUDE_PLUGIN_ROOT/",
    "${CLAUDE_PLUGIN_ROOT}/",
    "./",
];

/// Returns the way from the directory of a file to its project, or to its plugin: `../`.
fn way_up(path: &str) -> String {
    let whole = format!("/{path}");
    let below = IN_PROJECT.iter().find_map(|dir| whole.split_once(dir).map(|(_, rest)| rest));
    // `hooks/hooks.json` and `agents/x.md` of a plugin are one level below its root.
    let levels = below.map_or(1, |rest| rest.matches('/').count() + 1);
    "../".repeat(levels)
}

/// Reports a program of the repository that does not exist.
fn program(subject: &HarnessSubject<'_>, node: &TreeNode, findings: &mut Findings) {
    let Some(text) = node.as_str() else { return };
    let word = path_in(text);
    let start = OWN_DIRECTORY.iter().find(|start| word.starts_with(**start));
    let is_own = IN_PROJECT.iter().any(|dir| word.starts_with(dir.trim_start_matches('/')));
    let rest = match start {
        Some(start) => word.strip_prefix(start).unwrap_or(&word),
        None if is_own => &word,
        None => return,
    };
    if rest.contains(['$', '*', '{', '`']) {
        return;
    }
    // `./` may also be relative to the directory of the file.
    let places = [format!("{}{rest}", way_up(&subject.source.path)), rest.to_owned()];
    if places.iter().all(|path| (subject.probe)(path) == PathPresence::Missing) {
        findings
            .add(&MISSING_PROGRAM, node.span, format!("there is no `{word}`"))
            .hint("add the file, or remove the hook");
    }
}

/// Programs that run the file in their first argument.
const INTERPRETERS: &[&str] =
    &["bash", "sh", "zsh", "python", "python3", "node", "bun", "deno", "ruby", "perl"];

/// The first word of a command line that is a path; an interpreter is skipped.
fn path_in(text: &str) -> String {
    // Quotes may surround only a part of a word: `"$CLAUDE_PROJECT_DIR"/hooks/x.sh`.
    let mut words = Vec::new();
    let (mut word, mut quote) = (String::new(), None);
    for c in text.chars() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            (None, _) if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '>' | '<') => {
                words.push(std::mem::take(&mut word));
                if words.iter().filter(|word| !word.is_empty()).count() >= 2 {
                    break;
                }
            }
            _ => word.push(c),
        }
    }
    words.push(word);
    let mut words = words.into_iter().filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    let name = first.rsplit('/').next().unwrap_or(&first);
    if INTERPRETERS.contains(&name) { words.next().unwrap_or_default() } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hook_programs_are_found_in_command_lines() {
        let cases = [
            ("$CLAUDE_PROJECT_DIR/a.sh", "$CLAUDE_PROJECT_DIR/a.sh"),
            ("\"$CLAUDE_PROJECT_DIR\"/a.sh --x", "$CLAUDE_PROJECT_DIR/a.sh"),
            ("python3 .claude/hooks/a.py || exit 2", ".claude/hooks/a.py"),
            ("bash -c 'x y'", "-c"),
            ("jq -r .x", "jq"),
            ("", ""),
            ("'unclosed x", "unclosed x"),
        ];
        for (text, expected) in cases {
            assert_eq!(path_in(text), expected, "{text}");
        }
    }
}
