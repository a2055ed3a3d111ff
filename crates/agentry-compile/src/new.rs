//! Templates of new agents: small, useful, and without findings.

use agentry_formats::info;
use agentry_model::Format;

/// The files of a new agent, relative to its parent directory. `name` must be a valid name.
pub fn new_agent(format: Format, name: &str) -> Vec<(String, String)> {
    let title = title(name);
    let fill = |(path, text): &(&str, &str)| {
        let fill = |text: &str| text.replace("{name}", name).replace("{title}", &title);
        (fill(path), fill(text))
    };
    info(format).files.template.iter().map(fill).collect()
}

/// `code-reviewer` → `Code Reviewer`.
fn title(name: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
    };
    name.split('-').map(word).collect::<Vec<String>>().join(" ")
}
