//! A policy as text lines in the lock. They can be parsed again, so that a comparison can show what was
//! gained, and not only that something changed.
//!
//! ```text
//! trust: webfetch = deny                the intent of a section
//! permissions: bash git log *:allow     one of its rules
//! base 2: edit src/**:ask               a rule of the second layer from bases
//! ```

use agentry_model::Agent;
use agentry_policy::compare::{SectionDiff, section_diffs};
use agentry_policy::{
    Action, Judge, LayerSource, PathAnchors, PatternRule, Permissions, PolicyLayer, Section,
    SectionRules, layer, written,
};
use agentry_text::{FileId, Span, Spanned, digest};

/// The lines of an agent's policy; `dir` is its directory in the workspace.
pub(super) fn lines(agent: &Agent, dir: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut bases = 0;
    for (source, permissions) in written(&agent.policy, &agent.policy_context(dir)) {
        let label = if source == LayerSource::Base {
            bases += 1;
            format!("{source} {bases}")
        } else {
            source.to_string()
        };
        for rules in &permissions.sections {
            let section = rules.section.value;
            let rule = |rule: &Spanned<PatternRule>| format!("{label}: {section} {}", rule.value);
            lines.extend(rules.rules.iter().map(rule));
            let intent = rules.intent.map_or(Action::Ask, |intent| intent.value);
            lines.push(format!("{label}: {section} = {intent}"));
        }
    }
    lines
}

/// `sha256:…` of the lines.
pub(super) fn digest_of(lines: &[String]) -> String {
    digest::of(lines.join("\n"))
}

/// The changes from the `old` lines to the `new` ones, section by section. `None` if a line cannot be
/// parsed.
pub(super) fn diff(old: &[String], new: &[String]) -> Option<Vec<SectionDiff>> {
    Some(section_diffs(&judge(old)?, &judge(new)?))
}

fn judge(lines: &[String]) -> Option<Judge> {
    let places = PathAnchors::default();
    let layers = layers(lines, &places)?;
    Some(Judge::new(layers, places))
}

/// Parses lines into layers.
fn layers(lines: &[String], places: &PathAnchors) -> Option<Vec<PolicyLayer>> {
    let mut found: Vec<(&str, Permissions)> = Vec::new();
    for line in lines {
        let (label, rest) = line.split_once(": ")?;
        if found.last().is_none_or(|(last, _)| *last != label) {
            found.push((label, Permissions::default()));
        }
        let (_, permissions) = found.last_mut()?;
        read_line(rest, permissions)?;
    }
    let layer = |(label, permissions): (&str, Permissions)| {
        let source = label.split(' ').next()?.parse().ok()?;
        Some(layer(source, &permissions, places))
    };
    found.into_iter().map(layer).collect()
}

fn read_line(text: &str, permissions: &mut Permissions) -> Option<()> {
    let nowhere = Span::start_of(FileId::BUILT_IN);
    let (section, rest) = text.split_once(' ')?;
    let section: Section = section.parse().ok()?;
    if permissions.sections.last().is_none_or(|last| last.section.value != section) {
        let section = Spanned::new(section, nowhere);
        permissions.sections.push(SectionRules { section, intent: None, rules: Vec::new() });
    }
    let rules = permissions.sections.last_mut()?;
    match rest.strip_prefix("= ").and_then(|word| word.parse().ok()) {
        Some(action) => rules.intent = Some(Spanned::new(action, nowhere)),
        None => rules.rules.push(Spanned::new(rest.parse().ok()?, nowhere)),
    }
    Some(())
}
