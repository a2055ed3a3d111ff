//! From the files of a harness to the model, never wider: what a harness permits is the bound that the
//! imported rules must stay within.

use std::collections::BTreeSet;

use agentry_model::Agent;
use agentry_policy::compare::Example;
use agentry_policy::{Action, Places, Rules, Section, SectionRules};
use agentry_text::Spanned;

use crate::model::outside;
use crate::proof::{Proof, within};
use crate::rendering::{Loss, LossKind};
use crate::{Files, Model, Target};

/// How the agents of a harness are read.
#[derive(Debug)]
pub struct Import {
    /// Where they are: directories below a project, and the ends of their file names.
    pub places: &'static [(&'static str, &'static str)],
    /// Whether a file is one, by its path and its text.
    pub is_one: fn(&str, &str) -> bool,
    /// Reads the agent at a path, as leniently as the harness does; why not otherwise. Its policy is
    /// the nearest that the reader has words for: it is narrowed afterwards.
    pub read: fn(&Files<'_>, &str) -> Result<Read, String>,
}

/// An agent as a harness has it.
#[derive(Debug)]
pub struct Read {
    /// It, with `permissions` for its policy.
    pub agent: Agent,
    /// What the harness permits it.
    pub model: Model,
    /// What has no place in the model, and where the reader was lenient.
    pub losses: BTreeSet<Loss>,
}

/// An imported agent.
#[derive(Debug)]
pub struct Imported {
    /// It.
    pub agent: Agent,
    /// What the model has no words for, or says more strictly.
    pub losses: BTreeSet<Loss>,
}

/// Reads an agent of a harness. Rules that would permit more than the harness does are made stricter.
pub fn import(target: &Target, files: &Files<'_>, path: &str) -> Result<Imported, String> {
    let import = target.import.as_ref().ok_or("its agents cannot be imported")?;
    let Read { mut agent, model, mut losses } = (import.read)(files, path)?;
    let permissions = agent.policy.permissions.get_or_insert_default();
    // What is said of places outside the workspace bounds what is said of files.
    let is_files = |section| matches!(section, Section::Edit | Section::Read);
    for written in permissions.sections.iter_mut().filter(|it| !is_files(it.section.value)) {
        narrow(written, &model, None, &mut losses);
    }
    let beyond = permissions.get(Section::ExternalDirectory).cloned();
    let beyond = beyond.map(|written| Rules::new(&written, &Places::default()));
    for written in permissions.sections.iter_mut().filter(|it| is_files(it.section.value)) {
        narrow(written, &model, beyond.as_ref(), &mut losses);
    }
    Ok(Imported { agent, losses })
}

/// Makes the rules of a section stricter until no way of the harness is stricter than they are.
fn narrow(
    written: &mut SectionRules,
    model: &Model,
    beyond: Option<&Rules>,
    losses: &mut BTreeSet<Loss>,
) {
    let section = written.section.value;
    settle(written);
    let beyond = beyond.map(|rules| outside(section, rules));
    let bounds: Vec<Rules> = model
        .ways
        .iter()
        .filter(|way| way.section == section)
        .flat_map(|way| way.layers.iter().cloned())
        .collect();
    // Each step makes one rule stricter; there are two steps from allow to deny.
    for _ in 0..=2 * (written.rules.len() + 1) {
        let rules = Rules::new(written, &Places::default());
        let layers: Vec<Rules> = [rules.as_written()].into_iter().chain(beyond.clone()).collect();
        match within(&layers, &bounds) {
            Proof::Holds => return,
            Proof::Fails { example, source, target } => {
                let detail = format!("`{example}` would be {target} instead of {source}");
                losses.insert(loss(section, detail));
                raise(written, &rules, &example, source);
            }
            Proof::Unknown(why) => {
                losses.insert(loss(section, why));
                break;
            }
        }
    }
    written.rules.clear();
    let place = written.section.span;
    written.intent = Some(Spanned::new(Action::Deny, place));
}

/// A rule about every command is the answer to all that comes after it.
fn settle(written: &mut SectionRules) {
    let is_all = |pattern: &str| matches!(pattern, "*" | "**");
    let all = written.rules.iter().position(|rule| is_all(&rule.value.pattern));
    let all = all.filter(|_| written.section.value == Section::Bash);
    if let Some(rule) = all.and_then(|at| written.rules.drain(at..).next()) {
        written.intent = Some(Spanned::new(rule.value.action, rule.span));
    }
}

fn loss(section: Section, detail: String) -> Loss {
    Loss { field: format!("permissions.{section}"), kind: LossKind::Narrowed, detail }
}

/// Makes the rule that decides about `example` as strict as `action`.
fn raise(written: &mut SectionRules, rules: &Rules, example: &Example, action: Action) {
    let plain = rules.as_written();
    let decides =
        |rule: &agentry_policy::Rule| example.with(|subject| rule.pattern.matches(subject));
    match plain.rules.iter().position(decides).and_then(|at| written.rules.get_mut(at)) {
        Some(rule) => rule.value.action = action,
        None => {
            let place = written.intent.map_or(written.section.span, |intent| intent.span);
            written.intent = Some(Spanned::new(action, place));
        }
    }
}
