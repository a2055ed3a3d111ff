//! A second implementation of OpenCode's rules, on plain texts and without automata: the written rules are
//! never milder than the source's judge.

use agentry_compile::policy::path::NoLinks;
use agentry_compile::policy::{Action, PolicyContext, Section, SectionCall};
use agentry_compile::targets::ListedFiles;
use agentry_compile::targets::front_matter;
use agentry_compile::targets::{RenderSettings, RenderSubject, render, target};
use agentry_compile::text::Data;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use std::sync::Arc;

use crate::policies::{agent, cases, may_name_files, samples, subject_of};

/// A rule: key, pattern, verdict.
pub(crate) type Ruled = (String, String, Action);

/// The verdict of the last rule whose key and pattern match.
pub(crate) fn answer(rules: &[Ruled], permission: &str, text: &str) -> Action {
    let matching = |(key, pattern, _): &&Ruled| fits(key, permission) && fits(pattern, text);
    rules.iter().rev().find(matching).map_or(Action::Ask, |(_, _, action)| *action)
}

/// Whether a pattern matches: `*` any text, `?` any character, a final ` *` also nothing.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    if pattern.strip_suffix(" *").is_some_and(|start| wild(start, text)) {
        return true;
    }
    wild(pattern, text)
}

fn wild(pattern: &str, text: &str) -> bool {
    let mut pattern_chars = pattern.chars();
    let Some(first) = pattern_chars.next() else { return text.is_empty() };
    let rest = pattern_chars.as_str();
    let after = |text: &'_ str| text.chars().next().map(|c| text[c.len_utf8()..].to_owned());
    match first {
        '*' => wild(rest, text) || after(text).is_some_and(|text| wild(pattern, &text)),
        '?' => after(text).is_some_and(|text| wild(rest, &text)),
        c => text.starts_with(c) && wild(rest, &text[c.len_utf8()..]),
    }
}

/// The rules of a rendered file, in order.
fn rules(text: &str) -> Vec<Ruled> {
    let (data, _) = front_matter::read(text).expect("metadata");
    let Some(Data::Map(keys)) = data.get("permission") else { panic!("no permission: {text}") };
    let word = |data: &Data| data.as_str().and_then(|word| word.parse().ok()).expect("an action");
    let home = |pattern: &str| match pattern.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("/home/user{rest}"),
        _ => pattern.to_owned(),
    };
    let mut out = Vec::new();
    for (key, value) in keys {
        match value {
            Data::Map(patterns) => {
                out.extend(patterns.iter().map(|(it, to)| (key.clone(), home(it), word(to))));
            }
            other => out.push((key.clone(), "*".to_owned(), word(other))),
        }
    }
    out
}

/// OpenCode's verdict for a call, as its tools ask.
pub(crate) fn there(rules: &[Ruled], section: Section, text: &str) -> Action {
    match section {
        Section::Edit | Section::Read => {
            let key = section.as_str();
            match text.strip_prefix("/workspace/") {
                Some(inside) => answer(rules, key, inside),
                None => {
                    let (dir, _) = text.rsplit_once('/').unwrap_or_default();
                    let beyond = answer(rules, "external_directory", &format!("{dir}/*"));
                    answer(rules, key, &format!("..{text}")).strictest(beyond)
                }
            }
        }
        Section::Delegate => answer(rules, "task", text),
        Section::Mcp => answer(rules, &text.replacen('/', "_", 1), "*"),
        Section::Tool => answer(rules, text, "*"),
        section => answer(rules, section.as_str(), text),
    }
}

/// Whether no built-in rule affects the source's verdict.
fn is_plain(section: Section, text: &str) -> bool {
    let words = ["frob", "zap", "qux", "a", "b", "src", "tmp", "docs", "x", "workspace", "c"];
    match section {
        Section::Bash => {
            let known = text.split(' ').all(|word| words.contains(&word));
            known && (text.starts_with("frob") || text.starts_with("zap"))
        }
        Section::Edit | Section::Read => {
            text.split('/').skip(1).all(|part| words.contains(&part)) && text != "/workspace"
        }
        Section::Mcp => {
            let plain = |name: &str| name.chars().all(|c| c.is_ascii_lowercase());
            text.split_once('/').is_some_and(|(server, tool)| plain(server) && plain(tool))
        }
        // These are not separate tools.
        Section::Tool if matches!(text, "bash" | "edit" | "write") => false,
        _ => text.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
    }
}

