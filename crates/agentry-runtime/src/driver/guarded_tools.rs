//! The tools of an agent under its policy, as a real run uses them. Each call is judged twice: when the
//! model makes it, and again just before it runs.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use agentry_compile::native_tool;
use agentry_compile::policy::Section;

use super::call_lineage::{CallLineage, CallLineages};
use super::call_output::CallOutput;
use super::interfaces::{
    ApprovalReply, ApprovalRequest, Approver, CallDecision, InnerPort, InnerReply, InnerRequest,
    OutputSink, RunTools,
};
use super::output::RunOutput;
use crate::approval::{ApprovalOffer, Approvals};
use crate::commands::CommandStarter;
use crate::conversation::ToolCall;
use crate::event::CallJudgement;
use crate::redact::Redactor;
use crate::rulebook::{Rulebook, RuledTouch};
use crate::running_commands::running_commands;
use crate::skill::SkillNarrowing;
use crate::skill::progress::{SkillNote, SkillProgress};
use crate::tool::{
    self, BoxedFuture, BuiltInTool, CallLocation, CommandStreams, InnerCall, OutputLimit,
    PauseClock, StartedCommand, ToolHost, ToolOutput, ToolSpec, ToolTouch, Toolbox,
};
use crate::undo::BeforeImages;

/// The kinds of calls that a standing approval can cover.
const STANDING_SECTIONS: [Section; 5] =
    [Section::Bash, Section::Edit, Section::Read, Section::Webfetch, Section::Websearch];

/// The tools of a run, guarded by its policy.
pub struct GuardedTools {
    toolbox: Toolbox,
    specs: Vec<ToolSpec>,
    shared: Arc<SharedRun>,
    /// The last judgement of each call that has not run yet.
    judged: Mutex<HashMap<String, JudgedCall>>,
    /// The bounds of the calls that running calls make.
    lineages: CallLineages,
    /// The way to the driver; without one, inner calls are made here.
    port: OnceLock<InnerPort>,
}

/// What a call would touch at the time of its judgement.
#[derive(PartialEq, Eq)]
struct JudgedCall {
    touches: Vec<ToolTouch>,
    directory: PathBuf,
    asking: Vec<String>,
}

/// What all calls of a run share.
pub struct SharedRun {
    /// Decides about calls.
    pub rulebook: Rulebook,
    /// What the user has approved for the rest of the run.
    pub approvals: Arc<Approvals>,
    /// The directory and the files of the calls.
    pub place: Mutex<CallLocation>,
    /// Keeps the content of files before they are changed; `None` if nothing is executed.
    pub images: Option<BeforeImages>,
    /// Starts commands.
    pub commands: Arc<dyn CommandStarter>,
    /// Answers the questions of tools.
    pub person: Arc<dyn Approver>,
    /// Receives the output of calls.
    pub output: OutputSink,
    /// Removes secrets from output.
    pub redactor: Arc<Redactor>,
}

impl SharedRun {
    fn place(&self) -> CallLocation {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn move_to(&self, directory: PathBuf) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).directory = directory;
    }
}

impl GuardedTools {
    /// Guards the tools of a toolbox.
    pub fn new(toolbox: Toolbox, shared: Arc<SharedRun>) -> Self {
        Self {
            specs: toolbox.specs(),
            toolbox,
            shared,
            judged: Mutex::default(),
            lineages: CallLineages::default(),
            port: OnceLock::new(),
        }
    }

