//! The user's settings for providers, models and MCP servers.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use agentry_formats::mcp;
use agentry_model::McpServer;
use agentry_text::table::Coercion;
use agentry_text::{
    Diagnostic, Field, FieldKind, FieldTable, Findings, SourceFiles, Spanned, TableRecord, TreeMap,
};

use super::catalogue::{ModelCatalogue, models};
use super::provider::{ModelProvider, ProviderApi, canonical, ollama_address};
use crate::caps::{RUN, SpendingCaps};
use crate::evolution::{EVOLUTION, EvolutionRules};
use crate::judge::{USER, user_file};
use crate::notify::{NOTIFY, NotifySettings};
use crate::serve_settings::{SERVE, ServeSettings};
use crate::world::World;

/// `[providers.NAME]`.
pub(crate) static PROVIDER: FieldTable = FieldTable::new(
    "the provider",
    &[
        Field::optional("base_url", FieldKind::Line, "Where it is reached: `https://host/v1`."),
        Field::optional("key_env", FieldKind::Strings, "The variables that may hold its key."),
        Field::optional(
            "api",
            FieldKind::Choice(ProviderApi::WORDS),
            "The language that it speaks; `openai` for a provider that is not built in.",
        ),
    ],
);

/// The settings that agents are resolved with.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolveSettings {
    /// The catalogue of models.
    pub catalogue: ModelCatalogue,
    /// The providers.
    pub providers: Vec<ModelProvider>,
    /// MCP servers of the user, for agents that only name them.
    pub servers: Vec<McpServer>,
    /// The spending limits of a run.
    pub caps: SpendingCaps,
    /// How changes that agents propose are handled.
    pub evolution: EvolutionRules,
    /// How the server treats runs.
    pub serve: ServeSettings,
    /// How a terminal calls the user.
    pub notify: NotifySettings,
    /// Why a provider cannot be used, by name. A usable provider has no entry.
    unusable: BTreeMap<String, String>,
}