fn never_milder(subject: &RenderSubject) -> Result<(), TestCaseError> {
    let existing_files = ListedFiles::default();
    let settings = RenderSettings { shared: true, ..RenderSettings::new(&existing_files) };
    let opencode = target("opencode").expect("a target");
    let mut rendering = render(opencode, std::slice::from_ref(subject), &settings);
    let rendered = rendering.agents.remove(0);
    let Some(file) = rendered.files.first() else { return Ok(()) };
    let rules = rules(file.text());
    for section in Section::ALL {
        let texts = samples(subject, *section).into_iter().map(|sample| sample.to_string());
        let is_seen = |text: &String| {
            let is_blind = *section == Section::Bash && may_name_files(subject, text);
            is_plain(*section, text) && !is_blind
        };
        for text in texts.filter(is_seen) {
            let call = SectionCall { section: *section, subject: &text, directory: "/workspace" };
            let here = subject.judge.judge(call, &NoLinks).action;
            let there = there(&rules, *section, &text);
            if there < here && *section != Section::Env && *section != Section::ExternalDirectory {
                let why = format!("{section} `{text}`: {here}, there {there}\n{}", file.text());
                return Err(TestCaseError::fail(why));
            }
        }
    }
    Ok(())
}

#[test]
fn written_rules_are_never_milder_than_the_source() {
    let config = Config { cases: cases(60), failure_persistence: None, ..Config::default() };
    let property = |files: Vec<(String, String)>| match subject_of(&files) {
        Some(subject) => never_milder(&subject),
        None => Ok(()),
    };
    TestRunner::new(config).run(&agent(), property).expect("never milder");
}

/// OpenCode's verdict with the rules from a definition.
fn rendered(lines: &str, section: Section, text: &str) -> Action {
    let files = crate::agent("x", lines);
    let rendering = crate::rendering("opencode", &files, crate::Wish::default());
    let file = rendering.agents.first().and_then(|agent| agent.files.first());
    there(&rules(file.expect("a file").text()), section, text)
}

/// A final ` *` also matches nothing, in patterns of files, names and commands, and in keys.
#[test]
fn a_final_star_is_written_to_match_nothing_too() {
    let section = |name: &str, rules: &str| {
        format!("[permissions.{name}]\nintent = \"deny\"\nrules = [{rules}]\n")
    };
    let cases = [
        (section("edit", "\"foo *:allow\", \"foo */**:allow\""), Section::Edit, "/workspace/foo"),
        (section("read", "\"a/foo *:ask\""), Section::Read, "/workspace/a/foo"),
        (section("skill", "\"helper *:allow\""), Section::Skill, "helper"),
        (section("delegate", "\"helper *:allow\""), Section::Delegate, "helper"),
        (section("tool", "\"deploy *:allow\""), Section::Tool, "deploy"),
    ];
    for (lines, section, text) in cases {
        assert_eq!(rendered(&lines, section, text), Action::Deny, "{lines}");
    }
    let denied: String = Section::ALL.iter().map(|it| section(it.as_str(), "")).collect();
    let denied = denied.replace("rules = []\n", "");
    for key in ["bash *", "edit *", "b* *"] {
        let words = "[x-harness.opencode.as-written.permission]\n\"*\" = \"deny\"\n";
        let tool = "[permissions.tool]\nintent = \"deny\"\n";
        let rule = format!("{tool}rules = [\"{key}:allow\"]\n");
        let lines = format!("{}{words}\"{key}\" = \"allow\"\n", denied.replace(tool, &rule));
        for section in [Section::Bash, Section::Edit] {
            assert_eq!(rendered(&lines, section, "/workspace/x"), Action::Deny, "{lines}");
        }
    }
}

/// The same for imported rules.
#[test]
fn a_final_star_is_imported_to_match_nothing_too() {
    let cases = [
        ("  bash: allow\n  \"bash *\": deny\n", Section::Bash, "ls"),
        ("  edit:\n    \"*\": allow\n    \"secret *\": deny\n", Section::Edit, "secret"),
        ("  skill:\n    \"*\": allow\n    \"helper *\": deny\n", Section::Skill, "helper"),
    ];
    for (rules, section, text) in cases {
        let file = format!("---\ndescription: d\npermission:\n{rules}---\nHi.\n");
        let path = ".opencode/agents/x.md";
        let found = crate::back::imported("opencode", &[(path, &file)], path).expect("an agent");
        let subject = RenderSubject::of(found.agent, &PolicyContext::default(), &Arc::default());
        let call = SectionCall { section, subject: text, directory: "/workspace" };
        assert_eq!(subject.judge.judge(call, &NoLinks).action, Action::Deny, "{rules}");
    }
}
