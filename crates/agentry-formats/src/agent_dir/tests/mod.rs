//! Tests of the whole reader and writer, with files in memory.

use agentry_model::{Agent, tree};
use agentry_text::{Findings, LintRule, RuleExample, SourceFiles};
use proptest::strategy::Strategy as _;

use super::{INFO, rules};
use crate::{AgentPackage, MemoryFiles, OutputShape, WriteTarget, mcp};

mod write;

/// The result of the reader: the agent, and its findings as `path:line:column code message`.
struct Seen {
    agent: Agent,
    findings: Vec<String>,
}

fn read_files(dir_name: &str, files: Vec<(String, String)>) -> Seen {
    let mut memory = MemoryFiles::new(files);
    let mut findings = Findings::default();
    let mut package = AgentPackage {
        main: "instructions.md".to_owned(),
        dir_name: dir_name.to_owned(),
        dir: String::new(),
        files: &mut memory,
    };
    let agent = crate::read(INFO.format, &mut package, &mut findings);
    Seen { agent, findings: shown(findings, &memory.sources) }
}

fn shown(findings: Findings, sources: &SourceFiles) -> Vec<String> {
    let line = |found: agentry_text::Diagnostic| {
        let at = sources.start(found.span);
        let path = sources.path(found.span);
        format!("{path}:{}:{} {} {}", at.line, at.column, found.rule.code, found.message)
    };
    findings.into_sorted().into_iter().map(line).collect()
}

