//! Finds the rules that decide about some member of a set of commands. The set and the machines of the rules
//! are walked together, so that the result is exact.

use agentry_commands::{base_name, global_options};

use crate::argv::{self, ShellArg, ShellWord, WordPiece};
use crate::automata::MachineTooLarge;
use crate::automata::fast_map::FastSet;
use crate::automata::machine::{NONE, StateMachine};
use crate::automata::nfa::{ItemCharacters, Nfa, StateId};
use crate::automata::set::{Alphabet, CharSet};
use crate::automata::subject::{ExampleSubject, items};
use crate::compare::decider;
use crate::pattern::sequence::PatternElement;
use crate::pattern::{HazardProtection, Pattern, PatternKind, PatternShape, PatternSubject};
use crate::{Action, RuleList};

/// The most steps of one walk.
const MOST: usize = 20_000;

/// The result of [`deciders`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeciderSet {
    /// All deciding rules, in rule order.
    Known(Vec<Decider>),
    /// A limit was reached, or the program is unknown: the caller must treat the command as not understood.
    Unknown,
}

/// A rule that decides about some member of the set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider {
    /// Its index; the number of rules for the intent.
    pub rule: usize,
    /// A member that it decides about.
    pub example: ExampleSubject,
}

/// Returns the rules that decide about some member of the set `argv`, each with an example.
pub fn deciders(rules: &RuleList, argv: &[ShellArg]) -> DeciderSet {
    // A single command needs no machine.
    if let Some(words) = argv::literal(argv) {
        let (rule, _) = decider(rules, PatternSubject::Command(&words), HazardProtection::On);
        let example = ExampleSubject::Command(words.into_iter().map(str::to_owned).collect());
        return DeciderSet::Known(vec![Decider { rule, example }]);
    }
    // NUL separates words in a machine, so it must not occur inside one.
    if argv.iter().any(holds_nul) {
        return DeciderSet::Unknown;
    }
    // In a machine the command word is never empty.
    let Some(word) = argv.first().and_then(ShellArg::literal).filter(|word| !word.is_empty())
    else {
        return DeciderSet::Unknown;
    };
    match CandidateRules::new(rules, word, argv).and_then(|candidates| candidates.follow(argv)) {
        Ok(mut found) => {
            found.sort_by_key(|decider| decider.rule);
            DeciderSet::Known(found)
        }
        Err(MachineTooLarge) => DeciderSet::Unknown,
    }
}

/// The rules that may decide, and the first one that matches everything.
struct CandidateRules<'a> {
    rules: Vec<usize>,
    machines: Vec<&'a StateMachine>,
    /// The rule that decides if none of the others does.
    last: usize,
}

