//! One turn of a session: a message of the user, all that the run does, and how it ends.

use std::collections::{HashMap, HashSet};

use agentry_acp::{EditorPort, PermissionOutcome, SessionUpdate, ToolContent, TurnStop};
use agentry_rpc::{RpcError, codes};
use agentry_runtime::RunEnding;
use tokio::sync::OwnedMutexGuard;
use tokio::task::{AbortHandle, JoinSet};

use super::command_terminal::{CommandTerminal, TerminalCall};
use super::event_view::updates;
use super::open_files;
use super::sessions::{END, EditorSession, REFUSED};
use super::view;
use crate::command::run::terminal::clean;
use crate::command::served_agent::{ServedAgent, in_one_line};
use crate::command::steered_run::{RunSteering, SteeredEvent, SteeredRun};

/// Carries out a turn. The run is left in `slot` if it waits for the next message.
pub(super) async fn carry_out(
    session: &EditorSession,
    mut slot: OwnedMutexGuard<Option<SteeredRun>>,
    text: String,
    editor: EditorPort,
) -> Result<TurnStop, RpcError> {
    let mut turn = EditorTurn {
        session,
        editor,
        questions: JoinSet::new(),
        open: HashMap::new(),
        commands: HashSet::new(),
        terminals: HashMap::new(),
        has_heard: false,
    };
    turn.greet().await;
    let mut end = TurnEnd::Gone;
    if let Some(run) = slot.as_mut() {
        run.steering.message(&text);
        end = turn.follow(run, None).await;
    }
    // A run without a process is resumed; so is one that ended before it received the message.
    if matches!(end, TurnEnd::Gone) && !turn.has_heard {
        let (run, waiting) = resume(session, &turn.editor, text).await?;
        end = turn.follow(slot.insert(run), waiting).await;
    }
    turn.questions.abort_all();
    turn.close_terminals().await;
    if let (TurnEnd::Waits(reason), Some(_)) = (&end, slot.as_ref()) {
        return Ok(*reason);
    }
    // Its process holds the journal until it ends.
    let ended = slot.take();
    let errors = match &ended {
        Some(run) => run.finished().await,
        None => String::new(),
    };
    session.steer(None);
    match end {
        TurnEnd::Waits(reason) => Ok(reason),
        TurnEnd::Over(result) => result,
        TurnEnd::Gone => {
            let message = format!("the run ended unexpectedly: {errors}; a new message resumes it");
            Err(RpcError::new(codes::INTERNAL, message))
        }
    }
}

/// Starts the process of an earlier run. A step that is unfinished comes first; the message then waits.
async fn resume(
    session: &EditorSession,
    editor: &EditorPort,
    text: String,
) -> Result<(SteeredRun, Option<String>), RpcError> {
    let agent = session.agent.clone();
    let id = session.id.clone();
    let found = tokio::task::spawn_blocking(move || agent.earlier(&id)).await;
    let found = found.map_err(|error| RpcError::new(codes::INTERNAL, error.to_string()))?;
    let earlier = found.map_err(|why| RpcError::new(REFUSED, why))?;
    let started = SteeredRun::start(&ServedAgent::earlier_run(&session.id));
    let run = started.map_err(|failure| RpcError::new(codes::INTERNAL, in_one_line(&failure)))?;
    run.steering.offer_editor(editor.reads_files(), editor.writes_files());
    session.steer(Some(run.steering.clone()));
    if earlier.is_under_way {
        return Ok((run, Some(text)));
    }
    run.steering.message(&text);
    Ok((run, None))
}

/// How following a run ended.
enum TurnEnd {
    /// The run waits for the next message.
    Waits(TurnStop),
    /// The run is over; a further message resumes it.
    Over(Result<TurnStop, RpcError>),
    /// The process ended without a word.
    Gone,
}

/// An answer of the user to the question with this number.
enum UserAnswer {
    Approval(u64, PermissionOutcome),
    Question(u64, Option<String>),
}

