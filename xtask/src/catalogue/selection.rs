//! Parses the selection: the models of the catalogue, one on each line.

/// A line of the selection.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    /// `low`, `mid`, `high` or `max`.
    pub(super) tier: String,
    /// The provider of the model.
    pub(super) provider: String,
    /// The name of the model at the provider.
    pub(super) model: String,
    /// Facts that replace those of the price list.
    pub(super) facts: Option<Facts>,
}

/// The facts about a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Facts {
    /// The context window, in tokens.
    pub(super) context: u64,
    /// US dollars for a million input tokens.
    pub(super) input: f64,
    /// US dollars for a million output tokens.
    pub(super) output: f64,
    /// Whether it can call tools.
    pub(super) tools: bool,
}

/// Parses a selection; empty lines and lines that start with `#` are skipped.
pub(super) fn parse(text: &str) -> Result<Vec<Choice>, String> {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| choice(line).ok_or_else(|| format!("`{line}` is not a choice"))).collect()
}

fn choice(line: &str) -> Option<Choice> {
    let mut words = line.split_whitespace();
    let tier = words.next().filter(|tier| ["low", "mid", "high", "max"].contains(tier))?;
    let (provider, model) = (words.next()?, words.next()?);
    let facts = match (words.next(), words.next(), words.next()) {
        (None, _, _) => None,
        (Some(context), Some(tools), None) => Some(Facts {
            context: context.strip_prefix("context=")?.parse().ok()?,
            input: 0.0,
            output: 0.0,
            tools: tools.strip_prefix("tools=").filter(|word| matches!(*word, "yes" | "no"))?
                == "yes",
        }),
        _ => return None,
    };
    Some(Choice {
        tier: tier.to_owned(),
        provider: provider.to_owned(),
        model: model.to_owned(),
        facts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_selection_lines_are_errors() {
        let cases = [
            ("# a remark\n\nmid openai gpt-x\n", Ok(1)),
            ("low ollama l:8b context=8192 tools=yes", Ok(1)),
            ("best openai gpt-x", Err("`best openai gpt-x` is not a choice")),
            ("mid openai", Err("`mid openai` is not a choice")),
            (
                "low o l context=many tools=yes",
                Err("`low o l context=many tools=yes` is not a choice"),
            ),
            ("low o l context=1", Err("`low o l context=1` is not a choice")),
        ];
        for (text, expected) in cases {
            let found = parse(text).map(|choices| choices.len());
            assert_eq!(found, expected.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn the_shipped_selection_is_valid() {
        let choices = parse(super::super::SELECTION).expect("a selection");
        assert!((50..300).contains(&choices.len()), "{}", choices.len());
        for (at, choice) in choices.iter().enumerate() {
            let same = |other: &Choice| {
                (&other.provider, &other.model) == (&choice.provider, &choice.model)
            };
            assert!(!choices[..at].iter().any(same), "{choice:?}");
        }
    }
}
