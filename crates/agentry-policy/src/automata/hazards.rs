//! Hazards as automata, with the same meaning as the direct search in `agentry_commands::hazard`.

use std::collections::BTreeMap;

use agentry_commands::hazard::{commands, hazards};
use agentry_commands::{CommandHazard, DashMeaning, HazardSign, global_options, program};

use super::language::below;
use super::nfa::{ItemCharacters, Nfa, StateId};
use super::regex;
use super::set::CharSet;

use crate::hazard::names;
use crate::pattern::Pattern;
use crate::pattern::command::{CommandPattern, HazardousCommands};
use crate::pattern::glob::GlobPart;
use crate::pattern::sequence::PatternElement;

/// The bit of commands with a hazard; later words cannot remove it.
pub(crate) const HAZARD: u128 = 4;
/// The number of the first bit for hazards of the form [`HazardSign::Unless`].
const FIRST: u32 = 3;

/// The hazards that a pattern does not name, as a part of an automaton.
#[derive(Debug)]
pub(crate) struct UnnamedHazards {
    /// The first state.
    pub(crate) start: StateId,
    /// Pairs of bits: a command that accepts the first one is a hazard unless it accepts the second one. The
    /// second one is also the part of all states that can still lead there.
    pub(crate) unless: Vec<(u128, u128)>,
}

/// Adds the hazards that `pattern` does not name, for all commands that it can match. Returns `None` if
/// there are more of them than bits.
pub(crate) fn add_hazards(
    nfa: &mut Nfa,
    (pattern, shape): (&Pattern, &CommandPattern),
    items: &ItemCharacters,
) -> Option<UnnamedHazards> {
    let start = nfa.build(HAZARD);
    let below = below(nfa, start, items);
    let found = nfa.state();
    nfa.accept(found, HAZARD);
    // A second word that is certainly a subcommand rules out global options before it.
    let second = shape.elements.get(1).filter(|second| !may_be_option(second));
    let mut builder = HazardBuilder { items, found, second, unless: Vec::new() };
    let HazardousCommands::Commands(commands) = &shape.hazardous else {
        builder.any_command(nfa, below, pattern);
        return Some(UnnamedHazards { start, unless: builder.unless });
    };
    for command in commands {
        let unnamed = |hazard: &&CommandHazard| !names(pattern, hazard);
        let known: Vec<&CommandHazard> = hazards(command).iter().filter(unnamed).collect();
        if !known.is_empty() {
            let word = nfa.text(below, command);
            let arguments = nfa.one(word, &CharSet::one('\0'));
            builder.command(nfa, arguments, command, &known)?;
        }
    }
    Some(UnnamedHazards { start, unless: builder.unless })
}

struct HazardBuilder<'a> {
    items: &'a ItemCharacters,
    found: StateId,
    /// The pattern element after the command word, if it can only be a subcommand.
    second: Option<&'a PatternElement>,
    unless: Vec<(u128, u128)>,
}

