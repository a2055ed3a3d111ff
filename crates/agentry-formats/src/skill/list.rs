//! Finds the skill files of a folder.

use agentry_text::path::join;
use agentry_text::{Findings, Span, limits};

use super::SkillDialect;
use super::rules::MISPLACED_SKILL;
use crate::PackageFiles;
use crate::walk::DirectoryWalk;

/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

/// Returns the skills below `dir` (relative to the agent's directory), as sorted paths relative to `dir`.
/// A folder with a `SKILL.md` is one skill, and its other files belong to it. READMEs are skipped.
pub fn list(
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
            if dialect == SkillDialect::AgentDir && is_skill_file(name) {
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
    fn skills_are_folders_or_files() {
        let folders = ["legal/contract/SKILL.md", "review/SKILL.md"];
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
    fn a_bottomless_folder_ends() {
        let deep = "skills/".to_owned() + &"d/".repeat(100) + "SKILL.md";
        let mut memory = MemoryFiles::new([(deep, "x".to_owned())]);
        let found = list(&mut memory, "skills", SkillDialect::AgentFs, &mut Findings::default());
        assert!(found.is_empty());
    }
}
