//! The packages: a tarball, a wheel, two npm packages, a Debian package and a container image.

use std::collections::BTreeMap;
use std::fs;

use serde_json::json;

use super::archive::{ArchiveFile, ar, below, gzip, tar, zip};
use super::package_files::PackageFiles;
use super::statements::digest;
use super::{PUBLISHED_NAME, Release, container_image};

const DESCRIPTION: &str = "A compiler and a runtime for AI-agent definitions";

/// Writes every package and returns their digests by name.
pub(super) fn write_all(release: &Release) -> Result<BTreeMap<String, String>, String> {
    fs::create_dir_all(&release.directory).map_err(|error| error.to_string())?;
    let files = PackageFiles::of(release)?;
    let mut packages =
        vec![tarball(release, &files)?, wheel(release, &files)?, debian(release, &files)?];
    packages.extend(npm(release, &files)?);
    // The image has no library that another program could load.
    if release.is_static {
        packages.push(container_image::package(release, &files)?);
    }
    let mut digests = BTreeMap::new();
    for (name, bytes) in packages {
        fs::write(release.directory.join(&name), &bytes).map_err(|error| error.to_string())?;
        digests.insert(name, digest(&bytes));
    }
    Ok(digests)
}

/// The system in the names of files: `linux-musl`, `linux-gnu`.
pub(super) fn system(release: &Release) -> &'static str {
    if release.is_static { "linux-musl" } else { "linux-gnu" }
}

fn tarball(release: &Release, files: &PackageFiles) -> Result<(String, Vec<u8>), String> {
    let name = format!("agentry-{}-{}-{}", release.version, release.arch, system(release));
    let mut all = vec![ArchiveFile::program("bin/agentry", files.program.clone())];
    all.extend(files.shared.iter().chain(&files.licences).cloned());
    let bytes = gzip(&tar(&below(&name, &all), release.time)?)?;
    Ok((format!("{name}.tar.gz"), bytes))
}

/// A wheel without Python code: pip puts the program beside its own.
fn wheel(release: &Release, files: &PackageFiles) -> Result<(String, Vec<u8>), String> {
    let Release { version, arch, is_static, .. } = release;
    let name = PUBLISHED_NAME.replace('-', "_");
    // A static program runs on every Linux; another one only where its libraries are.
    let platforms = if *is_static {
        vec![format!("manylinux2014_{arch}"), format!("musllinux_1_1_{arch}")]
    } else {
        vec![format!("linux_{arch}")]
    };
    let info = format!("{name}-{version}.dist-info");
    let metadata = format!(
        "Metadata-Version: 2.4\nName: {PUBLISHED_NAME}\nVersion: {version}\nSummary: {DESCRIPTION}\n\
         License-Expression: MIT OR Apache-2.0\nRequires-Python: >=3.8\n"
    );
    let tags: Vec<_> = platforms.iter().map(|it| format!("Tag: py3-none-{it}\n")).collect();
    let tags = tags.concat();
    let facts =
        format!("Wheel-Version: 1.0\nGenerator: agentry-xtask\nRoot-Is-Purelib: false\n{tags}");
    let mut all = vec![ArchiveFile::program(
        format!("{name}-{version}.data/scripts/agentry"),
        files.program.clone(),
    )];
    all.extend(below(&format!("{name}-{version}.data/data"), &files.shared));
    all.push(ArchiveFile::new(format!("{info}/METADATA"), metadata));
    all.push(ArchiveFile::new(format!("{info}/WHEEL"), facts));
    all.extend(below(&format!("{info}/licenses"), &files.licences));
    let row = |file: &ArchiveFile| {
        let sum = super::statements::base64_digest(&file.bytes);
        format!("{},sha256={sum},{}\n", file.path, file.bytes.len())
    };
    let rows = all.iter().map(row).collect::<Vec<_>>().concat();
    all.push(ArchiveFile::new(format!("{info}/RECORD"), format!("{rows}{info}/RECORD,,\n")));
    Ok((format!("{name}-{version}-py3-none-{}.whl", platforms.join(".")), zip(&all)?))
}

