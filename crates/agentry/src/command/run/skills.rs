//! The skills of a run: which are offered, which are ready, and the reason why the others are not.

use std::sync::Arc;

use agentry_compile::policy::{Action, Judge, LayerSource, Section, SectionCall};
use agentry_compile::{LoadableSkill, PlannedSkill, SkillResolution, WorldLinks, native_tool};
use agentry_runtime::skill::SkillShelf;
use agentry_runtime::tool::javascript::is_same;
use agentry_runtime::tool::{BuiltInTool, DeclaredKind, DeclaredTool};

use super::declared_tools::{DeclaredTools, MissingTool, built_in};
use super::prepared_agent::PreparedAgent;
use super::session::search;
use crate::disk::DiskWorld;

/// The names of the tools for skills.
const TOOLS: [&str; 2] = ["skill", "skill_step"];

/// The skills that a policy does not deny.
pub(crate) fn offered(
    disk: &DiskWorld,
    mut skills: Vec<LoadableSkill>,
    judge: &Judge,
) -> Vec<LoadableSkill> {
    let is_silent = judge.rules(Section::Skill).all(|(from, _)| from == LayerSource::Default);
    skills.retain(|skill| {
        let directory = &judge.places().workspace;
        let call = SectionCall { section: Section::Skill, subject: &skill.name, directory };
        is_silent || judge.judge(call, &WorldLinks(disk)).action != Action::Deny
    });
    skills
}

/// The skills that the definition names and nothing provides.
pub(crate) fn unprovided(skills: &[PlannedSkill]) -> Vec<MissingTool> {
    let missing = |skill: &PlannedSkill| {
        let SkillResolution::Missing(reason) = &skill.found else { return None };
        let (name, reason) = (skill.name.clone(), reason.clone());
        let kind = DeclaredKind::Skill;
        Some(MissingTool { name, kind, reason, is_optional: skill.optional })
    };
    skills.iter().filter_map(missing).collect()
}

/// The tools for the skills that are ready. `others` are the tools that the definition declares beside
/// them.
pub(super) fn gather(
    ground: &PreparedAgent,
    others: &[Arc<dyn DeclaredTool>],
    without: &[String],
) -> DeclaredTools {
    let mut tools = ground.tool_names(search());
    tools.extend(others.iter().map(|tool| tool.spec().name));
    let (mut ready, mut missing) = (ground.skills.clone(), ground.unprovided.clone());
    if !ready.is_empty() {
        let taken = tools.iter().filter(|tool| TOOLS.iter().any(|name| is_same(name, tool)));
        let reason = "it is the name of the tool for skills";
        missing.extend(taken.map(|name| not_ready(name, reason.to_owned(), false)));
    }
    // Each round removes at least one skill; one that depends on it is removed in the next.
    while let Some((at, reason, is_left_out)) = first_unready(&ready, &tools, without) {
        let skill = ready.remove(at);
        missing.push(not_ready(&skill.name, reason, skill.is_optional || is_left_out));
    }
    let shelf = SkillShelf::new(ready, ground.disk.clone(), ground.judge.clone());
    DeclaredTools { tools: shelf.tools(), missing }
}

/// The tools for skills in a replay: all skills count as ready, because no tool is called.
pub(super) fn replayed(ground: &PreparedAgent, without: &[String]) -> Vec<Arc<dyn BuiltInTool>> {
    let skills = ground.skills.iter().filter(|skill| !is_left_out(&skill.name, without)).cloned();
    let world = ground.disk.clone();
    built_in(&SkillShelf::new(skills.collect(), world, ground.judge.clone()).tools())
}

fn not_ready(name: &str, reason: String, is_optional: bool) -> MissingTool {
    MissingTool { name: name.to_owned(), kind: DeclaredKind::Skill, reason, is_optional }
}

pub(super) fn is_left_out(name: &str, without: &[String]) -> bool {
    without.iter().any(|out| is_same(out, name))
}

/// The first skill that is not ready: its place, the reason, and whether the user does without it.
fn first_unready(
    skills: &[LoadableSkill],
    tools: &[String],
    without: &[String],
) -> Option<(usize, String, bool)> {
    skills.iter().enumerate().find_map(|(at, skill)| {
        if is_left_out(&skill.name, without) {
            return Some((at, "left out by `--without`".to_owned(), true));
        }
        let lacks = || {
            let needed = &skill.needs.tools;
            let tool = needed.iter().find(|tool| !has_tool(tools, tool))?;
            Some(format!("it needs the tool `{tool}`, which the agent does not have"))
        };
        let why = lacks().or_else(|| unmet(skills, skill)).or_else(|| circle(skills, skill))?;
        Some((at, why, false))
    })
}

/// Whether a skill's name for a tool means one of the tools of the agent.
fn has_tool(tools: &[String], wanted: &str) -> bool {
    // `Bash(git log:*)` needs the tool `Bash`.
    let wanted = wanted.split('(').next().unwrap_or(wanted).trim();
    let wanted = wanted.strip_prefix("mcp__").unwrap_or(wanted);
    let server = format!("{}__", wanted.to_lowercase());
    let means = |tool: &String| {
        is_same(tool, wanted)
            || native_tool(wanted) == Some(tool.as_str())
            || tool.to_lowercase().starts_with(&server)
    };
    tools.iter().any(means)
}

/// Why the dependencies of a skill are not met.
fn unmet(skills: &[LoadableSkill], skill: &LoadableSkill) -> Option<String> {
    let is_there = |name: &&String| skills.iter().any(|other| other.name == **name);
    let missing = skill.needs.dependencies.iter().find(|name| !is_there(name))?;
    Some(format!("it depends on the skill `{missing}`, which is not ready"))
}

/// The circle in which the dependencies of a skill lead back to it.
fn circle(skills: &[LoadableSkill], skill: &LoadableSkill) -> Option<String> {
    // Each skill is visited once, with the skill that led to it.
    let mut seen: Vec<(&str, Option<usize>)> = vec![(&skill.name, None)];
    let mut at = 0;
    while let Some(&(name, _)) = seen.get(at) {
        let found = skills.iter().find(|other| other.name == name);
        for next in found.iter().flat_map(|found| &found.needs.dependencies) {
            if *next == skill.name {
                let mut names = vec![skill.name.as_str()];
                let mut from = Some(at);
                while let Some((name, before)) = from.and_then(|from| seen.get(from)) {
                    names.push(name);
                    from = *before;
                }
                names.reverse();
                return Some(format!("its dependencies are a circle: {}", names.join(" → ")));
            }
            if !seen.iter().any(|(name, _)| name == next) {
                seen.push((next, Some(at)));
            }
        }
        at += 1;
    }
    None
}
