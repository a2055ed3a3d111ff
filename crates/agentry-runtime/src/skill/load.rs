//! `skill`: loads a skill, or reads a file of its folder.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use agentry_compile::LoadableSkill;
use agentry_compile::model::StepKind;
use agentry_compile::policy::Section;
use agentry_compile::policy::commands::secrets::is_secret;
use agentry_compile::text::hygiene;
use serde::Deserialize;
use serde_json::{Value, json};

use super::progress::{SkillNote, already};
use super::{MOST_OF_NAME, SkillShelf};
use crate::context_window::KEPT_IN;
use crate::event::CallClass;
use crate::tool::{
    BoxedFuture, BuiltInTool, CallLocation, DeclaredKind, DeclaredTool, ToolHost, ToolOrigin,
    ToolOutput, ToolSpec, ToolTouch, answered, arguments, real,
};

/// The name of the tool.
pub(super) const NAME: &str = "skill";

/// Loads skills.
pub(super) struct SkillTool(pub(super) Arc<SkillShelf>);

#[derive(Deserialize)]
struct SkillInput {
    name: String,
    file: Option<String>,
}

/// What a successful call means: reading a file means nothing.
pub(super) fn note(shelf: &SkillShelf, given: &Value) -> Option<SkillNote> {
    let SkillInput { name, file } = arguments(given).ok()?;
    let skill = shelf.find(&name).ok()?;
    file.is_none().then(|| SkillNote::Loaded { skill: skill.name.clone() })
}

impl SkillTool {
    /// The skill that may be loaded, or read from.
    fn asked(&self, given: &Value) -> Result<(&LoadableSkill, Option<String>), String> {
        let SkillInput { name, file } = arguments(given)?;
        let skill = self.0.find(&name)?;
        if skill.needs.is_for_people {
            return Err(format!("only people can load the skill `{}`", skill.name));
        }
        if file.is_some() && !self.0.progress().is_loaded(&skill.name) {
            return Err(format!("load the skill `{}` before you read its files", skill.name));
        }
        Ok((skill, file))
    }

    fn answer(&self, given: &Value) -> Result<String, String> {
        let (skill, file) = self.asked(given)?;
        match file {
            Some(file) => self.file(skill, &file),
            None if self.0.progress().is_loaded(&skill.name) => Ok(already(&skill.name)),
            None => Ok(self.text(skill)),
        }
    }

    /// What the policy is asked about a file: inside the workspace, its rules for reading hold. A skill
    /// that the user installed elsewhere is readable as a whole.
    fn read_touch(
        &self,
        skill: &LoadableSkill,
        file: &str,
        place: &CallLocation,
    ) -> Option<ToolTouch> {
        let folder = PathBuf::from(self.0.world.absolute(&skill.folder.as_ref()?.path));
        let subject = folder.join(file);
        let subject = real(&subject).unwrap_or(subject);
        let is_inside = subject.starts_with(&place.workspace);
        let subject = subject.to_string_lossy().into_owned();
        is_inside.then_some(ToolTouch { section: Section::Read, subject })
    }

    /// A file of the folder of a skill.
    fn file(&self, skill: &LoadableSkill, file: &str) -> Result<String, String> {
        let shown: String = file.chars().take(MOST_OF_NAME).collect();
        let Some(folder) = &skill.folder else {
            return Err(format!("the skill `{}` is a single file", skill.name));
        };
        if let Some(why) = is_secret(file, None) {
            return Err(format!("refused: `{shown}` may hold a secret ({why})"));
        }
        let bytes = folder.read(&*self.0.world, file);
        let bytes = bytes.map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| format!("`{shown}` is not a text file"))?;
        Ok(hygiene::cleaned(&text).into_owned())
    }

    /// The text of a skill, below what the run knows about it.
    fn text(&self, skill: &LoadableSkill) -> String {
        let world = &self.0.world;
        let LoadableSkill { name, file, folder, steps, allowed_tools, needs, .. } = skill;
        let mut out = format!("# Skill `{name}`\n\n({KEPT_IN}{}`)\n", world.absolute(file));
        if let Some(folder) = folder {
            let _ = writeln!(out, "\nIts folder is `{}`.", world.absolute(&folder.path));
            if !folder.files.is_empty() {
                let files = folder.files.join("`, `");
                let _ = writeln!(out, "Files in it, for `skill` with `file`: `{files}`.");
            }
        }
        if let Some(allowed) = allowed_tools {
            let names: Vec<_> = allowed.iter().map(|name| format!("`{}`", name.value)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let _ = writeln!(out, "\nWhile it is in use, only these tools may be used: {names}.");
            let _ = writeln!(out, "Report `end` with `skill_step` when it is not in use any more.");
        }
        if !needs.dependencies.is_empty() {
            let others = needs.dependencies.join("`, `");
            let _ = writeln!(out, "\nIt depends on other skills: load `{others}` as well.");
        }
        if !steps.is_empty() {
            let _ = writeln!(out, "\nIts steps, for `skill_step`:");
        }
        for (number, step) in (1..).zip(steps) {
            let kind = match step.kind {
                StepKind::Deterministic => "always in the same way",
                StepKind::Adaptive => "you decide how",
                StepKind::HumanGate => "human gate: report it as `done`, which asks the person",
            };
            let _ = writeln!(out, "{number}. {} ({kind})", step.title);
        }
        format!("{out}\n---\n\n{}\n", needs.body)
    }
}

impl BuiltInTool for SkillTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME.to_owned(),
            description: "Loads the instructions of a skill, by its name. Load a skill before you \
                          start a task that it is for; once is enough. With `file`, returns a file \
                          of the folder of a loaded skill instead."
                .to_owned(),
            schema: json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 1, "maxLength": 500},
                    "file": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 1_000,
                        "description": "A path relative to the folder of the skill"
                    }
                },
                "required": ["name"],
                "additionalProperties": false
            }),
        }
    }

    /// Loading changes nothing outside of the conversation.
    fn class(&self, _: &Value) -> CallClass {
        CallClass::Read
    }

    fn touches(&self, given: &Value, place: &CallLocation) -> Result<Vec<ToolTouch>, String> {
        let (skill, file) = self.asked(given)?;
        let mut touches = self.0.touches(&skill.name);
        touches.extend(file.and_then(|file| self.read_touch(skill, &file, place)));
        Ok(touches)
    }

    fn skills(&self) -> Option<&Arc<SkillShelf>> {
        Some(&self.0)
    }

    fn run<'a>(&'a self, given: Value, host: &'a dyn ToolHost) -> BoxedFuture<'a, ToolOutput> {
        Box::pin(std::future::ready(answered(self.answer(&given), host)))
    }
}

impl DeclaredTool for SkillTool {
    fn kind(&self) -> DeclaredKind {
        DeclaredKind::Skill
    }

    /// Where the first skill is written.
    fn origin(&self) -> Option<ToolOrigin> {
        let LoadableSkill { path, line, .. } = self.0.skills.first()?;
        Some(ToolOrigin { path: path.clone(), line: *line })
    }

    fn policy_subjects(&self) -> Vec<ToolTouch> {
        self.0.skills.iter().flat_map(|skill| self.0.touches(&skill.name)).collect()
    }
}
