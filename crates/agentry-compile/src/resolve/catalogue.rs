//! The catalogue of language models: context window, price, tier, tool use. The table is `catalogue.toml`,
//! which `cargo xtask catalogue` writes. Only the user's configuration can add models; a workspace cannot.

use std::sync::OnceLock;

use agentry_model::ModelTier;
use agentry_text::suggestion::nearest;
use agentry_text::table::Coercion;
use agentry_text::{
    Field, FieldKind, FieldTable, FileId, Findings, SourceFile, TableRecord, TreeNode, toml,
};

/// One entry of `models`, in the catalogue and in the user's configuration.
pub(crate) static MODEL: FieldTable = FieldTable::new(
    "the model",
    &[
        Field::required("provider", FieldKind::Line, "Whose model it is."),
        Field::required("id", FieldKind::Line, "What the provider calls it."),
        Field::optional(
            "tier",
            FieldKind::Choice(ModelTier::WORDS),
            "How able it is; without one it is used only where an agent names it.",
        ),
        Field::optional(
            "context",
            FieldKind::Int(1, i64::MAX),
            "The most tokens that it takes in.",
        ),
        Field::optional("input", PRICE, "US dollars for a million tokens in."),
        Field::optional("output", PRICE, "US dollars for a million tokens out."),
        Field::optional("tools", FieldKind::Bool, "Whether it can call tools."),
    ],
);

const PRICE: FieldKind = FieldKind::Float(0.0, f64::INFINITY);

static DOCUMENT: FieldTable = FieldTable::new(
    "the catalogue",
    &[
        Field::required("version", FieldKind::Int(1, i64::MAX), "Goes up with every change."),
        Field::required("date", FieldKind::Line, "When the facts were taken."),
        Field::required("models", FieldKind::List(&FieldKind::Block(&MODEL)), "The models."),
    ],
);

/// The catalogue of language models.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelCatalogue {
    /// The version of the built-in table.
    pub version: i64,
    /// The date of the built-in table's facts.
    pub date: String,
    /// The models. Those of a tier are tried in this order.
    pub models: Vec<CatalogueModel>,
}

/// A model of the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct CatalogueModel {
    /// The provider.
    pub provider: String,
    /// The provider's name for it.
    pub id: String,
    /// Its tier.
    pub tier: Option<ModelTier>,
    /// Its context window in tokens.
    pub context: Option<u64>,
    /// Its price.
    pub price: Option<TokenPrice>,
    /// Whether it can call tools.
    pub tools: Option<bool>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenPrice {
    /// Input tokens.
    pub input: f64,
    /// Output tokens.
    pub output: f64,
}

impl ModelCatalogue {
    /// The catalogue that is built in.
    pub fn built_in() -> &'static Self {
        static CATALOGUE: OnceLock<ModelCatalogue> = OnceLock::new();
        CATALOGUE.get_or_init(|| {
            let (node, _) = parsed();
            let record = TableRecord::new(&DOCUMENT, &node, Coercion::Strict);
            Self {
                version: record.int("version").map_or(0, |version| version.value),
                date: record.str("date").map(|date| date.value).unwrap_or_default(),
                models: models(record.list("models").unwrap_or_default()),
            }
        })
    }

    /// The same catalogue with additional models. They come first, and replace models of the same name.
    #[must_use]
    pub fn with(&self, mut added: Vec<CatalogueModel>) -> Self {
        let is_new = |model: &&CatalogueModel| {
            !added.iter().any(|own| own.provider == model.provider && own.id == model.id)
        };
        let kept: Vec<_> = self.models.iter().filter(is_new).cloned().collect();
        added.extend(kept);
        Self { models: added, ..self.clone() }
    }

    /// The entry of a model.
    pub fn find(&self, provider: &str, id: &str) -> Option<&CatalogueModel> {
        self.models.iter().find(|model| model.provider == provider && model.id == id)
    }

    /// The models of a tier, in the order in which they are tried.
    pub fn tier(&self, tier: ModelTier) -> impl Iterator<Item = &CatalogueModel> {
        self.models.iter().filter(move |model| model.tier == Some(tier))
    }

    /// The models that a name without a provider may mean, such as `GPT-5.2`.
    pub fn named(&self, name: &str) -> Vec<&CatalogueModel> {
        let name = plain(name);
        self.models.iter().filter(|model| plain(&model.id) == name).collect()
    }

    /// Models to suggest for a name that no model has: those whose name contains it, such as `sonnet`, or
    /// else the nearest one. At most three.
    pub fn similar(&self, name: &str) -> Vec<&CatalogueModel> {
        let name = plain(name);
        let containing = self.models.iter().filter(|model| model.id.contains(&name));
        let containing: Vec<_> = containing.take(3).collect();
        if !containing.is_empty() {
            return containing;
        }
        let nearest = nearest(&name, self.models.iter().map(|model| model.id.as_str()));
        self.models.iter().find(|model| Some(model.id.as_str()) == nearest).into_iter().collect()
    }
}

