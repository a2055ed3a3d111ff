//! What every package contains beside the program: completions, manual pages, licences.

use std::fs;

use super::Release;
use super::archive::ArchiveFile;
use crate::process::{output, run};

/// The files of a package, as they lie below `/usr`.
#[derive(Debug)]
pub(super) struct PackageFiles {
    pub(super) program: Vec<u8>,
    /// `share/man/man1/…`, `share/bash-completion/completions/…` and others.
    pub(super) shared: Vec<ArchiveFile>,
    pub(super) licences: Vec<ArchiveFile>,
}

/// The shells, and where their completions lie.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/agentry"),
    ("zsh", "share/zsh/site-functions/_agentry"),
    ("fish", "share/fish/vendor_completions.d/agentry.fish"),
];

impl PackageFiles {
    /// Asks the program for its completions and pages.
    pub(super) fn of(release: &Release) -> Result<Self, String> {
        let mut shared = Vec::new();
        for (shell, path) in COMPLETIONS {
            let text = output(release.starting(&release.binary).args(["completions", shell]))?;
            shared.push(ArchiveFile::new(*path, text));
        }
        let pages = release.directory.join("man");
        let text = |error: std::io::Error| error.to_string();
        fs::create_dir_all(&pages).map_err(text)?;
        run(release
            .starting(&release.binary)
            .args(["man", "--output"])
            .arg(&pages)
            .stdout(std::process::Stdio::null()))?;
        for entry in fs::read_dir(&pages).map_err(text)? {
            let entry = entry.map_err(text)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let page = fs::read(entry.path()).map_err(text)?;
            shared.push(ArchiveFile::new(format!("share/man/man1/{name}"), page));
        }
        shared.sort_by(|one, other| one.path.cmp(&other.path));
        fs::remove_dir_all(&pages).map_err(text)?;
        let licence =
            |name: &str| fs::read(name).map(|bytes| ArchiveFile::new(name, bytes)).map_err(text);
        let licences = vec![licence("LICENSE-APACHE")?, licence("LICENSE-MIT")?];
        Ok(Self { program: release.stripped()?, shared, licences })
    }
}
