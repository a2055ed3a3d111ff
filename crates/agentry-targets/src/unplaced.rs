//! What no harness has a place for. Each target places what it can and tells what it cannot; this is
//! told for all of them.

use agentry_model::{Agent, Budget, ListField, Requirements, Tools};

use crate::rendering::{LossKind, Rendered};

/// Notes what of an agent no harness gets; `title` is the one that it is rendered for.
pub(crate) fn report(agent: &Agent, title: &str, out: &mut Rendered) {
    // No `..`: a new field of the model is placed by every target, told here, or left out on purpose.
    let Agent {
        // Placed, or told, by each target.
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
    let Tools { native: _, mcp: _, source: _, scripts, functions } = tools;
    let lost = [
        ("on_error", behaviour.on_error.is_some(), "decides by itself"),
        ("budget", *budget != Budget::default(), "has no budget"),
        ("required", *requirements != Requirements::default(), "checks nothing before the start"),
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

fn is_full<T>(list: &ListField<T>) -> bool {
    list.as_ref().is_some_and(|list| !list.is_empty())
}
