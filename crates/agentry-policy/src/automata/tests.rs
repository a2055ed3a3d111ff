//! Compares the machines with the direct matching.

use agentry_commands::hazard::hazards;
use agentry_commands::{HazardSign, global_options, names as programs};
use proptest::prelude::*;

use super::subject::encode;
use crate::automata::leaf::{leaf, universe};
use crate::automata::machine::NONE;
use crate::pattern::{HazardProtection, Pattern, PatternKind, PatternSubject};
use crate::{Action, PathAnchors};

/// Pieces of patterns and subjects, for each kind.
pub(crate) fn pieces(kind: PatternKind) -> &'static [&'static str] {
    match kind {
        PatternKind::Command => &[
            "a",
            "b",
            "/",
            "..",
            ".",
            "-",
            "--",
            "=",
            "~",
            "~/",
            " ",
            " ",
            "git",
            "push",
            "-c",
            "--output",
            "x=",
            "-C",
            "/home/user",
            "é",
        ],
        PatternKind::Path => &[
            "a",
            "b",
            "/",
            "/",
            "..",
            "../",
            "./",
            ".",
            "~/",
            "/workspace/",
            "/home/user/",
            "-",
            " ",
            "é",
        ],
        PatternKind::Web => &[
            "a", "b", ".", "..", "/", "/a/", "?", "https://", "http://", ":", ":8080", "x.org",
            "a.x.org", "-", "%20",
        ],
        PatternKind::Name | PatternKind::Text => &["a", "b", "/", "..", "-", " ", "A_", "é"],
    }
}

/// Generates a pattern of any kind, with many wildcards.
pub(crate) fn any_pattern(kind: PatternKind) -> impl Strategy<Value = String> {
    let mut parts = pieces(kind).to_vec();
    parts.extend(["*", "*", "*", "**", "**", "**/", "/*"]);
    let loose = proptest::collection::vec(proptest::sample::select(parts), 1..7)
        .prop_map(|parts| parts.concat());
    match kind {
        PatternKind::Command => {
            let options = loose.clone();
            (known_command(), options, loose.clone(), any::<u8>())
                .prop_map(|(known, options, loose, which)| match which % 3 {
                    0 => loose,
                    1 => format!("{known} {options}"),
                    _ => format!("{known} {options} {loose}"),
                })
                .boxed()
        }
        _ => loose.boxed(),
    }
}

/// Generates a command of the data files, sometimes with one of its options.
fn known_command() -> impl Strategy<Value = String> {
    let mut words: Vec<String> = Vec::new();
    for hazard in programs().flat_map(hazards) {
        let spelling = match hazard.sign {
            HazardSign::Long(spelling, least) => spelling[..least].to_owned(),
            HazardSign::Word(spelling)
            | HazardSign::Prefix(spelling)
            | HazardSign::Global(spelling) => spelling.to_owned(),
            HazardSign::Short(option) => format!("-{option}"),
            HazardSign::Unless(_) => "x".to_owned(),
        };
        let first = hazard.subcommands.first().copied().unwrap_or_default();
        words.push(hazard.command.to_owned());
        words.push(format!("{} {first} {spelling}", hazard.command));
        words.push(format!("{} {first}", hazard.command));
    }
    for command in programs() {
        words.extend(
            global_options(command).iter().map(|option| format!("{command} {}", option.spelling)),
        );
    }
    proptest::sample::select(words)
}

/// Generates a subject related to `pattern`, with its wildcards filled in.
fn filled(pattern: &str, fill: &[&str]) -> String {
    let mut text = String::new();
    let mut fill = fill.iter().cycle();
    let mut rest = pattern;
    while let Some(at) = rest.find('*') {
        text.push_str(&rest[..at]);
        text.push_str(fill.next().unwrap_or(&""));
        rest = rest[at..].trim_start_matches('*');
    }
    text + rest
}

/// Makes a text into a valid subject of its kind.
pub(crate) fn subject(kind: PatternKind, text: &str) -> Vec<String> {
    match kind {
        PatternKind::Command => {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            let first = words.iter().position(|word| !word.is_empty()).unwrap_or(0);
            words[first..].to_vec()
        }
        PatternKind::Path => {
            let mut path: Vec<&str> =
                if text.starts_with('/') { vec![] } else { vec!["workspace"] };
            for segment in text.split('/') {
                match segment {
                    "" | "." => {}
                    ".." => drop(path.pop()),
                    "~" => path = vec!["home", "user"],
                    segment => path.push(segment),
                }
            }
            vec![format!("/{}", path.join("/"))]
        }
        PatternKind::Web => {
            let text =
                if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
            let Ok(url) = url::Url::parse(&text) else { return vec![] };
            let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
                return vec![];
            };
            let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
            vec![format!("{}://{host}:{port}{}{query}", url.scheme(), url.path())]
        }
        PatternKind::Name | PatternKind::Text => vec![text.to_owned()],
    }
}

fn kinds() -> impl Strategy<Value = PatternKind> {
    proptest::sample::select(vec![
        PatternKind::Command,
        PatternKind::Command,
        PatternKind::Command,
        PatternKind::Path,
        PatternKind::Web,
        PatternKind::Name,
        PatternKind::Text,
    ])
}

fn cases() -> impl Strategy<Value = (PatternKind, String, Vec<String>)> {
    kinds().prop_flat_map(|kind| {
        let fills = proptest::collection::vec(proptest::sample::select(pieces(kind)), 1..4);
        (any_pattern(kind), any_pattern(kind), proptest::collection::vec(fills, 6)).prop_map(
            move |(pattern, other, fills)| {
                let near = fills.iter().map(|fill| filled(&pattern, fill));
                let far = fills.iter().map(|fill| filled(&other, fill));
                let mixed = fills.iter().map(|fill| filled(&pattern, fill) + &fill.concat());
                let spaced =
                    fills.iter().map(|fill| filled(&pattern, fill) + " " + &fill.join(" "));
                let texts = near.clone().chain(far).chain(mixed).chain(spaced).collect();
                (kind, pattern.clone(), texts)
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn automata_agree_with_direct_matching((kind, text, subjects) in cases()) {
        let universe = universe(kind).expect("a small machine");
        for action in [Action::Allow, Action::Deny] {
            let pattern = Pattern::new(kind, &text, action, &PathAnchors::default());
            for protections in [HazardProtection::On, HazardProtection::Off] {
                let machine = leaf(&pattern, protections).expect("a small machine");
                for text in &subjects {
                    let words = subject(kind, text);
                    let argv: Vec<&str> = words.iter().map(String::as_str).collect();
                    let subject = match (kind, argv.as_slice()) {
                        (_, [] | ["", ..]) => continue,
                        (PatternKind::Command, argv) => PatternSubject::Command(argv),
                        (_, argv) => PatternSubject::Text(argv[0]),
                    };
                    if universe.run(&encode(kind, subject)) == NONE {
                        prop_assert_eq!(kind, PatternKind::Web, "{:?} is no subject", subject);
                        continue;
                    }
                    let matches = pattern.matches_under(subject, protections);
                    let output = machine.run(&encode(kind, subject));
                    prop_assert_eq!(
                        output != NONE, matches,
                        "{}:{} on {:?}, {:?}", &pattern.text, action, subject, protections
                    );
                }
            }
        }
    }
}
