//! Other policy files of the user: Gemini joins them all by priority.

use super::policy::{self, Ruled};
use super::tools;
use crate::personal::files_in;
use crate::{Files, Model, Personal};

/// Where Gemini looks by itself: from a project, and where agents are rendered for the user.
const PLACES: &[&str] = &["~/.gemini/policies/", ".gemini/policies/"];

/// All policy files together.
pub(super) const PERSONAL: Personal = Personal { places: PLACES, model };

fn model(files: &Files<'_>, name: &str) -> Option<Model> {
    let own = tools::needs(&files(&tools::path(name))?).map(str::to_owned);
    let others = PLACES.iter().flat_map(|dir| files_in(files, dir, ".toml"));
    let others = others.filter(|(path, _)| own.as_ref() != Some(path));
    // Gemini passes over a file that it does not take.
    let mut rules: Vec<(i64, Ruled)> =
        others.filter_map(|(_, text)| policy::ranked(&text, name)).flatten().collect();
    if let Some(path) = &own {
        rules.extend(policy::ranked(&files(path)?, name)?);
    }
    tools::found(files, name, &policy::sorted(rules))
}
