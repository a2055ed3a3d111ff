//! `propose_change`: how an installed agent proposes a change of itself. Its only way to its own files.

use std::sync::Arc;
use std::time::Duration;

use agentry_compile::EvolutionRules;
use agentry_home::InstalledAgent;
use agentry_home::evolution::{ProposalState, ProposedChange, ProposedText};
use agentry_home::receipt::is_private_tree;
use agentry_home::repository::CommitKind;
use agentry_runtime::event::CallClass;
use agentry_runtime::tool::{
    BoxedFuture, BuiltInTool, CallFailure, CallLocation, DeclaredKind, DeclaredTool, ToolHost,
    ToolOrigin, ToolOutput, ToolSpec, ToolTouch, for_model,
};
use serde_json::{Value, json};

use super::declared_tools::DeclaredTools;
use super::prepared_agent::PreparedAgent;
use crate::command::{home_agents, proposals};
use crate::home::recorded_user;

/// The name of the tool.
pub(crate) const NAME: &str = "propose_change";
/// The longest reason, in characters.
const LONGEST_REASON: usize = 2_000;

/// The tools of an agent that lives in the home.
pub(super) fn home_tools(ground: &PreparedAgent) -> DeclaredTools {
    let Some(agent) = ground.installed.clone() else { return DeclaredTools::default() };
    let tool = ProposeChangeTool { agent, rules: ground.evolution };
    DeclaredTools { tools: vec![Arc::new(tool)], ..DeclaredTools::default() }
}

struct ProposeChangeTool {
    agent: InstalledAgent,
    rules: EvolutionRules,
}

impl ProposeChangeTool {
    fn propose(&self, given: &Value, place: &CallLocation) -> Result<Value, CallFailure> {
        let change = self.change(given, place).map_err(CallFailure::new)?;
        let failed = |failure: crate::output::CliFailure| CallFailure::new(failure.message);
        let home = home_agents::open().map_err(failed)?;
        let proposal =
            proposals::propose(&home, &self.agent.id, &change, self.rules).map_err(failed)?;
        let outcome = proposal.outcome.unwrap_or_default();
        match proposal.state {
            ProposalState::Refused => Err(CallFailure::new(format!("refused: {outcome}"))),
            ProposalState::Applied => {
                Ok(json!({"proposal": proposal.id, "state": "applied", "commit": outcome}))
            }
            ProposalState::Pending | ProposalState::Rejected => Ok(json!({
                "proposal": proposal.id,
                "state": "pending",
                "note": format!("the user decides with `agentry proposals accept {}`", proposal.id),
            })),
        }
    }

    fn change(&self, given: &Value, place: &CallLocation) -> Result<ProposedChange, String> {
        let GivenChange { file, text, reason } = GivenChange::read(given)?;
        // The directory of a run has its id; a call outside of a run has another one.
        let layout = home_agents::layout().map_err(|failure| failure.message)?;
        let runs = layout.runs();
        let run = Some(&place.run).filter(|run| run.parent() == Some(runs.as_path()));
        let run = run.and_then(|run| Some(run.file_name()?.to_str()?.to_owned()));
        let user = recorded_user();
        let is_private = layout.has_private_memory(&user, &self.agent.id)
            || layout.has_shared_memory(&user)
            || run.as_ref().is_some_and(|run| is_private_tree(&layout, run, &user));
        Ok(ProposedChange {
            file,
            text,
            reason,
            run,
            author: self.agent.name.clone(),
            kind: CommitKind::Agent,
            private_to: is_private.then_some(user),
        })
    }
}

/// A change as a model gives it.
pub(crate) struct GivenChange {
    pub(crate) file: String,
    pub(crate) text: ProposedText,
    pub(crate) reason: String,
}

impl GivenChange {
    /// Reads the arguments of a call.
    pub(crate) fn read(given: &Value) -> Result<Self, String> {
        let text = |key: &str| given.get(key).and_then(Value::as_str).map(str::to_owned);
        let file = text("file").ok_or("`file` is missing")?;
        let proposed = match (text("content"), text("diff")) {
            (Some(content), None) => ProposedText::Whole(content),
            (None, Some(diff)) => ProposedText::Diff(diff),
            _ => return Err("give either `content` or `diff`".to_owned()),
        };
        let reason: String =
            text("reason").unwrap_or_default().chars().take(LONGEST_REASON).collect();
        if reason.trim().is_empty() {
            return Err("`reason` is missing".to_owned());
        }
        Ok(Self { file, text: proposed, reason })
    }
}

/// What models get to know about the tool.
pub(crate) fn propose_change() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Proposes a change of yourself: of your persona, principles, memory or skills. Give the file \
                      relative to your own directory (`persona.md`, `memory/x.md`, `skills/x/SKILL.md`), its whole \
                      new content or a unified diff, and the reason. Protected sections, permissions, tools and \
                      schedules cannot be proposed. The user may have to accept it."
            .to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "file": {"type": "string"},
                "content": {"type": "string"},
                "diff": {"type": "string"},
                "reason": {"type": "string"},
            },
            "required": ["file", "reason"],
            "additionalProperties": false,
        }),
    }
}

impl BuiltInTool for ProposeChangeTool {
    fn spec(&self) -> ToolSpec {
        propose_change()
    }

    fn class(&self, _: &Value) -> CallClass {
        CallClass::Write
    }

    /// Nothing that the policy decides about: what may be proposed is bounded here, and `[evolution]` decides about the rest.
    fn touches(&self, given: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        self.change(given, place).map(|_| Vec::new())
    }

    fn run<'a>(&'a self, given: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(async move { for_model(self.propose(&given, &host.place()), host) })
    }
}

impl DeclaredTool for ProposeChangeTool {
    fn kind(&self) -> DeclaredKind {
        DeclaredKind::Home
    }

    fn origin(&self) -> Option<ToolOrigin> {
        None
    }

    fn policy_subjects(&self) -> Vec<ToolTouch> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        given: &'a Value,
        _: Duration,
        host: &'a dyn ToolHost,
    ) -> BoxedFuture<'a, Result<Value, CallFailure>> {
        Box::pin(async move { self.propose(given, &host.place()) })
    }
}
