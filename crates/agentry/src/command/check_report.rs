//! The four output formats of `check`, written finding by finding.

use std::io;

use agentry_compile::text::report::{CheckSummary, github, human, json, sarif};
use agentry_compile::text::{Diagnostic, SourceFiles};
use agentry_compile::{Baseline, FoundAgent, WorkspaceConfig, registry};
use serde_json::{Value, json};

use crate::args::ReportFormat;
use crate::output::{CliFailure, complain, print, print_json, style};

/// Prints findings in one of the formats as they arrive.
pub(crate) struct CheckReport<'a> {
    config: &'a WorkspaceConfig,
    format: ReportFormat,
    summary: CheckSummary,
    agents: Vec<Value>,
    findings: Vec<Value>,
    failures: Vec<Value>,
    sarif: sarif::SarifLog,
    /// The findings that are not reported again; with `recording`, the findings of this run.
    pub(crate) baseline: Baseline,
    recording: bool,
    /// The number of recorded findings.
    pub(crate) recorded: usize,
    known: usize,
    /// Agents that could not be checked.
    pub(crate) broken: usize,
}

impl<'a> CheckReport<'a> {
    pub(crate) fn new(
        config: &'a WorkspaceConfig,
        format: ReportFormat,
        baseline: Baseline,
        recording: bool,
    ) -> Self {
        Self {
            config,
            format,
            summary: CheckSummary::default(),
            agents: Vec::new(),
            findings: Vec::new(),
            failures: Vec::new(),
            sarif: sarif::SarifLog::new(env!("CARGO_PKG_VERSION")),
            baseline,
            recording,
            recorded: 0,
            known: 0,
            broken: 0,
        }
    }

    pub(crate) fn agent(&mut self, found: &FoundAgent, name: &str) {
        self.summary.agents += 1;
        if self.format == ReportFormat::Json {
            let name = if name.is_empty() { Value::Null } else { name.into() };
            self.agents
                .push(json!({"path": found.path, "format": found.format.as_str(), "name": name}));
        }
    }

    /// Reports a path that could not be checked.
    pub(crate) fn failure(&mut self, failure: &CliFailure) {
        complain(failure);
        let CliFailure { path, message, hint, .. } = failure;
        self.failures.push(json!({"path": path, "message": message, "hint": hint}));
    }

    pub(crate) fn diagnostics(&mut self, diagnostics: &[Diagnostic], sources: &SourceFiles) {
        for diagnostic in diagnostics {
            let path = || self.config.from_root(sources.path(diagnostic.span));
            if self.recording {
                self.baseline.add(&path(), diagnostic);
                self.recorded += 1;
            } else if self.baseline.take(&path(), diagnostic) {
                self.known += 1;
            } else {
                self.summary.count(diagnostic);
                self.one(diagnostic, sources);
            }
        }
    }

    fn one(&mut self, diagnostic: &Diagnostic, sources: &SourceFiles) {
        match self.format {
            ReportFormat::Human => {
                print(&format!("{}\n", human::render(diagnostic, sources, style(&io::stdout()))));
            }
            ReportFormat::Github => print(&format!("{}\n", github::line(diagnostic, sources))),
            ReportFormat::Json => self.findings.push(json::diagnostic(diagnostic, sources)),
            ReportFormat::Sarif => self.sarif.add(diagnostic, sources),
        }
    }

    /// Prints the end of the report and returns the counts.
    pub(crate) fn finish(&mut self) -> CheckSummary {
        match self.format {
            ReportFormat::Human if self.recording => {}
            // The caller reports why nothing was found.
            ReportFormat::Human if self.summary == CheckSummary::default() && self.known == 0 => {}
            ReportFormat::Human => {
                let known = match self.known {
                    0 => String::new(),
                    1 => " (1 known finding in the baseline)".to_owned(),
                    known => format!(" ({known} known findings in the baseline)"),
                };
                print(&format!("{}{known}\n", self.summary));
            }
            ReportFormat::Github => {}
            ReportFormat::Json => {
                let value = json!({
                    "agents": std::mem::take(&mut self.agents),
                    "diagnostics": std::mem::take(&mut self.findings),
                    "failures": std::mem::take(&mut self.failures),
                    "summary": json::summary(&self.summary),
                });
                print_json(&value);
            }
            ReportFormat::Sarif => {
                let log = std::mem::replace(&mut self.sarif, sarif::SarifLog::new(""));
                print_json(&log.finish(registry()));
            }
        }
        self.summary
    }
}
