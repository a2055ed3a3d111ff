//! Imports the files of a harness and renders them again, field by field. The harness must read the same in
//! both files. Each exception has a line here with its reason.

use std::collections::{BTreeMap, BTreeSet};

use agentry_compile::formats::{WriteTarget, convert};
use agentry_compile::model::Format;
use agentry_compile::targets::original::completed;
use agentry_compile::text::yaml::{self, YamlVersion};
use agentry_compile::text::{Data, FileId, Findings, SourceFile, toml};

use crate::back::imported;
use crate::{Wish, rendering};

/// An agent as a user would write it.
struct Case {
    harness: &'static str,
    path: &'static str,
    /// Its metadata, without the name and description that all cases have.
    lines: &'static str,
    /// Fields that come back changed, and why.
    differs: &'static [(&'static str, &'static str)],
}

const fn case(harness: &'static str, path: &'static str, lines: &'static str) -> Case {
    Case { harness, path, lines, differs: &[] }
}

impl Case {
    const fn differing(self, differs: &'static [(&'static str, &'static str)]) -> Self {
        Self { differs, ..self }
    }
}

const OPENCODE: &str = ".opencode/agents/x.md";
const CLAUDE: &str = ".claude/agents/x.md";
const PI: &str = ".pi/agents/x.md";
const CODEX: &str = ".codex/agents/x.toml";
const GEMINI: &str = ".gemini/agents/x.md";
const COPILOT: &str = ".github/agents/x.agent.md";

/// Why the result differs.
const NAMES_ONLY: &str = "it shows names only, which a definition has no word for";
const ONE_AGENT: &str = "Claude Code holds an agent to such a list only where a person started it";
const BRINGS_TOOLS: &str = "it brings tools to read and write files";
const PLANS: &str =
    "nothing may be changed while a plan is made, and the mode of a session above it counts";
const WRITES: &str = "Pi itself writes that file";
const REPORTED_DEFAULT: &str = "Codex takes it for granted, and it is said";
const UNBOUND: &str = "a session without a sandbox is never written";
const THE_SAME: &str = "tools that do the same as those which are taken away go as well";
const ONE_HELPER: &str = "only some programs hold an agent to the list of its helpers";
const A_PART: &str = "a part of a tool is not granted by itself";

