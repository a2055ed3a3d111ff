//! The file name, which gives category and name: `<category>_<agent-name>.agent.md`.

use agentry_model::{AgentIdentity, slug};
use agentry_text::{Findings, SourceFile, Span, Spanned, path};

use super::rules::{FILE_NAME, NO_TITLE};

/// Returns the file name without directory and suffix.
pub(super) fn stem(path: &str) -> &str {
    let name = path::name(path);
    let cut = |suffix: &str| {
        let at = name.len().checked_sub(suffix.len())?;
        let (stem, end) = (name.get(..at)?, name.get(at..)?);
        end.eq_ignore_ascii_case(suffix).then_some(stem)
    };
    cut(".agent.md").or_else(|| cut(".md")).unwrap_or(name)
}

/// Returns category and name, if the file name has the right form.
pub(super) fn parts(path: &str) -> Option<(&str, &str)> {
    let (category, name) = stem(path).split_once('_')?;
    // `stem` also removes a plain `.md`, which is not a valid ending.
    let suffixed = path.to_lowercase().ends_with(".agent.md");
    (suffixed && is_word(category) && is_word(name)).then_some((category, name))
}

/// Whether a text is lower-case words of any script, joined by single hyphens.
fn is_word(text: &str) -> bool {
    text.split('-').all(|word| !word.is_empty() && word.chars().all(is_letter))
}

/// Whether a character may be in a word: a letter that is not upper case, a digit, or a combining mark.
fn is_letter(c: char) -> bool {
    let punctuation = matches!(c, '\u{80}'..='\u{bf}' | '\u{2000}'..='\u{2bff}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}');
    match c {
        'a'..='z' | '0'..='9' => true,
        // `std` has no test for Unicode punctuation, so the main blocks are listed above.
        _ if c.is_ascii() || punctuation => false,
        _ => !c.is_uppercase() && !c.is_whitespace() && !c.is_control(),
    }
}

/// Fills in name and category, and the title if there is none.
pub(super) fn fill(
    identity: &mut AgentIdentity,
    path: &str,
    source: &SourceFile,
    findings: &mut Findings,
) {
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
    fn file_names_split_into_category_and_name() {
        let cases = [
            ("agents/governance_policy-auditor.agent.md", Some(("governance", "policy-auditor"))),
            ("front-end_ui.AGENT.md", Some(("front-end", "ui"))),
            ("agents/治理_审计员.agent.md", Some(("治理", "审计员"))),
            ("größe_prüfer-2.agent.md", Some(("größe", "prüfer-2"))),
            ("शासन_परीक्षक.agent.md", Some(("शासन", "परीक्षक"))),
            ("Ärger_x.agent.md", None),
            ("a_b–c.agent.md", None),
            ("a_b--c.agent.md", None),
            ("a_🚀 x.agent.md", None),
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
