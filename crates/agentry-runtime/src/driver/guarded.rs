//! The tools of an agent under its policy: what a driver asks in a real run.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::output::Output;
use super::parts::{Decision, Person, Sink, Tools};
use super::printed::Printed;
use crate::approval::Approvals;
use crate::commands::Commands;
use crate::conversation::Call;
use crate::event::Judgement;
use crate::redact::Redactor;
use crate::rulebook::{Rulebook, Ruled};
use crate::tool::{self, Doing, Host, Place, Started, Streams, ToolSpec, Toolbox, Touch};
use crate::undo::Images;

/// The tools of a run.
pub struct Guarded {
    toolbox: Toolbox,
    specs: Vec<ToolSpec>,
    shared: Arc<Shared>,
    /// What was judged last of each call that has not run yet.
    judged: Mutex<HashMap<String, Judged>>,
}

/// What a call would have touched when it was judged.
#[derive(PartialEq, Eq)]
struct Judged {
    touches: Vec<Touch>,
    directory: PathBuf,
    asking: Vec<String>,
}

/// What all calls of a run have in common.
pub struct Shared {
    /// What decides.
    pub rulebook: Rulebook,
    /// What a person has approved of.
    pub approvals: Arc<Approvals>,
    /// Where calls happen.
    pub place: Mutex<Place>,
    /// Keeps what files were before they are changed; nothing where nothing is executed.
    pub images: Option<Images>,
    /// Starts commands.
    pub commands: Arc<dyn Commands>,
    /// Who is asked.
    pub person: Arc<dyn Person>,
    /// Who sees what calls print.
    pub output: Sink,
    /// Takes secrets out.
    pub redactor: Arc<Redactor>,
}

impl Shared {
    fn place(&self) -> Place {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn move_to(&self, directory: PathBuf) {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).directory = directory;
    }
}

impl Guarded {
    /// These tools.
    pub fn new(toolbox: Toolbox, shared: Arc<Shared>) -> Self {
        Self { specs: toolbox.specs(), toolbox, shared, judged: Mutex::default() }
    }

    /// Everything that a call touches, and what the policy says of it; else what is wrong with it.
    fn ruled(&self, call: &Call) -> Result<(Judged, Ruled), String> {
        let place = self.shared.place();
        let touches = self.toolbox.checked_touches(&call.tool, &call.arguments, &place)?;
        let ruled = self.shared.rulebook.ask(&touches, &place.directory);
        let asking = ruled.asking.clone();
        Ok((Judged { touches, directory: place.directory, asking }, ruled))
    }

    /// What a call may touch now. A call before it may have gone elsewhere, or put a link where a file
    /// was: what was not judged then is not done.
    fn granted(&self, call: &Call) -> Result<Vec<Touch>, String> {
        let before = self.judged().remove(&call.id);
        let (now, ruled) = self.ruled(call)?;
        let same = |before: &Judged| {
            let asked = |rule| before.asking.contains(rule);
            before.touches == now.touches
                && before.directory == now.directory
                && now.asking.iter().all(asked)
        };
        match ruled.verdict {
            Judgement::Deny => Err(format!("refused: {}", ruled.reason)),
            Judgement::Ask if !before.as_ref().is_some_and(same) => Err(format!(
                "refused: something changed since it was judged; make the call again: {}",
                ruled.reason
            )),
            Judgement::Ask | Judgement::Allow => Ok(now.touches),
        }
    }

    fn judged(&self) -> std::sync::MutexGuard<'_, HashMap<String, Judged>> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tools for Guarded {
    fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    fn judge(&self, call: &Call) -> Decision {
        let class = self.toolbox.class(&call.tool, &call.arguments);
        let directory = self.directory();
        let exact = format!("exactly {} {} in {directory}", call.tool, call.arguments);
        match self.ruled(call) {
            Ok((judged, Ruled { verdict, reason, places, asking })) => {
                self.judged().insert(call.id.clone(), judged);
                Decision { verdict, reason, class, places, rules: asking, exact }
            }
            // Nobody needs to be asked about what cannot be done.
            Err(reason) => {
                let (places, rules) = (Vec::new(), Vec::new());
                Decision { verdict: Judgement::Deny, reason, class, places, rules, exact }
            }
        }
    }

    fn preview(&self, call: &Call) -> Option<String> {
        let tool = self.toolbox.get(&call.tool)?;
        tool.preview(&call.arguments, &self.shared.place())
    }

    fn run<'a>(&'a self, call: &'a Call) -> Doing<'a, tool::Output> {
        Box::pin(async move {
            let granted = match self.granted(call) {
                Ok(touches) => touches,
                Err(why) => return tool::Output::failed(why),
            };
            let Some(tool) = self.toolbox.get(&call.tool) else {
                return tool::Output::failed(format!("there is no tool `{}`", call.tool));
            };
            let printed = Mutex::new(Printed::new(&self.shared.redactor));
            let host = CallHost { shared: &self.shared, id: &call.id, granted, printed };
            let output = tool.run(call.arguments.clone(), &host).await;
            host.print(|printed| printed.finish(&output.text));
            match self.shared.images.as_ref().map_or(Ok(()), Images::settle) {
                Ok(()) => output,
                Err(error) => {
                    let text = format!("{}\n\nit cannot be taken back: {error}", output.text);
                    tool::Output { text, ..output }
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
    shared: &'a Shared,
    id: &'a str,
    granted: Vec<Touch>,
    /// What it prints.
    printed: Mutex<Printed>,
}

impl CallHost<'_> {
    fn print(&self, next: impl FnOnce(&mut Printed) -> String) {
        let text = next(&mut self.printed.lock().unwrap_or_else(PoisonError::into_inner));
        if !text.is_empty() {
            (self.shared.output)(Output::Piece { id: self.id.to_owned(), text });
        }
    }
}

impl Host for CallHost<'_> {
    fn place(&self) -> Place {
        self.shared.place()
    }

    fn move_to(&self, directory: PathBuf) {
        self.shared.move_to(directory);
    }

    fn granted(&self) -> Vec<Touch> {
        self.granted.clone()
    }

    fn judge(&self, touch: &Touch) -> (Judgement, String) {
        let place = self.shared.place();
        let Ruled { verdict, reason, places, asking } =
            self.shared.rulebook.ask(std::slice::from_ref(touch), &place.directory);
        let class = crate::event::Class::External;
        let decision =
            Decision { verdict, reason, class, places, rules: asking, exact: String::new() };
        let Decision { verdict, reason, .. } = self.shared.approvals.weighed(decision);
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

    fn ask<'a>(&'a self, question: &'a str, choices: &'a [String]) -> Doing<'a, Option<String>> {
        self.shared.person.answer(question, choices)
    }

    fn start(
        &self,
        argv: Vec<String>,
        directory: PathBuf,
        streams: Streams,
    ) -> io::Result<Started> {
        self.shared.commands.start(argv, directory, streams)
    }

    fn settle(&self) -> Vec<String> {
        self.shared.commands.settle()
    }
}
