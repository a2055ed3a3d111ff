//! Files as users really write them. Each is imported with its prompt and without permitting more than it
//! grants, or refused with a position.

use agentry_compile::policy::Section;

use crate::back::{definition, imported};
use crate::import_least::rules_of;

const CLAUDE: &str = ".claude/agents/x.md";
const OPENCODE: &str = ".opencode/agent/x.md";
const PI: &str = ".pi/agents/x.md";
const CODEX: &str = ".codex/agents/x.toml";
const GEMINI: &str = ".gemini/agents/x.md";
const COPILOT: &str = ".github/agents/x.agent.md";
const CURSOR: &str = ".cursor/agents/x.md";

/// The prompt of all cases.
const BODY: &str = "Be kind.";

/// A file up to its prompt, and the result: name, bash, edit and read, or the position of the error.
type Shape = (&'static str, &'static str, &'static str);

const SHAPES: &[Shape] = &[
    // Colons, comments and texts over several lines.
    (
        CLAUDE,
        "---\nname: x\ndescription: When: always. So: yes\ntools: Read\n---\n",
        "x deny deny allow",
    ),
    (
        CLAUDE,
        "---\nname: x\ndescription: a\n\n<example>\nContext: b\nuser: \"c\"\n</example>\ntools: Read\n---\n",
        "x deny deny allow",
    ),
    (
        CLAUDE,
        "---\nname: x\ndescription: \"a\\n\\n<example>\\nuser: \\\"b\\\"\\n</example>\"\ntools: Read\n---\n",
        "x deny deny allow",
    ),
    (
        CLAUDE,
        "---\nname: x\ndescription: >\n  a\n  b: c\n\nmodel: sonnet\ntools:\n  - Read\n---\n",
        "x deny deny allow",
    ),
    (
        CLAUDE,
        "---\nname: x\ndescription: |-\n  a\n  - b\ntools: Read, Edit\n---\n",
        "x deny ask allow",
    ),
    (
        CLAUDE,
        "---\nname: x\ndescription: a\nmodel: sonnet  # or opus\ntools: Read # only\n---\n",
        "x deny deny allow",
    ),
    // Byte order marks, line ends, tabs, blanks.
    (
        CLAUDE,
        "\u{feff}---\r\nname: x\r\ndescription: a\r\ntools: Read, Grep\r\n---\r\n",
        "x deny deny allow",
    ),
    (
        CLAUDE,
        "---\nname: x\ndescription: a\ntools:\n\t- Read\n\t- Grep\n---\n",
        "x deny deny allow",
    ),
    (CLAUDE, "--- \nname: x\ndescription: a\ntools: Read\n--- \n", "x deny deny allow"),
    // Lists in every form.
    (CLAUDE, "---\nname: x\ndescription: a\ntools: []\n---\n", "x deny deny deny"),
    (CLAUDE, "---\nname: x\ndescription: a\ntools:\n---\n", "x deny deny deny"),
    (CLAUDE, "---\nname: x\ndescription: a\ntools: \"*\"\n---\n", "x ask ask allow"),
    (CLAUDE, "---\nname: x\ndescription: a\ntools: *\n---\n", "x ask ask allow"),
    (CLAUDE, "---\nname: x\ndescription: a\ntools: All tools\n---\n", "x deny deny deny"),
    (
        CLAUDE,
        "---\nname: x\ndescription: a\ntools: [\"Read\", 'Bash(git log:*)']\n---\n",
        "x ask deny allow",
    ),
    (CLAUDE, "---\nname: x\ndescription: a\ntools: [Read, Grep\n---\n", "x deny deny allow"),
    (
        CLAUDE,
        "---\nname: x\ndescription: a\ntools:\n  Read: true\n  Bash: false\n---\n",
        "x deny deny deny",
    ),
    (CLAUDE, "---\nname: x\ndescription: a\ntools: Read\ntools: Bash\n---\n", "x ask deny deny"),
    (
        CLAUDE,
        "---\nname: x\ndescription: a\nmodel: inherit\nmcpServers:\nhooks:\ncolor:\ntools: Read\n---\n",
        "x deny deny allow",
    ),
    // Unusable names and descriptions.
    (CLAUDE, "---\nname: 42\ndescription: a\ntools: Read\n---\n", "42 deny deny allow"),
    (
        CLAUDE,
        "---\nname: \u{1f680} Big X\ndescription: a\ntools: Read\n---\n",
        "big-x deny deny allow",
    ),
    (CLAUDE, "---\nname: x\ndescription:\n  - a\ntools: Read\n---\n", "x deny deny allow"),
    (CLAUDE, "---\ndescription: a\n---\n", "1:1: `name` is missing"),
    (CLAUDE, "---\nname: [x]\ndescription: a\n---\n", "1:1: `name` is not text"),
    (CLAUDE, "---\n---\n", "1:1: `name` is missing"),
    (CLAUDE, "", "1:1: there is no metadata"),
    (CLAUDE, "\n---\nname: x\n---\n", "1:1: there is no metadata"),
    // OpenCode.
    (
        OPENCODE,
        "---\ndescription: a\nmode: subagent\ntools:\n  write: false\n  bash: false\n---\n",
        "x deny deny allow",
    ),
    (OPENCODE, "---\ndescription: a\ntools: Read, Bash\n---\n", "x allow deny allow"),
    (OPENCODE, "---\ndescription: a\ntools: [read, grep, glob, list]\n---\n", "x deny deny allow"),
    (
        OPENCODE,
        "---\ndescription: Use it: always\npermission:\n  bash: deny\n---\n",
        "x deny allow allow",
    ),
    (OPENCODE, "---\ndescription: a\npermission: deny\n---\n", "x deny deny deny"),
    (
        OPENCODE,
        "---\ndescription: a\npermission:\n  bash: true\n  edit: never\n---\n",
        "x deny deny allow",
    ),
    (
        OPENCODE,
        "---\ndescription: a\npermission:\n  edit:\n    - allow: \"a/*\"\n  bash:\n    - deny: \"**\"\n---\n",
        "x deny deny allow",
    ),
    (
        OPENCODE,
        "---\ndescription: a\nmode: sub-agent\ntemperature: \"0.1\"\nsteps: \"5\"\ncolor: orange\n---\n",
        "x allow allow allow",
    ),
    (OPENCODE, "", "x allow allow allow"),
    (OPENCODE, "---\n---\n", "x allow allow allow"),
    (OPENCODE, "---\ndescription: a\npermission:\n  bash:\n    *: ask\n---\n", "5:"),
    (OPENCODE, "---\ndescription: a\npermission:\n\tbash: deny\n---\n", "4:"),
    (OPENCODE, "---\n- description: a\n---\n", "2:1: its metadata is not a list of `key: value`"),
    // Pi.
    (PI, "---\nname: x\ndescription: a: b\ntools: read, bash, write\n---\n", "x allow allow allow"),
    (PI, "---\r\nname: x\r\ndescription: a\r\ntools: read\r\n---\r\n", "x deny deny allow"),
    (PI, "---\nname: x\ndescription: |\n  a\n  b\ntools:\n  - read\n---\n", "x deny deny allow"),
    (PI, "---\nname: x\ndescription: a\ntools: [read, grep]\n---\n", "x deny deny deny"),
    (PI, "---\ndescription: a\n---\n", "1:1: Pi passes over an agent without `name`"),
    // Gemini.
    (
        GEMINI,
        "---\nname: x\ndescription: a\ntools: read_file, run_shell_command\nmax_turns: \"5\"\n---\n",
        "x ask deny allow",
    ),
    (
        GEMINI,
        "---\nname: x\ndescription: a\ntools:\n  - read_file\n  - run_shell_command\ndisallowedTools:\n  - run_shell_command\n---\n",
        "x deny deny allow",
    ),
    (GEMINI, "---\nname: x\ndescription: a\ntools: Read, Bash\n---\n", "x deny deny deny"),
    (
        GEMINI,
        "---\n- kind: remote\n  name: x\n---\n",
        "2:1: its metadata is not a list of `key: value`",
    ),
    (GEMINI, "---\nname: x\ndescription: [a\n---\n", "3:"),
    (GEMINI, "", "1:1: it has no metadata"),
    // Copilot.
    (
        COPILOT,
        "---\nname: X Y\ndescription: 'a'\ntools: ['codebase', 'editFiles', 'runCommands']\n---\n",
        "x ask ask allow",
    ),
    (COPILOT, "---\ndescription: a\ntools: \"read, edit\"\n---\n", "x deny ask allow"),
    (
        COPILOT,
        "---\ndescription: a\ntools: [read]\nhooks:\n  PreToolUse:\n    - type: command\n      command: y\n---\n",
        "x deny deny ask",
    ),
    (
        COPILOT,
        "---\ndescription: a\ntools: []\nmodel: ['gpt-5', 'b']\nuser-invokable: false\n---\n",
        "x deny deny deny",
    ),
    (COPILOT, "---\ndescription: a\ntools:\n---\n", "x deny deny deny"),
    (COPILOT, "---\ndescription: a\n tools: [read]\n---\n", "3:"),
    (COPILOT, "", "1:1: it has no metadata"),
    // Cursor.
    (
        CURSOR,
        "---\nname: x\ndescription: Use: it. Call: /x\nmodel: fast\nreadonly: yes\n---\n",
        "x ask deny allow",
    ),
    (
        CURSOR,
        "---\nname: x\ndescription: a\nreadonly: \"true\"\ntools: Read\n---\n",
        "x ask deny allow",
    ),
    (
        CURSOR,
        "---\nname: x\ndescription: a\nreadonly: false\nis_background: true\n---\n",
        "x ask ask allow",
    ),
    (CURSOR, "", "1:1: it has no metadata"),
    // Codex.
    (
        CODEX,
        "name = 'x'\ndescription = 'a'\nsandbox_mode = 'read-only'\ndeveloper_instructions = '''\nBe kind.\n'''\n",
        "x ask ask allow",
    ),
    (
        CODEX,
        "\u{feff}name = \"x\"\r\ndescription = \"a\"\r\ndeveloper_instructions = \"\"\"\r\nBe kind.\r\n\"\"\"\r\n",
        "x ask ask allow",
    ),
    (
        CODEX,
        "name = \"x\"\ninstructions = \"Be kind.\"\n",
        "1:1: it has no `developer_instructions`",
    ),
    (CODEX, "name = \"x\"\ndescription = a\n", "2:15: it is not TOML"),
    (CODEX, "", "1:1: it has no `developer_instructions`"),
];

fn harness(path: &str) -> &'static str {
    let of = [
        (CLAUDE, "claude-code"),
        (OPENCODE, "opencode"),
        (PI, "pi"),
        (CODEX, "codex"),
        (GEMINI, "gemini"),
        (COPILOT, "copilot"),
        (CURSOR, "cursor"),
    ];
    of.iter().find(|(known, _)| *known == path).expect("a harness").1
}

