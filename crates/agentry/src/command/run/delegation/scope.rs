//! What the runs of one tree share, and what a run hands down to its delegates.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agentry_compile::delegates::MOST_DEPTH;
use agentry_runtime::budget_pot::BudgetShare;
use agentry_runtime::driver::interfaces::{Approver, OutputSink};
use agentry_runtime::journal;
use tokio::sync::Semaphore;

use super::ceiling::DelegationCeiling;
use super::delegate_list::{ChainLink, KnownDelegate, chain_text};
use crate::command::run::agreed_parts::AgreedDelegates;
use crate::command::run::memory::TreeMemories;
use crate::command::run::prepared_agent::PreparedAgent;
use crate::command::run::run_observers::RunObservers;
use crate::command::run::session::SessionSetting;
use crate::output::CliFailure;

/// How many delegates of one run work at a time; more wait.
const MOST_CHILDREN: usize = 16;

/// What holds for all runs of a tree.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is about another thing")]
pub(crate) struct TreeSettings {
    /// The model that the user named, for delegates that name none.
    pub(crate) model: Option<String>,
    /// Whether commands run without the sandbox.
    pub(crate) unconfined: bool,
    /// Whether the user accepts that definitions changed since the run began.
    pub(crate) accepts_changes: bool,
    /// Whether the run was begun by another process.
    pub(crate) is_resumed: bool,
    /// Whether a run above has a cost limit.
    pub(crate) counts_money: bool,
    /// Whose memories they use.
    pub(crate) memories: TreeMemories,
    /// The delegates that the user agreed to.
    pub(crate) agreed: Arc<AgreedDelegates>,
}

/// What a run hands down to its delegates.
pub(crate) struct DelegationScope {
    pub(super) home: PathBuf,
    /// The id of the run.
    pub(super) run: String,
    /// The agents from the root to this run.
    pub(super) chain: Vec<ChainLink>,
    pub(super) ceiling: Arc<DelegationCeiling>,
    /// The user at the root.
    pub(super) person: Arc<dyn Approver>,
    /// The output of the root.
    pub(super) hears: OutputSink,
    pub(super) can_ask: bool,
    pub(super) budget: BudgetShare,
    pub(super) tree: TreeSettings,
    pub(super) seats: Semaphore,
    /// The runs that calls have begun, by the id of the call.
    begun: Mutex<HashMap<String, String>>,
}

impl DelegationScope {
    /// The scope of the run at the root.
    pub(crate) fn root(
        setting: &SessionSetting<'_>,
        watching: &RunObservers,
        run: &str,
        budget: &BudgetShare,
    ) -> Result<Arc<Self>, CliFailure> {
        let ground = setting.ground;
        Ok(Arc::new(Self {
            home: ground.home.clone(),
            run: run.to_owned(),
            chain: vec![ChainLink::of(ground)],
            ceiling: DelegationCeiling::of(ground, None),
            person: Arc::clone(&watching.person),
            hears: Arc::clone(&watching.hears),
            can_ask: watching.can_ask(),
            budget: budget.clone(),
            seats: Semaphore::new(MOST_CHILDREN),
            begun: Mutex::new(begun(ground, run, setting.tree.is_resumed)?),
            tree: setting.tree.clone(),
        }))
    }

    /// The scope of the run of a delegate.
    pub(super) fn below(
        &self,
        child: &PreparedAgent,
        run: &str,
        place: ChildPlace,
    ) -> Result<Arc<Self>, CliFailure> {
        let ChildPlace { above, budget, is_resumed, counts_money } = place;
        let mut chain = self.chain.clone();
        chain.push(ChainLink::of(child));
        Ok(Arc::new(Self {
            home: self.home.clone(),
            run: run.to_owned(),
            chain,
            ceiling: DelegationCeiling::of(child, above),
            person: Arc::clone(&self.person),
            hears: Arc::clone(&self.hears),
            can_ask: self.can_ask,
            budget,
            seats: Semaphore::new(MOST_CHILDREN),
            begun: Mutex::new(begun(child, run, is_resumed)?),
            tree: TreeSettings { is_resumed, counts_money, ..self.tree.clone() },
        }))
    }

    /// Why this run must not delegate to an agent, whatever the policy says.
    pub(super) fn refusal(&self, delegate: &KnownDelegate) -> Option<String> {
        let is_same = |link: &ChainLink| link.identity == delegate.identity;
        let chain = chain_text(&self.chain, &delegate.name);
        if self.chain.iter().any(is_same) {
            return Some(format!("`{chain}` is a circle: an agent does not work for itself"));
        }
        let is_deep = self.chain.len() > MOST_DEPTH;
        is_deep.then(|| {
            format!(
                "`{chain}` is too deep: there are at most {MOST_DEPTH} levels below the first agent"
            )
        })
    }

    /// The run that a call has begun before.
    pub(super) fn begun(&self, call: &str) -> Option<String> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).get(call).cloned()
    }

    pub(super) fn begin(&self, call: &str, run: &str) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.insert(call.to_owned(), run.to_owned());
    }
}

/// What differs between the children of a run.
pub(super) struct ChildPlace {
    /// The ceiling that holds for the child.
    pub(super) above: Option<Arc<DelegationCeiling>>,
    pub(super) budget: BudgetShare,
    pub(super) is_resumed: bool,
    pub(super) counts_money: bool,
}

/// The runs that the calls of an earlier process have begun.
fn begun(
    ground: &PreparedAgent,
    run: &str,
    is_resumed: bool,
) -> Result<HashMap<String, String>, CliFailure> {
    if !is_resumed {
        return Ok(HashMap::new());
    }
    let found = journal::delegates(&ground.home, run);
    let found = found.map_err(|error| CliFailure::new(error.to_string()).refused())?;
    let calls = found.into_iter().filter_map(|(id, about)| Some((about.parent?.call, id)));
    Ok(calls.collect())
}
