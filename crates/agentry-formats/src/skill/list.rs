//! Finds the skill files of a folder, and reads them.

use agentry_model::SkillPack;
use agentry_text::path::join;
use agentry_text::{Findings, SourceFile, Span, limits};

use super::rules::MISPLACED_SKILL;
use super::{SkillDialect, check_names, read};
use crate::front_matter::FrontMatterFile;
use crate::walk::DirectoryWalk;
use crate::{AgentPackage, PackageFiles};

/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

/// Reads the skills below `dir` (relative to the agent's directory), and checks their names.
pub fn read_all(
    package: &mut AgentPackage<'_>,
    dir: &str,
    dialect: SkillDialect,
    findings: &mut Findings,
) -> Vec<SkillPack> {
    let mut packs = Vec::new();
    for path in list(package.files, dir, dialect, findings) {
        let Some(source) = package.read(&join(dir, &path), findings) else { continue };
        let is_flat = !path.contains('/');
        // Elsewhere than in an agent directory, a single file without metadata is a note of the author.
        if is_flat && dialect != SkillDialect::AgentDir && !has_metadata(&source) {
            continue;
        }
        // Single files come from agent directories, whatever agent they belong to.
        let dialect = if is_flat { SkillDialect::AgentDir } else { dialect };
        packs.push(read(source, &path, dialect, findings));
    }
    check_names(&packs, findings);
    packs
}

fn has_metadata(source: &SourceFile) -> bool {
    FrontMatterFile::read(source.clone(), &mut Findings::default()).has_metadata
}

/// Returns the skills below `dir` (relative to the agent's directory), as sorted paths relative to `dir`.
/// A folder with a `SKILL.md` is one skill, and its other files belong to it. READMEs are skipped.
fn list(
    files: &mut dyn PackageFiles,
    dir: &str,
    dialect: SkillDialect,
    findings: &mut Findings,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut walk = DirectoryWalk::new(dir);
    while let Some(folder) = walk.next(files, findings) {
        // Depth 0 is `skills/` itself: a `SKILL.md` there has no folder to name it.
        if folder.depth > 0 && folder.files().any(|name| name == SKILL_FILE) {
            found.push(folder.path_of(SKILL_FILE));
            continue;
        }
        walk.enter(&folder);
        for name in folder.files() {
            let path = folder.path_of(name);
            // Only an agent directory has single files in folders too.
            let is_flat = dialect == SkillDialect::AgentDir || folder.depth == 0;
            if is_flat && is_skill_file(name) {
                found.push(path);
            } else if folder.depth > 0 {
                misplaced(files, &join(dir, &path), name, findings);
            }
        }
        // The rest of a huge directory is ignored.
        if found.len() >= limits::FILES {
            break;
        }
    }
    found.sort();
    found
}

/// Whether a file is a README, which no reader treats as part of a definition.
pub fn is_readme(name: &str) -> bool {
    name.eq_ignore_ascii_case("README.md")
}

fn is_skill_file(name: &str) -> bool {
    name.strip_suffix(".md").is_some_and(|stem| !stem.is_empty()) && !is_readme(name)
}

/// Reports a file such as `skill.md`, which is not `SKILL.md` on a case-sensitive file system.
fn misplaced(files: &mut dyn PackageFiles, path: &str, name: &str, findings: &mut Findings) {
    let near = name.eq_ignore_ascii_case(SKILL_FILE) || name.eq_ignore_ascii_case("SKILLS.md");
    let source = near.then(|| files.read(path, findings)).flatten();
    if let Some(source) = source {
        let message = format!("`{path}` is not read as a skill");
        findings
            .add(&MISPLACED_SKILL, Span::start_of(source.id), message)
            .hint("rename the file to `SKILL.md`");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryFiles;

    const FILES: &[&str] = &[
        "skills/README.md",
        "skills/notes.txt",
        "skills/loose.md",
        "skills/review/SKILL.md",
        "skills/review/references/cases.md",
        "skills/legal/contract/SKILL.md",
        "skills/legal/README.md",
        "skills/lower/skill.md",
        "elsewhere/x/SKILL.md",
    ];

    #[test]
    fn skills_are_found_as_directories_or_files() {
        let folders = ["legal/contract/SKILL.md", "loose.md", "review/SKILL.md"];
        let files = ["legal/contract/SKILL.md", "loose.md", "lower/skill.md", "review/SKILL.md"];
        let cases = [
            (SkillDialect::AgentFs, &folders[..], 1),
            (SkillDialect::Standard, &folders[..], 1),
            (SkillDialect::AgentDir, &files[..], 0),
        ];
        for (dialect, expected, count) in cases {
            let texts = FILES.iter().map(|path| ((*path).to_owned(), "x".to_owned()));
            let mut memory = MemoryFiles::new(texts);
            let mut findings = Findings::default();
            assert_eq!(
                list(&mut memory, "skills", dialect, &mut findings),
                expected,
                "{dialect:?}"
            );
            assert_eq!(findings.iter().count(), count, "{dialect:?}");
        }
    }

    #[test]
    fn a_single_file_with_metadata_is_a_skill_everywhere() {
        let text = "---\ndescription: Loose\n---\nDo it.\n";
        let files = [("skills/loose.md", text), ("skills/notes.md", "# Notes\n")];
        for (dialect, expected) in [
            (SkillDialect::AgentFs, &["loose"][..]),
            (SkillDialect::Standard, &["loose"]),
            (SkillDialect::AgentDir, &["loose", "notes"]),
        ] {
            let mut memory = MemoryFiles::new(files.map(|(path, it)| (path.into(), it.into())));
            let (main, dir_name, dir) = Default::default();
            let mut package = AgentPackage { main, dir_name, dir, files: &mut memory };
            let mut findings = Findings::default();
            let packs = read_all(&mut package, "skills", dialect, &mut findings);
            let names: Vec<_> = packs.iter().flat_map(|it| &it.name).map(|it| &*it.value).collect();
            assert_eq!(names, expected, "{dialect:?}");
            assert!(!findings.has_errors(), "{dialect:?}");
        }
    }

    #[test]
    fn deeply_nested_skill_directories_are_skipped() {
        let deep = "skills/".to_owned() + &"d/".repeat(100) + "SKILL.md";
        let mut memory = MemoryFiles::new([(deep, "x".to_owned())]);
        let found = list(&mut memory, "skills", SkillDialect::AgentFs, &mut Findings::default());
        assert!(found.is_empty());
    }
}
