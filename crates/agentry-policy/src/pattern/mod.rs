//! The pattern language of all rules: `*` and `**` are wildcards, everything else is literal.
//!
//! The meaning of a pattern depends on its kind and on the action of its rule. It is specified in
//! `docs/reference/patterns.md`, whose tables are run as a test. This module matches one subject directly;
//! `automata` turns the same patterns into machines for questions about all subjects.

pub(crate) mod command;
pub(crate) mod glob;
pub(crate) mod path;
pub(crate) mod sequence;
#[cfg(test)]
mod tests;
pub(crate) mod web;

use std::cell::OnceCell;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use command::CommandPattern;
use glob::{GlobPart, GlobPattern};
use path::PathPattern;
use web::WebPattern;

use crate::automata::MachineTooLarge;
use crate::automata::leaf::leaf;
use crate::automata::machine::{NONE, StateMachine};
use crate::automata::subject::encode;
use crate::memo::MemoTable;
use crate::{Action, PathAnchors, Section, hazard};

/// The kind of subject that a pattern is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatternKind {
    /// An argument list.
    Command,
    /// An absolute path.
    Path,
    /// A web address in canonical form.
    Web,
    /// A name, or two names joined by `/`.
    Name,
    /// Free text, in which `*` also matches `/`.
    Text,
}

impl PatternKind {
    /// The number of kinds.
    pub(crate) const COUNT: usize = Self::Text as usize + 1;

    /// Returns the name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Path => "path",
            Self::Web => "web",
            Self::Name => "name",
            Self::Text => "text",
        }
    }
}

/// The subject of a tool call, in the form in which patterns are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternSubject<'a> {
    /// An argument list, for [`PatternKind::Command`].
    Command(&'a [&'a str]),
    /// A text, for every other kind.
    Text(&'a str),
}

/// Whether an allow rule excludes hazards, the options that make a harmless command write, delete or run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HazardProtection {
    /// It excludes them, unless its pattern names the option.
    On,
    /// It includes them: only the text of the rule counts.
    Off,
}

/// One pattern of one rule, ready to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The text as written.
    pub text: String,
    pub(crate) kind: PatternKind,
    pub(crate) action: Action,
    pub(crate) shape: PatternShape,
    machine: PatternMachine,
}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { text, kind, action, shape: _, machine: _ } = self;
        (text, kind, action).hash(state);
    }
}

/// The cached machine of a pattern; it is no part of the pattern's meaning.
#[derive(Debug, Clone, Default)]
struct PatternMachine {
    machine: Arc<OnceLock<Result<StateMachine, MachineTooLarge>>>,
    /// Patterns with the same number are equal; only foreign patterns have one.
    number: Option<u64>,
}

impl PatternMachine {
    /// Makes one with a unique number.
    fn numbered() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: Some(NEXT.fetch_add(1, Ordering::Relaxed)), ..Self::default() }
    }
}

/// The regular expression that matches any text.
pub const ANYTHING: &str = "(?s:.)*";

/// Patterns of other rule languages, with their machines. This is an interner rather than a cache: its
/// numbers identify patterns, so they must be unique in the whole process.
static FOREIGN: LazyLock<ForeignPatterns> = LazyLock::new(MemoTable::default);

type ForeignPatterns = MemoTable<(PatternKind, Action, String), (PatternShape, PatternMachine)>;

impl PartialEq for PatternMachine {
    // Two patterns are equal by text, kind and action, whether or not their machines are built yet.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PatternMachine {}

/// The parsed form of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatternShape {
    /// `*` or `**`.
    Everything,
    /// The reason why it cannot be parsed, or can never match.
    Wrong(String),
    Command(CommandPattern),
    Path(PathPattern),
    Web(WebPattern),
    Name(GlobPattern),
    /// A regular expression over an encoded subject, for rules of another rule language.
    Foreign(String),
}

impl Section {
    /// Returns the kind of subject of the section's patterns.
    pub fn kind(self) -> PatternKind {
        match self {
            Self::Bash => PatternKind::Command,
            Self::Edit | Self::Read | Self::ExternalDirectory => PatternKind::Path,
            Self::Webfetch => PatternKind::Web,
            Self::Websearch | Self::Question => PatternKind::Text,
            Self::Mcp | Self::Tool | Self::Skill | Self::Delegate | Self::Env => PatternKind::Name,
        }
    }
}

