//! OpenCode agents as users write them, imported and rendered again. Calls keep their verdicts, according to
//! a second implementation on plain texts; no verdict becomes milder.

use std::collections::BTreeMap;

use agentry_compile::policy::Action;
use agentry_compile::targets::front_matter;
use agentry_compile::text::Data;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use crate::back::{definition, imported};
use crate::opencode_oracle::{Ruled, answer};
use crate::policies::cases;
use crate::{Wish, rendering};

/// The rules of an agent: OpenCode's own, the older tools, its permissions.
fn rules(text: &str) -> Vec<Ruled> {
    let rule = |key: &str, pattern: &str, action| (key.to_owned(), pattern.to_owned(), action);
    let mut all = vec![
        rule("*", "*", Action::Allow),
        rule("doom_loop", "*", Action::Ask),
        rule("external_directory", "*", Action::Ask),
        rule("question", "*", Action::Deny),
        rule("plan_enter", "*", Action::Deny),
        rule("plan_exit", "*", Action::Deny),
        rule("read", "*.env", Action::Ask),
        rule("read", "*.env.*", Action::Ask),
        rule("read", "*.env.example", Action::Allow),
    ];
    let (data, _) = front_matter::read(text).expect("metadata");
    let mut own: Vec<(String, Data)> = Vec::new();
    let mut set = |key: &str, value: Data| match own.iter_mut().find(|(known, _)| known == key) {
        Some((_, known)) => *known = value,
        None => own.push((key.to_owned(), value)),
    };
    if let Some(Data::Map(tools)) = data.get("tools") {
        for (tool, on) in tools {
            let key = if matches!(tool.as_str(), "write" | "patch") { "edit" } else { tool };
            set(key, Data::str(if *on == Data::Bool(true) { "allow" } else { "deny" }));
        }
    }
    match data.get("permission") {
        Some(Data::Map(keys)) => keys.iter().for_each(|(key, value)| set(key, value.clone())),
        Some(word) => set("*", word.clone()),
        None => {}
    }
    let word = |data: &Data| data.as_str().and_then(|word| word.parse().ok()).expect("an action");
    for (key, value) in &own {
        match value {
            Data::Map(patterns) => {
                all.extend(patterns.iter().map(|(it, to)| rule(key, it, word(to))));
            }
            other => all.push(rule(key, "*", word(other))),
        }
    }
    all
}

const COMMANDS: &[&str] = &[
    "ls",
    "ls -la",
    "git status",
    "git status -s",
    "git diff HEAD~1",
    "git log --oneline",
    "git push",
    "git push origin main",
    "git push --force",
    "git push origin --force-with-lease",
    "git commit -m x",
    "git add tests/a.rs",
    "git add tests/a/b.rs",
    "git add src/a.rs",
    "git add .",
    "npm run build",
    "npm test",
    "npm install x",
    "npm publish",
    "rm x",
    "rm -rf /",
    "rm -rf node_modules",
    "rmdir x",
    "sudo ls",
    "sudoedit x",
    "cargo build",
    "cargo publish",
    "cargo test --all",
    "cat src/main.rs",
    "grep -r x .",
    "find . -name x",
    "./scripts/build.sh",
    "./scripts/a/b.sh x",
    "docker ps",
    "docker rm x",
    "kubectl delete pod x",
    "curl https://x",
    "python x.py",
    "make",
    "mv a b",
    "chmod 777 x",
    "npx tsc --noEmit",
    "terraform apply",
    "terraform plan -out x",
];
const FILES: &[&str] = &[
    "src/main.rs",
    "README.md",
    "docs/a.md",
    "docs/deep/b.md",
    "tests/a.test.ts",
    "src/a.test.ts",
    "a.test.ts",
    ".env",
    "app/.env",
    ".env.local",
    ".env.example",
    "node_modules/x/index.js",
    "app/node_modules/x.js",
    "package-lock.json",
    "x.lock",
    ".git/config",
    "secret/key",
    "a/secret/key",
    "x.key",
    "certs/x.key",
    ".plan/x.md",
    ".opencode/plans/a.md",
    "../other/README.md",
    "../other/src/main.rs",
    "../other/x.key",
    "../other/.env",
];
const TOOLS: &[&str] = &[
    "github_get_issue",
    "github_create_issue",
    "githubx_y",
    "context7_get-docs",
    "playwright_click",
    "todowrite",
    "todoread",
    "codesearch",
    "doom_loop",
    "plan_enter",
    "question",
    "webfetch",
    "websearch",
];
const NAMES: &[&str] = &["explore", "general", "code-reviewer", "git-release", "docs-writer"];

