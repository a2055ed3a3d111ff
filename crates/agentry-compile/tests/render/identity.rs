//! From the files of a harness to a definition and back to the same harness: what it permits for sure
//! stays the same, what it may permit gets no more, and all that is said of the agent is said again.

use agentry_compile::policy::{Permissions, Places, Rules, Section};
use agentry_compile::targets::import::import;
use agentry_compile::targets::model::outside;
use agentry_compile::targets::proof::{Proof, within};
use agentry_compile::targets::{Files, Imported, Model, Target, target};

use crate::back::definition;
use crate::{Wish, found, rendering};

/// An agent as somebody wrote it, with the files around it.
struct Case {
    harness: &'static str,
    path: &'static str,
    text: &'static str,
    around: &'static [(&'static str, &'static str)],
    /// The sections in which it may do less afterwards.
    narrowed: &'static [Section],
}

const fn case(harness: &'static str, path: &'static str, text: &'static str) -> Case {
    Case { harness, path, text, around: &[], narrowed: &[] }
}

const CASES: &[Case] = &[
    case(
        "opencode",
        ".opencode/agents/x.md",
        "---\ndescription: \"Reviews: all\"\nmode: subagent\nmodel: anthropic/claude\ntemperature: 0.2\nsteps: 7\n---\nYou review.\n\n- a\n  b\n",
    ),
    case(
        "opencode",
        ".opencode/agents/x.md",
        "---\ndescription: d\nmode: primary\npermission:\n  bash:\n    \"*\": ask\n    \"git *\": allow\n    \"git push*\": deny\n  edit: deny\n  webfetch: ask\n  task: deny\n---\nYou review.\n",
    ),
    Case {
        around: &[(
            "opencode.json",
            "{\"permission\": {\"bash\": \"ask\", \"edit\": {\"*\": \"allow\", \"secret/*\": \"deny\"}}}",
        )],
        ..case(
            "opencode",
            ".opencode/agents/x.md",
            "---\ndescription: d\ntools:\n  webfetch: false\n---\nHi.\n",
        )
    },
    case(
        "claude-code",
        ".claude/agents/x.md",
        "---\nname: x\ndescription: d\ntools: Read, Grep, Glob\nmodel: sonnet\nmaxTurns: 9\n---\n\nYou review.\n\n```\n---\n```\n",
    ),
    case(
        "claude-code",
        ".claude/agents/x.md",
        "---\nname: x\ndescription: Use it: always\n---\nHi.\n",
    ),
    Case {
        around: &[(
            ".claude/settings.json",
            "{\"permissions\": {\"allow\": [\"Bash(git log:*)\"], \"ask\": [\"Bash(git push *)\"], \"deny\": [\"Bash(rm *)\", \"Read(./.env)\"]}}",
        )],
        ..case(
            "claude-code",
            ".claude/agents/x.md",
            "---\nname: x\ndescription: d\ntools: Read, Glob, Grep, Edit, Write, NotebookEdit, Bash\n---\nHi.\n",
        )
    },
    case(
        "pi",
        ".pi/agents/x.md",
        "---\nname: x\ndescription: d\ntools: read, grep, find, ls\nmodel: a/b\n---\nYou review.\n",
    ),
    case(
        "pi",
        ".pi/agents/x.md",
        "---\nname: x\ndescription: d\ntools: read, grep, find, ls, edit, write, bash, fetch_content\n---\nHi.\n",
    ),
    case("pi", ".pi/agents/x.md", "---\nname: x\ndescription: d\ntools: read, bash\n---\nHi.\n"),
    case(
        "codex",
        ".codex/agents/x.toml",
        "name = \"x\"\ndescription = \"d\"\nmodel = \"gpt-5.5\"\nsandbox_mode = \"read-only\"\nweb_search = \"cached\"\ndeveloper_instructions = \"\"\"\nYou review.\n\"\"\"\n",
    ),
    case(
        "codex",
        ".codex/agents/x.toml",
        "name = \"x\"\ndescription = \"d\"\nsandbox_mode = \"workspace-write\"\napproval_policy = \"on-request\"\nweb_search = \"live\"\ndeveloper_instructions = \"Hi.\"\n",
    ),
    case(
        "codex",
        ".codex/agents/x.toml",
        "name = \"x\"\ndescription = \"d\"\nsandbox_mode = \"read-only\"\napproval_policy = \"never\"\nweb_search = \"disabled\"\ndeveloper_instructions = \"Hi.\"\n",
    ),
    case(
        "gemini",
        ".gemini/agents/x.md",
        "---\nkind: local\nname: x\ndescription: d\ndisplay_name: The X\nmodel: gemini-3-pro\nmax_turns: 5\ntools: [read_file, list_directory, glob, grep_search, google_web_search]\n---\nYou review.\n",
    ),
    case(
        "gemini",
        ".gemini/agents/x.md",
        "---\nname: x\ndescription: d\ntools: [read_file, list_directory, glob, grep_search, replace, write_file, run_shell_command, mcp_github_get_issue]\n---\nHi.\n",
    ),
    case(
        "copilot",
        ".github/agents/x.agent.md",
        "---\nname: The X\ndescription: d\nuser-invocable: false\nmodel: gpt-5\ntools: [read, search, todo]\n---\nYou review.\n",
    ),
    case(
        "copilot",
        ".github/agents/x.agent.md",
        "---\ndescription: d\ntools: [read, search, edit, execute]\n---\nHi.\n",
    ),
];

