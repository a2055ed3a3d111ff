//! Random chains of agents: however they are merged, no agent may do more than its base.

use agentry_compile::policy::Section;
use agentry_compile::{MemoryWorld, policy_diff};
use proptest::prelude::*;

use super::{checked, errors};

/// The policy of one level of a chain, in one of three formats.
fn level() -> impl Strategy<Value = Level> {
    let word =
        |words: &'static [&'static str]| proptest::option::of(proptest::sample::select(words));
    let trust = (
        word(&["none", "read-only", "scoped", "full"]),
        word(&["none", "scoped", "allowed"]),
        word(&["none", "sandboxed", "full"]),
        word(&["[.]", "[./a]", "[./a/b, ./c]", "[]"]),
        word(&["[a.org]", "['*.a.org', b.org]", "[]"]),
        word(&["[]", "[ask-before-writing]", "[be-concise]"]),
    );
    let rules = proptest::collection::vec(
        proptest::sample::select(&[
            "git log *:allow",
            "git *:ask",
            "rm *:deny",
            "**:allow",
            "ls *:allow",
            "git push ** --force*:deny",
        ]),
        0..4,
    );
    let sections = (word(&["allow", "ask", "deny"]), word(&["allow", "ask", "deny"]), rules);
    let abilities = word(&["[fs]", "[fs, sh]", "['sh:git', tool]", "[network, mcp, env]", "[]"]);
    prop_oneof![
        trust.prop_map(|(fs, net, exec, scope, hosts, traits)| {
            let pairs = [
                ("filesystem", fs),
                ("network", net),
                ("exec", exec),
                ("scope", scope),
                ("hosts", hosts),
            ];
            let pairs: Vec<_> = pairs
                .iter()
                .filter_map(|(key, word)| Some(format!("{key}: {}", (*word)?)))
                .collect();
            let trust = if pairs.is_empty() {
                String::new()
            } else {
                format!("trust: {{{}}}\n", pairs.join(", "))
            };
            let traits =
                traits.map_or(String::new(), |traits| format!("behavior: {{traits: {traits}}}\n"));
            Level::Manifest(format!("{trust}{traits}"))
        }),
        sections.prop_map(|(bash, edit, rules)| {
            let mut text = String::new();
            if let Some(bash) = bash {
                text.push_str(&format!(
                    "[permissions.bash]\nintent = \"{bash}\"\nrules = {rules:?}\n"
                ));
            }
            if let Some(edit) = edit {
                text.push_str(&format!("[permissions.edit]\nintent = \"{edit}\"\n"));
            }
            Level::Toml(text)
        }),
        abilities.prop_map(|abilities| {
            Level::Markdown(abilities.map_or(String::new(), |list| format!("abilities: {list}\n")))
        }),
    ]
}

#[derive(Debug, Clone)]
enum Level {
    Manifest(String),
    Toml(String),
    Markdown(String),
}

/// The files of a chain, all at the same directory depth, and the path of each agent.
fn files(levels: &[Level]) -> (Vec<(String, String)>, Vec<String>) {
    let (mut files, mut paths) = (Vec::new(), Vec::<String>::new());
    let mut bases = String::from("[bases]\n");
    for (at, level) in levels.iter().enumerate() {
        let base = paths.last().cloned();
        let line = base.as_ref().map_or(String::new(), |base| format!("base: ./{base}\n"));
        let path = match level {
            Level::Manifest(text) => {
                let path = format!("a{at}.agent");
                files.push((
                    path.clone(),
                    format!("name: a{at}\ndescription: Answers\n{line}{text}"),
                ));
                path
            }
            Level::Toml(text) => {
                let path = format!("a{at}");
                files.push((
                    format!("{path}/agent.toml"),
                    format!("name = \"a{at}\"\ndescription = \"Answers\"\n{text}"),
                ));
                files.push((format!("{path}/system-prompt.md"), "You answer.\n".to_owned()));
                path
            }
            Level::Markdown(text) => {
                let path = format!("x_a{at}.agent.md");
                files.push((
                    path.clone(),
                    format!(
                        "---\ntitle: A\nicon: 🙂\nversion: 1.0.0\n{text}---\n# A\n\nAnswers.\n"
                    ),
                ));
                path
            }
        };
        if let (Some(base), Level::Toml(_) | Level::Markdown(_)) = (&base, level) {
            bases.push_str(&format!("\"{path}\" = \"./{base}\"\n"));
        }
        paths.push(path);
    }
    files.push(("agentry.toml".to_owned(), bases));
    (files, paths)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_child_may_do_more_than_its_base(levels in proptest::collection::vec(level(), 2..5)) {
        let (files, paths) = files(&levels);
        let world = MemoryWorld::new(files.clone());
        let agents: Vec<_> = paths.iter().map(|path| checked(&world, path)).collect();
        for pair in agents.windows(2) {
            let [base, child] = pair else { continue };
            if !errors(child).is_empty() {
                // Refused for a reason about trust or the base, never because of a defect here.
                let known = ["AG0035", "AG0036", "AG0039", "AG1", "AG2", "AG3"];
                for error in errors(child) {
                    prop_assert!(known.iter().any(|code| error.starts_with(code)), "{error}");
                }
                break;
            }
            for diff in policy_diff(base, child) {
                // A trust of files depends on where it is written.
                let placed = matches!(diff.section, Section::Edit);
                let moved = base.dir != child.dir;
                prop_assert!(
                    (placed && moved) || (diff.gained.is_empty() && diff.unknown.is_none()),
                    "{:?} gained {:?}\n{files:#?}", diff.section, diff.gained
                );
            }
        }
    }
}
