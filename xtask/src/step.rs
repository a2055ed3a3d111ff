//! The output of a step of `ci`: its name, its command, its result and its time.

use std::time::{Duration, Instant};

/// The result of a step that did not fail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It ran.
    Done,
    /// It cannot run here; the text has the reason and a hint.
    Skipped(String),
}

/// Runs one step between its opening and its closing line.
pub(crate) fn run(
    name: &str,
    what: &str,
    work: impl FnOnce() -> Result<Outcome, String>,
) -> Result<Outcome, String> {
    println!("{}", line('>', name, what));
    let start = Instant::now();
    let result = work();
    println!("{}\n", closing(name, start.elapsed(), &result));
    result
}

/// One aligned line: a mark, the name of the step, the rest.
pub(crate) fn line(mark: char, name: &str, rest: &str) -> String {
    format!("{mark} {name:<10} {rest}")
}

/// Seconds with one decimal; from a minute on, minutes and seconds.
pub(crate) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        whole => format!("{} min {} s", whole / 60, whole % 60),
    }
}

fn closing(name: &str, time: Duration, result: &Result<Outcome, String>) -> String {
    let time = seconds(time);
    match result {
        Ok(Outcome::Done) => line('=', name, &format!("ok, {time}")),
        Ok(Outcome::Skipped(why)) => line('!', name, &format!("SKIPPED: {why}")),
        Err(_) => line('x', name, &format!("failed, {time}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_minutes_and_seconds() {
        let cases =
            [(0, "0.0 s"), (59_900, "59.9 s"), (60_000, "1 min 0 s"), (512_300, "8 min 32 s")];
        for (time, expected) in cases {
            assert_eq!(seconds(Duration::from_millis(time)), expected);
        }
    }

    #[test]
    fn step_results_are_aligned() {
        let cases = [
            ("lint", Ok(Outcome::Done), "= lint       ok, 1.5 s"),
            ("deny", Ok(Outcome::Skipped("no tool".into())), "! deny       SKIPPED: no tool"),
            ("tests", Err("two failed".into()), "x tests      failed, 1.5 s"),
        ];
        for (name, result, expected) in cases {
            assert_eq!(closing(name, Duration::from_millis(1500), &result), expected, "{name}");
        }
    }
}
