//! Files of harnesses: what is found, what healthy files say, and bytes that were never meant as one.

use agentry_compile::text::report::human::{ReportStyle, render};
use agentry_compile::{
    FixMode, MemoryWorld, SearchAs, WorkspaceConfig, check_harness, discover_all, fix_harness,
};
use proptest::prelude::*;

use crate::harness_paths::PATHS;
use crate::world::{findings, report, world};

/// Checks and fixes the same bytes as every kind of file, and shows what is found.
fn everywhere(bytes: &[u8]) {
    let world = MemoryWorld::new(PATHS.iter().map(|path| ((*path).to_owned(), bytes.to_vec())));
    let found = discover_all(&world, &[String::new()], None, &|_| false);
    let config = WorkspaceConfig::default();
    for file in &found.harness {
        let checked = check_harness(&world, file, &config);
        for diagnostic in &checked.diagnostics {
            let text = render(diagnostic, &checked.sources, ReportStyle::default());
            let is_raw = |c: char| c.is_control() && c != '\n';
            assert!(!text.contains(is_raw), "{}: {text:?}", file.path);
        }
        fix_harness(&world, file, &config, FixMode::Unsafe);
    }
}

#[test]
fn hostile_harness_files_never_panic() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(5_000), close.repeat(5_000));
    let cases: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"---\n---\n".to_vec(),
        b"---\n".to_vec(),
        b"\xff\xfe\x00name".to_vec(),
        b"---\nname: a\0b\ndescription: \x1b[2J\n---\nx".to_vec(),
        b"---\rname: a\rdescription: b\r---\rx".to_vec(),
        format!("---\nname: {}\n---\n", deep("[", "]")).into_bytes(),
        format!("{{\"permissions\": {}}}", deep("[", "]")).into_bytes(),
        format!("{{\"hooks\": {}}}", deep("{\"a\": ", "}")).into_bytes(),
        format!("a = {}", deep("[", "]")).into_bytes(),
        format!("---\ntools: {}\n---\n", "Bash(".repeat(10_000)).into_bytes(),
        "[x](".repeat(20_000).into_bytes(),
        "@a/b.md\n".repeat(20_000).into_bytes(),
        vec![b'-'; 200_000],
        vec![b'x'; 1024 * 1024 + 1],
    ];
    for bytes in cases {
        everywhere(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_checked_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        everywhere(&bytes);
    }

    #[test]
    fn any_metadata_is_checked_without_a_panic(
        text in "---\n((name|description|tools|model|permission|hooks|mode|steps|disallowedTools): ?(\\PC{0,24}|\\[[a-zA-Z, \"(]{0,20}\\]?|\\{[a-z*\": ,]{0,20}\\}?|\n  - \\PC{0,12})\n){0,7}---\n\\PC{0,60}\n"
    ) {
        everywhere(text.as_bytes());
    }

    #[test]
    fn any_settings_are_checked_without_a_panic(
        rules in prop::collection::vec("[A-Za-z_*]{0,9}(\\([^\"\\\\]{0,16}\\)?)?", 0..6)
    ) {
        let rules: Vec<String> = rules.iter().map(|rule| format!("{rule:?}")).collect();
        let list = rules.join(", ");
        everywhere(format!("{{\"permissions\": {{\"allow\": [{list}], \"deny\": [{list}]}}, \"permission\": {{\"bash\": {{\"*\": \"ask\"}}}}}}").as_bytes());
    }
}