/// The result of a case, in one line.
fn result(path: &str, head: &str) -> String {
    let body = if path == CODEX { String::new() } else { format!("{BODY}\n") };
    let found = match imported(harness(path), &[(path, &format!("{head}{body}"))], path) {
        Ok(found) => found,
        Err(wrong) => return wrong,
    };
    let system = found.agent.instructions.system.as_ref().map(|text| text.value.as_str());
    assert_eq!(system, Some(BODY), "{path}\n{head}");
    assert!(!definition(&found).is_empty());
    let sections = [Section::Bash, Section::Edit, Section::Read].map(|of| rules_of(&found, of));
    format!("{} {}", found.agent.name(), sections.join(" "))
}

#[test]
fn every_file_shape_is_imported_or_refused_with_a_position() {
    let mut wrong = Vec::new();
    for (path, head, expected) in SHAPES {
        let result = result(path, head);
        let is_place = expected.contains(':');
        if !(result == *expected || (is_place && result.starts_with(expected))) {
            wrong.push(format!("{path}: {result} and not {expected}\n{head}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Nothing panics when text is cut off or inserted.
#[test]
fn truncated_files_are_imported_without_a_panic() {
    for (path, head, _) in SHAPES {
        let text = format!("{head}{BODY}\n");
        for at in (0..text.len()).step_by(5).filter(|at| text.is_char_boundary(*at)) {
            let (start, end) = text.split_at(at);
            for text in [start.to_owned(), end.to_owned(), format!("{start}\0\u{2028}'\"[{{:{end}")]
            {
                drop(imported(harness(path), &[(path, &text)], path));
            }
        }
    }
}
