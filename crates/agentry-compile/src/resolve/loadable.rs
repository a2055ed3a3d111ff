//! The skills that a run offers to its model: the packs of the agent, and the packs that its definition
//! names.

use agentry_formats::skill::{self, SkillDialect, SkillNeeds};
use agentry_model::{Agent, SkillPack, SkillStep};
use agentry_text::path::{is_plain, split};
use agentry_text::{FileId, Findings, SourceFile, Spanned, digest, limits};

use super::files::PlannedFile;
use super::packs::{self, InstalledSkill};
use super::settings::ResolveSettings;
use super::skills::SkillSearch;
use crate::pipeline::CompiledAgent;
use crate::show::resolved;
use crate::world::{EntryKind, ReadError, World};

/// The most files of a pack that are listed.
const MOST_FILES: usize = 50;
/// The most bytes of a file of a pack whose content is pinned.
const MOST_PINNED: u64 = 16 * 1024 * 1024;

/// A skill that a run can offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadableSkill {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The path of its file, as shown to the user.
    pub path: String,
    /// The line of its name in that file.
    pub line: usize,
    /// The path of its file.
    pub file: String,
    /// Its folder, if it has one of its own.
    pub folder: Option<SkillDirectory>,
    /// Its steps, in order.
    pub steps: Vec<SkillStep>,
    /// The tools that may be used while it is active; `None` leaves the agent's tools as they are.
    pub allowed_tools: Option<Vec<Spanned<String>>>,
    /// All files of its folder, or its only file, with paths relative to the folder. Consent covers them.
    pub pinned: Vec<PlannedFile>,
    /// What it needs, and its text.
    pub needs: SkillNeeds,
    /// Whether the agent also works without it.
    pub is_optional: bool,
}

/// The folder of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillDirectory {
    /// Its path. Links must not leave it.
    pub path: String,
    /// Its other files, relative to it, sorted. A large folder is not listed whole.
    pub files: Vec<String>,
}

impl SkillDirectory {
    /// Reads a file of the folder, at most 1 MiB. A path or link that leaves the folder is refused.
    pub fn read(&self, world: &dyn World, file: &str) -> Result<Vec<u8>, ReadError> {
        if !is_plain(file) || file.contains('\0') {
            return Err(ReadError::Escapes);
        }
        let path = agentry_text::path::join(&self.path, file);
        world.read(&self.path, &path, limits::FILE_BYTES)
    }
}

/// The skills of an agent that its runs can offer, in order: its own packs, then those that it names.
/// Disabled ones are left out, and so are those that nothing provides.
pub fn loadable_skills(
    world: &dyn World,
    compiled: &CompiledAgent,
    settings: &ResolveSettings,
) -> Vec<LoadableSkill> {
    let agent = resolved(compiled);
    let mut found: Vec<LoadableSkill> = Vec::new();
    for (pack, (_, place)) in agent.skill_packs.iter().zip(packs::own(compiled, &agent)) {
        found.extend(loadable(world, pack, &place, is_optional(&agent, pack)));
    }
    let mut search = SkillSearch::new(world, compiled, &agent, &settings.servers);
    search.all();
    for place in &search.packs {
        let Some(pack) = read(world, place) else { continue };
        found.extend(loadable(world, &pack, place, is_optional(&agent, &pack)));
    }
    let mut names: Vec<String> = Vec::new();
    found.retain(|skill| {
        let is_new = !names.contains(&skill.name);
        names.push(skill.name.clone());
        is_new && !skill.needs.is_disabled
    });
    found
}

/// Whether the definition marks a skill as optional.
fn is_optional(agent: &Agent, pack: &SkillPack) -> bool {
    let name = pack.name.as_ref().map(|name| name.value.as_str());
    let mut named = agent.skills.iter().flatten();
    named.any(|asked| Some(asked.name.as_str()) == name && asked.optional)
}

/// Reads a pack of the workspace or of the user. Its findings were reported when it was resolved.
fn read(world: &dyn World, place: &InstalledSkill) -> Option<SkillPack> {
    let bytes = place.read(world).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let source =
        SourceFile::new(FileId::BUILT_IN, &place.shown, text.trim_start_matches('\u{feff}'));
    Some(skill::read(source, place.path(), SkillDialect::Standard, &mut Findings::default()))
}

