//! References to files: context, rule files and skills. The reader only checks that they exist.

use agentry_text::{Findings, Fix, Span, Spanned, path};

use super::SKILLS;
use super::rules::{MISSING_CONTEXT, MISSING_RULE_FILE, MISSING_SKILL, OUTSIDE_WORKSPACE};
use crate::{PackageFiles, PathBase, PathPresence};

/// The directories of a workspace that are searched for skills.
const SKILL_PLACES: &[&str] = &["skills", ".agents/skills", ".claude/skills"];

/// Reports files of `context` that are missing or outside the workspace.
pub(super) fn context(
    paths: &[Spanned<String>],
    files: &mut dyn PackageFiles,
    findings: &mut Findings,
) {
    for path in paths {
        match files.probe(PathBase::Agent, path) {
            PathPresence::File => {}
            PathPresence::Outside => outside(path, findings),
            // An empty path names the agent's directory; it is reported as missing below.
            PathPresence::Directory if !path.trim().is_empty() => {
                findings
                    .add(&MISSING_CONTEXT, path.span, format!("`{}` is a directory", path.value))
                    .hint("name the files in it one by one");
            }
            PathPresence::Directory | PathPresence::Missing => {
                let message = format!("there is no context file `{}`", path.value);
                let hint = if path.contains('\\') {
                    "write `/` between the parts of a path"
                } else {
                    "the path starts at the agent's directory"
                };
                findings.add(&MISSING_CONTEXT, path.span, message).hint(hint);
            }
        }
    }
}

/// Reports entries of `rules` whose files are missing or outside the workspace.
pub(super) fn rule_files(
    entries: &[Spanned<String>],
    files: &mut dyn PackageFiles,
    findings: &mut Findings,
) {
    for entry in entries {
        match probe_rule(entry, files) {
            PathPresence::File => {}
            PathPresence::Outside => outside(entry, findings),
            PathPresence::Directory | PathPresence::Missing => missing_rule(entry, files, findings),
        }
    }
}

fn probe_rule(entry: &str, files: &mut dyn PackageFiles) -> PathPresence {
    if leaves(entry) {
        return PathPresence::Outside;
    }
    files.probe(PathBase::Workspace, &format!("rules/{entry}.md"))
}

fn missing_rule(entry: &Spanned<String>, files: &mut dyn PackageFiles, findings: &mut Findings) {
    // An author often writes the whole path instead of the entry.
    let plain = entry.trim_start_matches("./").trim_start_matches("rules/");
    let plain = plain.trim_end_matches(".md");
    let meant = plain != entry.value && probe_rule(plain, files) == PathPresence::File;
    let message = format!("there is no rule file `rules/{}.md` in the workspace", entry.value);
    let found = findings.add(&MISSING_RULE_FILE, entry.span, message);
    if meant {
        found.hint(format!("write `{plain}`"));
        if !plain.contains(['"', '\\']) {
            let text = format!("\"{plain}\"");
            found.fix(Fix::safe(format!("write `{plain}`"), entry.span, text));
        }
    } else {
        found.hint(format!("create it, or remove `{}`", entry.value));
    }
}

/// Reports skills that are neither in the agent's directory nor in the workspace.
pub(super) fn skills(
    names: &[Spanned<String>],
    files: &mut dyn PackageFiles,
    findings: &mut Findings,
) {
    for name in names {
        if has_skill(name, files) {
            continue;
        }
        let message =
            format!("skill `{}` is neither with the agent nor in the workspace", name.value);
        let hint = format!("add `skills/{}/SKILL.md`, unless the harness brings it", name.value);
        findings.add(&MISSING_SKILL, name.span, message).hint(hint);
    }
}

fn has_skill(name: &str, files: &mut dyn PackageFiles) -> bool {
    if name.trim().is_empty() || leaves(name) {
        return false;
    }
    let agent = [(PathBase::Agent, SKILLS)];
    let workspace = SKILL_PLACES.iter().map(|place| (PathBase::Workspace, *place));
    agent.into_iter().chain(workspace).any(|(base, place)| {
        [format!("{place}/{name}/SKILL.md"), format!("{place}/{name}.md")]
            .iter()
            .any(|path| files.probe(base, path) == PathPresence::File)
    })
}

fn outside(path: &Spanned<String>, findings: &mut Findings) {
    let span: Span = path.span;
    findings
        .add(&OUTSIDE_WORKSPACE, span, format!("`{}` is outside the workspace", path.value))
        .hint("copy the file into the workspace and name the copy");
}

/// Whether a name leaves the directory in which it is looked up.
fn leaves(name: &str) -> bool {
    path::is_rooted(name) || path::climbs(name)
}
