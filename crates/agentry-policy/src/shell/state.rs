//! The known state of the shell at one point of a line.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::current_dirs::CurrentDirs;
use crate::argv::ShellWord;

/// How many variables and functions are tracked; further ones are unknown.
const MAX_NAMES: usize = 64;
/// Longer values are unknown, so that `x=$x$x` cannot grow without limit.
const MAX_VALUE: usize = 4096;

/// The state of the shell at one point; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellState {
    /// The possible current directories.
    pub(super) bases: CurrentDirs,
    /// The directories before the last `cd`, if the line has one.
    pub(super) previous: Option<CurrentDirs>,
    /// The directory if every `cd` succeeds.
    pub(super) hoped: Option<CurrentDirs>,
    variables: Rc<BTreeMap<String, VariableValue>>,
    functions: Rc<BTreeSet<String>>,
    /// The sets of names that standard input consists of, one on each line, if it is known.
    pub(super) input: Option<Rc<[ShellWord]>>,
    /// The index of the wrapper part that changed the user or the machine, if there is one.
    pub(super) behind: Option<usize>,
    /// Whether code that was not tracked may have set any variable.
    pub(super) is_tainted: bool,
    /// How often the current commands are analysed because of loops.
    pub(super) rounds: usize,
    /// Whether a shell other than bash may read the text.
    pub(super) is_posix: bool,
    /// Whether only deny and ask rules apply, because other parts describe the commands better.
    pub(super) is_guess: bool,
    /// How many nested guesses there are.
    pub(super) guesses: usize,
}

/// What is known about the value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VariableValue {
    /// Exactly this text.
    Text(String),
    /// A number of unknown value.
    Number,
    /// One of the names that a glob matches, with literal text around it.
    Name(ShellWord),
    /// Any text.
    Unknown,
}

impl VariableValue {
    /// Whether it is certainly a number.
    pub(super) fn is_number(&self) -> bool {
        match self {
            Self::Text(text) => {
                !text.is_empty()
                    && text.len() < 20
                    && text.bytes().all(|byte| byte.is_ascii_digit())
            }
            Self::Number => true,
            Self::Name(_) | Self::Unknown => false,
        }
    }
}

impl ShellState {
    /// Makes a state in which only the directory is known.
    pub(super) fn new(bases: CurrentDirs) -> Self {
        Self {
            bases,
            previous: None,
            hoped: None,
            variables: Rc::default(),
            functions: Rc::default(),
            input: None,
            behind: None,
            is_tainted: false,
            rounds: 1,
            is_posix: false,
            is_guess: false,
            guesses: 0,
        }
    }

    /// Returns the initial state of a bash that this shell starts.
    #[must_use]
    pub(super) fn of_child(&self) -> Self {
        let mut child = Self { variables: Rc::default(), functions: Rc::default(), ..self.clone() };
        child.is_posix = false;
        child.previous = None;
        // A changed `HOME` may be exported, so `~` in the child is unknown.
        child.is_tainted = self.is_tainted || self.variables.contains_key("HOME");
        child
    }

    /// Returns the initial state of `sh`, or of a similar shell with another name.
    #[must_use]
    pub(super) fn of_posix_child(&self) -> Self {
        Self { is_posix: true, ..self.of_child() }
    }

    /// Returns what is known about `name`; `None` if the line did not change it.
    pub(super) fn variable(&self, name: &str) -> Option<&VariableValue> {
        self.variables.get(name).or(self.is_tainted.then_some(&VariableValue::Unknown))
    }

    /// Sets `name`.
    pub(super) fn set(&mut self, name: &str, value: VariableValue) {
        let value = match value {
            VariableValue::Text(text) if text.len() > MAX_VALUE => VariableValue::Unknown,
            value => value,
        };
        if self.variables.len() >= MAX_NAMES && !self.variables.contains_key(name) {
            // From here on, any other variable may have been set.
            self.is_tainted = true;
            return;
        }
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
    }

    /// Marks all variables as unknown.
    pub(super) fn forget_all(&mut self) {
        self.variables = Rc::default();
        self.is_tainted = true;
        self.previous = None;
        self.hoped = None;
    }

    /// Records that `name` is a function from here on.
    pub(super) fn define(&mut self, name: &str) {
        if self.functions.len() < MAX_NAMES {
            Rc::make_mut(&mut self.functions).insert(name.to_owned());
        }
    }

    /// Whether `name` is certainly a function.
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// Returns what is known if either this or `other` is the state.
    #[must_use]
    pub(super) fn or(mut self, other: &Self) -> Self {
        self.bases = self.bases.or(&other.bases);
        if self.previous != other.previous {
            self.previous = None;
        }
        // After a failed `cd` there is no such directory, so the one of the other state counts.
        self.hoped = match (self.hoped, &other.hoped) {
            (Some(own), Some(other)) if own != *other => None,
            (own, other) => own.or_else(|| other.clone()),
        };
        if self.input != other.input {
            self.input = None;
        }
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            let both = self.functions.intersection(&other.functions).cloned().collect();
            self.functions = Rc::new(both);
        }
        if !Rc::ptr_eq(&self.variables, &other.variables) && self.variables != other.variables {
            self.variables = Rc::new(either(&self.variables, &other.variables));
        }
        self.is_tainted |= other.is_tainted;
        self
    }
}

fn either(
    left: &BTreeMap<String, VariableValue>,
    right: &BTreeMap<String, VariableValue>,
) -> BTreeMap<String, VariableValue> {
    let names = left.keys().chain(right.keys());
    let value = |name: &String| match (left.get(name), right.get(name)) {
        (Some(left), Some(right)) if left == right => left.clone(),
        (Some(left), Some(right)) if left.is_number() && right.is_number() => VariableValue::Number,
        _ => VariableValue::Unknown,
    };
    names.map(|name| (name.clone(), value(name))).collect()
}
