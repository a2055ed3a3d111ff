//! «Did you mean» for names that are found on disk: agents, objects of the store, runs.

use agentry_compile::text::path::join;
use agentry_compile::text::suggestion::{did_you_mean, nearest};
use agentry_compile::{World, at};

/// The directories that usually hold agents.
const PLACES: [&str; 3] = ["", "agents", ".agents"];

/// The agent that may be meant by a missing path: one with the same or a similar name, beside the path or in
/// one of the usual directories.
pub(super) fn agent(disk: &dyn World, path: &str) -> Option<String> {
    let path = path.trim_end_matches('/');
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut places = vec![above];
    places.extend(PLACES.into_iter().filter(|place| *place != above));
    let found = places.into_iter().find_map(|place| {
        let directory = if place.is_empty() { "." } else { place };
        let entries = disk.list(directory, directory).ok()?;
        let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        // Users often leave out the file extension.
        let meant = nearest(name, names.iter().copied()).or_else(|| {
            let near = nearest(stem(name), names.iter().map(|other| stem(other)))?;
            names.iter().copied().find(|other| stem(other) == near)
        })?;
        let path = if place.is_empty() { meant.to_owned() } else { join(place, meant) };
        // A similar name that is no agent would mislead.
        at(disk, &path).is_ok().then_some(path)
    });
    found.map(|path| format!("did you mean `{path}`?"))
}

/// The name of an agent from the name of its file.
fn stem(name: &str) -> &str {
    match name.strip_suffix(".agent.md") {
        Some(stem) => stem.split_once('_').map_or(stem, |(_, name)| name),
        None => name.strip_suffix(".agent").unwrap_or(name),
    }
}

/// Suggests one of the names, else the command that lists them.
pub(super) fn one_of<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
    listed: &str,
) -> String {
    did_you_mean(written, known).unwrap_or_else(|| listed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_reduced_to_the_agent_name() {
        let cases = [
            ("helper", "helper"),
            ("helper.agent", "helper"),
            ("general_helper.agent.md", "helper"),
            ("helper.agent.md", "helper"),
            ("README.md", "README.md"),
        ];
        for (name, expected) in cases {
            assert_eq!(stem(name), expected, "{name}");
        }
    }
}
