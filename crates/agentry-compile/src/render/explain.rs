//! Both sides of a rendering: what the source says of a section, and what the harness makes of the
//! files that were written for it.

use agentry_policy::{Rules, Section};
use agentry_targets::example::plain;
use agentry_targets::proof::{Proof, told};
use agentry_targets::{Rendering, Settings, Subject, Target, Way, read_back};

/// One section on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// What it is about.
    pub section: Section,
    /// The rules of the source, layer by layer.
    pub source: Vec<Side>,
    /// The rules of the harness, tool by tool.
    pub harness: Vec<Side>,
    /// What the harness is stricter about, with an example.
    pub difference: Option<String>,
}

/// One list of rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The layer, or the tool of the harness.
    pub name: String,
    /// The rules in the order in which they are asked; the answer to everything else comes last.
    pub rules: Vec<String>,
}

/// Every section that the harness has a tool for.
pub(super) fn explain(
    target: &Target,
    subject: &Subject,
    rendering: &Rendering,
    settings: &Settings<'_>,
) -> Vec<Explained> {
    let model = read_back(target, subject, rendering, settings).unwrap_or_default();
    let section = |section: &Section| {
        let ways: Vec<&Way> = model.ways.iter().filter(|way| way.section == *section).collect();
        let source = subject.judge.rules(*section);
        (!ways.is_empty()).then(|| Explained {
            section: *section,
            source: source.map(|(layer, rules)| side(layer.as_str(), rules)).collect(),
            harness: ways
                .iter()
                .flat_map(|way| way.layers.iter().map(|rules| side(&way.tool, rules)))
                .collect(),
            difference: differences(subject, &ways),
        })
    };
    Section::ALL.iter().filter_map(section).collect()
}

fn side(name: &str, rules: &Rules) -> Side {
    let mut texts: Vec<String> = rules.all().map(|rule| rule.text.clone()).collect();
    // Nothing behind a rule for everything is ever asked.
    let all = texts.iter().position(|text| text.starts_with("*: "));
    texts.truncate(all.map_or(texts.len(), |at| at + 1));
    Side { name: name.to_owned(), rules: texts }
}

/// What the tools of the harness are stricter about, those with the same example together.
fn differences(subject: &Subject, ways: &[&Way]) -> Option<String> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for way in ways {
        let Some(what) = difference(subject, way) else { continue };
        match found.iter_mut().find(|(known, _)| *known == what) {
            Some((_, tools)) if tools.contains(&way.tool.as_str()) => {}
            Some((_, tools)) => tools.push(&way.tool),
            None => found.push((what, vec![&way.tool])),
        }
    }
    let told: Vec<String> =
        found.iter().map(|(what, tools)| format!("{what} in {}", tools.join(", "))).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// What a tool of the harness is stricter about.
fn difference(subject: &Subject, way: &Way) -> Option<String> {
    match told(way.section, &subject.bounds(way.section), &way.layers) {
        Proof::Holds => None,
        // The source is on the left here: what is called the source is the harness.
        Proof::Fails { example, source, target } => {
            Some(plain(&format!("`{example}` is {target} in the source and {source}")))
        }
        Proof::Unknown(why) => Some(why),
    }
}