/// A name in lower case with hyphens.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '_'], "-")
}

/// The models of a validated list. An entry without a name was reported, and is skipped.
pub(crate) fn models(list: &[TreeNode]) -> Vec<CatalogueModel> {
    list.iter().filter_map(|node| model(TableRecord::new(&MODEL, node, Coercion::Strict))).collect()
}

fn model(record: TableRecord<'_>) -> Option<CatalogueModel> {
    let price = |name| record.float(name).map(|price| price.value).filter(|price| *price >= 0.0);
    Some(CatalogueModel {
        provider: record.str("provider")?.value,
        id: record.str("id")?.value,
        tier: record.word("tier").map(|tier| tier.value),
        context: record.int("context").and_then(|size| u64::try_from(size.value).ok()),
        price: price("input")
            .zip(price("output"))
            .map(|(input, output)| TokenPrice { input, output }),
        tools: record.bool("tools").map(|tools| tools.value),
    })
}

fn parsed() -> (TreeNode, Findings) {
    let mut findings = Findings::default();
    let text = include_str!("catalogue.toml");
    let source = SourceFile::new(FileId::BUILT_IN, "catalogue.toml", text);
    (toml::parse(&source, &mut findings), findings)
}

#[cfg(test)]
mod tests {
    use agentry_text::table::validate;

    use super::*;
    use crate::resolve::provider::ModelProvider;

    #[test]
    fn the_built_in_catalogue_is_complete() {
        let (node, mut findings) = parsed();
        validate(&DOCUMENT, &node, Coercion::Strict, &mut findings);
        assert_eq!(findings.into_sorted(), []);
        let ModelCatalogue { version, date, models } = ModelCatalogue::built_in();
        assert!(*version >= 1 && date.len() == 10, "{version} {date}");
        assert!((50..300).contains(&models.len()), "{}", models.len());
        for (at, model) in models.iter().enumerate() {
            let same =
                |other: &&CatalogueModel| other.provider == model.provider && other.id == model.id;
            assert_eq!(models.iter().filter(same).count(), 1, "{at} {model:?}");
            assert!(ModelProvider::built_in(&model.provider).is_some(), "{model:?}");
            assert!(
                model.tier.is_some() && model.context.is_some_and(|size| size > 0),
                "{model:?}"
            );
            assert!(model.price.is_some() && model.tools.is_some(), "{model:?}");
        }
        for tier in ModelTier::ALL {
            assert!(ModelCatalogue::built_in().tier(*tier).count() > 5, "{tier}");
        }
    }

    #[test]
    fn models_of_the_user_come_first_and_replace_built_in_ones() {
        let own = |provider: &str, id: &str| CatalogueModel {
            provider: provider.to_owned(),
            id: id.to_owned(),
            tier: Some(ModelTier::High),
            context: None,
            price: None,
            tools: None,
        };
        let built_in = ModelCatalogue::built_in();
        let more = built_in.with(vec![own("openai", "gpt-4o"), own("lab", "x")]);
        assert_eq!(more.models.len(), built_in.models.len() + 1);
        assert_eq!(more.find("openai", "gpt-4o").unwrap().tier, Some(ModelTier::High));
        let high: Vec<_> = more.tier(ModelTier::High).take(2).map(|model| &*model.id).collect();
        assert_eq!(high, ["gpt-4o", "x"]);
    }

    #[test]
    fn similar_model_names_are_suggested() {
        let cases = [
            ("Sonnet", Some("anthropic/claude-sonnet-")),
            ("gpt-5.22", Some("openai/gpt-5.2")),
            ("xyzzy-of-nothing", None),
        ];
        for (name, expected) in cases {
            let found = ModelCatalogue::built_in().similar(name);
            let first = found.first().map(|model| format!("{}/{}", model.provider, model.id));
            match expected {
                Some(start) => assert!(first.unwrap().starts_with(start), "{name}"),
                None => assert_eq!(first, None, "{name}"),
            }
            assert!(found.len() <= 3, "{name}");
        }
    }

    #[test]
    fn model_names_match_in_any_spelling() {
        let cases = [
            ("GPT-5.2", vec!["openai/gpt-5.2"]),
            ("claude sonnet 4-6", vec!["anthropic/claude-sonnet-4-6"]),
            ("gpt-oss-120b", vec!["cerebras/gpt-oss-120b"]),
            ("Grok", vec![]),
        ];
        for (name, expected) in cases {
            let found = ModelCatalogue::built_in().named(name);
            let found: Vec<_> =
                found.iter().map(|model| format!("{}/{}", model.provider, model.id)).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}
