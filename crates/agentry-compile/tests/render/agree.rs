//! `policy why` and the guard agree: a question of a harness gets the verdict of the call it means.

use agentry_compile::policy::{Action, Judge, Section, SectionCall};
use agentry_compile::render::{GuardedAgent, RenderLedger, guard, judged, protect, searched};
use agentry_compile::targets::guard::FileSearch;
use agentry_compile::targets::{TARGETS, target};
use agentry_compile::{MemoryWorld, at, judge, read};
use serde_json::{Value, json};

use crate::agent;

const RULES: &str = r#"
[permissions.bash]
intent = "ask"
rules = ["git push*:deny", "git *:allow", "rm *:deny", "cat *:allow", "echo *:allow", "ls *:allow", "mv *:allow"]
[permissions.edit]
intent = "allow"
rules = ["fixed/**:deny", "notes/x*:ask"]
[permissions.read]
intent = "allow"
rules = ["private/**:deny", "drafts/**:ask"]
[permissions.webfetch]
intent = "deny"
rules = ["https://docs.rs/**:allow", "https://example.org/**:ask"]
[permissions.external_directory]
intent = "ask"
rules = ["/srv/**:allow", "/etc/**:deny"]
"#;

const FILES: &[&str] =
    &["docs/a.md", "drafts/b.md", "private/c.md", ".env", "src/main.rs", ".git/config"];

/// Commands, and ways to write them into a line.
const COMMANDS: &[&str] = &[
    "git status",
    "git push origin main",
    "rm -rf x",
    "cat docs/a.md",
    "cat private/c.md",
    "cat < drafts/b.md",
    "cat .env",
    "echo x > fixed/y",
    "echo x > .claude/settings.json",
    "echo x > 'out file'",
    "mv evil .git",
    "mv a b",
    "make all",
    "ls *.md",
    "git -C . push",
    "cat \"$HOME\"/x",
];
const WAYS: &[&str] = &[
    "{}",
    "git status && {}",
    "{}; ls",
    "{} | cat",
    "sh -c '{}'",
    "FOO=1 {}",
    "PATH=/tmp {}",
    "({})",
    "{ {}; }",
    "{} 2>/dev/null",
    "{} >> /etc/x",
    "echo $({})",
    "cat <<EOF\n$({})\nEOF",
    "cat <<'EOF'\n{}\nEOF",
    "timeout 5 {}",
    "env -u X {}",
    "for i in 1 2; do {}; done",
    "if true; then {}; fi",
    "cd src && {}",
    "x='{}'; $x",
    "eval \"{}\"",
];

/// An agent, and the judge that `policy why` uses.
struct House {
    world: MemoryWorld,
    judge: Judge,
    protected: Vec<String>,
    root: String,
}

impl House {
    fn new() -> Self {
        Self::of(RULES, FILES.iter().map(|path| (*path, "")))
    }

    /// A project with these rules and files.
    fn of<'a>(rules: &str, files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned()));
        let world = MemoryWorld::new(agent("helper", rules).into_iter().chain(files));
        let mut compiled = read(&world, &at(&world, "agents/helper").expect("an agent"));
        let protected = protect(&world, &compiled, &RenderLedger::default(), &[]);
        let judge = judge(&world, &mut compiled).expect("a policy");
        let root = "/".to_owned();
        Self { world, judge, protected, root }
    }

    /// The verdict of `policy why` for a call in a directory.
    fn why(&self, section: Section, subject: &str, directory: &str) -> Action {
        let call = SectionCall { section, subject, directory };
        judged(&self.world, &self.judge, &self.protected, call).action
    }

    /// The verdict of `policy why --search`.
    fn search(&self, subject: &str, pattern: Option<&str>) -> Action {
        let searches = FileSearch::each(subject, &self.root, pattern);
        let found = searched(&self.world, &self.judge, &self.root, &searches);
        let own = self.why(Section::Read, subject, &self.root);
        found.map_or(own, |reason| reason.action.strictest(own))
    }

    /// The guard's answer for a tool with this input.
    fn guard(&self, harness: &str, tool: &str, input: &Value, directory: &str) -> String {
        let question = match harness {
            "claude-code" => json!({"tool_name": tool, "tool_input": input, "cwd": directory}),
            "opencode" => json!({"tool": tool, "args": input, "directory": directory}),
            _ => json!({"tool": tool, "input": input, "directory": directory}),
        };
        let compiled = read(&self.world, &at(&self.world, "agents/helper").expect("an agent"));
        let guarded = GuardedAgent {
            project: None,
            compiled,
            digest: None,
            protected: self.protected.clone(),
            program: None,
            is_set: &|_| true,
        };
        let target = target(harness).expect("a target");
        let answer = guard(&self.world, target, Ok(guarded), &question.to_string());
        assert_eq!(answer.code, 0, "{harness} {tool} {input}: {}", answer.errors);
        let answer: Value = serde_json::from_str(&answer.output).expect("an answer");
        let decision = match harness {
            "claude-code" => &answer["hookSpecificOutput"]["permissionDecision"],
            _ => &answer["decision"],
        };
        decision.as_str().expect("a decision").to_owned()
    }
}

