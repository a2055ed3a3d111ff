//! The sessions of an editor. A session is a run: it has the id of the run, and its process until it ends.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentry_acp::{EditorPort, ListedSession, SessionHost, SessionPlace, SessionUpdate, TurnStop};
use agentry_rpc::{RpcError, RpcFuture, codes};
use agentry_runtime::journal::DisplayTime;

use super::{history, turn};
use crate::command::served_agent::{ServedAgent, in_one_line};
use crate::command::steered_run::{RunSteering, SteeredEvent, SteeredRun};
use crate::output::error_text;

/// The most sessions that are open at once.
const SESSIONS: usize = 32;
/// The code of the error when Agentry refuses: no consent, another agent's run, a foreign directory.
pub(super) const REFUSED: i64 = -32001;
/// The protocol's error code for something that does not exist.
const NOT_FOUND: i64 = -32002;
/// The time that a run gets to end.
pub(super) const END: Duration = Duration::from_secs(10);

/// All sessions of one editor.
pub(super) struct EditorSessions {
    agent: Arc<ServedAgent>,
    /// `None` once the editor is gone.
    open: SessionMap,
}

type SessionMap = Arc<Mutex<Option<HashMap<String, Arc<EditorSession>>>>>;

/// One session.
pub(super) struct EditorSession {
    pub(super) id: String,
    pub(super) agent: Arc<ServedAgent>,
    /// The run, if it has a process. A turn holds the lock.
    slot: Arc<tokio::sync::Mutex<Option<SteeredRun>>>,
    state: Mutex<SessionState>,
}

#[derive(Default)]
struct SessionState {
    /// The way to the process of the run while a turn holds it.
    steering: Option<RunSteering>,
    is_cancelled: bool,
    /// How many questions wait for the user.
    questions: usize,
    /// What the editor is shown first.
    welcome: Vec<SessionUpdate>,
}

impl EditorSession {
    fn new(id: String, agent: Arc<ServedAgent>, run: Option<SteeredRun>) -> Self {
        let steering = run.as_ref().map(|run| run.steering.clone());
        let state = Mutex::new(SessionState { steering, ..SessionState::default() });
        Self { id, agent, slot: Arc::new(tokio::sync::Mutex::new(run)), state }
    }

    fn state(&self) -> MutexGuard<'_, SessionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.state().is_cancelled
    }

    pub(super) fn steer(&self, steering: Option<RunSteering>) {
        self.state().steering = steering;
    }

    pub(super) fn count_questions(&self, count: usize) {
        self.state().questions = count;
    }

    pub(super) fn take_welcome(&self) -> Vec<SessionUpdate> {
        std::mem::take(&mut self.state().welcome)
    }

    fn cancel(&self) {
        let mut state = self.state();
        state.is_cancelled = true;
        if let Some(steering) = &state.steering {
            steering.command("cancel");
        }
    }

    /// Parks the run: at its open question, or by stopping what it does. `resume` continues both.
    async fn close(&self) {
        let is_idle = self.slot.try_lock().is_ok();
        let steering = {
            let mut state = self.state();
            let word = if state.questions > 0 { "park" } else { "stop" };
            let steering = state.steering.take();
            if let Some(steering) = steering.as_ref().filter(|_| !is_idle) {
                steering.command(word);
            }
            steering
        };
        if let Some(steering) = steering {
            steering.command("end");
            steering.ended(END).await;
        }
    }
}

impl EditorSessions {
    pub(super) fn new(agent: ServedAgent) -> Self {
        Self { agent: Arc::new(agent), open: Arc::new(Mutex::new(Some(HashMap::new()))) }
    }

    fn find(&self, id: &str) -> Result<Arc<EditorSession>, RpcError> {
        let found = locked(&self.open).as_ref().and_then(|all| all.get(id).cloned());
        found.ok_or_else(|| RpcError::new(NOT_FOUND, format!("there is no open session `{id}`")))
    }

    fn take(&self, id: &str) -> Option<Arc<EditorSession>> {
        locked(&self.open).as_mut().and_then(|all| all.remove(id))
    }
}

impl SessionHost for EditorSessions {
    fn open(&self, place: SessionPlace, editor: EditorPort) -> RpcFuture<Result<String, RpcError>> {
        let (agent, open) = (Arc::clone(&self.agent), Arc::clone(&self.open));
        Box::pin(async move {
            check_directory(&agent, &place.directory)?;
            check_room(&open)?;
            let started = SteeredRun::start(&agent.new_run(&[], None));
            let failed = |failure| RpcError::new(codes::INTERNAL, in_one_line(&failure));
            let mut run = started.map_err(failed)?;
            run.steering.offer_editor(editor.reads_files(), editor.writes_files());
            let (id, greeting) = begun(&agent, &mut run).await?;
            let session = EditorSession::new(id, agent, Some(run));
            let greeting = greeting.map(|text| SessionUpdate::AgentText(format!("{text}\n\n")));
            session.state().welcome = notices(&place).chain(greeting).collect();
            keep(&open, session)
        })
    }

