//! Generates random policies, both usual and hostile ones, for the property tests of every target.

use agentry_compile::policy::compare::ExampleSubject;
use agentry_compile::policy::{Action, PathAnchors, PatternKind, Section};
use agentry_compile::targets::RenderSubject;
use agentry_compile::{MemoryWorld, discover, read, subject};
use proptest::prelude::*;
use proptest::sample::select;

/// The number of cases of a property: `few`, or the value of `AGENTRY_RENDER_CASES`.
pub(crate) fn cases(few: u32) -> u32 {
    let wanted = std::env::var("AGENTRY_RENDER_CASES").ok().and_then(|text| text.parse().ok());
    wanted.unwrap_or(few)
}

/// The files of an agent called `helper`, in one of the formats.
pub(crate) fn agent() -> impl Strategy<Value = Vec<(String, String)>> {
    prop_oneof![
        8 => permissions().prop_map(|lines| crate::agent("helper", &lines)),
        1 => trust().prop_map(|lines| {
            let text = format!("name: helper\ndescription: Answers questions\n{lines}");
            vec![("helper.agent".to_owned(), text)]
        }),
        1 => abilities().prop_map(|line| {
            let head = format!("---\ntitle: Helper\nicon: 🙂\nversion: 1.0.0\n{line}---\n");
            let text = format!("{head}# Helper\n\nAnswers questions.\n");
            vec![("agents/x_helper.agent.md".to_owned(), text)]
        }),
        1 => tools().prop_map(|lists| {
            let text = format!("{{\"name\": \"helper\", \"tool_permissions\": {lists}}}");
            let persona = "# Who\nYou answer.\n".to_owned();
            vec![
                ("agents/helper/agent.json".to_owned(), text),
                ("agents/helper/persona.md".to_owned(), persona),
            ]
        }),
    ]
}

/// The agent among `files`, ready for rendering, or `None` if its definition has errors.
pub(crate) fn subject_of(files: &[(String, String)]) -> Option<RenderSubject> {
    let world = MemoryWorld::new(files.iter().cloned());
    let found = discover(&world, &[String::new()], None, &|_| false);
    let compiled = read(&world, found.agents.first()?);
    (!compiled.has_errors()).then(|| subject(&world, &compiled, Some("helper"), false))
}

/// `[permissions.X]` of agent-toml: some sections, each with an intent and rules.
pub(crate) fn permissions() -> impl Strategy<Value = String> {
    let sections: Vec<_> = Section::ALL.iter().map(|section| written(*section)).collect();
    sections.prop_map(|sections| sections.concat())
}

fn written(section: Section) -> impl Strategy<Value = String> {
    let rule = (pattern(section.kind()), action());
    let rules = prop_oneof![
        12 => proptest::collection::vec(rule.clone(), 0..5),
        1 => proptest::collection::vec(rule, 5..40),
    ];
    let weight = if section == Section::Bash { 0.9 } else { 0.4 };
    proptest::option::weighted(weight, (action(), rules)).prop_map(move |some| {
        let Some((intent, rules)) = some else { return String::new() };
        let rules: Vec<_> =
            rules.into_iter().map(|(pattern, action)| format!("{pattern}:{action}")).collect();
        format!("[permissions.{section}]\nintent = \"{intent}\"\nrules = {rules:?}\n")
    })
}

fn action() -> impl Strategy<Value = &'static str> + Clone {
    select(&["allow", "ask", "deny"][..])
}

fn pattern(kind: PatternKind) -> impl Strategy<Value = String> + Clone {
    let known = match kind {
        PatternKind::Command => COMMANDS,
        PatternKind::Path => PATHS,
        PatternKind::Web => ADDRESSES,
        PatternKind::Name => NAMES,
        PatternKind::Text => &["*", "**", "*rust*", "how to *"],
    };
    let hostile = proptest::collection::vec(select(PIECES), 1..6).prop_map(|parts| parts.concat());
    let blank = |text: &String| !text.trim().is_empty();
    prop_oneof![6 => select(known).prop_map(str::to_owned), 1 => hostile.prop_filter("blank", blank)]
}

