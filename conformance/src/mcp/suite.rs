//! The conformance suite of the protocol, run with the example client of `agentry-mcp`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{self, Finished};
use crate::suite::House;

const EXPECTED: &str = include_str!("../../mcp/expected-failures.txt");
const LIMIT: Duration = Duration::from_mins(3);

/// Runs the suite; returns what is not as expected.
pub(super) fn run(house: &House, modules: &Path) -> Result<Vec<String>, String> {
    let client = house.agentry.with_file_name("examples").join("conformance-client");
    if !client.is_file() {
        return Err(format!("`{}` is not built", client.display()));
    }
    let suite = ConformanceSuite { modules: modules.to_owned(), client };
    let finished = suite.run(&["--suite", "all"])?;
    let results = results(&finished.stdout);
    if results.is_empty() {
        let shown = finished.stderr.lines().rfind(|line| !line.trim().is_empty());
        return Ok(vec![format!("the suite ran no scenario: {}", shown.unwrap_or_default())]);
    }
    let mut defects = Vec::new();
    for (scenario, passed) in &results {
        match (passed, is_expected(scenario)) {
            (true, true) => defects.push(format!("`{scenario}` passes; remove it from the list")),
            // Some scenarios measure times, and the suite runs all at once.
            (false, false) if !suite.passes_alone(scenario)? => {
                defects.push(format!("the client fails the scenario `{scenario}`"));
            }
            _ => {}
        }
    }
    let passed = results.iter().filter(|(_, passed)| *passed).count();
    println!(
        "mcp suite: {passed} of {} scenarios pass, {} fail as expected ({:.1} s)",
        results.len(),
        results.iter().filter(|(name, passed)| !passed && is_expected(name)).count(),
        finished.time.as_secs_f32()
    );
    Ok(defects)
}

struct ConformanceSuite {
    modules: PathBuf,
    client: PathBuf,
}

impl ConformanceSuite {
    fn run(&self, arguments: &[&str]) -> Result<Finished, String> {
        let program = self.modules.join("@modelcontextprotocol/conformance/dist/index.js");
        let mut command = Command::new(self.modules.join(".bin/node"));
        command.arg(program).args(["client", "--timeout", "20000", "--command"]);
        command.arg(&self.client).args(arguments);
        let finished = process::run(&mut command, LIMIT)?;
        if finished.timed_out {
            return Err(format!("the suite took more than {} s", LIMIT.as_secs()));
        }
        Ok(finished)
    }

    fn passes_alone(&self, scenario: &str) -> Result<bool, String> {
        let finished = self.run(&["--scenario", scenario])?;
        let is_passed = finished.stdout.contains("OVERALL: PASSED");
        if !is_passed {
            let output_lines = finished.stdout.lines().chain(finished.stderr.lines());
            output_lines
                .filter(|line| line.trim_start().starts_with("- "))
                .for_each(|line| println!("{line}"));
        }
        Ok(is_passed)
    }
}

/// The scenarios of the summary, and whether each passed: `✓ tools_call: 2 passed, 0 failed`.
fn results(output: &str) -> Vec<(String, bool)> {
    let lines = output.lines().filter_map(|line| {
        let (mark, rest) = line.trim().split_once(' ')?;
        let (name, counts) = rest.split_once(": ")?;
        let is_result = matches!(mark, "✓" | "✗") && counts.contains("passed");
        is_result.then(|| (name.to_owned(), mark == "✓"))
    });
    lines.collect()
}

fn is_expected(scenario: &str) -> bool {
    let lines = EXPECTED.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).any(|(name, _)| name == scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_summary_is_parsed() {
        let text = "=== SUITE SUMMARY ===\n\n✓ tools_call: 2 passed, 0 failed\n\
                    ✗ auth/dpop: 9 passed, 3 failed\nTotal: 11 passed, 3 failed\n";
        let expected = [("tools_call".to_owned(), true), ("auth/dpop".to_owned(), false)];
        assert_eq!(results(text), expected);
    }

    #[test]
    fn every_expected_failure_has_a_reason() {
        assert!(is_expected("auth/dpop") && !is_expected("tools_call"));
        for line in EXPECTED.lines().filter(|line| !line.starts_with('#')) {
            let reason = line.split_once(": ").map(|(_, reason)| reason);
            assert!(reason.is_some_and(|reason| reason.len() > 20), "{line}");
        }
    }
}
