//! `cargo xtask policies`: renders random policies for every target, and compares them with their
//! source.

use crate::process::{self, cargo};

/// The default number of policies, which takes an hour.
const COUNT: u32 = 10_000;
const TEST: &str = "property::no_target_permits_more_than_the_source";

/// Reads `[COUNT]`.
pub(crate) fn count(arguments: &[&str]) -> Result<u32, String> {
    match arguments {
        [] => Ok(COUNT),
        [count] => count.parse().map_err(|_| format!("`{count}` is not a number of policies")),
        [_, other, ..] => Err(format!("`policies` has no argument `{other}`")),
    }
}

/// Renders the policies; prints the results for each target.
pub(crate) fn run(count: u32) -> Result<(), String> {
    let mut command = cargo("test --profile dist --package agentry-compile --test render --");
    command.args(["--exact", TEST, "--nocapture"]);
    process::run(command.env("AGENTRY_RENDER_CASES", count.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_counts_are_parsed() {
        let cases: [(&[&str], _); 4] = [
            (&[], Ok(COUNT)),
            (&["7"], Ok(7)),
            (&["many"], Err("`many` is not a number of policies".to_owned())),
            (&["7", "8"], Err("`policies` has no argument `8`".to_owned())),
        ];
        for (arguments, expected) in cases {
            assert_eq!(count(arguments), expected, "{arguments:?}");
        }
    }
}
