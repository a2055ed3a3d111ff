//! Bytes that were never meant as an agent: a finding with a position, soon, and never a panic.

use agentry_compile::model::Format;
use agentry_compile::text::report::human::ReportStyle;
use agentry_compile::{FoundAgent, MemoryWorld, WorkspaceConfig, check, digest, rows};
use proptest::prelude::*;

use crate::world::findings;

/// The main files of every format, with the other files that its reader needs.
const MAINS: &[(&str, Format)] = &[
    ("agents/a_b.agent.md", Format::AgentMd),
    ("a/agent.toml", Format::AgentToml),
    ("b.agent", Format::Manifest),
    ("c/agent.yaml", Format::Manifest),
    ("d/agent.json", Format::AgentFs),
    ("e/agent.acl", Format::AgentDir),
];

/// Reads the same bytes as every file of every format.
fn everything(bytes: &[u8]) {
    const NAMES: &[&str] = &[
        "system-prompt.md",
        "SOUL.md",
        "RULES.md",
        "persona.md",
        "principles.md",
        "instructions.md",
        "agent.acl",
        "skills/x/SKILL.md",
        "memory/x.md",
        "schedules/x.md",
        "schedules/x.json",
        "tools/x.md",
    ];
    for (main, format) in MAINS {
        let dir = main.rsplit_once('/').map_or("", |(dir, _)| dir);
        let mut files = vec![((*main).to_owned(), bytes.to_vec())];
        files.extend(NAMES.iter().map(|name| (format!("{dir}/{name}"), bytes.to_vec())));
        let world = MemoryWorld::new(files);
        let main = if *format == Format::AgentDir {
            "instructions.md"
        } else {
            main.rsplit('/').next().unwrap_or(main)
        };
        let found = FoundAgent {
            path: dir.to_owned(),
            dir: dir.to_owned(),
            main: main.to_owned(),
            format: *format,
        };
        let compiled = check(&world, &found, &WorkspaceConfig::default());
        let _ = (digest(&world, &compiled), rows(&compiled.agent, &compiled));
        for diagnostic in &compiled.diagnostics {
            let _ = agentry_compile::text::report::human::render(
                diagnostic,
                &compiled.sources,
                ReportStyle::default(),
            );
        }
    }
}

#[test]
fn hostile_bytes_never_panic() {
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(10_000), close.repeat(10_000));
    let bomb = (0..30).fold("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, at| {
        format!("{text}a{}: &a{} [{}]\n", at + 1, at + 1, vec![format!("*a{at}"); 10].join(", "))
    });
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("a NUL byte", b"name: a\0b\n".to_vec()),
        ("not UTF-8", b"\xff\xfe\x00name".to_vec()),
        ("half a character", b"name: \xe2\x82".to_vec()),
        ("only a mark", b"\xef\xbb\xbf".to_vec()),
        ("a mark and text", b"\xef\xbb\xbfname: a\n".to_vec()),
        ("CR only", b"---\rname: a\r---\r# A\r\rb\r".to_vec()),
        ("deep lists", format!("name: {}", deep("[", "]")).into_bytes()),
        ("deep maps", format!("name: {}", deep("{a: ", "}")).into_bytes()),
        ("deep JSON", format!("{{\"name\": {}}}", deep("[", "]")).into_bytes()),
        ("deep TOML", format!("name = {}", deep("[", "]")).into_bytes()),
        ("deep dotted keys", format!("{}x = 1", "a.".repeat(10_000)).into_bytes()),
        ("deep blocks", deep("a {\n", "}\n").into_bytes()),
        (
            "deep JavaScript",
            format!("# A\n\nb\n\n## Tools\n```js\nreturn {};\n```\n", deep("(", ")")).into_bytes(),
        ),
        (
            "deep arrows",
            format!("# A\n\nb\n\n## Tools\n```js\nreturn {}1;\n```\n", "a=>".repeat(10_000))
                .into_bytes(),
        ),
        ("deep quotes", ">".repeat(10_000).into_bytes()),
        ("deep Markdown lists", "- ".repeat(10_000).into_bytes()),
        ("a bomb", bomb.into_bytes()),
        ("many brackets", vec![b'['; 200_000]),
        ("many dashes", vec![b'-'; 200_000]),
        ("many lines", b"a\n".repeat(50_000)),
        ("many keys", (0..21_000).flat_map(|at| format!("k{at}: 1\n").into_bytes()).collect()),
        (
            "an unclosed fence",
            b"---\ntitle: x\n---\n# X\n\ny\n\n## Tools\n```js\nreturn {".to_vec(),
        ),
        ("bidi", "name: a\u{202e}b\ndescription: c\n".into()),
        ("a name with a line break", b"name: \"a\\nb\"\ndescription: \"x\"\n".to_vec()),
    ];
    for (what, bytes) in cases {
        println!("{what}");
        everything(&bytes);
    }
}

