//! The guard's answers for any harness: a stand-in asks `SECTION SUBJECT`.

use agentry_compile::render::{GuardedAgent, RenderLedger, guard, protect};
use agentry_compile::targets::guard::{FileSearch, GuardAnswer, GuardProtocol, GuardQuestion};
use agentry_compile::targets::{ProjectRendering, Target};
use agentry_compile::{MemoryWorld, at, read, subject};

use crate::{GUARD, agent, one};

static STAND_IN: Target = Target {
    places: &[],
    name: "stand-in",
    title: "Stand-in",
    built_in: &[],
    authoring: None,
    fields: &[],
    shared: &[],
    one_primary: false,
    render: |_, _| ProjectRendering::default(),
    model: |_, _| None,
    personal: None,
    blind: &[],
    guard: Some(GuardProtocol {
        question: |text| {
            let (text, searched) = text.split_once("search ").unwrap_or((text, ""));
            let mut words = searched.split_whitespace().map(str::to_owned);
            let search =
                words.next().map(|directory| FileSearch { directory, pattern: words.next() });
            let calls = text.lines().map(|line| {
                let (section, subject) = line.split_once(' ').ok_or("it is not a question")?;
                let section = section.parse().map_err(|()| "there is no such section")?;
                Ok((section, subject.to_owned()))
            });
            let calls = calls.collect::<Result<_, &str>>()?;
            let searches = search.into_iter().collect();
            Ok(GuardQuestion { directory: "/".to_owned(), calls, searches })
        },
        answer: |verdict| guard_answer(verdict.action.as_str(), 0),
        confined: Some(|text, verdict, wrap| {
            let command = text.strip_prefix("bash ").ok_or("no command")?;
            Ok(guard_answer(&format!("{}: {}", verdict.action.as_str(), wrap(command)), 0))
        }),
        failure: |why| guard_answer(why, 2),
    }),
    import: None,
};

fn guard_answer(output: &str, code: u8) -> GuardAnswer {
    GuardAnswer { output: output.to_owned(), errors: String::new(), code }
}

const RULES: &str = r#"
[permissions.bash]
intent = "ask"
rules = ["git push*:deny", "git *:allow", "echo *:allow", "rm *:allow", "cp *:allow", "tar *:allow", "rsync *:allow", "ln *:allow"]
[permissions.edit]
intent = "allow"
"#;

fn answer(question: &str, digest: Option<&str>, more: &[(String, String)]) -> String {
    let files = agent("helper", RULES).into_iter().chain(more.iter().cloned());
    let world = MemoryWorld::new(files);
    let found = at(&world, "agents/helper").expect("an agent");
    let compiled = read(&world, &found);
    let protected =
        protect(&world, &compiled, &RenderLedger::default(), &["/bin/agentry".to_owned()]);
    let program = Some("/bin/agentry".to_owned());
    let guarded = GuardedAgent {
        compiled,
        project: None,
        digest,
        protected,
        program,
        is_set: &|name| name == "SET",
    };
    guard(&world, &STAND_IN, Ok(guarded), question).output
}

#[test]
fn the_guard_answers_by_the_policy() {
    let cases = [
        ("bash git status", "allow"),
        ("bash git push", "deny"),
        ("bash git status && git push", "deny"),
        ("bash sh -c 'git push'", "deny"),
        ("bash cargo build", "ask"),
        ("bash git log > notes", "allow"),
        ("edit notes", "allow"),
        ("edit notes\nbash git push", "deny"),
        ("", "allow"),
        ("nothing x", "there is no such section"),
        ("x", "it is not a question"),
    ];
    for (question, expected) in cases {
        assert_eq!(answer(question, None, &[]), expected, "{question}");
    }
}

#[test]
fn edits_of_protected_files_are_denied() {
    let protected = [
        "agents/helper/agent.toml",
        "agents/helper/system-prompt.md",
        "agents/helper/skills/new/SKILL.md",
        "agentry.toml",
        "agentry.lock",
        ".agentry/rendered.json",
        ".claude/settings.local.json",
        ".opencode/plugins/x.js",
        "opencode.json",
        ".pi/agents/x.md",
        "/home/user/.agentry/x",
        "/home/user/.claude/settings.json",
        "/bin/agentry",
        "sub/.claude/settings.json",
        "sub/agentry.toml",
        "sub/.github/agents/x.md",
        "/other/project/opencode.jsonc",
        "/other/project/.agents/x",
        "/home/user/.claude.json",
        "/home/other/.cursor/mcp.json",
    ];
    for path in protected {
        assert_eq!(answer(&format!("edit {path}"), None, &[]), "deny", "{path}");
        assert_eq!(answer(&format!("bash echo x > {path}"), None, &[]), "deny", "{path}");
        assert_eq!(answer(&format!("bash rm {path}"), None, &[]), "deny", "{path}");
        assert_ne!(answer(&format!("read {path}"), None, &[]), "deny", "{path}");
    }
}