/// The package that users name, and the one with the program for this platform.
fn npm(release: &Release, files: &PackageFiles) -> Result<[(String, Vec<u8>); 2], String> {
    let Release { version, time, is_static, .. } = release;
    let cpu = if release.arch == "x86_64" { "x64" } else { "arm64" };
    let platform = format!("{PUBLISHED_NAME}-linux-{cpu}");
    let mut own = json!({
        "name": platform, "version": version, "description": format!("{DESCRIPTION}: the program"),
        "license": "MIT OR Apache-2.0", "os": ["linux"], "cpu": [cpu], "files": ["bin", "LICENSE-*"],
    });
    if !is_static {
        own["libc"] = json!(["glibc"]);
    }
    let is_page = |file: &&ArchiveFile| file.path.starts_with("share/man/");
    let pages: Vec<ArchiveFile> = files.shared.iter().filter(is_page).cloned().collect();
    let main = json!({
        "name": PUBLISHED_NAME, "version": version, "description": DESCRIPTION,
        "license": "MIT OR Apache-2.0", "bin": {"agentry": "bin/agentry.js"},
        "files": ["bin", "share", "LICENSE-*"], "engines": {"node": ">=18"},
        "man": pages.iter().map(|page| &page.path).collect::<Vec<_>>(),
        "optionalDependencies": {
            format!("{PUBLISHED_NAME}-linux-x64"): version,
            format!("{PUBLISHED_NAME}-linux-arm64"): version,
        },
    });
    let pack = |name: &str, manifest: &serde_json::Value, content: Vec<ArchiveFile>| {
        let mut all = vec![ArchiveFile::new("package.json", format!("{manifest:#}\n"))];
        all.extend(content.into_iter().chain(files.licences.iter().cloned()));
        let bytes = gzip(&tar(&below("package", &all), *time)?)?;
        Ok::<_, String>((format!("{name}-{version}.tgz"), bytes))
    };
    let shim = SHIM.replace("PUBLISHED_NAME", PUBLISHED_NAME);
    let shim = vec![ArchiveFile::program("bin/agentry.js", shim)];
    let program = vec![ArchiveFile::program("bin/agentry", files.program.clone())];
    Ok([
        pack(PUBLISHED_NAME, &main, shim.into_iter().chain(pages).collect())?,
        pack(&platform, &own, program)?,
    ])
}

/// Starts the program of the platform package. It loads nothing but two modules of Node, to start soon.
const SHIM: &str = include_str!("shim.js");

fn debian(release: &Release, files: &PackageFiles) -> Result<(String, Vec<u8>), String> {
    let Release { version, time, .. } = release;
    let arch = if release.arch == "x86_64" { "amd64" } else { "arm64" };
    let mut all = vec![ArchiveFile::program("./usr/bin/agentry", files.program.clone())];
    all.extend(below("./usr", &files.shared));
    all.extend(below("./usr/share/doc/agentry", &files.licences));
    let size: usize = all.iter().map(|file| file.bytes.len()).sum();
    let depends = match glibc(&files.program) {
        _ if release.is_static => String::new(),
        Some(least) => format!("Depends: libc6 (>= {least}), libgcc-s1\n"),
        None => "Depends: libc6, libgcc-s1\n".to_owned(),
    };
    let control = format!(
        "Package: agentry\nVersion: {version}\nArchitecture: {arch}\nMaintainer: the Agentry authors <noreply@example.org>\n\
         {depends}Recommends: git\nInstalled-Size: {}\nSection: devel\nPriority: optional\nDescription: {DESCRIPTION}\n",
        size / 1024
    );
    let control = gzip(&tar(&[ArchiveFile::new("./control", control)], *time)?)?;
    let parts = [
        ArchiveFile::new("debian-binary", "2.0\n"),
        ArchiveFile::new("control.tar.gz", control),
        ArchiveFile::new("data.tar.gz", gzip(&tar(&all, *time)?)?),
    ];
    Ok((format!("agentry_{version}_{arch}.deb"), ar(&parts, *time)))
}

/// The least version of glibc with all functions that a program names, such as `2.34`.
fn glibc(program: &[u8]) -> Option<String> {
    const MARK: &[u8] = b"GLIBC_2.";
    let minor = |at: usize| {
        let rest = program.get(at + MARK.len()..)?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).take(3);
        String::from_utf8(digits.copied().collect()).ok()?.parse::<u32>().ok()
    };
    let starts = program.windows(MARK.len()).enumerate().filter(|(_, it)| *it == MARK);
    starts.filter_map(|(at, _)| minor(at)).max().map(|minor| format!("2.{minor}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_glibc_is_the_newest_that_is_named() {
        let cases: [(&[u8], Option<&str>); 4] = [
            (b"x GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.17\0", Some("2.34")),
            (b"GLIBC_2.2.5\0", Some("2.2")),
            (b"GLIBC_PRIVATE\0GLIBC_2.", None),
            (b"", None),
        ];
        for (program, expected) in cases {
            assert_eq!(glibc(program).as_deref(), expected, "{program:?}");
        }
    }
}
