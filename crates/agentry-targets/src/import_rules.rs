//! Narrows the rules of an imported agent until they stay within what its harness surely permits.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentry_policy::compare::ExampleSubject;
use agentry_policy::{
    Action, PathAnchors, Pattern, PatternKind, PatternRule, Permissions, PolicyRule, RuleList,
    Section, SectionRules,
};
use agentry_text::{Spanned, path};

use crate::Target;
use crate::draft::{at, inside};
use crate::example::plain;
use crate::import::{HarnessAgent, ImportedAgent, PermittedBound, bounded};
use crate::import_loss::ImportLoss;
use crate::memo::RenderMemo;
use crate::model::outside;
use crate::original;
use crate::proof::{PolicyProof, prove_with_example, within};
use crate::render_result::LossKind;
use crate::subject::permissions_key;

/// Makes rules stricter that would permit more than the harness does.
pub(crate) fn narrowed(
    target: &Target,
    read: HarnessAgent,
    memo: &Arc<RenderMemo>,
) -> ImportedAgent {
    let HarnessAgent { mut agent, bound, mut losses, metadata: _, called } = read;
    original::keep_name(&mut agent, target, called);
    let written = agent.policy.permissions.take().unwrap_or_default();
    // Agents of one project mostly have one of a few lists of tools.
    let bound_key: Arc<str> = bound.key().into();
    let key = format!("{} {bound_key} {}", target.name, permissions_key(&written));
    let answer = || within_bound(target, written.clone(), &bound, memo);
    let NarrowedPermissions { permissions, losses: more } = memo.narrowed.get(key, answer);
    losses.extend(more);
    agent.policy.permissions = Some(permissions);
    ImportedAgent { agent, losses, bound, bound_key }
}

/// Permissions that stay within a harness, and where they are stricter than it.
#[derive(Debug, Clone)]
pub(crate) struct NarrowedPermissions {
    permissions: Permissions,
    losses: BTreeSet<ImportLoss>,
}

fn within_bound(
    target: &Target,
    mut permissions: Permissions,
    bound: &PermittedBound,
    memo: &Arc<RenderMemo>,
) -> NarrowedPermissions {
    // A section that the harness' files do not mention is denied, since a default here might be wider.
    for section in bounded() {
        if permissions.get(section).is_some() {
            continue;
        }
        let intent = Some(at(Action::Deny));
        permissions.sections.push(SectionRules { section: at(section), intent, rules: vec![] });
    }
    // Rules about paths outside the workspace also bound reads and edits, so they are narrowed first.
    let beyond = permissions.get(Section::ExternalDirectory).cloned();
    let (title, memo) = (target.title, Arc::clone(memo));
    let mut narrowing = RuleNarrowing { title, bound, beyond: None, losses: BTreeSet::new(), memo };
    if let Some(mut written) = beyond.filter(|_| narrowing.knows(Section::ExternalDirectory)) {
        narrowing.section(&mut written);
        permissions.sections.retain(|it| it.section.value != Section::ExternalDirectory);
        permissions.sections.push(written);
    }
    let beyond = permissions.get(Section::ExternalDirectory);
    narrowing.beyond = beyond.map(|written| RuleList::new(written, &PathAnchors::default()));
    let sections = permissions.sections.iter_mut();
    for written in sections.filter(|it| bounded().any(|section| section == it.section.value)) {
        narrowing.section(written);
    }
    // Sections were removed and added above: restore the fixed order.
    permissions.sections.sort_by_key(|written| written.section.value);
    let losses = narrowing.losses;
    NarrowedPermissions { permissions, losses }
}

/// The most steps that raise one rule at a time; later steps raise all rules.
const MANY: usize = 100;

/// The state while rules are narrowed to their bound.
struct RuleNarrowing<'a> {
    title: &'static str,
    bound: &'a PermittedBound,
    /// The rules about paths outside the workspace.
    beyond: Option<RuleList>,
    losses: BTreeSet<ImportLoss>,
    memo: Arc<RenderMemo>,
}

