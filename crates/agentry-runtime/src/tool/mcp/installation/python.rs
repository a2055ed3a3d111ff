//! Finds installed programs of Python packages: tools of uv and pipx, and programs on the `PATH`.

use std::path::PathBuf;

use super::{ProgramPlaces, find, is_executable};

/// The command line of the program of an installed package.
pub(super) fn installed(
    package: &str,
    program: Option<&str>,
    places: &ProgramPlaces,
) -> Option<Vec<String>> {
    let (name, is_exact) = name(package)?;
    let program = program.unwrap_or(&name);
    let found = tools(&name, program, places).into_iter().find(|path| is_executable(path));
    // Which version is installed is not known, so a version that is asked for may be missing.
    let found = found.or_else(|| find(program, places)).filter(|_| !is_exact)?;
    Some(vec![found.to_str()?.to_owned()])
}

/// The plain name of a package, and whether a version of it is asked for. `None` for an address.
fn name(package: &str) -> Option<(String, bool)> {
    let end = package.find(['=', '<', '>', '!', '~', '@', '[', ' ']).unwrap_or(package.len());
    let (name, rest) = package.split_at(end);
    let letters = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let is_exact = !(rest.is_empty() || rest == "@latest" || rest.starts_with('['));
    (letters && !name.is_empty()).then(|| (name.to_owned(), is_exact))
}

/// Where tools of this package are.
fn tools(package: &str, program: &str, places: &ProgramPlaces) -> Vec<PathBuf> {
    const TOOLS: &[&str] =
        &[".local/share/uv/tools", ".local/share/pipx/venvs", ".local/pipx/venvs"];
    if program.contains('/') {
        return Vec::new();
    }
    let homes = places.home.iter().flat_map(|home| TOOLS.iter().map(|tools| home.join(tools)));
    homes.map(|tools| tools.join(package).join("bin").join(program)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_names_are_parsed_without_versions() {
        let cases = [
            ("mcp-server-time", Some(("mcp-server-time", false))),
            ("a@latest", Some(("a", false))),
            ("a[extra]", Some(("a", false))),
            ("a==1.0", Some(("a", true))),
            ("a@1.0", Some(("a", true))),
            ("git+https://x.example/y", None),
            ("../a", None),
            ("", None),
        ];
        for (package, expected) in cases {
            let expected =
                expected.map(|(name, is_exact): (&str, bool)| (name.to_owned(), is_exact));
            assert_eq!(name(package), expected, "{package}");
        }
    }
}
