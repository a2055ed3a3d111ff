//! The rules by which lines and their effects are judged.

use agentry_policy::path::NoLinks;
use agentry_policy::{
    Action, Judge, LayerSource, PathAnchors, PatternSubject, Permissions, Section, SectionCall,
    SectionRules, layer,
};
use agentry_text::{FileId, Span, Spanned};

/// A policy with a name.
pub(crate) struct RuleSet {
    /// The name for messages.
    pub(crate) name: String,
    judge: Judge,
}

/// The intent and the rules of one section.
type Written<'a> = (Section, Action, &'a [&'a str]);

const READING: &[&str] = &[
    "git log*:allow",
    "git status:allow",
    "git diff *:allow",
    "ls *:allow",
    "cat *:allow",
    "grep *:allow",
    "head *:allow",
    "echo *:allow",
    "printf *:allow",
    "wc *:allow",
    "rm *:deny",
    "curl *:deny",
];

/// The policies of an ordinary run.
pub(crate) fn rule_sets() -> Vec<RuleSet> {
    let searching: Vec<&str> =
        READING.iter().copied().chain(["find *:allow", "sort *:allow", "sed *:allow"]).collect();
    vec![
        set("reading only", &[(Section::Bash, Action::Ask, READING)]),
        set(
            "reading, and writing in `out`",
            &[
                (Section::Bash, Action::Deny, &searching),
                (Section::Edit, Action::Deny, &["out/**:allow", "notes.txt:allow"]),
                (Section::Env, Action::Ask, &["FOO:allow"]),
            ],
        ),
        set(
            "everything but `rm` and `curl`",
            &[
                (
                    Section::Bash,
                    Action::Allow,
                    &[
                        "rm *:deny",
                        "curl *:ask",
                        "git push*:deny",
                        "ls --force:ask",
                        "sh *:ask",
                        "bash *:ask",
                        ". *:ask",
                        "source *:ask",
                    ],
                ),
                (Section::Edit, Action::Ask, &["src/**:allow", ".env:deny"]),
            ],
        ),
    ]
}

/// Whether options without an effect may be removed before the rules are applied.
fn has_plain_form(argv: &[&str]) -> bool {
    const PROGRAMS: &[&str] = &[
        "c++", "cargo", "cc", "clang", "clang++", "curl", "docker", "g++", "gcc", "git", "go",
        "make", "npm", "pnpm", "podman", "wget", "yarn",
    ];
    argv.first().is_some_and(|name| PROGRAMS.contains(name))
}

/// Returns the line that makes exactly this call.
fn quoted(argv: &[&str]) -> String {
    let words = argv.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''")));
    words.collect::<Vec<_>>().join(" ")
}

fn set(name: &str, written: &[Written<'_>]) -> RuleSet {
    let nowhere = Span::start_of(FileId(0));
    let section = |(section, intent, rules): &Written<'_>| SectionRules {
        section: Spanned::new(*section, nowhere),
        intent: Some(Spanned::new(*intent, nowhere)),
        rules: rules
            .iter()
            .map(|rule| Spanned::new(rule.parse().expect("a rule"), nowhere))
            .collect(),
    };
    let sections = written.iter().map(section).collect();
    let places = PathAnchors::default();
    let layer = layer(LayerSource::Permissions, &Permissions { sections }, &places);
    RuleSet::new(name, Judge::new(vec![layer], places))
}

impl RuleSet {
    /// Returns a policy by name.
    pub(crate) fn new(name: &str, judge: Judge) -> Self {
        Self { name: name.to_owned(), judge }
    }

    /// Whether a whole line is allowed.
    pub(crate) fn allows(&self, line: &str) -> bool {
        self.asks(Section::Bash, line) == Action::Allow
    }

    /// Whether one command is allowed as it was really called. Nothing is analysed here, but a command with
    /// a plain form is judged as a line of its own.
    pub(crate) fn allows_command(&self, argv: &[&str]) -> bool {
        let subject = PatternSubject::Command(argv);
        let mut rules = self.judge.rules(Section::Bash);
        let is_allowed = rules.all(|(_, rules)| rules.first(subject).action == Action::Allow);
        is_allowed || (has_plain_form(argv) && self.allows(&quoted(argv)))
    }

    /// Whether a file may be written, or a directory be entered.
    pub(crate) fn allows_path(&self, section: Section, path: &str) -> bool {
        self.asks(section, path) == Action::Allow
    }

    /// Whether a variable may be passed to a command.
    pub(crate) fn allows_variable(&self, name: &str) -> bool {
        self.asks(Section::Env, name) == Action::Allow
    }

    /// Whether no rule asks about or denies commands.
    pub(crate) fn is_open(&self) -> bool {
        let mut rules = self.judge.rules(Section::Bash);
        rules.all(|(_, rules)| rules.all().all(|rule| rule.action == Action::Allow))
    }

    fn asks(&self, section: Section, subject: &str) -> Action {
        let call = SectionCall { section, subject, directory: "/workspace" };
        self.judge.judge(call, &NoLinks).action
    }
}
