//! Starting points: a small agent that does something useful and passes every check.

use agentry_model::Format;

/// The files of a new agent, relative to the directory it is made in. `name` is a valid name.
pub fn new_agent(format: Format, name: &str) -> Vec<(String, String)> {
    let title = title(name);
    let fill = |(path, text): &(&str, &str)| {
        let fill = |text: &str| text.replace("{name}", name).replace("{title}", &title);
        (fill(path), fill(text))
    };
    template(format).iter().map(fill).collect()
}

/// `code-reviewer` → `Code Reviewer`.
fn title(name: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
    };
    name.split('-').map(word).collect::<Vec<String>>().join(" ")
}

fn template(format: Format) -> &'static [(&'static str, &'static str)] {
    match format {
        Format::AgentMd => {
            &[("agents/general_{name}.agent.md", include_str!("new/agent.agent.md"))]
        }
        Format::AgentToml => &[
            ("{name}/agent.toml", include_str!("new/agent.toml")),
            ("{name}/system-prompt.md", include_str!("new/system-prompt.md")),
        ],
        Format::Manifest => &[("{name}.agent", include_str!("new/agent.agent"))],
        Format::AgentFs => &[
            ("{name}/agent.json", include_str!("new/agent.json")),
            ("{name}/persona.md", include_str!("new/persona.md")),
            ("{name}/principles.md", include_str!("new/principles.md")),
        ],
        Format::AgentDir => &[
            ("{name}/instructions.md", include_str!("new/instructions.md")),
            ("{name}/agent.acl", include_str!("new/agent.acl")),
            ("{name}/schedules/weekly-review.md", include_str!("new/weekly-review.md")),
        ],
    }
}
