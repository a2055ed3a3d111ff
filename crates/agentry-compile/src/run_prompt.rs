//! The system prompt of a run: the parts of the definition, and what the run itself adds.
//!
//! ```text
//! definition without its rules ─▶ skills ─▶ AGENTS.md ─▶ environment ─▶ memories ─▶ what is missing ─▶ rules
//! ```
//!
//! Each part has a limit. Text that is not the agent's own stands between marks that it cannot forge.

use agentry_formats::info;
use agentry_text::path::{absolute, join, split};
use agentry_text::report::counted;
use agentry_text::{hygiene, limits};

use crate::pipeline::CompiledAgent;
use crate::prompt::{PromptPart, prompt};
use crate::prompt_switches::PromptSwitches;
use crate::resolve::LoadableSkill;
use crate::world::{EntryKind, ReadError, World};

/// The most bytes of a part of the definition.
const MOST_OF_PART: usize = limits::INSTRUCTION_BYTES;
/// The most bytes of the instructions of the workspace.
const MOST_OF_INSTRUCTIONS: usize = 32 * 1024;
/// The most characters of one value of the environment.
const MOST_OF_VALUE: usize = 500;
/// The most bytes of the list of skills.
const MOST_OF_SKILLS: usize = 8_000;
/// The most characters of the description of a skill.
const MOST_OF_DESCRIPTION: usize = 400;
/// The directories above a workspace in which its Git repository is looked for.
const MOST_ABOVE: usize = 64;

/// The instructions of a workspace.
const INSTRUCTIONS: &str = "AGENTS.md";
/// The marks around text that is not the agent's own.
const MARKS: [&str; 4] = ["workspace-instructions", "environment", "memory", "memories"];

/// The prompt of a run, before the run adds its own parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPrompt {
    /// The parts of the definition, in order.
    parts: Vec<PromptPart>,
    /// Whether the system text of the format is a persona.
    is_persona: bool,
    /// The parts of the machine: the workspace's instructions and the environment.
    pub machine: Vec<PromptPart>,
    /// What was changed or left out, for the user.
    pub remarks: Vec<String>,
}

/// Where and when a run happens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentFacts {
    /// The date: `2026-11-16`.
    pub date: String,
    /// The system and the processor: `linux x86_64`.
    pub platform: String,
}

impl RunPrompt {
    /// Reads the parts of the definition.
    pub fn read(world: &dyn World, compiled: &CompiledAgent) -> Self {
        let is_persona = info(compiled.found.format).prompt.system_is_persona;
        let limited =
            |part: PromptPart| PromptPart { text: limited(&part.text, MOST_OF_PART), ..part };
        let parts = prompt(world, compiled).into_iter().map(limited).collect();
        Self { parts, is_persona, machine: Vec::new(), remarks: Vec::new() }
    }

    /// Drops the parts that the switches turn off, and adds those of the workspace and the machine.
    #[must_use]
    pub fn in_workspace(
        mut self,
        world: &dyn World,
        workspace: &str,
        switches: PromptSwitches,
        facts: &EnvironmentFacts,
    ) -> Self {
        let is_persona = self.is_persona;
        self.parts.retain(|part| match part.name {
            "role" => switches.persona,
            "system" if is_persona => switches.persona,
            "traits" => switches.traits,
            "rules" | "rule file" => switches.rules,
            _ => true,
        });
        if switches.agents_md {
            self.instructions(world, workspace);
        }
        if switches.environment {
            self.machine.push(environment(world, workspace, facts));
        }
        self
    }

    /// The parts in order, with those that a run adds. Rules always come last.
    pub fn with(&self, skills: Option<PromptPart>, machine: &[PromptPart]) -> Vec<PromptPart> {
        let parts = self.parts.iter().cloned();
        let (rules, parts) = parts.partition::<Vec<_>, _>(|part| part.name == "rules");
        parts.into_iter().chain(skills).chain(machine.iter().cloned()).chain(rules).collect()
    }

    /// The places of the parts in which a secret is masked: `path:line`.
    pub fn masked(&self) -> Vec<String> {
        self.parts.iter().flat_map(PromptPart::masked_places).collect()
    }

    /// Adds the instructions of the workspace, unless the definition has them as a context file.
    fn instructions(&mut self, world: &dyn World, workspace: &str) {
        let path = join(workspace, INSTRUCTIONS);
        let origin = format!("{path}:1");
        if self.parts.iter().any(|part| part.origin == origin) {
            return;
        }
        let text = match world.read(workspace, &path, limits::FILE_BYTES) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()),
            Err(ReadError::Missing) => return,
            Err(error) => Err(error.to_string()),
        };
        let text = match text {
            Ok(text) => text,
            Err(why) => return self.remarks.push(format!("`{path}` is not in the prompt: {why}")),
        };
        let text = text.trim_start_matches('\u{feff}');
        let clean = hygiene::cleaned(text);
        let hidden = text.chars().count().saturating_sub(clean.chars().count());
        if hidden > 0 {
            let hidden = counted(hidden, "hidden character");
            self.remarks.push(format!("`{path}`: {hidden} left out of the prompt"));
        }
        if clean.trim().is_empty() {
            return;
        }
        let text = defused(&limited(clean.trim(), MOST_OF_INSTRUCTIONS));
        let [mark, ..] = MARKS;
        let text = format!("<{mark} file=\"{INSTRUCTIONS}\">\n{text}\n</{mark}>");
        self.machine.push(PromptPart {
            name: INSTRUCTIONS,
            origin,
            text,
            masked_lines: Vec::new(),
        });
    }
}

