//! The first lines of the report of `render`: the agents that lose a tool which their source gives, with the
//! ways to keep it.

use std::collections::{BTreeMap, BTreeSet};

use agentry_compile::policy::Section;
use agentry_compile::targets::Target;
use agentry_compile::targets::question_habits::{QuestionHabit, habit};
use agentry_compile::text::report::{counted, visible};
use serde_json::{Value, json};

use crate::args::RenderArguments;

use super::loss_text::names;

/// The agents that lose each set of tools.
type LosersOfSections = BTreeMap<BTreeSet<Section>, Vec<String>>;

/// The agents that lose tools, by target and by what they lose.
#[derive(Default)]
pub(super) struct LostTools {
    targets: Vec<(&'static Target, LosersOfSections)>,
}

impl LostTools {
    /// Adds what one agent loses in a target.
    pub(super) fn add(&mut self, agent: &str, target: &'static Target, lost: &BTreeSet<Section>) {
        if lost.is_empty() {
            return;
        }
        let known = self.targets.iter().position(|(known, _)| known.name == target.name);
        let at = known.unwrap_or_else(|| {
            self.targets.push((target, BTreeMap::new()));
            self.targets.len() - 1
        });
        if let Some((_, groups)) = self.targets.get_mut(at) {
            groups.entry(lost.clone()).or_default().push(agent.to_owned());
        }
    }

    /// One line for each target.
    pub(super) fn lines(&self, args: &RenderArguments) -> Vec<String> {
        self.targets.iter().map(|(target, groups)| line(target, groups, args)).collect()
    }

    pub(super) fn to_json(&self) -> Value {
        let mut all = Vec::new();
        for (target, groups) in &self.targets {
            for (sections, agents) in groups {
                let sections: Vec<&str> = sections.iter().map(|section| section.as_str()).collect();
                all.extend(agents.iter().map(
                    |agent| json!({"agent": agent, "target": target.name, "sections": sections}),
                ));
            }
        }
        all.into()
    }
}

fn line(
    target: &Target,
    groups: &BTreeMap<BTreeSet<Section>, Vec<String>>,
    args: &RenderArguments,
) -> String {
    let agents: Vec<&str> = groups.values().flatten().map(String::as_str).collect();
    let sections: BTreeSet<Section> = groups.keys().flatten().copied().collect();
    let what = counted_sections(groups, agents.len());
    let verb = if agents.len() == 1 { "loses" } else { "lose" };
    let agent_names = match agents.as_slice() {
        [one] => visible(one).into_owned(),
        several => format!("{} ({})", counted(several.len(), "agent"), names(several)),
    };
    let ways = ways(target, &sections, args);
    let ways = if ways.is_empty() { String::new() } else { format!("; {}", ways.join(", ")) };
    format!("lost in {}: {agent_names} {verb} {}{ways}\n", target.name, what.join(", "))
}

/// The lost tools, those that most agents lose first; one that only some of the agents lose has their number.
fn counted_sections(groups: &LosersOfSections, all: usize) -> Vec<String> {
    let mut counts: BTreeMap<Section, usize> = BTreeMap::new();
    for (sections, agents) in groups {
        sections.iter().for_each(|it| *counts.entry(*it).or_default() += agents.len());
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let shown = |(section, count): (Section, usize)| match count {
        count if count == all => section.as_str().to_owned(),
        count => format!("{section} ({count} of them)"),
    };
    counts.into_iter().map(shown).collect()
}

/// The ways to keep the tools: with the guard, which asks, or accepted, without questions.
fn ways(target: &Target, sections: &BTreeSet<Section>, args: &RenderArguments) -> Vec<String> {
    let mut ways = Vec::new();
    let them = if sections.len() == 1 { "it" } else { "them" };
    if target.guard.is_some() && !args.no_guard {
        ways.push(format!("`--guard` keeps {them} with questions"));
    }
    let never = |section: &&Section| habit(target.name, **section) == Some(QuestionHabit::Never);
    let accepted: Vec<String> = sections
        .iter()
        .filter(never)
        .map(|section| format!("{}:permissions.{section}", target.name))
        .collect();
    if !accepted.is_empty() {
        let keeps = if accepted.len() < sections.len() {
            let names: Vec<_> = sections.iter().filter(never).map(|it| it.as_str()).collect();
            format!(" keeps {} without questions", names.join(", "))
        } else if ways.is_empty() {
            format!(" keeps {them} without questions")
        } else {
            " without".to_owned()
        };
        ways.push(format!("`--accept {}`{keeps}", accepted.join(",")));
    }
    ways
}

#[cfg(test)]
mod tests {
    use agentry_compile::targets::target;
    use clap::Parser as _;

    use super::*;
    use crate::args::{CliArguments, CliCommand};

    #[test]
    fn a_tool_that_only_some_agents_lose_has_their_number() {
        let Ok(CliArguments { command: CliCommand::Render(args), .. }) =
            CliArguments::try_parse_from(["agentry", "render"])
        else {
            panic!("no arguments");
        };
        let mut lost = LostTools::default();
        let gemini = target("gemini").expect("a target");
        for (agent, sections) in [
            ("a", vec![Section::Websearch]),
            ("b", vec![Section::Read, Section::Websearch]),
            ("c", vec![Section::Websearch]),
        ] {
            lost.add(agent, gemini, &sections.into_iter().collect());
        }
        let line = lost.lines(&args).concat();
        assert!(line.contains(") lose websearch, read (1 of them)"), "{line}");
    }

    /// Each line is a whole sentence, whichever ways a target has.
    #[test]
    fn each_lost_tool_line_is_a_whole_sentence() {
        let cases: [(&str, &str, &[Section], &str); 6] = [
            (
                "pi",
                "render",
                &[Section::Bash],
                "; `--guard` keeps it with questions, `--accept pi:permissions.bash` without",
            ),
            (
                "pi",
                "render --no-guard",
                &[Section::Bash],
                "; `--accept pi:permissions.bash` keeps it without questions",
            ),
            (
                "codex",
                "render",
                &[Section::Bash],
                "; `--accept codex:permissions.bash` keeps it without questions",
            ),
            ("opencode", "render", &[Section::Bash], "; `--guard` keeps it with questions"),
            ("opencode", "render --no-guard", &[Section::Bash], ""),
            ("gemini", "render", &[Section::Bash], ""),
        ];
        for (name, args, sections, expected) in cases {
            let words = std::iter::once("agentry").chain(args.split(' '));
            let Ok(CliArguments { command: CliCommand::Render(args), .. }) =
                CliArguments::try_parse_from(words)
            else {
                panic!("{args}");
            };
            let mut lost = LostTools::default();
            lost.add("a", target(name).expect("a target"), &sections.iter().copied().collect());
            let line = lost.lines(&args).concat();
            assert_eq!(line, format!("lost in {name}: a loses bash{expected}\n"), "{line}");
        }
    }
}
