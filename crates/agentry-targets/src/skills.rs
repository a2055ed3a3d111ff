//! Skills as files beside an agent, for harnesses that look for them in a directory of their own.

use crate::rendering::{File, LossKind, Rendered};
use crate::subject::{Skill, Subject};

/// Copies the skills of an agent to `to`, except those that lie in one of the `known` directories,
/// where the harness finds them by itself. Gives the names of those that it finds then.
pub(crate) fn copy<'a>(
    subject: &'a Subject,
    known: &[&str],
    to: &str,
    out: &mut Rendered,
) -> Vec<&'a str> {
    let found = subject.skills.iter().filter(|skill| copy_one(skill, known, to, out));
    found.map(|skill| skill.name.as_str()).collect()
}

/// The same for one skill; whether there is one.
pub(crate) fn copy_one(skill: &Skill, known: &[&str], to: &str, out: &mut Rendered) -> bool {
    let Skill { name, files, dir } = skill;
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
        copies.map(|(path, bytes)| File::new(format!("{to}/{name}/{path}"), bytes.clone()));
    out.files.extend(copies);
    true
}