/// Files as careful people write them.
const HEALTHY: &[(&str, &str)] = &[
    (
        ".claude/agents/reviewer.md",
        "---\nname: code-reviewer\ndescription: |\n  Reviews a change: correctness first.\n\n  Use it before a commit.\ntools: Read, Grep, Glob, Bash, Task, TodoWrite, mcp__github__search, WebFetch\nmodel: sonnet\ncolor: purple\nversion: 1.2.0\ntags: [review, quality]\n---\n\nYou review code.\n\nSee `docs/missing.md` and [a guide](https://example.org/x.md).\n",
    ),
    (
        ".claude/agents/full.md",
        "---\nname: Full_Name\ndescription: Answers questions, in many words\ntools:\n  - Read\n  - Edit\ndisallowedTools: Bash\npermissionMode: acceptEdits\nmaxTurns: 12\nmemory: project\nisolation: worktree\nbackground: false\neffort: high\nskills: [pdf, review]\nmodel: claude-opus-4-5-20251101\n---\nYou answer.\n",
    ),
    (".claude/agents/README.md", "# Our agents\n\nThey help.\n"),
    (
        ".claude/settings.json",
        "{\"$schema\": \"https://json.schemastore.org/claude-code-settings.json\", \"permissions\": {\"allow\": [\"Bash(npm run test:*)\", \"Bash(git log *)\", \"Read(//etc/hosts)\", \"Read(~/.zshrc)\", \"Edit(/src/**)\", \"WebFetch(domain:example.org)\", \"mcp__github__*\", \"Skill(pdf)\"], \"ask\": [\"Bash(git push *)\"], \"deny\": [\"Read(.env)\", \"Bash(rm -rf *)\"]}, \"hooks\": {\"PostToolUse\": [{\"matcher\": \"Edit|Write\", \"hooks\": [{\"type\": \"command\", \"command\": \"npx prettier --write .\", \"timeout\": 30}]}], \"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"date\"}]}]}}\n",
    ),
    (
        ".opencode/agents/docs.md",
        "---\ndescription: Writes documentation\nmode: subagent\nmodel: anthropic/claude-sonnet-4-5\ntemperature: 0.1\nsteps: 20\ncolor: \"#ff8800\"\ntools:\n  write: false\n  mcp_search: true\npermission:\n  \"*\": ask\n  edit:\n    \"*\": deny\n    \"docs/**\": allow\n  bash:\n    \"*\": ask\n    \"git diff *\": allow\n    \"git push *\": deny\n  webfetch: deny\n  my-server_*: allow\n---\n\nYou write.\n",
    ),
    (
        "opencode.json",
        "{\n  // comments are fine here\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"instructions\": [\"docs/*.md\"],\n  \"agent\": {\"build\": {\"model\": \"openai/gpt-5\"}, \"tester\": {\"description\": \"Runs the tests\", \"prompt\": \"{file:./prompts/tester.txt}\", \"tools\": {\"bash\": true}}},\n  \"mcp\": {\"search\": {\"type\": \"local\", \"command\": [\"search-server\"]}}\n}\n",
    ),
    (
        ".pi/agents/scouting.md",
        "---\nname: scouting\ndescription: \"Looks around: quickly\"\ntools: read, grep, find, ls, web_search\nmodel: anthropic/claude-haiku-4-5, openai/gpt-5-mini\nthinking: low\noutput: context.md\ndefaultProgress: true\n---\n\nYou look.\n",
    ),
    (
        ".codex/agents/fixer.toml",
        "name = \"fixer\"\ndescription = \"Repairs failing tests\"\nmodel = \"gpt-5.1-codex\"\nmodel_reasoning_effort = \"high\"\nsandbox_mode = \"workspace-write\"\nmodel_context_window = 200000\ndeveloper_instructions = \"\"\"\nYou repair tests.\n\"\"\"\n",
    ),
    (
        ".gemini/agents/security.md",
        "---\nname: security-auditor\ndescription: Looks for holes\nkind: local\ntools:\n  - read_file\n  - grep_search\n  - mcp_github_*\nmodel: gemini-2.5-pro\ntemperature: 0.2\nmax_turns: 10\n---\n\nYou look for holes.\n",
    ),
    (
        ".github/agents/planner.agent.md",
        "---\nname: Planner\ndescription: Plans a change\ntools: ['search', 'fetch', 'edit/editFiles', 'github/*', 'runCommands', 'ms-python.python/configure']\nmodel: Claude Sonnet 4.5\nhandoffs:\n  - label: Start\n    agent: agent\n---\n\nYou plan.\n",
    ),
    (
        ".cursor/agents/verifier.md",
        "---\nname: verifier\ndescription: Checks finished work\nmodel: inherit\nreadonly: true\nis_background: false\n---\n\nYou check.\n",
    ),
    (
        ".cursor/rules/style.mdc",
        "---\ndescription: \nglobs: *.ts,*.tsx\nalwaysApply: false\n---\n\nShort.\n",
    ),
    (
        "skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Reads PDF files. Use it when a PDF is mentioned.\nlicense: MIT\nallowed-tools: Read Bash(pdftotext *)\nmetadata:\n  author: team\n  version: \"1.0\"\n---\n\n# PDF\n\nSee [forms](FORMS.md) and `scripts/fill.py`.\n",
    ),
    ("skills/pdf/FORMS.md", "# Forms\n"),
    (
        ".mcp.json",
        "{\"mcpServers\": {\"github\": {\"type\": \"http\", \"url\": \"https://example.org/mcp\", \"headers\": {\"Authorization\": \"Bearer ${TOKEN}\"}}, \"db\": {\"command\": \"npx\", \"args\": [\"-y\", \"db-server@1.2.3\"], \"env\": {\"DB_URL\": \"${DB_URL:-sqlite}\"}}}}\n",
    ),
    (
        "CLAUDE.md",
        "# Project\n\n@AGENTS.md\n\nUse @types/node and ask @octocat. Write to `@nobody/x.md`.\n",
    ),
    (
        "AGENTS.md",
        "# Project\n\nSee [the code](src/) and [a page](https://example.org).\n\n```md\n[x](nowhere.md)\n```\n",
    ),
    ("src/main.rs", "fn main() {}\n"),
];

