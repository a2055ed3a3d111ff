//! Losses that every harness has: rules that are stricter than their source, fields of the model that no harness has,
//! and what the guard cannot see.

use agentry_model::{Agent, AgentRequirements, AgentTools, DeclaredList, RunBudget};
use agentry_policy::path::NoLinks;
use agentry_policy::{Action, RuleList, Section, SectionCall};

use crate::model::{HarnessModel, always};
use crate::proof::{PolicyProof, told, within};
use crate::render_result::{LossKind, RenderedAgent};
use crate::subject::RenderSubject;

/// What makes rules exact in a harness with hooks.
pub const EXACT: &str = "`--guard` makes it exact";

/// Notes whether `target` is stricter than the source says, and what helps.
pub fn compare(
    subject: &RenderSubject,
    section: Section,
    target: &[RuleList],
    way_out: Option<&str>,
    out: &mut RenderedAgent,
) {
    let field = format!("permissions.{section}");
    match told(&subject.memo, section, &subject.bounds(section), target) {
        PolicyProof::Holds => {}
        PolicyProof::Fails { example, source, target } => {
            // The sides are swapped: what the source says is on the left.
            let way_out = way_out.map_or(String::new(), |text| format!("; {text}"));
            let detail =
                format!("`{example}` is {target} in the source and {source} here{way_out}");
            out.lose(field, LossKind::Narrowed, detail);
        }
        PolicyProof::Unknown(why) => out.lose(field, LossKind::Narrowed, why),
    }
}

/// Notes where a harness is stricter than the source says, except in the sections that are reported otherwise. No
/// harness says anything about variables.
pub fn compare_all(
    subject: &RenderSubject,
    model: &HarnessModel,
    otherwise: &[Section],
    out: &mut RenderedAgent,
) {
    let is_compared =
        |section: &&Section| **section != Section::Env && !otherwise.contains(section);
    for section in Section::ALL.iter().filter(is_compared) {
        let way = model.ways.iter().find(|way| way.section == *section);
        let nothing = [always(*section, Action::Deny, "no such tool")];
        let layers = way.map_or(nothing.as_slice(), |way| way.layers.as_slice());
        compare(subject, *section, layers, None, out);
    }
}

/// What an agent does with tools that every harness has.
const WORK: [Section; 5] =
    [Section::Read, Section::Edit, Section::Bash, Section::Webfetch, Section::Websearch];

/// Notes that the harness leaves an agent no tool at all, though the source gives it some.
pub fn toolless(
    subject: &RenderSubject,
    model: &HarnessModel,
    way_out: Option<&str>,
    out: &mut RenderedAgent,
) {
    let permits = |rules: &RuleList| rules.all().any(|rule| rule.action < Action::Deny);
    let mut ways = model.ways.iter().filter(|way| way.section != Section::Question);
    let has_some = ways.any(|way| way.layers.iter().all(permits));
    let works = |section: &Section| {
        let nothing = always(*section, Action::Deny, "nothing");
        within(&subject.memo, &subject.bounds(*section), &[nothing]) != PolicyProof::Holds
    };
    if !has_some && WORK.iter().any(works) {
        let way_out = way_out.map_or(String::new(), |text| format!("; {text}"));
        out.lose("permissions", LossKind::Narrowed, format!("no tool is left{way_out}"));
    }
}

/// What keeps the tools of an agent in a harness with hooks.
pub const BY_GUARD: &str = "`--guard` would keep them";

/// Notes that nobody answers in a run without a person, for harnesses that refuse then.
pub fn unattended(model: &HarnessModel, out: &mut RenderedAgent) {
    let mut rules = model.ways.iter().flat_map(|way| &way.layers).flat_map(RuleList::all);
    if rules.any(|rule| rule.action == Action::Ask) {
        let detail = "a run without a person refuses what would be asked about";
        out.lose("permissions", LossKind::Narrowed, detail);
    }
}

/// Notes what of an agent no harness gets; `title` is the one that it is rendered for.
pub(crate) fn without_place(agent: &Agent, title: &str, out: &mut RenderedAgent) {
    // No `..`: a new field of the model gets a row in every target, is reported here, or is left out on purpose.
    let Agent {
        // Each target has rows for these.
        identity: _,
        instructions: _,
        model: _,
        policy: _,
        skills: _,
        skill_packs: _,
        // Nothing that a harness acts upon.
        inheritance: _,
        auth: _,
        access_control: _,
        memory: _,
        agents: _,
        settings: _,
        extensions: _,
        unknown: _,
        // What is left of these, and all of the others.
        behaviour,
        tools,
        budget,
        requirements,
        memories,
        expose,
        pipeline,
        schedules,
    } = agent;
    let AgentTools { native: _, mcp: _, source: _, scripts, functions } = tools;
    let lost = [
        ("on_error", behaviour.on_error.is_some(), "decides by itself"),
        ("budget", *budget != RunBudget::default(), "has no budget"),
        (
            "required",
            *requirements != AgentRequirements::default(),
            "checks nothing before the start",
        ),
        ("tools.scripts", !scripts.is_empty(), "has no sandbox for them"),
        ("tools.functions", !functions.is_empty(), "has no sandbox for them"),
        ("memories", !memories.is_empty(), "has no memory for them"),
        ("expose", is_full(expose), "calls agents with free text"),
        ("pipeline", is_full(pipeline), "has no pipelines"),
        ("schedules", !schedules.is_empty(), "has no schedules"),
    ];
    for (field, _, why) in lost.iter().filter(|(_, is_there, _)| *is_there) {
        out.lose(*field, LossKind::Dropped, format!("{title} {why}"));
    }
}

fn is_full<T>(list: &DeclaredList<T>) -> bool {
    list.as_ref().is_some_and(|list| !list.is_empty())
}

/// Commands that run whatever a file or a text says.
const RUNNING: &[&str] = &[
    "python3 -c x",
    "python3 x.py",
    "python x.py",
    "node -e x",
    "node x.js",
    "perl -e x",
    "ruby -e x",
    "php -r x",
    "deno run x.ts",
    "bun x.ts",
    "./x",
    "npm run x",
    "npx x",
    "uv run x",
    "make x",
    "just x",
    "cargo run",
    "cargo test",
    "go run x",
    "go test",
];

/// Notes that an agent may run programs that can write to what decides about it. The guard reads command lines,
/// and not what a program that they start does.
pub(crate) fn programs_behind_the_guard(subject: &RenderSubject, out: &mut RenderedAgent) {
    let directory = &subject.judge.places().workspace;
    let is_allowed = |line: &&&str| {
        let call = SectionCall { section: Section::Bash, subject: line, directory };
        subject.judge.judge(call, &NoLinks).action == Action::Allow
    };
    if let Some(line) = RUNNING.iter().find(is_allowed) {
        let detail = format!(
            "`{line}` is allow: the guard does not see what a program writes, so it could change the \
             definition or the settings of the harness"
        );
        out.lose("permissions.bash", LossKind::Gap, detail);
    }
}
