//! Losses that every harness has: rules that became stricter than their source, fields that no harness
//! supports, and what the guard cannot see.

use std::collections::BTreeSet;

use agentry_model::{Agent, AgentRequirements, AgentTools, DeclaredList, RunBudget};
use agentry_policy::path::NoLinks;
use agentry_policy::{Action, RuleList, Section, SectionCall};

use crate::model::{HarnessModel, always};
use crate::proof::{PolicyProof, prove_with_example, within};
use crate::render::{REQUIRED, is_guarded};
use crate::render_result::{LossKind, RenderSettings, RenderedAgent};
use crate::subject::{PromptTextKind, RenderSubject};
use crate::{HarnessTool, Target};

/// The remedy for inexact rules in a harness with hooks.
pub const EXACT: &str = "`--guard` makes it exact";

/// Reports whether `target` is stricter than the source, with `way_out` as the remedy.
pub fn compare(
    subject: &RenderSubject,
    section: Section,
    target: &[RuleList],
    way_out: Option<&str>,
    out: &mut RenderedAgent,
) {
    let field = format!("permissions.{section}");
    match prove_with_example(&subject.memo, section, &subject.written_bounds(section), target) {
        PolicyProof::Holds => {}
        PolicyProof::Fails { example, source, target } => {
            // The sides are swapped: the source is on the left, so `target` is its verdict.
            let way_out = way_out.map_or(String::new(), |text| format!("; {text}"));
            let detail =
                format!("`{example}` is {target} in the source and {source} here{way_out}");
            out.lose(field, LossKind::Narrowed, detail);
        }
        PolicyProof::Unknown(why) => out.lose(field, LossKind::Narrowed, why),
    }
}

/// Reports where a harness is stricter than the source, except in the sections that are reported
/// elsewhere. No harness has rules about environment variables.
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

/// The sections of tools that every harness has.
const WORK: [Section; 5] =
    [Section::Read, Section::Edit, Section::Bash, Section::Webfetch, Section::Websearch];

/// Reports that the harness leaves an agent no tool, though the source gives it some.
pub fn toolless(
    subject: &RenderSubject,
    model: &HarnessModel,
    way_out: Option<&str>,
    out: &mut RenderedAgent,
) {
    let permits = |rules: &RuleList| rules.all().any(|rule| rule.action < Action::Deny);
    // Asking the user is no tool to work with.
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

/// Returns the sections for which the source gives a tool and the harness leaves none.
pub(crate) fn lost_tools(subject: &RenderSubject, model: &HarnessModel) -> BTreeSet<Section> {
    let permits = |section: Section, layers: &[RuleList]| {
        let nothing = always(section, Action::Deny, "nothing");
        within(&subject.memo, layers, &[nothing]) != PolicyProof::Holds
    };
    let ways = |section: Section| model.ways.iter().filter(move |way| way.section == section);
    // A shell without limits reaches every address, with or without another tool.
    let is_open = |way: &HarnessTool| {
        let everything = always(Section::Bash, Action::Allow, "everything");
        within(&subject.memo, &[everything], &way.layers) == PolicyProof::Holds
    };
    let is_left = |section: Section| {
        ways(section).any(|way| permits(section, &way.layers))
            || (section == Section::Webfetch && ways(Section::Bash).any(is_open))
    };
    let is_lost =
        |section: &Section| permits(*section, &subject.bounds(*section)) && !is_left(*section);
    WORK.into_iter().filter(is_lost).collect()
}

/// The remedy for lost tools in a harness with hooks.
pub const BY_GUARD: &str = "`--guard` would keep them";

/// Reports the fields of an agent that no harness supports. The guard checks the start-up gates.
pub(crate) fn without_place(
    agent: &Agent,
    (target, settings): (&Target, &RenderSettings<'_>),
    out: &mut RenderedAgent,
) {
    // No `..`: a new field of the model must get a row in every target, or be listed here.
    let Agent {
        // Each target has rows for these.
        identity: _,
        instructions: _,
        model: _,
        policy: _,
        skills: _,
        skill_packs: _,
        // No harness acts upon these.
        inheritance: _,
        auth: _,
        access_control: _,
        memory: _,
        agents: _,
        settings: _,
        extensions: _,
        unknown: _,
        // Some parts of these, and all of the others, are lost.
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
            REQUIRED,
            *requirements != AgentRequirements::default() && !is_guarded(target, settings),
            "checks nothing before the start",
        ),
        ("tools.scripts", !scripts.is_empty(), "has no sandbox for them"),
        ("tools.functions", !functions.is_empty(), "has no sandbox for them"),
        ("memories", !memories.is_empty(), "has no memory for them"),
        ("expose", is_full(expose), "calls agents with free text"),
        ("pipeline", is_full(pipeline), "has no pipelines"),
        ("schedules", !schedules.is_empty(), "has no schedules"),
    ];
    let title = target.title;
    for (field, _, why) in lost.iter().filter(|(_, is_there, _)| *is_there) {
        out.lose(*field, LossKind::Dropped, format!("{title} {why}"));
    }
}

fn is_full<T>(list: &DeclaredList<T>) -> bool {
    list.as_ref().is_some_and(|list| !list.is_empty())
}

/// Reports the texts of the prompt in which a secret is masked.
pub(crate) fn masked(subject: &RenderSubject, out: &mut RenderedAgent) {
    for part in &subject.parts {
        let field = match part.kind {
            PromptTextKind::Prompt => "system",
            PromptTextKind::Context => "context",
            PromptTextKind::Rules => "rules",
        };
        for place in &part.masked {
            let detail = format!("a secret in `{place}` is written as `***`");
            out.lose(field, LossKind::Changed, detail);
        }
    }
}

/// Reports text of the definition that belongs to no section.
pub(crate) fn unsent(subject: &RenderSubject, out: &mut RenderedAgent) {
    for place in &subject.unsent {
        let detail = format!("the text at `{place}` is in no section that is sent to a model");
        out.lose("notes", LossKind::Dropped, detail);
    }
}

/// Commands that run any code from a file or an argument.
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

/// Reports that an agent may run programs that can change its own definition or settings. The guard reads
/// command lines; it does not see what a started program does.
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