impl RuleNarrowing<'_> {
    fn knows(&self, section: Section) -> bool {
        self.bound.model.ways.iter().any(|way| way.section == section)
    }

    /// Makes the rules of a section stricter until they are within every tool of the harness, then reports
    /// where they are stricter than the harness.
    fn section(&mut self, written: &mut SectionRules) {
        settle(written);
        let bounds = self.bound.of(written.section.value);
        if let Err(why) = self.narrow(written, &bounds) {
            // If narrowing fails, denying the whole section is the only safe answer.
            self.lose(written, why);
            written.rules.clear();
            written.intent = Some(Spanned::new(Action::Deny, written.section.span));
        }
        self.simplify(written, &bounds);
        let section = written.section.value;
        let bounds = self.bound.real(section);
        if let PolicyProof::Fails { example, source, target } = prove_with_example(
            &self.memo,
            section,
            &bounds,
            &self.layers(written, &RuleList::new(written, &PathAnchors::default())),
        ) {
            // The sides are swapped: the harness is on the left, so `target` is its verdict.
            let detail = format!("`{example}` is {target} in {} and {source} here", self.title);
            self.lose(written, plain(&detail));
        }
    }

    fn narrow(&self, written: &mut SectionRules, bounds: &[RuleList]) -> Result<(), String> {
        // Each step makes one rule stricter. A rule takes two steps from allow to deny, three for other
        // spellings, and one more to separate files inside and outside the workspace.
        for step in 0..=5 * (written.rules.len() + 4) {
            match self.wider(written, bounds) {
                // Raised rules may now repeat the intent.
                None if step > 0 => {
                    tidy(written);
                    return Ok(());
                }
                None => return Ok(()),
                // With this many rules, raising them one by one takes too long.
                Some((_, PolicyProof::Fails { source, .. })) if step >= MANY => {
                    raise_all(written, source);
                }
                Some((rules, PolicyProof::Fails { example, source, .. })) => {
                    if !spelled(written, &rules, &example, source) {
                        raise(written, &rules, &example, source);
                    }
                }
                Some((_, PolicyProof::Unknown(why))) => return Err(why),
                Some((_, PolicyProof::Holds)) => {}
            }
        }
        Err("it cannot be expressed: nothing is allowed".to_owned())
    }

    /// Returns the first rule list that is wider than its bounds, with its failed proof. The rules are tried
    /// as written, and with the other spellings of a command that an ask or a deny reaches.
    fn wider(
        &self,
        written: &SectionRules,
        bounds: &[RuleList],
    ) -> Option<(RuleList, PolicyProof)> {
        let rules = RuleList::new(written, &PathAnchors::default());
        [rules.as_written(), rules].into_iter().find_map(|rules| {
            let proof = within(&self.memo, &self.layers_of(written, &rules), bounds);
            (proof != PolicyProof::Holds).then_some((rules, proof))
        })
    }

    /// Removes the rules for files inside the workspace where the rules about paths outside it already make
    /// the same difference.
    fn simplify(&self, written: &mut SectionRules, bounds: &[RuleList]) {
        let is_inside = |rule: &&Spanned<PatternRule>| {
            let [deep, itself] = inside(rule.value.action);
            rule.value == deep || rule.value == itself
        };
        let kept = written.rules.iter().rev().take_while(is_inside).count();
        let kept = written.rules.len() - kept;
        let Some(action) = written.rules.get(kept).map(|rule| rule.value.action) else { return };
        let mut plain = written.clone();
        plain.rules.truncate(kept);
        plain.intent = written.intent.map(|intent| Spanned::new(action, intent.span));
        let layers =
            |written| self.layers(written, &RuleList::new(written, &PathAnchors::default()));
        // The shorter rules must stay within the bound and must not be stricter than the longer ones.
        let fits = within(&self.memo, &layers(&plain), bounds) == PolicyProof::Holds;
        if fits && within(&self.memo, &layers(written), &layers(&plain)) == PolicyProof::Holds {
            *written = plain;
        }
    }

    /// The rules as written; for files, also the rules about paths outside the workspace.
    fn layers(&self, written: &SectionRules, rules: &RuleList) -> Vec<RuleList> {
        self.layers_of(written, &rules.as_written())
    }

    fn layers_of(&self, written: &SectionRules, rules: &RuleList) -> Vec<RuleList> {
        let section = written.section.value;
        let beyond = self.beyond.as_ref().filter(|_| is_files(section));
        let beyond = beyond.map(|rules| outside(section, rules));
        [rules.clone()].into_iter().chain(beyond).collect()
    }

    fn lose(&mut self, written: &SectionRules, detail: String) {
        let field = format!("permissions.{}", written.section.value);
        self.losses.insert(ImportLoss { field, kind: LossKind::Narrowed, detail, at: None });
    }
}

fn is_files(section: Section) -> bool {
    matches!(section, Section::Edit | Section::Read)
}

