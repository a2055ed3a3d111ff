//! Credentials for registries from the files of Docker and Podman, and from their helpers.
//!
//! The files are read in Podman's order, then Docker's. The first file that says something about the registry
//! decides.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::Value;

use super::error::OciError;
use super::helper;

/// The most bytes of a credential file.
const MOST_BYTES: u64 = 1024 * 1024;
/// The name under which Docker keeps the credentials of its own registry.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// What is shown to a registry. `Debug` never prints it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum RegistryCredential {
    /// A user and a password.
    Password(String, String),
    /// A token that is exchanged for an access token.
    Identity(String),
}

impl fmt::Debug for RegistryCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RegistryCredential(***)")
    }
}

impl RegistryCredential {
    pub(crate) fn new(user: String, secret: String) -> Self {
        // The helpers' protocol: this user says that the secret is an identity token.
        if user == "<token>" { Self::Identity(secret) } else { Self::Password(user, secret) }
    }

    /// The header for a user and a password.
    pub(crate) fn basic(&self) -> Option<String> {
        match self {
            Self::Password(user, secret) => {
                Some(format!("Basic {}", STANDARD.encode(format!("{user}:{secret}"))))
            }
            Self::Identity(_) => None,
        }
    }
}

/// The files that may have credentials, in the order in which they are asked.
#[derive(Debug, Clone, Default)]
pub struct CredentialFiles(Vec<PathBuf>);

impl CredentialFiles {
    /// The files of this user, by the variables of the environment.
    pub fn new(environment: &dyn Fn(&str) -> Option<PathBuf>) -> Self {
        let set = |name: &str| environment(name).filter(|path| !path.as_os_str().is_empty());
        // Podman: a given file stands for all its other files.
        let podman = match set("REGISTRY_AUTH_FILE") {
            Some(file) => vec![file],
            None => {
                let run = set("XDG_RUNTIME_DIR");
                let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
                let dirs = [run, config].into_iter().flatten();
                dirs.map(|dir| dir.join("containers/auth.json")).collect()
            }
        };
        let docker = set("DOCKER_CONFIG").or_else(|| Some(set("HOME")?.join(".docker")));
        let docker = docker.map(|dir| dir.join("config.json"));
        Self(podman.into_iter().chain(docker).collect())
    }