const HARNESSES: [(&str, &str); 3] =
    [("claude-code", "Bash"), ("opencode", "bash"), ("pi", "bash")];

#[test]
fn guard_and_policy_why_agree_on_command_lines() {
    let house = House::new();
    let guarded = TARGETS.iter().filter(|target| target.guard.is_some()).map(|it| it.name);
    let mut guarded: Vec<&str> = guarded.collect();
    guarded.sort_unstable();
    assert_eq!(guarded, HARNESSES.map(|(harness, _)| harness), "one that nobody tries");
    let mut answers = [0; 3];
    for command in COMMANDS {
        for way in WAYS {
            let line = way.replace("{}", command);
            let directory = if way.len() % 2 == 0 { "/src" } else { "/" };
            let expected = house.why(Section::Bash, &line, directory);
            answers[expected as usize] += 1;
            for (harness, tool) in HARNESSES {
                let answer = house.guard(harness, tool, &json!({ "command": line }), directory);
                assert_eq!(answer, expected.as_str(), "{harness}: {line}");
            }
        }
    }
    // A table in which every row is refused would prove nothing.
    assert!(answers.iter().all(|count| *count > 20), "{answers:?}");
}

#[test]
fn guard_and_policy_why_agree_on_paths() {
    const PATHS: &[&str] = &[
        "docs/a.md",
        "/docs/a.md",
        "./docs/../private/c.md",
        "docs/../src/../private/c.md",
        "private/c.md",
        "private//c.md",
        "drafts/./b.md",
        ".env",
        "src/../.env",
        "fixed/x",
        "notes/x1",
        ".claude/settings.json",
        ".git/hooks/pre-commit",
        "agents/helper/agent.toml",
        "/etc/passwd",
        "/srv/x",
        "/srv/../etc/passwd",
        "/home/user/.ssh/id_rsa",
        "~/.ssh/id_rsa",
        "~/notes",
        "",
        ".",
    ];
    let house = House::new();
    let tools = [
        ("claude-code", "file_path", ["Read", "Edit", "Write"]),
        ("opencode", "filePath", ["read", "edit", "write"]),
        ("pi", "path", ["read", "edit", "write"]),
    ];
    for (harness, key, tools) in tools {
        for path in PATHS {
            // OpenCode does not expand the home directory.
            let is_name = harness == "opencode" && path.starts_with('~');
            let meant = if is_name { format!("./{path}") } else { (*path).to_owned() };
            for (tool, section) in tools.iter().zip([Section::Read, Section::Edit, Section::Edit]) {
                let answer = house.guard(harness, tool, &json!({ key: path }), &house.root);
                let expected = house.why(section, &meant, &house.root);
                assert_eq!(answer, expected.as_str(), "{harness} {tool} {path:?}");
            }
        }
    }
}

#[test]
fn guard_and_policy_why_agree_on_searches() {
    let house = House::new();
    let patterns = [
        None,
        Some("*.md"),
        Some("**/*"),
        Some("docs/*"),
        Some("private/*"),
        Some("{docs,drafts}/*"),
        Some(".e*"),
        Some("/etc/*"),
    ];
    for pattern in patterns {
        for directory in [".", "docs", "private", "/drafts", "src"] {
            let expected = house.search(directory, pattern).as_str();
            let claude = json!({"pattern": pattern.unwrap_or("**"), "path": directory});
            let found = house.guard("claude-code", "Glob", &claude, &house.root);
            let opencode = house.guard("opencode", "glob", &claude, &house.root);
            let place = format!("{directory} {pattern:?}");
            assert_eq!((found.as_str(), opencode.as_str()), (expected, expected), "{place}");
            assert_eq!(greps(&house, directory, pattern), [expected; 3], "grep {place}");
        }
    }
}

/// The guards' answers for a file search.
fn greps(house: &House, directory: &str, pattern: Option<&str>) -> [String; 3] {
    let asked =
        [("claude-code", "Grep", "glob"), ("pi", "grep", "glob"), ("opencode", "grep", "include")];
    asked.map(|(harness, tool, key)| {
        let input = json!({"pattern": "x", "path": directory, key: pattern});
        house.guard(harness, tool, &input, &house.root)
    })
}