#[test]
fn healthy_files_have_no_findings() {
    assert_eq!(report(&world(HEALTHY)), Vec::<String>::new());
}

#[test]
fn links_out_of_the_repository_are_refused() {
    let files: Vec<(&str, &str)> = vec![
        (".claude/agents/x.md", "-> /etc/passwd"),
        ("skills/x/SKILL.md", "-> /etc/passwd"),
        (".mcp.json", "-> /etc/passwd"),
        ("AGENTS.md", "-> /etc/passwd"),
    ];
    let lines = report(&world(&files));
    assert_eq!(lines.len(), files.len(), "{lines:#?}");
    assert!(lines.iter().all(|line| line.contains("AG0004")), "{lines:#?}");
}

#[test]
fn secrets_are_reported_and_masked() {
    let token = concat!("ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let agent = format!("---\nname: x\ndescription: Answers questions\n---\nUse {token}.\n");
    let servers = format!(
        "{{\"mcpServers\": {{\"a\": {{\"command\": \"a\", \"env\": {{\"GITHUB_TOKEN\": \"{token}\"}}}}}}}}"
    );
    let files = [(".claude/agents/x.md", agent.as_str()), (".mcp.json", servers.as_str())];
    let lines = report(&world(&files));
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines.iter().all(|line| !line.contains(token)), "{lines:#?}");
}

/// What is found where; each line has the path and the kind.
#[test]
fn a_search_finds_the_files_of_every_harness() {
    let files: Vec<(&str, &str)> = vec![
        ("agents/notes.md", "# Notes\n"),
        ("agents/page.md", "---\ntitle: A page\ndescription: x\n---\n"),
        ("agents/w.md", "---\nname: w\ndescription: y\ntools:\n  bash: true\n---\nz\n"),
        ("agents/x.md", "---\nname: x\ndescription: y\n---\nz\n"),
        ("loose.agent.md", "---\ndescription: x\ntools: [read]\n---\ny\n"),
        ("help_it.agent.md", "---\nstatus: active\n---\n# It\n\nx\n"),
        ("tool/.claude-plugin/plugin.json", "{}"),
        ("tool/agents/y.md", "---\nname: y\ndescription: y\npermissionMode: plan\n---\nz\n"),
        ("helper/agent.json", "{\"name\": \"helper\", \"version\": \"1.0.0\", \"role\": \"x\"}"),
        ("helper/persona.md", "# X\n"),
        ("helper/skills/a/SKILL.md", "---\nname: a\n---\n"),
        ("other/skills/b/SKILL.md", "---\nname: b\n---\n"),
    ];
    let found = discover_all(&world(&files), &[String::new()], None, &|_| false);
    let shown = |it: &agentry_compile::FoundHarnessFile| {
        format!("{} {} {}", it.path, it.kind.as_str(), it.is_plugin)
    };
    let lines: Vec<String> = found.harness.iter().map(shown).collect();
    assert_eq!(
        lines,
        [
            "agents/x.md claude-code false",
            "loose.agent.md copilot false",
            "other/skills/b/SKILL.md skill false",
            "tool/agents/y.md claude-code true",
        ]
    );
}