    /// Returns what a call touches and the verdict about it, or why the call is not valid.
    fn ruled(&self, call: &ToolCall) -> Result<(JudgedCall, RuledTouch), String> {
        let place = self.shared.place();
        let touches = self.toolbox.checked_touches(&call.tool, &call.arguments, &place)?;
        let lineage = self.lineages.of(&call.id);
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
    fn human_gate(&self, call: &ToolCall) -> Option<String> {
        self.toolbox.get(&call.tool)?.human_gate(&call.arguments)
    }

    /// Returns the limits of the skills in use.
    fn narrowing(&self) -> Option<Arc<SkillNarrowing>> {
        self.toolbox.skills()?.narrowing()
    }

    /// Returns what a call may touch now. An earlier call may have changed the directory, or replaced a file
    /// by a link. A call that would now touch something else needs a new judgement.
    fn granted(&self, call: &ToolCall) -> Result<Vec<ToolTouch>, String> {
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
        let is_bound = self.lineages.of(&call.id).is_some() || self.narrowing().is_some();
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

    /// Checks that there is such a tool, and that the arguments fit it.
    pub fn fits(&self, call: &ToolCall) -> Result<(), String> {
        let place = self.shared.place();
        self.toolbox.checked_touches(&call.tool, &call.arguments, &place).map(drop)
    }

    /// Judges a call again, just before it runs, and returns what it can ask of its run.
    pub fn host<'a>(&'a self, call: &'a ToolCall) -> Result<impl ToolHost + 'a, String> {
        self.call_host(call)
    }

    fn call_host<'a>(&'a self, call: &'a ToolCall) -> Result<CallHost<'a>, String> {
        let granted = self.granted(call)?;
        let printed = Mutex::new(CallOutput::new(&self.shared.redactor));
        let (lineage, pause) = (self.lineages.of(&call.id), Arc::default());
        // A tool of the definition that a skill allows may do all that the policy permits.
        let is_native = native_tool(&call.tool) == Some(call.tool.as_str());
        let narrowing = self.narrowing().filter(|_| is_native);
        let (tools, shared) = (self, &*self.shared);
        let (id, tool) = (call.id.as_str(), call.tool.as_str());
        Ok(CallHost { tools, shared, id, tool, granted, narrowing, printed, lineage, pause })
    }

    /// Makes an inner call without a driver: nothing is written down.
    async fn call_here(&self, request: InnerRequest) -> InnerReply {
        let InnerRequest { within, tool, arguments, pause, .. } = request;
        let id = self.lineages.next_id(&within);
        let call = ToolCall { id, tool, arguments, opaque: None };
        let decision = self.shared.approvals.weighed(self.judge(&call));
        let refused = |why: &str| InnerReply::Refused(format!("refused: {why}"));
        match decision.verdict {
            CallJudgement::Allow => {}
            CallJudgement::Deny => return refused(&decision.reason),
            CallJudgement::Ask => {
                let preview = self.preview(&call);
                let (call, decision) = (&call, &decision);
                pause.begin();
                let asked = ApprovalRequest::Call { call, decision, preview: preview.as_deref() };
                let decided = self.shared.person.decide(asked).await;
                pause.end();
                if matches!(decided, ApprovalReply::No(_) | ApprovalReply::Park) {
                    return refused(&format!("it needs an approval: {}", decision.reason));
                }
            }
        }
        let output = self.run(&call).await;
        InnerReply::Ran(ToolOutput { text: self.shared.redactor.text(&output.text), ..output })
    }

    fn judged(&self) -> std::sync::MutexGuard<'_, HashMap<String, JudgedCall>> {
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

impl RunTools for GuardedTools {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn judge(&self, call: &ToolCall) -> CallDecision {
        let class = self.toolbox.class(&call.tool, &call.arguments);
        let directory = self.directory();
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
            Err(reason) => {
                let (places, rules, offer) = (Vec::new(), Vec::new(), ApprovalOffer::default());
                let verdict = CallJudgement::Deny;
                CallDecision { verdict, reason, class, places, rules, exact, offer }
            }
        }
    }

    fn preview(&self, call: &ToolCall) -> Option<String> {
        let tool = self.toolbox.get(&call.tool)?;
        tool.preview(&call.arguments, &self.shared.place())
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxedFuture<'a, tool::ToolOutput> {
        Box::pin(async move {
            let host = match self.call_host(call) {
                Ok(host) => host,
                Err(why) => return tool::ToolOutput::failed(why),
            };
            let Some(tool) = self.toolbox.get(&call.tool) else {
                return tool::ToolOutput::failed(format!("there is no tool `{}`", call.tool));
            };
            let output = tool.run(call.arguments.clone(), &host).await;
            host.print(|printed| printed.finish(&output.text));
            match self.shared.images.as_ref().map_or(Ok(()), BeforeImages::settle) {
                Ok(()) => output,
                Err(error) => {
                    let text = format!("{}\n\nit cannot be undone: {error}", output.text);
                    tool::ToolOutput { text, ..output }
                }
            }
        })
    }

    fn skill_note(&self, call: &ToolCall) -> Option<SkillNote> {
        self.toolbox.skills()?.note(call)
    }

    fn follow_skills(&self, progress: &SkillProgress) {
        if let Some(skills) = self.toolbox.skills() {
            skills.follow(progress);
        }
    }

    fn connect(&self, port: InnerPort) {
        let _ = self.port.set(port);
    }

    fn shortened(&self, text: &str, most: usize) -> String {
        tool::kept_elsewhere(text, most, &self.shared.place().run)
    }

    fn directory(&self) -> String {
        self.shared.place().directory.to_string_lossy().into_owned()
    }

    fn move_to(&self, directory: &str) {
        self.shared.move_to(PathBuf::from(directory));
    }
}

/// What one call can ask of its run.
struct CallHost<'a> {
    tools: &'a GuardedTools,
    shared: &'a SharedRun,
    id: &'a str,
    tool: &'a str,
    granted: Vec<ToolTouch>,
    /// The limits of the skills in use.
    narrowing: Option<Arc<SkillNarrowing>>,
    /// Its output so far.
    printed: Mutex<CallOutput>,
    /// Its bounds, if another call made it.
    lineage: Option<Arc<CallLineage>>,
    /// The time that its own calls wait for the user.
    pause: Arc<PauseClock>,
}

impl Drop for CallHost<'_> {
    fn drop(&mut self) {
        self.tools.lineages.remove(self.id);
    }
}

