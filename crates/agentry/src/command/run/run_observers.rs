//! Who watches a run: its output, and the user or the program that steers it and answers its questions.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentry_compile::text::report::visible;
use agentry_runtime::driver::interfaces::{AbsentApprover, Approver, OutputSink};
use agentry_runtime::driver::output::RunOutput;
use agentry_runtime::{StepState, ToolCall};

use super::approver::TerminalApprover;
use super::control::RunControl;
use super::mcp_servers::enabled;
use super::prepared_agent::PreparedAgent;
#[cfg(not(feature = "otel"))]
use super::prepared_agent::variable;
use super::screen::styled_line::TextLook;
use super::session::SessionSetting;
use super::skills;
use super::terminal::TerminalView;
use crate::args::{AskFallback, RunFormat};
use crate::output::{print, remark};

/// The listeners of a run: the output, and the user who approves.
pub(crate) struct RunObservers {
    pub(super) terminal: Arc<Mutex<TerminalView>>,
    pub(super) hears: OutputSink,
    /// The user at the terminal, if there is one.
    pub(crate) attendant: Option<Arc<TerminalApprover>>,
    /// The program that steers the run, if there is one.
    pub(super) control: Option<Arc<RunControl>>,
    pub(crate) person: Arc<dyn Approver>,
}

impl RunObservers {
    /// The listeners of a run. Standard output has only the output of a function.
    pub(super) fn of(setting: &SessionSetting<'_>) -> Self {
        let SessionSetting { format, on_ask, function, .. } = setting;
        if setting.is_controlled {
            return Self::controlled(setting);
        }
        let observers = match function {
            None => Self::new(*format, *on_ask),
            Some(_) => Self::with(TerminalView::aside(), RunFormat::Human, *on_ask, *format),
        };
        let attendant = observers.attendant.iter();
        let ground = setting.ground;
        attendant.for_each(|attendant| attendant.work_in(&ground.workspace, ground.notify));
        observers
    }

    /// The listeners of a run that another program steers.
    fn controlled(setting: &SessionSetting<'_>) -> Self {
        let terminal = Arc::new(Mutex::new(TerminalView::aside()));
        let control = RunControl::open(setting.on_ask, Arc::clone(&setting.ground.redactor));
        let hears = sink(RunFormat::Json, &terminal);
        Self { hears, terminal, attendant: None, person: control.clone(), control: Some(control) }
    }

    /// Whether a user can be asked.
    pub(crate) fn can_ask(&self) -> bool {
        self.attendant.is_some() || self.control.is_some()
    }

    pub(crate) fn new(format: RunFormat, on_ask: AskFallback) -> Self {
        Self::with(TerminalView::new(), format, on_ask, format)
    }

    fn with(view: TerminalView, shown: RunFormat, on_ask: AskFallback, format: RunFormat) -> Self {
        let terminal = view.shared();
        let attended = TerminalView::is_attended() && format == RunFormat::Human;
        let attendant =
            attended.then(|| TerminalApprover::new(Arc::clone(&terminal)).ok()).flatten();
        let attendant = attendant.map(Arc::new);
        let person: Arc<dyn Approver> = match &attendant {
            Some(attendant) => attendant.clone(),
            // Without a terminal no user can approve: an `ask` is denied, or the run is parked.
            None => Arc::new(AbsentApprover::from(on_ask)),
        };
        Self { hears: sink(shown, &terminal), terminal, attendant, control: None, person }
    }
}

impl RunObservers {
    pub(super) fn view(&self) -> MutexGuard<'_, TerminalView> {
        self.terminal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the banner of a conversation, and the servers that are started now.
    pub(super) fn greet(&self, setting: &SessionSetting<'_>, model: &str, is_conversation: bool) {
        let SessionSetting { ground, commands, without, .. } = setting;
        if is_conversation && self.attendant.is_some() {
            self.view().banner(&banner_rows(ground, model.to_owned(), commands.name()));
        }
        let is_out = |name: &str| skills::is_left_out(name, without);
        let names = enabled(ground).map(|server| server.value.name.clone());
        let names: Vec<String> = names.filter(|name| !is_out(name)).collect();
        if self.view().is_live() && !names.is_empty() {
            let line = format!("starting its MCP servers: {}", names.join(", "));
            self.view().note(&line, TextLook::Dim);
        }
    }

    /// Shows that the run works now, and takes keys meanwhile.
    pub(super) fn begin(&self) {
        self.view().begin();
        if let Some(attendant) = &self.attendant {
            attendant.take_keys();
        }
    }

    /// Shows a command of the user while it runs.
    pub(super) fn begin_command(&self, call: &ToolCall) {
        self.view().begin_command(call);
        if let Some(attendant) = &self.attendant {
            attendant.take_keys();
        }
    }

    /// Names the calls that a resumed run has not ended.
    pub(super) fn recall(&self, state: &StepState) {
        let mut view = self.view();
        state.calls.iter().chain(&state.inner).for_each(|call| view.recall(&call.call));
    }

    /// Leaves the terminal to others.
    pub(super) fn leave(&self) {
        if let Some(attendant) = &self.attendant {
            attendant.leave_keys();
        }
        self.view().leave();
    }
}

/// Shows the output of the run in the requested format.
pub(super) fn sink(format: RunFormat, terminal: &Arc<Mutex<TerminalView>>) -> OutputSink {
    let terminal = Arc::clone(terminal);
    let shown: OutputSink = match format {
        RunFormat::Human => Arc::new(move |output: RunOutput| {
            terminal.lock().unwrap_or_else(PoisonError::into_inner).show_output(&output);
        }),
        RunFormat::Json => Arc::new(|output: RunOutput| {
            // Also on standard error, for a user who watches only that.
            if let RunOutput::Quarantined(quarantined) = &output {
                remark(&format!("warning: {}", visible(&quarantined.to_string())));
            }
            let line = serde_json::to_string(&output).unwrap_or_default();
            print(&format!("{line}\n"));
        }),
    };
    #[cfg(feature = "otel")]
    let shown = crate::telemetry::export(shown);
    #[cfg(not(feature = "otel"))]
    warn_without_telemetry();
    shown
}

/// Warns if the environment names a collector, because this build cannot export runs.
#[cfg(not(feature = "otel"))]
fn warn_without_telemetry() {
    let named = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
    if let Some(name) = named.into_iter().find(|name| variable(name).is_some()) {
        remark(&format!("note: `{name}` is set, and this program was built without telemetry"));
        remark("  = help: install it with `--features otel`");
    }
}

/// The banner of a conversation: what runs where, and what confines it.
pub(super) fn banner_rows(
    ground: &PreparedAgent,
    model: String,
    sandbox: &str,
) -> [(&'static str, String); 4] {
    let path = Path::new(ground.path());
    let path = path.strip_prefix(&ground.workspace).unwrap_or(path);
    let agent = format!("{}  {}", ground.agent.name(), path.display());
    [
        ("agent", agent),
        ("model", model),
        ("workspace", ground.workspace.display().to_string()),
        ("sandbox", sandbox.to_owned()),
    ]
}
