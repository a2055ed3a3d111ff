//! `[signing]`: which signatures the user requires for stored agents. Only the user's configuration has
//! it; a workspace cannot set it.

use agentry_text::table::Coercion;
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
    ],
);

/// The signatures that the user requires.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SigningSettings {
    /// Whether stored agents need a signature of a trusted key.
    pub required: bool,
    /// The trusted keys, as written.
    pub trusted: Vec<String>,
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
    Ok(SigningSettings {
        required: signing.bool("required").is_some_and(|required| required.value),
        trusted: signing
            .strings("trusted")
            .unwrap_or_default()
            .into_iter()
            .map(|key| key.value)
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryWorld;

    #[test]
    fn only_what_can_be_read_counts() {
        let demand = |required, trusted: &[&str]| {
            let trusted = trusted.iter().map(|&key| key.to_owned()).collect();
            Some(SigningSettings { required, trusted })
        };
        let cases = [
            ("", demand(false, &[])),
            ("[policy]\nbash = { intent = \"deny\" }\n", demand(false, &[])),
            ("[signing]\nrequired = true\n", demand(true, &[])),
            ("[signing]\ntrusted = [\"ed25519:00\"]\n", demand(false, &["ed25519:00"])),
            ("[signing]\nrequired = \"yes\"\n", None),
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