/// Calls, each as a permission and its subject.
fn calls() -> Vec<(&'static str, &'static str)> {
    let of = |keys: &'static [&'static str], texts: &'static [&'static str]| {
        keys.iter().flat_map(move |key| texts.iter().map(move |text| (*key, *text)))
    };
    let tools = TOOLS.iter().map(|tool| (*tool, "*"));
    let files = of(&["edit", "read"], FILES).chain(of(&["grep", "glob", "list", "lsp"], &["x"]));
    let names = of(&["task", "skill"], NAMES).chain(tools);
    let places = of(&["external_directory"], &["/tmp/*", "/other/*", "/home/user/p/*"]);
    of(&["bash"], COMMANDS).chain(files).chain(names).chain(places).collect()
}

/// Permissions of an agent, and the calls with a stricter verdict afterwards.
const AGENTS: &[(&str, &[&str])] = &[
    ("tools: {write: false, edit: false, bash: false}", &[]),
    ("tools: {write: true, edit: true, bash: true}", &[]),
    (
        "tools: {read: true, grep: true, glob: true, list: true, bash: false, edit: false, write: false, webfetch: false}",
        &[],
    ),
    ("tools: {'github*': false, 'playwright_*': false}", &[]),
    ("tools: {'*': false, read: true, grep: true}", &[]),
    (
        "tools: {write: true, edit: true}\npermission: {edit: deny, bash: {'*': ask, 'git diff*': allow, 'git log*': allow, 'grep *': allow}, webfetch: deny}",
        &[],
    ),
    ("permission: {edit: deny, bash: deny}", &[]),
    ("permission: {edit: ask, bash: ask, webfetch: allow}", &[]),
    ("permission: deny", &[]),
    ("permission: allow", &[]),
    ("permission: {'*': deny, read: allow, grep: allow, glob: allow}", &[]),
    (
        "permission: {'*': deny, read: allow, grep: allow, glob: allow, list: allow, lsp: allow, skill: allow, todowrite: allow}",
        &[],
    ),
    (
        "permission: {'*': allow, bash: {'*': allow, 'rm*': deny, 'sudo*': deny, 'git push*': ask}}",
        &[],
    ),
    (
        "permission: {bash: {'*': deny, 'npm run *': ask, 'npm test*': allow, 'git commit *': ask, 'git status*': allow}}",
        &[],
    ),
    (
        "permission: {bash: {'*': deny, 'git add tests/*': allow, './scripts/*': allow}, edit: {'*': deny, 'tests/*': allow}}",
        &[],
    ),
    (
        "permission: {edit: {'*': allow, '**/node_modules/**': deny, '*.lock': deny, 'package-lock.json': deny}}",
        &[],
    ),
    (
        "permission: {edit: {'*': deny, '*.md': allow, 'docs/*': allow}, bash: {'*': ask, 'ls*': allow, 'cat *': allow}, task: {'*': deny, explore: allow}}",
        &[],
    ),
    (
        "permission: {edit: {'*': deny, '**/*.test.ts': allow, '.plan/*.md': allow}, read: allow}",
        &[],
    ),
    (
        "permission: {read: {'*': allow, '*.env': deny, '*.env.*': deny, '*.env.example': allow}, edit: {'*': allow, '*.env*': deny, '**/*.key': deny, '**/secret/**': deny}}",
        &[
            // A search may show what a rule about single files denies.
            "grep x: allow became deny",
            "glob x: allow became deny",
            "list x: allow became deny",
            "lsp x: allow became deny",
        ],
    ),
    (
        "permission: {bash: {'*': ask, 'git push --force*': deny, 'rm -rf *': deny, 'terraform apply*': deny, 'terraform *': allow, 'kubectl delete *': deny}, doom_loop: allow}",
        &[],
    ),
    (
        "permission: {task: {'*': deny, 'code-*': allow}, skill: {'*': deny, 'git-*': allow}, question: allow, external_directory: {'*': deny, '/tmp/*': allow}}",
        &[],
    ),
    (
        "permission: {external_directory: {'*': deny, '/tmp/**': allow, '/home/user/p/**': ask}, bash: {'*': allow, 'docker * rm*': deny}}",
        // If a wildcard may have matched a quote, the next word may be inside quotes.
        &["bash docker rm x: allow became deny"],
    ),
    (
        "permission: {'*': ask, 'github_get_issue': allow, 'context7_*': allow, 'playwright_*': deny, read: allow, external_directory: allow}",
        &[],
    ),
    (
        "permission: {grep: ask, list: deny, webfetch: ask, websearch: deny, plan_enter: allow, todowrite: deny}",
        &[],
    ),
];

