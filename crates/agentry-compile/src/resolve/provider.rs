//! Providers of language models: their addresses, protocols and key variables. These come from this table or
//! from the user's configuration, never from a workspace.

// Types only: nothing here uses the network.
use core::net::{IpAddr, Ipv6Addr};

use agentry_policy::{web, words};

words! {
    /// The protocol of a provider.
    pub enum ProviderApi {
        /// The chat protocol of `OpenAI`, which many providers use.
        OpenAi = "openai",
        /// The newer protocol of `OpenAI`. It is always used at `OpenAI`'s own address.
        Responses = "openai-responses",
        /// Anthropic.
        Anthropic = "anthropic",
        /// Google.
        Google = "google",
        /// Ollama, on the user's machine.
        Ollama = "ollama",
    }
}

/// A provider of language models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelProvider {
    /// Its canonical name.
    pub name: String,
    /// Its protocol.
    pub api: ProviderApi,
    /// Its address without a final `/`. Empty if none is configured.
    pub base_url: String,
    /// The variables that may hold its key; the first one set is used. Empty if it needs none.
    pub keys: Vec<String>,
}

/// The endpoint that lists a provider's models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelsEndpoint {
    /// The address of the list.
    pub url: String,
    /// The protocol, for sending the key and reading the answer.
    pub api: ProviderApi,
    /// The variable that holds the key, if one is needed.
    pub key: Option<String>,
}

struct ProviderRow {
    name: &'static str,
    aliases: &'static [&'static str],
    api: ProviderApi,
    base_url: &'static str,
    keys: &'static [&'static str],
}

const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    api: ProviderApi,
    base_url: &'static str,
    keys: &'static [&'static str],
) -> ProviderRow {
    ProviderRow { name, aliases, api, base_url, keys }
}

/// The built-in providers.
const PROVIDERS: &[ProviderRow] = &[
    row(
        "anthropic",
        &["claude"],
        ProviderApi::Anthropic,
        "https://api.anthropic.com/v1",
        &["ANTHROPIC_API_KEY"],
    ),
    row("openai", &["gpt"], ProviderApi::OpenAi, "https://api.openai.com/v1", &["OPENAI_API_KEY"]),
    row(
        "google",
        &["gemini"],
        ProviderApi::Google,
        "https://generativelanguage.googleapis.com/v1beta",
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    ),
    row("ollama", &["local"], ProviderApi::Ollama, "http://127.0.0.1:11434", &[]),
    row(
        "openrouter",
        &[],
        ProviderApi::OpenAi,
        "https://openrouter.ai/api/v1",
        &["OPENROUTER_API_KEY"],
    ),
    row("groq", &[], ProviderApi::OpenAi, "https://api.groq.com/openai/v1", &["GROQ_API_KEY"]),
    row(
        "mistral",
        &["mistralai"],
        ProviderApi::OpenAi,
        "https://api.mistral.ai/v1",
        &["MISTRAL_API_KEY"],
    ),
    row("deepseek", &[], ProviderApi::OpenAi, "https://api.deepseek.com/v1", &["DEEPSEEK_API_KEY"]),
    row("xai", &["grok", "x-ai"], ProviderApi::OpenAi, "https://api.x.ai/v1", &["XAI_API_KEY"]),
    row(
        "together",
        &["together_ai", "togetherai"],
        ProviderApi::OpenAi,
        "https://api.together.xyz/v1",
        &["TOGETHER_API_KEY"],
    ),
    row("cerebras", &[], ProviderApi::OpenAi, "https://api.cerebras.ai/v1", &["CEREBRAS_API_KEY"]),
    row(
        "moonshot",
        &["moonshotai", "kimi"],
        ProviderApi::OpenAi,
        "https://api.moonshot.ai/v1",
        &["MOONSHOT_API_KEY"],
    ),
    row(
        "zai",
        &["z-ai", "zhipu", "glm"],
        ProviderApi::OpenAi,
        "https://api.z.ai/api/paas/v4",
        &["ZAI_API_KEY"],
    ),
];

impl ModelProvider {
    /// The built-in provider of this name.
    pub fn built_in(name: &str) -> Option<Self> {
        let ProviderRow { name, api, base_url, keys, .. } =
            PROVIDERS.iter().find(|row| row.name == canonical(name))?;
        Some(Self {
            name: (*name).to_owned(),
            api: *api,
            base_url: (*base_url).to_owned(),
            keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        })
    }

    /// All built-in providers.
    pub fn all() -> Vec<Self> {
        PROVIDERS.iter().filter_map(|row| Self::built_in(row.name)).collect()
    }

    /// Whether it runs on this machine, so that a request does not leave it.
    pub fn is_local(&self) -> bool {
        host(&self.base_url).is_some_and(|host| {
            let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        })
    }

    /// Why its address cannot be used.
    pub fn unusable(&self) -> Option<String> {
        if self.base_url.is_empty() {
            return Some(format!("`[providers.{}]` has no `base_url`", self.name));
        }
        let Some((scheme, _)) =
            self.base_url.split_once("://").filter(|_| host(&self.base_url).is_some())
        else {
            return Some(format!("`{}` is not a web address", self.base_url));
        };
        // Plain HTTP is accepted only on this machine, which the key does not leave.
        let open = scheme.eq_ignore_ascii_case("http") && !self.is_local();
        (open && !self.keys.is_empty())
            .then(|| format!("its key would go to `{}` unencrypted", self.base_url))
    }

