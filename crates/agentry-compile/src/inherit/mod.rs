//! Inheritance: finds the bases of an agent, merges them from the farthest to the nearest, and proves
//! that the result may do no more than the base.
//!
//! ```text
//! base ─▶ chain: read each base, farthest first ─▶ base_view: its paths from the child's directory
//!                                                      └─▶ merge, trust ─▶ prove ─▶ the whole agent
//! ```

mod base_memo;
mod base_view;
mod chain;
mod config_bases;
mod lists;
mod merge;
mod origins;
mod prove;
mod reference;
pub(crate) mod rules;
mod stored_world;
mod trust;

use agentry_model::{Agent, Format};
use agentry_text::{Diagnostic, Findings, Severity, Span, Spanned};

use crate::pipeline::CompiledAgent;
use crate::world::World;

pub use base_memo::BaseMemo;
pub(crate) use config_bases::{ENTRY, entries};

/// One base of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseAgent {
    /// The reference, as the child writes it.
    pub reference: Spanned<String>,
    /// The name as shown to the user: the file, the directory, or `name@version`.
    pub path: String,
    /// Its format.
    pub format: Format,
    /// Its full digest, if it comes from the store.
    pub stored: Option<String>,
}

/// A base as a definition names it, and the directory that a relative path starts from.
#[derive(Debug, Clone)]
struct DeclaredBase {
    base: Spanned<String>,
    dir: String,
}

/// Merges an agent with its bases. Returns its nearest base, as seen from the agent.
pub(crate) fn inherit(
    world: &dyn World,
    compiled: &mut CompiledAgent,
    findings: &mut Findings,
) -> Option<Agent> {
    let declared = declared(world, compiled, findings)?;
    let place = declared.base.span;
    let known = |found: &Diagnostic| found.span == place && found.severity == Severity::Error;
    // The reference itself was already reported as wrong.
    if findings.iter().any(known) {
        return None;
    }
    let (outcome, bases) = chain::load(world, compiled, &declared);
    compiled.bases = bases;
    match outcome {
        Ok(link) => Some(join(world, compiled, (&link, place), findings)),
        Err(failure) => {
            failure.report(place, findings);
            None
        }
    }
}

/// The base that a definition names, in its own file or in `agentry.toml`.
fn declared(
    world: &dyn World,
    compiled: &mut CompiledAgent,
    findings: &mut Findings,
) -> Option<DeclaredBase> {
    let entry = config_bases::base(world, compiled);
    let own = compiled.agent.inheritance.base.clone();
    if let (Some(own), Some((entry, _))) = (&own, &entry) {
        let message = format!("`{}` names a base itself", compiled.found.path);
        findings
            .add(&rules::BAD_BASE_ENTRY, entry.span, message)
            .related(own.span, "this one")
            .hint("remove one of the two");
    }
    let (base, dir) = match (own, entry) {
        // A base in the definition is relative to its directory, one in `agentry.toml` to the root.
        (Some(own), _) => {
            let span = narrowed(&own, compiled);
            (Spanned::new(own.value, span), compiled.found.dir.clone())
        }
        (None, entry) => {
            let (base, merge) = entry?;
            compiled.agent.inheritance.merge = merge;
            (base, compiled.workspace.clone())
        }
    };
    compiled.agent.inheritance.base = Some(base.clone());
    compiled.base_dir.clone_from(&dir);
    Some(DeclaredBase { base, dir })
}

/// The span of the reference, if the given span covers the block around it.
fn narrowed(base: &Spanned<String>, compiled: &CompiledAgent) -> Span {
    let text = compiled.sources.slice(base.span);
    match text.find(&base.value) {
        Some(at) if text.len() > base.value.len() + 2 => {
            let start = base.span.range().start + at;
            Span::new(base.span.file, start, start + base.value.len())
        }
        _ => base.span,
    }
}

/// Merges an agent with its nearest base, which is already merged with its own.
fn join(
    world: &dyn World,
    compiled: &mut CompiledAgent,
    (link, place): (&chain::BaseLink, Span),
    findings: &mut Findings,
) -> Agent {
    let base = base_view::seen(world, compiled, link);
    let limits = trust::TrustLimits { world, dir: &compiled.found.dir, base: &base };
    let trust = limits.merge(compiled.agent.policy.trust.as_ref(), findings);
    let formats =
        merge::FormatPair { base: link.compiled.found.format, child: compiled.found.format };
    let mut whole = merge::merge(&base, &compiled.agent, formats, findings);
    whole.policy = agentry_policy::under(&base.policy, &compiled.agent.policy, trust);
    compiled.origins = origins::of(&base, &compiled.agent, &link.compiled.origins);
    prove::prove(world, compiled, (&base, &whole, place), findings);
    compiled.whole = Some(whole);
    base
}
