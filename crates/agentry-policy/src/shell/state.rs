//! What is known of the shell at one point of a line.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::current_dirs::CurrentDirs;
use crate::argv::ShellWord;

/// So many variables and functions are remembered; further ones are unknown.
const MAX_NAMES: usize = 64;
/// Longer values are unknown, so that `x=$x$x` cannot grow.
const MAX_VALUE: usize = 4096;

/// The shell at one point. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellState {
    /// Where it may be.
    pub(super) bases: CurrentDirs,
    /// Where it was before the last `cd`, if the line has one.
    pub(super) previous: Option<CurrentDirs>,
    /// Where it is if every `cd` has worked.
    pub(super) hoped: Option<CurrentDirs>,
    variables: Rc<BTreeMap<String, VariableValue>>,
    functions: Rc<BTreeSet<String>>,
    /// The part of the wrapper that changed who or where, if the line runs behind one.
    pub(super) behind: Option<usize>,
    /// Whether unset variables may have been set by something that was not followed.
    pub(super) is_tainted: bool,
    /// How often the current commands are looked at because of loops.
    pub(super) rounds: usize,
    /// Whether another shell than bash may read the text.
    pub(super) is_posix: bool,
    /// Whether only rules against the commands count, because others say more about them.
    pub(super) is_guess: bool,
    /// How many guesses are around.
    pub(super) guesses: usize,
}

/// What is known of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VariableValue {
    /// Exactly this.
    Text(String),
    /// Digits.
    Number,
    /// One of the names that a glob stands for, with some text of its own.
    Name(ShellWord),
    /// Anything.
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
    /// A shell that knows nothing but where it is.
    pub(super) fn new(bases: CurrentDirs) -> Self {
        Self {
            bases,
            previous: None,
            hoped: None,
            variables: Rc::default(),
            functions: Rc::default(),
            behind: None,
            is_tainted: false,
            rounds: 1,
            is_posix: false,
            is_guess: false,
            guesses: 0,
        }
    }

    /// What a bash that this shell starts would know.
    #[must_use]
    pub(super) fn of_child(&self) -> Self {
        let mut child = Self { variables: Rc::default(), functions: Rc::default(), ..self.clone() };
        child.is_posix = false;
        child.previous = None;
        child.is_tainted = self.is_tainted || self.variables.contains_key("HOME");
        child
    }

    /// What `sh` would know, or a shell of another name that is much the same.
    #[must_use]
    pub(super) fn of_posix_child(&self) -> Self {
        Self { is_posix: true, ..self.of_child() }
    }

    /// What is known of `name`: nothing if the line did not touch it.
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
            self.is_tainted = true;
            return;
        }
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
    }

    /// Anything may have happened to the variables.
    pub(super) fn forget_all(&mut self) {
        self.variables = Rc::default();
        self.is_tainted = true;
        self.previous = None;
        self.hoped = None;
    }

    /// Remembers that `name` is a function from here on.
    pub(super) fn define(&mut self, name: &str) {
        if self.functions.len() < MAX_NAMES {
            Rc::make_mut(&mut self.functions).insert(name.to_owned());
        }
    }

    /// Whether `name` is certainly a function.
    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// What is known when either this or `other` holds.
    #[must_use]
    pub(super) fn or(mut self, other: &Self) -> Self {
        self.bases = self.bases.or(&other.bases);
        if self.previous != other.previous {
            self.previous = None;
        }
        // A `cd` that failed hopes for nothing.
        self.hoped = match (self.hoped, &other.hoped) {
            (Some(own), Some(other)) if own != *other => None,
            (own, other) => own.or_else(|| other.clone()),
        };
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
