//! The names under which a model sees the tools of servers.

use agentry_compile::text::digest::sha256;

/// The most characters of a name that models accept.
const MOST: usize = 64;
/// The letters of the hash at the end of a name that was cut.
const HASH: usize = 8;

/// Returns the name of a tool for a model: `server__tool`, of letters that every model accepts. A longer
/// one ends with a hash of the whole.
pub fn offered_name(server: &str, tool: &str) -> String {
    let letter = |c: char| match c {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    let name: String = format!("{server}__{tool}").chars().map(letter).collect();
    if name.len() <= MOST {
        return name;
    }
    let mut hash = sha256(format!("{server}/{tool}"));
    hash.truncate(HASH);
    let start: String = name.chars().take(MOST - HASH - 1).collect();
    format!("{start}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offered_tool_names_are_valid_and_unique() {
        let long = "x".repeat(70);
        let cases = [
            ("git", "log", "git__log"),
            ("my.server", "a/b é", "my_server__a_b__"),
            ("a", "b-c_d", "a__b-c_d"),
        ];
        for (server, tool, expected) in cases {
            assert_eq!(offered_name(server, tool), expected);
        }
        let name = offered_name("s", &long);
        assert_eq!(name.len(), MOST);
        assert_ne!(name, offered_name("s", &format!("{long}y")), "the hash tells them apart");
        assert!(name.starts_with("s__xxx"), "{name}");
    }
}
