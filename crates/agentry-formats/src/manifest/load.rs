//! Loads the files of a manifest: the YAML, and in a directory the Markdown beside it.

use agentry_text::tree_rules::DUPLICATE_KEY;
use agentry_text::yaml::{self, YAML_RARE_TAG, YamlVersion};
use agentry_text::{Diagnostic, Findings, Severity, SourceFile, Span, TreeNode, hygiene};

use crate::AgentPackage;

/// A manifest that is parsed but not yet read into the model.
#[derive(Debug)]
pub(super) struct LoadedManifest {
    /// The YAML.
    pub(super) source: SourceFile,
    /// The parsed tree.
    pub(super) node: TreeNode,
    /// Whether the manifest is a directory.
    pub(super) is_directory: bool,
    /// `SOUL.md`.
    pub(super) soul: Option<SourceFile>,
    /// `RULES.md`.
    pub(super) rules: Option<SourceFile>,
    /// The first problem because of which the tree differs from the file, if there is one.
    pub(super) broken: Option<(Span, String)>,
}

/// The main files of a directory; the first one wins.
pub(super) const MAIN_FILES: &[&str] = &["agent.yaml", "agent.yml"];

/// Reads the files of `package`.
pub(super) fn load(
    package: &mut AgentPackage<'_>,
    findings: &mut Findings,
) -> Option<LoadedManifest> {
    let mut problems = Findings::default();
    let is_directory = MAIN_FILES.contains(&package.main.as_str());
    let source = package.read_main(&mut problems);
    let loaded = source.map(|source| {
        let range = 0..source.text.len();
        let node = yaml::parse(&source, range, YamlVersion::V1_1, &mut problems);
        let mut beside = |path| package.read(path, &mut problems).filter(|_| is_directory);
        let soul = if is_directory { beside("SOUL.md") } else { None };
        let rules = if is_directory { beside("RULES.md") } else { None };
        let broken = problems.iter().find(|found| breaks(found));
        let broken = broken.map(|found| (found.span, found.message.clone()));
        LoadedManifest { source, node, is_directory, soul, rules, broken }
    });
    findings.extend(problems);
    loaded
}

/// Whether a finding means that the tree lacks a part of the file. Repeated keys are harmless: the last one
/// wins, as in the reference. Hidden characters are part of the text. A value with a rare tag is rejected
/// but still read.
fn breaks(found: &Diagnostic) -> bool {
    let harmless = [&DUPLICATE_KEY, &YAML_RARE_TAG].contains(&found.rule)
        || hygiene::RULES.contains(&found.rule);
    found.severity == Severity::Error && !harmless
}
