//! AgentFS homes. Beside the agents below `agents/`, a home has receipts of their runs.

use std::collections::BTreeSet;

use agentry_formats::{FORMATS, PackageFiles as _, info};
use agentry_text::path::split;
use agentry_text::{Diagnostic, Findings, SourceFiles};

use crate::config::WorkspaceConfig;
use crate::discover::FoundAgent;
use crate::files::WorldFiles;
use crate::finding_text;
use crate::suppress::suppress;
use crate::world::World;

/// A receipt in a home.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HomeReceipt {
    /// The home.
    pub home: String,
    /// The receipt, relative to the home.
    pub path: String,
}

/// The findings about a receipt.
#[derive(Debug)]
pub struct CheckedReceipt {
    /// The file.
    pub sources: SourceFiles,
    /// The findings, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

/// The receipt with this path, if it matches `<home>/runs/<run>/receipts/<name>.yaml`.
pub(crate) fn receipt(path: &str) -> Option<HomeReceipt> {
    let (dir, name) = split(path);
    let (dir, receipts) = split(dir);
    let (dir, run) = split(dir);
    let (home, runs) = split(dir);
    let fits = receipts == "receipts"
        && runs == "runs"
        && !run.is_empty()
        && name.strip_suffix(".yaml").is_some_and(|stem| !stem.is_empty());
    fits.then(|| HomeReceipt { home: home.to_owned(), path: format!("runs/{run}/receipts/{name}") })
}

/// Keeps the receipts of directories that are homes: those with an AgentFS agent in `agents/<id>/`.
pub(crate) fn of_homes(mut receipts: Vec<HomeReceipt>, agents: &[FoundAgent]) -> Vec<HomeReceipt> {
    let home = |found: &FoundAgent| {
        let (agents, _) = split(&found.dir);
        let (home, name) = split(agents);
        (info(found.format).check_receipt.is_some() && name == "agents").then(|| home.to_owned())
    };
    let homes: BTreeSet<_> = agents.iter().filter_map(home).collect();
    receipts.retain(|receipt| homes.contains(&receipt.home));
    receipts.sort();
    receipts.dedup();
    receipts
}

/// Reads a receipt and applies the severities of the workspace to its findings.
pub fn check_receipt(
    world: &dyn World,
    receipt: &HomeReceipt,
    config: &WorkspaceConfig,
) -> CheckedReceipt {
    let mut findings = Findings::default();
    let workspace = world.workspace(&receipt.home);
    let mut files = WorldFiles::new(world, &receipt.home, workspace);
    let source = files.read(&receipt.path, &mut findings);
    let check = FORMATS.iter().find_map(|row| row.check_receipt);
    if let Some((source, check)) = source.zip(check) {
        check(&source, &mut findings);
    }
    let mut sources = std::mem::take(&mut files.sources);
    let diagnostics = finding_text::ready(&mut sources, findings);
    let mut diagnostics = suppress(&sources, usize::MAX, diagnostics);
    // A receipt records what happened, so `--fix` does not change it.
    diagnostics.iter_mut().for_each(|found| found.fix = None);
    CheckedReceipt { sources, diagnostics: config.weigh(finding_text::capped(diagnostics)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipts_are_recognised_by_their_path() {
        let cases = [
            ("runs/1/receipts/a.yaml", Some(("", "runs/1/receipts/a.yaml"))),
            ("x/home/runs/1/receipts/a.yaml", Some(("x/home", "runs/1/receipts/a.yaml"))),
            ("/runs/1/receipts/a.yaml", Some(("/", "runs/1/receipts/a.yaml"))),
            ("home/runs/1/receipts/a.json", None),
            ("home/runs/1/receipts/.yaml", None),
            ("home/runs/receipts/a.yaml", None),
            ("receipts/a.yaml", None),
            ("a.yaml", None),
        ];
        for (path, expected) in cases {
            let found = receipt(path);
            let found = found.as_ref().map(|found| (found.home.as_str(), found.path.as_str()));
            assert_eq!(found, expected, "{path}");
        }
    }
}
