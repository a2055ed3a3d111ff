//! Signatures of objects.
//!
//! The signed message has its own first line, the agent's digest, and the digest of all pushed files.
//! A signature made for any other purpose is therefore never valid for an agent.

use agentry_compile::text::digest::{self, hex};

use crate::durable_write::replace;
use crate::error::StoreError;
use crate::keys::{PublicKey, SecretKey};
use crate::manifest::ObjectManifest;
use crate::store::{AgentStore, names};
use crate::trust::SignatureTrust;

/// A signature of an object, with the key that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectSignature {
    /// The key, as the signature names it.
    pub key: PublicKey,
    signature: [u8; 64],
}

impl ObjectSignature {
    /// Signs an object.
    fn new(manifest: &ObjectManifest, key: &SecretKey) -> Self {
        Self { key: key.public(), signature: key.sign(&message(manifest)) }
    }

    /// Whether it is a signature of this object.
    pub fn verifies(&self, manifest: &ObjectManifest) -> bool {
        self.key.verifies(&message(manifest), &self.signature)
    }

    /// The key and the signature, one per line: how it lies in a registry.
    pub(crate) fn to_text(&self) -> String {
        format!("{}\n{}\n", self.key, hex(&self.signature))
    }

    /// Reads [`Self::to_text`].
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let (key, signature) = text.split_once('\n')?;
        Some(Self { key: key.parse().ok()?, signature: digest::bytes::<64>(signature)? })
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
        let text = format!("{}\n", hex(&ObjectSignature::new(&manifest, key).signature));
        replace(&path, text.as_bytes(), &self.temporary()).map_err(StoreError::writing(&path))
    }

    /// The keys that signed an object. One wrong signature is an error.
    pub fn signers(&self, manifest: &ObjectManifest) -> Result<Vec<PublicKey>, StoreError> {
        let signatures = self.signatures(manifest)?;
        Ok(signatures.into_iter().map(|signature| signature.key).collect())
    }

    /// The signatures of an object. One wrong signature is an error.
    pub fn signatures(
        &self,
        manifest: &ObjectManifest,
    ) -> Result<Vec<ObjectSignature>, StoreError> {
        let dir = self.object(&manifest.digest)?.join("signatures");
        let mut signatures = Vec::new();
        for name in names(&dir)? {
            let path = dir.join(&name);
            let wrong = || {
                let why = format!("`{}` has a wrong signature: `{name}`", manifest.digest);
                StoreError::Untrusted { why, signers: Vec::new() }
            };
            let key: PublicKey = format!("ed25519:{name}").parse().map_err(|_| wrong())?;
            let text = std::fs::read_to_string(&path).map_err(StoreError::reading(&path))?;
            let bytes = text.strip_suffix('\n').and_then(digest::bytes::<64>).ok_or_else(wrong)?;
            let signature = ObjectSignature { key, signature: bytes };
            if !signature.verifies(manifest) {
                return Err(wrong());
            }
            signatures.push(signature);
        }
        Ok(signatures)
    }

    /// Refuses an object without the signatures that the settings require.
    pub(crate) fn accept(
        &self,
        manifest: &ObjectManifest,
        trust: &SignatureTrust,
    ) -> Result<(), StoreError> {
        // Signatures are verified only if they are required.
        if trust.is_open() {
            return Ok(());
        }
        let signers = self.signers(manifest)?;
        let Some(why) = trust.missing(&signers) else { return Ok(()) };
        let ObjectManifest { name, version, digest, .. } = manifest;
        let why = format!("`{name}@{version}` (`{digest}`) is refused: {why}");
        let signers = signers.iter().map(ToString::to_string).collect();
        Err(StoreError::Untrusted { why, signers })
    }
}