/// Characters with a meaning in a shell, a glob, a regular expression, YAML, JSON or TOML.
const PIECES: &[&str] = &[
    "git", "push", "frob", "zap", "src", "x", "10", "2", "-f", "é", " ", " ", "*", "**", "?",
    "[x]", "{a,b}", "~/", "/", "/abs/", "../", ".", "\"", "'", "\\", "$", "$HOME", "$(", "`", ":",
    ": ", "#", " #", "(", ")", "|", "&", ";", "<", ">", "!", "%", "@", ",", "=", "+", "^", "-",
    "_", "null",
];

const COMMANDS: &[&str] = &[
    "*",
    "**",
    "frob *",
    "frob*",
    "frob",
    "frob zap",
    "frob zap*",
    "frob * qux",
    "frob ** qux",
    "zap *",
    "zap ** frob*",
    "* qux",
    "** qux",
    "git status*",
    "git log*",
    "git log *",
    "git push*",
    "git push --force*",
    "git push ** --force*",
    "git *",
    "git * main",
    "rm -rf *",
    "rm *",
    "ls *",
    "ls*",
    "cat *",
    "npm run test:unit",
    "npm*",
    "make",
    "make *",
    "~/bin/x *",
    "cat ~/x",
    "/usr/bin/env *",
    "./run.sh",
    "./run.sh *",
    "scripts/*",
    "echo \"x\"",
    "echo 'a b'",
    "echo $HOME",
    "a?b",
    "a[bc] *",
    "{a,b} *",
    "10",
    "2 *",
    "foo:*",
    "foo(bar)",
    "foo)",
    "x > y",
    "x | y",
    "x && y",
    "null",
    "yes",
    "~",
    "~root/x *",
    "curl https://h:8080/*",
    "sh -c *",
    "env *",
    "sudo apt-get *",
];

const PATHS: &[&str] = &[
    "*",
    "**",
    "**/*",
    "src/**",
    "src/*",
    "src",
    "src/",
    "**/*.rs",
    "*.lock",
    "**/*.lock",
    "src/a/*",
    "**/secret/**",
    "**/a/**/b",
    "docs/*.md",
    "./x",
    "a b/c",
    "a?b/[x]",
    "{a,b}/**",
    "10",
    "10/**",
    "x.env",
    "**/.env*",
    ".",
    "..",
    "../x/**",
    "/",
    "~",
    "~/p/**",
    "~/p",
    "/tmp/**",
    "/tmp/*",
    "/tmp",
    "~/.config/opencode/**",
    "/run/agenix/**",
    "/etc/passwd",
    "/workspace/src/**",
    "/home/user/p/a*",
];

const ADDRESSES: &[&str] = &[
    "*",
    "**",
    "https://docs.example.org/*",
    "docs.example.org",
    "*.example.org",
    "**.example.org",
    "http://h.org:8080/x",
    "https://h.org/?q=*",
    "https://*.a.org/**",
    "h.org:*",
    "localhost",
];

const NAMES: &[&str] = &[
    "*",
    "**",
    "github/*",
    "github/create_issue",
    "github/**",
    "*/read*",
    "a_b/c",
    "git_hub/*",
    "10",
    "todowrite",
    "my_tool",
    "my_*",
    "bash",
    "edit",
    "write",
    "external_directory",
    "pdf",
    "git-*",
    "explore",
    "rev*",
    "CI",
    "AWS_*",
    "Bash",
    "mcp__github",
    "?",
    "a b",
];

/// `trust` of a manifest.
fn trust() -> impl Strategy<Value = String> {
    let word = |words: &'static [&'static str]| proptest::option::of(select(words));
    let axes = (
        word(&["none", "read-only", "scoped", "full"]),
        word(&["none", "scoped", "allowed"]),
        word(&["none", "sandboxed", "full"]),
        word(&["[.]", "[./a]", "[./a/b, ./c]", "[]", "['/srv/x']"]),
        word(&["[a.org]", "['*.a.org', b.org]", "[]"]),
    );
    axes.prop_map(|(files, network, exec, scope, hosts)| {
        let keys = ["filesystem", "network", "exec", "scope", "hosts"];
        let pairs = keys.into_iter().zip([files, network, exec, scope, hosts]);
        let pairs: Vec<_> =
            pairs.filter_map(|(key, word)| Some(format!("{key}: {}", word?))).collect();
        format!("trust: {{{}}}\n", pairs.join(", "))
    })
}

