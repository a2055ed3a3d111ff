//! The pattern language of all rules: `*`, `**`, everything else literal.
//!
//! What a pattern means depends on what it is about and on the action of its rule; the whole
//! meaning is written down in `docs/reference/patterns.md`, whose tables are run as a test. Matching
//! is done here directly; `automata` turns the same patterns into machines for questions about all
//! subjects at once.

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

/// What kind of subject a pattern is matched against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatternKind {
    /// An argument list.
    Command,
    /// An absolute path.
    Path,
    /// A web address in canonical form.
    Web,
    /// A name, or two joined by `/`.
    Name,
    /// Free text, in which `*` takes a `/` too.
    Text,
}

impl PatternKind {
    /// How many kinds there are.
    pub(crate) const COUNT: usize = Self::Text as usize + 1;

    /// Its name.
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

/// What a tool call is about, as far as one pattern is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternSubject<'a> {
    /// An argument list, for [`PatternKind::Command`].
    Command(&'a [&'a str]),
    /// A text, for every other kind.
    Text(&'a str),
}

/// Whether an allow stops at options that make a harmless command write, delete or run something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HazardProtection {
    /// It does, unless its pattern names the option.
    On,
    /// It does not: only what the rules say counts.
    Off,
}

/// One pattern of one rule, ready to match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// As written.
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

/// The machine of a pattern, once it has been asked for. No part of what the pattern says.
#[derive(Debug, Clone, Default)]
struct PatternMachine {
    machine: Arc<OnceLock<Result<StateMachine, MachineTooLarge>>>,
    /// Patterns with one number mean the same; most have none.
    number: Option<u64>,
}

impl PatternMachine {
    /// One with a number that no other has.
    fn numbered() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { number: Some(NEXT.fetch_add(1, Ordering::Relaxed)), ..Self::default() }
    }
}

/// The regular expression of any text.
pub const ANYTHING: &str = "(?s:.)*";

/// Patterns of other rule languages, with the places of their machines. This is an interner rather than
/// a cache: the numbers in it tell patterns apart, so they must be unique in the whole process.
static FOREIGN: LazyLock<MemoTable<(PatternKind, Action, String), (PatternShape, PatternMachine)>> =
    LazyLock::new(MemoTable::default);

impl PartialEq for PatternMachine {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PatternMachine {}

/// What a pattern was read into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatternShape {
    /// `*` or `**`.
    Everything,
    /// Why it cannot be understood, or can never match.
    Wrong(String),
    Command(CommandPattern),
    Path(PathPattern),
    Web(WebPattern),
    Name(GlobPattern),
    /// A regular expression over the text of a subject, for rules in somebody else's language.
    Foreign(String),
}

impl Section {
    /// The kind of subjects that the section's patterns are about.
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
    /// Reads a pattern. What it means depends on the action: a deny reaches further than an allow.
    pub fn new(kind: PatternKind, text: &str, action: Action, places: &PathAnchors) -> Self {
        let shape = PatternShape::read(kind, text.trim_matches(' '), action, places);
        let shape = shape.unwrap_or_else(PatternShape::Wrong);
        Self { text: text.to_owned(), kind, action, shape, machine: PatternMachine::default() }
    }

    /// A pattern of somebody else's rule language, as a regular expression over the text of a
    /// subject: the words of a command each followed by NUL, the segments of a path each followed by
    /// `/` (without the first one), an address with `.` after its host and its port always written,
    /// a name as it is. An allow that is no such expression holds for nothing, a deny for everything.
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

    /// Whether the rule holds for `subject`.
    pub fn matches(&self, subject: PatternSubject<'_>) -> bool {
        self.matches_under(subject, HazardProtection::On)
    }

    /// Whether the rule holds for `subject`, with or without the built-in protections.
    pub fn matches_under(
        &self,
        subject: PatternSubject<'_>,
        protections: HazardProtection,
    ) -> bool {
        self.matches_encoded(subject, protections, &OnceCell::new())
    }

    /// The same. `encoded` is the subject as machines see it: patterns of one kind that are tried one
    /// after the other need to make it only once.
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
                Err(MachineTooLarge) => stricter,
            },
            // What is not understood is never allowed.
            _ => stricter,
        }
    }

    /// The machine of all subjects that the rule holds for, protections included.
    pub(crate) fn machine(&self) -> Result<&StateMachine, MachineTooLarge> {
        let machine = self.machine.machine.get_or_init(|| leaf(self, HazardProtection::On));
        machine.as_ref().map_err(|too_large| *too_large)
    }

    /// Whether the built-in protections make a difference to it.
    pub(crate) fn is_protected(&self) -> bool {
        self.action == Action::Allow && matches!(self.shape, PatternShape::Command(_))
    }

    /// The same for commands as they are written only; nothing if that is what it says anyway.
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

    /// Adds a text that two patterns about the same places share only if they mean the same. It holds
    /// for this process.
    pub fn identify(&self, out: &mut String) {
        match (&self.shape, self.machine.number) {
            (PatternShape::Foreign(_), Some(number)) => {
                out.extend(["foreign ", &number.to_string()])
            }
            (PatternShape::Foreign(regex), None) => out.extend(["foreign ", regex]),
            (PatternShape::Command(shape), _) if shape.as_written => {
                out.extend(["as written ", &self.text]);
            }
            _ => out.extend([self.action.as_str(), " ", &self.text]),
        }
    }

    /// What kind of subjects it is about.
    pub fn kind(&self) -> PatternKind {
        self.kind
    }

    /// Whether it is one of somebody else's rule language.
    pub fn is_foreign(&self) -> bool {
        matches!(self.shape, PatternShape::Foreign(_))
    }

    /// Whether it is `*` or `**`, which stand for every subject.
    pub fn is_everything(&self) -> bool {
        matches!(self.shape, PatternShape::Everything)
    }

    /// Why it cannot be understood, or can never match. Such an allow holds for nothing, such a
    /// deny or ask for everything.
    pub fn problem(&self) -> Option<&str> {
        match &self.shape {
            PatternShape::Wrong(why) => Some(why),
            _ => None,
        }
    }

    /// Whether it holds a `*`.
    pub fn has_wildcard(&self) -> bool {
        self.text.contains('*')
    }

    /// What stands before its first `*`.
    pub fn literal_prefix(&self) -> &str {
        self.text.split('*').next().unwrap_or_default()
    }

    /// Its tokens, for a pattern about commands: what stands between spaces.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        command::tokens(&self.text)
    }

    /// Whether it spells out the words of a command up to the one at `index`, without a wildcard.
    pub fn spells_out(&self, index: usize) -> bool {
        let words: Vec<&str> = self.tokens().take(index + 1).collect();
        match words.split_last() {
            Some((last, before)) => {
                before.len() == index
                    && before.iter().all(|word| !word.contains('*'))
                    && !last.trim_matches('*').is_empty()
            }
            None => false,
        }
    }

    /// Whether it is about web addresses and names the host without a wildcard.
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
