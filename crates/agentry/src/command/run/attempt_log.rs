//! Writes down what a run attempts against protected paths: calls that are denied for it, and commands whose changes are rolled
//! back. The receipt of the run lists these attempts.

use std::path::Path;
use std::sync::Arc;

use agentry_compile::render::is_protection;
use agentry_home::HomeLayout;
use agentry_home::evolution::{AuditEntry, AuditLog};
use agentry_home::receipt::AgentChain;
use agentry_runtime::CallJudgement;
use agentry_runtime::driver::interfaces::OutputSink;
use agentry_runtime::driver::output::RunOutput;
use serde_json::Value;

use super::home_tools::NAME;
use super::prepared_agent::PreparedAgent;
use crate::output::remark;

/// How the result of a call begins that was denied just before it ran.
const REFUSED: &str = "refused: ";

/// A sink that logs attempts and passes everything on to `hears`. `directory` is that of the run.
pub(super) fn logged(ground: &PreparedAgent, directory: &Path, hears: OutputSink) -> OutputSink {
    let layout = HomeLayout::new(&ground.home);
    let chain = AgentChain::of(&layout, &ground.full_path(), ground.agent.name());
    let run = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
    let log = AuditLog::new(&layout);
    Arc::new(move |output: RunOutput| {
        if let Some((file, outcome, reason)) = attempt(&output) {
            let (agent, run) = (chain.as_str(), Some(run.as_str()));
            let (file, reason) = (file.as_str(), reason.as_str());
            let entry = AuditEntry { agent, run, file, proposal: None, outcome, reason };
            // The attempt has failed already, so the run goes on.
            if let Err(error) = log.append(&entry) {
                remark(&format!("warning: the audit log cannot be written: {error}"));
            }
        }
        hears(output);
    })
}

/// The file, what became of it, and why, if an output is about an attempt.
fn attempt(output: &RunOutput) -> Option<(String, &'static str, String)> {
    match output {
        RunOutput::Call { tool, arguments, verdict: CallJudgement::Deny, reason, .. }
            // An agent without the tool to propose changes may still call it.
            if is_protection(reason) || tool == NAME =>
        {
            let named = arguments.get("path").or_else(|| arguments.get("file"));
            let path = named.and_then(Value::as_str).unwrap_or(tool);
            Some((path.to_owned(), "denied", reason.clone()))
        }
        RunOutput::Result { text, failed: true, .. }
            if text.starts_with(REFUSED) && is_protection(text) =>
        {
            let reason = text.trim_start_matches(REFUSED).to_owned();
            Some(("a call".to_owned(), "denied", reason))
        }
        RunOutput::Quarantined(report) => {
            let outcome = if report.failed.is_some() { "not restored" } else { "restored" };
            Some((report.path.clone(), outcome, report.to_string()))
        }
        _ => None,
    }
}
