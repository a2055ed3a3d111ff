//! For any files of a harness, the imported agent permits no more than the harness, in every format. The
//! harness is modelled on typed texts, without automata.

use agentry_compile::formats::{WriteTarget, convert};
use agentry_compile::model::Format;
use agentry_compile::policy::path::NoLinks;
use agentry_compile::policy::{Action, Section, SectionCall};
use agentry_compile::targets::{ImportedAgent, RenderSubject};
use proptest::collection::vec;
use proptest::sample::select;
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::back::{definition, imported};
use crate::opencode_oracle::{Ruled, fits, there};
use crate::policies::{cases, subject_of};

const OPENCODE: &str = ".opencode/agents/helper.md";
const CLAUDE: &str = ".claude/agents/helper.md";
const SETTINGS: &str = ".claude/settings.json";

fn opencode(section: &str, rules: &[(String, Action)]) -> ImportedAgent {
    let line = |(pattern, action): &(String, Action)| {
        format!("    {}: {action}\n", serde_json::Value::from(pattern.as_str()))
    };
    let lines: String = rules.iter().map(line).collect();
    let text = format!("---\ndescription: x\npermission:\n  {section}:\n{lines}---\nx\n");
    imported("opencode", &[(OPENCODE, &text)], OPENCODE).expect("an agent")
}

fn claude_code(mode: &str, rules: &[(String, Action)]) -> ImportedAgent {
    let list = |action| {
        let of = rules.iter().filter(|rule| rule.1 == action);
        of.map(|rule| format!("Bash({})", rule.0)).collect::<Vec<_>>()
    };
    let lists = serde_json::json!({
        "permissions": {
            "allow": list(Action::Allow), "ask": list(Action::Ask), "deny": list(Action::Deny),
        },
    });
    let text = format!("---\nname: helper\ndescription: x\npermissionMode: {mode}\n---\nx\n");
    imported("claude-code", &[(CLAUDE, &text), (SETTINGS, &lists.to_string())], CLAUDE)
        .expect("an agent")
}

fn judged(subject: &RenderSubject, section: Section, text: &str) -> Action {
    let call = SectionCall { section, subject: text, directory: "/workspace" };
    subject.judge.judge(call, &NoLinks).action
}

fn rules(list: &[(&str, Action)]) -> Vec<(String, Action)> {
    list.iter().map(|(pattern, action)| ((*pattern).to_owned(), *action)).collect()
}

#[test]
fn an_imported_ask_does_not_override_a_deny_of_another_path() {
    let list = rules(&[("*", Action::Allow), ("~/a*~/a", Action::Deny), (" a", Action::Ask)]);
    let files = definition(&claude_code("default", &list));
    let subject = subject_of(&files).expect("an agent");
    assert_eq!(judged(&subject, Section::Bash, "~/a~/a"), Action::Deny, "{}", files[0].1);
}

#[test]
fn imported_denials_cover_shell_expansions() {
    let list = rules(&[
        ("*", Action::Allow),
        ("rm -rf $HOME*", Action::Deny),
        ("git commit -m \"wip*", Action::Deny),
        ("frob * --force*", Action::Deny),
        ("qux -r ~*", Action::Deny),
        ("qux -s ~", Action::Deny),
        ("qux -t ~/*", Action::Deny),
        ("qux -u *~/a", Action::Deny),
    ]);
    for found in [opencode("bash", &list), claude_code("default", &list)] {
        for changed in ["`rm -rf $HOME*`", "`git commit -m \"wip*`"] {
            let is_reported = found.losses.iter().any(|loss| loss.detail.contains(changed));
            assert!(is_reported, "{changed}: {:?}", found.losses);
        }
        let subject = subject_of(&definition(&found)).expect("an agent");
        for line in [
            "rm -rf $HOME",
            "rm -rf \"$HOME\"/x",
            "git commit -m \"wip\"",
            "git commit -m 'wip'",
            "frob \"a --force\"",
            "frob a --force",
            "qux -r ~/x",
            "qux -s ~",
            "qux -t ~/x",
            "qux -u b ~/a",
        ] {
            assert_eq!(judged(&subject, Section::Bash, line), Action::Deny, "{line}");
        }
        // It is still useful.
        for line in ["frob a", "git commit -a", "zap \"x\""] {
            assert_eq!(judged(&subject, Section::Bash, line), Action::Allow, "{line}");
        }
    }
}

