//! Determines what a loop may change before its body runs again.

use std::collections::{BTreeMap, BTreeSet};

use agentry_commands::{ProgramTrait, has_trait};
use brush_parser::ast::{
    AndOr, AssignmentName, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList,
    IoRedirect, RedirectList, SimpleCommand,
};

use super::raw_command::ShellRedirect;
use super::state::{ShellState, VariableValue};
use super::test::TestToken;
use crate::shell::current_dirs::CurrentDirs;

/// How many letters may come before a name in one option.
const MAX_CLUSTER: usize = 16;

/// The effect of running a list an unknown number of times.
#[derive(Debug, Default)]
pub(super) struct LoopEffects {
    /// The changed variables, and whether a number stays a number.
    names: BTreeMap<String, bool>,
    everything: bool,
    moves: bool,
}

impl LoopEffects {
    /// Returns the effect of all lists together.
    pub(super) fn by(lists: &[&CompoundList], functions: &BTreeSet<String>) -> Self {
        let mut touched = Self { everything: !functions.is_empty(), ..Self::default() };
        touched.moves = touched.everything;
        lists.iter().for_each(|list| touched.list(list));
        touched
    }

    /// Returns the effect of one command and its redirections.
    pub(super) fn by_simple(command: &SimpleCommand) -> Self {
        let mut touched = Self::default();
        touched.simple(command);
        touched
    }

    /// Marks everything that may have changed as unknown.
    pub(super) fn forget(&self, state: &mut ShellState) {
        if self.everything {
            state.forget_all();
        }
        for (name, stays_number) in &self.names {
            let is_number = state.variable(name).is_some_and(VariableValue::is_number);
            let value = if is_number && *stays_number {
                VariableValue::Number
            } else {
                VariableValue::Unknown
            };
            state.set(name, value);
        }
        if self.moves {
            state.bases = CurrentDirs::Unknown;
        }
    }

    fn list(&mut self, list: &CompoundList) {
        for item in &list.0 {
            let others = item.0.additional.iter().map(|next| match next {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => pipeline,
            });
            for pipeline in std::iter::once(&item.0.first).chain(others) {
                pipeline.seq.iter().for_each(|command| self.command(command));
            }
        }
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.redirects(redirects.as_ref());
                self.compound(compound);
            }
            Command::Function(_) => {
                self.everything = true;
                self.moves = true;
            }
            Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref());
                for token in super::test::tokens(&test.expr) {
                    if let TestToken::Operand(raw) = token {
                        self.word(raw, false);
                    }
                }
                self.add("BASH_REMATCH", false);
            }
        }
    }

    fn compound(&mut self, compound: &CompoundCommand) {
        match compound {
            CompoundCommand::BraceGroup(group) => self.list(&group.list),
            // A subshell changes no state outside, but treating it like a group is the safe choice.
            CompoundCommand::Subshell(group) => self.list(&group.list),
            CompoundCommand::ForClause(clause) => {
                self.add(&clause.variable_name, false);
                let values = clause.values.iter().flatten();
                values.for_each(|word| self.word(&word.value, false));
                self.list(&clause.body.list);
            }
            CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value, false);
                for case in &clause.cases {
                    case.patterns.iter().for_each(|pattern| self.word(&pattern.value, false));
                    case.cmd.iter().for_each(|list| self.list(list));
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for other in clause.elses.iter().flatten() {
                    other.condition.iter().for_each(|list| self.list(list));
                    self.list(&other.body);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            CompoundCommand::Coprocess(_)
            | CompoundCommand::Arithmetic(_)
            | CompoundCommand::ArithmeticForClause(_) => self.everything = true,
        }
    }

    fn simple(&mut self, command: &SimpleCommand) {
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        let name = command.word_or_name.as_ref().map_or("", |word| word.value.as_str());
        let sets = has_trait(name, ProgramTrait::SetsVariables);
        self.moves |= has_trait(name, ProgramTrait::ChangesDirectory);
        // Quotes, backslashes and expansions may form any of these names.
        let is_plain =
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./[:".contains(&byte));
        if has_trait(name, ProgramTrait::ForgetsVariables) || !is_plain {
            self.everything = true;
            self.moves = true;
        }
        for item in prefix.chain(suffix) {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                    let (AssignmentName::VariableName(name)
                    | AssignmentName::ArrayElementName(name, _)) = &assignment.name;
                    self.add(name, is_numeric(&word.value));
                    self.word(&word.value, false);
                }
                CommandPrefixOrSuffixItem::Word(word) => self.word(&word.value, sets),
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect),
                CommandPrefixOrSuffixItem::ProcessSubstitution(..) => {}
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&RedirectList>) {
        redirects.iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect));
    }

    fn redirect(&mut self, redirect: &IoRedirect) {
        if let Some(raw) = ShellRedirect::new(redirect).target {
            self.word(&raw, false);
        }
    }

    /// Adds every name in a word that may set a variable.
    fn word(&mut self, raw: &str, sets: bool) {
        let expands = raw.contains("${") && raw.contains('=');
        if sets || expands {
            let names = raw.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            names.filter(|name| !name.is_empty()).for_each(|name| self.add(name, false));
        }
        if sets && raw.starts_with('-') {
            // In `-rax` the name may start after any letter.
            let ends = raw.char_indices().skip(1).map(|(at, _)| raw.get(at..).unwrap_or_default());
            ends.take(MAX_CLUSTER).for_each(|name| self.add(name, false));
        }
    }

    fn add(&mut self, name: &str, stays_number: bool) {
        let entry = self.names.entry(name.to_owned()).or_insert(true);
        *entry &= stays_number;
    }
}

/// Whether a raw assignment is a number: `i=0`, `i=$((i + 1))`. Arithmetic that may be harmful is reported
/// where it is expanded.
fn is_numeric(raw: &str) -> bool {
    let value = raw.split_once('=').filter(|(name, _)| !name.ends_with('+'));
    value.is_some_and(|(_, value)| {
        let is_sum = value.starts_with("$((") && value.find("))") == value.len().checked_sub(2);
        is_sum || is_digits(value)
    })
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