impl HazardBuilder<'_> {
    /// Adds every command with hazards, if it has a word that the pattern does not contain literally.
    fn any_command(&self, nfa: &mut Nfa, below: StateId, pattern: &Pattern) {
        let arguments = nfa.state();
        let mut names = PrefixTree::new(below);
        for command in commands() {
            let word = names.add(nfa, command);
            nfa.edge(word, &CharSet::one('\0'), arguments);
        }
        let mut spelled = PrefixTree::new(arguments);
        for token in pattern.tokens().filter(|token| !token.contains('*')) {
            let word = spelled.add(nfa, token);
            nfa.edge(word, &CharSet::one('\0'), arguments);
        }
        // Every character that leaves the tree starts a word that is not in the pattern.
        for (state, (text, known)) in spelled.nodes() {
            let rest = known.iter().fold(self.items.any.clone(), |rest, c| rest.without(*c));
            nfa.edge(state, &rest, self.found);
            if !pattern.tokens().any(|token| token == text) {
                nfa.edge(state, &CharSet::one('\0'), self.found);
            }
        }
    }

    /// Adds the hazards of one command, whose arguments start at `arguments`.
    fn command(
        &mut self,
        nfa: &mut Nfa,
        arguments: StateId,
        command: &str,
        known: &[&CommandHazard],
    ) -> Option<()> {
        let options = global_options(command);
        let unknown = nfa.state();
        let front = match self.second {
            Some(_) => arguments,
            None => nfa.global_options(arguments, options, self.items, Some(unknown)),
        };
        let mut searches: BTreeMap<Option<&str>, Vec<HazardSign>> = BTreeMap::new();
        let mut everywhere = Vec::new();
        for hazard in known {
            match hazard.sign {
                HazardSign::Global(spelling) => {
                    let word = nfa.text(front, spelling);
                    nfa.join(word, self.found);
                    everywhere.push(HazardSign::Prefix(spelling));
                }
                HazardSign::Unless(text) => self.unless(nfa, arguments, text)?,
                sign if hazard.subcommands.is_empty() => {
                    searches.entry(None).or_default().push(sign);
                }
                sign => {
                    everywhere.push(sign);
                    let chosen = |name: &&&str| self.second.is_none_or(|second| second.takes(name));
                    for name in hazard.subcommands.iter().filter(chosen) {
                        searches.entry(Some(name)).or_default().push(sign);
                    }
                }
            }
        }
        // After an unknown global option any word may be the subcommand, so all hazards are searched.
        if self.second.is_none() {
            self.search(nfa, unknown, &everywhere, DashMeaning::Nothing, false);
        }
        let mut names = PrefixTree::new(front);
        for (name, signs) in searches {
            let from = match name {
                None => arguments,
                Some(name) => {
                    let word = names.add(nfa, name);
                    nfa.one(word, &CharSet::one('\0'))
                }
            };
            let globals = name.is_none() && !options.is_empty();
            let dashes =
                program(command).map_or(DashMeaning::EndAfterOperand, |it| it.dashes(name));
            self.search(nfa, from, &signs, dashes, globals);
        }
        Some(())
    }

    /// Makes the arguments from `from` on a hazard unless, joined by NUL, they match `text`.
    fn unless(&mut self, nfa: &mut Nfa, from: StateId, text: &str) -> Option<()> {
        let bit = FIRST + 2 * u32::try_from(self.unless.len()).ok()?;
        let (at_all, harmless) = (1_u128.checked_shl(bit)?, 1_u128.checked_shl(bit + 1)?);
        self.unless.push((at_all, harmless));
        let any = nfa.star(from, &CharSet::all());
        nfa.accept(any, at_all);
        if let Some(hir) = regex::read(text) {
            let start = nfa.build(HAZARD | harmless);
            nfa.join(from, start);
            let inside = nfa.regex(start, &hir);
            let end = nfa.one(inside, &CharSet::one('\0'));
            nfa.accept(end, harmless);
            // An empty argument list has no NUL at its end, so it needs its own state.
            if regex::takes_nothing(&hir) {
                let nothing = nfa.state();
                nfa.join(from, nothing);
                nfa.accept(nothing, harmless);
            }
        }
        nfa.build(HAZARD);
        Some(())
    }

    /// Searches the words from `from` on, until one is a hazard or ends the search.
    fn search(
        &self,
        nfa: &mut Nfa,
        from: StateId,
        signs: &[HazardSign],
        dashes: DashMeaning,
        globals: bool,
    ) {
        if signs.is_empty() {
            return;
        }
        let (after_operand, after_option) = (nfa.state(), nfa.state());
        nfa.join(from, if globals { after_option } else { after_operand });
        let any = &self.items.any;
        let end = CharSet::one('\0');
        let (word, operand, option) = (nfa.state(), nfa.state(), nfa.state());
        nfa.join(after_operand, word);
        nfa.join(after_option, word);
        self.tail(nfa, operand, after_operand);
        self.tail(nfa, option, after_option);
        nfa.edge(word, &any.without('-'), operand);
        nfa.edge(word, &end, after_operand);
        let dash = nfa.text(word, "-");
        nfa.edge(dash, &any.without('-'), option);
        nfa.edge(dash, &end, after_option);
        let two = nfa.text(dash, "-");
        nfa.edge(two, any, option);
        if dashes == DashMeaning::Nothing {
            nfa.edge(two, &end, after_option);
        }
        if dashes == DashMeaning::EndAfterOperand {
            // After an option, `--` may be its value.
            let value = nfa.text(after_option, "--");
            nfa.edge(value, &end, after_option);
        }
        for sign in signs {
            self.sign(nfa, word, *sign);
        }
    }

    /// Adds a word that is the hazard; the search ends as soon as the prefix is decisive.
    fn sign(&self, nfa: &mut Nfa, from: StateId, sign: HazardSign) {
        let any = &self.items.any;
        let end = CharSet::one('\0');
        match sign {
            HazardSign::Long(spelling, least) => {
                let mut here = from;
                for (count, c) in spelling.chars().map(Some).chain([None]).enumerate() {
                    if count >= least {
                        nfa.edge(here, &end, self.found);
                        nfa.edge(here, &CharSet::one('='), self.found);
                    }
                    if let Some(c) = c {
                        here = nfa.one(here, &CharSet::one(c));
                    }
                }
            }
            HazardSign::Short(option) => {
                let dash = nfa.text(from, "-");
                let only = CharSet::one(option);
                let other = nfa.one(dash, &any.without('-').without(option));
                nfa.edge(other, &any.without(option), other);
                nfa.edge(other, &only, self.found);
                if option != '-' {
                    nfa.edge(dash, &only, self.found);
                }
            }
            HazardSign::Word(spelling) => {
                let word = nfa.text(from, spelling);
                nfa.edge(word, &end, self.found);
            }
            HazardSign::Prefix(spelling) => {
                let word = nfa.text(from, spelling);
                nfa.join(word, self.found);
            }
            HazardSign::Global(_) | HazardSign::Unless(_) => {}
        }
    }

    /// Adds the rest of a word, with any characters.
    fn tail(&self, nfa: &mut Nfa, from: StateId, to: StateId) {
        let inside = nfa.star(from, &self.items.any);
        nfa.edge(inside, &CharSet::one('\0'), to);
    }
}

