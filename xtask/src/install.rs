//! What `ci` needs beyond a bare Rust toolchain, and how it gets it.

use crate::process::{program, run, succeeds};

/// A tool that a step or a test cannot do without.
struct Need {
    /// What a person calls it.
    what: &'static str,
    /// Succeeds when it is there.
    probe: &'static str,
    /// Brings it.
    install: &'static str,
}

const NEEDS: &[Need] = &[
    Need {
        what: "the formatter",
        probe: "cargo fmt --version",
        install: "rustup component add rustfmt",
    },
    Need {
        what: "the linter",
        probe: "cargo clippy --version",
        install: "rustup component add clippy",
    },
];

/// Installs what is missing; says nothing of what is there.
pub(crate) fn ensure() -> Result<(), String> {
    NEEDS.iter().try_for_each(Need::ensure)
}

impl Need {
    fn ensure(&self) -> Result<(), String> {
        let Self { what, probe, install } = self;
        if succeeds(&mut program(probe)) {
            return Ok(());
        }
        println!("{what} is missing: {install}");
        run(&mut program(install)).map_err(|error| format!("{what} is missing: {error}"))?;
        if succeeds(&mut program(probe)) {
            return Ok(());
        }
        Err(format!("{what} is still missing: `{probe}` fails after `{install}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_met_or_named() {
        let there = Need { what: "cargo", probe: "cargo --version", install: "no-such-program" };
        assert_eq!(there.ensure(), Ok(()));
        let missing = Need { probe: "no-such-probe", ..there };
        let error = missing.ensure().expect_err("a program that does not exist");
        assert!(error.starts_with("cargo is missing: `no-such-program`"), "{error}");
    }
}
