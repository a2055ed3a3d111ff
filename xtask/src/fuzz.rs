//! `cargo xtask fuzz`: feeds the parsers random bytes until the time is over or one panics.

use std::path::Path;

use crate::process::{self, program, succeeds};

const TARGETS: &str = "fuzz/fuzz_targets";
/// The fuzzer adds new inputs to the first directory; the second one is kept with the code.
const INPUTS: [&str; 2] = ["fuzz/corpus", "fuzz/seeds"];
/// A dictionary, a size limit like that of a definition, and a time limit for each input.
const OPTIONS: &str = "-dict=fuzz/words.dict -max_len=8192 -timeout=10";

/// The parsed arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Request {
    target: Option<String>,
    seconds: u32,
}

impl Request {
    /// Reads `[TARGET] [--seconds N]`.
    pub(crate) fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut request = Self { target: None, seconds: 60 };
        let mut rest = arguments;
        loop {
            rest = match rest {
                [] => return Ok(request),
                ["--seconds", count, tail @ ..] => {
                    request.seconds = count
                        .parse()
                        .map_err(|_| format!("`{count}` is not a number of seconds"))?;
                    tail
                }
                [name, tail @ ..] if request.target.is_none() && !name.starts_with('-') => {
                    request.target = Some((*name).to_owned());
                    tail
                }
                [other, ..] => return Err(format!("`fuzz` has no argument `{other}`")),
            };
        }
    }
}

/// Checks the tools and the targets, then fuzzes.
pub(crate) fn run(request: &Request) -> Result<(), String> {
    let known = targets()?;
    if !succeeds(&mut program("cargo +nightly fuzz --version")) {
        return Err("fuzzing needs a nightly toolchain and `cargo-fuzz`: \
             `rustup toolchain install nightly` and `cargo install cargo-fuzz --locked`"
            .to_owned());
    }
    match &request.target {
        None => fuzz(request, &known),
        Some(name) if known.contains(name) => fuzz(request, std::slice::from_ref(name)),
        Some(name) => Err(format!("`{name}` is not a fuzz target; there are {}", known.join(", "))),
    }
}

/// Fuzzes the targets one after the other.
fn fuzz(request: &Request, targets: &[String]) -> Result<(), String> {
    for target in targets {
        let time = request.seconds;
        println!("fuzzing `{target}` for {time} seconds");
        let [corpus, seeds] = INPUTS.map(|folder| format!("{folder}/{target}"));
        std::fs::create_dir_all(&corpus)
            .map_err(|error| format!("`{corpus}` cannot be made: {error}"))?;
        let inputs = format!("{corpus} {seeds}");
        let line = format!(
            "cargo +nightly fuzz run {target} {inputs} -- -max_total_time={time} {OPTIONS}"
        );
        process::run(&mut program(&line))?;
    }
    Ok(())
}

/// The targets, by the names of their files.
fn targets() -> Result<Vec<String>, String> {
    let entries = Path::new(TARGETS).read_dir().map_err(|error| {
        format!("there is nothing to fuzz: `{TARGETS}` cannot be read: {error}")
    })?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut names: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_arguments_are_parsed() {
        let request =
            |target: Option<&str>, seconds| Request { target: target.map(str::to_owned), seconds };
        let cases: [(&[&str], _); 5] = [
            (&[], Ok(request(None, 60))),
            (&["yaml"], Ok(request(Some("yaml"), 60))),
            (&["--seconds", "5", "yaml"], Ok(request(Some("yaml"), 5))),
            (&["--seconds", "many"], Err("`many` is not a number of seconds".to_owned())),
            (&["yaml", "json"], Err("`fuzz` has no argument `json`".to_owned())),
        ];
        for (arguments, expected) in cases {
            assert_eq!(Request::parse(arguments), expected, "{arguments:?}");
        }
    }
}
