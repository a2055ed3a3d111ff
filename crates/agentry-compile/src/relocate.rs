//! Moves an agent to another directory, or into a format that cannot refer to files. Each relative path is
//! adapted, or its file is copied into the agent, or its loss is reported. None is left dangling.

use agentry_formats::{FormatInfo, info};
use agentry_model::{Agent, ConversionLoss, ConversionLossKind, Format, ScriptTool};
use agentry_text::path::{absolute, join};
use agentry_text::{FileId, Findings, SourceFile, Span, Spanned, hygiene, limits};

use crate::pipeline::CompiledAgent;
use crate::world::{EntryKind, World};

/// The result of moving an agent.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RelocatedPaths {
    /// What was copied or dropped.
    pub losses: Vec<ConversionLoss>,
    /// Why the agent cannot be moved at all.
    pub refused: Option<String>,
}

/// Adapts the paths of `agent`, which was read as `compiled`, to the directory `dir` and to what `format`
/// can express.
pub fn relocate(
    world: &dyn World,
    compiled: &CompiledAgent,
    agent: &mut Agent,
    (format, dir): (Format, &str),
) -> RelocatedPaths {
    let full = |path: &str| absolute(&world.absolute(path));
    let to = full(dir);
    let mut moving = AgentMove {
        world,
        format: info(format),
        from: full(&compiled.found.dir),
        from_root: full(&compiled.workspace),
        to_root: full(&world.workspace(&to)),
        to,
        out: RelocatedPaths::default(),
    };
    moving.context(agent);
    moving.rule_files(agent);
    if moving.from != moving.to {
        moving.scripts(agent);
        moving.references(agent);
        moving.avatar(agent);
        moving.beside_skills(agent);
    }
    moving.out
}

struct AgentMove<'w> {
    world: &'w dyn World,
    format: &'static FormatInfo,
    /// The agent's directory, and the root of its workspace.
    from: String,
    from_root: String,
    /// The directory and the workspace root of the result.
    to: String,
    to_root: String,
    out: RelocatedPaths,
}