/// `abilities` of agent-md.
fn abilities() -> impl Strategy<Value = String> {
    let words = ["fs", "network", "sh", "sh:git", "sh:rm", "tool", "mcp", "env"];
    let list = |most| proptest::collection::btree_set(select(words.to_vec()), 0..most);
    (list(5), list(2)).prop_map(|(allow, deny)| {
        let allow: Vec<_> = allow.difference(&deny).collect();
        let deny: Vec<_> = deny.iter().collect();
        format!("abilities: {{allow: {allow:?}, deny: {deny:?}}}\n")
    })
}

/// `tool_permissions` of agentfs.
fn tools() -> impl Strategy<Value = String> {
    let words =
        ["Bash", "Read", "Edit", "Write", "WebFetch", "my_tool", "mcp__a__b", "Task", "My*"];
    let list = |most| proptest::collection::vec(select(words.to_vec()), 0..most);
    (list(5), list(3))
        .prop_map(|(allow, deny)| format!("{{\"allowed\": {allow:?}, \"denied\": {deny:?}}}"))
}

/// Subjects for a section: its own patterns with each wildcard filled in, and texts that no rule names.
pub(crate) fn samples(subject: &RenderSubject, section: Section) -> Vec<ExampleSubject> {
    let rules = subject.permissions.get(section).map(|section| section.rules.as_slice());
    let patterns = rules.unwrap_or_default().iter().map(|rule| rule.pattern.as_str());
    let fixed = match section.kind() {
        PatternKind::Command => {
            &["frob", "frob zap", "frob a qux", "frob a b qux", "git push --force"][..]
        }
        PatternKind::Path => {
            &["src/a", "src/a/b", "x", "/tmp/x", "/home/user/p/x/y", "/run/agenix/k"][..]
        }
        PatternKind::Web => &["https://docs.example.org/a/b", "https://x.a.org/"][..],
        PatternKind::Name => &["github/create_issue", "my_tool", "other", "a_b/c"][..],
        PatternKind::Text => &["how to rust", "x"][..],
    };
    let filled = patterns.flat_map(|pattern| {
        ["", "a", "a b", "a/b", "-x"].map(|fill| pattern.replace("**", "*").replace('*', fill))
    });
    let texts = filled.chain(fixed.iter().map(|text| (*text).to_owned()));
    texts.filter_map(|text| example(section, &text)).collect()
}

fn example(section: Section, text: &str) -> Option<ExampleSubject> {
    let places = PathAnchors::default();
    match section.kind() {
        PatternKind::Command => {
            let words = text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned);
            let words: Vec<_> = words.collect();
            (!words.is_empty()).then_some(ExampleSubject::Command(words))
        }
        PatternKind::Path => {
            let home = places.home.unwrap_or_default();
            let path = match text.strip_prefix('~') {
                Some(rest) => format!("{home}{rest}"),
                None if text.starts_with('/') => text.to_owned(),
                None => format!("{}/{text}", places.workspace),
            };
            let plain = |part: &str| !matches!(part, "" | "." | "..");
            path.split('/').skip(1).all(plain).then_some(ExampleSubject::Text(path))
        }
        PatternKind::Web => {
            let rest = text.strip_prefix("https://").filter(|rest| !rest.contains(' '))?;
            let host = rest.split('/').next()?;
            // Anything else is not an address.
            let plain = host.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == ':');
            if !plain || host.split('.').any(str::is_empty) {
                return None;
            }
            let port = if host.contains(':') { "" } else { ":443" };
            Some(ExampleSubject::Text(text.replacen(host, &format!("{host}{port}"), 1)))
        }
        PatternKind::Name | PatternKind::Text => {
            (!text.is_empty()).then(|| ExampleSubject::Text(text.to_owned()))
        }
    }
}

/// Whether a rule about files may be about a word behind the program, which harnesses do not look at.
pub(crate) fn may_name_files(subject: &RenderSubject, line: &str) -> bool {
    let has_words = line.contains(' ');
    has_words
        && [Section::Read, Section::Edit, Section::ExternalDirectory].into_iter().any(|section| {
            let bounds = subject.bounds(section);
            let mut rules = bounds.iter().flat_map(|list| &list.rules);
            rules.any(|rule| rule.action > Action::Allow && !rule.pattern.is_everything())
        })
}
