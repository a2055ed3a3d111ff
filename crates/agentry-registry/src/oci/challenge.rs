//! What a registry asks for with `401`: `WWW-Authenticate`, and the token that answers it.

/// How a registry wants to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthChallenge {
    /// A user and a password with each request.
    Basic,
    /// A token of a token server.
    Bearer {
        /// The address of the token server.
        realm: String,
        /// The registry, as the token server knows it.
        service: Option<String>,
        /// What the token is for.
        scope: Option<String>,
    },
}

impl AuthChallenge {
    /// Reads the header; `None` for a scheme that is not known.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let fields = fields(rest);
        let field =
            |name: &str| fields.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        Some(Self::Bearer {
            realm: field("realm")?,
            service: field("service"),
            scope: field("scope"),
        })
    }
}

/// The fields `name="value"`, separated by commas. A value may hold commas inside its quotes.
fn fields(text: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut rest = text.trim();
    while let Some((name, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_at(after.find(',').unwrap_or(after.len())),
        };
        out.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        rest = next.trim_start().trim_start_matches(',').trim_start();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn www_authenticate_challenges_are_parsed() {
        let bearer = |realm: &str, service: Option<&str>, scope: Option<&str>| {
            let (service, scope) = (service.map(str::to_owned), scope.map(str::to_owned));
            Some(AuthChallenge::Bearer { realm: realm.to_owned(), service, scope })
        };
        let cases = [
            ("Basic realm=\"Registry\"", Some(AuthChallenge::Basic)),
            ("basic", Some(AuthChallenge::Basic)),
            (
                "Bearer realm=\"https://auth/token\",service=\"registry\",scope=\"repository:a/b:pull,push\"",
                bearer("https://auth/token", Some("registry"), Some("repository:a/b:pull,push")),
            ),
            ("Bearer realm=https://auth , service=x", bearer("https://auth", Some("x"), None)),
            ("Bearer service=\"x\"", None),
            ("Negotiate", None),
            ("", None),
            ("Bearer realm=\"unclosed", bearer("unclosed", None, None)),
        ];
        for (header, expected) in cases {
            assert_eq!(AuthChallenge::parse(header), expected, "{header}");
        }
    }
}
