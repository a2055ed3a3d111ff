//! Hazardous options as automata: the same meaning as the direct search in `hazard`.

use std::collections::{BTreeMap, BTreeSet};

use super::language::below;
use super::nfa::{Items, Nfa, State};
use super::regex;
use super::set::Set;
use crate::hazard;
use crate::pattern::command::base_name;
use crate::pattern::sequence::Element;
use crate::pattern::{Pattern, Shape};
use crate::tables::global_options::global_options;
use crate::tables::hazards::{Dashes, HAZARDS, Sign, dashes};

/// The bit of commands with a hazardous option; no further word makes them harmless again.
pub(crate) const HAZARD: u128 = 4;
/// The first bit for commands that are hazards unless they match a regular expression.
const FIRST: u32 = 3;

/// The hazards that a pattern does not name.
#[derive(Debug)]
pub(crate) struct Hazards {
    /// Where the automaton starts.
    pub(crate) start: State,
    /// Pairs of bits: a command with the first one is a hazard unless it has the second one.
    pub(crate) unless: Vec<(u128, u128)>,
}

/// Adds the hazards that `pattern` does not name, for the commands that it can be about. Nothing
/// if there are more of them than there are bits.
pub(crate) fn add_hazards(nfa: &mut Nfa, pattern: &Pattern, items: &Items) -> Option<Hazards> {
    let start = nfa.build(HAZARD);
    let below = below(nfa, start, items);
    let found = nfa.state();
    nfa.accept(found, HAZARD);
    let mut builder = Builder { items, found, unless: Vec::new() };
    for command in commands(pattern) {
        let named: Vec<&hazard::Known> = hazard::of(command)
            .iter()
            .filter(|known| !hazard::names(pattern, known.hazard))
            .collect();
        if !named.is_empty() {
            let word = nfa.text(below, command);
            let arguments = nfa.one(word, &Set::one('\0'));
            builder.command(nfa, arguments, command, &named)?;
        }
    }
    Some(Hazards { start, unless: builder.unless })
}

/// The commands of the table that the command word of a pattern may name.
fn commands(pattern: &Pattern) -> BTreeSet<&str> {
    let Shape::Command(shape) = &pattern.shape else { return BTreeSet::new() };
    if let Some(Element::One(globs)) = shape.elements.first() {
        let literals: Option<Vec<&str>> = globs.iter().map(|glob| glob.as_literal()).collect();
        if let Some(literals) = literals {
            return literals.into_iter().map(base_name).collect();
        }
    }
    HAZARDS.iter().map(|hazard| hazard.command).collect()
}

struct Builder<'a> {
    items: &'a Items,
    found: State,
    unless: Vec<(u128, u128)>,
}