const CASES: &[Case] = &[
    case(
        "opencode",
        OPENCODE,
        "mode: subagent\nmodel: anthropic/claude\ntemperature: 0.1\ntop_p: 0.9\nsteps: 7\ncolor: \"#ff8800\"\nhidden: true\n",
    ),
    case(
        "opencode",
        OPENCODE,
        "mode: primary\nvariant: high\ncolor: accent\npermission:\n  edit: deny\n  bash:\n    \"*\": ask\n    \"git diff*\": allow\n    \"git push*\": deny\n  webfetch: deny\n",
    ),
    case(
        "opencode",
        OPENCODE,
        "mode: all\ntools:\n  write: false\n  edit: false\n  bash: false\n  webfetch: true\n",
    ),
    case(
        "opencode",
        OPENCODE,
        "maxSteps: 4\npermission:\n  task: deny\n  skill:\n    \"*\": deny\n    \"docs-*\": allow\n  question: allow\n",
    ),
    case("claude-code", CLAUDE, "tools: Read\nmodel: inherit\ncolor: red\n"),
    case(
        "claude-code",
        CLAUDE,
        "tools: Read, Grep, Glob, Bash\nmodel: opus\neffort: high\nmaxTurns: 12\n",
    ),
    case("claude-code", CLAUDE, "tools: [\"Read\", \"Edit\", \"Write\"]\nbackground: true\n"),
    case(
        "claude-code",
        CLAUDE,
        "tools:\n  - Grep\n  - TodoWrite\n  - Task\n  - WebFetch\nisolation: worktree\n",
    ),
    case(
        "claude-code",
        CLAUDE,
        "tools: Read, WebSearch, mcp__github__get_issue\nskills:\n  - pdf\n",
    ),
    case("claude-code", CLAUDE, "tools: Read, Grep\npermissionMode: plan\n"),
    case("claude-code", CLAUDE, "tools: Read, Edit\nskills: [pdf, plugin-skill]\nmemory: project\n"),
    case("claude-code", CLAUDE, "tools: Read, mcp__github, mcp__playwright__browser_click\n"),
    case("claude-code", CLAUDE, "disallowedTools: Bash, Edit\n")
        .differing(&[("disallowedTools", THE_SAME)]),
    case("claude-code", CLAUDE, "disallowedTools: Task, mcp__github, mcp__docs__search\n"),
    case("claude-code", CLAUDE, "disallowedTools: Write, Edit, NotebookEdit, MultiEdit\n"),
    case("claude-code", CLAUDE, "model: haiku\n"),
    case("claude-code", CLAUDE, "tools: Read, Grep\nmodel: glm-4.6\n"),
    case("claude-code", CLAUDE, "tools: Read\nmodel: us.anthropic.claude-sonnet-4-v1:0\n"),
    case("claude-code", CLAUDE, "tools: Read\nmodel: opus[1m]\nmcpServers: [github]\n"),
    case("claude-code", CLAUDE, "tools: Read, Edit\nmemory: project\npermissionMode: acceptEdits\n"),
    case("claude-code", CLAUDE, "tools: Glob\n").differing(&[("tools", NAMES_ONLY)]),
    case("claude-code", CLAUDE, "tools: Read, Agent(helper)\n").differing(&[("tools", ONE_AGENT)]),
    case("claude-code", CLAUDE, "tools: Read, Edit\npermissionMode: plan\nmemory: project\n")
        .differing(&[("memory", BRINGS_TOOLS), ("tools", PLANS)]),
    case("pi", PI, "tools: read, grep\nmodel: a/b\nthinking: low\n"),
    case(
        "pi",
        PI,
        "tools: read, grep, find, ls, bash, write\nmodel: a/b\nsystemPromptMode: append\ninheritProjectContext: true\ndefaultProgress: true\n",
    ),
    case("pi", PI, "fallbackModels: c/d, e/f\nmodel: a/b\ntimeoutMs: 60000\n"),
    case("pi", PI, "tools: read\nfallbackModels: c/d, e/f\n"),
    case("pi", PI, "tools: read\ndefaultContext: fork\nasync: true\naliases: a, b\noutputMode: file-only\n"),
    case("pi", PI, "tools: read, bash\noutput: context.md\n").differing(&[("output", WRITES)]),
    case("pi", PI, "tools: read, write, bash\noutput: context.md\ndefaultReads: a.md, b/c.md\n"),
    case("pi", PI, "tools: read, deploy, mcp:github, mcp:docs/search\n"),
    case(
        "codex",
        CODEX,
        "model = \"gpt-5.5\"\nmodel_reasoning_effort = \"high\"\nnickname_candidates = [\"Ada\", \"Eve\"]\nsandbox_mode = \"read-only\"\n",
    )
    .differing(&[("web_search", REPORTED_DEFAULT)]),
    case(
        "codex",
        CODEX,
        "sandbox_mode = \"workspace-write\"\napproval_policy = \"on-request\"\nweb_search = \"live\"\n",
    ),
    case(
        "codex",
        CODEX,
        "sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"\nweb_search = \"disabled\"\n",
    )
    .differing(&[("sandbox_mode", UNBOUND)]),
    case(
        "codex",
        CODEX,
        "sandbox_mode = \"workspace-write\"\nmodel_verbosity = \"low\"\nweb_search = \"cached\"\nfeatures = {multi_agent = false}\n",
    ),
    case(
        "gemini",
        GEMINI,
        "kind: local\ndisplay_name: The X\ntools: [read_file]\nmodel: gemini-3-pro\ntemperature: 0.2\nmax_turns: 5\ntimeout_mins: 3\n",
    ),
    case("gemini", GEMINI, "tools:\n  - grep_search\n  - google_web_search\n  - write_file\n"),
    case("gemini", GEMINI, "tools: [read_many_files]\n"),
    case(
        "gemini",
        GEMINI,
        "tools: [read_file, list_directory, glob, grep_search, read_many_files]\n",
    ),
    case("gemini", GEMINI, "tools: [read_file, mcp_github_get_issue, \"mcp_docs_*\"]\n"),
    case("gemini", GEMINI, "tools: [\"*\"]\n"),
    case("gemini", GEMINI, "tools: [read_file, run_shell_command]\n"),
    case("gemini", GEMINI, "model: gemini-3-pro\n"),
    case("gemini", GEMINI, "model: flash\n"),
    case("gemini", GEMINI, "tools: [read_file]\nmodel: auto\n"),
    case("codex", CODEX, "model = \"qwen3-coder\"\nsandbox_mode = \"read-only\"\n")
        .differing(&[("web_search", REPORTED_DEFAULT)]),
    case("opencode", OPENCODE, "mode: primary\nmodel: sonnet\n"),
    case("copilot", COPILOT, "tools: [read]\nmodel: openai/gpt-5\n"),
    case("copilot", COPILOT, "tools: [read, todo]\nmodel: gpt-5\nmetadata:\n  team: docs\n"),
    case(
        "copilot",
        COPILOT,
        "tools: ['codebase', 'usages']\nmodel: gpt-5\nargument-hint: which file\ntarget: vscode\n",
    ),
    case(
        "copilot",
        COPILOT,
        "tools: [read, agent]\nagents: [helper]\nuser-invocable: false\nhandoffs:\n  - label: Go\n    agent: helper\n    prompt: Go on.\n    send: false\n",
    )
    .differing(&[("tools", ONE_HELPER)]),
    case(
        "copilot",
        COPILOT,
        "tools: [read, search, edit, execute, web, 'github/*']\ndisable-model-invocation: true\n",
    ),
    case("copilot", COPILOT, "model: gpt-5\n"),
    case("copilot", COPILOT, "tools: [read]\nmodel: ['Claude Opus 4.5 (copilot)', 'gpt-5']\n"),
    case(
        "copilot",
        COPILOT,
        "tools: ['editFiles', 'runCommands', 'problems', 'vscode/openSimpleBrowser', 'fetch', 'findTestFiles']\n",
    )
    .differing(&[("tools", A_PART)]),
];

