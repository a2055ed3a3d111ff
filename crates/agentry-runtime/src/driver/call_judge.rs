//! The judgement of one call: what it would touch, and what the policy says about that. It reads paths and can take
//! seconds for a long command line, so that it has a thread of its own in a run.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentry_compile::native_tool;
use agentry_compile::policy::Section;

use super::call_lineage::CallLineages;
use super::guarded_tools::SharedRun;
use super::interfaces::CallDecision;
use crate::approval::ApprovalOffer;
use crate::conversation::ToolCall;
use crate::event::CallJudgement;
use crate::rulebook::RuledTouch;
use crate::skill::SkillNarrowing;
use crate::tool::{BuiltInTool, ToolTouch, Toolbox};

/// The kinds of calls that a standing approval can cover.
const STANDING_SECTIONS: [Section; 5] =
    [Section::Bash, Section::Edit, Section::Read, Section::Webfetch, Section::Websearch];

/// What decides about the calls of a run.
pub(super) struct CallJudge {
    pub(super) toolbox: Toolbox,
    pub(super) shared: Arc<SharedRun>,
    /// The last judgement of each call that has not run yet.
    judged: Mutex<HashMap<String, JudgedCall>>,
    /// The bounds of the calls that running calls make.
    pub(super) lineages: CallLineages,
}

/// What a call would touch at the time of its judgement.
#[derive(PartialEq, Eq)]
struct JudgedCall {
    touches: Vec<ToolTouch>,
    directory: PathBuf,
    asking: Vec<String>,
}

impl CallJudge {
    pub(super) fn new(toolbox: Toolbox, shared: Arc<SharedRun>) -> Self {
        Self { toolbox, shared, judged: Mutex::default(), lineages: CallLineages::default() }
    }

    /// Decides about a call of the model, or of a call that runs.
    pub(super) fn decide(&self, call: &ToolCall) -> CallDecision {
        let class = self.toolbox.class(&call.tool, &call.arguments);
        let directory = self.shared.place().directory;
        let directory = directory.display();
        let exact = match self.human_gate(call) {
            Some(_) => String::new(),
            None => format!("exactly {} {} in {directory}", call.tool, call.arguments),
        };
        match self.ruled(call) {
            Ok((judged, RuledTouch { verdict, reason, places, asking })) => {
                let asks = verdict == CallJudgement::Ask && !exact.is_empty();
                let offer = if asks { self.offer(call, &judged) } else { ApprovalOffer::default() };
                self.judged().insert(call.id.clone(), judged);
                CallDecision { verdict, reason, class, places, rules: asking, exact, offer }
            }
            // An invalid call needs no approval: it cannot run.
            Err(reason) => CallDecision { class, exact, ..CallDecision::denied(reason) },
        }
    }

    /// Returns what a call touches and the verdict about it, or why the call is not valid.
    fn ruled(&self, call: &ToolCall) -> Result<(JudgedCall, RuledTouch), String> {
        let place = self.shared.place();
        let touches = self.toolbox.checked_touches(&call.tool, &call.arguments, &place)?;
        let lineage = self.lineages.of(&call.id)?;
        let book = lineage.as_ref().map_or(&self.shared.rulebook, |lineage| &lineage.rulebook);
        let mut ruled = book.ask(&touches, &place.directory);
        if self.toolbox.get(&call.tool).is_some_and(BuiltInTool::needs_confirmation) {
            ruled = confirmed(ruled, &call.tool);
        }
        if let Some(narrowing) = self.narrowing() {
            ruled = narrowing.limited(ruled, book, &call.tool, &touches, &place.directory);
        }
        if let Some(reason) = self.human_gate(call)
            && ruled.verdict != CallJudgement::Deny
        {
            let (places, asking) = (Vec::new(), Vec::new());
            ruled = RuledTouch { verdict: CallJudgement::Ask, reason, places, asking };
        }
        let asking = ruled.asking.clone();
        Ok((JudgedCall { touches, directory: place.directory, asking }, ruled))
    }

    /// Returns why only the person may let a call pass.
    pub(super) fn human_gate(&self, call: &ToolCall) -> Option<String> {
        self.toolbox.get(&call.tool)?.human_gate(&call.arguments)
    }

    /// Returns the limits of the skills in use.
    pub(super) fn narrowing(&self) -> Option<Arc<SkillNarrowing>> {
        self.toolbox.skills()?.narrowing()
    }

    /// Returns what a call may touch now. An earlier call may have changed the directory, or replaced a file
    /// by a link. A call that would now touch something else needs a new judgement.
    pub(super) fn granted(&self, call: &ToolCall) -> Result<Vec<ToolTouch>, String> {
        let before = self.judged().remove(&call.id);
        let (now, ruled) = self.ruled(call)?;
        let same = |before: &JudgedCall| {
            let asked = |rule| before.asking.contains(rule);
            before.touches == now.touches
                && before.directory == now.directory
                && now.asking.iter().all(asked)
        };
        match ruled.verdict {
            CallJudgement::Deny => Err(format!("refused: {}", ruled.reason)),
            // The approval was for the earlier touches only.
            CallJudgement::Ask if !before.as_ref().is_some_and(same) => Err(format!(
                "refused: something changed since it was judged; make the call again: {}",
                ruled.reason
            )),
            CallJudgement::Ask | CallJudgement::Allow => Ok(now.touches),
        }
    }

    /// Returns the wider approvals that a call can be given: only native tools, only what no more than rules
    /// asks about, and no call of a script or under a skill.
    fn offer(&self, call: &ToolCall, judged: &JudgedCall) -> ApprovalOffer {
        let tool = call.tool.as_str();
        let is_native = native_tool(tool) == Some(tool);
        let confirms = self.toolbox.get(tool).is_none_or(BuiltInTool::needs_confirmation);
        let is_bound =
            !matches!(self.lineages.of(&call.id), Ok(None)) || self.narrowing().is_some();
        if !is_native || confirms || is_bound || judged.touches.is_empty() {
            return ApprovalOffer::default();
        }
        let book = &self.shared.rulebook;
        let is_bare =
            |sections: &[Section]| book.is_bare(sections, &judged.touches, &judged.directory);
        ApprovalOffer {
            all_edits: is_bare(&[Section::Edit]),
            standing: is_bare(&STANDING_SECTIONS),
        }
    }

    fn judged(&self) -> MutexGuard<'_, HashMap<String, JudgedCall>> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A verdict about a tool whose calls the user confirms.
fn confirmed(ruled: RuledTouch, tool: &str) -> RuledTouch {
    if ruled.verdict != CallJudgement::Allow {
        return ruled;
    }
    let reason = format!("the definition wants a confirmation of `{tool}`");
    let asking = vec![format!("every call of `{tool}`")];
    RuledTouch { verdict: CallJudgement::Ask, reason, asking, ..ruled }
}
