//! What a skill needs before it can be used, and who may load it. The model keeps the whole text of a skill;
//! these fields are read from it when an agent runs.

use agentry_text::table::Coercion;
use agentry_text::{Findings, SourceFile, TableRecord};

use super::SkillDialect;
use super::fields::{METADATA, REQUIRES, WRAPPED, top_level};
use super::read::is_wrapped;
use crate::front_matter::FrontMatterFile;

/// What a skill needs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillNeeds {
    /// The tools that it needs: `requiredTools`, `requires.tools`.
    pub tools: Vec<String>,
    /// The other skills that it needs.
    pub dependencies: Vec<String>,
    /// Whether it is in use at all.
    pub is_disabled: bool,
    /// Whether only people may load it.
    pub is_for_people: bool,
    /// The text below the metadata.
    pub body: String,
}

/// Reads what a skill needs from its text. Problems were reported when the skill was read.
pub fn needs(source: SourceFile) -> SkillNeeds {
    let document = FrontMatterFile::read(source, &mut Findings::default());
    let node = &document.metadata;
    let is_wrapped = node.as_map().is_some_and(is_wrapped);
    let table = if is_wrapped { &WRAPPED } else { top_level(SkillDialect::AgentDir) };
    let outer = TableRecord::new(table, node, Coercion::Strict);
    let inner = outer.record("metadata", &METADATA).filter(|_| is_wrapped);
    let records = || inner.iter().chain([&outer]);
    let requires = records().filter_map(|record| record.record("requires", &REQUIRES));
    let tools = records().filter_map(|record| record.strings("requiredTools"));
    let tools = tools.chain(requires.filter_map(|requires| requires.strings("tools")));
    let dependencies = records().filter_map(|record| record.strings("dependencies"));
    let names = |lists: Vec<Vec<agentry_text::Spanned<String>>>| -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in lists.into_iter().flatten().map(|name| name.value.trim().to_owned()) {
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    let is_set = |field| records().any(|it| it.bool(field).is_some_and(|set| set.value));
    let status = records().find_map(|record| record.str("status"));
    SkillNeeds {
        tools: names(tools.collect()),
        dependencies: names(dependencies.collect()),
        is_disabled: status.is_some_and(|status| status.value == "disabled"),
        is_for_people: is_set("disable-model-invocation"),
        body: document.text().map(|text| text.value).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use agentry_text::FileId;

    use super::*;

    fn read(metadata: &str) -> SkillNeeds {
        let text = format!("---\n{metadata}---\n\nDo it.\n");
        needs(SourceFile::new(FileId(0), "x/SKILL.md", &text))
    }

    #[test]
    fn skill_needs_are_read_from_both_layouts() {
        let wrapped = "metadata:\n  id: a\n  name: A\n  requiredTools: [Read, Write]\n  \
                       dependencies: [b]\nstatus: disabled\n";
        let expected = SkillNeeds {
            tools: vec!["Read".to_owned(), "Write".to_owned()],
            dependencies: vec!["b".to_owned()],
            is_disabled: true,
            is_for_people: false,
            body: "Do it.".to_owned(),
        };
        assert_eq!(read(wrapped), expected);
        let plain = "name: a\nrequires:\n  tools: [Bash, Bash]\n  optional_tools: [Edit]\n\
                     dependencies: [b, c]\ndisable_model_invocation: true\n";
        let expected = SkillNeeds {
            tools: vec!["Bash".to_owned()],
            dependencies: vec!["b".to_owned(), "c".to_owned()],
            is_disabled: false,
            is_for_people: true,
            body: "Do it.".to_owned(),
        };
        assert_eq!(read(plain), expected);
        assert_eq!(needs(SourceFile::new(FileId(0), "x.md", "Do it.")).body, "Do it.");
    }
}