const DESCRIPTION: &str = "Reviews: all.\n\n<example>\nuser: \"hi\"\n</example>";

/// The whole file of a case.
fn text(case: &Case) -> String {
    let description = serde_json::Value::from(DESCRIPTION);
    match case.harness {
        "codex" => format!(
            "name = \"x\"\ndescription = {description}\n{}developer_instructions = \"Hi.\"\n",
            case.lines
        ),
        // The metadata of Pi is not YAML.
        "pi" => format!("---\nname: x\ndescription: Reviews all\n{}---\nHi.\n", case.lines),
        _ => {
            let name = if case.harness == "opencode" { "" } else { "name: x\n" };
            format!("---\n{name}description: {description}\n{}---\nHi.\n", case.lines)
        }
    }
}

/// The fields of a file, and its prompt as `prompt`.
fn fields(harness: &str, text: &str) -> BTreeMap<String, Data> {
    let mut findings = Findings::default();
    let (metadata, body) = match harness {
        "codex" => (text, ""),
        _ => text.strip_prefix("---\n").and_then(|it| it.split_once("\n---\n")).expect("metadata"),
    };
    let source = SourceFile::new(FileId::BUILT_IN, "", metadata);
    let node = match harness {
        "codex" => toml::parse(&source, &mut findings),
        _ => yaml::parse(&source, 0..metadata.len(), YamlVersion::V1_2, &mut findings),
    };
    let Data::Map(fields) = node.to_data() else { panic!("{text}") };
    let mut fields: BTreeMap<String, Data> = fields.into_iter().collect();
    let prompt_text = fields.remove("developer_instructions");
    let prompt_text = prompt_text.as_ref().and_then(Data::as_str).unwrap_or(body).trim().to_owned();
    fields.insert("prompt".to_owned(), Data::str(prompt_text));
    understood(harness, &mut fields);
    fields
}

