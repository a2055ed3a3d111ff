//! Judges web addresses.

use crate::pattern::PatternSubject;
use crate::verdict::LayerDecision;
use crate::web::{WebAddress, address};
use crate::{Action, Section};

use super::Judge;

impl Judge {
    /// Returns the decision about a web address.
    pub(super) fn address(&self, text: &str) -> LayerDecision {
        let WebAddress { text, private, doubt } = match address(text) {
            Ok(address) => address,
            Err(why) => {
                // It may be any address, also a denied one.
                let action = self.worst(Section::Webfetch).action.strictest(Action::Ask);
                return LayerDecision::built_in(action, format!("not understood: {why}"));
            }
        };
        let decision = self.text(Section::Webfetch, &text);
        let decision = match doubt {
            Some(why) => decision.strictest(LayerDecision::built_in(Action::Ask, why)),
            None => decision,
        };
        // A wildcard such as `*` is not meant for local services, so their host has to be named.
        if private && !self.names_host(&text) {
            let inside = "an address of this machine or a private network, which no rule names";
            return decision.strictest(LayerDecision::built_in(Action::Deny, inside));
        }
        decision
    }

    /// Whether an allow rule that decides about the address names its host without a wildcard.
    fn names_host(&self, address: &str) -> bool {
        let subject = PatternSubject::Text(address);
        self.rules(Section::Webfetch).any(|(_, rules)| {
            let rule = rules.first(subject);
            rule.action == Action::Allow && rule.pattern.names_host()
        })
    }
}
