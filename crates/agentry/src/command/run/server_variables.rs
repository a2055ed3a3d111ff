//! `${env:NAME}` in the settings of a server.

/// The start of a reference.
const OPEN: &str = "${env:";

/// The names of the variables that a text refers to.
pub(crate) fn references(text: &str) -> Vec<&str> {
    let parts = text.split(OPEN).skip(1);
    parts.filter_map(|part| part.split_once('}').map(|(name, _)| name)).collect()
}

/// Replaces each reference by its value.
pub(crate) fn expanded(
    text: &str,
    value: &dyn Fn(&str) -> Result<String, String>,
) -> Result<String, String> {
    let mut parts = text.split(OPEN);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}') {
            Some((name, rest)) => {
                out.push_str(&value(name)?);
                out.push_str(rest);
            }
            None => return Err(format!("`{OPEN}{part}` has no end")),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_references_are_expanded_once() {
        let value = |name: &str| match name {
            "A" => Ok("1".to_owned()),
            "B" => Ok("${env:A}".to_owned()),
            _ => Err(format!("{name} is not set")),
        };
        let cases = [
            ("plain $A ${A}", Ok("plain $A ${A}")),
            ("${env:A}", Ok("1")),
            ("Bearer ${env:A}-${env:A}!", Ok("Bearer 1-1!")),
            // A value is never expanded again.
            ("${env:B}", Ok("${env:A}")),
            ("${env:C}", Err("C is not set")),
            ("${env:A", Err("`${env:A` has no end")),
        ];
        for (text, expected) in cases {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(expanded(text, &value), expected, "{text}");
        }
        assert_eq!(references("${env:A} ${env:B}x ${C}"), ["A", "B"]);
    }
}