#[test]
fn a_directory_is_read_as_the_agents_of_a_harness() {
    let agent = "---\nname: x\ndescription: y\ntools: Read\n---\nz\n";
    let files = [("odd/x.md", agent), ("odd/README.md", "# Odd\n"), ("odd/x.txt", "x")];
    let world = world(&files);
    for (name, expected) in [("claude-code", 1), ("pi", 1), ("codex", 0)] {
        let target = agentry_compile::targets::target(name).expect("a harness");
        let reads = Some(SearchAs::Harness(target));
        let found = discover_all(&world, &["odd".to_owned()], reads, &|_| false);
        assert_eq!(found.harness.len(), expected, "{name}");
    }
}

#[test]
fn a_directory_is_read_as_a_format() {
    let files = [("odd/x.yaml", "name: x\n"), ("odd/y.txt", "y"), ("odd/z.md", "# Z\n")];
    let world = world(&files);
    for (format, expected) in [("manifest", "odd/x.yaml"), ("agent-md", "odd/z.md")] {
        let reads = Some(SearchAs::Format(format.parse().expect("a format")));
        let found = discover_all(&world, &["odd".to_owned()], reads, &|_| false);
        let paths: Vec<&str> = found.agents.iter().map(|agent| agent.path.as_str()).collect();
        assert_eq!(paths, [expected], "{format}");
    }
}

/// Any file of an agent names the agent.
#[test]
fn any_file_of_an_agent_selects_the_agent() {
    let world = world(&[
        (
            "a/agent.toml",
            "name = \"a\"\ndescription = \"x\"\nrules = [\"style\"]\ncontext = [\"notes.md\"]\n",
        ),
        ("a/system-prompt.md", "You help.\n"),
        ("a/notes.md", "x\n"),
        ("a/skills/s/SKILL.md", "---\nname: s\ndescription: x\n---\ny\n"),
        ("rules/style.md", "Short.\n"),
        ("b/instructions.md", "You help.\n"),
        ("b/tools/search.md", "---\nkind: mcp\ncommand: x\n---\n"),
        ("packs/p/SKILL.md", "---\nname: p\ndescription: x\n---\ny\n"),
        ("packs/p/scripts/run.py", "print(1)\n"),
        (".claude/commands/x.md", "Do it.\n"),
        ("notes.txt", "x\n"),
    ]);
    let cases = [
        ("a/system-prompt.md", "a"),
        ("a/notes.md", "a"),
        ("a/skills/s/SKILL.md", "a"),
        ("rules/style.md", "a"),
        ("b/tools/search.md", "b"),
        ("packs/p/scripts/run.py", "packs/p/SKILL.md"),
        ("packs/p/SKILL.md", "packs/p/SKILL.md"),
        (".claude/commands/x.md", "unchecked"),
        ("notes.txt", "none"),
    ];
    for (path, expected) in cases {
        let found = discover_all(&world, &[path.to_owned()], None, &|_| false);
        let agents = found.agents.iter().map(|it| it.path.clone());
        let harness = found.harness.iter().map(|it| it.path.clone());
        let none = found.no_agents.iter().map(|_| "none".to_owned());
        let beside = found.unchecked.iter().map(|_| "unchecked".to_owned());
        let all: Vec<String> = agents.chain(harness).chain(none).chain(beside).collect();
        assert_eq!(all, [expected], "{path}");
    }
}

/// How many rules of a settings file never decide.
fn dead(path: &str, text: &str) -> usize {
    let lines = report(&world(&[(path, text)]));
    let dead = |line: &&String| line.contains("AG7078") || line.contains("AG7074");
    lines.iter().filter(dead).count()
}

type NamedFilesCase<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str], usize);