impl<'a> CandidateRules<'a> {
    fn new(rules: &'a RuleList, word: &str, argv: &[ShellArg]) -> Result<Self, MachineTooLarge> {
        let mut found = Self { rules: vec![], machines: vec![], last: rules.rules.len() };
        for (index, rule) in rules.rules.iter().enumerate() {
            match &rule.pattern.shape {
                // A malformed allow rule matches nothing; a malformed deny or ask rule matches everything.
                PatternShape::Wrong(_) if rule.action == Action::Allow => {}
                PatternShape::Everything | PatternShape::Wrong(_) => {
                    found.last = index;
                    break;
                }
                _ if may_match(&rule.pattern, word, argv) => {
                    found.rules.push(index);
                    found.machines.push(rule.pattern.machine()?);
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn follow(&self, argv: &[ShellArg]) -> Result<Vec<Decider>, MachineTooLarge> {
        // Only `last` can match, so any member is an example.
        if self.machines.is_empty() {
            let example = ExampleSubject::Command(argv.iter().filter_map(some_member).collect());
            return Ok(vec![Decider { rule: self.last, example }]);
        }
        let set = CommandSet::new(argv);
        set.nfa.finish()?;
        let letters = SharedLetters::new(&set.nfa, &self.machines);
        let starts = self.machines.iter().map(|machine| machine.start).collect();
        let mut walk = ProductWalk {
            candidates: self,
            nodes: vec![],
            known: FastSet::default(),
            found: vec![],
        };
        walk.visit(set.start, starts, None);
        let mut at = 0;
        while let Some(ProductNode { state, inside, .. }) = walk.nodes.get(at).cloned() {
            if state == set.end {
                walk.end(at);
            }
            // Every candidate and `last` are found, so the walk can stop.
            if walk.found.len() > self.rules.len() {
                break;
            }
            for next in &set.nfa.empty[state as usize] {
                walk.visit(*next, inside.clone(), Some((at, None)));
            }
            if walk.can_still_find(&inside) {
                for (by, to) in &set.nfa.edges[state as usize] {
                    for letter in &letters.of_set[*by as usize] {
                        let (c, own) = &letters.list[*letter];
                        let step = |((machine, state), letter): ((&&StateMachine, &u32), &u16)| {
                            machine.step(*state, usize::from(*letter))
                        };
                        let inside = self.machines.iter().zip(&inside).zip(own).map(step).collect();
                        walk.visit(*to, inside, Some((at, Some(*c))));
                    }
                }
            }
            at += 1;
            if at > MOST {
                return Err(MachineTooLarge);
            }
        }
        Ok(walk.found)
    }

    /// Returns the deciding rule for the current states of the machines.
    fn decider(&self, inside: &[u32]) -> usize {
        let mut outputs = self.machines.iter().zip(inside).zip(&self.rules);
        let first = outputs.find(|((machine, state), _)| machine.output(**state) != NONE);
        first.map_or(self.last, |(_, rule)| *rule)
    }
}

/// Whether some word contains a NUL, which no argument can contain.
fn holds_nul(arg: &ShellArg) -> bool {
    let (ShellArg::One(word) | ShellArg::Some(word) | ShellArg::Many(word)) = arg;
    word.pieces.iter().any(|piece| matches!(piece, WordPiece::Text(text) if text.contains('\0')))
}

/// Whether a pattern can match at all, judging by the literal words alone.
fn may_match(pattern: &Pattern, word: &str, argv: &[ShellArg]) -> bool {
    let PatternShape::Command(shape) = &pattern.shape else { return true };
    let base = base_name(word);
    for (at, (element, arg)) in shape.elements.iter().zip(argv).enumerate() {
        let (PatternElement::One(_), ShellArg::One(known)) = (element, arg) else { return true };
        let Some(known) = known.literal() else { continue };
        let takes = element.takes(known) || (at == 0 && !shape.as_written && element.takes(base));
        if !takes {
            // After a global option, a word of the pattern may match a later argument.
            return at > 0 && !shape.as_written && !global_options(base).is_empty();
        }
    }
    true
}

/// Returns one text that the argument may have; `None` if it may be absent.
fn some_member(arg: &ShellArg) -> Option<String> {
    let (ShellArg::One(word) | ShellArg::Some(word)) = arg else { return None };
    let text = |piece: &WordPiece| match piece {
        WordPiece::Text(text) => text.clone(),
        WordPiece::Segment | WordPiece::Below | WordPiece::Label | WordPiece::Any => "x".to_owned(),
        WordPiece::Number => "1".to_owned(),
        WordPiece::Loose => String::new(),
    };
    Some(word.pieces.iter().map(text).collect())
}

/// A set of commands as an automaton.
struct CommandSet {
    nfa: Nfa,
    start: StateId,
    end: StateId,
}

impl CommandSet {
    fn new(argv: &[ShellArg]) -> Self {
        let items = items(PatternKind::Command);
        let mut nfa = Nfa::default();
        let start = nfa.build(0);
        let end = argv.iter().fold(start, |from, arg| match arg {
            ShellArg::One(word) => add_word(&mut nfa, from, word, &items),
            ShellArg::Some(word) => {
                let first = nfa.state();
                nfa.join(from, first);
                let end = add_word(&mut nfa, first, word, &items);
                nfa.join(end, first);
                end
            }
            ShellArg::Many(word) => {
                let around = nfa.state();
                nfa.join(from, around);
                let end = add_word(&mut nfa, around, word, &items);
                nfa.join(end, around);
                around
            }
        });
        Self { nfa, start, end }
    }
}

fn add_word(nfa: &mut Nfa, from: StateId, word: &ShellWord, items: &ItemCharacters) -> StateId {
    let mut here = from;
    if word.is_loose() {
        // Split at blanks, a part of it may be any word.
        here = nfa.star(here, &items.any);
        return nfa.one(here, &CharSet::one(items.end));
    }
    for piece in &word.pieces {
        here = match piece {
            WordPiece::Text(text) => nfa.text(here, text),
            WordPiece::Segment => nfa.star(here, &items.any.without('/')),
            WordPiece::Below | WordPiece::Any => nfa.star(here, &items.any),
            WordPiece::Number => {
                let digits = [('-', '-'), ('0', '9')];
                nfa.star(here, &CharSet::ranges(digits.into_iter()))
            }
            WordPiece::Label => {
                let first = nfa.one(here, &items.any.without('-'));
                nfa.star(first, &items.any)
            }
            WordPiece::Loose => here,
        };
    }
    nfa.one(here, &CharSet::one(items.end))
}

/// The letters that neither the set nor any machine distinguishes.
struct SharedLetters {
    /// A character of each letter, and its letter in each machine; the most readable first.
    list: Vec<(char, Vec<u16>)>,
    /// The letters of each character set on the edges.
    of_set: Vec<Vec<usize>>,
}

impl SharedLetters {
    fn new(nfa: &Nfa, machines: &[&StateMachine]) -> Self {
        let (mut alphabet, members) = Alphabet::of(&nfa.sets);
        // The first entry is the letter of the set itself; it is removed at the end.
        let mut own: Vec<Vec<u16>> =
            (0..alphabet.letters).map(|letter| vec![u16::try_from(letter).unwrap_or(0)]).collect();
        for machine in machines {
            let (finer, pairs) = alphabet.refine(&machine.alphabet);
            let extended = pairs.iter().map(|(before, letter)| {
                let mut letters = own[usize::from(*before)].clone();
                letters.push(*letter);
                letters
            });
            own = extended.collect();
            alphabet = finer;
        }
        let list: Vec<(char, Vec<u16>)> =
            alphabet.readable().into_iter().map(|(letter, c)| (c, own[letter].clone())).collect();
        let of_set = members.iter().map(|members| {
            let inside = |(_, own): &&(char, Vec<u16>)| members.contains(&own[0]);
            let all = list.iter().enumerate();
            all.filter(|(_, letter)| inside(letter)).map(|(at, _)| at).collect()
        });
        let of_set = of_set.collect();
        let list = list.into_iter().map(|(c, mut own)| (c, own.split_off(1))).collect();
        Self { list, of_set }
    }
}

/// The states of the set and of each machine after some text.
#[derive(Clone)]
struct ProductNode {
    state: StateId,
    inside: Vec<u32>,
    /// The previous node, and the character that was read, if any.
    from: Option<(usize, Option<char>)>,
}

struct ProductWalk<'a> {
    candidates: &'a CandidateRules<'a>,
    nodes: Vec<ProductNode>,
    known: FastSet<(StateId, Vec<u32>)>,
    found: Vec<Decider>,
}

impl ProductWalk<'_> {
    fn visit(&mut self, state: StateId, inside: Vec<u32>, from: Option<(usize, Option<char>)>) {
        if self.known.insert((state, inside.clone())) {
            self.nodes.push(ProductNode { state, inside, from });
        }
    }

    /// Records the rule that decides about the text of a node.
    fn end(&mut self, at: usize) {
        let rule = self.candidates.decider(&self.nodes[at].inside);
        if self.found.iter().all(|found| found.rule != rule) {
            let example = ExampleSubject::decode(PatternKind::Command, &self.text(at));
            self.found.push(Decider { rule, example });
        }
    }

    /// Whether a rule that was not found yet may decide about a continuation of this text.
    fn can_still_find(&self, inside: &[u32]) -> bool {
        let new = |rule: usize| self.found.iter().all(|found| found.rule != rule);
        let rules = self.candidates.rules.iter().zip(inside);
        let mut alive = rules.filter(|(_, state)| **state != 0);
        new(self.candidates.last) || alive.any(|(rule, _)| new(*rule))
    }

    fn text(&self, at: usize) -> String {
        let mut text = Vec::new();
        let mut node = self.nodes.get(at);
        while let Some((before, c)) = node.and_then(|node| node.from) {
            text.extend(c);
            node = self.nodes.get(before);
        }
        text.into_iter().rev().collect()
    }
}

#[cfg(test)]
mod tests;