#[test]
fn a_denied_tool_denies_its_whole_section() {
    let text = "---\nname: helper\ndescription: x\n---\nx\n";
    let settings = r#"{"permissions": {"allow": ["Edit(/**)"], "deny": ["Write", "Grep"]}}"#;
    let found = imported("claude-code", &[(CLAUDE, text), (SETTINGS, settings)], CLAUDE);
    let subject = subject_of(&definition(&found.expect("an agent"))).expect("an agent");
    for section in [Section::Edit, Section::Read] {
        assert_eq!(judged(&subject, section, "/workspace/x"), Action::Deny, "{section}");
    }
}

#[test]
fn unreadable_permissions_are_imported_as_deny() {
    for permission in ["{bash: dney}", "[deny]", "{bash: {\"*\": 1}}"] {
        let text = format!("---\ndescription: x\npermission: {permission}\n---\nx\n");
        let found = imported("opencode", &[(OPENCODE, &text)], OPENCODE).expect("an agent");
        let subject = subject_of(&definition(&found)).expect("an agent");
        assert_eq!(judged(&subject, Section::Bash, "frob"), Action::Deny, "{permission}");
    }
    let files = [(OPENCODE, "---\ndescription: x\n---\nx\n"), ("opencode.json", "{")];
    assert!(imported("opencode", &files, OPENCODE).is_err());
}

#[test]
fn multi_line_codex_rules_are_imported() {
    let path = ".codex/agents/helper.toml";
    let text = "name = \"helper\"\ndescription = \"x\"\ndeveloper_instructions = \"x\"\n";
    let cases = [
        (
            "prefix_rule(\n  pattern = ['frob', ['a', 'b']],\n  decision = 'forbidden',\n)\n",
            Action::Ask,
        ),
        ("prefix_rule(pattern = ['frob'] + X, decision = 'forbidden')\n", Action::Deny),
    ];
    for (rules, others) in cases {
        let files = [(path, text), (".codex/rules/default.rules", rules)];
        let found = imported("codex", &files, path).expect("an agent");
        let subject = subject_of(&definition(&found)).expect("an agent");
        for (line, expected) in
            [("frob a x", Action::Deny), ("frob b", Action::Deny), ("zap", others)]
        {
            assert_eq!(judged(&subject, Section::Bash, line), expected, "{line}: {rules}");
        }
    }
}

/// Rules with characters that have a meaning in a shell or a pattern.
fn list(pieces: &'static [&'static str]) -> impl Strategy<Value = Vec<(String, Action)>> {
    let pattern = vec(select(pieces), 1..5).prop_map(|pieces| pieces.concat());
    let action = select(&[Action::Allow, Action::Ask, Action::Deny][..]);
    let rest = vec((pattern, action.clone()), 0..6);
    (action, rest).prop_map(|(intent, rest)| {
        let mut list = vec![("*".to_owned(), intent)];
        for rule in rest {
            // A map has each key once.
            if list.iter().all(|known| known.0 != rule.0) {
                list.push(rule);
            }
        }
        list
    })
}

const COMMANDS: &[&str] = &[
    "frob", "frob ", "frob", "zap", " ", " a", "b", "*", " *", "* ", "?", "\"", "'", "$HOME", "\\",
    ":*", ":", "--x", "(b)", "`", "~/a", "é",
];
const PATHS: &[&str] =
    &["src", "src/", "a", "b", "/", "*", "*/", "/*", "?", "..", ".rs", "[a]", "\\", "$HOME", "~/"];

/// Subjects for a list: its own patterns with each wildcard filled in.
fn texts(rules: &[(String, Action)], fills: &[&str]) -> Vec<String> {
    let filled = rules.iter().flat_map(|(pattern, _)| {
        fills.iter().map(move |fill| pattern.replace(['*', '?'], fill).replace(":*", fill))
    });
    filled.collect()
}

