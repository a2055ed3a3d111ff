//! `allowed-tools` of the skills in use: they limit the calls of the agent, and never permit one.
//!
//! Several skills in use limit together. Loading skills, reporting steps and asking the person stay
//! possible, and so does reading the files of the skills in use.

use std::path::Path;

use agentry_compile::policy::{Judge, Section, allowed_tools};
use agentry_compile::{LoadableSkill, native_tool};

use super::{load, step_report};
use crate::event::CallJudgement;
use crate::rulebook::{Rulebook, RuledTouch, SharedWorld};
use crate::tool::ToolTouch;

/// The limits of the skills in use.
pub(crate) struct SkillNarrowing {
    judge: Judge,
    /// The tools of each skill, as a model knows them.
    tools: Vec<Vec<String>>,
    names: Vec<String>,
    /// The folders of these skills, as real paths.
    folders: Vec<String>,
}

impl SkillNarrowing {
    /// Creates the limits of these skills under a policy.
    pub(super) fn new(policy: &Judge, skills: &[&LoadableSkill], world: &SharedWorld) -> Self {
        let listed = skills.iter().filter_map(|skill| skill.allowed_tools.as_ref());
        let tools = listed.map(|names| names.iter().filter_map(|name| offered(name)).collect());
        let tools = tools.collect();
        let layers = skills.iter().filter_map(|skill| skill.allowed_tools.as_ref());
        let layers = layers.map(|names| allowed_tools(names, policy.places()));
        let judge = layers.fold(policy.clone(), |judge, layer| judge.narrowed(layer));
        let folders = skills.iter().filter_map(|skill| skill.folder.as_ref());
        let folders = folders.filter_map(|folder| world.real(&world.absolute(&folder.path)));
        let names = skills.iter().map(|skill| skill.name.clone()).collect();
        Self { judge, tools, names, folders: folders.collect() }
    }

    /// Returns the decision about a call of `tool`, with these limits.
    pub(crate) fn limited(
        &self,
        ruled: RuledTouch,
        rulebook: &Rulebook,
        tool: &str,
        touches: &[ToolTouch],
        directory: &Path,
    ) -> RuledTouch {
        if ruled.verdict == CallJudgement::Deny || matches!(tool, load::NAME | step_report::NAME) {
            return ruled;
        }
        let is_bound = |touch: &&ToolTouch| !self.is_free(touch, directory);
        let mut bound: Vec<ToolTouch> = touches.iter().filter(is_bound).cloned().collect();
        // A tool of the definition about which the policy is not asked is still one of the tools.
        if touches.is_empty() && native_tool(tool).is_none_or(|native| native != tool) {
            bound.push(ToolTouch { section: Section::Tool, subject: tool.to_owned() });
        }
        let mut limited = rulebook.ask_by(&self.judge, &bound, directory);
        if !bound.is_empty() && !self.tools.iter().all(|tools| can_read_with(tools, tool)) {
            limited.verdict = CallJudgement::Deny;
            limited.reason = format!("`{tool}` is not among the allowed tools");
        }
        if limited.verdict != CallJudgement::Deny {
            return ruled;
        }
        let names = self.names.join("`, `");
        let reason = format!("{} while the skill `{names}` is in use", limited.reason);
        RuledTouch { reason, ..limited }
    }

    /// Whether these limits do not hold for a touch.
    fn is_free(&self, touch: &ToolTouch, directory: &Path) -> bool {
        match touch.section {
            Section::Skill | Section::Question => true,
            Section::Read => {
                let path = directory.join(&touch.subject);
                self.folders.iter().any(|folder| path.starts_with(folder))
                    && !path.components().any(|part| part == std::path::Component::ParentDir)
            }
            _ => false,
        }
    }
}

/// The tools that read files. `Read` in a list stands for all of them, each other name for itself.
const READERS: [&str; 4] = ["read", "grep", "glob", "list"];

/// Whether a list of tools lets a tool that reads be called; other tools are judged by their sections.
fn can_read_with(tools: &[String], tool: &str) -> bool {
    !READERS.contains(&tool) || tools.iter().any(|name| name == "read" || name == tool)
}

/// The name under which a model knows a tool of a list: `Bash(git log:*)` names `bash`.
fn offered(name: &str) -> Option<String> {
    let name = name.split('(').next().unwrap_or(name).trim();
    native_tool(name).map(str::to_owned)
}