/// Claude Code follows the strictest match, whatever the order.
#[test]
fn claude_code_rules_without_effect_are_reported() {
    let cases: &[NamedFilesCase] = &[
        (&["Bash(git push origin *)"], &[], &["Bash(git push *)"], 1),
        (&["Bash(git push *)"], &[], &["Bash(git push origin *)"], 0),
        (&["Bash(npm test)"], &[], &["Bash"], 1),
        (&["Bash(npm test)"], &["Bash(npm *)"], &[], 1),
        (&["Bash(npm test)", "Bash(npm run *)"], &["Bash(npm run deploy *)"], &[], 0),
        (&["Bash(git:*)"], &[], &["Bash(git push:*)"], 0),
        (&["Bash(git push:*)"], &[], &["Bash(git:*)"], 1),
        (&["WebFetch(domain:example.org)"], &[], &["WebFetch"], 1),
        (&["Read(src/**)"], &[], &["Read(.env)"], 0),
        (&["mcp__github__search"], &[], &["mcp__github"], 1),
        (&["mcp__github__search"], &[], &["mcp__gitlab"], 0),
    ];
    for (allow, ask, deny, expected) in cases {
        let text = format!(
            "{{\"permissions\": {{\"allow\": {allow:?}, \"ask\": {ask:?}, \"deny\": {deny:?}}}}}\n"
        );
        assert_eq!(dead(".claude/settings.json", &text), *expected, "{text}");
    }
}

/// OpenCode follows the last match.
#[test]
fn opencode_rules_without_effect_are_reported() {
    let cases = [
        ("{\"*\": \"ask\", \"git *\": \"allow\"}", 0),
        ("{\"git *\": \"allow\", \"*\": \"ask\"}", 1),
        ("{\"*\": \"ask\", \"git push *\": \"deny\", \"git *\": \"allow\"}", 1),
        ("{\"*\": \"ask\", \"git *\": \"allow\", \"git push *\": \"deny\"}", 0),
        ("{\"*\": \"ask\", \"git push\": \"allow\", \"git push *\": \"deny\"}", 1),
        ("{\"git log *\": \"allow\", \"*\": \"allow\"}", 0),
    ];
    for (rules, expected) in cases {
        let text = format!("{{\"permission\": {{\"bash\": {rules}}}}}\n");
        assert_eq!(dead("opencode.json", &text), expected, "{text}");
    }
}

/// Names of tools in a list, and the code of what is found.
#[test]
fn unknown_harness_tools_are_reported() {
    let cases = [
        (".claude/agents/x.md", "Read, Bash, Task, mcp__a__b, mcp__a__*", ""),
        (".claude/agents/x.md", "read", "AG7042"),
        (".claude/agents/x.md", "WebFetch, Websearch", "AG7042"),
        (".claude/agents/x.md", "run_shell_command", "AG7043"),
        (".claude/agents/x.md", "Computer", "AG7041"),
        (".claude/agents/x.md", "Bash(git *)", "AG7044"),
        (".claude/agents/x.md", "Bash(*)", ""),
        (".claude/agents/x.md", "mcp_github_search", "AG7050"),
        (".claude/agents/x.md", "[]", "AG7048"),
        (".gemini/agents/x.md", "[read_file, Bash]", "AG7043"),
        (".gemini/agents/x.md", "[read_file, '*', mcp_a_b]", ""),
        (".gemini/agents/x.md", "[red_file]", "AG7042"),
        (".pi/agents/x.md", "read, grep, web_search, my-extension:tool", ""),
        (".pi/agents/x.md", "Read, bash", "AG7042"),
        (".pi/agents/x.md", "[read]", "AG7052"),
        (".github/agents/x.agent.md", "['Edit', 'runCommands', 'a/b', 'anything']", ""),
        (".github/chatmodes/x.chatmode.md", "['codebase', 'editFiles']", ""),
    ];
    for (path, tools, expected) in cases {
        let text = format!(
            "---\nname: x\ndescription: Answers questions\ntools: {tools}\n---\nYou help.\n"
        );
        let lines = report(&world(&[(path, text.as_str())]));
        let fits = if expected.is_empty() {
            lines.is_empty()
        } else {
            lines.len() == 1 && lines[0].contains(expected)
        };
        assert!(fits, "{path} {tools}: {lines:#?}");
    }
}