    /// The credential for a repository `host/path`, or `None` if there is none.
    pub(crate) fn find(&self, place: &str) -> Result<Option<RegistryCredential>, OciError> {
        for path in &self.0 {
            let Some(config) = read(path)? else { continue };
            if let Some(found) = in_file(&config, place, path)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

/// The names under which a file may have the credential, the most specific first.
fn keys(place: &str) -> Vec<String> {
    let mut keys: Vec<String> = place
        .match_indices('/')
        .map(|(at, _)| place.get(..at).unwrap_or_default().to_owned())
        .chain([place.to_owned()])
        .collect();
    keys.reverse();
    let host = place.split('/').next().unwrap_or_default();
    // Docker once wrote addresses.
    keys.extend([
        format!("https://{host}"),
        format!("https://{host}/v2/"),
        format!("https://{host}/v1/"),
    ]);
    if matches!(host, "docker.io" | "registry-1.docker.io" | "index.docker.io") {
        keys.push(DOCKER_HUB.to_owned());
    }
    keys
}

fn in_file(
    config: &Value,
    place: &str,
    path: &Path,
) -> Result<Option<RegistryCredential>, OciError> {
    let host = place.split('/').next().unwrap_or_default();
    let hub = host == "docker.io";
    let server = if hub { DOCKER_HUB } else { host };
    // A helper for this registry wins over what the file has itself.
    let own = [host, server].into_iter().find_map(|key| config["credHelpers"][key].as_str());
    if let Some(name) = own {
        return helper::get(name, server);
    }
    let entry = keys(place).into_iter().find_map(|key| config["auths"].get(&key).cloned());
    if let Some(found) = entry.as_ref().and_then(|entry| stored(entry, path).transpose()) {
        return found.map(Some);
    }
    match config["credsStore"].as_str() {
        Some(name) if !name.is_empty() => helper::get(name, server),
        _ => Ok(None),
    }
}

/// The credential that stands in the file itself.
fn stored(entry: &Value, path: &Path) -> Result<Option<RegistryCredential>, OciError> {
    let text = |key: &str| entry[key].as_str().filter(|text| !text.is_empty());
    if let Some(token) = text("identitytoken") {
        return Ok(Some(RegistryCredential::Identity(token.to_owned())));
    }
    let Some(auth) = text("auth") else {
        let pair = text("username").zip(text("password"));
        return Ok(
            pair.map(|(user, secret)| RegistryCredential::new(user.to_owned(), secret.to_owned()))
        );
    };
    let bytes = STANDARD.decode(auth).or_else(|_| STANDARD_NO_PAD.decode(auth)).ok();
    let decoded = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    match decoded.as_deref().and_then(|text| text.split_once(':')) {
        Some((user, secret)) => {
            let secret = secret.trim_end_matches('\0').to_owned();
            Ok(Some(RegistryCredential::new(user.to_owned(), secret)))
        }
        None => Err(OciError::Credentials(format!(
            "`{}` has an `auth` that is not a user and a password in base64",
            path.display()
        ))),
    }
}

/// The file as JSON; `None` if there is none.
fn read(path: &Path) -> Result<Option<Value>, OciError> {
    let wrong = |why: String| OciError::Credentials(format!("`{}` {why}", path.display()));
    let Ok(file) = fs::File::open(path) else { return Ok(None) };
    let mut text = String::new();
    let limited = file.take(MOST_BYTES).read_to_string(&mut text);
    limited.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    serde_json::from_str(&text).map(Some).map_err(|error| wrong(format!("is not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(dir: &Path, texts: &[(&str, &str)]) -> CredentialFiles {
        let write = |(name, text): &(&str, &str)| {
            let path = dir.join(name);
            fs::write(&path, text).expect("a writable directory");
            path
        };
        CredentialFiles(texts.iter().map(write).collect())
    }

    #[test]
    fn the_most_specific_entry_of_the_first_file_decides() {
        let dir = tempfile::tempdir().expect("a directory");
        let auth = |text: &str| STANDARD.encode(text);
        let podman = format!(
            r#"{{"auths": {{"host": {{"auth": "{}"}}, "host/team": {{"auth": "{}"}}, "token": {{"identitytoken": "t"}}}}}}"#,
            auth("all:1"),
            auth("team:a:b")
        );
        let docker = format!(
            r#"{{"auths": {{"host": {{"auth": "{}"}}, "https://old/v1/": {{"username": "u", "password": "p"}}, "{DOCKER_HUB}": {{"auth": "{}"}}, "empty": {{}}}}}}"#,
            auth("docker:2"),
            auth("hub:3")
        );
        let files = files(dir.path(), &[("auth.json", &podman), ("config.json", &docker)]);
        let password = |user: &str, secret: &str| {
            Some(RegistryCredential::Password(user.to_owned(), secret.to_owned()))
        };
        let cases = [
            ("host/x", password("all", "1")),
            ("host/team/x", password("team", "a:b")),
            ("host/teams/x", password("all", "1")),
            ("token/x", Some(RegistryCredential::Identity("t".to_owned()))),
            ("old/x", password("u", "p")),
            ("docker.io/library/x", password("hub", "3")),
            ("empty/x", None),
            ("host.example.org/x", None),
        ];
        for (place, expected) in cases {
            assert_eq!(files.find(place).expect("readable files"), expected, "{place}");
        }
        let shown = format!("{:?}", files.find("host/x").expect("readable files"));
        assert!(!shown.contains("all"), "{shown}");
    }

    #[test]
    fn malformed_credential_files_are_errors() {
        let dir = tempfile::tempdir().expect("a directory");
        for text in ["{", r#"{"auths": {"host": {"auth": "%%"}}}"#, r#"{"credsStore": "../x"}"#] {
            let files = files(dir.path(), &[("config.json", text)]);
            assert!(files.find("host/x").is_err(), "{text}");
        }
    }

    #[test]
    fn credential_file_paths_follow_the_environment() {
        type Variables = &'static [(&'static str, &'static str)];
        let cases: [(Variables, &[&str]); 3] = [
            (&[("HOME", "/h")], &["/h/.config/containers/auth.json", "/h/.docker/config.json"]),
            (
                &[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r"), ("DOCKER_CONFIG", "/d")],
                &["/r/containers/auth.json", "/h/.config/containers/auth.json", "/d/config.json"],
            ),
            (&[("HOME", "/h"), ("REGISTRY_AUTH_FILE", "/a")], &["/a", "/h/.docker/config.json"]),
        ];
        for (variables, expected) in cases {
            let find = |name: &str| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| PathBuf::from(value))
            };
            let expected: Vec<_> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(CredentialFiles::new(&find).0, expected);
        }
    }
}