#[test]
fn commands_that_write_protected_files_are_denied() {
    let cases = [
        ("git checkout HEAD~1 -- .claude/settings.json", "deny"),
        ("git rm -r .claude", "deny"),
        ("git mv .claude x", "deny"),
        ("git apply e.patch", "allow"),
        ("git clean -fdx", "allow"),
        ("cp -r evil/. .", "allow"),
        ("cp -r evil/.claude .", "deny"),
        ("cp s -t.claude", "deny"),
        ("rsync -a evil/ .", "allow"),
        ("tar xf e.tar", "allow"),
        ("tar xf e.tar -C .claude", "deny"),
        ("rm -rf .c*", "deny"),
        ("rm -rf agents/*", "deny"),
        ("rm agents/*/agent.toml", "deny"),
        ("ln -s . x && echo y > x/.claude/settings.json", "deny"),
        ("ln -s . x && echo y > x/agents/helper/agent.toml", "deny"),
        ("ln -s . x && echo y > x/notes", "ask"),
        ("git diff .claude", "allow"),
        ("git log -- agents/helper/agent.toml", "allow"),
        ("cp a/b c", "allow"),
        ("rm -rf target", "allow"),
    ];
    for (line, expected) in cases {
        assert_eq!(answer(&format!("bash {line}"), None, &[]), expected, "{line}");
    }
}

#[test]
fn a_search_gets_the_verdict_of_the_files_it_reads() {
    let read = "[permissions.read]\nintent = \"allow\"\nrules = [\"secret/**:deny\", \"doc/*.key:deny\"]\n";
    let rules = agent("helper", &format!("{RULES}{read}"));
    let names = ["app/.env", "app/a.rs", "doc/x.key", "doc/a.md", "secret/a", "src/a.rs"];
    let more = names.map(|name| (name.to_owned(), String::new()));
    let all: Vec<_> = rules.into_iter().chain(more).collect();
    let cases = [
        ("src", "allow"),
        ("src *.rs", "allow"),
        ("src .env", "ask"),
        ("src .e*", "ask"),
        ("src **/*.{rs,env}", "ask"),
        ("src *.pem", "ask"),
        ("app", "ask"),
        ("app *.rs", "allow"),
        ("/", "deny"),
        ("/ *.rs", "allow"),
        ("secret", "deny"),
        ("/ secret/*", "deny"),
        ("doc", "deny"),
        ("doc *.md", "allow"),
        ("/ secre\\t/*", "deny"),
        ("/ @(secret)/*", "deny"),
        ("/ {secret,src}/*", "deny"),
        ("/ !src/*", "deny"),
        ("doc x.key", "deny"),
        ("doc/a.md", "allow"),
    ];
    for (search, expected) in cases {
        assert_eq!(answer(&format!("search {search}"), None, &all), expected, "{search}");
    }
}

#[test]
fn rendered_files_do_not_block_a_search() {
    let names = [".agentry/rendered.json", ".gemini/agents/x.md", ".claude/agents/x.md", "a.rs"];
    let more = names.map(|name| (name.to_owned(), String::new()));
    assert_eq!(answer("search /", None, &more), "allow");
    let others = [".agentry/x", ".gemini/settings.json"];
    for name in others {
        assert_eq!(answer("search /", None, &[(name.to_owned(), String::new())]), "ask", "{name}");
    }
}

#[test]
fn a_definition_that_changed_is_refused() {
    let world = MemoryWorld::new(agent("helper", RULES));
    let compiled = read(&world, &at(&world, "agents/helper").expect("an agent"));
    let digest = subject(&world, &compiled, None, true).digest;
    let plain = digest.strip_prefix("sha256:").expect("a digest").to_owned();
    for known in [digest.as_str(), &plain] {
        assert_eq!(answer("bash git status", Some(known), &[]), "allow");
    }
    let changed = "the definition changed since it was rendered: run `agentry render`";
    assert_eq!(answer("bash git status", Some("sha256:0"), &[]), changed);
    let more = [("agents/helper/system-prompt.md".to_owned(), "Other.\n".to_owned())];
    assert_eq!(answer("bash git status", Some(&digest), &more), changed);
}

#[test]
fn the_policy_of_the_user_restricts_the_guard() {
    let path = "home/user/.config/agentry/config.toml".to_owned();
    let policy = "[policy.bash]\nintent = \"allow\"\nrules = [\"git status*:deny\"]\n";
    let more = [(path.clone(), policy.to_owned())];
    assert_eq!(answer("bash git status", None, &more), "deny");
    let broken = [(path, "[policy.bash]\nintent = \"maybe\"\n".to_owned())];
    assert!(answer("bash git status", None, &broken).contains("the user's policy has errors"));
}

#[test]
fn a_broken_definition_is_refused() {
    let more = [("agents/helper/agent.toml".to_owned(), "name = ".to_owned())];
    assert!(answer("bash git status", None, &more).contains("has errors"));
}

#[test]
fn programs_that_the_guard_cannot_check_are_reported() {
    let rules =
        |rule: &str| format!("[permissions.bash]\nintent = \"ask\"\nrules = [\"{rule}:allow\"]\n");
    for harness in ["claude-code", "opencode", "pi"] {
        for (rule, expected) in [("python3 *", true), ("cargo *", true), ("git *", false)] {
            let report = crate::report_of(&one(harness, &rules(rule), GUARD));
            let found = report.contains("the guard does not see what a program writes");
            assert_eq!(found, expected, "{harness} {rule}: {report}");
        }
    }
}
