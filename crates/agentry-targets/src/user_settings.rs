//! What the user's settings in the home directory add to those of a project.
//!
//! Rendered files must not depend on the machine, so an agent is proved against the files of its project
//! only. A second proof includes the files of the current user. What these permit beyond the source is
//! reported as a gap, with an example; the rendered files stay the same.

use agentry_policy::compare::{ExampleSubject, decide};
use agentry_policy::{HazardProtection, RuleList};

use crate::HarnessFiles;
use crate::model::{HarnessModel, HarnessTool};
use crate::proof::PolicyProof;
use crate::render_result::{LossKind, RenderSettings, RenderedAgent};

/// The user's settings files, and the harness' model of them.
#[derive(Debug)]
pub struct UserSettings {
    /// The paths; a directory ends with `/`.
    pub places: &'static [&'static str],
    /// Returns what the harness lets an agent do, with these files included.
    pub model: fn(&dyn HarnessFiles, &str) -> Option<HarnessModel>,
}

impl UserSettings {
    /// Whether the user has any of these files.
    pub(crate) fn is_there(&self, settings: &RenderSettings<'_>) -> bool {
        let files = settings.existing;
        let is_there = |place: &&str| {
            let is_directory = place.ends_with('/');
            if is_directory { files.names(place).is_some() } else { files.text(place).is_some() }
        };
        self.places.iter().any(is_there)
    }

    /// Reports what a tool permits beyond its bounds.
    pub(crate) fn report(&self, way: &HarnessTool, proof: PolicyProof, out: &mut RenderedAgent) {
        let places: Vec<String> = self.places.iter().map(|place| format!("`{place}`")).collect();
        let places = places.join(", ");
        let detail = match proof {
            PolicyProof::Holds => return,
            PolicyProof::Fails { example, source, target } => {
                let by = rule(&way.layers, &example);
                let by = by.map(|text| format!(" by `{text}`")).unwrap_or_default();
                format!(
                    "your own settings in {places}: `{example}` is {source} in the source and \
                     {target} here{by}"
                )
            }
            PolicyProof::Unknown(why) => format!("your own settings in {places}: {why}"),
        };
        out.lose(format!("permissions.{}", way.section), LossKind::Gap, detail);
    }
}

/// Returns the text of the rule that decides about an example.
fn rule(layers: &[RuleList], example: &ExampleSubject) -> Option<String> {
    let all: Vec<&RuleList> = layers.iter().collect();
    let decision = example.with(|subject| decide(&all, subject, HazardProtection::Off))?;
    let text = &layers.get(decision.layer)?.rules.get(decision.rule)?.text;
    // The text of an encoded rule ends with its verdict.
    let text = text.rsplit_once(": ").map_or(text.as_str(), |(text, _)| text);
    (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
}

/// Returns the files in a directory whose names end with `end`.
pub(crate) fn files_in(files: &dyn HarnessFiles, dir: &str, end: &str) -> Vec<(String, String)> {
    let names = files.names(dir).unwrap_or_default();
    let paths = names.iter().filter(|name| name.ends_with(end)).map(|name| format!("{dir}{name}"));
    paths.filter_map(|path| files.text(&path).map(|text| (path, text))).collect()
}