impl Builder<'_> {
    /// The hazards of one command, whose arguments start at `arguments`.
    fn command(
        &mut self,
        nfa: &mut Nfa,
        arguments: State,
        command: &str,
        known: &[&hazard::Known],
    ) -> Option<()> {
        let options = global_options(command);
        let around = nfa.global_options(arguments, options, self.items);
        let mut searches: BTreeMap<Option<&str>, Vec<Sign>> = BTreeMap::new();
        for hazard in known.iter().map(|known| known.hazard) {
            match hazard.sign {
                Sign::Global(spelling) => {
                    let inside = nfa.text(around, spelling);
                    self.tail(nfa, inside, self.found);
                }
                Sign::Unless(text) => {
                    let after = after_subcommands(nfa, hazard.subcommands, arguments, around);
                    self.unless(nfa, after, text)?;
                }
                sign if hazard.subcommands.is_empty() => {
                    searches.entry(None).or_default().push(sign);
                }
                sign => {
                    for name in hazard.subcommands {
                        searches.entry(Some(name)).or_default().push(sign);
                    }
                }
            }
        }
        for (name, signs) in searches {
            let from = match name {
                None => arguments,
                Some(name) => {
                    let word = nfa.text(around, name);
                    nfa.one(word, &Set::one('\0'))
                }
            };
            let globals = name.is_none() && !options.is_empty();
            self.search(nfa, from, &signs, dashes(command, name), globals);
        }
        Some(())
    }

    /// The arguments from `from` on are a hazard unless, joined by NUL, they match `text`.
    fn unless(&mut self, nfa: &mut Nfa, from: State, text: &str) -> Option<()> {
        let bit = FIRST + 2 * u32::try_from(self.unless.len()).ok()?;
        let (at_all, harmless) = (1_u128.checked_shl(bit)?, 1_u128.checked_shl(bit + 1)?);
        self.unless.push((at_all, harmless));
        let any = nfa.star(from, &Set::all());
        nfa.accept(any, at_all);
        if let Some(hir) = regex::read(text) {
            let start = nfa.state();
            nfa.join(from, start);
            let inside = nfa.regex(start, &hir);
            let end = nfa.one(inside, &Set::one('\0'));
            nfa.accept(end, harmless);
            if regex::takes_nothing(&hir) {
                let nothing = nfa.state();
                nfa.join(from, nothing);
                nfa.accept(nothing, harmless);
            }
        }
        Some(())
    }

    /// The words from `from` on, until one is a sign or ends the search.
    fn search(&self, nfa: &mut Nfa, from: State, signs: &[Sign], dashes: Dashes, globals: bool) {
        let (after_operand, after_option) = (nfa.state(), nfa.state());
        nfa.join(from, if globals { after_option } else { after_operand });
        let any = &self.items.any;
        let end = Set::one('\0');
        let (operand, option) = (nfa.state(), nfa.state());
        self.tail(nfa, operand, after_operand);
        self.tail(nfa, option, after_option);
        for (here, may_be_value) in [(after_operand, false), (after_option, true)] {
            nfa.edge(here, &any.without('-'), operand);
            nfa.edge(here, &end, after_operand);
            let dash = nfa.text(here, "-");
            nfa.edge(dash, &any.without('-'), option);
            nfa.edge(dash, &end, after_option);
            let two = nfa.text(dash, "-");
            nfa.edge(two, any, option);
            let ends = match dashes {
                Dashes::End => true,
                Dashes::EndAfterOperand => !may_be_value,
                Dashes::Nothing => false,
            };
            if !ends {
                nfa.edge(two, &end, after_option);
            }
            for sign in signs {
                self.sign(nfa, here, *sign);
            }
        }
    }

    /// A word that is the sign.
    fn sign(&self, nfa: &mut Nfa, from: State, sign: Sign) {
        let any = &self.items.any;
        let end = Set::one('\0');
        match sign {
            Sign::Long(spelling, least) => {
                let mut here = from;
                for (count, c) in spelling.chars().map(Some).chain([None]).enumerate() {
                    if count >= least {
                        nfa.edge(here, &end, self.found);
                        let value = nfa.text(here, "=");
                        self.tail(nfa, value, self.found);
                    }
                    if let Some(c) = c {
                        here = nfa.one(here, &Set::one(c));
                    }
                }
            }
            Sign::Short(option) => {
                let dash = nfa.text(from, "-");
                let only = Set::one(option);
                let other = nfa.one(dash, &any.without('-'));
                let other = nfa.star(other, any);
                let inside = nfa.one(other, &only);
                if option != '-' {
                    nfa.edge(dash, &only, inside);
                }
                self.tail(nfa, inside, self.found);
            }
            Sign::Word(spelling) => {
                let word = nfa.text(from, spelling);
                nfa.edge(word, &end, self.found);
            }
            Sign::Prefix(spelling) => {
                let word = nfa.text(from, spelling);
                self.tail(nfa, word, self.found);
            }
            Sign::Global(_) | Sign::Unless(_) => {}
        }
    }

    /// The rest of a word, whatever it is.
    fn tail(&self, nfa: &mut Nfa, from: State, to: State) {
        let inside = nfa.star(from, &self.items.any);
        nfa.edge(inside, &Set::one('\0'), to);
    }
}

/// Where the arguments after one of the subcommands start.
fn after_subcommands(nfa: &mut Nfa, names: &[&str], arguments: State, around: State) -> State {
    if names.is_empty() {
        return arguments;
    }
    let after = nfa.state();
    for name in names {
        let word = nfa.text(around, name);
        nfa.edge(word, &Set::one('\0'), after);
    }
    after
}