impl ResolveSettings {
    /// The built-in settings, which are the same for everyone.
    pub fn built_in() -> &'static Self {
        static SETTINGS: OnceLock<ResolveSettings> = OnceLock::new();
        SETTINGS.get_or_init(|| Self {
            catalogue: ModelCatalogue::built_in().clone(),
            providers: ModelProvider::all(),
            servers: Vec::new(),
            caps: SpendingCaps::default(),
            evolution: EvolutionRules::default(),
            serve: ServeSettings::default(),
            notify: NotifySettings::default(),
            unusable: BTreeMap::new(),
        })
    }

    /// The built-in settings with the user's configuration. Returns the findings about that file if it has
    /// errors.
    pub fn read(world: &dyn World) -> Result<Self, (Vec<Diagnostic>, SourceFiles)> {
        let (mut sources, mut findings) = (SourceFiles::default(), Findings::default());
        let mut settings = Self::built_in().clone();
        // Before the user's configuration, which takes precedence over `OLLAMA_HOST`.
        let ollama = settings.providers.iter_mut().find(|it| it.api == ProviderApi::Ollama);
        if let (Some(provider), Some(host)) = (ollama, world.machine().ollama_host.clone()) {
            provider.base_url = ollama_address(&host);
        }
        if let Some(node) = user_file(world, &mut sources, &mut findings) {
            settings.add(TableRecord::new(&USER, &node, Coercion::Strict), &mut findings);
        }
        settings.look_at_providers();
        if findings.has_errors() { Err((findings.into_sorted(), sources)) } else { Ok(settings) }
    }

    /// The same settings with provider addresses from the environment. A server on this machine needs no key
    /// if none is set.
    #[must_use]
    pub fn with_environment(mut self, value: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| value(name).filter(|value| !value.trim().is_empty());
        for provider in &mut self.providers {
            let row = ADDRESSES.iter().find(|(name, ..)| *name == provider.name);
            let Some((_, variable, version)) = row else { continue };
            let Some(address) = set(variable) else { continue };
            provider.base_url = with_version(&address, version);
            if provider.is_local() && !provider.keys.iter().any(|key| set(key).is_some()) {
                provider.keys.clear();
            }
        }
        self.look_at_providers();
        self
    }

    fn look_at_providers(&mut self) {
        let why = |it: &ModelProvider| Some((it.name.clone(), it.unusable()?));
        self.unusable = self.providers.iter().filter_map(why).collect();
    }

    fn add(&mut self, record: TableRecord<'_>, findings: &mut Findings) {
        self.caps = record
            .record("run", &RUN)
            .map_or_else(SpendingCaps::default, |run| SpendingCaps::read(&run));
        if let Some(evolution) = record.record("evolution", &EVOLUTION) {
            self.evolution = EvolutionRules::read(&evolution, EvolutionRules::default());
        }
        if let Some(serve) = record.record("serve", &SERVE) {
            self.serve = ServeSettings::read(&serve);
        }
        if let Some(notify) = record.record("notify", &NOTIFY) {
            self.notify = NotifySettings::read(&notify);
        }
        record.map("providers").into_iter().for_each(|map| self.add_providers(map));
        let mut added = models(record.list("models").unwrap_or_default());
        for model in &mut added {
            // The user may write an alias such as `claude`.
            model.provider = canonical(&model.provider);
        }
        self.catalogue = self.catalogue.with(added);
        for entry in record.map("mcp_servers").map(|map| &*map.entries).unwrap_or_default() {
            let record = TableRecord::new(&mcp::SERVER, &entry.value, Coercion::Strict);
            let name = Spanned::new(entry.key.text.clone(), entry.key.span);
            self.servers.push(mcp::read(record, &name, findings));
        }
    }

    fn add_providers(&mut self, map: &TreeMap) {
        for entry in &map.entries {
            let record = TableRecord::new(&PROVIDER, &entry.value, Coercion::Strict);
            let name = canonical(&entry.key.text);
            let known = self.providers.iter().position(|provider| provider.name == name);
            let known = known.map(|at| self.providers.remove(at));
            let mut provider = known.unwrap_or(ModelProvider {
                name,
                api: ProviderApi::OpenAi,
                base_url: String::new(),
                keys: Vec::new(),
            });
            if let Some(url) = record.str("base_url") {
                url.value.trim_end_matches('/').clone_into(&mut provider.base_url);
            }
            if let Some(keys) = record.strings("key_env") {
                provider.keys = keys.into_iter().map(|key| key.value).collect();
            }
            if let Some(api) = record.word("api") {
                provider.api = api.value;
            }
            self.providers.push(provider);
        }
    }

    /// Why a provider cannot be used. Looked up, because it is needed for each of its models.
    pub(super) fn unusable(&self, provider: &ModelProvider) -> Option<String> {
        self.unusable.get(&provider.name).cloned()
    }

    /// The provider of this name.
    pub fn provider(&self, name: &str) -> Option<&ModelProvider> {
        let named = |name: &str| self.providers.iter().find(|provider| provider.name == name);
        named(name).or_else(|| named(&canonical(name)))
    }
}

/// The variables with a provider's address, and the version that its own clients append to it.
const ADDRESSES: &[(&str, &str, &str)] = &[
    ("anthropic", "ANTHROPIC_BASE_URL", "/v1"),
    ("openai", "OPENAI_BASE_URL", ""),
    ("google", "GOOGLE_GEMINI_BASE_URL", "/v1beta"),
];