/// The defaults of a harness.
const DEFAULTS: &[(&str, &str, &str)] = &[
    ("opencode", "mode", "all"),
    ("claude-code", "model", "inherit"),
    ("gemini", "kind", "local"),
    ("pi", "systemPromptMode", "replace"),
    ("pi", "inheritProjectContext", "false"),
    ("pi", "inheritSkills", "false"),
];

/// Two names of the same field, which the harness treats alike.
const SAME: &[(&str, &str, &str)] = &[("opencode", "maxSteps", "steps")];

/// Removes values without meaning, and those that are compared as rules elsewhere.
fn understood(harness: &str, fields: &mut BTreeMap<String, Data>) {
    for (_, old, new) in SAME.iter().filter(|it| it.0 == harness) {
        if let Some(value) = fields.remove(*old) {
            fields.insert((*new).to_owned(), value);
        }
    }
    for (_, key, value) in DEFAULTS.iter().filter(|it| it.0 == harness) {
        if fields.get(*key).is_some_and(|it| it.to_json().to_string().trim_matches('"') == *value) {
            fields.remove(*key);
        }
    }
    let has_tools = fields.contains_key("tools");
    let removed = fields.remove("disallowedTools").map(|it| words(&it)).unwrap_or_default();
    match harness {
        "opencode" => drop((fields.remove("tools"), fields.remove("permission"))),
        "claude-code" | "pi" | "gemini" | "copilot" if has_tools => {
            let mut names = fields.remove("tools").map(|it| words(&it)).unwrap_or_default();
            names.retain(|name| !removed.contains(name));
            let names =
                names.into_iter().map(|name| if name == "Task" { "Agent".into() } else { name });
            fields.insert("tools".to_owned(), Data::strings(names.collect::<BTreeSet<String>>()));
        }
        "pi" => drop(
            fields.insert("tools".to_owned(), Data::strings(["bash", "edit", "read", "write"])),
        ),
        "claude-code" if !removed.is_empty() => {
            drop(fields.insert("disallowedTools".to_owned(), Data::strings(removed)));
        }
        _ => {}
    }
    fields.remove("permission");
}

fn words(data: &Data) -> BTreeSet<String> {
    let texts: Vec<&str> = match data {
        Data::Str(text) => text.split(',').collect(),
        Data::List(items) => items.iter().filter_map(Data::as_str).collect(),
        _ => Vec::new(),
    };
    texts.into_iter().map(|it| it.trim().to_owned()).filter(|it| !it.is_empty()).collect()
}

/// The file of an agent after import and rendering for the same harness.
fn again(case: &Case, text: &str) -> String {
    let found = imported(case.harness, &[(case.path, text)], case.path).expect("an agent");
    let first = convert(&found.agent, Format::AgentToml, &WriteTarget::default());
    let more = completed(&found.agent, &first.agent, case.harness);
    let agent = more.map_or(found.agent, |(agent, _)| agent);
    let written = convert(&agent, Format::AgentToml, &WriteTarget::default());
    let place = |(path, text)| (format!("agents/x/{path}"), text);
    let mut files: Vec<(String, String)> = written.files.into_iter().map(place).collect();
    let skill = "---\nname: pdf\ndescription: Reads papers\n---\nRead them.\n";
    files.push((".claude/skills/pdf/SKILL.md".to_owned(), skill.to_owned()));
    let rendered = rendering(case.harness, &files, Wish::default()).agents.remove(0);
    assert_eq!(rendered.refused, None, "{text}");
    let file = rendered.files.iter().find(|file| file.path == case.path).expect("a file");
    file.text().to_owned()
}

#[test]
fn imported_fields_render_back_unchanged() {
    let mut wrong = Vec::new();
    for case in CASES {
        let text = text(case);
        let result = again(case, &text);
        let (before, after) = (fields(case.harness, &text), fields(case.harness, &result));
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let differ = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
        let differ: BTreeSet<&str> = differ.map(String::as_str).collect();
        let known: BTreeSet<&str> = case.differs.iter().map(|(key, _)| *key).collect();
        if differ != known {
            wrong.push(format!("{differ:?} and not {known:?}\n{text}\n{result}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n=====\n"));
}
