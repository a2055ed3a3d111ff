//! Reads an agent directory: `instructions.md` first, then each optional part.

use agentry_model::Agent;
use agentry_model::slug;
use agentry_text::markdown::{self, MarkdownParts};
use agentry_text::{FileId, Findings, SourceFile, Span, Spanned};

use super::rules::{
    DIRECTORY_FOR_FILE, DIRECTORY_NAME, EMPTY_INSTRUCTIONS, INSTRUCTIONS_METADATA, NO_INSTRUCTIONS,
};
use super::{RULES_MARK, acl, schedules, tools};
use crate::front_matter::trimmed;
use crate::skill::{self, SkillDialect};
use crate::{AgentPackage, PathBase, PathPresence};

/// The name of the required file.
pub(super) const INSTRUCTIONS: &str = "instructions.md";

/// Reads an agent directory. Never fails: a part that cannot be read is reported and left out.
pub(super) fn read(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Agent {
    let mut agent = Agent::default();
    let home = instructions(package, &mut agent, findings);
    let mut reader = AgentDirReader { package, findings, home };
    acl::read(&mut reader, &mut agent);
    agent.skill_packs =
        skill::read_all(reader.package, "skills", SkillDialect::AgentDir, reader.findings);
    schedules::read(&mut reader, &mut agent);
    tools::read(&mut reader, &mut agent);
    agent
}

/// The state that every part of the reader needs.
pub(super) struct AgentDirReader<'r, 'w> {
    pub(super) package: &'r mut AgentPackage<'w>,
    pub(super) findings: &'r mut Findings,
    /// The span for findings about the directory as a whole: the start of `instructions.md`.
    pub(super) home: Span,
}

impl AgentDirReader<'_, '_> {
    /// Returns the Markdown files of a folder with their stems, sorted, except `README.md`.
    pub(super) fn markdown_files(&mut self, folder: &str) -> Vec<(String, SourceFile)> {
        let mut out = Vec::new();
        for listed in self.package.files.list(folder, self.findings) {
            let Some(stem) = listed.name.strip_suffix(".md") else { continue };
            let path = format!("{folder}/{}", listed.name);
            if listed.is_dir {
                self.directory_for_file(&path);
            } else if !stem.eq_ignore_ascii_case("readme")
                && let Some(source) = self.package.read(&path, self.findings)
            {
                out.push((stem.to_owned(), source));
            }
        }
        out
    }

    pub(super) fn directory_for_file(&mut self, path: &str) {
        self.findings
            .add(&DIRECTORY_FOR_FILE, self.home, format!("`{path}` is a directory, not a file"))
            .hint("rename the directory, or make it a file");
    }
}

/// Reads the role; returns the span for findings about the whole directory.
fn instructions(
    package: &mut AgentPackage<'_>,
    agent: &mut Agent,
    findings: &mut Findings,
) -> Span {
    let Some(source) = package.read(INSTRUCTIONS, findings) else {
        return no_instructions(package, findings);
    };
    let home = Span::start_of(source.id);
    name(&package.dir_name, home, agent, findings);
    role(&source, agent);
    let parts = markdown::parts(&source);
    if agent.instructions.system.is_none() && agent.instructions.rules.is_none() {
        findings
            .add(&EMPTY_INSTRUCTIONS, home, "`instructions.md` is empty")
            .hint("say who the agent is and what it does");
    }
    if let Some(metadata) = &parts.metadata {
        findings
            .add(
                &INSTRUCTIONS_METADATA,
                Span::new(source.id, metadata.start, metadata.end),
                "`instructions.md` has no metadata: this block is sent to the model",
            )
            .hint("put settings into `agent.acl`, and remove the block");
    }
    agent.identity.description = description(&source, &parts);
    home
}

/// Reads the role, which is the whole text. Rules that a conversion added follow their mark.
fn role(source: &SourceFile, agent: &mut Agent) {
    let (system, rules) = match source.text.find(RULES_MARK) {
        Some(at) => {
            let rules = Span::new(source.id, at + RULES_MARK.len(), source.text.len());
            (Span::new(source.id, 0, at), trimmed(source, rules))
        }
        None => (source.whole(), None),
    };
    agent.instructions.system = trimmed(source, system);
    agent.instructions.rules = rules;
}

fn no_instructions(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Span {
    let home = Span::start_of(FileId::BUILT_IN);
    let message = match package.files.probe(PathBase::Agent, INSTRUCTIONS) {
        PathPresence::Directory => "`instructions.md` is a directory, not a file",
        PathPresence::Missing | PathPresence::Outside => "there is no `instructions.md`",
        // The file exists, and `read` already reported its problem.
        PathPresence::File => return home,
    };
    findings.add(&NO_INSTRUCTIONS, home, message).hint("write one that says who the agent is");
    home
}

fn name(dir_name: &str, home: Span, agent: &mut Agent, findings: &mut Findings) {
    if dir_name.is_empty() {
        return;
    }
    let sign = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if !dir_name.chars().all(sign) {
        let message = format!("the agent is called like its directory, `{dir_name}`");
        let found = findings.add(&DIRECTORY_NAME, home, message);
        match slug(dir_name).as_str() {
            "" => found.hint("rename the directory to letters, digits and `-`"),
            slug => found.hint(format!("rename the directory to `{slug}`")),
        };
    }
    agent.identity.name = Some(Spanned::new(dir_name.to_owned(), home));
}

/// Returns the first paragraph of the body, on one line.
fn description(source: &SourceFile, parts: &MarkdownParts) -> Option<Spanned<String>> {
    // A body that starts with a heading has its first paragraph below it.
    let under_a_heading = || {
        let sections = markdown::sections(source, parts.body.clone());
        let mut own = sections.iter().map(|section| section.own.range());
        own.find_map(|own| markdown::first_paragraph(source, own))
    };
    let first = markdown::first_paragraph(source, parts.body.clone()).or_else(under_a_heading)?;
    Some(first.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")))
}
