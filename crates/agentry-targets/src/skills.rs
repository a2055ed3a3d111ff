//! Skills as files beside an agent, for harnesses with a directory of skills.

use crate::render_result::{LossKind, RenderedAgent, RenderedFile};
use crate::subject::{BundledSkill, RenderSubject};

/// Copies the skills of an agent to `to`, except those in one of the `known` directories, which the harness
/// searches anyway. Returns the names of the skills that the harness will find.
pub(crate) fn copy<'a>(
    subject: &'a RenderSubject,
    known: &[&str],
    to: &str,
    out: &mut RenderedAgent,
) -> Vec<&'a str> {
    let found = subject.skills.iter().filter(|skill| copy_one(skill, known, to, out));
    found.map(|skill| skill.name.as_str()).collect()
}

/// Copies one skill; returns whether the harness will find it.
pub(crate) fn copy_one(
    skill: &BundledSkill,
    known: &[&str],
    to: &str,
    out: &mut RenderedAgent,
) -> bool {
    let BundledSkill { name, files, dir } = skill;
    let lies_in = |dir: &str, place: &str| {
        dir.strip_prefix(place).is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
    };
    if dir.as_ref().is_some_and(|dir| known.iter().any(|place| lies_in(dir, place))) {
        return true;
    }
    let Some(files) = files else {
        out.lose("skills", LossKind::Dropped, format!("the skill `{name}` was not found"));
        return false;
    };
    let copies = files.iter();
    let copies =
        copies.map(|(path, bytes)| RenderedFile::new(format!("{to}/{name}/{path}"), bytes.clone()));
    out.files.extend(copies);
    true
}