/// Reads an agent with a role and these files.
fn read(files: &[(&str, &str)]) -> Seen {
    let mut all = vec![("instructions.md".to_owned(), "You help.\n".to_owned())];
    all.extend(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    read_files("helper", all)
}

fn target() -> WriteTarget {
    WriteTarget {
        name: "helper".to_owned(),
        shape: OutputShape::Directory,
        ..WriteTarget::default()
    }
}

/// Returns the files of an example, relative to their directory, and the name of that directory.
fn example(example: &RuleExample) -> (String, Vec<(String, String)>) {
    let files = example.files();
    let name = files.first().and_then(|(path, _)| path.split('/').next()).unwrap_or("").to_owned();
    let inside = |(path, bytes): (String, Vec<u8>)| {
        let path = path.strip_prefix(&format!("{name}/")).expect("one directory").to_owned();
        (path, String::from_utf8(bytes).expect("text"))
    };
    (name.clone(), files.into_iter().map(inside).collect())
}

fn codes(seen: &Seen) -> Vec<&str> {
    seen.findings.iter().filter_map(|line| line.split(' ').nth(1)).collect()
}

#[test]
fn every_rule_matches_its_examples() {
    let all: Vec<&LintRule> = rules::RULES.iter().chain(mcp::RULES).copied().collect();
    for rule in all {
        let (name, files) = example(&rule.bad);
        assert_eq!(codes(&read_files(&name, files)), [rule.code], "bad of {}", rule.code);
        let (name, files) = example(&rule.good);
        assert_eq!(read_files(&name, files).findings, [""; 0], "good of {}", rule.code);
    }
    let codes: Vec<_> = rules::RULES.iter().map(|rule| rule.code).collect();
    assert!(codes.is_sorted(), "{codes:?}");
}

#[test]
fn the_instructions_file_becomes_the_system_prompt() {
    let cases = [
        ("You help.\n", "You help.", Some("You help.")),
        ("\r\n  You\r\nhelp.  \r\n", "You\r\nhelp.", Some("You help.")),
        ("# Helper\n\nYou\nhelp.\n\nMore.\n", "# Helper\n\nYou\nhelp.\n\nMore.", Some("You help.")),
        ("# Helper\n", "# Helper", None),
    ];
    for (text, system, description) in cases {
        let seen = read_files("helper", vec![("instructions.md".to_owned(), text.to_owned())]);
        let agent = &seen.agent;
        assert_eq!(seen.findings, [""; 0], "{text:?}");
        assert_eq!(agent.name(), "helper");
        let value = |field: &Option<agentry_text::Spanned<String>>| field.clone().map(|f| f.value);
        assert_eq!(value(&agent.instructions.system).as_deref(), Some(system), "{text:?}");
        assert_eq!(value(&agent.identity.description).as_deref(), description, "{text:?}");
    }
}

#[test]
fn front_matter_in_instructions_is_kept_and_reported() {
    let text = "---\nname: x\n---\nYou help.\n";
    let seen = read_files("helper", vec![("instructions.md".to_owned(), text.to_owned())]);
    assert_eq!(codes(&seen), ["AG5003"]);
    assert_eq!(seen.agent.instructions.system.map(|s| s.value).as_deref(), Some(text.trim()));
    assert_eq!(seen.agent.identity.description.map(|s| s.value).as_deref(), Some("You help."));
}

#[test]
fn agent_acl_findings_have_positions() {
    let cases: &[(&str, &[&str])] = &[
        ("defaultModel = \"a/b\"\nmaxToolRounds = 5\n", &[]),
        ("queue { query_max_concurrency = 8 }\nsearch { timeout = 5 }\n", &[]),
        ("max_tool_rounds = 0\n", &["1:19 AG0106 `max_tool_rounds` is out of range"]),
        ("max_tool_round = 5\n", &["1:1 AG0101 `agent.acl` has no field `max_tool_round`"]),
        ("storage_backend = disk\n", &["1:19 AG0104 `storage_backend` cannot be `disk`"]),
        ("task_scheduler { max_active = 0 }\n", &["1:31 AG0106 `max_active` is out of range"]),
        (
            "queue { lane_handlers { fast { mode = internal } } }\n",
            &["1:25 AG0101 `lane_handlers` has no field `fast`"],
        ),
        (
            "providers { api_key = env(\"K\") }\n",
            &["1:1 AG5010 the block `providers` has no label"],
        ),
        (
            "providers \"a\" {\n  models { name = \"x\" }\n}\n",
            &["2:3 AG5010 the block `models` has no label"],
        ),
        ("providers \"a\" {}\nproviders \"a\" {}\n", &["2:11 AG0053 the key `a` is here twice"]),
        ("os = env(\"A\", \"b\")\n", &["1:6 AG5011 `env` takes the name of one variable"]),
        ("os = upper(\"a\")\n", &["1:6 AG5011 there is no function `upper`"]),
        (
            "auto_parallel = env(\"A\")\n",
            &["1:17 AG0103 `auto_parallel` is a string, expected `true` or `false`"],
        ),
        (
            "providers \"a\" {\n  apiKey = \"0123456789\"\n}\n",
            &["2:12 AG5012 an API key is written out"],
        ),
        (
            "providers \"a\" {\n  api_key = env(\"K\")\n  base_url = \"https://x\"\n}\n",
            &["2:3 AG5013 `api_key`, `base_url` of `a` are ignored when run"],
        ),
        (
            "providers \"a\" {\n  headers = { Authorization = \"Bearer 0123456789\" }\n}\n",
            &[
                "2:3 AG5013 `headers` of `a` is ignored when run",
                "2:31 AG0155 `Authorization` looks like a secret written out",
            ],
        ),
        (
            "default_model = \"a/y\"\nproviders \"a\" {\n  models \"x\" {}\n}\n",
            &["1:17 AG5014 the provider `a` declares no model `y`"],
        ),
        ("mcp_servers \"x\" {\n  command = \"x\"\n}\n", &[]),
        (
            "mcp_servers \"x\" {}\n",
            &["1:13 AG0151 the MCP server `x` has neither `command` nor `url`"],
        ),
        (
            "x_agentry {\n  permissions {\n    shell {}\n  }\n}\n",
            &["3:5 AG0101 `permissions` has no field `shell`"],
        ),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|line| format!("agent.acl:{line}")).collect();
        assert_eq!(read(&[("agent.acl", text)]).findings, expected, "{text}");
    }
}

#[test]
fn a_literal_api_key_is_dropped_and_reported() {
    let text = "providers \"a\" {\n  api_key = \"topsecret99\"\n  models \"m\" { api_key = \"topsecret99\" }\n}\n";
    let seen = read(&[("agent.acl", text)]);
    let tree = format!("{:?}{:?}", seen.agent, seen.findings);
    assert_eq!(codes(&seen), ["AG5012", "AG5012"]);
    assert!(!tree.contains("topsecret"), "{tree}");
}