#[test]
fn an_unknown_tool_has_a_useful_hint() {
    let cases = [
        (".claude/agents/x.md", "All tools", "remove `tools`"),
        (".claude/agents/x.md", "inherit", "remove `tools`"),
        (".claude/agents/x.md", "find", "here it is `Glob`"),
        (".gemini/agents/x.md", "[Grep]", "here it is `grep_search`"),
        (".gemini/agents/x.md", "[websearch]", "here it is `google_web_search`"),
        (".gemini/agents/x.md", "[Bash]", "here it is `run_shell_command`"),
    ];
    for (path, tools, expected) in cases {
        let text = format!(
            "---\nname: x\ndescription: Answers questions\ntools: {tools}\n---\nYou help.\n"
        );
        let found = findings(&world(&[(path, text.as_str())]));
        let fits = found.len() == 1 && found[0].hint.contains(expected);
        assert!(fits, "{path} {tools}: {found:#?}");
    }
}

/// Lines of metadata, and a part of what is found; nothing if it is empty.
#[test]
fn fields_are_explained_in_terms_of_their_harness() {
    let cases = [
        // The opposite is never suggested.
        (".claude/agents/x.md", "allowedTools: [Read]", "`allowedTools` restricts nothing"),
        (".claude/agents/x.md", "denied_tools: [Bash]", "`denied_tools` restricts nothing"),
        (".claude/agents/x.md", "disallowed_tools: Bash", "AG7011"),
        // A field of another harness, in the spelling of this one.
        (".claude/agents/x.md", "max_turns: 3", "AG7011"),
        (".claude/agents/x.md", "temperature: 0.3", "ignored by Claude Code"),
        (".opencode/agents/x.md", "reasoningEffort: high", ""),
        (".opencode/agents/x.md", "thinking: {type: enabled}", ""),
        (".opencode/agents/x.md", "team: support", "sends it to the model provider"),
        (".opencode/agents/x.md", "readOnly: true", "`readOnly` restricts nothing"),
    ];
    for (path, line, expected) in cases {
        let text = format!("---\ndescription: Answers questions\n{line}\n---\nYou help.\n");
        let text = text.replace(
            "---\ndesc",
            if path.contains("claude") { "---\nname: x\ndesc" } else { "---\ndesc" },
        );
        let lines = report(&world(&[(path, text.as_str())]));
        let fits = if expected.is_empty() {
            lines.is_empty()
        } else {
            lines.len() == 1 && lines[0].contains(expected)
        };
        assert!(fits, "{path} {line}: {lines:#?}");
    }
}

/// A required field that is written in broken metadata is not missing as well.
#[test]
fn broken_metadata_is_one_finding() {
    let cases = [
        ("[BETA] Answers questions", "AG7003"),
        ("{x} Answers questions", "AG7003"),
        // Claude Code does not load the file.
        ("\"Quoted\" and more", "AG7002"),
        ("* in every file", "AG7003"),
        ("**/*.py in every directory", "AG7003"),
        ("[never closed", "AG7002"),
    ];
    for (value, code) in cases {
        let text = format!("---\nname: x\ndescription: {value}\n---\nYou help.\n");
        let lines = report(&world(&[(".claude/agents/x.md", text.as_str())]));
        assert!(lines.len() == 1 && lines[0].contains(code), "{value}: {lines:#?}");
    }
}

#[test]
fn metadata_in_a_code_fence_is_reported() {
    let agent = "---\nname: x\ndescription: Answers questions\ntools: [read]\n---\nYou help.\n";
    for path in [".github/agents/x.agent.md", ".claude/agents/x.md", ".opencode/agents/x.md"] {
        for fence in ["```chatagent\n", "````md\n```chatagent\n"] {
            let lines = report(&world(&[(path, format!("{fence}{agent}```\n").as_str())]));
            assert!(lines.len() == 1 && lines[0].contains("in a code fence"), "{path}: {lines:#?}");
        }
    }
}

/// Claude Code 2.1.325 loads an agent with events that it does not know, and none with a malformed hook.
#[test]
fn hooks_of_another_program_do_not_hide_an_agent() {
    let cases = [
        ("  pre: |\n    echo\n  post: echo", "AG8202"),
        ("  before:\n    - echo", "AG8202"),
        ("  PreToolUse: echo", "AG8204"),
        ("  PreToolUse:\n    - command: echo", "AG8204"),
        ("  PreToolUse:\n    - hooks:\n        - type: command", "AG8206"),
    ];
    for (hooks, code) in cases {
        let text = format!(
            "---\nname: x\ndescription: Answers questions\nhooks:\n{hooks}\n---\nYou help.\n"
        );
        let lines = report(&world(&[(".claude/agents/x.md", text.as_str())]));
        assert!(lines.len() == 1 && lines[0].contains(code), "{hooks}: {lines:#?}");
    }
}