/// Whether the word in this position may be an option, or may be missing.
fn may_be_option(element: &PatternElement) -> bool {
    let PatternElement::One(globs) = element else { return true };
    globs.iter().any(|glob| match glob.parts.first() {
        Some(GlobPart::Text(text)) => text.starts_with(['-', '+']),
        _ => true,
    })
}

/// States for texts that share their prefixes.
struct PrefixTree {
    states: BTreeMap<String, StateId>,
}

impl PrefixTree {
    fn new(root: StateId) -> Self {
        Self { states: BTreeMap::from([(String::new(), root)]) }
    }

    /// Returns the state after `text`.
    fn add(&mut self, nfa: &mut Nfa, text: &str) -> StateId {
        let mut here = self.states.get("").copied().unwrap_or(0);
        for (at, c) in text.char_indices() {
            let start = text[..at + c.len_utf8()].to_owned();
            let before = here;
            here = *self.states.entry(start).or_insert_with(|| nfa.one(before, &CharSet::one(c)));
        }
        here
    }

    /// Lists each state with its text and the characters that continue it.
    fn nodes(&self) -> impl Iterator<Item = (StateId, (&str, Vec<char>))> {
        self.states.iter().map(|(text, state)| {
            let below = self.states.range(text.clone()..);
            let below = below.take_while(|(other, _)| other.starts_with(text.as_str()));
            let next = below.filter_map(|(other, _)| {
                let mut more = other[text.len()..].chars();
                more.next().filter(|_| more.next().is_none())
            });
            (*state, (text.as_str(), next.collect()))
        })
    }
}
