//! What the user's own settings in the home directory add to a project's.
//!
//! What is written must not depend on the machine: an agent is proved against the files of its project
//! only. Then it is proved once more with the files of the user who renders it; what they permit beyond
//! the source is a gap of this user, reported with a call that shows it, and changes nothing that is
//! written.

use agentry_policy::compare::{ExampleSubject, decide};
use agentry_policy::{HazardProtection, RuleList};

use crate::HarnessFiles;
use crate::model::{HarnessModel, HarnessTool};
use crate::proof::PolicyProof;
use crate::render_result::{LossKind, RenderSettings, RenderedAgent};

/// The user's own files, and what a harness makes of them.
#[derive(Debug)]
pub struct UserSettings {
    /// The files; a directory ends with `/`.
    pub places: &'static [&'static str],
    /// What the harness lets an agent do, by these files as well.
    pub model: fn(&dyn HarnessFiles, &str) -> Option<HarnessModel>,
}

impl UserSettings {
    /// Whether the user has such files.
    pub(crate) fn is_there(&self, settings: &RenderSettings<'_>) -> bool {
        let files = settings.existing;
        let is_there = |place: &&str| {
            let is_directory = place.ends_with('/');
            if is_directory { files.names(place).is_some() } else { files.text(place).is_some() }
        };
        self.places.iter().any(is_there)
    }

    /// Reports what a way permits beyond its bounds.
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

/// The rule that decides, if it has a text of its own.
fn rule(layers: &[RuleList], example: &ExampleSubject) -> Option<String> {
    let all: Vec<&RuleList> = layers.iter().collect();
    let decision = example.with(|subject| decide(&all, subject, HazardProtection::Off))?;
    let text = &layers.get(decision.layer)?.rules.get(decision.rule)?.text;
    let text = text.rsplit_once(": ").map_or(text.as_str(), |(text, _)| text);
    (!text.is_empty() && !text.contains(char::is_control)).then(|| text.to_owned())
}

/// The files in a directory whose names end so.
pub(crate) fn files_in(files: &dyn HarnessFiles, dir: &str, end: &str) -> Vec<(String, String)> {
    let names = files.names(dir).unwrap_or_default();
    let paths = names.iter().filter(|name| name.ends_with(end)).map(|name| format!("{dir}{name}"));
    paths.filter_map(|path| files.text(&path).map(|text| (path, text))).collect()
}