/// A line that is a single command, or `None`: a shell would split others, and each piece is judged alone.
fn line(text: &str) -> Option<String> {
    let quotes = |quote| text.matches(quote).count() % 2 == 1;
    let single = text.chars().any(|c| "`();&|<>\n".contains(c));
    let text = format!(
        "{text}{}{}",
        if quotes('"') { "\"" } else { "" },
        if quotes('\'') { "'" } else { "" }
    );
    let plain = text.trim() == text && !text.is_empty() && !text.contains("  ");
    // A command that does nothing is always allowed.
    let nothing = text.trim_start_matches(['"', '\'', '\\']).starts_with(':');
    (plain && !single && !nothing && !text.ends_with('\\') && is_closed(&text)).then_some(text)
}

/// Whether every quote is closed. A shell does not run other lines.
fn is_closed(text: &str) -> bool {
    let mut open = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (open, c) {
            (Some('\''), '\\') => {}
            (_, '\\') => drop(characters.next()),
            (None, '"' | '\'') => open = Some(c),
            (Some(quote), c) if quote == c => open = None,
            _ => {}
        }
    }
    open.is_none()
}

/// The harness's verdict for a command in any spelling. A milder rule may match the words without quotes; a
/// stricter one must match what was typed.
fn however_typed(line: &str, answer: impl Fn(&dyn Fn(&str, Action) -> bool) -> Action) -> Action {
    let bare = line.replace(['"', '\'', '\\'], "");
    let up_to = |most: Action| {
        answer(&|pattern: &str, action: Action| {
            fits(pattern, line) || (action <= most && fits(pattern, &bare))
        })
    };
    // A pattern may match the name of a variable with an unknown value: the verdict is `ask`.
    let most = if line.contains('$') { Action::Ask } else { Action::Deny };
    up_to(Action::Allow).min(up_to(Action::Ask)).min(most)
}

/// Compares the imported agent with the harness, in every format.
fn never_wider(
    found: &ImportedAgent,
    section: Section,
    texts: &[String],
    there: impl Fn(&str) -> Action,
) -> Result<(), TestCaseError> {
    for format in
        [Format::AgentToml, Format::AgentMd, Format::Manifest, Format::AgentFs, Format::AgentDir]
    {
        let written = convert(&found.agent, format, &WriteTarget::default());
        if written.widened.is_some() {
            return Err(TestCaseError::fail(format!("{format}: {:?}", written.widened)));
        }
    }
    let files = definition(found);
    let Some(subject) = subject_of(&files) else {
        return Err(TestCaseError::fail(format!("it is not an agent: {files:?}")));
    };
    for text in texts {
        let (here, there) = (judged(&subject, section, text), there(text));
        if here < there {
            let why = format!("`{text}` is {there} there, {here} here\n{}", files[0].1);
            return Err(TestCaseError::fail(why));
        }
    }
    Ok(())
}

fn run(
    pieces: &'static [&'static str],
    test: impl Fn(Vec<(String, Action)>) -> Result<(), TestCaseError>,
) {
    let config = Config { cases: cases(150), failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&list(pieces), test).expect("never wider");
}

const FILLS: &[&str] = &["", "a", "a b", "\"a b\"", "'", "x\\ a", "\"b", "$HOME", "/x"];

#[test]
fn commands_of_opencode_are_never_wider() {
    run(COMMANDS, |rules| {
        let found = opencode("bash", &rules);
        let ruled: Vec<Ruled> = with_home("bash", &rules);
        let lines: Vec<_> = texts(&rules, FILLS).iter().filter_map(|text| line(text)).collect();
        never_wider(&found, Section::Bash, &lines, |line| {
            however_typed(line, |takes| {
                let decides = ruled.iter().rev().find(|rule| takes(&rule.1, rule.2));
                decides.map_or(Action::Ask, |rule| rule.2)
            })
        })
    });
}

#[test]
fn paths_of_opencode_are_never_wider() {
    run(PATHS, |rules| {
        let found = opencode("edit", &rules);
        let mut ruled = vec![("external_directory".to_owned(), "*".to_owned(), Action::Ask)];
        ruled.extend(with_home("edit", &rules));
        let texts = texts(&rules, &["", "a", "a/b", "b/", ".rs"]);
        let paths =
            texts.iter().flat_map(|text| [format!("/workspace/{text}"), format!("/{text}")]);
        let plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\\');
        let paths: Vec<_> = paths.filter(|it| it.split('/').skip(1).all(plain)).collect();
        never_wider(&found, Section::Edit, &paths, |path| there(&ruled, Section::Edit, path))
    });
}

