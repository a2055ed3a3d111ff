//! The four output formats of `check`. For a person the worst findings come first, so they are kept until the
//! end; programs get every finding in the order of the files.

use std::collections::BTreeMap;
use std::io;

use agentry_compile::checks::harness::AgentSummary;
use agentry_compile::text::report::visible;
use agentry_compile::text::report::{CheckSummary, github, human, json, sarif};
use agentry_compile::text::{Diagnostic, Severity, SourceFiles};
use agentry_compile::{Baseline, FoundAgent, FoundHarnessFile, WorkspaceConfig, registry};
use serde_json::{Value, json};

use crate::args::ReportFormat;
use crate::command_report::CommandReport;
use crate::output::{CliFailure, complain, is_quiet, print, print_json, style};

/// Prints findings in one of the formats.
pub(crate) struct CheckReport<'a> {
    config: &'a WorkspaceConfig,
    format: ReportFormat,
    summary: CheckSummary,
    agents: Vec<Value>,
    files: Vec<Value>,
    findings: Vec<Value>,
    human: HumanFindings,
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
            files: Vec::new(),
            findings: Vec::new(),
            human: HumanFindings::default(),
            failures: Vec::new(),
            sarif: sarif::SarifLog::new(env!("CARGO_PKG_VERSION")),
            baseline,
            recording,
            recorded: 0,
            known: 0,
            broken: 0,
        }
    }

    /// Whether nothing was checked.
    pub(crate) fn is_empty(&self) -> bool {
        self.summary.agents == 0 && self.summary.files == 0
    }

    pub(crate) fn agent(&mut self, found: &FoundAgent, name: &str) {
        self.summary.agents += 1;
        if self.format == ReportFormat::Json {
            let name = if name.is_empty() { Value::Null } else { name.into() };
            self.agents
                .push(json!({"path": found.path, "format": found.format.as_str(), "name": name}));
        }
    }

    /// Counts a file of a harness with its agents.
    pub(crate) fn harness(&mut self, found: &FoundHarnessFile, agents: &[AgentSummary]) {
        let is_file_of_agents = found.kind.is_agent();
        let own = agents.iter().filter(|agent| agent.harness != "skill");
        let names: Vec<&str> = own.map(|agent| agent.name.value.as_str()).collect();
        self.summary.agents += names.len().max(usize::from(is_file_of_agents));
        self.summary.files += usize::from(!is_file_of_agents);
        if self.format != ReportFormat::Json {
            return;
        }
        let (path, kind) = (&found.path, found.kind.as_str());
        if is_file_of_agents {
            let name = names.first().map_or(Value::Null, |name| (*name).into());
            self.agents.push(json!({"path": path, "format": kind, "name": name}));
        } else {
            self.files.push(json!({"path": path, "kind": kind, "agents": names}));
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
            ReportFormat::Human => self.human.add(diagnostic, sources),
            ReportFormat::Github => print(&format!("{}\n", github::line(diagnostic, sources))),
            ReportFormat::Json => self.findings.push(json::diagnostic(diagnostic, sources)),
            ReportFormat::Sarif => self.sarif.add(diagnostic, sources),
        }
    }

    /// Prints the end of the report and returns the counts.
    pub(crate) fn finish(&mut self) -> CheckSummary {
        self.human.print();
        match self.format {
            ReportFormat::Human if self.recording || is_quiet() => {}
            // The caller reports why nothing was found.
            ReportFormat::Human if self.summary == CheckSummary::default() && self.known == 0 => {}
            ReportFormat::Human => {
                let known = match self.known {
                    0 => String::new(),
                    1 => " (1 known finding in the baseline)".to_owned(),
                    known => format!(" ({known} known findings in the baseline)"),
                };
                // The findings were printed; each ends with an empty line.
                print(&CommandReport::new(format!("{}{known}", self.summary)).text());
            }
            ReportFormat::Github => {}
            ReportFormat::Json => {
                let value = json!({
                    "agents": std::mem::take(&mut self.agents),
                    "files": std::mem::take(&mut self.files),
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

/// The most findings of one rule that are all shown in full.
const MOST: usize = 5;
/// How many of more findings are shown in full.
const SHOWN: usize = 3;
/// How many places of the others are listed.
const PLACES: usize = 4;

/// The findings for a person.
#[derive(Debug, Default)]
struct HumanFindings {
    /// In the order of the files; the text only of the first ones of a rule.
    list: Vec<HumanFinding>,
    counts: BTreeMap<(Severity, &'static str), usize>,
}

#[derive(Debug)]
struct HumanFinding {
    severity: Severity,
    code: &'static str,
    name: &'static str,
    place: String,
    text: Option<String>,
}

impl HumanFindings {
    fn add(&mut self, diagnostic: &Diagnostic, sources: &SourceFiles) {
        let (severity, code) = (diagnostic.severity, diagnostic.rule.code);
        let count = self.counts.entry((severity, code)).or_default();
        *count += 1;
        let text =
            (*count <= MOST).then(|| human::render(diagnostic, sources, style(&io::stdout())));
        let at = sources.start(diagnostic.span);
        let path = visible(sources.path(diagnostic.span)).into_owned();
        let place = format!("{path}:{}:{}", at.line, at.column);
        self.list.push(HumanFinding { severity, code, name: diagnostic.rule.name, place, text });
    }

    /// Prints errors first, then warnings, then notes. Of a rule with many findings only the first ones are
    /// shown, with the places of some others.
    fn print(&mut self) {
        let list = std::mem::take(&mut self.list);
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            let mut done = BTreeMap::new();
            for found in list.iter().filter(|found| found.severity == severity) {
                let count = self.counts.get(&(severity, found.code)).copied().unwrap_or(0);
                let shown = done.entry(found.code).or_insert(0);
                *shown += 1;
                let is_shown = count <= MOST || *shown <= SHOWN;
                if let Some(text) = found.text.as_ref().filter(|_| is_shown) {
                    print(&format!("{text}\n"));
                }
                if count > MOST && *shown == SHOWN {
                    print(&rest(&list, found, count - SHOWN));
                }
            }
        }
    }
}

/// The line for the findings of a rule that are not shown.
fn rest(list: &[HumanFinding], of: &HumanFinding, count: usize) -> String {
    let same = |found: &&HumanFinding| found.severity == of.severity && found.code == of.code;
    let places = list.iter().filter(same).skip(SHOWN).take(PLACES);
    let places: Vec<String> = places.map(|it| format!(" --> {}\n", it.place)).collect();
    let places = places.concat();
    let HumanFinding { severity, code, name, .. } = of;
    format!(
        "{severity}[{code}]: {count} more of `{name}`\n{places}  = help: `--format json` lists all of them\n\n"
    )
}
