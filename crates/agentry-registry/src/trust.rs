//! Whose signatures are required: by the user for all agents or for one repository, and by a workspace in
//! addition.
//!
//! Each side states demands. All demands must be met, so a workspace can only add some: its keys never count
//! for a demand of the user.

use agentry_compile::SigningSettings;
use agentry_compile::text::path::is_inside;

use crate::error::StoreError;
use crate::keys::PublicKey;

/// The signatures that are required of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignatureTrust {
    /// Whether an object of the store needs a signature of a trusted key.
    pub required: bool,
    /// The keys that the user trusts.
    pub keys: Vec<PublicKey>,
    /// Keys whose signatures never count.
    pub revoked: Vec<PublicKey>,
    /// Further demands: one of the keys of each must have signed.
    pub(crate) demands: Vec<Vec<PublicKey>>,
}

impl SignatureTrust {
    /// Reads the user's settings, and those that a workspace adds.
    pub fn new(user: &SigningSettings, workspace: &SigningSettings) -> Result<Self, StoreError> {
        let mut revoked = parsed(&user.revoked)?;
        revoked.extend(parsed(&workspace.revoked)?);
        Ok(Self {
            required: user.required || workspace.required,
            keys: parsed(&user.trusted)?,
            revoked,
            demands: Vec::new(),
        })
    }

    /// What is required of an agent of the repository `host/path`.
    pub fn for_repository(
        user: &SigningSettings,
        workspace: &SigningSettings,
        place: &str,
    ) -> Result<Self, StoreError> {
        let mut trust = Self::new(user, workspace)?;
        if let Some(keys) = for_place(user, place) {
            // The user's keys for this repository stand in for those for all others.
            trust.keys = parsed(keys)?;
            trust.required = true;
        }
        if let Some(keys) = for_place(workspace, place) {
            trust.demands.push(parsed(keys)?);
        }
        Ok(trust)
    }

    /// Whether no signature is required.
    pub fn is_open(&self) -> bool {
        !self.required && self.demands.is_empty()
    }

    /// Whether a signature of this key counts.
    pub fn counts(&self, key: &PublicKey) -> bool {
        self.keys.contains(key) && !self.revoked.contains(key)
    }

    /// Why these signers are not enough; `None` if they are.
    pub fn missing(&self, signers: &[PublicKey]) -> Option<String> {
        let valid: Vec<_> = signers.iter().filter(|key| !self.revoked.contains(key)).collect();
        let own = self.required.then_some(&self.keys);
        let is_met = |keys: &&Vec<PublicKey>| valid.iter().any(|key| keys.contains(key));
        if own.into_iter().chain(&self.demands).all(|keys| is_met(&keys)) {
            return None;
        }
        let shown = |keys: &[PublicKey]| {
            keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
        };
        Some(match (signers, valid.as_slice()) {
            ([], _) => "it is not signed".to_owned(),
            (signers, []) => format!("only a revoked key signed it: {}", shown(signers)),
            (signers, _) => format!("no trusted key signed it, only {}", shown(signers)),
        })
    }
}

/// The keys for a repository: those of the longest entry that is the repository or a part of its path.
fn for_place<'s>(settings: &'s SigningSettings, place: &str) -> Option<&'s Vec<String>> {
    let entries = settings.repositories.iter().filter(|(entry, _)| is_inside(place, entry));
    entries.max_by_key(|(entry, _)| entry.len()).map(|(_, keys)| keys)
}

fn parsed(keys: &[String]) -> Result<Vec<PublicKey>, StoreError> {
    keys.iter().map(|key| key.parse()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::KeyRing;

    /// Three keys, as their texts.
    fn keys() -> [String; 3] {
        let home = tempfile::tempdir().unwrap();
        let ring = KeyRing::new(home.path());
        ["a", "b", "c"].map(|name| ring.generate(name).unwrap().to_string())
    }

    fn settings(
        required: bool,
        trusted: &[&String],
        repositories: &[(&str, &String)],
    ) -> SigningSettings {
        let repositories = repositories.iter();
        SigningSettings {
            required,
            trusted: trusted.iter().map(|&key| key.clone()).collect(),
            repositories: repositories
                .map(|(place, key)| ((*place).to_owned(), vec![(*key).clone()]))
                .collect(),
            revoked: Vec::new(),
        }
    }

    #[test]
    fn a_workspace_only_adds_signature_demands() {
        let [a, b, c] = &keys();
        let none = SigningSettings::default();
        let user = settings(false, &[a], &[("host/team", b), ("host/team/deep", c)]);
        let team = settings(false, &[], &[("host", a)]);
        let strict = settings(true, &[c], &[]);
        let cases: [(&SigningSettings, &SigningSettings, &str, &[&String], bool); 14] = [
            (&none, &none, "host/x", &[], true),
            (&user, &none, "host/x", &[], true),
            (&user, &none, "host/teams", &[], true),
            (&user, &none, "host/team/x", &[], false),
            (&user, &none, "host/team/x", &[a], false),
            (&user, &none, "host/team/x", &[b], true),
            (&user, &none, "host/team/deep", &[b], false),
            (&user, &none, "host/team/deep/x", &[c], true),
            (&none, &team, "host/x", &[a], true),
            (&none, &team, "host/x", &[], false),
            (&user, &team, "host/team/x", &[a], false),
            (&user, &team, "host/team/x", &[b, a], true),
            // The workspace requires a signature, and its own list of trusted keys does not count.
            (&none, &strict, "host/x", &[c], false),
            (&user, &strict, "host/x", &[a], true),
        ];
        for (at, (user, workspace, place, signers, expected)) in cases.into_iter().enumerate() {
            let trust = SignatureTrust::for_repository(user, workspace, place).unwrap();
            let signers: Vec<PublicKey> = signers.iter().map(|key| key.parse().unwrap()).collect();
            assert_eq!(trust.missing(&signers).is_none(), expected, "case {at}");
        }
    }

    #[test]
    fn a_revoked_key_never_counts() {
        let [a, b, _] = &keys();
        let user = settings(true, &[a, b], &[]);
        let workspace = SigningSettings { revoked: vec![a.clone()], ..SigningSettings::default() };
        let trust = SignatureTrust::new(&user, &workspace).unwrap();
        let signers =
            |keys: &[&String]| keys.iter().map(|key| key.parse().unwrap()).collect::<Vec<_>>();
        let why = trust.missing(&signers(&[a])).unwrap_or_default();
        assert!(why.contains("revoked"), "{why}");
        assert_eq!(trust.missing(&signers(&[a, b])), None);
    }
}