impl CallHost<'_> {
    /// The rules for what it touches.
    fn rulebook(&self) -> &Rulebook {
        self.lineage.as_ref().map_or(&self.shared.rulebook, |lineage| &lineage.rulebook)
    }

    async fn make(&self, call: InnerCall<'_>) -> Result<ToolOutput, String> {
        let InnerCall { tool, arguments, bounds } = call;
        let name = self.tools.toolbox.name_of(&tool)?;
        let lineage = self.tools.lineages.bound(self.id, || {
            CallLineage::new(self.lineage.clone(), Arc::clone(bounds), self.rulebook())
        });
        lineage.admit(&name)?;
        let (reply, result) = tokio::sync::oneshot::channel();
        let (within, pause) = (self.id.to_owned(), Arc::clone(&self.pause));
        let request = InnerRequest { within, tool: name, arguments, pause, reply };
        let reply = match self.tools.port.get() {
            Some(port) => {
                let sent = port.send(request);
                sent.map_err(|_| "refused: the run is over".to_owned())?;
                result.await.map_err(|_| "refused: the run is over".to_owned())?
            }
            None => self.tools.call_here(request).await,
        };
        match reply {
            InnerReply::Ran(output) => Ok(output),
            InnerReply::Refused(why) => Err(why),
        }
    }

    fn print(&self, next: impl FnOnce(&mut CallOutput) -> String) {
        let text = next(&mut self.printed.lock().unwrap_or_else(PoisonError::into_inner));
        if !text.is_empty() {
            (self.shared.output)(RunOutput::Piece { id: self.id.to_owned(), text });
        }
    }
}

impl ToolHost for CallHost<'_> {
    fn place(&self) -> CallLocation {
        self.shared.place()
    }

    fn call_id(&self) -> Option<&str> {
        Some(self.id)
    }

    fn move_to(&self, directory: PathBuf) {
        self.shared.move_to(directory);
    }

    fn granted(&self) -> Vec<ToolTouch> {
        self.granted.clone()
    }

    fn judge(&self, touch: &ToolTouch) -> (CallJudgement, String) {
        let place = self.shared.place();
        let touches = std::slice::from_ref(touch);
        let (book, at) = (self.rulebook(), &place.directory);
        let mut ruled = book.ask(touches, at);
        if let Some(narrowing) = &self.narrowing {
            ruled = narrowing.limited(ruled, book, self.tool, touches, at);
        }
        let RuledTouch { verdict, reason, places, asking } = ruled;
        // The class is not used here, so the strictest one stands in.
        let class = crate::event::CallClass::External;
        let (exact, offer) = (String::new(), ApprovalOffer::default());
        let decision = CallDecision { verdict, reason, class, places, rules: asking, exact, offer };
        let CallDecision { verdict, reason, .. } = self.shared.approvals.weighed(decision);
        (verdict, reason)
    }

    fn before_change(&self, path: &Path) -> io::Result<()> {
        match &self.shared.images {
            Some(images) => images.keep(path),
            None => Err(io::Error::other("nothing is executed here")),
        }
    }

    fn redacted(&self, text: &str) -> String {
        self.shared.redactor.text(text)
    }

    fn has_commands(&self) -> bool {
        running_commands() > 0
    }

    fn show(&self, piece: &str) {
        self.print(|printed| printed.push(piece));
    }

    fn ask<'a>(
        &'a self,
        question: &'a str,
        choices: &'a [String],
    ) -> BoxedFuture<'a, Option<String>> {
        self.shared.person.answer(question, choices)
    }

    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: CommandStreams,
    ) -> io::Result<StartedCommand> {
        self.shared.commands.start(argv, directory, streams)
    }

    fn call<'a>(&'a self, call: InnerCall<'a>) -> BoxedFuture<'a, Result<ToolOutput, String>> {
        Box::pin(self.make(call))
    }

    fn waited(&self) -> Duration {
        self.pause.total()
    }

    fn output_limit(&self) -> OutputLimit {
        match &self.lineage {
            Some(lineage) => OutputLimit::of_script(lineage.most_output()),
            None => OutputLimit::MODEL,
        }
    }

    fn settle(&self) -> Vec<String> {
        self.shared.commands.settle()
    }
}
