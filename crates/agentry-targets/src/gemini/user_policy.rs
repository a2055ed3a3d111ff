//! Other policy files of the user, which Gemini merges by priority, and the servers that the user trusts.

use super::policy::{self, GeminiRule};
use super::tools;
use super::trust::{self, TrustedServers};
use crate::user_settings::files_in;
use crate::{HarnessFiles, HarnessModel, UserSettings};

/// The directories that Gemini reads: from a project, and when agents are rendered for the user.
const POLICIES: [&str; 2] = ["~/.gemini/policies/", ".gemini/policies/"];

/// All policy files together, and the trusted servers of the user.
pub(super) const PERSONAL: UserSettings =
    UserSettings { places: &[POLICIES[0], POLICIES[1], trust::HOME], model };

fn model(files: &dyn HarnessFiles, name: &str) -> Option<HarnessModel> {
    let own = tools::needs(&files.text(&tools::path(name))?).map(str::to_owned);
    let others = others(files, own.as_deref()).into_iter();
    // Gemini skips a file that it rejects.
    let mut rules: Vec<(i64, GeminiRule)> =
        others.filter_map(|(_, text)| policy::ranked(&text, name)).flatten().collect();
    if let Some(path) = &own {
        rules.extend(policy::ranked(&files.text(path)?, name)?);
    }
    tools::found(files, name, &policy::sorted(rules), &TrustedServers::of_user(files))
}

/// Returns all policy files that Gemini reads, except the one that the agent names.
pub(super) fn others(files: &dyn HarnessFiles, needed: Option<&str>) -> Vec<(String, String)> {
    let all = POLICIES.iter().flat_map(|dir| files_in(files, dir, ".toml"));
    all.filter(|(path, _)| needed != Some(path.as_str())).collect()
}
