//! The tokens of the server, in one private directory:
//!
//! ```text
//! <home>/serve/
//!   token            the admin token, made at the first start
//!   tokens/<id>      a paired device or program: scope, name, digest of its token
//!   codes/<digest>   a code of pairing, valid once and for a minute
//! ```
//!
//! Only the admin token is stored as it is. Everything else is known by its SHA-256, so that a copy of the
//! directory without `token` opens nothing.

use agentry_posix::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentry_text::digest::{hex, sha256};
use serde_json::{Value, json};

use crate::scope::TokenScope;

/// How long a code of pairing is valid.
pub const CODE_LIFE: Duration = Duration::from_mins(1);
/// The id of the admin token.
const ADMIN: &str = "admin";
/// The most paired devices and programs.
const MOST_TOKENS: usize = 200;
/// The most bytes of a file in the directory.
const MOST_BYTES: usize = 4_096;

/// The tokens of one home.
#[derive(Debug, Clone)]
pub struct TokenStore {
    directory: PathBuf,
}

/// The token of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KnownToken {
    /// Its id, or that of the admin token.
    pub(crate) id: String,
    /// What it may be used for.
    pub(crate) scope: TokenScope,
}

/// Whether the token of an answer that goes on is still known: a device that was revoked reads no further.
pub(crate) struct TokenWatch {
    /// The file of a paired token; `None` for the admin token and for answers without one.
    path: Option<PathBuf>,
}

impl TokenWatch {
    pub(crate) fn new(tokens: &TokenStore, id: &str) -> Self {
        let is_paired = !id.is_empty() && id != ADMIN;
        Self { path: is_paired.then(|| tokens.directory.join("tokens").join(id)) }
    }

    pub(crate) fn is_known(&self) -> bool {
        self.path.as_ref().is_none_or(|path| path.exists())
    }
}

/// A device or a program that was paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairedToken {
    /// The id by which it is revoked.
    pub id: String,
    /// The name that the user gave it.
    pub name: String,
    /// What it may be used for.
    pub scope: TokenScope,
    /// When it was made, in seconds since the Unix epoch.
    pub created: u64,
    digest: String,
}

