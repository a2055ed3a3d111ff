//! The first lines of the report of `render`: the agents that lose a tool which their source gives, with the
//! ways to keep it.

use std::collections::{BTreeMap, BTreeSet};

use agentry_compile::policy::Section;
use agentry_compile::targets::question_habits::{QuestionHabit, habit};
use agentry_compile::targets::{RenderedAgent, Target};
use agentry_compile::text::report::{counted, visible};
use serde_json::{Value, json};

use crate::args::RenderArguments;

use super::loss_text::names;

/// The agents that lose each set of tools.
type LosersOfSections = BTreeMap<BTreeSet<Section>, Vec<String>>;

/// The agents that lose tools in one target.
struct TargetLosers {
    target: &'static Target,
    /// Those that keep other tools, by what they lose.
    by_sections: LosersOfSections,
    /// Those that are only text there, by what they lose.
    only_text: LosersOfSections,
}

/// The agents that lose tools, by target and by what they lose.
#[derive(Default)]
pub(super) struct LostTools {
    targets: Vec<TargetLosers>,
}

impl LostTools {
    /// Adds what one agent loses in a target.
    pub(super) fn add(&mut self, agent: &str, target: &'static Target, rendered: &RenderedAgent) {
        let lost = &rendered.lost_tools;
        if lost.is_empty() {
            return;
        }
        let known = self.targets.iter().position(|known| known.target.name == target.name);
        let at = known.unwrap_or_else(|| {
            let (by_sections, only_text) = Default::default();
            self.targets.push(TargetLosers { target, by_sections, only_text });
            self.targets.len() - 1
        });
        if let Some(of) = self.targets.get_mut(at) {
            let groups =
                if rendered.is_only_text { &mut of.only_text } else { &mut of.by_sections };
            groups.entry(lost.clone()).or_default().push(agent.to_owned());
        }
    }

    /// At most two lines for each target.
    pub(super) fn lines(&self, args: &RenderArguments) -> Vec<String> {
        let of_target = |it: &TargetLosers| {
            let some = (!it.by_sections.is_empty()).then(|| line(it.target, &it.by_sections, args));
            let all = (!it.only_text.is_empty()).then(|| text_line(it.target, &it.only_text));
            some.into_iter().chain(all)
        };
        self.targets.iter().flat_map(of_target).collect()
    }

    pub(super) fn to_json(&self) -> Value {
        let mut all = Vec::new();
        for TargetLosers { target, by_sections, only_text } in &self.targets {
            for (sections, agents) in by_sections.iter().chain(only_text) {
                let sections: Vec<&str> = sections.iter().map(|section| section.as_str()).collect();
                all.extend(agents.iter().map(
                    |agent| json!({"agent": agent, "target": target.name, "sections": sections}),
                ));
            }
        }
        all.into()
    }
}

fn line(target: &Target, groups: &LosersOfSections, args: &RenderArguments) -> String {
    let (agent_names, count) = losers(groups);
    let what = counted_sections(groups, count).join(", ");
    let verb = if count == 1 { "loses" } else { "lose" };
    let sections: BTreeSet<Section> = groups.keys().flatten().copied().collect();
    let ways = ways(target, &sections, args);
    let ways = if ways.is_empty() { String::new() } else { format!("; {}", ways.join(", ")) };
    format!("lost in {}: {agent_names} {verb} {what}{ways}\n", target.name)
}

/// The line of agents without any tool. An agent that also denies such a tool stays text if it is accepted.
fn text_line(target: &Target, groups: &LosersOfSections) -> String {
    let (agent_names, count) = losers(groups);
    let verb = if count == 1 { "is" } else { "are" };
    let sections: BTreeSet<Section> = groups.keys().flatten().copied().collect();
    let accepted = never_asked(target, &sections);
    let way = if accepted.is_empty() {
        String::new()
    } else {
        let accepted = accepted_fields(target, &accepted);
        format!("; `--accept {accepted}` keeps those that deny nothing")
    };
    format!("lost in {}: {agent_names} {verb} only text there, without tools{way}\n", target.name)
}

/// The agents in words, and their number.
fn losers(groups: &LosersOfSections) -> (String, usize) {
    let agents: Vec<&str> = groups.values().flatten().map(String::as_str).collect();
    let agent_names = match agents.as_slice() {
        [one] => visible(one).into_owned(),
        several => format!("{} ({})", counted(several.len(), "agent"), names(several)),
    };
    (agent_names, agents.len())
}

/// The sections about which a harness asks in no mode.
fn never_asked(target: &Target, sections: &BTreeSet<Section>) -> Vec<Section> {
    let never = |section: &Section| habit(target.name, *section) == Some(QuestionHabit::Never);
    sections.iter().copied().filter(never).collect()
}

/// The value of `--accept` for some sections.
fn accepted_fields(target: &Target, sections: &[Section]) -> String {
    let field = |section: &Section| format!("{}:permissions.{section}", target.name);
    sections.iter().map(field).collect::<Vec<_>>().join(",")
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
    let accepted = never_asked(target, sections);
    if !accepted.is_empty() {
        let keeps = if accepted.len() < sections.len() {
            let names: Vec<_> = accepted.iter().map(|it| it.as_str()).collect();
            format!(" keeps {} without questions", names.join(", "))
        } else if ways.is_empty() {
            format!(" keeps {them} without questions")
        } else {
            " without".to_owned()
        };
        ways.push(format!("`--accept {}`{keeps}", accepted_fields(target, &accepted)));
    }
    ways
}

#[cfg(test)]
mod tests {
    use agentry_compile::targets::target;
    use clap::Parser as _;

    use super::*;
    use crate::args::{CliArguments, CliCommand};

    fn losing(sections: &[Section]) -> RenderedAgent {
        let lost_tools = sections.iter().copied().collect();
        RenderedAgent { lost_tools, ..RenderedAgent::default() }
    }

    fn render_arguments(words: &str) -> RenderArguments {
        let words = std::iter::once("agentry").chain(words.split(' '));
        match CliArguments::try_parse_from(words) {
            Ok(CliArguments { command: CliCommand::Render(args), .. }) => args,
            _ => panic!("no arguments of render"),
        }
    }

    #[test]
    fn agents_that_are_only_text_have_a_line_of_their_own() {
        let cursor = target("cursor").expect("a target");
        let mut lost = LostTools::default();
        let some = losing(&[Section::Bash, Section::Websearch]);
        for agent in ["a", "b"] {
            lost.add(agent, cursor, &RenderedAgent { is_only_text: true, ..some.clone() });
        }
        let line = lost.lines(&render_arguments("render")).concat();
        let expected = "lost in cursor: 2 agents (a, b) are only text there, without tools; `--accept \
                        cursor:permissions.websearch` keeps those that deny nothing\n";
        assert_eq!(line, expected);
    }

    #[test]
    fn a_tool_that_only_some_agents_lose_has_their_number() {
        let args = render_arguments("render");
        let mut lost = LostTools::default();
        let gemini = target("gemini").expect("a target");
        for (agent, sections) in [
            ("a", vec![Section::Websearch]),
            ("b", vec![Section::Read, Section::Websearch]),
            ("c", vec![Section::Websearch]),
        ] {
            lost.add(agent, gemini, &losing(&sections));
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
            let args = render_arguments(args);
            let mut lost = LostTools::default();
            lost.add("a", target(name).expect("a target"), &losing(sections));
            let line = lost.lines(&args).concat();
            assert_eq!(line, format!("lost in {name}: a loses bash{expected}\n"), "{line}");
        }
    }
}
