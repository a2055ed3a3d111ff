//! The archive formats of the packages: tar, gzip, zip and ar. Names are sorted and all files have one time, so that the same
//! files give the same bytes.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// A file of a package.
#[derive(Debug, Clone)]
pub(super) struct ArchiveFile {
    pub(super) path: String,
    pub(super) bytes: Vec<u8>,
    pub(super) is_program: bool,
    /// The user and the group that it belongs to, with the directories that only it needs.
    pub(super) owner: u32,
}

impl ArchiveFile {
    pub(super) fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), is_program: false, owner: 0 }
    }

    pub(super) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { is_program: true, ..Self::new(path, bytes) }
    }

    fn mode(&self) -> u32 {
        if self.is_program { 0o755 } else { 0o644 }
    }
}

/// The same files below a directory.
pub(super) fn below(directory: &str, files: &[ArchiveFile]) -> Vec<ArchiveFile> {
    let moved = |file: &ArchiveFile| ArchiveFile {
        path: format!("{directory}/{}", file.path),
        ..file.clone()
    };
    files.iter().map(moved).collect()
}

/// A tar archive, with the directories of its files.
pub(super) fn tar(files: &[ArchiveFile], time: u64) -> Result<Vec<u8>, String> {
    let mut sorted: Vec<&ArchiveFile> = files.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    let mut directories = BTreeSet::new();
    let mut out = Vec::new();
    for file in sorted {
        for (at, _) in file.path.match_indices('/') {
            let directory = file.path.get(..=at).unwrap_or_default();
            if at > 0 && directory != "./" && directories.insert(directory.to_owned()) {
                out.extend(header(directory, 0, (0o755, b'5'), (file.owner, time))?);
            }
        }
        let facts = (file.owner, time);
        out.extend(header(&file.path, file.bytes.len(), (file.mode(), b'0'), facts)?);
        out.extend(&file.bytes);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    // Two empty blocks end the archive.
    out.resize(out.len() + 1024, 0);
    Ok(out)
}

fn header(
    path: &str,
    size: usize,
    (mode, kind): (u32, u8),
    (owner, time): (u32, u64),
) -> Result<Vec<u8>, String> {
    // A longer name stands in two parts, split at a slash.
    let (prefix, name) = if path.len() <= 100 {
        ("", path)
    } else {
        let at = path.char_indices().filter(|(at, c)| *c == '/' && path.len() - at <= 101);
        let at = at.map(|(at, _)| at).find(|at| *at <= 155);
        at.and_then(|at| path.split_at_checked(at))
            .map(|(prefix, name)| (prefix, name.trim_start_matches('/')))
            .ok_or_else(|| format!("`{path}` is too long for an archive"))?
    };
    let mut block = vec![0_u8; 512];
    let mut put = |at: usize, text: &[u8]| {
        if let Some(place) = block.get_mut(at..at + text.len()) {
            place.copy_from_slice(text);
        }
    };
    put(0, name.as_bytes());
    put(100, format!("{mode:07o}\0").as_bytes());
    put(108, format!("{owner:07o}\0{owner:07o}\0").as_bytes());
    put(124, format!("{size:011o}\0").as_bytes());
    put(136, format!("{time:011o}\0").as_bytes());
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    if owner == 0 {
        put(265, b"root");
        put(297, b"root");
    }
    put(345, prefix.as_bytes());
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    if let Some(place) = block.get_mut(148..156) {
        place.copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    Ok(block)
}

/// Compresses with the system's `gzip`, without name and time.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = Command::new("gzip")
        .args(["-n", "-6", "-c"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`gzip` could not be started: {error}"))?;
    let input = child.stdin.take();
    let output = std::thread::scope(|scope| {
        scope.spawn(|| input.map(|mut input| input.write_all(bytes)));
        child.wait_with_output()
    });
    let output = output.map_err(|error| format!("`gzip`: {error}"))?;
    if output.status.success() { Ok(output.stdout) } else { Err("`gzip` failed".to_owned()) }
}

/// A zip archive. Its compressed data and checksums are taken out of gzip's output.
pub(super) fn zip(files: &[ArchiveFile]) -> Result<Vec<u8>, String> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for file in files {
        let packed = gzip(&file.bytes)?;
        let end = packed.len().checked_sub(8).ok_or("gzip printed too little")?;
        let (data, sum) = (packed.get(10..end), packed.get(end..end + 4));
        let (data, sum) = data.zip(sum).ok_or("gzip printed too little")?;
        let number = |value: usize| u32::try_from(value).map(u32::to_le_bytes);
        let (Ok(packed), Ok(size), Ok(offset)) =
            (number(data.len()), number(file.bytes.len()), number(out.len()))
        else {
            return Err(format!("`{}` is too large for a zip archive", file.path));
        };
        let name = u16::try_from(file.path.len()).map_err(|_| "a name is too long")?.to_le_bytes();
        // Version 2.0, no flags, deflate, the first of January 1980: the earliest time that zip knows.
        let facts =
            [&[20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0], sum, &packed, &size, &name, &[0, 0]].concat();
        out.extend([b"PK\x03\x04".as_slice(), &facts, file.path.as_bytes(), data].concat());
        // Made on Unix (3), so that the mode counts.
        let mode = ((0o100_000 | file.mode()) << 16).to_le_bytes();
        directory
            .extend([b"PK\x01\x02\x14\x03".as_slice(), &facts, &[0; 6], &mode, &offset].concat());
        directory.extend(file.path.as_bytes());
    }
    let count = u16::try_from(files.len()).map_err(|_| "too many files")?.to_le_bytes();
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX).to_le_bytes();
    let (size, start) = (number(directory.len()), number(out.len()));
    out.extend(directory);
    out.extend([b"PK\x05\x06\0\0\0\0".as_slice(), &count, &count, &size, &start, &[0, 0]].concat());
    Ok(out)
}

/// An `ar` archive, as Debian's packages are.
pub(super) fn ar(files: &[ArchiveFile], time: u64) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for file in files {
        let (path, size) = (&file.path, file.bytes.len());
        out.extend(format!("{path:<16}{time:<12}0     0     100644  {size:<10}`\n").bytes());
        out.extend(&file.bytes);
        if !size.is_multiple_of(2) {
            out.push(b'\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_readable_by_standard_tools() {
        let directory =
            std::env::temp_dir().join(format!("agentry-archive-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let long = format!("{}/{}", "a".repeat(90), "b".repeat(90));
        let files = [
            ArchiveFile::program("x/run", "#!/bin/sh\n"),
            ArchiveFile::new(long.as_str(), vec![7; 1000]),
        ];
        let path = directory.join("x.tar");
        std::fs::write(&path, tar(&files, 1).unwrap()).unwrap();
        let listed = Command::new("tar").arg("-tf").arg(&path).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert!(listed.contains("x/run\n") && listed.contains(&format!("{long}\n")), "{listed}");
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn archives_do_not_depend_on_file_order() {
        let (one, two) = (ArchiveFile::new("a/b", "1"), ArchiveFile::new("a/c", "2"));
        assert_eq!(tar(&[one.clone(), two.clone()], 5), tar(&[two, one], 5));
        assert_eq!(gzip(b"x"), gzip(b"x"));
    }
}