impl Pattern {
    /// Parses a pattern. The meaning depends on the action: a deny rule matches more than an allow rule.
    pub fn new(kind: PatternKind, text: &str, action: Action, places: &PathAnchors) -> Self {
        let shape = PatternShape::read(kind, text.trim_matches(' '), action, places);
        let shape = shape.unwrap_or_else(PatternShape::Wrong);
        Self { text: text.to_owned(), kind, action, shape, machine: PatternMachine::default() }
    }

    /// Makes a pattern of another rule language, from a regular expression over encoded subjects. A command
    /// is its words, each followed by NUL. A path is its segments, each followed by `/`, without the first
    /// `/`. An address has a `.` after its host and an explicit port. A name is unchanged. If the expression
    /// is invalid, an allow rule matches nothing, and a deny rule matches everything.
    pub fn foreign(kind: PatternKind, regex: &str, text: &str, action: Action) -> Self {
        let read = || match crate::automata::regex::read(regex) {
            Some(_) if regex == ANYTHING => (PatternShape::Everything, PatternMachine::default()),
            Some(_) => (PatternShape::Foreign(regex.to_owned()), PatternMachine::numbered()),
            None => {
                let why = "the pattern is not a regular expression".to_owned();
                (PatternShape::Wrong(why), PatternMachine::default())
            }
        };
        let (shape, machine) = FOREIGN.get((kind, action, regex.to_owned()), read);
        Self { text: text.to_owned(), kind, action, shape, machine }
    }

    /// Returns the literal text with which every path that matches starts.
    pub(crate) fn literal_start(&self) -> Option<&str> {
        match &self.shape {
            PatternShape::Path(path) => Some(path.literal_start()),
            _ => None,
        }
    }

    /// Returns the base name of the only program that a command pattern matches.
    pub(crate) fn program(&self) -> Option<&str> {
        match &self.shape {
            PatternShape::Command(command) => {
                command.elements.first()?.as_literal().map(agentry_commands::base_name)
            }
            _ => None,
        }
    }

    /// Whether the rule matches `subject`.
    pub fn matches(&self, subject: PatternSubject<'_>) -> bool {
        self.matches_under(subject, HazardProtection::On)
    }

    /// Whether the rule matches `subject`, with or without hazard protection.
    pub fn matches_under(
        &self,
        subject: PatternSubject<'_>,
        protections: HazardProtection,
    ) -> bool {
        self.matches_encoded(subject, protections, &OnceCell::new())
    }

    /// Like [`Self::matches_under`]. `encoded` caches the encoded subject, so that it is made only once for
    /// several patterns of one kind.
    pub(crate) fn matches_encoded(
        &self,
        subject: PatternSubject<'_>,
        protections: HazardProtection,
        encoded: &OnceCell<String>,
    ) -> bool {
        let stricter = self.action != Action::Allow;
        match (&self.shape, subject) {
            (PatternShape::Everything, _) => true,
            (PatternShape::Command(pattern), PatternSubject::Command(argv)) => {
                pattern.matches(argv)
                    && (stricter
                        || protections == HazardProtection::Off
                        || hazard::permits(self, argv))
            }
            (PatternShape::Path(pattern), PatternSubject::Text(path)) => pattern.matches(path),
            (PatternShape::Web(pattern), PatternSubject::Text(address)) => {
                pattern.matches(address).unwrap_or(stricter)
            }
            (PatternShape::Name(glob), PatternSubject::Text(name)) => glob.matches(name),
            (PatternShape::Foreign(_), subject) => match self.machine() {
                Ok(machine) => {
                    machine.run(encoded.get_or_init(|| encode(self.kind, subject))) != NONE
                }
                // Without a machine, a deny or ask rule matches, and an allow rule does not.
                Err(MachineTooLarge) => stricter,
            },
            // A subject or pattern that is not understood is never allowed.
            _ => stricter,
        }
    }

