//! Judges one simple command under the rules of all layers.

use agentry_commands::own_rules;

use crate::argv::{self, ShellArg};
use crate::compare::ExampleSubject;
use crate::deciders::{DeciderSet, deciders};
use crate::pattern::{HazardProtection, PatternSubject};
use crate::shell::{self, CommandRole, PartEffect, ShellCommand};
use crate::verdict::LayerDecision;
use crate::{Action, LayerSource, PolicyRule, RuleList, Section};

use super::line::JudgedLine;
use super::nested_commands::{OptionScan, embedded};
use super::{Judge, simplify, spelling};

impl Judge {
    /// Returns the decision about a command of `line`, which includes its wrapper; `is_inside` reports whether
    /// a directory lies in the workspace, `can_write` whether the rules about edits allow a file.
    pub(super) fn command(
        &self,
        command: &ShellCommand,
        line: &JudgedLine<'_>,
        is_inside: impl Fn(&str) -> bool,
        can_write: &dyn Fn(&str) -> bool,
    ) -> LayerDecision {
        let outer = command.behind.and_then(|at| line.parts.get(at));
        let outer = outer.and_then(|part| match &part.what {
            PartEffect::Command(outer) => Some(outer),
            _ => None,
        });
        let needs_no_rule = match command.role {
            CommandRole::Own => false,
            CommandRole::Glue => line.has_commands,
            CommandRole::Guess => true,
        };
        let others = spelling::spellings(&command.argv);
        let plain = simplify::plain(&command.argv, is_inside, can_write);
        self.strictest(Section::Bash, |source, rules| {
            let spelled_out = outer.and_then(|outer| spelling_out(outer, rules));
            let decision = match spelled_out {
                Some(rule) => {
                    // A rule that names wrapper and command covers both, unless another rule is against the
                    // inner one.
                    let against = explicit(&command.argv, rules, source);
                    against.unwrap_or_else(|| LayerDecision::by(rule, source))
                }
                None if needs_no_rule => {
                    explicit(&command.argv, rules, source).unwrap_or_else(|| {
                        LayerDecision::built_in(
                            Action::Allow,
                            "it needs no rule, and nothing is against it",
                        )
                    })
                }
                None => decide_or_plain(&command.argv, plain.as_deref(), rules, source),
            };
            in_other_words(decision, &command.argv, &others, rules, source)
        })
    }
}

impl Judge {
    /// Whether the rules about commands allow a command by themselves.
    pub(super) fn has_rule_for(&self, argv: &[ShellArg]) -> bool {
        let decided = |source, rules: &RuleList| decide(argv, rules, source);
        self.strictest(Section::Bash, decided).action == Action::Allow
    }

    /// Returns the strictest rule against a command that only starts others, which are judged separately. A
    /// rule that matches every command does not count.
    pub(super) fn named(&self, argv: &[ShellArg]) -> Option<LayerDecision> {
        let against = self.rules(Section::Bash).filter_map(|(source, rules)| {
            let found = match deciders(rules, argv) {
                DeciderSet::Known(found) => found,
                DeciderSet::Unknown => Vec::new(),
            };
            let written = found.iter().filter_map(|decider| rules.rules.get(decider.rule));
            let named = written.filter(|rule| !rule.pattern.is_everything());
            let against = named.filter(|rule| rule.action > Action::Allow);
            against.map(|rule| LayerDecision::by(rule, source)).reduce(LayerDecision::strictest)
        });
        against.reduce(LayerDecision::strictest)
    }
}

/// Returns the decision about a command. The decision about its plain form is used instead if that is milder
/// and no rule is against the whole command.
fn decide_or_plain(
    argv: &[ShellArg],
    plain: Option<&[ShellArg]>,
    rules: &RuleList,
    source: LayerSource,
) -> LayerDecision {
    let whole = decide(argv, rules, source);
    match plain {
        Some(plain) if whole.action > Action::Allow && explicit(argv, rules, source).is_none() => {
            let plain = decide(plain, rules, source);
            if plain.action < whole.action { plain } else { whole }
        }
        _ => whole,
    }
}

