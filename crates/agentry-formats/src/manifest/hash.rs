//! `ag1:`, the hash by which the reference names a manifest: 48 bits of the SHA-256 of its fields.
//! Good for finding a manifest, too short to prove that it is the same one.

use agentry_model::digest::hex;
use agentry_text::{Findings, SourceFile, Span, TreeEntry, TreeKey, TreeNode, TreeValue, path};
use sha2::{Digest as _, Sha256};

use super::canonical;
use super::load::{LoadedManifest, MAIN_FILES, load};
use super::schema::{self, HashRefusal};
use crate::AgentPackage;

/// The hash of a manifest, with the text that it is the hash of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestHash {
    /// `ag1:` and twelve hexadecimal digits.
    pub hash: String,
    /// The text.
    pub canonical: String,
}

/// The `ag1:` hash of the manifest, unless the reference refuses it.
pub fn ag1(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Option<ManifestHash> {
    try_ag1(package, findings).ok()
}

/// The `ag1:` hash of the manifest, or why it has none.
pub fn try_ag1(
    package: &mut AgentPackage<'_>,
    findings: &mut Findings,
) -> Result<ManifestHash, HashRefusal> {
    let main = package.main.clone();
    match load(package, findings) {
        None => Err(whole("there")),
        Some(_) if !is_manifest_name(&main) => Err(whole("a manifest by its name")),
        Some(loaded) => of(&loaded),
    }
}

/// The hash of a manifest that was read.
pub(super) fn of(loaded: &LoadedManifest) -> Result<ManifestHash, HashRefusal> {
    if let Some((span, message)) = &loaded.broken {
        let reason = format!("readable: {message}");
        return Err(HashRefusal { span: *span, field: String::new(), reason });
    }
    let canonical = canonical::print(&schema::apply(&with_texts(loaded))?);
    let digest = hex(&Sha256::digest(canonical.as_bytes()));
    let hash = format!("ag1:{}", digest.get(..12).unwrap_or_default());
    Ok(ManifestHash { hash, canonical })
}

/// Whether a file of that name is a manifest to the reference.
pub(super) fn is_manifest_name(path: &str) -> bool {
    let name = path::name(path);
    let stem = name.strip_suffix(".agent").unwrap_or_default();
    MAIN_FILES.contains(&name) || !stem.is_empty()
}

fn whole(reason: &str) -> HashRefusal {
    let span = Span::start_of(agentry_text::FileId::BUILT_IN);
    HashRefusal { span, field: String::new(), reason: reason.to_owned() }
}

/// The manifest with the texts of its directory in place of its own.
fn with_texts(loaded: &LoadedManifest) -> TreeNode {
    let mut node = loaded.node.clone();
    if let TreeValue::Map(map) = &mut node.value {
        for (key, source) in [("soul", &loaded.soul), ("rules", &loaded.rules)] {
            let Some(source) = source else { continue };
            let span = source.whole();
            let value = TreeNode::new(TreeValue::Str(lines(source)), span);
            map.entries.push(TreeEntry { key: TreeKey::string(key, span), value });
        }
    }
    node
}

/// The text of a file as the reference reads it: with one kind of line break, and with its mark.
fn lines(source: &SourceFile) -> String {
    let mark = if source.had_mark { "\u{feff}" } else { "" };
    format!("{mark}{}", source.text.replace("\r\n", "\n").replace('\r', "\n"))
}
