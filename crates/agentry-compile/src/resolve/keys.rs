//! Finds the variables for a provider's key: from the agent's `auth` block, and from the provider table.

use agentry_model::{AuthStrategy, ProviderAuth};

use super::provider::{ModelProvider, canonical};

/// How a provider's key is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProviderKey {
    /// No key is needed.
    Needless,
    /// In the first of these variables that is set.
    In(Vec<String>),
    /// A key is needed but not allowed, for this reason.
    Refused(String),
}

/// How the key of `provider` is found for an agent with this `auth` block.
pub(super) fn key(provider: &ModelProvider, auth: &ProviderAuth) -> ProviderKey {
    if provider.keys.is_empty() {
        return ProviderKey::Needless;
    }
    let strategy = auth.strategy.as_ref().map_or(AuthStrategy::Auto, |strategy| strategy.value);
    let listed = auth.providers.iter().flatten();
    let listed = listed.filter(|(name, _)| canonical(name) == provider.name);
    let sources: Vec<&str> = listed.map(|(_, source)| source.value.as_str()).collect();
    let named: Vec<String> = sources.iter().filter_map(|source| variable(source)).collect();
    match strategy {
        AuthStrategy::None => {
            ProviderKey::Refused("it needs a key, and `auth.strategy` is `none`".to_owned())
        }
        AuthStrategy::Explicit if named.is_empty() => ProviderKey::Refused(format!(
            "`auth.strategy` is `explicit`, and `auth.providers` names no variable for `{}`",
            provider.name
        )),
        AuthStrategy::Explicit => ProviderKey::In(named),
        AuthStrategy::Auto => {
            let own = provider.keys.iter().filter(|key| !named.contains(key)).cloned();
            ProviderKey::In(named.iter().cloned().chain(own).collect())
        }
    }
}

/// The variable in a source such as `env.NAME`.
fn variable(source: &str) -> Option<String> {
    let name = source.strip_prefix("env.").filter(|name| !name.is_empty())?;
    let sign = |c: char| c == '_' || c.is_ascii_alphanumeric();
    name.chars().all(sign).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use agentry_text::{FileId, Span, Spanned};

    use super::*;
    use AuthStrategy::{Auto, Explicit, None as Never};

    /// Strategy, listed providers with their sources, the provider, and the expected key.
    type Case<'a> = (Option<AuthStrategy>, &'a [(&'a str, &'a str)], &'a str, ProviderKey);

    #[test]
    fn key_variables_follow_the_auth_block() {
        let at = |text: &str| Spanned::new(text.to_owned(), Span::start_of(FileId(0)));
        let named =
            |names: &[&str]| ProviderKey::In(names.iter().map(|&name| name.to_owned()).collect());
        let explicit = "`auth.strategy` is `explicit`, and `auth.providers` names no variable for \
                        `google`";
        let none = "it needs a key, and `auth.strategy` is `none`";
        let cases: &[Case<'_>] = &[
            (None, &[], "google", named(&["GEMINI_API_KEY", "GOOGLE_API_KEY"])),
            (
                Some(Auto),
                &[("gemini", "env.MINE")],
                "google",
                named(&["MINE", "GEMINI_API_KEY", "GOOGLE_API_KEY"]),
            ),
            (
                Some(Auto),
                &[("google", "env.GOOGLE_API_KEY")],
                "google",
                named(&["GOOGLE_API_KEY", "GEMINI_API_KEY"]),
            ),
            (
                Some(Auto),
                &[("openai", "env.MINE")],
                "google",
                named(&["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
            ),
            (Some(Explicit), &[("google", "env.MINE")], "google", named(&["MINE"])),
            (
                Some(Explicit),
                &[("openai", "env.MINE")],
                "google",
                ProviderKey::Refused(explicit.to_owned()),
            ),
            (
                Some(Explicit),
                &[("google", "sk-live")],
                "google",
                ProviderKey::Refused(explicit.to_owned()),
            ),
            (
                Some(Never),
                &[("google", "env.MINE")],
                "google",
                ProviderKey::Refused(none.to_owned()),
            ),
            (Some(Never), &[], "ollama", ProviderKey::Needless),
            (Some(Explicit), &[], "local", ProviderKey::Needless),
        ];
        for (strategy, providers, name, expected) in cases {
            let auth = ProviderAuth {
                strategy: strategy.map(|it| Spanned::new(it, Span::start_of(FileId(0)))),
                providers: Some(providers.iter().map(|(a, b)| ((*a).to_owned(), at(b))).collect()),
            };
            let provider = ModelProvider::built_in(name).unwrap();
            assert_eq!(key(&provider, &auth), *expected, "{strategy:?} {providers:?} {name}");
        }
    }
}
