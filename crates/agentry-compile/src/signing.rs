//! `[signing]`: which signatures are required. The user's configuration lists the trusted keys; a
//! workspace can only require more.

use std::collections::BTreeMap;

use agentry_text::table::Coercion;
use agentry_text::tree::TreeEntry;
use agentry_text::{Diagnostic, Field, FieldKind, FieldTable, Findings, SourceFiles, TableRecord};

use crate::judge::{USER, user_file};
use crate::world::World;

pub(crate) static SIGNING: FieldTable = FieldTable::new(
    "`[signing]`",
    &[
        Field::optional(
            "required",
            FieldKind::Bool,
            "Whether agents without a signature are refused.",
        ),
        Field::optional(
            "trusted",
            FieldKind::List(&FieldKind::Str),
            "The public keys whose signatures count, as `agentry keygen` prints them.",
        ),
        REPOSITORIES,
        REVOKED,
    ],
);

/// What a workspace may say: it names no keys that the user would then trust.
pub(crate) static WORKSPACE_SIGNING: FieldTable = FieldTable::new(
    "`[signing]`",
    &[
        Field::optional(
            "required",
            FieldKind::Bool,
            "Whether agents need a signature of a key that the user trusts.",
        ),
        REPOSITORIES,
        REVOKED,
    ],
);

const REPOSITORIES: Field = Field::optional(
    "repositories",
    FieldKind::Map(&FieldKind::List(&FieldKind::Str)),
    "The public keys one of which must have signed agents of a registry, by `host/path`; the longest path decides.",
);
const REVOKED: Field = Field::optional(
    "revoked",
    FieldKind::List(&FieldKind::Str),
    "The public keys whose signatures never count.",
);

/// The signatures that the user requires.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SigningSettings {
    /// Whether stored agents need a signature of a trusted key.
    pub required: bool,
    /// The trusted keys, as written.
    pub trusted: Vec<String>,
    /// The keys for repositories of registries, by `host/path`.
    pub repositories: BTreeMap<String, Vec<String>>,
    /// The keys that never count.
    pub revoked: Vec<String>,
}

impl SigningSettings {
    /// Reads what both tables have. `trusted` is only in the user's.
    pub(crate) fn read(signing: &TableRecord<'_>) -> Self {
        Self {
            required: signing.bool("required").is_some_and(|required| required.value),
            trusted: Vec::new(),
            repositories: repositories(signing),
            revoked: strings(signing, "revoked"),
        }
    }
}

fn strings(signing: &TableRecord<'_>, name: &str) -> Vec<String> {
    let found = signing.strings(name).unwrap_or_default();
    found.into_iter().map(|text| text.value).collect()
}

/// Reads the signature settings of the user. Returns the findings about the file if it has errors: a
/// requirement that cannot be read must not be ignored.
pub fn signing(world: &dyn World) -> Result<SigningSettings, (Vec<Diagnostic>, SourceFiles)> {
    let (mut sources, mut findings) = (SourceFiles::default(), Findings::default());
    let node = user_file(world, &mut sources, &mut findings);
    let record = node.as_ref().map(|node| TableRecord::new(&USER, node, Coercion::Strict));
    let signing = record.and_then(|record| record.record("signing", &SIGNING));
    if findings.has_errors() {
        return Err((findings.into_sorted(), sources));
    }
    let Some(signing) = signing else { return Ok(SigningSettings::default()) };
    let trusted = strings(&signing, "trusted");
    Ok(SigningSettings { trusted, ..SigningSettings::read(&signing) })
}

/// The keys of each repository. A list with something else than strings was reported by the validation.
fn repositories(signing: &TableRecord<'_>) -> BTreeMap<String, Vec<String>> {
    let entries = signing.map("repositories").map_or(&[][..], |map| &map.entries);
    let keys = |entry: &TreeEntry| {
        let keys = entry.value.as_list().unwrap_or_default().iter();
        keys.filter_map(|key| key.as_str().map(str::to_owned)).collect()
    };
    entries.iter().map(|entry| (entry.key.text.clone(), keys(entry))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryWorld;

    #[test]
    fn unreadable_signing_settings_are_errors() {
        let demand = |required, trusted: &[&str]| {
            let trusted = trusted.iter().map(|&key| key.to_owned()).collect();
            Some(SigningSettings { required, trusted, ..SigningSettings::default() })
        };
        let cases = [
            ("", demand(false, &[])),
            ("[policy]\nbash = { intent = \"deny\" }\n", demand(false, &[])),
            ("[signing]\nrequired = true\n", demand(true, &[])),
            ("[signing]\ntrusted = [\"ed25519:00\"]\n", demand(false, &["ed25519:00"])),
            ("[signing]\nrequired = \"yes\"\n", None),
            ("[signing]\nrevoked = 1\n", None),
            ("[signing.repositories]\n\"host/x\" = 1\n", None),
            ("[signing]\ntrusted = \"ed25519:00\"\n", None),
            ("[signing\nrequired = true\n", None),
        ];
        for (text, expected) in cases {
            let mut world = MemoryWorld::default();
            let path = world.machine().user_config.clone().unwrap_or_default();
            world.write(&path, text);
            assert_eq!(signing(&world).ok(), expected, "{text}");
        }
        assert_eq!(signing(&MemoryWorld::default()).ok(), demand(false, &[]));
    }
}