/// Plugins of other programs keep their hooks in the file of Claude Code's plugins.
#[test]
fn hooks_are_read_as_their_events_say() {
    let cases = [
        ("SessionStart", "{\"hooks\": [{\"command\": \"x\", \"timeout\": 5000}]}", "AG8205"),
        ("BeforeTool", "{\"hooks\": [{\"command\": \"x\", \"timeout\": 5000}]}", ""),
        ("sessionStart", "{\"command\": \"x\"}", ""),
        ("sessionStart", "{\"type\": \"command\", \"bash\": \"x\"}", ""),
        ("sessionstart", "{\"type\": \"command\"}", "AG8206"),
    ];
    for (event, entry, expected) in cases {
        let text = format!("{{\"hooks\": {{\"{event}\": [{entry}]}}}}");
        let lines = report(&world(&[("hooks/hooks.json", text.as_str())]));
        let fits = if expected.is_empty() {
            lines.is_empty()
        } else {
            lines.len() == 1 && lines[0].contains(expected)
        };
        assert!(fits, "{event}: {lines:#?}");
    }
}

/// The programs of hooks, from every place in which hooks are written.
#[test]
fn missing_hook_programs_are_reported() {
    let settings = |command: &str| {
        format!(
            "{{\"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": {command:?}}}]}}]}}}}"
        )
    };
    let agent = |command: &str| {
        format!(
            "---\nname: x\ndescription: Answers questions\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: {command:?}\n---\nYou help.\n"
        )
    };
    let cases = [
        (".claude/settings.json", settings("$CLAUDE_PROJECT_DIR/.claude/hooks/a.sh"), 0),
        (".claude/settings.json", settings("\"$CLAUDE_PROJECT_DIR\"/tools/a.py --x"), 0),
        (".claude/settings.json", settings("python3 ./tools/a.py"), 0),
        (".claude/settings.json", settings(".claude/hooks/b.sh"), 1),
        (".claude/settings.json", settings("$CLAUDE_PROJECT_DIR/$NAME.sh"), 0),
        (".claude/settings.json", settings("npx prettier ./missing.ts"), 0),
        (".claude/agents/team/x.md", agent("$CLAUDE_PROJECT_DIR/tools/a.py"), 0),
        (".claude/agents/x.md", agent("./tools/b.py"), 1),
        ("plugins/p/hooks/hooks.json", settings("${CLAUDE_PLUGIN_ROOT}/run.sh"), 0),
        ("plugins/p/hooks/hooks.json", settings("bash ${CLAUDE_PLUGIN_ROOT}/walk.sh"), 1),
    ];
    for (path, text, expected) in cases {
        let files = [
            (path, text.as_str()),
            (".claude/hooks/a.sh", "x"),
            ("tools/a.py", "x"),
            ("plugins/p/run.sh", "x"),
        ];
        let lines = report(&world(&files));
        let found = lines.iter().filter(|line| line.contains("AG8201")).count();
        assert_eq!((found, lines.len()), (expected, expected), "{path} {text}: {lines:#?}");
    }
}

/// Real agents of published packages: few have findings, and each of these is worth a look.
#[test]
fn real_agents_are_mostly_clean() {
    let agents = crate::corpus::agents();
    let mut counts = std::collections::BTreeMap::new();
    let mut clean = 0;
    for agent in &agents {
        let lines = report(&world(&[(agent.path.as_str(), agent.text.as_str())]));
        // A note only says what is worth knowing.
        clean += usize::from(lines.iter().all(|line| line.contains(" note[")));
        for line in lines {
            let code = line.split('[').nth(1).and_then(|rest| rest.get(..6)).unwrap_or("");
            *counts.entry(code.to_owned()).or_insert(0) += 1;
            println!("{} {}: {line}", agent.harness, agent.package);
        }
    }
    assert!(agents.len() >= 200, "{}", agents.len());
    assert!(clean * 100 >= agents.len() * 85, "{clean} of {} are clean: {counts:#?}", agents.len());
}
