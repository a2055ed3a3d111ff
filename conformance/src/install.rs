//! Installs the clients at the versions of `clients/package.json`, each in its own directory, so that a
//! failed installation does not affect the others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::client::Client;
use crate::process;

const PACKAGES: &str = include_str!("../clients/package.json");
const LIMIT: Duration = Duration::from_mins(4);

/// An installed client.
#[derive(Debug, Clone)]
pub(crate) struct Installed {
    /// Which one.
    pub(crate) client: Client,
    /// Where its packages are.
    pub(crate) modules: PathBuf,
}

impl Installed {
    /// Its program.
    pub(crate) fn program(&self) -> PathBuf {
        self.modules.join(".bin").join(self.client.program())
    }
}

/// The directory for clients of these versions, below the build directory.
pub(crate) fn cache(target: &Path) -> PathBuf {
    // New versions get a new directory; the old ones stay usable.
    target.join("conformance").join(format!("clients-{}", digest_of(PACKAGES)))
}

/// A short name for a list of versions.
pub(crate) fn digest_of(versions: &str) -> String {
    let digest = Sha256::digest(versions.as_bytes());
    let bytes = digest.iter().take(6);
    let hash = bytes.fold(0_u64, |hash, byte| hash << 8 | u64::from(*byte));
    format!("{hash:012x}")
}

/// The client, if it is installed already.
pub(crate) fn find(client: Client, target: &Path) -> Option<Installed> {
    let modules = cache(target).join(client.name()).join("node_modules");
    let installed = Installed { client, modules };
    installed.program().exists().then_some(installed)
}

/// The client, installed now if it was not.
pub(crate) fn install(client: Client, target: &Path) -> Result<Installed, String> {
    if let Some(installed) = find(client, target) {
        return Ok(installed);
    }
    let cache = cache(target);
    // Only a complete installation is renamed to its final name.
    let partial = cache.join(format!("{}.partial", client.name()));
    let _ = fs::remove_dir_all(&partial);
    let with_path = |error| format!("`{}`: {error}", partial.display());
    fs::create_dir_all(&partial).map_err(with_path)?;
    fs::write(partial.join("package.json"), manifest(client)?).map_err(with_path)?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"]);
    let done = process::run(npm.current_dir(&partial), LIMIT)?;
    if done.timed_out {
        return Err(format!("`npm install` took more than {} s", LIMIT.as_secs()));
    }
    if done.code != Some(0) {
        let complaint = done.stderr.lines().find(|line| !line.trim().is_empty());
        return Err(format!("`npm install` failed: {}", complaint.unwrap_or("without a word")));
    }
    fs::rename(&partial, cache.join(client.name())).map_err(with_path)?;
    find(client, target).ok_or_else(|| format!("its packages have no `{}`", client.program()))
}

/// The packages of one client with their versions.
fn manifest(client: Client) -> Result<String, String> {
    let all: Value = serde_json::from_str(PACKAGES).map_err(|error| error.to_string())?;
    let version = |name: &&str| {
        let version = all["dependencies"][*name].as_str();
        let version = version.ok_or_else(|| format!("`{name}` has no version"))?;
        Ok(((*name).to_owned(), Value::from(version)))
    };
    let packages: Result<Map<_, _>, String> = client.packages().iter().map(version).collect();
    Ok(json!({ "private": true, "dependencies": packages? }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_has_one_exact_version() {
        let all: Value = serde_json::from_str(PACKAGES).expect("JSON");
        let pinned = all["dependencies"].as_object().expect("a map");
        let mut used: Vec<&str> =
            Client::ALL.iter().flat_map(|client| client.packages()).copied().collect();
        used.sort_unstable();
        assert_eq!(pinned.keys().collect::<Vec<_>>(), used);
        for (name, version) in pinned {
            let version = version.as_str().unwrap_or_default();
            let is_number = |part: &str| part.parse::<u32>().is_ok();
            assert_eq!(version.split('.').filter(|part| is_number(part)).count(), 3, "{name}");
        }
        for client in Client::ALL {
            assert!(manifest(client).is_ok(), "{}", client.name());
        }
    }
}
