//! Skills as files: where they are searched, whether they follow the Agent Skills standard, and which files
//! belong to them.

use agentry_formats::skill::{self, SkillDialect};
use agentry_model::Agent;
use agentry_text::{Findings, Severity, SourceFiles, limits};

use crate::pipeline::CompiledAgent;
use crate::world::{EntryKind, ReadError, World};
use agentry_text::path::join;

/// The skill folders of a workspace.
const WORKSPACE: &[&str] = &["skills", ".agents/skills", ".claude/skills"];
/// The skill folders of a user.
const HOME: &[&str] = &[".agents/skills", ".claude/skills"];
/// Agentry's home directory, as shown to the user.
const OWN: &str = "~/.agentry";

/// A folder of skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillFolder {
    /// The directory that links must not leave.
    root: String,
    /// The path of the folder.
    dir: String,
    /// The root as shown to the user, if it differs.
    shown: Option<&'static str>,
    /// Whether the agent's reader has already checked the skills here.
    own: bool,
}

/// A skill that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstalledSkill {
    place: SkillFolder,
    /// The path of its file relative to the folder: `review/SKILL.md`.
    path: String,
    /// The path of its file, as shown to the user.
    pub(crate) shown: String,
}

impl InstalledSkill {
    /// The path of its file.
    pub(crate) fn file(&self) -> String {
        join(&self.place.dir, &self.path)
    }

    /// The path of its file, relative to its folder of skills.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The bytes of its file.
    pub(crate) fn read(&self, world: &dyn World) -> Result<Vec<u8>, ReadError> {
        world.read(&self.place.root, &self.file(), limits::INSTRUCTION_BYTES as u64)
    }

    /// Whether it is a folder, and not a single file.
    pub(crate) fn is_folder(&self) -> bool {
        self.path.contains('/')
    }
}

/// The skill folders of the agent and of its workspace, the nearest first.
pub(crate) fn near(world: &dyn World, compiled: &CompiledAgent) -> Vec<SkillFolder> {
    let own = &compiled.found.dir;
    let place = |root: &str, dir: &str, own: bool| SkillFolder {
        root: root.to_owned(),
        dir: join(root, dir),
        shown: None,
        own,
    };
    let mut places = vec![place(own, "skills", false)];
    // The agent may lie at the workspace root: do not search that folder twice.
    if world.absolute(own) != world.absolute(&compiled.workspace) {
        places.push(place(&compiled.workspace, "skills", false));
    }
    let hidden = WORKSPACE.iter().skip(1).map(|dir| place(&compiled.workspace, dir, false));
    places.extend(hidden);
    places
}

/// The packs of the agent itself, with their declared names.
pub(crate) fn own<'a>(
    compiled: &'a CompiledAgent,
    agent: &'a Agent,
) -> impl Iterator<Item = (&'a str, InstalledSkill)> {
    agent.skill_packs.iter().map(|pack| {
        let root = compiled.found.dir.clone();
        let dir = join(&root, "skills");
        let name = pack.name.as_ref().map_or("", |name| name.value.as_str());
        let shown = join(&dir, &pack.path);
        let place = SkillFolder { root, dir, shown: None, own: true };
        (name, InstalledSkill { place, path: pack.path.clone(), shown })
    })
}

/// The skill folders of the user.
pub(crate) fn home(world: &dyn World) -> Vec<SkillFolder> {
    let place = |root: &str, dir: &str, shown| SkillFolder {
        root: root.to_owned(),
        dir: join(root, dir),
        shown: Some(shown),
        own: false,
    };
    let own = world.machine().agentry_home.clone().map(|root| place(&root, "skills", OWN));
    let home = world.machine().home.clone();
    let others = home.iter().flat_map(|home| HOME.iter().map(move |dir| place(home, dir, "~")));
    own.into_iter().chain(others).collect()
}

/// The skill `name` in a folder: a subfolder with `SKILL.md`, or a single file.
pub(crate) fn at(world: &dyn World, place: SkillFolder, name: &str) -> Option<InstalledSkill> {
    // A skill name must not lead out of the folder.
    let plain = !name.trim().is_empty() && !name.contains(['/', '\\', '\0']);
    if !plain || matches!(name, "." | "..") {
        return None;
    }
    let paths = [format!("{name}/SKILL.md"), format!("{name}.md")];
    let path =
        paths.into_iter().find(|path| world.kind(&join(&place.dir, path)) == EntryKind::File)?;
    let full = join(&place.dir, &path);
    let shown = match place.shown {
        Some(root) => full.replacen(&place.root, root, 1),
        None => full,
    };
    Some(InstalledSkill { place, path, shown })
}

/// Why a pack cannot be used: it is unreadable, or it violates the standard. The agent's own packs were
/// already checked when it was read, by the rules of its format.
pub(crate) fn wrong(
    world: &dyn World,
    pack: &InstalledSkill,
    sources: &mut SourceFiles,
    findings: &mut Findings,
) -> Option<String> {
    if pack.place.own {
        return None;
    }
    let bytes = match pack.read(world) {
        Ok(bytes) => bytes,
        Err(error) => return Some(error.to_string()),
    };
    let Ok(text) = String::from_utf8(bytes) else { return Some("it is not UTF-8".to_owned()) };
    let mut own = Findings::default();
    let source = sources.add(&pack.shown, text.trim_start_matches('\u{feff}'));
    agentry_text::hygiene::check(&source, &mut own);
    skill::read(source, &pack.path, SkillDialect::Standard, &mut own);
    let error = own.iter().find(|found| found.severity == Severity::Error);
    let why = error.map(|found| found.message.clone());
    findings.extend(own);
    why
}

/// Every file of a pack.
pub(crate) fn files(world: &dyn World, pack: &InstalledSkill) -> Vec<SkillFile> {
    let SkillFolder { root, dir, .. } = &pack.place;
    let file = |path: &str| SkillFile {
        root: root.clone(),
        path: path.to_owned(),
        shown: match pack.place.shown {
            Some(home) => path.replacen(root, home, 1),
            None => path.to_owned(),
        },
    };
    let Some((folder, _)) = pack.path.rsplit_once('/') else {
        return vec![file(&join(dir, &pack.path))];
    };
    let mut found = Vec::new();
    let mut open = vec![(join(dir, folder), 0_usize)];
    while let Some((folder, depth)) = open.pop() {
        for entry in world.list(root, &folder).unwrap_or_default() {
            let path = join(&folder, &entry.name);
            match entry.kind {
                EntryKind::Directory if depth < limits::DEPTH => open.push((path, depth + 1)),
                EntryKind::File => found.push(file(&path)),
                _ => {}
            }
        }
        // A pack with more files is cut off here.
        if found.len() >= limits::FILES {
            break;
        }
    }
    found
}

/// A file of a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SkillFile {
    /// The directory that links must not leave.
    pub(crate) root: String,
    /// The file.
    pub(crate) path: String,
    /// The path as shown to the user.
    pub(crate) shown: String,
}
