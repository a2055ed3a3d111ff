//! What a run hands down as the most that its delegates may do.

use std::sync::Arc;

use agentry_compile::formats::agentry_block::declares_ceiling;
use agentry_compile::policy::Judge;
use agentry_runtime::redact::{KnownSecret, Redactor};

use super::delegate_list::KnownDelegate;
use crate::command::run::prepared_agent::{PreparedAgent, required_variables};

/// The policy of a run, as the ceiling of its delegates.
pub(crate) struct DelegationCeiling {
    judge: Judge,
    protected: Vec<String>,
    granted: Vec<String>,
    starts_programs: bool,
    secrets: Vec<KnownSecret>,
    workspace: String,
    /// Whether the agents that the definition names work under their own policies.
    is_declared: bool,
    /// The ceiling of the run itself. No declaration below it lifts it.
    above: Option<Arc<Self>>,
}

impl DelegationCeiling {
    pub(crate) fn of(ground: &PreparedAgent, above: Option<Arc<Self>>) -> Arc<Self> {
        Arc::new(Self {
            judge: ground.judge.clone(),
            protected: ground.protected.clone(),
            granted: ground.granted.clone(),
            starts_programs: ground.starts_programs,
            secrets: ground.secrets.clone(),
            workspace: ground.workspace.display().to_string(),
            is_declared: declares_ceiling(&ground.agent),
            above,
        })
    }

    /// The ceiling that holds for a delegate: this one, or the one above it if this one is lifted for it.
    fn over(self: &Arc<Self>, is_named: bool) -> Option<Arc<Self>> {
        if self.is_declared && is_named { self.above.clone() } else { Some(Arc::clone(self)) }
    }

    /// Puts a delegate under the ceiling that holds for it, proves that it stays there, and returns that ceiling.
    /// The protected files and the secrets of both count.
    pub(crate) fn lower(
        self: &Arc<Self>,
        delegate: &KnownDelegate,
        child: &mut PreparedAgent,
    ) -> Result<Option<Arc<Self>>, String> {
        if child.judge.places() != self.judge.places() {
            return Err(format!(
                "it belongs to the workspace `{}`, and works for agents of that workspace only, not of `{}`",
                child.workspace.display(),
                self.workspace
            ));
        }
        let ceiling = self.over(delegate.is_named);
        if let Some(ceiling) = &ceiling {
            ceiling.narrow(child)?;
        }
        child.protected.extend(self.protected.iter().cloned());
        child.protected.sort();
        child.protected.dedup();
        // The prompt of a delegate may hold a secret that only its parent knows.
        child.secrets.extend(self.secrets.iter().cloned());
        child.redactor = Arc::new(Redactor::new(child.secrets.clone()));
        Ok(ceiling)
    }

    fn narrow(&self, child: &mut PreparedAgent) -> Result<(), String> {
        let required = required_variables(&child.agent);
        if let Some(name) = required.iter().find(|name| !self.granted.contains(name)) {
            return Err(format!("it needs the variable `{name}`, which its parent does not get"));
        }
        let met = self.meet(&child.judge)?;
        child.own_judge = Some(std::mem::replace(&mut child.judge, met));
        child.granted.retain(|name| self.granted.contains(name));
        child.starts_programs &= self.starts_programs;
        Ok(())
    }

    /// The policy of a delegate under this ceiling.
    fn meet(&self, own: &Judge) -> Result<Judge, String> {
        let met = own.met(&self.judge);
        match met.escapes(&self.judge) {
            None => Ok(met),
            Some(section) => Err(format!(
                "it cannot be proved that it does no more in `{section}` than its parent"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use agentry_compile::policy::path::NoLinks;
    use agentry_compile::policy::{
        Action, LayerSource, PathAnchors, Permissions, Section, SectionCall, SectionRules, layer,
    };
    use agentry_compile::text::{FileId, Span, Spanned};

    use super::*;

    const ACTIONS: [Action; 3] = [Action::Allow, Action::Ask, Action::Deny];
    const SUBJECTS: [(Section, &str); 6] = [
        (Section::Bash, "make"),
        (Section::Edit, "a.txt"),
        (Section::Webfetch, "https://a.example/"),
        (Section::Mcp, "server/tool"),
        (Section::Delegate, "helper"),
        (Section::Tool, "own"),
    ];

    /// A policy with one answer for a section, and a rule of the user that denies it.
    fn judge(section: Section, action: Action, is_denied_by_user: bool) -> Judge {
        let at = |action| Permissions {
            sections: vec![SectionRules {
                section: Spanned::new(section, Span::start_of(FileId(0))),
                intent: Some(Spanned::new(action, Span::start_of(FileId(0)))),
                rules: Vec::new(),
            }],
        };
        let places = PathAnchors::default();
        let mut layers = vec![layer(LayerSource::Permissions, &at(action), &places)];
        let denies = || layer(LayerSource::User, &at(Action::Deny), &places);
        layers.extend(is_denied_by_user.then(denies));
        Judge::new(layers, places)
    }

    fn ceiling(
        judge: &Judge,
        is_declared: bool,
        above: Option<Arc<DelegationCeiling>>,
    ) -> Arc<DelegationCeiling> {
        Arc::new(DelegationCeiling {
            judge: judge.clone(),
            protected: Vec::new(),
            granted: Vec::new(),
            starts_programs: true,
            secrets: Vec::new(),
            workspace: String::new(),
            is_declared,
            above,
        })
    }

    fn under(own: Judge, ceiling: Option<&Arc<DelegationCeiling>>) -> Judge {
        match ceiling {
            Some(ceiling) => ceiling.meet(&own).expect("it stays under its ceiling"),
            None => own,
        }
    }

    /// Every chain of three agents: their answers, who declares a ceiling, who is named, and a rule of the user. A
    /// resumed run computes the same from the same definitions.
    #[test]
    fn a_grandchild_obeys_its_ceiling_and_the_user_policy() {
        let flags = (0..32_u8).map(|bits| [0, 1, 2, 3, 4].map(|bit| bits >> bit & 1 == 1));
        for [root_declares, child_declares, names_child, names_grandchild, denied] in flags {
            for (section, subject) in SUBJECTS {
                for answers in ACTIONS.iter().flat_map(|a| {
                    ACTIONS.iter().flat_map(move |b| ACTIONS.iter().map(move |c| [*a, *b, *c]))
                }) {
                    let [root, child, own] = answers.map(|action| judge(section, action, denied));
                    let action = |judge: &Judge| {
                        let directory = &judge.places().workspace;
                        judge.judge(SectionCall { section, subject, directory }, &NoLinks).action
                    };
                    let top = ceiling(&root, root_declares, None);
                    let over_child = top.over(names_child);
                    let child = under(child, over_child.as_ref());
                    let middle = ceiling(&child, child_declares, over_child);
                    let over = middle.over(names_grandchild);
                    let found = action(&under(own.clone(), over.as_ref()));
                    let case = format!(
                        "{section} {answers:?} {root_declares} {child_declares} {names_child} \
                         {names_grandchild} {denied}"
                    );
                    assert!(found >= action(&own), "its own policy: {case}");
                    assert!(!denied || found == Action::Deny, "the user: {case}");
                    let is_lifted = root_declares && names_child;
                    assert!(is_lifted || found >= action(&root), "the root: {case}");
                    let is_free = child_declares && names_grandchild;
                    assert!(is_free || found >= action(&child), "its parent: {case}");
                    if is_lifted && is_free {
                        assert_eq!(found, action(&own), "under its own policy: {case}");
                    }
                }
            }
        }
    }
}