const PATH: &str = ".opencode/agents/x.md";

/// The calls whose verdict changed after import and rendering, none of them to a milder one; and the
/// rendered file.
fn differences(text: &str) -> Result<(Vec<String>, String), String> {
    let found = imported("opencode", &[(PATH, text)], PATH)?;
    let rendered = rendering("opencode", &definition(&found), Wish::default()).agents.remove(0);
    let back = rendered.files.first().ok_or("refused")?.text().to_owned();
    let (before, after) = (rules(text), rules(&back));
    let mut differ = Vec::new();
    for (key, call) in calls() {
        let (was, is) = (answer(&before, key, call), answer(&after, key, call));
        if is < was {
            return Err(format!("{key} `{call}` was {was} and is {is}\n{text}\n{back}"));
        }
        if is != was {
            differ.push(format!("{key} {call}: {was} became {is}"));
        }
    }
    Ok((differ, back))
}

#[test]
fn imported_agents_render_with_the_same_verdicts() {
    for (lines, stricter) in AGENTS {
        let text = format!("---\ndescription: d\n{lines}\n---\nHi.\n");
        let (differ, back) = differences(&text).expect("nothing milder");
        assert_eq!(differ, *stricter, "{lines}\n{back}");
    }
}

/// A key with a verdict, or with patterns and verdicts.
fn entry() -> impl Strategy<Value = String> {
    let action = || select(vec!["allow", "ask", "deny"]);
    let commands = vec![
        "git *",
        "git push*",
        "rm*",
        "*--force*",
        "npm run *",
        "git add tests/*",
        "./scripts/*",
    ];
    let files =
        vec!["src/*", "*.md", "**/node_modules/**", "*.env*", "**/*.key", "docs/**/*.md", "*test*"];
    let map = move |key: &'static str, patterns: Vec<&'static str>| {
        let rule =
            (select(patterns), action()).prop_map(|(text, action)| format!("'{text}': {action}"));
        (action(), vec(rule, 0..4)).prop_map(move |(all, mut rules)| {
            let mut seen = Vec::new();
            rules.retain(|rule| {
                let text = rule.rsplit(':').nth(1).map(str::to_owned);
                let is_new = !seen.contains(&text);
                seen.push(text);
                is_new
            });
            rules.insert(0, format!("'*': {all}"));
            format!("{key}: {{{}}}", rules.join(", "))
        })
    };
    let keys = vec![
        "'*'",
        "read",
        "grep",
        "list",
        "webfetch",
        "'github*'",
        "github_get_issue",
        "doom_loop",
        "task",
    ];
    let plain = (select(keys), action()).prop_map(|(key, action)| format!("{key}: {action}"));
    prop_oneof![map("bash", commands), map("edit", files.clone()), map("read", files), plain]
}

#[test]
fn imported_rules_never_render_milder() {
    let config = Config { cases: cases(60), failure_persistence: None, ..Config::default() };
    let lines = (
        vec(entry(), 1..5),
        vec((select(vec!["write", "edit", "bash", "patch"]), any::<bool>()), 0..3),
    );
    let property = |(entries, tools): (Vec<String>, Vec<(&str, bool)>)| {
        let mut keys: Vec<&str> = Vec::new();
        let mut unique: Vec<&String> = Vec::new();
        for entry in &entries {
            let key = entry.split(':').next().unwrap_or_default();
            if !keys.contains(&key) {
                keys.push(key);
                unique.push(entry);
            }
        }
        let rules: Vec<&str> = unique.iter().map(|entry| entry.as_str()).collect();
        let older: BTreeMap<&str, bool> = tools.into_iter().collect();
        let older: Vec<String> = older.iter().map(|(tool, on)| format!("{tool}: {on}")).collect();
        let (older, rules) = (older.join(", "), rules.join(", "));
        let text =
            format!("---\ndescription: d\ntools: {{{older}}}\npermission: {{{rules}}}\n---\nHi.\n");
        differences(&text).map(drop).map_err(TestCaseError::fail)
    };
    TestRunner::new(config).run(&lines, property).expect("nothing milder");
}
