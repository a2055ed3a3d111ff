//! Ed25519 keys. Secret keys are files below the home that only the owner can read.

use std::fmt;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use agentry_compile::text::digest::{self, hex};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::error::StoreError;

/// How a public key starts.
const PUBLIC: &str = "ed25519:";
/// How the file of a secret key starts.
const SECRET: &str = "ed25519-secret:";
/// The most bytes of a key file.
const KEY_BYTES: u64 = 256;

/// A key that signatures are verified with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Whether `signature` was made with this key over `message`.
    pub fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).is_ok()
    }

    /// The 64 digits of the key.
    pub(crate) fn digits(&self) -> String {
        hex(self.0.as_bytes())
    }
}

impl FromStr for PublicKey {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let key = text.strip_prefix(PUBLIC).and_then(digest::bytes::<32>);
        let key = key.and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        // A weak key would accept one signature for many messages.
        let key = key.filter(|key| !key.is_weak());
        key.map(Self).ok_or_else(|| {
            StoreError::Unfit(format!(
                "`{text}` is not a public key: `{PUBLIC}` is followed by 64 digits"
            ))
        })
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC}{}", self.digits())
    }
}

/// A key that signs. `Debug` never prints it.
pub struct SecretKey(SigningKey);

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(***)")
    }
}

impl SecretKey {
    /// The public key that belongs to it.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// The signature over `message`. A message names its purpose in its first line, so that a signature never
    /// holds for another one.
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

/// The keys of one home.
#[derive(Debug, Clone)]
pub struct KeyRing {
    dir: PathBuf,
}

impl KeyRing {
    /// The keys below `home`.
    pub fn new(home: &Path) -> Self {
        Self { dir: home.join("keys") }
    }

    /// The directory of the keys.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Creates a key. Refuses a name that already has one.
    pub fn generate(&self, name: &str) -> Result<PublicKey, StoreError> {
        fits(name)?;
        let path = self.path(name);
        private_dir(&self.dir).map_err(StoreError::writing(&self.dir))?;
        let mut seed = [0; 32];
        if let Err(error) = getrandom::fill(&mut seed) {
            return Err(StoreError::io("written", &path)(io::Error::other(error.to_string())));
        }
        let key = SecretKey(SigningKey::from_bytes(&seed));
        self.write(&path, &seed).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                StoreError::Unfit(format!("there is a key `{name}` already"))
            }
            _ => StoreError::writing(&path)(error),
        })?;
        let public = key.public();
        let text = format!("{public}\n");
        let path = self.dir.join(format!("{name}.pub"));
        fs::write(&path, text).map_err(StoreError::writing(&path))?;
        Ok(public)
    }

    /// Reads the secret key with this name.
    pub fn secret(&self, name: &str) -> Result<SecretKey, StoreError> {
        fits(name)?;
        let path = self.path(name);
        let text = read_private(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => StoreError::Unfit(format!("there is no key `{name}`")),
            _ => StoreError::reading(&path)(error),
        })?;
        let seed = text.trim_end().strip_prefix(SECRET).and_then(digest::bytes::<32>);
        let Some(seed) = seed else {
            return Err(StoreError::Unfit(format!("`{}` holds no key", path.display())));
        };
        Ok(SecretKey(SigningKey::from_bytes(&seed)))
    }

    /// Whether there is a secret key with this name.
    pub fn has(&self, name: &str) -> bool {
        fits(name).is_ok() && self.path(name).exists()
    }

    /// Reads the public key with this name; `None` if there is none.
    pub fn public(&self, name: &str) -> Result<Option<PublicKey>, StoreError> {
        fits(name)?;
        let path = self.dir.join(format!("{name}.pub"));
        let file = match fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::reading(&path)(error)),
        };
        let mut text = String::new();
        file.take(KEY_BYTES).read_to_string(&mut text).map_err(StoreError::reading(&path))?;
        text.trim_end().parse().map(Some)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.key"))
    }

    /// Writes a secret key completely or not at all, and never over another one.
    fn write(&self, path: &Path, seed: &[u8; 32]) -> io::Result<()> {
        // Only the owner can read a temporary file, so the key is never exposed.
        let mut file = tempfile::Builder::new().prefix("key-").tempfile_in(&self.dir)?;
        file.write_all(format!("{SECRET}{}\n", hex(seed)).as_bytes())?;
        file.as_file().sync_all()?;
        // Fails if another process created the same key meanwhile.
        file.persist_noclobber(path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Refuses a text that cannot name a key.
fn fits(name: &str) -> Result<(), StoreError> {
    let is_fit = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_');
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_fit) {
        return Ok(());
    }
    let message = format!(
        "`{name}` cannot be the name of a key: use lower-case letters, digits, `-` and `_`"
    );
    Err(StoreError::Unfit(message))
}

/// Creates a directory that only its owner can read.
fn private_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Reads a file, and refuses one that other users can read.
fn read_private(path: &Path) -> io::Result<String> {
    let file = fs::File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // Checked on the open file, so that it cannot be swapped in between.
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::other("others can read it; `chmod 600` it, or make a new key"));
        }
    }
    let mut text = String::new();
    file.take(KEY_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_generated_once_and_loaded() {
        let home = tempfile::tempdir().unwrap();
        let keys = KeyRing::new(home.path());
        let public = keys.generate("mine").unwrap();
        assert_eq!(keys.secret("mine").unwrap().public(), public);
        assert_eq!(public.to_string().parse::<PublicKey>().unwrap(), public);
        assert!(keys.generate("mine").is_err());
        assert_eq!(keys.public("mine").unwrap(), Some(public));
        assert_eq!((keys.public("other").unwrap(), keys.has("other")), (None, false));
        assert_eq!(keys.secret("mine").unwrap().public(), public);
        for name in ["", "../x", "A", "a.b", "other"] {
            assert!(keys.secret(name).is_err(), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn keys_readable_by_others_are_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let home = tempfile::tempdir().unwrap();
        let keys = KeyRing::new(home.path());
        keys.generate("mine").unwrap();
        let path = home.path().join("keys/mine.key");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(keys.dir())), (0o600, 0o700));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(keys.secret("mine").unwrap_err().to_string().contains("others can read it"));
    }

    #[test]
    fn invalid_public_keys_are_refused() {
        let cases = ["", "ed25519:", "ed25519:00", &format!("ed25519:{}", "0".repeat(64))];
        for text in cases {
            assert!(text.parse::<PublicKey>().is_err(), "{text}");
        }
    }
}
