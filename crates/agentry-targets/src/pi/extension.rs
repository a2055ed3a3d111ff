//! The guard on Pi's side: extensions that ask `agentry guard` about each call, one for an agent as a
//! subagent and one for it as the main session.

use agentry_policy::Section;
use serde_json::json;

use super::tools::is_used;
use crate::front_matter::MARK;
use crate::subject::RenderSubject;

const CHILD: &str = include_str!("extension/child.ts");
const MAIN: &str = include_str!("extension/main.ts");
const ASK: &str = include_str!("extension/ask.ts");

/// The tools that the extension provides, with their constructors and sections.
const TOOLS: &[(&str, &str, Section)] = &[
    ("read", "createReadTool", Section::Read),
    ("bash", "createBashTool", Section::Bash),
    ("edit", "createEditTool", Section::Edit),
    ("write", "createWriteTool", Section::Edit),
];

/// The extension of an agent as a subagent.
pub(super) fn child(subject: &RenderSubject) -> String {
    let used = TOOLS.iter().filter(|(_, _, section)| is_used(subject, *section));
    let tools: Vec<String> = used.map(|(name, create, _)| format!("{name}: pi.{create}")).collect();
    filled(CHILD, subject).replace("@TOOLS@", &tools.join(", "))
}

/// The extension of an agent as the main session.
pub(super) fn main(subject: &RenderSubject) -> String {
    filled(MAIN, subject)
}

fn filled(template: &str, subject: &RenderSubject) -> String {
    let path = subject.guarded_path();
    let mut guard = vec!["agentry", "guard", "pi", path, "--digest", subject.digest.as_str()];
    // It starts in the project. An agent of the user, named by its full path, has none.
    if !path.starts_with('/') {
        guard.extend(["--project", "."]);
    }
    let text = format!("{template}{ASK}");
    let origin = subject.origin();
    text.replace("@MARK@", &format!("{}{origin}", MARK.trim_start_matches("# ")))
        .replace("@AGENT@", &json!(subject.name).to_string())
        .replace("@GUARD@", &json!(guard).to_string())
}

/// Whether a file is the unchanged guard of that agent.
pub(super) fn is_guard_of(text: &str, name: &str) -> bool {
    [CHILD, MAIN].into_iter().any(|template| {
        let template = format!("{template}{ASK}");
        let pairs = template.lines().zip(text.lines());
        let same = |(template, line): (&str, &str)| is_filled(template, line, name);
        template.lines().count() == text.lines().count() && pairs.into_iter().all(same)
    })
}

/// Whether a line is the template's line with its placeholders filled.
fn is_filled(template: &str, line: &str, name: &str) -> bool {
    let inner = |word: &str| {
        let (start, end) = template.split_once(word)?;
        line.strip_prefix(start)?.strip_suffix(end)
    };
    let own = json!(name).to_string();
    let is_guard = |list: &str| {
        let words: Option<Vec<String>> = serde_json::from_str(list).ok();
        words.is_some_and(|words| words.starts_with(&["agentry", "guard", "pi"].map(str::to_owned)))
    };
    let is_tool = |tool: &str| {
        tool.is_empty()
            || TOOLS.iter().any(|(name, create, _)| tool == format!("{name}: pi.{create}"))
    };
    template == line
        || inner("@MARK@").is_some_and(|mark| mark.starts_with(MARK.trim_start_matches("# ")))
        || inner("@AGENT@").is_some_and(|agent| *agent == *own)
        || inner("@GUARD@").is_some_and(is_guard)
        || inner("@TOOLS@").is_some_and(|tools| tools.split(", ").all(is_tool))
}