    fn reopen(
        &self,
        id: String,
        place: SessionPlace,
        editor: Option<EditorPort>,
    ) -> RpcFuture<Result<(), RpcError>> {
        let (agent, open) = (Arc::clone(&self.agent), Arc::clone(&self.open));
        let before = self.take(&id);
        Box::pin(async move {
            if let Some(before) = before {
                before.close().await;
            }
            check_directory(&agent, &place.directory)?;
            check_room(&open)?;
            let (finder, name) = (Arc::clone(&agent), id.clone());
            let found = tokio::task::spawn_blocking(move || finder.earlier(&name)).await;
            let found = found.map_err(|error| RpcError::new(codes::INTERNAL, error.to_string()))?;
            let earlier = found.map_err(|why| RpcError::new(REFUSED, why))?;
            if let Some(editor) = editor {
                for update in history::updates(&earlier.events, &agent.workspace) {
                    editor.update(&id, &update).await;
                }
            }
            let session = EditorSession::new(id, agent, None);
            session.state().welcome = notices(&place).collect();
            keep(&open, session).map(drop)
        })
    }

    fn welcome(&self, id: &str) -> Vec<SessionUpdate> {
        self.find(id).map(|session| session.take_welcome()).unwrap_or_default()
    }

    fn list(&self) -> RpcFuture<Result<Vec<ListedSession>, RpcError>> {
        let agent = Arc::clone(&self.agent);
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || listed(&agent)).await;
            found.map_err(|error| RpcError::new(codes::INTERNAL, error.to_string()))
        })
    }

    fn prompt(
        &self,
        id: &str,
        text: String,
        editor: EditorPort,
    ) -> RpcFuture<Result<TurnStop, RpcError>> {
        let session = match self.find(id) {
            Ok(session) => session,
            Err(error) => return Box::pin(async move { Err(error) }),
        };
        let Ok(slot) = Arc::clone(&session.slot).try_lock_owned() else {
            let error = RpcError::invalid("a turn of this session is under way");
            return Box::pin(async move { Err(error) });
        };
        session.state().is_cancelled = false;
        Box::pin(async move { turn::carry_out(&session, slot, text, editor).await })
    }

    fn cancel(&self, id: &str) {
        if let Ok(session) = self.find(id) {
            session.cancel();
        }
    }

    fn close(&self, id: &str) -> RpcFuture<Result<(), RpcError>> {
        let found = self.find(id);
        self.take(id);
        Box::pin(async move {
            found?.close().await;
            Ok(())
        })
    }

    fn close_all(&self) -> RpcFuture<()> {
        let all = locked(&self.open).take().unwrap_or_default();
        Box::pin(async move {
            let mut closing = tokio::task::JoinSet::new();
            for session in all.into_values() {
                closing.spawn(async move { session.close().await });
            }
            closing.join_all().await;
        })
    }
}

/// Waits until a run has begun; returns its id and the greeting of the agent.
async fn begun(
    agent: &ServedAgent,
    run: &mut SteeredRun,
) -> Result<(String, Option<String>), RpcError> {
    while let Some(event) = run.events.recv().await {
        if let Some(why) = agent.refusal(&event) {
            return Err(RpcError::new(REFUSED, why));
        }
        if let SteeredEvent::Run { id: Some(id), greeting, .. } = event {
            return Ok((id, greeting));
        }
    }
    let errors = run.steering.last_errors();
    Err(RpcError::new(codes::INTERNAL, format!("the run did not begin: {errors}")))
}

/// Refuses a directory outside the workspace: an editor cannot move an agent to other files.
fn check_directory(agent: &ServedAgent, directory: &Path) -> Result<(), RpcError> {
    let shown = directory.display();
    let real = std::fs::canonicalize(directory).map_err(|error| {
        RpcError::invalid(format!("`cwd` is `{shown}`: {}", error_text(&error)))
    })?;
    let workspace = std::fs::canonicalize(&agent.workspace).unwrap_or(agent.workspace.clone());
    if real.starts_with(&workspace) {
        return Ok(());
    }
    let message = format!(
        "`{shown}` is outside `{}`, where `{}` works: start `agentry acp` in that project",
        workspace.display(),
        agent.name
    );
    Err(RpcError::new(REFUSED, message))
}

fn check_room(open: &SessionMap) -> Result<(), RpcError> {
    let count = locked(open).as_ref().map_or(0, HashMap::len);
    if count < SESSIONS {
        return Ok(());
    }
    Err(RpcError::new(REFUSED, format!("{SESSIONS} sessions are open: close one first")))
}

/// Keeps a session, unless the editor left while it began.
fn keep(open: &SessionMap, session: EditorSession) -> Result<String, RpcError> {
    let id = session.id.clone();
    match locked(open).as_mut() {
        Some(all) => {
            all.insert(id.clone(), Arc::new(session));
            Ok(id)
        }
        // Its run ends when the session is dropped.
        None => Err(RpcError::new(codes::INTERNAL, "the editor is gone")),
    }
}

/// What an editor brings and does not get.
fn notices(place: &SessionPlace) -> impl Iterator<Item = SessionUpdate> + use<> {
    let names: Vec<_> = place.servers.iter().map(|name| format!("`{name}`")).collect();
    let servers = (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!("The MCP servers of the editor are not used ({names}): the agent has those of its definition.")
    });
    let directories = (place.more_directories > 0).then(|| {
        "The further directories of the editor are not opened: the agent works in its workspace."
            .to_owned()
    });
    servers.into_iter().chain(directories).map(SessionUpdate::Notice)
}

fn listed(agent: &ServedAgent) -> Vec<ListedSession> {
    let directory = agent.workspace.display().to_string();
    let entry = |run: agentry_runtime::journal::RunSummary| ListedSession {
        title: run.about.prompt.clone(),
        began: DisplayTime(run.about.started).to_string(),
        directory: directory.clone(),
        id: run.id,
    };
    agent.earlier_runs().into_iter().take(100).map(entry).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