impl TokenStore {
    /// Opens the tokens below `directory`, which is created for this user alone.
    pub fn open(directory: &Path) -> io::Result<Self> {
        for path in [directory.to_owned(), directory.join("tokens"), directory.join("codes")] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
            // It may be older, and open to others.
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        }
        Ok(Self { directory: directory.to_owned() })
    }

    /// The admin token, which is made if there is none. A file that others may read is refused.
    pub fn admin(&self) -> io::Result<String> {
        let path = self.directory.join("token");
        match create(&path, format!("{}\n", secret()?).as_bytes()) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let mode = fs::symlink_metadata(&path)?.permissions().mode();
        if mode & 0o077 != 0 {
            let message = format!("`{}` can be read by others", path.display());
            return Err(io::Error::other(message));
        }
        let token = fs::read_to_string(&path)?.trim().to_owned();
        if token.len() < 32 {
            return Err(io::Error::other(format!("`{}` has no token", path.display())));
        }
        Ok(token)
    }

    /// The scope of a token; `None` if it is not one.
    pub fn scope_of(&self, token: &str) -> Option<TokenScope> {
        self.find(token).map(|known| known.scope)
    }

    /// Finds a token; `None` if it is not one.
    pub(crate) fn find(&self, token: &str) -> Option<KnownToken> {
        let digest = sha256(token);
        // Digests are compared, so that the time of the comparison reveals nothing about a token.
        if self.admin().is_ok_and(|admin| sha256(&admin) == digest) {
            return Some(KnownToken { id: ADMIN.to_owned(), scope: TokenScope::Admin });
        }
        let paired = self.list().into_iter().find(|paired| paired.digest == digest)?;
        Some(KnownToken { id: paired.id, scope: paired.scope })
    }

    /// Makes a token, which is returned once and never shown again.
    pub fn issue(&self, name: &str, scope: TokenScope) -> io::Result<(PairedToken, String)> {
        if self.list().len() >= MOST_TOKENS {
            return Err(io::Error::other(format!("there are {MOST_TOKENS} tokens already")));
        }
        let token = secret()?;
        let mut chance = [0; 4];
        getrandom::fill(&mut chance).map_err(io::Error::other)?;
        let paired = PairedToken {
            id: hex(&chance),
            name: name.chars().filter(|c| !c.is_control()).take(80).collect(),
            scope,
            created: now(),
            digest: sha256(&token),
        };
        let text = json!({
            "name": paired.name, "scope": scope.as_str(), "created": paired.created,
            "sha256": paired.digest,
        });
        create(&self.directory.join("tokens").join(&paired.id), text.to_string().as_bytes())?;
        Ok((paired, token))
    }

    /// All paired devices and programs, the oldest first.
    pub fn list(&self) -> Vec<PairedToken> {
        let entries = fs::read_dir(self.directory.join("tokens")).into_iter().flatten().flatten();
        let mut found: Vec<_> = entries.filter_map(|entry| paired(&entry.path())).collect();
        found.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        found
    }

    /// Revokes a token; returns whether there was one.
    pub fn revoke(&self, id: &str) -> io::Result<bool> {
        if !self.list().iter().any(|paired| paired.id == id) {
            return Ok(false);
        }
        fs::remove_file(self.directory.join("tokens").join(id)).map(|()| true)
    }

    /// Makes a code that can be exchanged for a token once, within a minute.
    pub fn issue_code(&self, name: &str, scope: TokenScope) -> io::Result<String> {
        self.sweep_codes();
        let code = secret()?;
        let expires = now() + CODE_LIFE.as_secs();
        let text = json!({ "name": name, "scope": scope.as_str(), "expires": expires });
        create(&self.directory.join("codes").join(sha256(&code)), text.to_string().as_bytes())?;
        Ok(code)
    }

    /// Exchanges a code for a token of its own. `None` if there is no such code, or it was used, or it is too old.
    pub fn exchange(&self, code: &str) -> io::Result<Option<(PairedToken, String)>> {
        let path = self.directory.join("codes").join(sha256(code));
        let Some(text) = small(&path) else { return Ok(None) };
        // Of two requests with one code, only one can remove it.
        if fs::remove_file(&path).is_err() {
            return Ok(None);
        }
        let fields: Value = serde_json::from_str(&text).unwrap_or_default();
        let scope = fields["scope"].as_str().and_then(|scope| scope.parse().ok());
        let (Some(scope), Some(expires)) = (scope, fields["expires"].as_u64()) else {
            return Ok(None);
        };
        if expires < now() {
            return Ok(None);
        }
        self.issue(fields["name"].as_str().unwrap_or("device"), scope).map(Some)
    }

    /// Removes codes that were not used in time.
    fn sweep_codes(&self) {
        for entry in fs::read_dir(self.directory.join("codes")).into_iter().flatten().flatten() {
            let fields: Value = small(&entry.path())
                .and_then(|it| serde_json::from_str(&it).ok())
                .unwrap_or_default();
            if fields["expires"].as_u64().is_none_or(|expires| expires < now()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn paired(path: &Path) -> Option<PairedToken> {
    let fields: Value = serde_json::from_str(&small(path)?).ok()?;
    Some(PairedToken {
        id: path.file_name()?.to_str()?.to_owned(),
        name: fields["name"].as_str()?.to_owned(),
        scope: fields["scope"].as_str()?.parse().ok()?,
        created: fields["created"].as_u64()?,
        digest: fields["sha256"].as_str()?.to_owned(),
    })
}

/// The text of a small file.
fn small(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().filter(|text| text.len() <= MOST_BYTES)
}

/// Creates a file that only this user may read; it must not exist.
fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// 256 random bits.
fn secret() -> io::Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(hex(&bytes))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, TokenStore) {
        let directory = tempfile::tempdir().expect("a writable directory");
        let store = TokenStore::open(&directory.path().join("serve")).expect("a store");
        (directory, store)
    }

    #[test]
    fn token_files_are_private_and_hold_only_digests() {
        let (directory, store) = store();
        let admin = store.admin().expect("a token");
        assert_eq!(store.admin().expect("the same token"), admin);
        let (paired, token) = store.issue("phone", TokenScope::Approve).expect("a token");
        let serve = directory.path().join("serve");
        for path in ["token", &format!("tokens/{}", paired.id)] {
            let path = serve.join(path);
            let mode = fs::metadata(&path).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
        assert_eq!(fs::metadata(&serve).expect("a directory").permissions().mode() & 0o777, 0o700);
        let kept = fs::read_to_string(serve.join("tokens").join(&paired.id)).expect("a file");
        assert!(!kept.contains(&token), "{kept}");
        fs::set_permissions(serve.join("token"), fs::Permissions::from_mode(0o644))
            .expect("a file");
        assert!(store.admin().expect_err("an open file").to_string().contains("by others"));
        assert_eq!(store.scope_of(&admin), None, "an open token is none");
    }

    #[test]
    fn tokens_are_valid_until_revoked() {
        let (_directory, store) = store();
        let admin = store.admin().expect("a token");
        let (paired, token) = store.issue("phone\n", TokenScope::Read).expect("a token");
        assert_eq!(paired.name, "phone");
        assert_eq!(store.scope_of(&admin), Some(TokenScope::Admin));
        assert_eq!(store.scope_of(&token), Some(TokenScope::Read));
        assert_eq!(store.scope_of(&paired.digest), None, "the digest is no token");
        assert_eq!(store.scope_of(""), None);
        assert!(!store.revoke("../token").expect("no such token"));
        assert!(store.revoke(&paired.id).expect("a token"));
        assert_eq!(store.scope_of(&token), None);
    }

    #[test]
    fn a_pairing_code_is_used_once() {
        let (_directory, store) = store();
        let code = store.issue_code("phone", TokenScope::Approve).expect("a code");
        let (paired, token) = store.exchange(&code).expect("a store").expect("a token");
        assert_eq!((paired.name.as_str(), paired.scope), ("phone", TokenScope::Approve));
        assert_eq!(store.scope_of(&token), Some(TokenScope::Approve));
        for wrong in [code.as_str(), "", "../token", "../../x"] {
            assert_eq!(store.exchange(wrong).expect("a store"), None, "{wrong}");
        }
    }

    #[test]
    fn an_expired_pairing_code_is_refused() {
        let (_directory, store) = store();
        let code = store.issue_code("phone", TokenScope::Approve).expect("a code");
        let path = store.directory.join("codes").join(sha256(&code));
        let old = json!({ "name": "phone", "scope": "approve", "expires": now() - 1 });
        fs::write(&path, old.to_string()).expect("a writable file");
        assert_eq!(store.exchange(&code).expect("a store"), None);
        assert!(!path.exists());
    }
}
