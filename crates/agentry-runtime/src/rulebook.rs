//! What an agent may do, ready to be asked while it runs.

use std::path::Path;
use std::sync::Arc;

use agentry_compile::World;
use agentry_compile::policy::{Action, Call, Judge, Reason, Verdict};
use agentry_compile::render::judged;
use agentry_compile::text::Sources;

use crate::approval_scope::covered;
use crate::conversation::cut;
use crate::event::Judgement;
use crate::tool::Touch;

/// The most characters of what was touched.
const MOST_CHARACTERS: usize = 200;

/// A world that a whole run shares.
pub type SharedWorld = Arc<dyn World + Send + Sync>;

/// Everything that decides about the calls of one run.
pub struct Rulebook {
    /// Where paths lead.
    pub world: SharedWorld,
    /// The policy of the agent and of the user.
    pub judge: Judge,
    /// What no call may write to, whatever the policy says.
    pub protected: Vec<String>,
    /// Where rules are written.
    pub sources: Sources,
}

/// What becomes of something that is touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruled {
    /// The strictest answer.
    pub verdict: Judgement,
    /// Why, in words: the same wherever the definition lies.
    pub reason: String,
    /// Where the rules that decide are written.
    pub places: Vec<String>,
    /// What an approval for the rest of the run would cover, in words.
    pub asking: Vec<String>,
}

impl Rulebook {
    /// The answer to a call that touches all of this.
    pub fn ask(&self, touches: &[Touch], directory: &Path) -> Ruled {
        let at = directory;
        let directory = directory.to_string_lossy();
        let mut worst = Action::Allow;
        let mut parts = Vec::new();
        for touch in touches {
            let call =
                Call { section: touch.section, subject: &touch.subject, directory: &directory };
            let Verdict { action, reasons } =
                judged(&*self.world, &self.judge, &self.protected, call);
            worst = worst.max(action);
            parts.extend(reasons.into_iter().map(|reason| (touch, reason)));
        }
        let asking = parts.iter().filter(|(_, reason)| reason.action == Action::Ask);
        let mut asking: Vec<String> =
            asking.map(|(touch, reason)| covered(&self.judge, touch, reason, at)).collect();
        asking.sort();
        asking.dedup();
        let (reason, places) = self.words(worst, &parts);
        Ruled { verdict: judgement(worst), reason, places, asking }
    }

    /// What decides, in words, and where: each part once, the first few.
    fn words(&self, worst: Action, parts: &[(&Touch, Reason)]) -> (String, Vec<String>) {
        const MOST: usize = 5;
        let deciding = parts.iter().filter(|(_, reason)| reason.action == worst);
        let places = deciding.clone().filter_map(|(_, reason)| {
            let span = reason.span?;
            Some(format!("{}:{}", self.sources.path(span), self.sources.start(span).line))
        });
        let mut places: Vec<String> = places.collect();
        places.dedup();
        let mut words: Vec<String> = deciding.map(|(touch, it)| reason(touch, it)).collect();
        words.dedup();
        let more = words.len().saturating_sub(MOST);
        words.truncate(MOST);
        if more > 0 {
            words.push(format!("and {more} more"));
        }
        (words.join("; "), places)
    }
}

fn reason(touch: &Touch, reason: &Reason) -> String {
    let Reason { segment, rule, layer, note, .. } = reason;
    let note = note.as_ref().map_or(String::new(), |note| format!(", {note}"));
    format!("{} `{}`: {rule} ({layer}){note}", touch.section, cut(segment, MOST_CHARACTERS))
}

fn judgement(action: Action) -> Judgement {
    match action {
        Action::Allow => Judgement::Allow,
        Action::Ask => Judgement::Ask,
        Action::Deny => Judgement::Deny,
    }
}
