//! The default values of a manifest.

use agentry_model::{
    Agent, AgentBehaviour, AgentMemory, AuthStrategy, Declared, ErrorReaction, LimitReaction,
    LongTermMemory, ModelTier, RunBudget, WorkingMemory,
};
use agentry_policy::{ExecTrust, FilesystemTrust, NetworkTrust};
use agentry_text::{FileId, Span, Spanned};

/// Fills in the defaults of the format. Trust is skipped if the manifest has a base, because it inherits
/// the values that it leaves out.
pub(super) fn defaults(agent: &mut Agent) {
    let Agent { identity, model, auth, behaviour, budget, memory, policy, inheritance, .. } = agent;
    fill_with(&mut identity.version, || "0.1.0".to_owned());
    fill(&mut model.capability, ModelTier::Mid);
    fill_with(&mut model.context, || "full".to_owned());
    fill(&mut auth.strategy, AuthStrategy::Auto);
    let AgentMemory { working, long_term, shared } = memory;
    fill(working, WorkingMemory::Session);
    fill(long_term, LongTermMemory::None);
    fill(shared, false);
    let AgentBehaviour { temperature, max_turns, on_error } = behaviour;
    fill(temperature, 0.5);
    fill(max_turns, 20);
    fill(on_error, ErrorReaction::Ask);
    let RunBudget { trace, cost_limit: _, step_limit, on_exceed } = budget;
    fill(trace, false);
    fill(step_limit, 50);
    fill(on_exceed, LimitReaction::Abort);
    if inheritance.base.is_none() {
        let trust = policy.trust.get_or_insert_default();
        fill(&mut trust.filesystem, FilesystemTrust::None);
        fill(&mut trust.network, NetworkTrust::None);
        fill(&mut trust.exec, ExecTrust::None);
    }
}

fn fill<T>(field: &mut Declared<T>, value: T) {
    fill_with(field, || value);
}

fn fill_with<T>(field: &mut Declared<T>, value: impl FnOnce() -> T) {
    if field.is_none() {
        *field = Some(Spanned::new(value(), Span::start_of(FileId::BUILT_IN)));
    }
}
