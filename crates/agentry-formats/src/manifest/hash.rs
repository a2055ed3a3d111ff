//! `ag1:`, the hash by which the reference implementation identifies a manifest: 48 bits of the SHA-256 of
//! its fields. It helps to find a manifest, but is too short to prove that it is unchanged.

use agentry_text::digest::sha256;
use agentry_text::{Findings, SourceFile, Span, TreeEntry, TreeKey, TreeNode, TreeValue, path};

use super::canonical;
use super::load::{LoadedManifest, MAIN_FILES, load};
use super::schema::{self, HashRefusal};
use crate::AgentPackage;

/// The hash of a manifest, with the text it was computed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestHash {
    /// `ag1:` and twelve hexadecimal digits.
    pub hash: String,
    /// The canonical text.
    pub canonical: String,
}

/// Returns the `ag1:` hash of the manifest, unless the reference rejects it.
pub fn ag1(package: &mut AgentPackage<'_>, findings: &mut Findings) -> Option<ManifestHash> {
    try_ag1(package, findings).ok()
}

/// Returns the `ag1:` hash of the manifest, or why it has none.
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

/// Returns the hash of a loaded manifest.
pub(super) fn of(loaded: &LoadedManifest) -> Result<ManifestHash, HashRefusal> {
    if let Some((span, message)) = &loaded.broken {
        let reason = format!("readable: {message}");
        return Err(HashRefusal { span: *span, field: String::new(), reason });
    }
    let canonical = canonical::print(&schema::apply(&with_texts(loaded))?);
    let digest = sha256(&canonical);
    // 12 hexadecimal digits are the 48 bits of the hash.
    let hash = format!("ag1:{}", digest.get(..12).unwrap_or_default());
    Ok(ManifestHash { hash, canonical })
}

/// Whether the reference treats a file of that name as a manifest.
pub(super) fn is_manifest_name(path: &str) -> bool {
    let name = path::name(path);
    let stem = name.strip_suffix(".agent").unwrap_or_default();
    MAIN_FILES.contains(&name) || !stem.is_empty()
}

fn whole(reason: &str) -> HashRefusal {
    let span = Span::start_of(agentry_text::FileId::BUILT_IN);
    HashRefusal { span, field: String::new(), reason: reason.to_owned() }
}

/// Returns the manifest with the texts of its directory instead of the inline ones.
fn with_texts(loaded: &LoadedManifest) -> TreeNode {
    let mut node = loaded.node.clone();
    if let TreeValue::Map(map) = &mut node.value {
        for (key, source) in [("soul", &loaded.soul), ("rules", &loaded.rules)] {
            let Some(source) = source else { continue };
            let span = source.whole();
            let value = TreeNode::new(TreeValue::Str(lines(source)), span);
            // Pushed last, because the last value of a repeated key wins.
            map.entries.push(TreeEntry { key: TreeKey::string(key, span), value });
        }
    }
    node
}

/// Returns the text of a file as the reference reads it: `\n` line breaks, and its byte order mark.
fn lines(source: &SourceFile) -> String {
    let mark = if source.had_mark { "\u{feff}" } else { "" };
    format!("{mark}{}", source.text.replace("\r\n", "\n").replace('\r', "\n"))
}
