//! Answers the guard question of a harness about a tool call.

use agentry_policy::path::absolute;
use agentry_policy::{Action, Judge, Section, SectionCall, Verdict, VerdictReason};
use agentry_targets::guard::{GuardAnswer, GuardQuestion};
use agentry_targets::{GuardProtocol, Target};

use super::file_search::searched;
use super::protection::ProtectedPaths;
use crate::digest::digest;
use crate::judge::{WorldLinks, judge};
use crate::pipeline::CompiledAgent;
use crate::start_gate::gate;
use crate::world::World;

/// The agent that makes the call.
pub struct GuardedAgent<'a> {
    /// The agent.
    pub compiled: CompiledAgent,
    /// The project that it was rendered into, if the hook has it.
    pub project: Option<String>,
    /// Its digest when it was rendered, if the hook has it.
    pub digest: Option<&'a str>,
    /// Paths that no call may write to.
    pub protected: Vec<String>,
    /// The path of this program, to run commands in the sandbox.
    pub program: Option<String>,
    /// Whether a variable of the environment is set and not empty.
    pub is_set: &'a dyn Fn(&str) -> bool,
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
    let answer = agent.and_then(|agent| decide(world, target, protocol, agent, question));
    answer.unwrap_or_else(|why| (protocol.failure)(&why))
}

/// The answer for a harness without a guard protocol.
fn silent(why: &str) -> GuardAnswer {
    GuardAnswer { output: String::new(), errors: format!("agentry guard: {why}\n"), code: 2 }
}

fn decide(
    world: &dyn World,
    target: &Target,
    protocol: &GuardProtocol,
    mut agent: GuardedAgent<'_>,
    text: &str,
) -> Result<GuardAnswer, String> {
    let mut question = (protocol.question)(text)?;
    if agent.compiled.has_errors() {
        return Err("the definition has errors: run `agentry check`".to_owned());
    }
    // The rendered rules belong to the reviewed definition, so a changed one is refused.
    let now = digest(world, &agent.compiled);
    if agent.digest.is_some_and(|known| !is_same(known, &now)) {
        let why = "the definition changed since it was rendered: run `agentry render`";
        return Err(why.to_owned());
    }
    if let Some(project) = &agent.project {
        agent.compiled.work_in(world, project);
    }
    let judge = judge(world, &mut agent.compiled)
        .map_err(|_| "the user's policy has errors: run `agentry policy why`".to_owned())?;
    admit(world, &judge, &agent)?;
    let shell = ConfinedShell::of(world, &agent, &now);
    // Another hook may have wrapped the command already: what it runs is judged.
    for (_, line) in question.calls.iter_mut().filter(|(of, _)| *of == Section::Bash) {
        if let Some(inner) = shell.as_ref().and_then(|shell| shell.inner(line)) {
            *line = inner;
        }
    }
    let verdict = verdict(world, &judge, &agent.protected, &question);
    if verdict.action == Action::Deny || !agent.compiled.whole().policy.needs_sandbox() {
        return Ok((protocol.answer)(&verdict));
    }
    let has = |section| question.calls.iter().any(|(of, _)| *of == section);
    if question.calls.iter().any(|(of, name)| *of == Section::Mcp && runs_here(&agent, name)) {
        let why =
            "this agent may run programs only in the sandbox, and this server runs outside it";
        return Err(why.to_owned());
    }
    if !has(Section::Bash) {
        return Ok((protocol.answer)(&verdict));
    }
    let shell = shell.ok_or("the path of this program is not known")?;
    let Some(confined) = protocol.confined else {
        return Err(format!(
            "this agent runs commands only in the sandbox, and {} lets no hook put them there",
            target.title
        ));
    };
    let wrap = |line: &str| shell.line(&shell.inner(line).unwrap_or_else(|| line.to_owned()));
    confined(text, &verdict, &wrap)
}