impl AgentMove<'_> {
    fn lose(&mut self, field: &str, kind: ConversionLossKind, detail: String) {
        self.out.losses.push(ConversionLoss { field: field.to_owned(), kind, detail });
    }

    fn unreachable(&mut self, field: &str, path: &str) {
        let detail = format!("`{path}` cannot be reached from the new place");
        self.lose(field, ConversionLossKind::Dropped, detail);
    }

    /// Context files: named from the new directory, or copied into the system text.
    fn context(&mut self, agent: &mut Agent) {
        let can_name = self.format.can_express("context");
        let Some(paths) = agent.instructions.context.take() else { return };
        let (mut named, mut copied) = (Vec::new(), String::new());
        let is_empty = paths.is_empty();
        for path in paths {
            let full = absolute(&join(&self.from, &path));
            if can_name && self.from == self.to {
                named.push(path);
            } else if let Some(new) = self.named(&full).filter(|_| can_name) {
                named.push(path.map(|_| new));
            } else if let Some(text) = self.text(&full) {
                let shown = below(&self.from_root, &full).unwrap_or(&path.value);
                copied.extend(["\n\n<context path=\"", shown, "\">\n", &text, "\n</context>"]);
                let detail = format!("`{shown}` was copied to the end of the system text");
                self.lose("context", ConversionLossKind::Changed, detail);
            } else {
                self.unreachable("context", &path);
            }
        }
        agent.instructions.context = (is_empty || !named.is_empty()).then_some(named);
        let instructions = &mut agent.instructions;
        // A raw override replaces the system text, so the copy must go there.
        let raw = instructions.system.is_none() && instructions.system_override.is_some();
        append(
            if raw { &mut instructions.system_override } else { &mut instructions.system },
            &copied,
        );
    }

    /// Rule files: still named in the same workspace, otherwise copied into the rules.
    fn rule_files(&mut self, agent: &mut Agent) {
        if self.format.can_express("rule_files") && self.from_root == self.to_root {
            return;
        }
        let Some(names) = agent.instructions.rule_files.take() else { return };
        let mut copied = String::new();
        for name in &names {
            let full = absolute(&format!("{}/rules/{}.md", self.from_root, name.value));
            match self.text(&full) {
                Some(text) => {
                    copied += "\n\n";
                    copied += &text;
                    let detail = format!("`rules/{}.md` was copied into the rules", name.value);
                    self.lose("rule_files", ConversionLossKind::Changed, detail);
                }
                None => self.unreachable("rule_files", &name.value),
            }
        }
        agent.instructions.rule_files = names.is_empty().then_some(names);
        append(&mut agent.instructions.rules, &copied);
    }

    /// Scripts of the workspace: kept if they are found from the new directory, otherwise copied.
    fn scripts(&mut self, agent: &mut Agent) {
        if !self.format.can_express("tools.scripts") {
            return;
        }
        let scripts = std::mem::take(&mut agent.tools.scripts);
        for mut script in scripts {
            if self.brings_along(&mut script.value) {
                agent.tools.scripts.push(script);
            } else {
                let path = script.path.as_ref().map_or("", |path| path.value.as_str()).to_owned();
                let name = script.name.as_ref().map_or("", |name| name.value.as_str());
                self.unreachable(&format!("tools.scripts.{name}"), &path);
            }
        }
    }

    /// Whether a script is available in the new directory. Copies its text if necessary.
    fn brings_along(&self, script: &mut ScriptTool) -> bool {
        let Some(path) = script.path.as_ref().filter(|_| script.source.is_none()) else {
            return true;
        };
        // A file with the same path in the new directory would be used instead of this script.
        let hidden = self.world.kind(&join(&self.to, path)) != EntryKind::Missing;
        if self.from_root == self.to_root && !hidden {
            return true;
        }
        let full = absolute(&join(&self.from_root, path));
        let text = self.read(&full, limits::FILE_BYTES);
        let place = path.span;
        script.source = text.map(|text| Spanned::new(text, place));
        script.source.is_some()
    }

    /// References to other definitions: the base, and agents that can be called.
    fn references(&mut self, agent: &mut Agent) {
        if !self.format.can_express("base") {
            return;
        }
        if let Some(base) = &mut agent.inheritance.base {
            match self.reference(base) {
                Some(new) => base.value = new,
                None => {
                    let why = format!("its base `{}` cannot be reached from there", base.value);
                    self.out.refused = Some(why);
                }
            }
        }
        let Some(agents) = agent.agents.take() else { return };
        let mut kept = Vec::new();
        for mut other in agents {
            let written = other.reference.as_ref().map_or("", |at| at.value.as_str()).to_owned();
            match self.reference(&written) {
                Some(new) => {
                    other.value.reference = other.value.reference.map(|at| at.map(|_| new));
                    kept.push(other);
                }
                None => self.unreachable(&format!("agents.{}", other.name), &written),
            }
        }
        agent.agents = Some(kept);
    }

    /// A reference from the new directory. One that is not a relative path stays unchanged.
    fn reference(&self, text: &str) -> Option<String> {
        let (place, pin) = text.split_once('#').map_or((text, None), |(at, pin)| (at, Some(pin)));
        if !is_relative_reference(place) {
            return Some(text.to_owned());
        }
        let full = absolute(&join(&self.from, place));
        // Both must lie in the new workspace, or the path would lead out of it.
        below(&self.to_root, &full).and(below(&self.to_root, &self.to))?;
        let path = relative(&self.to, &full);
        let path = if path.starts_with('.') { path } else { format!("./{path}") };
        Some(pin.map_or(path.clone(), |pin| format!("{path}#{pin}")))
    }

    /// The avatar, if it is a file.
    fn avatar(&mut self, agent: &mut Agent) {
        let Some(avatar) = agent.identity.avatar.take() else { return };
        let path = avatar.value.as_str();
        // An address or an absolute path does not depend on the directory.
        let address = path.contains(':') || path.starts_with(['/', '~', '#']) || path.is_empty();
        let full = absolute(&join(&self.from, path));
        if address || self.world.kind(&full) != EntryKind::File {
            agent.identity.avatar = Some(avatar);
        } else if let Some(new) = self.named(&full) {
            agent.identity.avatar = Some(avatar.map(|_| new));
        } else {
            self.unreachable("avatar", &avatar);
        }
    }

    /// Reports files in a skill's folder, which its text may name. Only the text is moved.
    fn beside_skills(&mut self, agent: &Agent) {
        for pack in &agent.skill_packs {
            let Some((folder, main)) = pack.path.rsplit_once('/') else { continue };
            let full = join(&self.from, &format!("skills/{folder}"));
            let entries = self.world.list(&self.from, &full).unwrap_or_default();
            // A nested skill is a pack of its own and moves with the agent.
            let holds_skill = |name: &str| {
                let inner = format!("{folder}/{name}");
                agent.skill_packs.iter().any(|other| {
                    other.path == inner || other.path.starts_with(&format!("{inner}/"))
                })
            };
            let names = entries.iter().map(|entry| &entry.name);
            let names = names.filter(|name| *name != main && !holds_skill(name));
            let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
            if !names.is_empty() {
                let name = pack.name.as_ref().map_or(&pack.path, |name| &name.value);
                let verb = if names.len() == 1 { "is" } else { "are" };
                let detail = format!("{} beside it {verb} not copied", names.join(", "));
                self.lose(&format!("skill_packs.{name}"), ConversionLossKind::Dropped, detail);
            }
        }
    }

    /// The path of the file `full` from the new directory, if it can be reached from there.
    fn named(&self, full: &str) -> Option<String> {
        below(&self.to_root, full).and(below(&self.to_root, &self.to))?;
        self.world.inside(&self.to_root, full).then(|| relative(&self.to, full))
    }

    /// The text of an instruction file, unless it has hygiene errors.
    fn text(&self, full: &str) -> Option<String> {
        let text = self.read(full, limits::INSTRUCTION_BYTES as u64)?;
        let mut findings = Findings::default();
        hygiene::check(&SourceFile::new(FileId(0), full, &text), &mut findings);
        let text = text.trim();
        (!findings.has_errors() && !text.is_empty()).then(|| text.to_owned())
    }

    /// Reads a file of the source workspace.
    fn read(&self, full: &str, limit: u64) -> Option<String> {
        below(&self.from_root, full)?;
        let is_inside = self.world.inside(&self.from_root, full);
        let bytes = self.world.read(&self.from_root, full, limit).ok().filter(|_| is_inside)?;
        let text = String::from_utf8(bytes).ok()?;
        Some(text.trim_start_matches('\u{feff}').to_owned())
    }
}