/// An address that ends with the protocol version.
fn with_version(address: &str, version: &str) -> String {
    let address = address.trim().trim_end_matches('/');
    let has_one = address.ends_with("/v1") || address.ends_with(version);
    if has_one { address.to_owned() } else { format!("{address}{version}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryWorld;

    #[test]
    fn base_url_variables_override_provider_addresses() {
        let cases = [
            ("anthropic", "ANTHROPIC_BASE_URL", "https://a.example/", "https://a.example/v1"),
            ("anthropic", "ANTHROPIC_BASE_URL", "https://a.example/v1", "https://a.example/v1"),
            ("openai", "OPENAI_BASE_URL", "http://127.0.0.1:1/x/", "http://127.0.0.1:1/x"),
            ("google", "GOOGLE_GEMINI_BASE_URL", "http://[::1]:1", "http://[::1]:1/v1beta"),
            ("openai", "OPENAI_BASE_URL", " ", "https://api.openai.com/v1"),
        ];
        for (provider, variable, value, expected) in cases {
            let set = |name: &str| (name == variable).then(|| value.to_owned());
            let settings = ResolveSettings::built_in().clone().with_environment(&set);
            let found = settings.provider(provider).unwrap();
            assert_eq!(found.base_url, expected, "{variable}={value}");
            assert_eq!(found.keys.is_empty(), found.is_local(), "{variable}={value}");
        }
        let open = |name: &str| (name == "OPENAI_BASE_URL").then(|| "http://x.example".to_owned());
        let settings = ResolveSettings::built_in().clone().with_environment(&open);
        let provider = settings.provider("openai").unwrap();
        let why = "its key would go to `http://x.example` unencrypted";
        assert_eq!(settings.unusable(provider).as_deref(), Some(why));
    }

    fn read(text: &str) -> Result<ResolveSettings, Vec<String>> {
        let path = "home/user/.config/agentry/config.toml".to_owned();
        let messages =
            |found: Vec<Diagnostic>| found.into_iter().map(|found| found.message).collect();
        ResolveSettings::read(&MemoryWorld::new([(path, text)]))
            .map_err(|(found, _)| messages(found))
    }

    #[test]
    fn user_configuration_adds_providers_models_and_servers() {
        let settings = read(
            "[providers.lab]\nbase_url = \"https://lab.example/v1/\"\nkey_env = \"LAB_KEY\"\n\
             [providers.claude]\nbase_url = \"https://proxy.example\"\n\
             [[models]]\nprovider = \"lab\"\nid = \"big\"\ntier = \"reasoning-max\"\n\
             [mcp_servers.brave]\ncommand = \"brave\"\n",
        )
        .unwrap();
        let lab = settings.provider("lab").unwrap();
        assert_eq!(
            (&*lab.base_url, &*lab.keys),
            ("https://lab.example/v1", &["LAB_KEY".to_owned()][..])
        );
        let proxy = settings.provider("anthropic").unwrap();
        assert_eq!(
            (&*proxy.base_url, proxy.api),
            ("https://proxy.example", ProviderApi::Anthropic)
        );
        assert_eq!(proxy.keys, ["ANTHROPIC_API_KEY"]);
        assert!(settings.catalogue.find("lab", "big").is_some());
        assert_eq!(settings.servers[0].name, "brave");
        assert_eq!(settings.providers.len(), ModelProvider::all().len() + 1);
    }

    #[test]
    fn broken_user_configuration_is_reported() {
        let cases = [
            ("", None),
            ("[[models]]\nid = \"x\"\n", Some("the model has no `provider`")),
            ("[[models]]\nprovider = \"a\"\nid = \"x\"\ntier = \"best\"\n", Some("")),
            ("[providers.x]\napi = \"telepathy\"\n", Some("")),
            ("[providers\n", Some("")),
        ];
        for (text, expected) in cases {
            match (read(text), expected) {
                (Ok(_), None) => {}
                (Err(found), Some(words)) => assert!(found[0].contains(words), "{text}: {found:?}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    /// A workspace file cannot set addresses, keys or prices.
    #[test]
    fn a_workspace_cannot_set_providers() {
        let text = "[providers.openai]\nbase_url = \"https://evil.example\"\n";
        let world = MemoryWorld::new([("agentry.toml".to_owned(), text)]);
        assert_eq!(&ResolveSettings::read(&world).unwrap(), ResolveSettings::built_in());
    }
}
