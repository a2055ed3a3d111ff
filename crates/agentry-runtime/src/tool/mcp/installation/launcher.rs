//! The command lines that name a package instead of a program: `npx -y PACKAGE`, `uvx PACKAGE`.

use std::path::Path;

use super::{ProgramPlaces, node, python};

/// A launcher of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PackageKind {
    Node,
    Python,
}

/// What a launcher is asked to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PackageLaunch {
    kind: PackageKind,
    /// The package as it is written, maybe with a version.
    package: String,
    /// The program of the package, if it is named apart.
    program: Option<String>,
    arguments: Vec<String>,
}

/// Options of launchers that change nothing about which program runs.
const FLAGS: &[&str] = &["-y", "--yes", "-q", "--quiet", "--silent", "--isolated", "--offline"];

impl PackageLaunch {
    /// Reads a command line; returns `None` for one that names no package, or has options that are not
    /// understood.
    pub(super) fn read(argv: &[String]) -> Option<Self> {
        let words: Vec<&str> = argv.iter().map(String::as_str).collect();
        let (program, rest) = words.split_first()?;
        let name = Path::new(program).file_name()?.to_str()?;
        let (kind, rest) = match (name, rest) {
            ("npx" | "bunx" | "pnpx", rest)
            | ("npm", ["exec", rest @ ..])
            | ("pnpm" | "yarn", ["dlx", rest @ ..])
            | ("bun", ["x", rest @ ..]) => (PackageKind::Node, rest),
            ("uvx", rest) | ("uv", ["tool", "run", rest @ ..]) | ("pipx", ["run", rest @ ..]) => {
                (PackageKind::Python, rest)
            }
            _ => return None,
        };
        Self::of_words(kind, rest)
    }

    fn of_words(kind: PackageKind, words: &[&str]) -> Option<Self> {
        let (mut package, mut words) = (None, words);
        loop {
            let (word, rest) = words.split_first()?;
            words = rest;
            let written = word.split_once('=').filter(|_| word.starts_with('-'));
            let (option, value) =
                written.map_or((*word, None), |(name, value)| (name, Some(value)));
            match option {
                "-p" | "--package" | "--from" | "--spec" => {
                    let value = match value {
                        Some(value) => value,
                        None => {
                            let (value, rest) = words.split_first()?;
                            words = rest;
                            value
                        }
                    };
                    // Two packages: which one has the program is not known.
                    if package.replace(value.to_owned()).is_some() {
                        return None;
                    }
                }
                flag if FLAGS.contains(&flag) || flag == "--" => {}
                other if other.starts_with('-') => return None,
                name => {
                    let arguments = words.iter().filter(|it| **it != "--" || kind.keeps_dashes());
                    let arguments = arguments.map(|it| (*it).to_owned()).collect();
                    let name = name.to_owned();
                    let (package, program) = match package {
                        Some(package) => (package, Some(name)),
                        None => (name, None),
                    };
                    return Some(Self { kind, package, program, arguments });
                }
            }
        }
    }

    /// The command line of the installed program.
    pub(super) fn installed(&self, places: &ProgramPlaces) -> Option<Vec<String>> {
        let program = self.program.as_deref();
        let mut argv = match self.kind {
            PackageKind::Node => node::installed(&self.package, program, places)?,
            PackageKind::Python => python::installed(&self.package, program, places)?,
        };
        argv.extend(self.arguments.iter().cloned());
        Some(argv)
    }

    /// Why the server is not ready.
    pub(super) fn missing(&self) -> String {
        let package = &self.package;
        let how = match self.kind {
            PackageKind::Node => format!("npm install -g {package}"),
            PackageKind::Python => format!("uv tool install {package}"),
        };
        format!(
            "the package `{package}` is not installed, and the server has no network to download it: \
             install it first (`{how}`), or grant the agent the network"
        )
    }
}

impl PackageKind {
    /// Whether `--` after the package belongs to the program.
    fn keeps_dashes(self) -> bool {
        self == Self::Python
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_parsed_from_launcher_commands() {
        let cases = [
            ("npx -y @a/server", Some("@a/server||")),
            ("npx @a/server@1.2.3 --root /x", Some("@a/server@1.2.3||--root /x")),
            ("/usr/bin/npx --yes --package=@a/server run-it x", Some("@a/server|run-it|x")),
            ("npx -p a run-it", Some("a|run-it|")),
            ("npx -p a -p b run-it", None),
            ("npx --registry http://evil.example a", None),
            ("npx", None),
            ("npx -y", None),
            ("npm exec -y -- a b", Some("a||b")),
            ("npm install a", None),
            ("pnpm dlx a", Some("a||")),
            ("bunx a", Some("a||")),
            (
                "uvx mcp-server-time --local-timezone UTC",
                Some("mcp-server-time||--local-timezone UTC"),
            ),
            ("uvx --from git+https://x.example/y run", Some("git+https://x.example/y|run|")),
            ("uv tool run a", Some("a||")),
            ("uv run a.py", None),
            ("pipx run --spec a==1 b", Some("a==1|b|")),
            ("node server.js", None),
        ];
        for (line, expected) in cases {
            let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let found = PackageLaunch::read(&argv).map(|launch| {
                let program = launch.program.unwrap_or_default();
                format!("{}|{program}|{}", launch.package, launch.arguments.join(" "))
            });
            assert_eq!(found.as_deref(), expected, "{line}");
        }
    }
}