#[test]
fn schedule_findings_have_positions() {
    let cases: &[(&str, &[&str])] = &[
        ("---\ncron: '@daily'\n---\nGo.\n", &[]),
        (
            "---\ncron: 0 9 * * mon-fri\ntimezone: Europe/Berlin\noverlap: queue\nmisfire: all\njitter: 30s\nenabled: false\n---\nGo.\n",
            &[],
        ),
        ("---\nname: x\n---\nGo.\n", &["2:1 AG0102 the schedule has no `cron`"]),
        ("---\ncron: 5\n---\nGo.\n", &["2:7 AG0103 `cron` is a whole number, expected a string"]),
        ("---\ncron: 0 9 * * 8\n---\nGo.\n", &["2:15 AG5031 `8` is no day of week"]),
        (
            "---\ncron: '0 9 L * *'\n---\nGo.\n",
            &["2:12 AG5031 `L` uses `L`, `W` or `#`, which are not supported"],
        ),
        (
            "---\ncron: 0 9 * * 1-5\n---\nGo.\n",
            &["2:15 AG5032 the days `1-5` are Monday to Friday"],
        ),
        (
            "---\ncron: 0 0 30 2 *\n---\nGo.\n",
            &["2:7 AG5034 `0 0 30 2 *` never runs: there is no such date"],
        ),
        (
            "---\ncron: '@daily'\ntimezone: utc\n---\nGo.\n",
            &["3:11 AG5035 there is no time zone `utc`"],
        ),
        (
            "---\ncron: '@daily'\ntimezone: +02:00\n---\nGo.\n",
            &["3:11 AG5035 there is no time zone `+02:00`"],
        ),
        ("---\ncron: '@daily'\njitter: 2d\n---\nGo.\n", &["3:9 AG5036 `2d` is not a delay"]),
        (
            "---\ncron: '@daily'\njitter: 25h\n---\nGo.\n",
            &["3:9 AG5036 `25h` is longer than a day"],
        ),
        (
            "---\ncron: '@daily'\nenabled: 'no'\n---\nGo.\n",
            &["3:10 AG0103 `enabled` is a string, expected `true` or `false`"],
        ),
        (
            "---\ncron: '@daily'\noverlap: wait\n---\nGo.\n",
            &["3:10 AG0104 `overlap` cannot be `wait`"],
        ),
        (
            "---\ncron: '@daily'\ntimezon: UTC\n---\nGo.\n",
            &["3:1 AG0101 the schedule has no field `timezon`"],
        ),
        ("---\ncron: '@daily'\n---\n", &["1:1 AG5038 the schedule says nothing to the agent"]),
        ("Go.\n", &["1:1 AG5030 the file has no metadata block"]),
        ("---\ncron: '@daily'\n", &["1:1 AG0081 the metadata block is never closed"]),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> =
            expected.iter().map(|line| format!("schedules/a.md:{line}")).collect();
        assert_eq!(read(&[("schedules/a.md", text)]).findings, expected, "{text}");
    }
}

#[test]
fn a_disabled_schedule_may_share_its_name() {
    let seen = read(&[
        ("schedules/a.md", "---\ncron: '@daily'\nname: x\n---\nGo.\n"),
        ("schedules/b.md", "---\ncron: '@daily'\nname: x\nenabled: false\n---\nGo.\n"),
    ]);
    assert_eq!(seen.findings, [""; 0]);
}

