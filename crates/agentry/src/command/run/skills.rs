//! The skills of a run: which are offered, which are ready, and the reason why the others are not.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use agentry_compile::policy::{Action, Judge, LayerSource, Section, SectionCall};
use agentry_compile::{LoadableSkill, PlannedSkill, SkillResolution, WorldLinks, native_tool};
use agentry_runtime::skill::SkillShelf;
use agentry_runtime::tool::javascript::is_same;
use agentry_runtime::tool::{BuiltInTool, DeclaredKind};

use super::declared_tools::{DeclaredTools, MissingTool, built_in};
use super::prepared_agent::PreparedAgent;
use super::session::search;
use crate::disk::DiskWorld;

/// The names of the tools for skills.
const TOOLS: [&str; 2] = ["skill", "skill_step"];

/// Skills by their names.
type SkillsByName<'a> = HashMap<&'a str, &'a LoadableSkill>;

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

/// The tools for the skills that are ready. `others` are the names of the tools that the definition declares beside
/// them; a name that ends in `__` stands for all tools of a server.
pub(super) fn gather(
    ground: &PreparedAgent,
    others: impl IntoIterator<Item = String>,
    without: &[String],
) -> DeclaredTools {
    let mut tools = ground.tool_names(search());
    tools.extend(others);
    let (ready, mut missing) = (ground.skills.clone(), ground.unprovided.clone());
    if !ready.is_empty() {
        let taken = tools.iter().filter(|tool| TOOLS.iter().any(|name| is_same(name, tool)));
        let reason = "it is the name of the tool for skills";
        missing.extend(taken.map(|name| not_ready(name, reason.to_owned(), false)));
    }
    let (ready, others) = sorted(ready, &tools, without);
    missing.extend(others);
    let shelf = SkillShelf::new(ready, ground.disk.clone(), ground.judge.clone());
    DeclaredTools { tools: shelf.tools(), missing, ..DeclaredTools::default() }
}

/// The tools for skills in a replay: those are ready that the recorded run had.
pub(super) fn replayed(ground: &PreparedAgent, missing: &[String]) -> Vec<Arc<dyn BuiltInTool>> {
    let skills = ground.skills.iter().filter(|skill| !is_left_out(&skill.name, missing)).cloned();
    let world = ground.disk.clone();
    built_in(&SkillShelf::new(skills.collect(), world, ground.judge.clone()).tools())
}

fn not_ready(name: &str, reason: String, is_optional: bool) -> MissingTool {
    MissingTool { name: name.to_owned(), kind: DeclaredKind::Skill, reason, is_optional }
}

pub(super) fn is_left_out(name: &str, without: &[String]) -> bool {
    without.iter().any(|out| is_same(out, name))
}

/// The skills that are ready, in their order, and the others with the reason.
fn sorted(
    skills: Vec<LoadableSkill>,
    tools: &[String],
    without: &[String],
) -> (Vec<LoadableSkill>, Vec<MissingTool>) {
    let by_name: SkillsByName<'_> = skills.iter().map(|it| (it.name.as_str(), it)).collect();
    let mut usable: Vec<_> =
        skills.iter().filter(|skill| obstacle(skill, tools, without).is_none()).collect();
    // Each round finds at least one more skill whose dependencies are all ready.
    let mut ready: HashSet<&str> = HashSet::new();
    loop {
        let is_next = |skill: &&&LoadableSkill| {
            skill.needs.dependencies.iter().all(|name| ready.contains(name.as_str()))
        };
        let next: Vec<&str> = usable.iter().filter(is_next).map(|it| it.name.as_str()).collect();
        if next.is_empty() {
            break;
        }
        usable.retain(|skill| !next.contains(&skill.name.as_str()));
        ready.extend(next);
    }
    let missing = skills.iter().filter(|skill| !ready.contains(skill.name.as_str()));
    let missing = missing.map(|skill| {
        let reason = obstacle(skill, tools, without)
            .or_else(|| circle(&by_name, skill))
            .or_else(|| unmet(&ready, skill));
        let is_optional = skill.is_optional || is_left_out(&skill.name, without);
        not_ready(&skill.name, reason.unwrap_or_default(), is_optional)
    });
    let missing = missing.collect();
    let names: HashSet<String> = ready.into_iter().map(str::to_owned).collect();
    (skills.into_iter().filter(|skill| names.contains(&skill.name)).collect(), missing)
}

/// Why a skill is not ready, whatever its dependencies are.
fn obstacle(skill: &LoadableSkill, tools: &[String], without: &[String]) -> Option<String> {
    if is_left_out(&skill.name, without) {
        return Some("left out by `--without`".to_owned());
    }
    let tool = skill.needs.tools.iter().find(|tool| !has_tool(tools, tool))?;
    Some(format!("it needs the tool `{tool}`, which the agent does not have"))
}