fn append(field: &mut Option<Spanned<String>>, text: &str) {
    if text.is_empty() {
        return;
    }
    let place = Span::start_of(FileId::BUILT_IN);
    let field = field.get_or_insert_with(|| Spanned::new(String::new(), place));
    let text = format!("{}{text}", field.value.trim_end());
    text.trim_start().clone_into(&mut field.value);
}

/// Whether a reference is a path relative to the file that contains it.
pub(crate) fn is_relative_reference(place: &str) -> bool {
    const ENDS: &[&str] = &[".agent", ".yaml", ".yml", ".md", ".toml", ".json"];
    let ends = ENDS.iter().any(|end| place.ends_with(end));
    !place.contains("://") && (place.starts_with('.') || (ends && !place.starts_with('/')))
}

/// The part of `path` below `root`; empty for `root` itself.
fn below<'p>(root: &str, path: &'p str) -> Option<&'p str> {
    let root = root.trim_end_matches('/');
    let rest = path.strip_prefix(root)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

/// `path` relative to the directory `from`; both must be absolute and normalised.
pub(crate) fn relative(from: &str, path: &str) -> String {
    let parts = |path: &str| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (from, path) = (parts(from), parts(path));
    let common = from.iter().zip(&path).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..", from.len() - common);
    let down = path.iter().skip(common).map(String::as_str);
    let steps: Vec<_> = up.chain(down).collect();
    if steps.is_empty() { ".".to_owned() } else { steps.join("/") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_start_at_the_new_directory() {
        let cases = [
            ("/w/agents/a", "/w/docs/x.md", "../../docs/x.md"),
            ("/w", "/w/docs/x.md", "docs/x.md"),
            ("/w/a", "/w/a", "."),
            ("/w/a", "/w/ab", "../ab"),
            ("/", "/x", "x"),
        ];
        for (from, path, expected) in cases {
            assert_eq!(relative(from, path), expected, "{from} {path}");
        }
    }

    #[test]
    fn only_paths_are_relative_references() {
        let cases = [
            ("./base.agent", true),
            ("../x", true),
            ("shared/base.agent", true),
            ("/abs/base.agent", false),
            ("https://example.com/base.agent", false),
            ("name@1.2.3", false),
            ("sha256:0123", false),
            ("registry.example.com/team/agent:1", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_relative_reference(text), expected, "{text}");
        }
    }
}