fn loadable(
    world: &dyn World,
    pack: &SkillPack,
    place: &InstalledSkill,
    is_optional: bool,
) -> Option<LoadableSkill> {
    let text = pack.text.as_ref().map(|text| text.value.as_str()).unwrap_or_default();
    let name = pack.name.as_ref().map(|name| name.value.trim().to_owned());
    let name = name.filter(|name| !name.is_empty())?;
    let described = [&pack.description, &pack.display_name];
    let described = described.into_iter().flatten().map(|text| text.value.trim().to_owned());
    Some(LoadableSkill {
        description: described.into_iter().find(|text| !text.is_empty()).unwrap_or_default(),
        path: place.shown.clone(),
        line: text
            .lines()
            .position(|line| line.trim_start().starts_with("name:"))
            .map_or(1, |at| at + 1),
        file: place.file(),
        folder: directory(world, place),
        pinned: pinned(world, place),
        steps: pack.steps.iter().map(|step| step.value.clone()).collect(),
        allowed_tools: pack.allowed_tools.clone(),
        needs: skill::needs(SourceFile::new(FileId::BUILT_IN, &pack.path, text)),
        is_optional,
        name,
    })
}

/// The digests of all files of a skill. A file that cannot be read has the reason.
fn pinned(world: &dyn World, place: &InstalledSkill) -> Vec<PlannedFile> {
    let file = place.file();
    let (folder, _) = split(&file);
    let below =
        |path: &str| path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/').to_owned();
    let files = packs::files(world, place).into_iter();
    let mut pinned: Vec<PlannedFile> = files
        .map(|file| {
            let read = world.read(&file.root, &file.path, MOST_PINNED);
            let digest = read.map_or_else(|error| error.to_string(), |bytes| digest::of(&bytes));
            PlannedFile { path: below(&file.path), digest }
        })
        .collect();
    pinned.sort();
    pinned
}

fn directory(world: &dyn World, place: &InstalledSkill) -> Option<SkillDirectory> {
    if !place.is_folder() {
        return None;
    }
    let file = place.file();
    let (folder, main) = split(&file);
    if world.kind(folder) != EntryKind::Directory {
        return None;
    }
    let below = |path: &str| Some(path.strip_prefix(folder)?.trim_start_matches('/').to_owned());
    let files = packs::files(world, place);
    let mut files: Vec<String> = files.iter().filter_map(|it| below(&it.path)).collect();
    files.retain(|name| name != main);
    files.sort();
    files.truncate(MOST_FILES);
    Some(SkillDirectory { path: folder.to_owned(), files })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryWorld, at, read as compile};

    fn skills(files: &[(&str, &str)]) -> Vec<LoadableSkill> {
        let own = [("a/instructions.md", "You help.\n"), ("a/agent.acl", "")];
        let files = own.iter().chain(files);
        let world = MemoryWorld::new(files.map(|(path, text)| ((*path).to_owned(), *text)));
        let found = at(&world, "a").expect("an agent");
        let compiled = compile(&world, &found);
        loadable_skills(&world, &compiled, ResolveSettings::built_in())
    }

    #[test]
    fn packs_and_single_files_are_found() {
        let found = skills(&[
            ("a/skills/flat.md", "---\nname: flat\ndescription: A flat one\n---\nDo it.\n"),
            (
                "a/skills/pack/SKILL.md",
                "---\nname: pack\ndescription: A pack\nallowed-tools: Read\ndependencies: [flat]\n\
                 ---\n1. Look (hardened step)\n2. Ask (human gate)\n",
            ),
            ("a/skills/pack/references/a.md", "A"),
            (
                "a/skills/off/SKILL.md",
                "---\nname: off\ndescription: x\nstatus: disabled\n---\nNo.\n",
            ),
        ]);
        let names: Vec<_> = found.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(names, ["flat", "pack"]);
        assert_eq!(found[0].folder, None);
        assert_eq!(found[0].needs.body, "Do it.");
        let folder = found[1].folder.as_ref().expect("a folder");
        assert_eq!(folder.files, ["references/a.md"]);
        assert_eq!(found[1].needs.dependencies, ["flat"]);
        assert_eq!(found[1].allowed_tools.as_ref().map(Vec::len), Some(1));
        let kinds: Vec<_> = found[1].steps.iter().map(|step| step.kind.as_str()).collect();
        assert_eq!(kinds, ["deterministic", "human_gate"]);
    }

    #[test]
    fn skill_files_outside_their_directory_are_refused() {
        let files = [
            ("skills/x/SKILL.md", "x"),
            ("skills/x/references/a.md", "A"),
            ("skills/secret.md", "S"),
        ];
        let world = MemoryWorld::new(files.map(|(path, text)| (path.to_owned(), text)));
        let folder = SkillDirectory { path: "skills/x".to_owned(), files: Vec::new() };
        assert_eq!(folder.read(&world, "references/a.md"), Ok(b"A".to_vec()));
        for path in
            ["../secret.md", "references/../../secret.md", "/skills/secret.md", "", ".", "a\0"]
        {
            assert!(folder.read(&world, path).is_err(), "{path:?}");
        }
    }
}