    /// Returns the machine of all subjects that the rule matches, with hazard protection.
    pub(crate) fn machine(&self) -> Result<&StateMachine, MachineTooLarge> {
        let machine = self.machine.machine.get_or_init(|| leaf(self, HazardProtection::On));
        machine.as_ref().map_err(|too_large| *too_large)
    }

    /// Whether hazard protection makes a difference.
    pub(crate) fn is_protected(&self) -> bool {
        self.action == Action::Allow && matches!(self.shape, PatternShape::Command(_))
    }

    /// Returns the pattern that matches only commands as they are written; `None` if it already is that one.
    pub(crate) fn as_written(&self) -> Option<Self> {
        let PatternShape::Command(shape) = &self.shape else { return None };
        let narrow = CommandPattern { as_written: true, ..shape.clone() };
        let shape = PatternShape::Command(narrow);
        (shape != self.shape).then(|| Self {
            shape,
            machine: PatternMachine::default(),
            ..self.clone()
        })
    }

    /// Appends a text that two patterns with the same anchors share only if they mean the same. It is valid
    /// only in this process.
    pub fn identify(&self, out: &mut String) {
        match (&self.shape, self.machine.number) {
            (PatternShape::Foreign(_), Some(number)) => {
                out.extend(["foreign ", &number.to_string()]);
            }
            (PatternShape::Foreign(regex), None) => out.extend(["foreign ", regex]),
            (PatternShape::Command(shape), _) if shape.as_written => {
                out.extend(["as written ", &self.text]);
            }
            _ => out.extend([self.action.as_str(), " ", &self.text]),
        }
    }

    /// Returns the kind of its subjects.
    pub fn kind(&self) -> PatternKind {
        self.kind
    }

    /// Whether it comes from another rule language.
    pub fn is_foreign(&self) -> bool {
        matches!(self.shape, PatternShape::Foreign(_))
    }

    /// Whether it is `*` or `**`, which match every subject.
    pub fn is_everything(&self) -> bool {
        matches!(self.shape, PatternShape::Everything)
    }

    /// Whether it matches paths by their names.
    pub(crate) fn is_path(&self) -> bool {
        matches!(self.shape, PatternShape::Path(_))
    }

    /// Returns why it cannot be parsed, or can never match. Such an allow rule matches nothing, and such a
    /// deny or ask rule matches everything.
    pub fn problem(&self) -> Option<&str> {
        match &self.shape {
            PatternShape::Wrong(why) => Some(why),
            _ => None,
        }
    }

    /// Whether it contains a `*`.
    pub fn has_wildcard(&self) -> bool {
        self.text.contains('*')
    }

    /// Returns the tokens of a pattern about commands, which are separated by spaces.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        command::tokens(&self.text)
    }

    /// Whether it contains the words of a command up to the one at `index` without a wildcard.
    pub fn spells_out(&self, index: usize) -> bool {
        let words: Vec<&str> = self.tokens().take(index + 1).collect();
        match words.split_last() {
            Some((last, before)) => {
                before.len() == index
                    && before.iter().all(|word| !word.contains('*'))
                    // The last word may end in a wildcard, such as `git*`, but must not be one entirely.
                    && !last.trim_matches('*').is_empty()
            }
            None => false,
        }
    }

    /// Whether it is a pattern about web addresses whose host has no wildcard.
    pub fn names_host(&self) -> bool {
        matches!(&self.shape, PatternShape::Web(pattern) if pattern.names_host())
    }
}

impl PatternShape {
    fn read(
        kind: PatternKind,
        text: &str,
        action: Action,
        places: &PathAnchors,
    ) -> Result<Self, String> {
        if text == "*" || text == "**" {
            return Ok(Self::Everything);
        }
        if text.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        if text.contains('\0') {
            return Err("the pattern holds a NUL character".to_owned());
        }
        Ok(match kind {
            PatternKind::Command => Self::Command(CommandPattern::new(text, action, places)),
            PatternKind::Path => Self::Path(PathPattern::new(text, places)?),
            PatternKind::Web => Self::Web(WebPattern::new(text, action)?),
            PatternKind::Name => Self::Name(GlobPattern::new(text, &GlobPart::Segment)),
            PatternKind::Text => Self::Name(GlobPattern::new(text, &GlobPart::Any)),
        })
    }
}
