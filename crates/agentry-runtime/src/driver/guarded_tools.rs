//! The tools of an agent under its policy, as a real run uses them. Each call is judged twice: when the
//! model makes it, and again just before it runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use agentry_compile::native_tool;

use super::call_judge::CallJudge;
use super::call_lineage::CallLineage;
use super::call_output::CallOutput;
use super::interfaces::{
    ApprovalReply, ApprovalRequest, Approver, CallDecision, InnerPort, InnerReply, InnerRequest,
    OutputSink, RunTools,
};
use super::output::RunOutput;
use super::own_thread::on_own_thread;
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
    self, BoxedFuture, CallLocation, CommandStreams, InnerCall, OutputLimit, PauseClock,
    StartedCommand, ToolHost, ToolOutput, ToolSpec, ToolTouch, Toolbox,
};
use crate::undo::BeforeImages;

/// The tools of a run, guarded by its policy.
pub struct GuardedTools {
    /// Shared with the threads that judge.
    judge: Arc<CallJudge>,
    specs: Vec<ToolSpec>,
    shared: Arc<SharedRun>,
    /// The way to the driver; without one, inner calls are made here.
    port: OnceLock<InnerPort>,
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
    pub(super) fn place(&self) -> CallLocation {
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
            judge: Arc::new(CallJudge::new(toolbox, Arc::clone(&shared))),
            shared,
            port: OnceLock::new(),
        }
    }

    /// Checks that there is such a tool, and that the arguments fit it.
    pub fn fits(&self, call: &ToolCall) -> Result<(), String> {
        let place = self.shared.place();
        self.judge.toolbox.checked_touches(&call.tool, &call.arguments, &place).map(drop)
    }

    /// Judges a call again, just before it runs, and returns what it can ask of its run.
    pub fn host<'a>(&'a self, call: &'a ToolCall) -> Result<impl ToolHost + 'a, String> {
        self.call_host(call, self.judge.granted(call)?)
    }

    fn call_host<'a>(
        &'a self,
        call: &'a ToolCall,
        granted: Vec<ToolTouch>,
    ) -> Result<CallHost<'a>, String> {
        let printed = Mutex::new(CallOutput::new(&self.shared.redactor));
        let (lineage, pause) = (self.judge.lineages.of(&call.id)?, Arc::default());
        // A tool of the definition that a skill allows may do all that the policy permits.
        let is_native = native_tool(&call.tool) == Some(call.tool.as_str());
        let narrowing = self.judge.narrowing().filter(|_| is_native);
        let (tools, shared) = (self, &*self.shared);
        let (id, tool) = (call.id.as_str(), call.tool.as_str());
        Ok(CallHost { tools, shared, id, tool, granted, narrowing, printed, lineage, pause })
    }

    /// Makes an inner call without a driver: nothing is written down.
    async fn call_here(&self, request: InnerRequest) -> InnerReply {
        let InnerRequest { within, tool, arguments, pause, .. } = request;
        let id = self.judge.lineages.next_id(&within);
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
}

impl RunTools for GuardedTools {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn judge(&self, call: &ToolCall) -> CallDecision {
        self.judge.decide(call)
    }

    fn preview(&self, call: &ToolCall) -> Option<String> {
        let tool = self.judge.toolbox.get(&call.tool)?;
        tool.preview(&call.arguments, &self.shared.place())
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxedFuture<'a, tool::ToolOutput> {
        Box::pin(async move {
            let (judge, judging) = (Arc::clone(&self.judge), call.clone());
            let granted = on_own_thread(move || judge.granted(&judging)).await;
            let host = granted.flatten().and_then(|granted| self.call_host(call, granted));
            let host = match host {
                Ok(host) => host,
                Err(why) => return tool::ToolOutput::failed(why),
            };
            let Some(tool) = self.judge.toolbox.get(&call.tool) else {
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
        self.judge.toolbox.skills()?.note(call)
    }

    fn follow_skills(&self, progress: &SkillProgress) {
        if let Some(skills) = self.judge.toolbox.skills() {
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
        self.tools.judge.lineages.end(self.id);
    }
}

impl CallHost<'_> {
    /// The rules for what it touches.
    fn rulebook(&self) -> &Rulebook {
        self.lineage.as_ref().map_or(&self.shared.rulebook, |lineage| &lineage.rulebook)
    }

    async fn make(&self, call: InnerCall<'_>) -> Result<ToolOutput, String> {
        let InnerCall { tool, arguments, bounds } = call;
        let name = self.tools.judge.toolbox.name_of(&tool)?;
        let lineage = self.tools.judge.lineages.bound(self.id, || {
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