    /// The endpoint that lists its models.
    pub fn list(&self, key: Option<String>) -> ModelsEndpoint {
        let path = match self.api {
            ProviderApi::OpenAi | ProviderApi::Responses => "models",
            ProviderApi::Anthropic => "models?limit=1000",
            ProviderApi::Google => "models?pageSize=1000",
            ProviderApi::Ollama => "api/tags",
        };
        ModelsEndpoint { url: format!("{}/{path}", self.base_url), api: self.api, key }
    }
}

/// The address in `OLLAMA_HOST`, read as Ollama does. Scheme and port may be missing. A server on all
/// interfaces is reached on this machine. The default port is Ollama's own, except for another machine
/// with an explicit scheme. An invalid port is ignored.
pub(super) fn ollama_address(text: &str) -> String {
    const PORT: &str = ":11434";
    let text = text.trim().trim_matches(['"', '\'']).trim();
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let (place, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (name, port) = match place.rsplit_once(':') {
        // In a bare IPv6 address, no colon separates a port.
        _ if place.parse::<Ipv6Addr>().is_ok() => (place, None),
        Some((name, port)) if !port.contains(']') => (name, port.parse::<u16>().ok()),
        _ => (place, None),
    };
    let name = match name.trim_start_matches('[').trim_end_matches(']') {
        // A listen address is not an address to connect to.
        "" | "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        name if name.contains(':') => format!("[{name}]"),
        name => name.to_owned(),
    };
    let is_here = matches!(name.as_str(), "localhost" | "127.0.0.1" | "[::1]");
    let port = match port {
        Some(port) => format!(":{port}"),
        None if is_here || !text.contains("://") => PORT.to_owned(),
        None => String::new(),
    };
    let path = path.trim_end_matches('/');
    let sign = if path.is_empty() { "" } else { "/" };
    format!("{scheme}://{name}{port}{sign}{path}")
}

/// The canonical name of a provider: `claude` is `anthropic`, `local` is `ollama`.
pub(super) fn canonical(name: &str) -> String {
    let name = name.trim().to_lowercase();
    let row = PROVIDERS.iter().find(|row| row.aliases.contains(&name.as_str()));
    row.map_or(name, |row| row.name.to_owned())
}

/// The host of an address, normalised as a client would use it.
fn host(url: &str) -> Option<String> {
    let address = web::address(url).ok().filter(|address| address.doubt.is_none())?;
    let (_, rest) = address.text.split_once("://")?;
    let (host, _) = rest.split('/').next()?.rsplit_once(':')?;
    Some(host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_aliases_resolve() {
        let cases = [
            ("claude", Some("anthropic")),
            ("Gemini", Some("google")),
            ("local", Some("ollama")),
            ("openai", Some("openai")),
            ("cursor", None),
            ("", None),
        ];
        for (name, expected) in cases {
            let found = ModelProvider::built_in(name).map(|provider| provider.name);
            assert_eq!(found.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn every_built_in_provider_is_usable() {
        for provider in ModelProvider::all() {
            assert_eq!(provider.unusable(), None, "{provider:?}");
            assert_eq!(provider.is_local(), provider.api == ProviderApi::Ollama, "{provider:?}");
            assert_eq!(provider.keys.is_empty(), provider.is_local(), "{provider:?}");
        }
    }

    #[test]
    fn unsafe_provider_addresses_are_refused() {
        let provider = |base_url: &str| ModelProvider {
            name: "lab".to_owned(),
            api: ProviderApi::OpenAi,
            base_url: base_url.to_owned(),
            keys: vec!["LAB_KEY".to_owned()],
        };
        let cases = [
            ("", false, Some("`[providers.lab]` has no `base_url`")),
            ("ftp://x", false, Some("`ftp://x` is not a web address")),
            ("https://lab.example/v1", false, None),
            (
                "http://lab.example",
                false,
                Some("its key would go to `http://lab.example` unencrypted"),
            ),
            ("http://localhost:8000/v1", true, None),
            ("http://0x7f.1:8000", true, None),
            ("http://[::1]:8000", true, None),
            (
                "http://127.0.0.1.lab.example",
                false,
                Some("its key would go to `http://127.0.0.1.lab.example` unencrypted"),
            ),
            ("http://user@127.0.0.1", false, Some("`http://user@127.0.0.1` is not a web address")),
        ];
        for (url, local, unusable) in cases {
            assert_eq!(provider(url).is_local(), local, "{url}");
            assert_eq!(provider(url).unusable().as_deref(), unusable, "{url}");
        }
    }

    #[test]
    fn ollama_host_becomes_a_base_address() {
        let cases = [
            ("127.0.0.1", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:9000", "http://127.0.0.1:9000"),
            (":9000", "http://127.0.0.1:9000"),
            ("box.local:80", "http://box.local:80"),
            ("https://box.example/", "https://box.example"),
            ("http://box.example:1/", "http://box.example:1"),
            ("[::1]", "http://[::1]:11434"),
            ("[::1]:5", "http://[::1]:5"),
            ("::1", "http://[::1]:11434"),
            ("[::]:9000", "http://[::1]:9000"),
            ("localhost", "http://localhost:11434"),
            ("box.local", "http://box.local:11434"),
            ("http://localhost", "http://localhost:11434"),
            ("http://localhost/", "http://localhost:11434"),
            ("http://0.0.0.0", "http://127.0.0.1:11434"),
            ("http://[::1]", "http://[::1]:11434"),
            ("https://box.example/ollama/", "https://box.example/ollama"),
            ("box.local:port", "http://box.local:11434"),
            ("", "http://127.0.0.1:11434"),
        ];
        for (text, expected) in cases {
            assert_eq!(ollama_address(text), expected, "{text}");
        }
    }
}
