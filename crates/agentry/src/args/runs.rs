//! What can be typed about runs.

use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};

use super::ResultFormat;

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RunsArguments {
    #[command(subcommand)]
    pub(crate) command: Option<RunsCommand>,
    /// Only the runs of this agent: its id, its name or its path
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// Show what a run has done
    Show(RunsShowArguments),
    /// Follow a run
    Tail(RunsTailArguments),
    /// Remove old runs
    Prune(RunsPruneArguments),
    /// Restore the files that a run changed
    ///
    /// Only files that are still as the run left them are restored. Changes made by commands are not
    /// recorded, and stay.
    Undo(RunsUndoArguments),
    /// Show what a run made of its Git commit, as a patch
    Result(RunsResultArguments),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunsShowArguments {
    /// The run: its id, the start or the end of the id, or `last`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// How to print it
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunsTailArguments {
    /// The run: its id, the start or the end of the id, or `last`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// How to print it; JSON is one event per line
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunsPruneArguments {
    /// How old a run must be: `30d`, `12h`, `2w`
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) older_than: Duration,
    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunsUndoArguments {
    /// The run: its id, the start or the end of the id, or `last`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Also restore files that were changed since
    #[arg(long)]
    pub(crate) force: bool,
    /// List what would be restored, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct RunsResultArguments {
    /// The run: its id, the start or the end of the id, or `last`
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Store it as a commit in the repository here, at `refs/agentry/runs/ID`
    #[arg(long)]
    pub(crate) fetch: bool,
    /// How to report
    #[arg(long, value_enum, default_value = "human", value_name = "FORMAT")]
    pub(crate) format: ResultFormat,
}

/// A number and a unit.
fn age(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number and a unit: `30d`, `12h`, `45m`, `2w`".to_owned();
    let at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(at);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_parse_with_a_unit() {
        let cases = [
            ("30d", Some(2_592_000)),
            ("12h", Some(43_200)),
            ("0m", Some(0)),
            ("2w", Some(1_209_600)),
            ("90s", Some(90)),
            ("30", None),
            ("d", None),
            ("-1d", None),
            ("1 d", None),
            ("99999999999999999999d", None),
            ("9999999999999999d", None),
        ];
        for (text, expected) in cases {
            assert_eq!(age(text).ok().map(|age| age.as_secs()), expected, "{text}");
        }
    }
}