/// Refuses every call of an agent that must not start.
fn admit(world: &dyn World, judge: &Judge, agent: &GuardedAgent<'_>) -> Result<(), String> {
    let directory = &judge.places().workspace;
    let is_denied = |name: &str| {
        let call = SectionCall { section: Section::Env, subject: name, directory };
        judge.judge(call, &WorldLinks(world)).action == Action::Deny
    };
    let started = gate(agent.compiled.whole(), agent.is_set, &is_denied);
    started.map(drop).map_err(|closed| format!("the agent does not start: {closed}"))
}

/// The strictest verdict on everything that a call touches.
fn verdict(
    world: &dyn World,
    judge: &Judge,
    protected: &[String],
    question: &GuardQuestion,
) -> Verdict {
    let GuardQuestion { directory, calls, searches } = question;
    let mut out = Verdict { action: Action::Allow, reasons: Vec::new() };
    for (section, subject) in calls {
        let call = SectionCall { section: *section, subject, directory };
        add(&mut out, judged(world, judge, protected, call));
    }
    if let Some(reason) = searched(world, judge, directory, searches) {
        add(&mut out, Verdict { action: reason.action, reasons: vec![reason] });
    }
    out
}

/// Whether the server of an MCP tool may be a program on this machine.
fn runs_here(agent: &GuardedAgent<'_>, tool: &str) -> bool {
    let context = agent.compiled.whole().policy_context(&agent.compiled.dir);
    let name = tool.split('/').next().unwrap_or(tool);
    !context.servers.iter().any(|server| server.name == name && server.host.is_some())
}

/// Runs command lines in the sandbox of an agent, through this program.
struct ConfinedShell(String);

impl ConfinedShell {
    /// The shell of an agent that needs one. Its digest is pinned, so that a definition that changes between
    /// the verdict and the start confines nothing.
    fn of(world: &dyn World, agent: &GuardedAgent<'_>, digest: &str) -> Option<Self> {
        if !agent.compiled.whole().policy.needs_sandbox() {
            return None;
        }
        let path = world.absolute(&agent.compiled.found.path);
        let path = shell_word(&world.real(&path).unwrap_or(path));
        let program = shell_word(agent.program.as_deref()?);
        let project = agent.project.as_deref();
        let project = project.map(|it| format!(" --project {}", shell_word(&world.absolute(it))));
        let pins = format!("--digest {digest}{}", project.unwrap_or_default());
        Some(Self(format!("{program} sandbox exec {pins} {path} -- bash -c ")))
    }

    /// The line that runs `command` in the sandbox.
    fn line(&self, command: &str) -> String {
        format!("{}{}", self.0, shell_word(command))
    }

    /// The command that a line of this shell runs.
    fn inner(&self, line: &str) -> Option<String> {
        let word = line.strip_prefix(&self.0)?.strip_prefix('\'')?.strip_suffix('\'')?;
        let inner = word.replace(r"'\''", "'");
        (self.line(&inner) == line).then_some(inner)
    }
}

/// A text as one word of a shell, with nothing in it expanded.
pub fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The verdict for a call that must not write to `protected`. The deciding reason comes first.
pub fn judged(
    world: &dyn World,
    judge: &Judge,
    protected: &[String],
    call: SectionCall<'_>,
) -> Verdict {
    let named = named_files(judge);
    let places = judge.places();
    let protected = ProtectedPaths { paths: protected, named: &named, places, world };
    let mut out = Verdict { action: Action::Allow, reasons: Vec::new() };
    add(&mut out, judge.judge(call, &WorldLinks(world)));
    if let Some(reason) = protected.reason(call, &WorldLinks(world)) {
        add(&mut out, Verdict { action: reason.action, reasons: vec![reason] });
    }
    out
}

/// The files that an allow rule about edits names without a wildcard.
fn named_files(judge: &Judge) -> Vec<String> {
    // Neither the rules of a delegate nor those of its parent open a definition for the other one.
    if judge.has_parent() {
        return Vec::new();
    }
    let places = judge.places();
    let rules = judge.rules(Section::Edit).flat_map(|(_, rules)| &rules.rules);
    let literal = rules.filter(|rule| {
        rule.action == Action::Allow && !rule.pattern.text.contains(['*', '?', '['])
    });
    literal.filter_map(|rule| absolute(&rule.pattern.text, &places.workspace, places)).collect()
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
