//! What the user agrees to beside the definition itself: the files of the skills, and the agents that the
//! definition names. The digest of the agent does not cover them, so each has a pin of its own.

use std::collections::HashMap;

use agentry_runtime::consent::{ConsentPin, ConsentPinKind};

use super::delegation::reach::ReachableDelegate;
use super::prepared_agent::PreparedAgent;

/// The pins of an agent and of the agents that it names.
pub(crate) fn pins(ground: &PreparedAgent, delegates: &[ReachableDelegate]) -> Vec<ConsentPin> {
    let mut pins = skill_pins(ground, None);
    for delegate in delegates {
        pins.push(ConsentPin {
            kind: ConsentPinKind::Delegate,
            subject: delegate.chain.clone(),
            digest: delegate.ground.digest.clone(),
        });
        pins.extend(skill_pins(&delegate.ground, Some(&delegate.chain)));
    }
    pins
}

/// The pins of the files of an agent's skills.
fn skill_pins(ground: &PreparedAgent, chain: Option<&str>) -> Vec<ConsentPin> {
    let whose = chain.map_or(String::new(), |chain| format!("{chain}: "));
    let kind = if chain.is_some() { ConsentPinKind::Delegate } else { ConsentPinKind::Skill };
    let pins = ground.skills.iter().flat_map(|skill| {
        skill.pinned.iter().map(|file| ConsentPin {
            kind,
            subject: format!("{whose}{}/{}", skill.name, file.path),
            digest: file.digest.clone(),
        })
    });
    pins.collect()
}

/// The delegates that the user agreed to: the digest of each with its skills, by its main file.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgreedDelegates(HashMap<String, AgreedState>);

/// The digest of an agent, and the pins of its skills.
type AgreedState = (String, Vec<ConsentPin>);

impl AgreedDelegates {
    pub(crate) fn of(delegates: &[ReachableDelegate]) -> Self {
        let one = |it: &ReachableDelegate| (it.identity.clone(), state(&it.ground));
        Self(delegates.iter().map(one).collect())
    }

    /// Whether a delegate is as it was when the user agreed; `None` if it was not listed.
    pub(crate) fn is_same(&self, identity: &str, ground: &PreparedAgent) -> Option<bool> {
        self.0.get(identity).map(|agreed| *agreed == state(ground))
    }
}

fn state(ground: &PreparedAgent) -> AgreedState {
    (ground.digest.clone(), skill_pins(ground, None))
}