#[test]
fn tool_findings_have_positions() {
    let cases: &[(&str, &[&str])] = &[
        ("kind: mcp\ncommand: x", &[]),
        ("kind: mcp\nname: web\nurl: https://x.example\nheaders: {A: '${env:B}'}", &[]),
        ("kind: script\npath: run.js", &[]),
        (
            "kind: script\npath: ./run.js\nallowed_tools: [read]\nlimits: {timeoutMs: 5, max_tool_calls: 2}",
            &[],
        ),
        ("name: x", &["2:1 AG5040 the tool has no `kind`"]),
        ("kind: MCP\ncommand: x", &["2:7 AG5040 there is no kind of tool `MCP`"]),
        ("kind: 5", &["2:7 AG5040 `kind` is a whole number, expected a string"]),
        ("- kind", &["2:1 AG0110 the script tool holds a list, not fields"]),
        (
            "kind: mcp\ncommand: x\nenabled: 'no'",
            &["4:10 AG0103 `enabled` is a string, expected `true` or `false`"],
        ),
        ("kind: mcp\ncommand: x\nshell: /", &["4:1 AG0101 the MCP server has no field `shell`"]),
        ("kind: script", &["2:1 AG0102 the script tool has no `path`"]),
        ("kind: script\npath: run.py", &["3:7 AG5050 `run.py` is no JavaScript file"]),
        ("kind: script\npath: /run.js", &["3:7 AG5050 `/run.js` is not relative"]),
        ("kind: script\npath: C:\\run.js", &["3:7 AG5050 `C:/run.js` is not relative"]),
        (
            "kind: script\npath: a/../../run.js",
            &["3:7 AG5050 `a/../../run.js` leaves its directory"],
        ),
        ("kind: script\npath: ''", &["3:7 AG5050 the path of the script is empty"]),
        ("kind: script\npath: other.js", &["3:7 AG5051 there is no script `other.js`"]),
        (
            "kind: script\npath: run.js\nallowed_tools: read",
            &["4:16 AG0103 `allowed_tools` is a string, expected a list"],
        ),
        (
            "kind: script\npath: run.js\nlimits: {timeoutMs: 0}",
            &["4:21 AG0106 `timeoutMs` is out of range"],
        ),
        (
            "kind: script\npath: run.js\nlimits: {maxToolCalls: 1001}",
            &["4:24 AG0106 `maxToolCalls` is out of range"],
        ),
        (
            "kind: script\npath: run.js\nlimits: {timeout: 5}",
            &["4:10 AG0101 `limits` has no field `timeout`"],
        ),
        (
            "kind: script\npath: run.js\ntimeout: 5",
            &["4:1 AG0101 the script tool has no field `timeout`"],
        ),
        ("kind: script\npath: run.js\nname: Read", &["4:7 AG5042 `Read` is a built-in tool"]),
        ("kind: script\npath: run.js\nname: a b", &["4:7 AG5043 no model can call a tool `a b`"]),
        (
            "kind: script\npath: run.js\ninputs: {type: string}",
            &["4:9 AG5056 `inputs` describes something other than an object"],
        ),
    ];
    for (fields, expected) in cases {
        let text = format!("---\n{fields}\n---\nDoes it.\n");
        let seen = read(&[("tools/a.md", &text), ("run.js", "function run(ctx, inputs) {}\n")]);
        let expected: Vec<_> = expected.iter().map(|line| format!("tools/a.md:{line}")).collect();
        assert_eq!(seen.findings, expected, "{fields}");
    }
}

#[test]
fn scripts_need_a_run_function() {
    let cases: &[(&str, &[&str])] = &[
        ("async function run(ctx, inputs) { return 1; }\n", &[]),
        ("export default async function run(ctx, inputs) {}\n", &[]),
        ("export default async (ctx, inputs) => 1;\n", &[]),
        ("export async function run() {}\n", &[]),
        ("const run = async () => 1;\n", &[]),
        ("const run = 1;\n", &["1:1 AG5053 the script has no function `run`"]),
        ("", &["1:1 AG5053 the script has no function `run`"]),
        ("import x from 'y';\nfunction run() {}\n", &["1:15 AG5054 a script cannot import `y`"]),
        (
            "function run() { return 1 +; }\n",
            &["1:28 AG5052 the script is not JavaScript: unexpected token"],
        ),
    ];
    for (source, expected) in cases {
        let tool = "---\nkind: script\npath: run.js\n---\nDoes it.\n";
        let seen = read(&[("tools/a.md", tool), ("run.js", source)]);
        let expected: Vec<_> = expected.iter().map(|line| format!("run.js:{line}")).collect();
        assert_eq!(seen.findings, expected, "{source}");
        assert_eq!(seen.agent.tools.scripts[0].source.as_ref().unwrap().value, *source);
    }
}

