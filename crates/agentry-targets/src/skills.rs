//! Skills as files beside an agent, for harnesses that look for them in a directory of their own.

use crate::rendering::{File, LossKind, Rendered};
use crate::subject::Subject;

/// Copies the skills of an agent to `to`, except those that lie in one of the `known` directories,
/// where the harness finds them by itself.
pub(crate) fn copy(subject: &Subject, known: &[&str], to: &str, out: &mut Rendered) {
    for skill in &subject.skills {
        let finds = |dir: &String| known.iter().any(|place| dir.starts_with(place));
        if skill.dir.as_ref().is_some_and(finds) {
            continue;
        }
        let Some(files) = &skill.files else {
            let detail = format!("the skill `{}` was not found", skill.name);
            out.lose("skills", LossKind::Dropped, detail);
            continue;
        };
        for (path, bytes) in files {
            let path = format!("{to}/{}/{path}", skill.name);
            out.files.push(File { path, text: String::from_utf8_lossy(bytes).into_owned() });
        }
    }
}