/// A search skips nothing that its path or glob leads into.
#[test]
fn guard_and_policy_why_agree_on_ignored_directories() {
    let read = "[permissions.read]\nintent = \"allow\"\n";
    let deny = format!("{read}rules = [\"**/secret.txt:deny\"]\n");
    let files = [("src/a.rs", ""), ("node_modules/x/.env", ""), ("node_modules/y/secret.txt", "")];
    let git = [(".git/config", ""), (".git/objects/ab/secret.txt", "")];
    let ignored = [(".gitignore", "node_modules/\n")];
    let plain: Vec<_> = files.into_iter().chain(git).collect();
    let passed: Vec<_> = plain.iter().copied().chain(ignored).collect();
    let outside: Vec<_> = files.into_iter().chain(ignored).collect();
    // Verdicts in a project without ignore files, in one with them, and in one without a repository.
    let cases = [
        (".", None, ["deny", "allow", "deny"]),
        (".", Some("node_modules/**"), ["deny"; 3]),
        (".", Some("node_modules/x/*"), ["ask"; 3]),
        (".", Some("**/node_modules/**"), ["deny"; 3]),
        (".", Some("node_mod*/x/*"), ["deny"; 3]),
        (".", Some("node_modules/x/*,src/*"), ["ask"; 3]),
        (".", Some("*.rs,.env"), ["ask"; 3]),
        (".", Some("/node_modules/x/*"), ["ask"; 3]),
        (".", Some("*.txt"), ["deny"; 3]),
        (".", Some("*.rs"), ["allow"; 3]),
        (".", Some("src/**"), ["allow"; 3]),
        ("src", None, ["allow"; 3]),
        ("src", Some("src/*"), ["allow"; 3]),
        ("node_modules", None, ["deny"; 3]),
        ("node_modules/x", None, ["ask"; 3]),
        ("node_modules/x", Some("node_modules/x/*"), ["ask"; 3]),
        ("node_modules", Some("x/*"), ["ask"; 3]),
    ];
    for (index, files) in [plain, passed, outside].iter().enumerate() {
        let house = House::of(&deny, files.iter().copied());
        let asking = House::of(read, files.iter().copied());
        for (directory, pattern, expected) in cases {
            let expected = expected[index];
            let place = format!("{index} {directory} {pattern:?}");
            assert_eq!(house.search(directory, pattern).as_str(), expected, "why {place}");
            assert_eq!(greps(&house, directory, pattern), [expected; 3], "{place}");
            let asked = asking.search(directory, pattern).as_str();
            assert_eq!(
                asked == "allow",
                expected == "allow" || pattern == Some("*.txt"),
                "{place}"
            );
            assert_eq!(greps(&asking, directory, pattern), [asked; 3], "{place}");
        }
    }
}

/// A search of more files than are checked has the verdict `ask`, in any form.
#[test]
fn guard_and_policy_why_ask_about_huge_searches() {
    let names: Vec<String> = (0..20_100).map(|number| format!("many/{number}.rs")).collect();
    let files = names.iter().map(|name| (name.as_str(), "")).chain([("src/a.rs", "")]);
    let house = House::of("[permissions.read]\nintent = \"allow\"\n", files);
    for (pattern, expected) in [(None, "ask"), (Some("many/*"), "ask"), (Some("src/*"), "allow")] {
        assert_eq!(house.search(".", pattern).as_str(), expected, "{pattern:?}");
        assert_eq!(greps(&house, ".", pattern), [expected; 3], "{pattern:?}");
    }
}

#[test]
fn guard_and_policy_why_agree_on_addresses() {
    const ADDRESSES: &[&str] = &[
        "https://docs.rs/x",
        "http://docs.rs/x",
        "https://docs.rs@evil.org/",
        "https://example.org/a/../b",
        "https://EXAMPLE.org/",
        "http://127.0.0.1/",
        "http://localhost:8080/",
        "file:///etc/passwd",
        "no address",
        "",
    ];
    let house = House::new();
    for address in ADDRESSES {
        let expected = house.why(Section::Webfetch, address, &house.root);
        for (harness, tool) in
            [("claude-code", "WebFetch"), ("opencode", "webfetch"), ("pi", "fetch_content")]
        {
            let answer = house.guard(harness, tool, &json!({ "url": address }), &house.root);
            assert_eq!(answer, expected.as_str(), "{harness} {address}");
        }
    }
}
