//! Installs what `ci` needs in addition to a Rust toolchain.

use crate::process::{program, run, succeeds};

/// A tool that a step or a test needs.
struct Need {
    /// Its name in messages.
    what: &'static str,
    /// A command that succeeds if it is installed.
    probe: &'static str,
    /// Commands that may install it, tried in turn.
    install: &'static [&'static str],
    /// The consequence if it cannot be installed; `None` if it is required.
    otherwise: Option<&'static str>,
}

const NEEDS: &[Need] = &[
    Need {
        what: "the formatter",
        probe: "cargo fmt --version",
        install: &["rustup component add rustfmt"],
        otherwise: None,
    },
    Need {
        what: "the linter",
        probe: "cargo clippy --version",
        install: &["rustup component add clippy"],
        otherwise: None,
    },
    Need {
        what: "bubblewrap",
        probe: "bwrap --version",
        install: &[
            "apt-get install -y bubblewrap",
            "apt-get update",
            "apt-get install -y bubblewrap",
            "sudo -n apt-get install -y bubblewrap",
            "sudo -n dnf install -y bubblewrap",
        ],
        otherwise: Some("no command line will be run by the tests"),
    },
    Need {
        what: "a registry",
        probe: "docker-registry --version",
        install: &[
            "apt-get install -y docker-registry",
            "apt-get update",
            "apt-get install -y docker-registry",
            "sudo -n apt-get install -y docker-registry",
        ],
        otherwise: Some("no agent goes through a real registry"),
    },
    Need {
        what: "skopeo",
        probe: "skopeo --version",
        install: &[
            "apt-get install -y --no-install-recommends skopeo",
            "apt-get update",
            "apt-get install -y --no-install-recommends skopeo",
            "sudo -n apt-get install -y --no-install-recommends skopeo",
        ],
        otherwise: Some("no agent is copied between registries"),
    },
    Need {
        what: "pre-commit",
        probe: "pre-commit --version",
        install: &[
            "apt-get install -y --no-install-recommends pre-commit",
            "apt-get update",
            "apt-get install -y --no-install-recommends pre-commit",
            "sudo -n apt-get install -y --no-install-recommends pre-commit",
        ],
        otherwise: Some("no hook is run by pre-commit"),
    },
    Need {
        what: "openssl",
        probe: "openssl version",
        install: &["apt-get install -y openssl", "apt-get update", "apt-get install -y openssl"],
        otherwise: Some("no registry has TLS in the tests"),
    },
    Need {
        what: "Postgres",
        probe: "find /usr/lib/postgresql -name initdb",
        install: &[
            "apt-get install -y --no-install-recommends postgresql",
            "apt-get update",
            "apt-get install -y --no-install-recommends postgresql",
            "sudo -n apt-get install -y --no-install-recommends postgresql",
        ],
        otherwise: Some("no run is shared by several machines"),
    },
    Need {
        what: "a browser with its driver",
        probe: "chromedriver --version",
        install: &[
            "apt-get install -y chromium chromium-driver",
            "apt-get update",
            "apt-get install -y chromium chromium-driver",
            "sudo -n apt-get install -y chromium chromium-driver",
        ],
        otherwise: Some("the page of the server will not be tested in a browser"),
    },
];

/// The search programs of Pi, which would download them; the suite runs it without a network.
const SEARCHES: &[Need] = &[
    Need {
        what: "ripgrep",
        probe: "rg --version",
        install: &["apt-get install -y ripgrep", "apt-get update", "apt-get install -y ripgrep"],
        otherwise: Some("Pi will not search files by what is in them"),
    },
    Need {
        what: "fd",
        probe: "fdfind --version",
        install: &["apt-get install -y fd-find", "apt-get update", "apt-get install -y fd-find"],
        otherwise: Some("Pi will not search files by their names"),
    },
];

/// Installs missing tools; installed ones are not mentioned.
pub(crate) fn ensure() -> Result<(), String> {
    NEEDS.iter().try_for_each(Need::ensure)
}

/// The same for the programs that clients need.
pub(crate) fn ensure_searches() -> Result<(), String> {
    SEARCHES.iter().try_for_each(Need::ensure)
}

impl Need {
    fn ensure(&self) -> Result<(), String> {
        let Self { what, probe, install, otherwise } = self;
        if succeeds(&mut program(probe)) {
            return Ok(());
        }
        let mut complaint = "nothing brings it".to_owned();
        for way in *install {
            println!("{what} is missing: {way}");
            complaint = run(&mut program(way))
                .err()
                .unwrap_or_else(|| format!("`{probe}` fails after `{way}`"));
            if succeeds(&mut program(probe)) {
                return Ok(());
            }
        }
        match otherwise {
            Some(loss) => {
                println!("SKIPPED: {what} is missing ({complaint}): {loss}");
                Ok(())
            }
            None => Err(format!("{what} is missing: {complaint}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tools_are_reported() {
        let install = &["no-such-program"];
        let there = Need { what: "cargo", probe: "cargo --version", install, otherwise: None };
        assert_eq!(there.ensure(), Ok(()));
        let missing = Need { probe: "no-such-probe", ..there };
        let error = missing.ensure().expect_err("a program that does not exist");
        assert!(error.starts_with("cargo is missing: `no-such-program`"), "{error}");
        let dispensable = Need { otherwise: Some("less is tested"), ..missing };
        assert_eq!(dispensable.ensure(), Ok(()));
    }
}
