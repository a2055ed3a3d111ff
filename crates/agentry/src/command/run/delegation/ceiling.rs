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
            secrets: ground.secrets.clone(),
            workspace: ground.workspace.display().to_string(),
            is_declared: declares_ceiling(&ground.agent),
            above,
        })
    }

    /// Whether a delegate works under its own policy, as far as this run decides.
    pub(crate) fn is_lifted_for(&self, delegate: &KnownDelegate) -> bool {
        self.is_declared && delegate.is_named
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
        let ceiling =
            if self.is_lifted_for(delegate) { self.above.clone() } else { Some(Arc::clone(self)) };
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
        let met = child.judge.met(&self.judge);
        if let Some(section) = met.escapes(&self.judge) {
            return Err(format!(
                "it cannot be proved that it does no more in `{section}` than its parent"
            ));
        }
        child.own_judge = Some(std::mem::replace(&mut child.judge, met));
        child.granted.retain(|name| self.granted.contains(name));
        Ok(())
    }
}
