//! Detects the format of a file or directory with the rows of [`FORMATS`].

use agentry_formats::{FORMATS, FormatFiles, info};
use agentry_model::Format;
use agentry_text::path;

/// The main files that make a directory an agent, with their formats.
pub(crate) fn main_files() -> impl Iterator<Item = (&'static str, Format)> {
    FORMATS.iter().flat_map(|row| row.files.mains.iter().map(|main| (*main, row.format)))
}

/// Whether a file of this name makes its directory an agent.
pub(crate) fn is_main_file(name: &str) -> bool {
    main_files().any(|(main, _)| main == name)
}

/// The format of a file by its name alone.
pub(crate) fn by_name(path: &str) -> Option<Format> {
    let name = path::name(path);
    let fits = |files: &FormatFiles| files.mains.contains(&name) || files.has_ending(name);
    FORMATS.iter().find(|row| fits(&row.files)).map(|row| row.format)
}

/// Whether a file of this name beside a main file shows that it is an agent.
pub(crate) fn is_sign(name: &str) -> bool {
    FORMATS.iter().any(|row| row.files.signs.contains(&name))
}

/// The directory that contains a sign such as `tools/`, and the sign. `dir` is the sign or lies below it.
pub(crate) fn sign_above(dir: &str) -> Option<(&str, &str)> {
    let is_sign = |name: &str| {
        let mut signs = FORMATS.iter().flat_map(|row| row.files.signs);
        signs.any(|sign| sign.strip_suffix('/') == Some(name))
    };
    let mut at = dir;
    loop {
        let (above, name) = path::split(at);
        if is_sign(name) {
            return Some((above, name));
        }
        if above.is_empty() || above == "/" || above == at {
            return None;
        }
        at = above;
    }
}

/// Whether an agent is only its main file, and not a directory.
pub(crate) fn is_single_file(format: Format, main: &str) -> bool {
    !info(format).files.mains.contains(&path::name(main))
}