/// Turns a rule that matches every call into the intent, and drops the rules after it.
fn settle(written: &mut SectionRules) {
    let section = written.section.value;
    let is_all = |pattern: &str| match section.kind() {
        PatternKind::Command => matches!(pattern, "*" | "**"),
        // A path pattern never matches every path: `**` is only what is inside the workspace.
        PatternKind::Path => false,
        PatternKind::Name | PatternKind::Web | PatternKind::Text => pattern == "**",
    };
    let all = written.rules.iter().position(|rule| is_all(&rule.value.pattern));
    if let Some(rule) = all.and_then(|at| written.rules.drain(at..).next()) {
        written.intent = Some(Spanned::new(rule.value.action, rule.span));
    }
}

/// Returns the index of the rule that decides about `example`.
fn deciding(rules: &RuleList, example: &ExampleSubject) -> Option<usize> {
    let decides = |rule: &PolicyRule| example.with(|subject| rule.pattern.matches(subject));
    rules.rules.iter().position(decides)
}

/// The most later rules that are searched for a suitable pattern.
const MOST_LATER: usize = 50;

/// Inserts a rule before an ask that reaches too far: an ask about `git commit` also reaches
/// `./git commit` and `git -C x commit`, which may need a stricter verdict.
fn spelled(
    written: &mut SectionRules,
    rules: &RuleList,
    example: &ExampleSubject,
    action: Action,
) -> bool {
    let Some(at) = deciding(rules, example) else { return false };
    // The rule itself decides, and not one of its other spellings.
    if deciding(&rules.as_written(), example) == Some(at) {
        return false;
    }
    let Some(rule) = written.rules.get(at) else { return false };
    let is_new = |new: &PatternRule| {
        let pattern =
            Pattern::new(PatternKind::Command, &new.pattern, action, &PathAnchors::default());
        let known = written.rules.iter().take(at).any(|rule| rule.value == *new);
        !known && example.with(|subject| pattern.matches(subject))
    };
    // A later rule that would decide otherwise is tried first: it restricts less than a new spelling.
    let later = written.rules.iter().skip(at + 1).map(|rule| &rule.value);
    let later = later.filter(|rule| rule.action == action).map(|rule| rule.pattern.clone());
    let patterns = later.take(MOST_LATER).chain(spellings(&rule.value.pattern));
    let mut rules = patterns.map(|pattern| PatternRule { pattern, action });
    let Some(new) = rules.find(is_new) else { return false };
    let new = Spanned::new(new, rule.span);
    written.rules.insert(at, new);
    true
}

/// Returns the other spellings of a command that an ask or a deny reaches: by the path of the program, and
/// with options before the subcommand.
fn spellings(pattern: &str) -> Vec<String> {
    let pattern = pattern.trim_start();
    let mut found = vec![format!("**/{pattern}")];
    if let Some((program, rest)) = pattern.split_once(' ') {
        found.extend(
            ["-*", "+*"].map(|option| format!("{program} {option} ** {}", rest.trim_start())),
        );
    }
    found
}

/// Makes the rule that decides about `example` as strict as `action`. Where no rule decides, the intent
/// becomes stricter; for a file outside the workspace, the files inside keep the old intent.
fn raise(written: &mut SectionRules, rules: &RuleList, example: &ExampleSubject, action: Action) {
    if let Some(rule) = deciding(rules, example).and_then(|at| written.rules.get_mut(at)) {
        rule.value.action = action;
        return;
    }
    let place = written.intent.map_or(written.section.span, |intent| intent.span);
    let before = written.intent.map_or(Action::Ask, |intent| intent.value);
    if is_files(written.section.value) && !is_inside(example) {
        let inside = inside(before).map(|rule| Spanned::new(rule, place));
        written.rules.extend(inside);
    }
    written.intent = Some(Spanned::new(action, place));
}

/// Makes all rules at least as strict as `action`.
fn raise_all(written: &mut SectionRules, action: Action) {
    for rule in &mut written.rules {
        rule.value.action = rule.value.action.strictest(action);
    }
    let place = written.intent.map_or(written.section.span, |intent| intent.span);
    let before = written.intent.map_or(Action::Ask, |intent| intent.value);
    written.intent = Some(Spanned::new(before.strictest(action), place));
}

/// Removes the last rules whose verdict equals the intent.
fn tidy(written: &mut SectionRules) {
    let matches_intent = |rule: &Spanned<PatternRule>, intent: Action| rule.value.action == intent;
    let Some(intent) = written.intent else { return };
    while written.rules.last().is_some_and(|rule| matches_intent(rule, intent.value)) {
        written.rules.pop();
    }
}

fn is_inside(example: &ExampleSubject) -> bool {
    let ExampleSubject::Text(text) = example else { return false };
    path::is_inside(text, &PathAnchors::default().workspace)
}
