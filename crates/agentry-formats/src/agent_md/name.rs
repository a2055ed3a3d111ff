//! What the file's name says: `<category>_<agent-name>.agent.md`.

use agentry_model::{Identity, slug};
use agentry_text::{Findings, Source, Span, Spanned};

use super::rules::{FILE_NAME, NO_TITLE};

/// The file's name without its directory and its suffix.
pub(super) fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let cut = |suffix: &str| {
        let at = name.len().checked_sub(suffix.len())?;
        let (stem, end) = (name.get(..at)?, name.get(at..)?);
        end.eq_ignore_ascii_case(suffix).then_some(stem)
    };
    cut(".agent.md").or_else(|| cut(".md")).unwrap_or(name)
}

/// Category and name, when the file is named as it should be.
pub(super) fn parts(path: &str) -> Option<(&str, &str)> {
    let (category, name) = stem(path).split_once('_')?;
    let suffixed = path.to_lowercase().ends_with(".agent.md");
    (suffixed && is_word(category) && is_word(name)).then_some((category, name))
}

/// Lower-case words, joined by hyphens.
fn is_word(text: &str) -> bool {
    !text.is_empty() && slug(text) == text
}

/// Fills in name, category and, when there is none, the title.
pub(super) fn fill(identity: &mut Identity, path: &str, source: &Source, findings: &mut Findings) {
    let place = Span::start_of(source.id);
    let text = |text: &str| Spanned::new(text.to_owned(), place);
    let stem = stem(path);
    if let Some((category, name)) = parts(path) {
        identity.category = Some(text(category));
        identity.name = Some(text(name));
    } else {
        let title = identity.display_name.as_ref().map(|title| title.clone().map(|t| slug(&t)));
        let title = title.filter(|name| !name.is_empty());
        identity.name = title.or_else(|| Some(text(&slug(stem))).filter(|name| !name.is_empty()));
        let name = identity.name.as_ref().map_or("agent", |name| name.value.as_str());
        let message = format!("`{stem}` does not say the category and the name of the agent");
        findings
            .add(&FILE_NAME, place, message)
            .hint(format!("rename the file to `agents/<category>_{name}.agent.md`"));
    }
    if identity.display_name.is_none() {
        findings
            .add(&NO_TITLE, place, "the agent has no title")
            .hint("write a top-level heading: `# Title`")
            .absent();
        identity.display_name = Some(text(stem)).filter(|title| !title.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names() {
        let cases = [
            ("agents/governance_policy-auditor.agent.md", Some(("governance", "policy-auditor"))),
            ("front-end_ui.AGENT.md", Some(("front-end", "ui"))),
            ("policy-auditor.agent.md", None),
            ("Governance_auditor.agent.md", None),
            ("a_b_c.agent.md", None),
            ("_x.agent.md", None),
            ("a_b.md", None),
            ("", None),
        ];
        for (path, expected) in cases {
            assert_eq!(parts(path), expected, "{path}");
        }
    }
}
