//! The manifest of an object: `manifest.json` with its name, version, format and files.
//!
//! A manifest must equal, byte for byte, what this code would write. Any other spelling means that
//! the file was changed.

use agentry_compile::model::Format;
use agentry_compile::text::path::split;
use agentry_compile::text::{digest, limits};
use serde_json::{Map, Value, json};

use crate::path;

/// The version of the manifest format.
const OBJECT: u64 = 1;

/// The description of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectManifest {
    /// The full digest of the agent, which is the name of the object.
    pub digest: String,
    /// The short digest `ag1:…`; only the format `manifest` has one.
    pub short: Option<String>,
    /// The name of the agent.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What the agent is for; used by searches.
    pub description: String,
    /// Its format.
    pub format: Format,
    /// Its main file, one of `files`.
    pub main: String,
    /// When it was pushed. Informative only.
    pub created: String,
    /// The digests of agents of the store that it inherits from.
    pub bases: Vec<String>,
    /// Its files, sorted by path.
    pub files: Vec<ObjectFile>,
}

/// One file of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectFile {
    /// The path relative to `files/` of the object.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// `sha256:…` of its bytes.
    pub sha256: String,
}

impl ObjectManifest {
    /// The digest of the whole object, to the last byte of each file. Signatures cover it, because
    /// the agent's digest does not cover files that were only taken along.
    pub fn content(&self) -> String {
        let mut value = self.fields();
        // The time of the push is not part of the content.
        value.remove("created");
        digest::of(Value::Object(value).to_string().as_bytes())
    }

    /// The directory of the agent inside the object.
    pub fn dir(&self) -> &str {
        split(&self.main).0
    }

    /// The text of `manifest.json`.
    pub(crate) fn to_text(&self) -> String {
        let mut value = self.fields();
        // The checksum covers all fields, so any changed byte is noticed.
        let checksum = digest::of(Value::Object(value.clone()).to_string().as_bytes());
        value.insert("checksum".to_owned(), Value::String(checksum));
        format!("{:#}\n", Value::Object(value))
    }

    /// Parses a manifest, or returns what is wrong with it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let unread = |error: serde_json::Error| format!("its manifest cannot be read: {error}");
        let value: Value = serde_json::from_slice(bytes).map_err(unread)?;
        // Checked first: a later format may have other fields.
        let known = value.get("object").and_then(Value::as_u64);
        if known.is_some_and(|known| known > OBJECT) {
            return Err("a later agentry wrote its manifest".to_owned());
        }
        let manifest = Self::read(&value).ok_or("its manifest lacks something")?;
        if manifest.to_text().as_bytes() != bytes {
            return Err("its manifest was changed".to_owned());
        }
        match manifest.problem() {
            None => Ok(manifest),
            Some(why) => Err(why),
        }
    }

    /// The first reason why the manifest is not acceptable.
    pub(crate) fn problem(&self) -> Option<String> {
        if self.files.len() > limits::FILES {
            return Some(format!("it has more than {} files", limits::FILES));
        }
        if !self.files.iter().any(|file| file.path == self.main) {
            return Some(format!("its main file `{}` is missing", self.main));
        }
        path::problem(self.files.iter().map(|file| file.path.as_str()))
    }

    fn fields(&self) -> Map<String, Value> {
        let Self { digest, short, name, version, description, format, main, created, bases, files } =
            self;
        let file = |ObjectFile { path, size, sha256 }: &ObjectFile| json!({"path": path, "size": size, "sha256": sha256});
        let value = json!({
            "object": OBJECT,
            "digest": digest,
            "short": short,
            "name": name,
            "version": version,
            "description": description,
            "format": format.as_str(),
            "main": main,
            "created": created,
            "bases": bases,
            "files": files.iter().map(file).collect::<Vec<_>>(),
        });
        match value {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    fn read(value: &Value) -> Option<Self> {
        let text = |value: &Value, key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let file = |value: &Value| {
            let size = value.get("size")?.as_u64()?;
            Some(ObjectFile { path: text(value, "path")?, size, sha256: text(value, "sha256")? })
        };
        let bases = value.get("bases")?.as_array()?.iter();
        Some(Self {
            digest: text(value, "digest")?,
            short: text(value, "short"),
            name: text(value, "name")?,
            version: text(value, "version")?,
            description: text(value, "description")?,
            format: text(value, "format")?.parse().ok()?,
            main: text(value, "main")?,
            created: text(value, "created")?,
            bases: bases.map(|base| base.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            files: value.get("files")?.as_array()?.iter().map(file).collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn manifest() -> ObjectManifest {
        let file =
            |path: &str| ObjectFile { path: path.to_owned(), size: 3, sha256: digest::of(b"abc") };
        ObjectManifest {
            digest: digest::of(b"x"),
            short: None,
            name: "helper".to_owned(),
            version: "1.0.0".to_owned(),
            description: "Answers \"questions\"".to_owned(),
            format: Format::Manifest,
            main: "helper.agent".to_owned(),
            created: "2026-01-01T00:00:00Z".to_owned(),
            bases: vec![digest::of(b"y")],
            files: vec![file("helper.agent"), file("rules/a.md")],
        }
    }

    #[test]
    fn only_the_canonical_manifest_text_is_accepted() {
        let text = manifest().to_text();
        assert_eq!(ObjectManifest::parse(text.as_bytes()), Ok(manifest()));
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            assert!(ObjectManifest::parse(&bytes).is_err(), "byte {at} of\n{text}");
            assert!(ObjectManifest::parse(&text.as_bytes()[..at]).is_err(), "the first {at} bytes");
        }
        assert!(ObjectManifest::parse(format!("{text}\n").as_bytes()).is_err());
    }

    #[test]
    fn manifest_content_ignores_the_creation_time() {
        let (one, mut two) = (manifest(), manifest());
        two.created = "1970-01-01T00:00:00Z".to_owned();
        assert_eq!(one.content(), two.content());
        two.files[1].sha256 = digest::of(b"other");
        assert_ne!(one.content(), two.content());
    }

    #[test]
    fn manifest_paths_outside_the_object_are_refused() {
        let mut bad = manifest();
        bad.files[1].path = "../evil".to_owned();
        let why = ObjectManifest::parse(bad.to_text().as_bytes());
        assert_eq!(why, Err("the path `../evil` is not plain".to_owned()));
        bad.files.truncate(0);
        assert!(ObjectManifest::parse(bad.to_text().as_bytes()).is_err());
    }
}