/// Whether a skill's name for a tool means one of the tools of the agent.
fn has_tool(tools: &[String], wanted: &str) -> bool {
    // `Bash(git log:*)` needs the tool `Bash`.
    let wanted = wanted.split('(').next().unwrap_or(wanted).trim();
    let wanted = wanted.strip_prefix("mcp__").unwrap_or(wanted);
    let server = format!("{}__", wanted.to_lowercase());
    let is_of = |server: &str| server.ends_with("__") && wanted.to_lowercase().starts_with(server);
    let means = |tool: &String| {
        is_same(tool, wanted)
            || is_of(&tool.to_lowercase())
            || native_tool(wanted) == Some(tool.as_str())
            || tool.to_lowercase().starts_with(&server)
    };
    tools.iter().any(means)
}

/// Why the dependencies of a skill are not met.
fn unmet(ready: &HashSet<&str>, skill: &LoadableSkill) -> Option<String> {
    let mut needed = skill.needs.dependencies.iter();
    let missing = needed.find(|name| !ready.contains(name.as_str()))?;
    Some(format!("it depends on the skill `{missing}`, which is not ready"))
}

/// The circle in which the dependencies of a skill lead back to it.
fn circle(skills: &SkillsByName<'_>, skill: &LoadableSkill) -> Option<String> {
    // Each skill is visited once; `from` has the skill that led to it.
    let mut from: HashMap<&str, &str> = HashMap::new();
    let mut open = VecDeque::from([skill.name.as_str()]);
    while let Some(name) = open.pop_front() {
        let found = skills.get(name);
        for next in found.iter().flat_map(|found| &found.needs.dependencies) {
            if *next == skill.name {
                // The first skill has no predecessor, so the way back ends there.
                let mut names = vec![skill.name.as_str(), name];
                while let Some(before) = names.last().and_then(|name| from.get(name)) {
                    names.push(before);
                }
                names.reverse();
                return Some(format!("its dependencies are a circle: {}", names.join(" → ")));
            }
            if !from.contains_key(next.as_str()) {
                from.insert(next, name);
                open.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use agentry_compile::formats::skill::SkillNeeds;

    use super::*;

    fn skill(name: &str, dependencies: &[&str], tools: &[&str]) -> LoadableSkill {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        LoadableSkill {
            pinned: Vec::new(),
            line: 1,
            name: name.to_owned(),
            description: String::new(),
            path: String::new(),
            file: String::new(),
            folder: None,
            steps: Vec::new(),
            allowed_tools: None,
            needs: SkillNeeds {
                dependencies: owned(dependencies),
                tools: owned(tools),
                ..SkillNeeds::default()
            },
            is_optional: false,
        }
    }

    #[test]
    fn each_unready_skill_is_reported_with_its_reason() {
        let skills = vec![
            skill("ready", &["also"], &["Read", "Bash(git log:*)", "mcp__tracker", "double"]),
            skill("also", &[], &[]),
            skill("tool", &[], &["NotebookEdit"]),
            skill("behind", &["tool"], &[]),
            skill("none", &["nowhere"], &[]),
            skill("self", &["self"], &[]),
            skill("a", &["also", "b"], &[]),
            skill("b", &["c"], &[]),
            skill("c", &["a"], &[]),
            skill("before", &["a"], &[]),
            skill("out", &[], &[]),
        ];
        let tools = ["read", "bash", "tracker__find", "double"].map(str::to_owned);
        let (ready, missing) = sorted(skills, &tools, &["OUT".to_owned()]);
        let names: Vec<_> = ready.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(names, ["ready", "also"]);
        let reasons: Vec<_> =
            missing.iter().map(|it| (it.name.as_str(), it.reason.as_str())).collect();
        let expected = [
            ("tool", "it needs the tool `NotebookEdit`, which the agent does not have"),
            ("behind", "it depends on the skill `tool`, which is not ready"),
            ("none", "it depends on the skill `nowhere`, which is not ready"),
            ("self", "its dependencies are a circle: self → self"),
            ("a", "its dependencies are a circle: a → b → c → a"),
            ("b", "its dependencies are a circle: b → c → a → b"),
            ("c", "its dependencies are a circle: c → a → b → c"),
            ("before", "it depends on the skill `a`, which is not ready"),
            ("out", "left out by `--without`"),
        ];
        assert_eq!(reasons, expected);
        let optional: Vec<_> = missing.iter().filter(|it| it.is_optional).collect();
        assert_eq!(optional.len(), 1, "only what the user does without");
    }
}
