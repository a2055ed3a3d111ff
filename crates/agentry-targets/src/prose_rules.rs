//! The rules of an agent as prose, for targets that only have text. A model may follow them; nothing
//! enforces them.

use agentry_policy::{Action, SectionRules};

use crate::render_result::{LossKind, RenderedAgent};
use crate::subject::RenderSubject;

/// Returns the sections that the author wrote and that do not allow everything.
pub fn written(subject: &RenderSubject) -> impl Iterator<Item = &SectionRules> {
    let sections = subject.permissions.sections.iter();
    sections.filter(|rules| rules.section.span.is_written() && rules.strictest() > Action::Allow)
}

/// Returns the limits of the agent as a list; `None` if the author set none.
pub fn in_words(subject: &RenderSubject) -> Option<String> {
    let lines: Vec<String> = written(subject).map(line).collect();
    let head = "Keep to these limits. Of the rules of one line the first that fits counts.";
    (!lines.is_empty()).then(|| format!("### Limits\n\n{head}\n\n{}", lines.concat()))
}

fn line(rules: &SectionRules) -> String {
    let word = |action: Action| match action {
        Action::Allow => "allowed",
        Action::Ask => "ask first",
        Action::Deny => "never",
    };
    let listed = rules
        .rules
        .iter()
        .map(|rule| format!("`{}` {}; ", rule.pattern.replace('`', "'"), word(rule.action)));
    let intent = word(rules.intent.map_or(Action::Ask, |intent| intent.value));
    let otherwise = if rules.rules.is_empty() { "" } else { "otherwise " };
    let listed: Vec<String> = listed.collect();
    format!("- {}: {}{otherwise}{intent}\n", rules.section.value, listed.concat())
}

/// Reports that nothing enforces the limits; `readers` are the programs that read the file.
pub fn unenforced(subject: &RenderSubject, readers: &str, out: &mut RenderedAgent) {
    let mut none = true;
    for rules in written(subject) {
        none = false;
        let field = format!("permissions.{}", rules.section.value);
        let detail = format!("written in words only: {readers} apply their own rules");
        out.lose(field, LossKind::Gap, detail);
    }
    if none {
        let detail =
            format!("what the agent may do is not written: {readers} apply their own rules");
        out.lose("permissions", LossKind::Gap, detail);
    }
}