fn environment(world: &dyn World, workspace: &str, facts: &EnvironmentFacts) -> PromptPart {
    let EnvironmentFacts { date, platform } = facts;
    let directory = world.absolute(workspace);
    let directory = world.real(&directory).unwrap_or(directory);
    let mut lines = vec![
        ("working directory", directory),
        ("date", date.clone()),
        ("platform", platform.clone()),
    ];
    lines.extend(git_branch(world, workspace).map(|branch| ("git branch", branch)));
    let [_, mark, ..] = MARKS;
    let line = |(name, value): (&str, String)| format!("{name}: {}\n", one_line(&value));
    let text: String = lines.into_iter().map(line).collect();
    PromptPart {
        masked_lines: Vec::new(),
        name: mark,
        origin: "agentry".to_owned(),
        text: format!("<{mark}>\n{text}</{mark}>"),
    }
}

/// The Git branch of a workspace, or the commit if it is on no branch.
pub fn git_branch(world: &dyn World, workspace: &str) -> Option<String> {
    let mut above = absolute(&world.absolute(workspace));
    for _ in 0..MOST_ABOVE {
        let git = join(&above, ".git");
        match world.kind(&git) {
            EntryKind::Directory => return head(world, &git),
            EntryKind::File => {
                // A worktree or submodule: the file names the directory.
                let text = small(world, &above, &git)?;
                let named = text.strip_prefix("gitdir:")?.trim().to_owned();
                let named = if named.starts_with('/') { named } else { join(&above, &named) };
                return head(world, &absolute(&named));
            }
            _ => {}
        }
        let (parent, name) = split(&above);
        if name.is_empty() {
            return None;
        }
        above = parent.to_owned();
    }
    None
}

fn head(world: &dyn World, git: &str) -> Option<String> {
    let text = small(world, git, &join(git, "HEAD"))?;
    let line = text.lines().next()?.trim();
    if let Some(branch) = line.strip_prefix("ref: refs/heads/") {
        return (!branch.is_empty()).then(|| branch.to_owned());
    }
    let is_commit = matches!(line.len(), 40 | 64) && line.chars().all(|c| c.is_ascii_hexdigit());
    is_commit.then(|| format!("none, at {}", line.get(..12).unwrap_or(line)))
}

/// A short text file.
fn small(world: &dyn World, root: &str, path: &str) -> Option<String> {
    const MOST: u64 = 4_096;
    String::from_utf8(world.read(root, path, MOST).ok()?).ok()
}

/// The list of skills that a model can load.
pub fn skill_list<'a>(skills: impl IntoIterator<Item = &'a LoadableSkill>) -> Option<PromptPart> {
    let mut text = String::new();
    let mut names = Vec::new();
    for skill in skills {
        let description: String =
            one_line(&skill.description).chars().take(MOST_OF_DESCRIPTION).collect();
        let name = one_line(&skill.name);
        let line = format!("- {name}: {description}\n");
        if text.len() + line.len() <= MOST_OF_SKILLS {
            text.push_str(&line);
        } else {
            names.push(name);
        }
    }
    if text.is_empty() && names.is_empty() {
        return None;
    }
    let more = limited(&names.join(", "), MOST_OF_SKILLS);
    let more = if more.is_empty() { more } else { format!("- also: {more}\n") };
    let text = format!(
        "## Skills\nA skill has the instructions for one kind of task. Load the skill that fits with \
         the tool `skill` before you start, follow it, and report each of its steps with `skill_step`.\n\
         {text}{more}"
    );
    Some(PromptPart {
        name: "skills",
        origin: "agentry".to_owned(),
        text,
        masked_lines: Vec::new(),
    })
}

/// A value on one line, without hidden characters and marks.
fn one_line(value: &str) -> String {
    let value: String = value.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let value: String = hygiene::cleaned(&value).chars().take(MOST_OF_VALUE).collect();
    defused(value.trim())
}

/// A text of at most `most` bytes; a longer one is cut, with a note.
fn limited(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let start = text.get(..end).unwrap_or_default();
    format!("{start}\n[{} bytes are left out here]", text.len() - start.len())
}

/// A text in which nothing looks like the marks around it.
pub fn defused(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, after) = rest.split_at(at);
        let after = after.get(1..).unwrap_or_default();
        let word = after.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
        let starts = |mark: &str| {
            word.get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark))
        };
        out.push_str(before);
        out.push_str(if MARKS.iter().any(|mark| starts(mark)) { "&lt;" } else { "<" });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
#[path = "run_prompt_tests.rs"]
mod tests;
