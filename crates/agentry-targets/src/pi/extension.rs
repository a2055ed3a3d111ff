//! The guard on Pi's side: extensions that put each call to `agentry guard`, one for an agent as a
//! subagent and one for it as the main session.

use agentry_policy::Section;
use serde_json::json;

use super::tools::is_used;
use crate::front::MARK;
use crate::subject::Subject;

const CHILD: &str = include_str!("extension/child.ts");
const MAIN: &str = include_str!("extension/main.ts");
const ASK: &str = include_str!("extension/ask.ts");

/// The tools that the extension gives back, with what makes them and the section that they need.
const TOOLS: &[(&str, &str, Section)] = &[
    ("read", "createReadTool", Section::Read),
    ("bash", "createBashTool", Section::Bash),
    ("edit", "createEditTool", Section::Edit),
    ("write", "createWriteTool", Section::Edit),
];

/// The extension of an agent as a subagent.
pub(super) fn child(subject: &Subject) -> String {
    let used = TOOLS.iter().filter(|(_, _, section)| is_used(subject, *section));
    let tools: Vec<String> =
        used.map(|(name, create, _)| format!("  {name}: pi.{create},\n")).collect();
    filled(CHILD, subject).replace("@TOOLS@", &tools.concat())
}

/// The extension of an agent as the main session.
pub(super) fn main(subject: &Subject) -> String {
    filled(MAIN, subject)
}

fn filled(template: &str, subject: &Subject) -> String {
    let guard = json!(["agentry", "guard", "pi", subject.path, "--digest", subject.digest]);
    let text = format!("{template}{ASK}");
    let origin = super::write::origin(subject);
    text.replace("@MARK@", &format!("{}{origin}", MARK.trim_start_matches("# ")))
        .replace("@AGENT@", &json!(subject.name).to_string())
        .replace("@GUARD@", &guard.to_string())
}

/// Whether a file is the guard of that agent, as it was rendered.
pub(super) fn is_guard_of(text: &str, name: &str) -> bool {
    let agent = format!("const AGENT = {};", json!(name));
    let rendered = text.starts_with(&format!("// {}", MARK.trim_start_matches("# ")));
    rendered && text.ends_with(ASK) && text.lines().any(|line| line == agent)
}
