//! Answers the guard question of a harness about a tool call.

use agentry_policy::{Action, Judge, SectionCall, Verdict, VerdictReason};
use agentry_targets::guard::{GuardAnswer, GuardQuestion};
use agentry_targets::{GuardProtocol, Target};

use super::file_search::searched;
use super::protection::ProtectedPaths;
use crate::digest::digest;
use crate::judge::{WorldLinks, judge};
use crate::pipeline::CompiledAgent;
use crate::world::World;

/// The agent that makes the call.
#[derive(Debug)]
pub struct GuardedAgent<'a> {
    /// The agent.
    pub compiled: CompiledAgent,
    /// Its digest when it was rendered, if the hook has it.
    pub digest: Option<&'a str>,
    /// Paths that no call may write to.
    pub protected: Vec<String>,
}

/// Answers the guard question about a call. Every failure is a denial.
pub fn guard(
    world: &dyn World,
    target: &Target,
    agent: Result<GuardedAgent<'_>, String>,
    question: &str,
) -> GuardAnswer {
    let Some(protocol) = &target.guard else {
        return silent(&format!("{} has no guard", target.title));
    };
    let verdict = agent.and_then(|agent| decide(world, protocol, agent, question));
    match verdict {
        Ok(verdict) => (protocol.answer)(&verdict),
        Err(why) => (protocol.failure)(&why),
    }
}

/// The answer for a harness without a guard protocol.
fn silent(why: &str) -> GuardAnswer {
    GuardAnswer { output: String::new(), errors: format!("agentry guard: {why}\n"), code: 2 }
}

fn decide(
    world: &dyn World,
    protocol: &GuardProtocol,
    mut agent: GuardedAgent<'_>,
    question: &str,
) -> Result<Verdict, String> {
    let GuardQuestion { directory, calls, searches } = (protocol.question)(question)?;
    if agent.compiled.has_errors() {
        return Err("the definition has errors: run `agentry check`".to_owned());
    }
    // The rendered rules belong to the reviewed definition, so a changed one is refused.
    if agent.digest.is_some_and(|known| !is_same(known, &digest(world, &agent.compiled))) {
        let why = "the definition changed since it was rendered: run `agentry render`";
        return Err(why.to_owned());
    }
    let judge = judge(world, &mut agent.compiled)
        .map_err(|_| "the user's policy has errors: run `agentry policy why`".to_owned())?;
    let mut out = Verdict { action: Action::Allow, reasons: Vec::new() };
    for (section, subject) in &calls {
        let call = SectionCall { section: *section, subject, directory: &directory };
        add(&mut out, judged(world, &judge, &agent.protected, call));
    }
    if let Some(reason) = searched(world, &judge, &directory, &searches) {
        add(&mut out, Verdict { action: reason.action, reasons: vec![reason] });
    }
    Ok(out)
}

/// The verdict for a call that must not write to `protected`. The deciding reason comes first.
pub fn judged(
    world: &dyn World,
    judge: &Judge,
    protected: &[String],
    call: SectionCall<'_>,
) -> Verdict {
    let protected = ProtectedPaths { paths: protected, places: judge.places(), world };
    let mut out = Verdict { action: Action::Allow, reasons: Vec::new() };
    add(&mut out, judge.judge(call, &WorldLinks(world)));
    if let Some(reason) = protected.reason(call, &WorldLinks(world)) {
        add(&mut out, Verdict { action: reason.action, reasons: vec![reason] });
    }
    out
}

fn add(all: &mut Verdict, one: Verdict) {
    all.action = all.action.strictest(one.action);
    // The reason that decides comes first.
    let decides = |reason: &VerdictReason| reason.action == one.action;
    let (first, rest): (Vec<_>, Vec<_>) = one.reasons.into_iter().partition(decides);
    all.reasons.extend(first.into_iter().chain(rest));
}

/// Whether two digests are equal, with or without the prefix `sha256:`.
fn is_same(known: &str, now: &str) -> bool {
    let plain = |text: &str| text.strip_prefix("sha256:").unwrap_or(text).to_owned();
    plain(known) == plain(now)
}
