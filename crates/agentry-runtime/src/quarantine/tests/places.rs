//! One list of protected names: tools, quarantine, guard and `policy why` give the same answer for every
//! path of every harness.

use agentry_compile::policy::{Action, Judge, Section, SectionCall};
use agentry_compile::render::{GuardedAgent, RenderLedger, guard, judged, protect};
use agentry_compile::targets::target;
use agentry_compile::{MemoryWorld, at, judge, read};

use super::*;
use crate::protected_paths::why_refused;

/// A file for each path of a harness or of Agentry, and whether it is protected. Context files are not: they
/// are ordinary text, and a rule may allow changes.
const PLACES: &[(&str, bool)] = &[
    (".agents/skills/x/SKILL.md", true),
    (".agents/x.md", true),
    (".claude.json", true),
    (".claude/settings.json", true),
    (".codex/AGENTS.md", true),
    (".codex/config.toml", true),
    (".config/agentry/models.toml", true),
    (".config/opencode/AGENTS.md", true),
    (".config/opencode/opencode.json", true),
    (".copilot/agents/x.md", true),
    (".copilot/config.json", true),
    (".cursor/mcp.json", true),
    (".gemini/settings.json", true),
    (".github/agents/x.md", true),
    (".github/skills/x/SKILL.md", true),
    (".mcp.json", true),
    (".opencode/opencode.json", true),
    (".pi/agent/AGENTS.md", true),
    (".pi/settings.json", true),
    (".vscode/mcp.json", true),
    ("agentry.toml", true),
    ("opencode.json", true),
    (".agent/x", false),
    (".github/copilot-instructions.md", false),
    (".github/workflows/x.yml", false),
    ("AGENTS.md", false),
    ("CLAUDE.md", false),
    ("GEMINI.md", false),
    ("agents/x.md", false),
];

const AGENT: &str = "name = \"helper\"\ndescription = \"Helps\"\n[permissions.edit]\nintent = \"allow\"\n\
                     [permissions.bash]\nintent = \"allow\"\n";

/// An agent whose rules allow everything, as the guard and `policy why` see it.
struct Judged {
    world: MemoryWorld,
    judge: Judge,
    protected: Vec<String>,
}

impl Judged {
    fn new() -> Self {
        let files =
            [("agents/helper/agent.toml", AGENT), ("agents/helper/system-prompt.md", "Help.")];
        let world = MemoryWorld::new(files.map(|(path, text)| (path.to_owned(), text)));
        let mut compiled = read(&world, &at(&world, "agents/helper").expect("an agent"));
        let protected = protect(&world, &compiled, &RenderLedger::default(), &[]);
        let judge = judge(&world, &mut compiled).expect("a policy");
        Self { world, judge, protected }
    }

    fn why(&self, section: Section, subject: &str) -> bool {
        let call = SectionCall { section, subject, directory: "/" };
        judged(&self.world, &self.judge, &self.protected, call).action == Action::Deny
    }

    fn guard(&self, tool: &str, key: &str, subject: &str) -> bool {
        let compiled = read(&self.world, &at(&self.world, "agents/helper").expect("an agent"));
        let guarded = GuardedAgent {
            project: None,
            compiled,
            digest: None,
            protected: self.protected.clone(),
            program: None,
            is_set: &|_| true,
        };
        let input = serde_json::json!({ key: subject });
        let question = serde_json::json!({"tool_name": tool, "tool_input": input, "cwd": "/"});
        let harness = target("claude-code").expect("a target");
        let guard_answer = guard(&self.world, harness, Ok(guarded), &question.to_string());
        guard_answer.output.contains("\"deny\"")
    }
}

/// Returns whether the quarantine removes a file that a command creates here.
fn quarantined(path: &str) -> bool {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path().canonicalize().expect("a path");
    let workspace = root.join("w");
    fs::create_dir(&workspace).expect("a directory");
    let mut quarantine =
        Quarantine::new(&workspace, &root.join("runs/1/quarantine")).expect("made");
    let reach = WriteReach { open: vec![workspace.clone()], closed: Vec::new() };
    quarantine.open(reach).expect("begun");
    write(&workspace, path, "x\n");
    quarantine.settle();
    !workspace.join(path).exists()
}

#[test]
fn all_components_share_one_list_of_protected_names() {
    let house = Judged::new();
    let mut wrong = Vec::new();
    let places = PLACES.iter().map(|(path, expected)| ((*path).to_owned(), *expected));
    let deeper = PLACES.iter().map(|(path, expected)| (format!("sub/dir/{path}"), *expected));
    for (path, expected) in places.chain(deeper) {
        let command = format!("echo x > {path}");
        let answers = [
            ("tool of a run", why_refused(&Path::new("/w").join(&path), Path::new("/w")).is_some()),
            ("command of a run", quarantined(&path)),
            ("guard, edit", house.guard("Edit", "file_path", &path)),
            ("guard, command", house.guard("Bash", "command", &command)),
            ("policy why, edit", house.why(Section::Edit, &path)),
            ("policy why, command", house.why(Section::Bash, &command)),
        ];
        let other = answers.into_iter().filter(|(_, answer)| *answer != expected);
        wrong.extend(other.map(|(component, answer)| format!("{path}: {component} says {answer}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
