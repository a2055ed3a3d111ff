//! The models that are known: what they can take in, what they cost, and how able they are. The table
//! itself is `catalogue.toml`, written by `cargo xtask catalogue`; the user's own file adds to it, no
//! file of a workspace can.

use std::sync::OnceLock;

use agentry_model::Capability;
use agentry_text::table::Coerce;
use agentry_text::{Field, FileId, Findings, Kind, Node, Record, Source, Table, toml};

/// One entry of `models`, here and in the user's own file.
pub(crate) static MODEL: Table = Table::new(
    "the model",
    &[
        Field::required("provider", Kind::Line, "Whose model it is."),
        Field::required("id", Kind::Line, "What the provider calls it."),
        Field::optional(
            "tier",
            Kind::Choice(Capability::WORDS),
            "How able it is; without one it is used only where an agent names it.",
        ),
        Field::optional("context", Kind::Int(1, i64::MAX), "The most tokens that it takes in."),
        Field::optional("input", PRICE, "US dollars for a million tokens in."),
        Field::optional("output", PRICE, "US dollars for a million tokens out."),
        Field::optional("tools", Kind::Bool, "Whether it can call tools."),
    ],
);

const PRICE: Kind = Kind::Float(0.0, f64::INFINITY);

static DOCUMENT: Table = Table::new(
    "the catalogue",
    &[
        Field::required("version", Kind::Int(1, i64::MAX), "Goes up with every change."),
        Field::required("date", Kind::Line, "When the facts were taken."),
        Field::required("models", Kind::List(&Kind::Block(&MODEL)), "The models."),
    ],
);

/// The models that are known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Catalogue {
    /// Goes up with every change of the built-in table.
    pub version: i64,
    /// When the facts of the built-in table were taken.
    pub date: String,
    /// The models, in the order in which those of a tier are tried.
    pub models: Vec<Model>,
}

/// A model of the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    /// Whose it is.
    pub provider: String,
    /// What the provider calls it.
    pub id: String,
    /// How able it is.
    pub tier: Option<Capability>,
    /// The most tokens that it takes in.
    pub context: Option<u64>,
    /// What it costs.
    pub price: Option<Price>,
    /// Whether it can call tools.
    pub tools: Option<bool>,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Tokens that go in.
    pub input: f64,
    /// Tokens that come out.
    pub output: f64,
}

impl Catalogue {
    /// The table that comes with the program.
    pub fn built_in() -> &'static Self {
        static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
        CATALOGUE.get_or_init(|| {
            let (node, _) = parsed();
            let record = Record::new(&DOCUMENT, &node, Coerce::Strict);
            Self {
                version: record.int("version").map_or(0, |version| version.value),
                date: record.str("date").map(|date| date.value).unwrap_or_default(),
                models: models(record.list("models").unwrap_or_default()),
            }
        })
    }

    /// The same catalogue with further models: they come first, and replace those of their name.
    #[must_use]
    pub fn with(&self, mut added: Vec<Model>) -> Self {
        let is_new = |model: &&Model| {
            !added.iter().any(|own| own.provider == model.provider && own.id == model.id)
        };
        let kept: Vec<_> = self.models.iter().filter(is_new).cloned().collect();
        added.extend(kept);
        Self { models: added, ..self.clone() }
    }

    /// What is known of a model.
    pub fn find(&self, provider: &str, id: &str) -> Option<&Model> {
        self.models.iter().find(|model| model.provider == provider && model.id == id)
    }

    /// The models of a tier, in the order in which they are tried.
    pub fn tier(&self, tier: Capability) -> impl Iterator<Item = &Model> {
        self.models.iter().filter(move |model| model.tier == Some(tier))
    }

    /// The models that a name without a provider may mean; people write `GPT-5.2`.
    pub fn named(&self, name: &str) -> Vec<&Model> {
        let name = plain(name);
        self.models.iter().filter(|model| plain(&model.id) == name).collect()
    }
}

/// A name in lower case with hyphens.
fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '_'], "-")
}

/// The models of a list that was validated; what has no name was reported and is left out.
pub(crate) fn models(list: &[Node]) -> Vec<Model> {
    list.iter().filter_map(|node| model(Record::new(&MODEL, node, Coerce::Strict))).collect()
}

fn model(record: Record<'_>) -> Option<Model> {
    let price = |name| record.float(name).map(|price| price.value).filter(|price| *price >= 0.0);
    Some(Model {
        provider: record.str("provider")?.value,
        id: record.str("id")?.value,
        tier: record.word("tier").map(|tier| tier.value),
        context: record.int("context").and_then(|size| u64::try_from(size.value).ok()),
        price: price("input").zip(price("output")).map(|(input, output)| Price { input, output }),
        tools: record.bool("tools").map(|tools| tools.value),
    })
}

fn parsed() -> (Node, Findings) {
    let mut findings = Findings::default();
    let text = include_str!("catalogue.toml");
    let source = Source::new(FileId::BUILT_IN, "catalogue.toml", text);
    (toml::parse(&source, &mut findings), findings)
}

#[cfg(test)]
mod tests {
    use agentry_text::table::validate;

    use super::*;
    use crate::resolve::provider::Provider;

    #[test]
    fn the_table_that_comes_with_the_program_is_whole() {
        let (node, mut findings) = parsed();
        validate(&DOCUMENT, &node, Coerce::Strict, &mut findings);
        assert_eq!(findings.into_sorted(), []);
        let Catalogue { version, date, models } = Catalogue::built_in();
        assert!(*version >= 1 && date.len() == 10, "{version} {date}");
        assert!((50..300).contains(&models.len()), "{}", models.len());
        for (at, model) in models.iter().enumerate() {
            let same = |other: &&Model| other.provider == model.provider && other.id == model.id;
            assert_eq!(models.iter().filter(same).count(), 1, "{at} {model:?}");
            assert!(Provider::built_in(&model.provider).is_some(), "{model:?}");
            assert!(
                model.tier.is_some() && model.context.is_some_and(|size| size > 0),
                "{model:?}"
            );
            assert!(model.price.is_some() && model.tools.is_some(), "{model:?}");
        }
        for tier in Capability::ALL {
            assert!(Catalogue::built_in().tier(*tier).count() > 5, "{tier}");
        }
    }

    #[test]
    fn own_models_come_first_and_replace() {
        let own = |provider: &str, id: &str| Model {
            provider: provider.to_owned(),
            id: id.to_owned(),
            tier: Some(Capability::High),
            context: None,
            price: None,
            tools: None,
        };
        let built_in = Catalogue::built_in();
        let more = built_in.with(vec![own("openai", "gpt-4o"), own("lab", "x")]);
        assert_eq!(more.models.len(), built_in.models.len() + 1);
        assert_eq!(more.find("openai", "gpt-4o").unwrap().tier, Some(Capability::High));
        let high: Vec<_> = more.tier(Capability::High).take(2).map(|model| &*model.id).collect();
        assert_eq!(high, ["gpt-4o", "x"]);
    }

    #[test]
    fn people_write_names_in_their_own_way() {
        let cases = [
            ("GPT-5.2", vec!["openai/gpt-5.2"]),
            ("claude sonnet 4-6", vec!["anthropic/claude-sonnet-4-6"]),
            ("gpt-oss-120b", vec!["cerebras/gpt-oss-120b"]),
            ("Grok", vec![]),
        ];
        for (name, expected) in cases {
            let found = Catalogue::built_in().named(name);
            let found: Vec<_> =
                found.iter().map(|model| format!("{}/{}", model.provider, model.id)).collect();
            assert_eq!(found, expected, "{name}");
        }
    }
}
