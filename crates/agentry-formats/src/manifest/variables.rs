//! References to environment variables in the settings of an MCP server. A manifest writes `env.NAME`; the
//! model and all other formats write `${env:NAME}`.

use agentry_text::{Data, Spanned};

use crate::mcp;

/// Converts a value of a manifest to the form of the model.
pub(super) fn read(text: &str) -> String {
    match text.strip_prefix("env.") {
        Some(name) if mcp::is_reference(&format!("${{env:{name}}}")) => format!("${{env:{name}}}"),
        _ => text.to_owned(),
    }
}

/// Converts a value to the form of a manifest; `None` for a text that would be read as a reference.
pub(super) fn write(text: &str) -> Option<String> {
    if mcp::is_reference(text) {
        let name = text.trim_start_matches("${env:").trim_end_matches('}');
        return Some(format!("env.{name}"));
    }
    (read(text) == text).then(|| text.to_owned())
}

/// Converts the values of a map to the form of the model.
pub(super) fn read_pairs(pairs: Vec<(String, Spanned<String>)>) -> Vec<(String, Spanned<String>)> {
    pairs.into_iter().map(|(key, text)| (key, text.map(|text| read(&text)))).collect()
}

/// Converts additional settings of a server to the form of the model.
pub(super) fn read_data(data: Data) -> Data {
    match data {
        Data::Str(text) => Data::Str(read(&text)),
        Data::List(items) => Data::List(items.into_iter().map(read_data).collect()),
        Data::Map(entries) => {
            Data::Map(entries.into_iter().map(|(key, value)| (key, read_data(value))).collect())
        }
        other => other,
    }
}

/// Converts additional settings to the form of a manifest; `None` if one of them cannot be written.
pub(super) fn write_data(data: &Data) -> Option<Data> {
    Some(match data {
        Data::Str(text) => Data::Str(write(text)?),
        Data::List(items) => Data::List(items.iter().map(write_data).collect::<Option<_>>()?),
        Data::Map(entries) => {
            let entry =
                |(key, value): &(String, Data)| write_data(value).map(|value| (key.clone(), value));
            Data::Map(entries.iter().map(entry).collect::<Option<_>>()?)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_references_are_translated() {
        let cases = [
            ("env.DB_URL", "${env:DB_URL}", Some("env.DB_URL")),
            ("plain", "plain", Some("plain")),
            ("env.local.json", "env.local.json", Some("env.local.json")),
            ("Bearer ${env:TOKEN}", "Bearer ${env:TOKEN}", Some("Bearer ${env:TOKEN}")),
            ("env.", "env.", Some("env.")),
            ("", "", Some("")),
        ];
        for (manifest, model, again) in cases {
            assert_eq!(read(manifest), model, "{manifest}");
            assert_eq!(write(model).as_deref(), again, "{model}");
        }
        // Plain text of another format must not become a reference to a variable.
        assert_eq!(write("env.production"), None);
    }
}