/// The rules as OpenCode flattens them.
fn with_home(key: &str, rules: &[(String, Action)]) -> Vec<Ruled> {
    let mut out: Vec<Ruled> = Vec::new();
    for (pattern, action) in rules {
        let text = match pattern.strip_prefix("$HOME") {
            Some(rest) => format!("/home/user{rest}"),
            None => {
                match pattern.strip_prefix('~').filter(|it| it.is_empty() || it.starts_with('/')) {
                    Some(rest) => format!("/home/user{rest}"),
                    None => pattern.clone(),
                }
            }
        };
        out.push((key.to_owned(), text, *action));
    }
    out
}

#[test]
fn commands_of_claude_code_are_never_wider() {
    run(COMMANDS, |rules| {
        for (mode, silence) in [("default", Action::Ask), ("dontAsk", Action::Deny)] {
            let found = claude_code(mode, &rules);
            let there = |line: &str| {
                however_typed(line, |takes| {
                    let matching = rules.iter().filter(|rule| takes(&spelled(&rule.0), rule.1));
                    match matching.map(|rule| rule.1).max().unwrap_or(silence) {
                        Action::Ask => silence,
                        action => action,
                    }
                })
            };
            let lines: Vec<_> = texts(&rules, FILLS).iter().filter_map(|text| line(text)).collect();
            never_wider(&found, Section::Bash, &lines, there)?;
        }
        Ok(())
    });
}

fn prefix_rule((words, action): &(Vec<&str>, Action)) -> String {
    let decision = match action {
        Action::Allow => "allow",
        Action::Ask => "prompt",
        Action::Deny => "forbidden",
    };
    format!("prefix_rule(pattern = {words:?}, decision = \"{decision}\")\n")
}

#[test]
fn commands_of_codex_are_never_wider() {
    let path = ".codex/agents/helper.toml";
    let head = "name = \"helper\"\ndescription = \"x\"\ndeveloper_instructions = \"x\"\n";
    let word = select(&["frob", "zap", "a", "b", "-x", "*", "a b", "$HOME"][..]);
    let action = select(&[Action::Allow, Action::Ask, Action::Deny][..]);
    let rules = vec((vec(word, 1..4), action), 0..6);
    let modes = select(&["read-only", "workspace-write", "danger-full-access"][..]);
    let approvals = select(&["on-request", "never", "untrusted"][..]);
    let config = Config { cases: cases(100), failure_persistence: None, ..Config::default() };
    let tested = TestRunner::new(config).run(&(rules, modes, approvals), |(rules, mode, when)| {
        let text = format!("{head}sandbox_mode = \"{mode}\"\napproval_policy = \"{when}\"\n");
        let listed: String = rules.iter().map(prefix_rule).collect();
        let files = [(path, text.as_str()), (".codex/rules/x.rules", listed.as_str())];
        let found = imported("codex", &files, path).expect("an agent");
        let asked = if when == "never" { Action::Deny } else { Action::Ask };
        let free = mode == "danger-full-access" && when != "untrusted";
        let unruled = if free { Action::Allow } else { asked };
        let there = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let about = rules.iter().filter(|(prefix, _)| words.starts_with(prefix));
            match about.map(|(_, action)| *action).max().unwrap_or(unruled) {
                Action::Ask => asked,
                action => action,
            }
        };
        let plain = |words: &[&str]| words.iter().all(|word| !word.contains([' ', '*', '$']));
        let lines = rules.iter().filter(|(words, _)| plain(words)).flat_map(|(words, _)| {
            ["", " c", " a b"].map(|more| format!("{}{more}", words.join(" ")))
        });
        let lines: Vec<String> = lines.chain(["frob".to_owned(), "zap a".to_owned()]).collect();
        never_wider(&found, Section::Bash, &lines, there)
    });
    tested.expect("never wider");
}

/// A pattern of Claude Code in OpenCode's syntax, except for `?`, which no line contains.
fn spelled(pattern: &str) -> String {
    let pattern = pattern.replace('?', "\0");
    pattern.strip_suffix(":*").map_or(pattern.clone(), |head| format!("{head} *"))
}
