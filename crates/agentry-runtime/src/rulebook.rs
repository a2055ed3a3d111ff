//! Decides about the tool calls of a run: the policy, the protected names, and the texts for the user.

use std::path::Path;
use std::sync::Arc;

use agentry_compile::World;
use agentry_compile::policy::{
    Action, Judge, PolicyLayer, Section, SectionCall, Verdict, VerdictReason,
};
use agentry_compile::render::judged;
use agentry_compile::text::SourceFiles;
use agentry_compile::text::report::cut;

use crate::approval_scope::{AskedPart, CoverBreadth, covered};
use crate::bare_policy::bare_policy;
use crate::event::CallJudgement;
use crate::tool::ToolTouch;

/// The most characters of a subject in a reason.
const MOST_CHARACTERS: usize = 200;

/// A world that the parts of a run share.
pub type SharedWorld = Arc<dyn World + Send + Sync>;

/// Everything that decides about the calls of one run.
pub struct Rulebook {
    /// Resolves paths.
    pub world: SharedWorld,
    /// The policy of the agent and of the user.
    pub judge: Judge,
    /// Paths that no call may write to, whatever the policy allows.
    pub protected: Vec<String>,
    /// The files that the rules were read from.
    pub sources: SourceFiles,
}

/// The decision about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuledTouch {
    /// The strictest verdict.
    pub verdict: CallJudgement,
    /// The reason, as text. It has no paths of definition files, so it is equal on every machine.
    pub reason: String,
    /// File and line of the deciding rules.
    pub places: Vec<String>,
    /// What an approval for the rest of the run would cover, as text.
    pub asking: Vec<String>,
}

impl Rulebook {
    /// Returns the same rules with one more layer, for the calls inside a script.
    #[must_use]
    pub fn narrowed(&self, layer: PolicyLayer) -> Self {
        Self {
            world: Arc::clone(&self.world),
            judge: self.judge.narrowed(layer),
            protected: self.protected.clone(),
            sources: self.sources.clone(),
        }
    }

    /// Decides about a call that touches all of this.
    pub fn ask(&self, touches: &[ToolTouch], directory: &Path) -> RuledTouch {
        self.ask_by(&self.judge, touches, directory)
    }

    /// Like [`ask`](Self::ask), by another policy.
    pub(crate) fn ask_by(
        &self,
        judge: &Judge,
        touches: &[ToolTouch],
        directory: &Path,
    ) -> RuledTouch {
        let at = directory;
        let directory = directory.to_string_lossy();
        let mut worst = Action::Allow;
        let mut parts = Vec::new();
        for touch in touches {
            let call = SectionCall {
                section: touch.section,
                subject: &touch.subject,
                directory: &directory,
            };
            let Verdict { action, reasons } = judged(&*self.world, judge, &self.protected, call);
            worst = worst.max(action);
            parts.extend(reasons.into_iter().map(|reason| (touch, reason)));
        }
        let asking = parts.iter().filter(|(_, reason)| reason.action == Action::Ask);
        // A command line can have a reason for each of its words, and each breadth judges the whole line: once is enough.
        let mut known: Option<(&ToolTouch, CoverBreadth)> = None;
        let asking = asking.map(|(touch, reason)| {
            let same = known.filter(|(of, _)| std::ptr::eq(*of, *touch));
            let breadth = same.map_or_else(|| self.breadth(touch, at), |(_, breadth)| breadth);
            known = Some((touch, breadth));
            covered(judge, &AskedPart { touch, reason, breadth }, at)
        });
        let mut asking: Vec<String> = asking.collect();
        asking.sort();
        asking.dedup();
        let (reason, places) = self.words(worst, &parts);
        RuledTouch { verdict: judgement(worst), reason, places, asking }
    }

    /// Returns whether calls of these sections would be allowed if there were no rules: nothing that no rule
    /// can remove asks about them or denies them.
    pub(crate) fn is_bare(
        &self,
        sections: &[Section],
        touches: &[ToolTouch],
        directory: &Path,
    ) -> bool {
        let judge = bare_policy(sections, self.judge.places());
        let directory = directory.to_string_lossy();
        touches.iter().all(|ToolTouch { section, subject }| {
            let call = SectionCall { section: *section, subject, directory: &directory };
            judged(&*self.world, &judge, &self.protected, call).action == Action::Allow
        })
    }

    /// Returns how much an approval of a part may cover.
    fn breadth(&self, touch: &ToolTouch, directory: &Path) -> CoverBreadth {
        let is_bare = match touch.section {
            Section::Bash
            | Section::Edit
            | Section::Read
            | Section::ExternalDirectory
            | Section::Webfetch => {
                self.is_bare(Section::ALL, std::slice::from_ref(touch), directory)
            }
            // Nothing but rules decides about the others.
            _ => true,
        };
        if is_bare { CoverBreadth::TheLike } else { CoverBreadth::Exact }
    }

    /// Returns the deciding reasons and the places of their rules: each once, the first few.
    fn words(&self, worst: Action, parts: &[(&ToolTouch, VerdictReason)]) -> (String, Vec<String>) {
        // A shell line can have many parts; the user needs only the first reasons.
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

fn reason(touch: &ToolTouch, reason: &VerdictReason) -> String {
    let VerdictReason { segment, rule, layer, note, .. } = reason;
    let note = note.as_ref().map_or(String::new(), |note| format!(", {note}"));
    format!("{} `{}`: {rule} ({layer}){note}", touch.section, cut(segment, MOST_CHARACTERS))
}

fn judgement(action: Action) -> CallJudgement {
    match action {
        Action::Allow => CallJudgement::Allow,
        Action::Ask => CallJudgement::Ask,
        Action::Deny => CallJudgement::Deny,
    }
}
