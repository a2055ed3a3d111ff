//! Signatures of objects, and whether the user trusts their keys.
//!
//! The signed message has its own first line, the agent's digest, and the digest of all pushed files.
//! A signature made for any other purpose is therefore never valid for an agent.

use agentry_compile::SigningSettings;
use agentry_compile::model::digest::hex;

use crate::digest;
use crate::durable_write::replace;
use crate::error::StoreError;
use crate::keys::{PublicKey, SecretKey};
use crate::manifest::ObjectManifest;
use crate::store::{AgentStore, names};

/// The signatures that the user requires.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignatureTrust {
    /// Whether an object needs a signature of a trusted key.
    pub required: bool,
    /// The trusted keys.
    pub keys: Vec<PublicKey>,
}

impl SignatureTrust {
    /// Reads the user's settings.
    pub fn new(signing: &SigningSettings) -> Result<Self, StoreError> {
        let keys = signing.trusted.iter().map(|key| key.parse());
        Ok(Self { required: signing.required, keys: keys.collect::<Result<_, _>>()? })
    }
}

/// The message that is signed.
fn message(manifest: &ObjectManifest) -> Vec<u8> {
    format!("agentry signature 1\n{}\n{}\n", manifest.digest, manifest.content()).into_bytes()
}

impl AgentStore {
    /// Verifies an object and signs it.
    pub fn sign(&self, digest: &str, key: &SecretKey) -> Result<(), StoreError> {
        let _lock = self.lock()?;
        let manifest = self.read(digest)?.manifest;
        let path = self.object(digest)?.join("signatures").join(key.public().digits());
        let text = format!("{}\n", hex(&key.sign(&message(&manifest))));
        replace(&path, text.as_bytes(), &self.temporary()).map_err(StoreError::writing(&path))
    }

    /// The keys that signed an object. One wrong signature is an error.
    pub fn signers(&self, manifest: &ObjectManifest) -> Result<Vec<PublicKey>, StoreError> {
        let dir = self.object(&manifest.digest)?.join("signatures");
        let mut signers = Vec::new();
        for name in names(&dir)? {
            let path = dir.join(&name);
            let wrong = || {
                let why = format!("`{}` has a wrong signature: `{name}`", manifest.digest);
                StoreError::Untrusted { why, signers: Vec::new() }
            };
            let key: PublicKey = format!("ed25519:{name}").parse().map_err(|_| wrong())?;
            let text = std::fs::read_to_string(&path).map_err(StoreError::reading(&path))?;
            let signature = text.strip_suffix('\n').and_then(digest::bytes::<64>);
            if !signature.is_some_and(|signature| key.verifies(&message(manifest), &signature)) {
                return Err(wrong());
            }
            signers.push(key);
        }
        Ok(signers)
    }

    /// Refuses an object without the signature that the user requires.
    pub(crate) fn accept(
        &self,
        manifest: &ObjectManifest,
        trust: &SignatureTrust,
    ) -> Result<(), StoreError> {
        // Signatures are verified only if the user requires them.
        if !trust.required {
            return Ok(());
        }
        let signers = self.signers(manifest)?;
        if signers.iter().any(|key| trust.keys.contains(key)) {
            return Ok(());
        }
        let ObjectManifest { name, version, digest, .. } = manifest;
        let signers: Vec<_> = signers.iter().map(ToString::to_string).collect();
        let why = match signers.as_slice() {
            [] => "it is not signed".to_owned(),
            keys => format!("no trusted key signed it, only `{}`", keys.join("`, `")),
        };
        let why = format!("`{name}@{version}` (`{digest}`) is refused: {why}");
        Err(StoreError::Untrusted { why, signers })
    }
}