/// Returns the decision, or a stricter one if a rule is against another spelling of the command.
fn in_other_words(
    decision: LayerDecision,
    argv: &[ShellArg],
    others: &[Vec<ShellArg>],
    rules: &RuleList,
    source: LayerSource,
) -> LayerDecision {
    // No rule is stricter, so other spellings cannot change the decision.
    if rules.rules.iter().all(|rule| rule.action <= decision.action) {
        return decision;
    }
    let every = std::iter::once(argv).chain(others.iter().map(Vec::as_slice));
    let longer = every.flat_map(|argv| spelling::spelled_out(argv, rules));
    let against = |argv: &Vec<ShellArg>| {
        let decision = explicit(argv, rules, source)?;
        Some(LayerDecision {
            note: Some(format!("the same as `{}`", shell::shown(argv))),
            ..decision
        })
    };
    let longer: Vec<Vec<ShellArg>> = longer.collect();
    let meant = others.iter().filter(|argv| spelling::may_be_meant(argv, rules));
    let decision =
        meant.chain(&longer).filter_map(against).fold(decision, LayerDecision::strictest);
    let seen = |argv: &Vec<ShellArg>| {
        let decision = explicit(argv, rules, source)?;
        Some(LayerDecision {
            note: Some(format!("it may run `{}`", shell::shown(argv))),
            ..decision
        })
    };
    // Only a rule for every command permits options that no rule names, so only then they are searched.
    let is_open = |rule: &PolicyRule| rule.action == Action::Allow && rule.pattern.is_everything();
    let options =
        if rules.all().any(is_open) { OptionScan::LookedAt } else { OptionScan::LeftAlone };
    embedded(argv, options).iter().filter_map(seen).fold(decision, LayerDecision::strictest)
}

/// Returns the strictest decision of one layer about all argument lists that the command may have.
fn decide(argv: &[ShellArg], rules: &RuleList, source: LayerSource) -> LayerDecision {
    let DeciderSet::Known(found) = deciders(rules, argv) else {
        return LayerDecision::built_in(Action::Ask, "not understood: it may become too much")
            .strictest(LayerDecision::by(&rules.intent, source));
    };
    let varies = argv::literal(argv).is_none();
    let decisions = found.iter().map(|decider| {
        let decision = LayerDecision::by(rules.at(decider.rule), source);
        let is_restricted = decision.action > Action::Allow;
        let note = is_restricted.then(|| note(rules, &decider.example, varies)).flatten();
        LayerDecision { note, ..decision }
    });
    decisions
        .reduce(LayerDecision::strictest)
        .unwrap_or_else(|| LayerDecision::by(&rules.intent, source))
}

/// Explains why the verdict is stricter than an allow rule suggests.
fn note(rules: &RuleList, example: &ExampleSubject, varies: bool) -> Option<String> {
    let instance = varies.then(|| format!("for instance `{example}`"));
    let hazard = example.with(|subject| {
        let seems = rules
            .rules
            .iter()
            .find(|rule| rule.pattern.matches_under(subject, HazardProtection::Off));
        let PatternSubject::Command(words) = subject else { return None };
        let hazard = own_rules(words).next()?;
        let rule = seems.filter(|rule| rule.action == Action::Allow)?;
        Some(format!("{} can {}, and `{}` does not name it", hazard.sign, hazard.does, rule.text))
    });
    match (instance, hazard) {
        (Some(instance), Some(hazard)) => Some(format!("{instance}: {hazard}")),
        (instance, hazard) => instance.or(hazard),
    }
}

/// Returns the strictest written rule against the command; the intent does not count.
fn explicit(argv: &[ShellArg], rules: &RuleList, source: LayerSource) -> Option<LayerDecision> {
    if let Some(words) = argv::literal(argv) {
        let rule = rules.first(PatternSubject::Command(&words));
        let is_written = !std::ptr::eq(rule, &raw const rules.intent);
        return (is_written && rule.action > Action::Allow)
            .then(|| LayerDecision::by(rule, source));
    }
    let DeciderSet::Known(found) = deciders(rules, argv) else {
        return Some(decide(argv, rules, source));
    };
    let written = found.iter().filter_map(|decider| rules.rules.get(decider.rule));
    let against = written.filter(|rule| rule.action > Action::Allow);
    against.map(|rule| LayerDecision::by(rule, source)).reduce(LayerDecision::strictest)
}

/// Returns the allow rule that names both the wrapper and the inner command, if it is the only one to decide.
fn spelling_out<'r>(outer: &ShellCommand, rules: &'r RuleList) -> Option<&'r PolicyRule> {
    let inner_at = outer.inner_at?;
    let DeciderSet::Known(found) = deciders(rules, &outer.argv) else { return None };
    let [only] = found.as_slice() else { return None };
    let rule = rules.at(only.rule);
    (rule.action == Action::Allow && rule.pattern.spells_out(inner_at)).then_some(rule)
}