#[test]
fn a_broken_file_does_not_hide_the_others() {
    let world = MemoryWorld::new(vec![
        ("a.agent".to_owned(), b"\xff\xff".to_vec()),
        ("b.agent".to_owned(), vec![b'x'; 2 * 1024 * 1024]),
        ("c.agent".to_owned(), b"name: c\ndescription: d\nsoul: You help.\nteam: x\n".to_vec()),
    ]);
    let found = findings(&world);
    for (path, code) in [("a.agent", "AG0003"), ("b.agent", "AG0002"), ("c.agent", "AG0101")] {
        assert!(
            found.iter().any(|f| f.line.starts_with(path) && f.code == code),
            "{path} {code}: {found:#?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        everything(&bytes);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "(---\n)?([a-z]{1,8}: ?[^\n]{0,30}\n){0,6}(---\n)?(#{1,3} [A-Z][a-z]{2,6}\n\n[^\n]{0,40}\n|```js\n[^`]{0,60}\n```\n|\\PC{0,60}\n){0,6}") {
        everything(text.as_bytes());
    }

    #[test]
    fn a_cut_agent_is_read_without_a_panic(at in 0_usize..4000) {
        let whole = include_str!("../../../agentry-formats/src/agent_md/new/agent.agent.md");
        let end = (0..=at.min(whole.len())).rev().find(|end| whole.is_char_boundary(*end)).unwrap_or(0);
        everything(&whole.as_bytes()[..end]);
    }
}

/// A secret that was found in a file is never shown in any finding.
#[test]
fn secrets_in_findings_are_masked() {
    use agentry_compile::text::report::{github, human, json};
    let key = format!("sk-ant-api03-{}", "Ab3dEf6hIj".repeat(9));
    let cases = [
        ("a.agent", format!("name: a\ndescription: b\nsoul: Use {key} to log in.\nunknown: x\n")),
        (
            "b.agent",
            format!(
                "name: a\ndescription: b\ntools: {{mcp: [{{name: x, url: 'https://u:{key}@example.org/'}}]}}\n"
            ),
        ),
        ("c/agent.acl", format!("providers \"a\" {{ api_key = \"{key}\" unknown = 1 }}\n")),
        (
            "d/agent.json",
            format!(
                "{{\"name\": \"D\", \"mcp_servers\": {{\"x\": {{\"command\": \"y\", \"env\": {{\"API_KEY\": \"{key}\"}}}}}}}}"
            ),
        ),
        (
            "e.agent",
            format!("name: a\ndescription: b\nauth: {{providers: {{x: {{from: {key}}}}}}}\n"),
        ),
    ];
    for (path, text) in cases {
        let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
        let world = MemoryWorld::new(vec![
            (path.to_owned(), text.clone().into_bytes()),
            (format!("{dir}/instructions.md"), b"You help.\n".to_vec()),
            (format!("{dir}/persona.md"), b"You help.\n".to_vec()),
        ]);
        let found = crate::world::agents(&world, None).remove(0);
        let compiled = check(&world, &found, &WorkspaceConfig::default());
        assert!(
            compiled.diagnostics.iter().any(|found| found.secret),
            "{path}: {:#?}",
            compiled.diagnostics
        );
        for diagnostic in &compiled.diagnostics {
            let sources = &compiled.sources;
            let shown = [
                human::render(diagnostic, sources, ReportStyle::default()),
                json::diagnostic(diagnostic, sources).to_string(),
                github::line(diagnostic, sources),
            ];
            for text in shown {
                assert!(!text.contains("Ab3dEf6hIj"), "{path}: {text}");
            }
        }
    }
}

/// Hidden text is also reported if it is written as an escape.
#[test]
fn hidden_characters_in_escapes_are_reported() {
    let cases = [
        ("a.agent", "name: a\ndescription: \"b\\u202ec\"\nsoul: You help.\n", "AG0011"),
        ("a.agent", "name: a\ndescription: \"b\\U000E0041c\"\nsoul: You help.\n", "AG0012"),
        ("a.agent", "name: a\ndescription: b\nsoul: \"You\\u200b help.\"\n", "AG0013"),
        ("a.agent", "name: a\ndescription: b\nsoul: \"You\\0 help.\"\n", "AG0014"),
        ("a.agent", "name: a\ndescription: b\nsoul: \"You\\e[31m help.\"\n", "AG0015"),
        (
            "a/agent.json",
            "{\"name\": \"A\", \"version\": \"1.0.0\", \"role\": \"b\\u202ec\"}",
            "AG0011",
        ),
        ("a/agent.toml", "name = \"a\"\ndescription = \"b\\u202ec\"\n", "AG0011"),
    ];
    for (path, text, code) in cases {
        let found = findings(&MemoryWorld::new(vec![(path.to_owned(), text.as_bytes().to_vec())]));
        let times = found.iter().filter(|finding| finding.code == code).count();
        assert_eq!(times, 1, "{text}: {found:#?}");
    }
}

/// A file that breaks one rule a thousand times gets a hundred findings.
#[test]
fn findings_of_one_rule_are_limited() {
    let text = (0..5_000).fold("name: a\ndescription: b\nsoul: c\n".to_owned(), |text, at| {
        format!("{text}q{at}: 1\n")
    });
    let found = findings(&MemoryWorld::new(vec![("a.agent".to_owned(), text.into_bytes())]));
    assert_eq!(found.len(), 100);
    assert!(found[99].message.ends_with("and 4900 more like this"), "{}", found[99].message);
}

/// `hash --full` is equal for agents with the same meaning, and only for those.
#[test]
fn equal_meaning_has_an_equal_digest() {
    let digest_of = |files: &[(&str, &str)]| {
        let world = crate::world::world(files);
        let found = crate::world::agents(&world, None).remove(0);
        digest(&world, &agentry_compile::read(&world, &found))
    };
    let manifest =
        |more: &str| digest_of(&[("a.agent", &format!("name: a\ndescription: b\n{more}"))]);
    let toml = |more: &str, prompt: &str| {
        let text = format!("name = \"a\"\ndescription = \"b\"\n{more}");
        digest_of(&[("a/agent.toml", &text), ("a/system-prompt.md", prompt), ("c.md", "one")])
    };
    let plain = manifest("");
    for same in [
        "tags: []\n",
        "# comment\n",
        "version: 0.1.0\n",
        "skills: []\n",
        "merge: {skills: append}\n",
        "trust: {exec: none}\n",
    ] {
        assert_eq!(manifest(same), plain, "{same}");
    }
    for other in ["version: 0.2.0\n", "trust: {exec: full}\n", "x-y: 1\n", "tags: [x]\n"] {
        assert_ne!(manifest(other), plain, "{other}");
    }
    assert_eq!(toml("", "You\r\nhelp.\r\n"), toml("", "You\nhelp.\n"));
    assert_eq!(toml("[permissions.bash]\nintent = \"ask\"\n", "x"), toml("", "x"));
    let context = |text: &str| {
        let toml = "name = \"a\"\ndescription = \"b\"\ncontext = [\"../c.md\"]\n";
        digest_of(&[("a/agent.toml", toml), ("a/system-prompt.md", "x"), ("c.md", text)])
    };
    assert_ne!(context("one"), context("two"));
}
