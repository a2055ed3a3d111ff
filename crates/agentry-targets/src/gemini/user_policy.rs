//! Other policy files of the user, which Gemini joins all by priority, and the servers that the user trusts.

use super::policy::{self, GeminiRule};
use super::tools;
use super::trust::{self, TrustedServers};
use crate::user_settings::files_in;
use crate::{HarnessFiles, HarnessModel, UserSettings};

/// Where Gemini looks by itself: from a project, and where agents are rendered for the user.
const POLICIES: [&str; 2] = ["~/.gemini/policies/", ".gemini/policies/"];

/// All policy files together, and what the user's settings say of servers.
pub(super) const PERSONAL: UserSettings =
    UserSettings { places: &[POLICIES[0], POLICIES[1], trust::HOME], model };

fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    let own = tools::needs(&files.text(&tools::path(name))?).map(str::to_owned);
    let others = others(files, own.as_deref()).into_iter();
    // Gemini passes over a file that it does not take.
    let mut rules: Vec<(i64, GeminiRule)> =
        others.filter_map(|(_, text)| policy::ranked(&text, name)).flatten().collect();
    if let Some(path) = &own {
        rules.extend(policy::ranked(&files.text(path)?, name)?);
    }
    tools::found(files, name, &policy::sorted(rules), &TrustedServers::of_user(files))
}

/// All policy files that Gemini reads by itself but for the one that an agent says it needs.
pub(super) fn others(files: &dyn HarnessFiles, needed: Option<&str>) -> Vec<(String, String)> {
    let all = POLICIES.iter().flat_map(|dir| files_in(files, dir, ".toml"));
    all.filter(|(path, _)| needed != Some(path.as_str())).collect()
}