struct EditorTurn<'a> {
    session: &'a EditorSession,
    editor: EditorPort,
    /// The questions that the editor has not answered yet.
    questions: JoinSet<UserAnswer>,
    open: HashMap<u64, AbortHandle>,
    /// The calls that run a command.
    commands: HashSet<String>,
    /// The terminals of those that are under way.
    terminals: HashMap<String, CommandTerminal>,
    /// Whether the run said anything since it got the message.
    has_heard: bool,
}

impl EditorTurn<'_> {
    /// Shows what the user should know before the first turn.
    async fn greet(&self) {
        for update in self.session.take_welcome() {
            self.editor.update(&self.session.id, &update).await;
        }
    }

    /// Follows a run to the end of its turn. A message that waits is sent when the unfinished step is done.
    async fn follow(&mut self, run: &mut SteeredRun, mut waiting: Option<String>) -> TurnEnd {
        if self.session.is_cancelled() {
            run.steering.command("cancel");
        }
        loop {
            let event = tokio::select! {
                event = run.events.recv() => event,
                Some(Ok(answer)) = self.questions.join_next() => {
                    self.answer(&run.steering, answer);
                    continue;
                }
            };
            let Some(event) = event else { return TurnEnd::Gone };
            self.has_heard = true;
            match event {
                SteeredEvent::Ended { ending } => match (ending, waiting.take()) {
                    (RunEnding::Done, Some(text)) if !self.session.is_cancelled() => {
                        run.steering.message(&text);
                    }
                    (_, Some(_)) if self.session.is_cancelled() => {
                        return TurnEnd::Over(Ok(TurnStop::Cancelled));
                    }
                    (ending, _) => return self.ended(ending).await,
                },
                SteeredEvent::Refused { .. } => {
                    let why = self.session.agent.refusal(&event).unwrap_or_default();
                    return TurnEnd::Over(Err(RpcError::new(REFUSED, why)));
                }
                event => self.show(event, &run.steering).await,
            }
        }
    }

    async fn show(&mut self, event: SteeredEvent, steering: &RunSteering) {
        let (editor, id) = (self.editor.clone(), self.session.id.clone());
        match event {
            // A cancellation may come while an unfinished step is taken up again.
            SteeredEvent::Approval(_) | SteeredEvent::Question { .. }
                if self.session.is_cancelled() =>
            {
                steering.command("cancel");
            }
            SteeredEvent::Approval(asked) => {
                let question = view::question(&asked, &self.session.agent.workspace);
                self.wait_for(asked.question, async move {
                    UserAnswer::Approval(asked.question, editor.ask(&id, &question).await)
                });
            }
            SteeredEvent::Question { question, text, choices } if editor.takes_questions() => {
                self.wait_for(question, async move {
                    let answer = editor.inquire(&id, &clean(&text), &choices).await;
                    UserAnswer::Question(question, answer)
                });
            }
            SteeredEvent::Question { question, text, choices } => {
                // The editor has no way to answer now; the next message can.
                let choices: Vec<String> = choices.iter().map(|it| format!("- {it}\n")).collect();
                let text = clean(&format!("\n{text}\n{}", choices.concat()));
                editor.update(&id, &SessionUpdate::AgentText(text)).await;
                steering.reply(question, None);
            }
            SteeredEvent::Withdrawn { question } => self.forget(question),
            SteeredEvent::FileRead { request, path } => {
                open_files::read((editor, id), (request, path), steering.clone());
            }
            SteeredEvent::FileWrite { request, path, text } => {
                open_files::write((editor, id), (request, path, text), steering.clone());
            }
            SteeredEvent::Piece { id, text } => {
                if let Some(terminal) = self.terminals.get(&id) {
                    terminal.show(&text);
                }
            }
            event => {
                self.follow_command(&event, steering);
                let terminal = self.ended_terminal(&event).await;
                for mut update in updates(&event, &self.session.agent.workspace) {
                    if let (SessionUpdate::CallChanged(report), Some(terminal)) =
                        (&mut update, &terminal)
                    {
                        report.content = vec![ToolContent::Terminal(terminal.clone())];
                    }
                    editor.update(&id, &update).await;
                }
            }
        }
    }

    /// Opens a terminal for a command that starts.
    fn follow_command(&mut self, event: &SteeredEvent, steering: &RunSteering) {
        match event {
            SteeredEvent::Call { id, tool, .. } if tool == "bash" => {
                self.commands.insert(id.clone());
            }
            SteeredEvent::Started { id }
                if self.commands.remove(id) && self.editor.has_terminals() =>
            {
                let about = TerminalCall {
                    session: self.session.id.clone(),
                    call: id.clone(),
                    directory: self.session.agent.workspace.clone(),
                };
                let steering = steering.clone();
                // Who closes the terminal wants the command to stop.
                let closed = move || steering.command("cancel");
                let terminal = CommandTerminal::open(self.editor.clone(), about, closed);
                self.terminals.extend(terminal.map(|terminal| (id.clone(), terminal)));
            }
            _ => {}
        }
    }

    /// The terminal of a command that has ended.
    async fn ended_terminal(&mut self, event: &SteeredEvent) -> Option<String> {
        let SteeredEvent::Result { id, failed, .. } = event else { return None };
        let terminal = self.terminals.remove(id)?;
        terminal.finish(&self.editor, &self.session.id, *failed).await
    }

    /// Closes the terminals of commands that were broken off.
    async fn close_terminals(&mut self) {
        for (_, terminal) in std::mem::take(&mut self.terminals) {
            terminal.finish(&self.editor, &self.session.id, true).await;
        }
    }

    fn wait_for(
        &mut self,
        question: u64,
        answer: impl Future<Output = UserAnswer> + Send + 'static,
    ) {
        // Counted before the editor can see it: an editor that leaves at once parks the run, too.
        self.session.count_questions(self.open.len() + 1);
        let handle = self.questions.spawn(answer);
        self.open.insert(question, handle);
    }

    fn forget(&mut self, question: u64) {
        if let Some(handle) = self.open.remove(&question) {
            handle.abort();
        }
        self.session.count_questions(self.open.len());
    }

    fn answer(&mut self, steering: &RunSteering, answer: UserAnswer) {
        match answer {
            UserAnswer::Approval(question, outcome) => {
                self.forget(question);
                match outcome {
                    PermissionOutcome::Chosen(word) => steering.answer(question, word),
                    // The cancelled turn withdraws the question itself.
                    PermissionOutcome::Unanswered if self.session.is_cancelled() => {}
                    PermissionOutcome::Unanswered => steering.answer(question, "later"),
                }
            }
            UserAnswer::Question(question, text) => {
                self.forget(question);
                steering.reply(question, text.as_deref());
            }
        }
    }

    async fn ended(&self, ending: RunEnding) -> TurnEnd {
        let send_text = async |text: String| {
            let update = SessionUpdate::AgentText(clean(&text));
            self.editor.update(&self.session.id, &update).await;
        };
        match ending {
            RunEnding::Done => TurnEnd::Waits(TurnStop::EndTurn),
            RunEnding::Cancelled => TurnEnd::Waits(TurnStop::Cancelled),
            RunEnding::Failed { why } => {
                let message = format!("the run failed: {}", clean(&why));
                TurnEnd::Over(Err(RpcError::new(codes::INTERNAL, message)))
            }
            RunEnding::OverBudget { limit } => {
                send_text(format!("\nThe run has reached its limit of {limit}.")).await;
                let is_tokens = limit.contains("token");
                let reason =
                    if is_tokens { TurnStop::MaxTokens } else { TurnStop::MaxTurnRequests };
                TurnEnd::Over(Ok(reason))
            }
            RunEnding::Parked { .. } if self.session.is_cancelled() => {
                TurnEnd::Over(Ok(TurnStop::Cancelled))
            }
            RunEnding::Parked { question } => {
                send_text(format!("\nThe run waits: {question}. Your next message asks again."))
                    .await;
                TurnEnd::Over(Ok(TurnStop::EndTurn))
            }
        }
    }
}

impl SteeredRun {
    /// Waits for the end of a run that takes no further message; returns its last errors.
    async fn finished(&self) -> String {
        self.steering.command("end");
        self.steering.ended(END).await;
        self.steering.last_errors()
    }
}
