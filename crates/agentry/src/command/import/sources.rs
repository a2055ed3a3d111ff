//! The files around an agent of a harness, read as the harness does: links are followed wherever they
//! lead. What is there and cannot be read is told, with what to do about it.

use std::fs;
use std::io::{self, ErrorKind, Read as _};

use agentry_compile::text::path::join;
use agentry_compile::{ReadError, World};
use agentry_sandbox::PLACEHOLDER;

/// The most bytes of one file.
const MOST: u64 = 16 * 1024 * 1024;

/// The text of a file of the project at `root`, of the home directory for `~/`, or of the machine for `/`;
/// the names in a directory, which ends with `/`. Nothing if there is none, and why not if there is one.
pub(super) fn read(disk: &dyn World, root: &str, file: &str) -> Result<Option<String>, String> {
    // There is no other home for what was found in it.
    let home =
        || disk.machine().home.clone().filter(|home| disk.absolute(root) != disk.absolute(home));
    let path = match file.strip_prefix("~/") {
        Some(rest) => match home() {
            Some(home) => join(&home, rest),
            None => return Ok(None),
        },
        None if file.starts_with('/') => file.to_owned(),
        None => join(root, file),
    };
    match path.strip_suffix('/') {
        Some(dir) => names(disk, dir),
        None if file.starts_with('/') => of_machine(disk, file),
        None => text(&path, MOST),
    }
}

fn names(disk: &dyn World, dir: &str) -> Result<Option<String>, String> {
    match disk.list(dir, dir) {
        Ok(entries) => {
            let names = entries.into_iter().map(|entry| entry.name);
            Ok(Some(names.collect::<Vec<_>>().join("\n")))
        }
        Err(ReadError::Missing) => Ok(None),
        Err(why) => Err(format!("{why}; make it readable")),
    }
}

/// The text of a file that holds for everyone on the machine.
fn of_machine(disk: &dyn World, path: &str) -> Result<Option<String>, String> {
    match disk.read("/", path, MOST) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(ReadError::Missing) => Ok(None),
        Err(ReadError::TooLarge(size)) => Err(too_large(size, MOST)),
        Err(why) => Err(format!("{why}; make it a file that you can read")),
    }
}

/// The text of a file with at most so many bytes; what is not UTF-8 is replaced.
pub(super) fn text(path: &str, most: u64) -> Result<Option<String>, String> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return refused(&error),
    };
    if !metadata.is_file() {
        return Err("it is no ordinary file; make it one, or take it away".to_owned());
    }
    if metadata.len() > most {
        return Err(too_large(metadata.len(), most));
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => refused(&error),
        Ok(size) if size as u64 > most => Err(too_large(size as u64, most)),
        Ok(_) if bytes == PLACEHOLDER.as_bytes() => Ok(None),
        Ok(_) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
    }
}

/// Nothing if no file can be there.
fn refused(error: &io::Error) -> Result<Option<String>, String> {
    match error.kind() {
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::InvalidFilename
        | ErrorKind::InvalidInput => Ok(None),
        _ => Err(format!("{error}; make it a file that you can read")),
    }
}

fn too_large(size: u64, most: u64) -> String {
    let most = most / (1024 * 1024);
    format!("it has {size} bytes, and at most {most} MiB are read; make it smaller")
}

#[cfg(test)]
mod tests {
    use agentry_compile::MemoryWorld;

    use super::*;

    #[test]
    fn files_of_the_machine_are_those_of_the_world() {
        let files = [("etc/claude-code/a.json", "1"), ("etc/claude-code/d/b.json", "2")];
        let world = MemoryWorld::new(files.map(|(path, text)| (path.to_owned(), text.to_owned())));
        let read = |file: &str| read(&world, "/project", file).expect("nothing is closed");
        assert_eq!(read("/etc/claude-code/a.json").as_deref(), Some("1"));
        assert_eq!(read("/etc/claude-code/d/").as_deref(), Some("b.json"));
        assert_eq!(read("/etc/claude-code/c.json"), None);
    }
}