#[test]
fn readme_and_other_files_are_skipped() {
    let seen = read(&[
        ("tools/README.md", "About the tools.\n"),
        ("tools/x.txt", "x"),
        ("schedules/readme.md", "About the schedules.\n"),
        ("skills/README.md", "About the skills.\n"),
        ("skills/a/SKILL.md", "---\nname: a\ndescription: Does a\n---\nText.\n"),
        ("skills/a/notes.md", "Belongs to the skill.\n"),
    ]);
    assert_eq!(seen.findings, [""; 0]);
    assert_eq!(seen.agent.skill_packs.len(), 1);
}

#[test]
fn directories_named_like_files_are_reported() {
    let seen = read(&[("tools/x.md/y", ""), ("schedules/x.md/y", ""), ("agent.acl/y", "")]);
    assert_eq!(codes(&seen), ["AG5005"; 3]);
}

#[test]
fn a_server_declared_twice_is_reported() {
    let seen = read(&[
        ("agent.acl", "mcp_servers \"x\" {\n  command = \"a\"\n}\n"),
        ("tools/x.md", "---\nkind: mcp\ncommand: b\n---\n"),
    ]);
    assert_eq!(codes(&seen), ["AG5041"]);
}

#[test]
fn unknown_fields_and_extensions_are_kept() {
    let seen = read(&[
        ("agent.acl", "colour = \"red\"\nx_team = \"docs\"\n"),
        ("schedules/a.md", "---\ncron: '@daily'\nx-team: docs\n---\nGo.\n"),
    ]);
    let names = |list: &[(String, agentry_text::Spanned<agentry_text::Data>)]| -> Vec<String> {
        list.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(codes(&seen), ["AG0101"]);
    assert_eq!(names(&seen.agent.unknown), ["colour"]);
    assert_eq!(names(&seen.agent.extensions), ["x_team", "schedules.a.x-team"]);
}

#[test]
fn defaults_are_those_of_the_format() {
    let mut agent = read(&[
        ("schedules/a.md", "---\ncron: '@daily'\n---\nGo.\n"),
        ("tools/a.md", "---\nkind: mcp\ncommand: x\n---\n"),
        ("tools/b.md", "---\nkind: script\npath: run.js\n---\nDoes it.\n"),
        ("run.js", "function run() {}\n"),
    ])
    .agent;
    (INFO.defaults)(&mut agent);
    let data = tree::tree(&agent).to_data();
    let part = |name: &str| agentry_text::yaml::emit(data.get(name).expect(name));
    insta::assert_snapshot!("defaults", part("schedules") + &part("tools"));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in proptest::prelude::any::<String>(), soup in soup()) {
        for text in [text, soup] {
            let files = ["agent.acl", "schedules/a.md", "tools/a.md", "skills/a.md", "run.js"];
            let wrapped = format!("---\nkind: script\npath: run.js\ncron: {text}\n---\n{text}");
            let mut all: Vec<_> = files.iter().map(|path| (*path, text.as_str())).collect();
            all.extend([("schedules/b.md", wrapped.as_str()), ("tools/b.md", wrapped.as_str())]);
            let seen = read(&all);
            let _ = write::again(&seen.agent);
            let _ = read_files("helper", vec![("instructions.md".to_owned(), text)]);
        }
    }
}

/// Pieces of the file formats in the directory, combined in any order.
fn soup() -> impl proptest::strategy::Strategy<Value = String> {
    let pieces = [
        "---\n",
        "kind: mcp\n",
        "kind: script\n",
        "path: ",
        "run.js",
        "cron: ",
        "* ",
        "1-5 ",
        "@",
        "providers ",
        "\"a\" ",
        "{",
        "}",
        "models ",
        "api_key = ",
        "env(",
        ")",
        "x_agentry ",
        "permissions ",
        "bash ",
        "rules = ",
        "[",
        "]",
        "\"a:deny\"",
        "mcp_servers ",
        "limits: ",
        "function run",
        "() {",
        "!",
        "=>",
        "`${",
        "if",
        "\n",
        " ",
        ": ",
        "command: x\n",
        "'",
        ",",
    ];
    proptest::collection::vec(proptest::sample::select(pieces.to_vec()), 0..60)
        .prop_map(|pieces| pieces.concat())
}
