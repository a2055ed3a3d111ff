//! The header `WWW-Authenticate` of a refusal: `Bearer resource_metadata="…", scope="a b"`.

/// What a server says about the login that it wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LoginChallenge {
    /// Where the server describes who gives logins for it.
    pub(super) metadata: Option<String>,
    /// What the login must permit.
    pub(super) scope: Option<String>,
}

impl LoginChallenge {
    pub(super) fn read(header: &str) -> Self {
        let find = |wanted: &str| {
            let found = parameters(header).into_iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value).filter(|value| !value.is_empty())
        };
        Self { metadata: find("resource_metadata"), scope: find("scope") }
    }
}

/// The parameters of a challenge, values in quotes or not.
fn parameters(header: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut rest = header.split_once(' ').map_or("", |(_, rest)| rest);
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches(|c: char| c == ',' || c.is_whitespace()).to_ascii_lowercase();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => match quoted.find('"') {
                Some(end) => (quoted.get(..end), quoted.get(end + 1..)),
                None => (None, None),
            },
            None => {
                let end = after.find(',').unwrap_or(after.len());
                (after.get(..end).map(str::trim), after.get(end..))
            }
        };
        let (Some(value), Some(next)) = (value, next) else { break };
        out.push((name, value.to_owned()));
        rest = next;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn www_authenticate_challenges_are_parsed() {
        let cases = [
            ("Bearer", None, None),
            ("", None, None),
            (
                "Bearer resource_metadata=\"https://a.example/x\", scope=\"a b\"",
                Some("https://a.example/x"),
                Some("a b"),
            ),
            ("Bearer error=\"insufficient_scope\",scope=a", None, Some("a")),
            ("Bearer scope=\"a", None, None),
            ("Bearer scope=\"\"", None, None),
        ];
        for (header, metadata, scope) in cases {
            let found = LoginChallenge::read(header);
            assert_eq!(found.metadata.as_deref(), metadata, "{header}");
            assert_eq!(found.scope.as_deref(), scope, "{header}");
        }
    }
}
