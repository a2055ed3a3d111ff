//! The container image: an OCI layout in a tar archive, made without a daemon. Its one layer has the program and no system.

use serde_json::{Value, json};

use super::Release;
use super::archive::{ArchiveFile, gzip, tar};
use super::package_files::PackageFiles;
use super::packages::system;
use super::statements::digest;

/// The user that the program runs as, and its group.
const USER: u32 = 1000;

pub(super) fn package(
    release: &Release,
    files: &PackageFiles,
) -> Result<(String, Vec<u8>), String> {
    let Release { version, commit, time, .. } = release;
    let content = [
        ArchiveFile::program("usr/bin/agentry", files.program.clone()),
        // The home of the user, and the place where a container starts.
        ArchiveFile { owner: USER, ..ArchiveFile::new("data/.keep", "") },
        ArchiveFile { owner: USER, ..ArchiveFile::new("work/.keep", "") },
        ArchiveFile::new("etc/passwd", format!("agentry:x:{USER}:{USER}::/data:\n")),
    ];
    let layer = tar(&content, *time)?;
    let packed = gzip(&layer)?;
    let architecture = if release.arch == "x86_64" { "amd64" } else { "arm64" };
    let config = json!({
        "architecture": architecture, "os": "linux", "created": created(*time),
        "config": {
            "Entrypoint": ["/usr/bin/agentry"], "User": format!("{USER}:{USER}"), "WorkingDir": "/work",
            "Env": ["PATH=/usr/bin", "HOME=/data"],
            "Labels": labels(version, commit),
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", digest(&layer))]},
    });
    let config = config.to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar+gzip", &packed)],
        "annotations": labels(version, commit),
    });
    let manifest = manifest.to_string().into_bytes();
    let mut layout = vec![
        ArchiveFile::new("oci-layout", "{\"imageLayoutVersion\":\"1.0.0\"}"),
        ArchiveFile::new("index.json", index(version, &manifest).to_string()),
    ];
    for blob in [config, manifest, packed] {
        layout.push(ArchiveFile::new(format!("blobs/sha256/{}", digest(&blob)), blob));
    }
    let name = format!("agentry-{version}-{}-{}.oci.tar", release.arch, system(release));
    Ok((name, tar(&layout, *time)?))
}

/// The index of the layout, with the name that the image has where it is loaded.
fn index(version: &str, manifest: &[u8]) -> Value {
    let mut entry = descriptor("application/vnd.oci.image.manifest.v1+json", manifest);
    // Podman and Docker take the name from the first one, other tools the tag from the second one.
    entry["annotations"] = json!({
        "io.containerd.image.name": format!("localhost/agentry:{version}"),
        "org.opencontainers.image.ref.name": version,
    });
    json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry],
    })
}

fn descriptor(media: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media, "digest": format!("sha256:{}", digest(bytes)), "size": bytes.len()})
}

fn labels(version: &str, commit: &str) -> Value {
    json!({
        "org.opencontainers.image.title": "agentry",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": commit,
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    })
}

fn created(time: u64) -> String {
    let time = i64::try_from(time).ok().and_then(|it| chrono::DateTime::from_timestamp(it, 0));
    time.unwrap_or_default().to_rfc3339_opts(chrono::SecondsFormat::Secs, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Podman would call the image by its bare version if only the tag were there.
    #[test]
    fn the_image_is_loaded_under_its_name() {
        let entry = index("1.2.3", b"{}")["manifests"][0].clone();
        assert_eq!(entry["annotations"]["io.containerd.image.name"], "localhost/agentry:1.2.3");
        assert_eq!(entry["digest"], format!("sha256:{}", digest(b"{}")));
    }
}
