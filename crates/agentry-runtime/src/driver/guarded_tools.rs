//! The tools of an agent under its policy: what a driver asks in a real run.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::call_output::CallOutput;
use super::interfaces::{Approver, CallDecision, OutputSink, RunTools};
use super::output::RunOutput;
use crate::approval::Approvals;
use crate::commands::CommandStarter;
use crate::conversation::ToolCall;
use crate::event::CallJudgement;
use crate::redact::Redactor;
use crate::rulebook::{Rulebook, RuledTouch};
use crate::tool::{
    self, BoxedFuture, CallLocation, CommandStreams, StartedCommand, ToolHost, ToolSpec, ToolTouch,
    Toolbox,
};
use crate::undo::BeforeImages;

/// The tools of a run.
pub struct GuardedTools {
    toolbox: Toolbox,
    specs: Vec<ToolSpec>,
    shared: Arc<SharedRun>,
    /// What was judged last of each call that has not run yet.
    judged: Mutex<HashMap<String, JudgedCall>>,
}

/// What a call would have touched when it was judged.
#[derive(PartialEq, Eq)]
struct JudgedCall {
    touches: Vec<ToolTouch>,
    directory: PathBuf,
    asking: Vec<String>,
}

/// What all calls of a run have in common.
pub struct SharedRun {
    /// What decides.
    pub rulebook: Rulebook,
    /// What a person has approved of.
    pub approvals: Arc<Approvals>,
    /// Where calls happen.
    pub place: Mutex<CallLocation>,
    /// Keeps what files were before they are changed; nothing where nothing is executed.
    pub images: Option<BeforeImages>,
    /// Starts commands.
    pub commands: Arc<dyn CommandStarter>,
    /// Who is asked.
    pub person: Arc<dyn Approver>,
    /// Who sees what calls print.
    pub output: OutputSink,
    /// Takes secrets out.
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
    /// These tools.
    pub fn new(toolbox: Toolbox, shared: Arc<SharedRun>) -> Self {
        Self { specs: toolbox.specs(), toolbox, shared, judged: Mutex::default() }
    }

    /// Everything that a call touches, and what the policy says of it; else what is wrong with it.
    fn ruled(&self, call: &ToolCall) -> Result<(JudgedCall, RuledTouch), String> {
        let place = self.shared.place();
        let touches = self.toolbox.checked_touches(&call.tool, &call.arguments, &place)?;
        let ruled = self.shared.rulebook.ask(&touches, &place.directory);
        let asking = ruled.asking.clone();
        Ok((JudgedCall { touches, directory: place.directory, asking }, ruled))
    }

    /// What a call may touch now. A call before it may have gone elsewhere, or put a link where a file
    /// was: what was not judged then is not done.
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
            CallJudgement::Ask if !before.as_ref().is_some_and(same) => Err(format!(
                "refused: something changed since it was judged; make the call again: {}",
                ruled.reason
            )),
            CallJudgement::Ask | CallJudgement::Allow => Ok(now.touches),
        }
    }

    fn judged(&self) -> std::sync::MutexGuard<'_, HashMap<String, JudgedCall>> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunTools for GuardedTools {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn judge(&self, call: &ToolCall) -> CallDecision {
        let class = self.toolbox.class(&call.tool, &call.arguments);
        let directory = self.directory();
        let exact = format!("exactly {} {} in {directory}", call.tool, call.arguments);
        match self.ruled(call) {
            Ok((judged, RuledTouch { verdict, reason, places, asking })) => {
                self.judged().insert(call.id.clone(), judged);
                CallDecision { verdict, reason, class, places, rules: asking, exact }
            }
            // Nobody needs to be asked about what cannot be done.
            Err(reason) => {
                let (places, rules) = (Vec::new(), Vec::new());
                CallDecision { verdict: CallJudgement::Deny, reason, class, places, rules, exact }
            }
        }
    }

    fn preview(&self, call: &ToolCall) -> Option<String> {
        let tool = self.toolbox.get(&call.tool)?;
        tool.preview(&call.arguments, &self.shared.place())
    }

    fn run<'a>(&'a self, call: &'a ToolCall) -> BoxedFuture<'a, tool::ToolOutput> {
        Box::pin(async move {
            let granted = match self.granted(call) {
                Ok(touches) => touches,
                Err(why) => return tool::ToolOutput::failed(why),
            };
            let Some(tool) = self.toolbox.get(&call.tool) else {
                return tool::ToolOutput::failed(format!("there is no tool `{}`", call.tool));
            };
            let printed = Mutex::new(CallOutput::new(&self.shared.redactor));
            let host = CallHost { shared: &self.shared, id: &call.id, granted, printed };
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

/// What one call may ask of its run.
struct CallHost<'a> {
    shared: &'a SharedRun,
    id: &'a str,
    granted: Vec<ToolTouch>,
    /// What it prints.
    printed: Mutex<CallOutput>,
}

impl CallHost<'_> {
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

    fn move_to(&self, directory: PathBuf) {
        self.shared.move_to(directory);
    }

    fn granted(&self) -> Vec<ToolTouch> {
        self.granted.clone()
    }

    fn judge(&self, touch: &ToolTouch) -> (CallJudgement, String) {
        let place = self.shared.place();
        let RuledTouch { verdict, reason, places, asking } =
            self.shared.rulebook.ask(std::slice::from_ref(touch), &place.directory);
        let class = crate::event::CallClass::External;
        let decision =
            CallDecision { verdict, reason, class, places, rules: asking, exact: String::new() };
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

    fn settle(&self) -> Vec<String> {
        self.shared.commands.settle()
    }
}