/// What an agent says of itself.
fn said(found: &Imported) -> String {
    let agent = &found.agent;
    format!(
        "{:#?}\n{:#?}\n{:#?}\n{:#?}",
        agent.identity, agent.instructions, agent.model, agent.behaviour
    )
}

/// What holds for a section.
fn layers(permissions: &Permissions, section: Section) -> Vec<Rules> {
    let rules = |section| {
        let written = permissions.get(section).expect("a section");
        Rules::new(written, &Places::default()).as_written()
    };
    let files = matches!(section, Section::Edit | Section::Read);
    let beyond = files.then(|| permissions.get(Section::ExternalDirectory)).flatten();
    let beyond = beyond.map(|_| outside(section, &rules(Section::ExternalDirectory)));
    [rules(section)].into_iter().chain(beyond).collect()
}

/// The ways of `after` that are within no way of `before`.
fn wider(after: &Model, before: &Model) -> Vec<String> {
    let fits = |way: &&agentry_compile::targets::Way| {
        let same = before.ways.iter().filter(|it| it.section == way.section);
        !same.into_iter().any(|it| within(&way.layers, &it.layers) == Proof::Holds)
    };
    after.ways.iter().filter(fits).map(|way| format!("{} {}", way.section, way.tool)).collect()
}

fn check(case: &Case) {
    let Case { harness, path, text, around, narrowed } = case;
    let target: &Target = target(harness).expect("a target");
    let before = [&[(*path, *text)], *around].concat();
    let of = |files: &Files<'_>| import(target, files, path).expect("an agent");
    let first = of(&|path| found(&before, path));
    let wish = Wish { existing: around, ..Wish::default() };
    let rendering = rendering(harness, &definition(&first), wish);
    let rendered = &rendering.agents[0];
    assert_eq!(rendered.refused, None, "{text}");
    let new: Vec<_> = rendered.files.iter().chain(&rendering.shared).collect();
    let new: Vec<(&str, &str)> = new.iter().map(|it| (it.path.as_str(), it.text())).collect();
    let kept = around.iter().filter(|(path, _)| !new.iter().any(|it| it.0 == *path)).copied();
    let after: Vec<_> = new.iter().copied().chain(kept).collect();
    let second = of(&|path| found(&after, path));
    assert_eq!(said(&second), said(&first), "{text}");
    let permissions = |found: &Imported| found.agent.policy.permissions.clone().expect("some");
    let (was, is) = (permissions(&first), permissions(&second));
    let told: Vec<String> = first
        .losses
        .iter()
        .chain(&rendered.losses)
        .map(|it| format!("{}: {}", it.field, it.detail))
        .collect();
    for section in
        Section::ALL.iter().filter(|it| !matches!(it, Section::Env | Section::ExternalDirectory))
    {
        let (was, is) = (layers(&was, *section), layers(&is, *section));
        assert_eq!(within(&is, &was), Proof::Holds, "{harness} {section} is wider\n{text}");
        let same = within(&was, &is) == Proof::Holds;
        assert_eq!(
            same,
            !narrowed.contains(section),
            "{harness} {section}\n{text}\n{}\n{told:#?}",
            after[0].1
        );
        let field = format!("permissions.{section}");
        assert!(same || told.iter().any(|it| it.starts_with(&field)), "{section}: {told:#?}");
    }
    let model = |files: &[(&str, &str)]| (target.model)(&|path: &str| found(files, path), "x");
    let (before, after) = (model(&before).expect("an agent"), model(&after).expect("an agent"));
    assert_eq!(wider(&after, &before), Vec::<String>::new(), "{harness}\n{text}");
}

#[test]
fn agents_as_people_write_them() {
    let mut failed = Vec::new();
    for case in CASES {
        if let Err(why) = std::panic::catch_unwind(|| check(case)) {
            failed.push(why.downcast_ref::<String>().cloned().unwrap_or_default());
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n=======\n"));
}
