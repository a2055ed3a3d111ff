//! What survives of real agents that are imported, and rendered for the same harness and for every other one.

#[path = "../corpus/mod.rs"]
mod corpus;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agentry_compile::formats::{WriteTarget, convert};
use agentry_compile::model::Format;
use agentry_compile::policy::{Action, PolicyContext, Section};
use agentry_compile::targets::import::import_from;
use agentry_compile::targets::memo::RenderMemo;
use agentry_compile::targets::model::always;
use agentry_compile::targets::proof::{PolicyProof, within};
use agentry_compile::targets::{
    HarnessModel, HarnessTool, ListedFiles, ProjectRendering, RenderSettings, RenderSubject,
    TARGETS, Target, read_back, render, target,
};

use corpus::CorpusAgent;

/// An agent of the corpus with its definition.
struct Survivor {
    agent: CorpusAgent,
    /// What it may do in its harness; `None` if its harness would not load it.
    model: Option<HarnessModel>,
    /// Its files in agent-toml, under a name that no harness has.
    definition: Vec<(String, String)>,
}

/// A share of grants.
#[derive(Default, Clone, Copy)]
struct Share {
    had: usize,
    kept: usize,
}

impl Share {
    fn add(&mut self, is_kept: bool) {
        self.had += 1;
        self.kept += usize::from(is_kept);
    }

    fn percent(self) -> usize {
        (100 * self.kept).checked_div(self.had).unwrap_or(100)
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:>3} % ({}/{})", self.percent(), self.kept, self.had)
    }
}

/// The harnesses with tools.
fn harnesses() -> impl Iterator<Item = &'static Target> {
    TARGETS.iter().copied().filter(|target| target.import.is_some())
}

/// Imports every agent; agents that their harness does not use are left out.
fn survivors() -> Vec<Survivor> {
    let memo = Arc::default();
    let mut out = Vec::new();
    for (number, agent) in corpus::agents().into_iter().enumerate() {
        let harness = target(agent.harness).expect("a target");
        let files = [(agent.path.as_str(), agent.text.as_str())];
        let mut imported = match import_from(harness, &ListedFiles(&files), &agent.path, &memo) {
            Ok(imported) => imported,
            Err(why) if why.is_unused => continue,
            Err(why) => panic!("{} {}: {}", agent.package, agent.path, why.message),
        };
        let name = format!("a{number}");
        let model = model(harness, &agent);
        imported.agent.identity.name.as_mut().expect("a name").value.clone_from(&name);
        let written = convert(&imported.agent, Format::AgentToml, &WriteTarget::default());
        assert_eq!(written.widened, None, "{}", agent.path);
        let definition = RenderSubject::of(written.agent, &PolicyContext::default(), &memo);
        let excess = imported.excess(&definition);
        assert_eq!(excess, None, "{}", agent.path);
        let place = |(path, text)| (format!("agents/{name}/{path}"), text);
        let definition = written.files.into_iter().map(place).collect();
        out.push(Survivor { agent, model, definition });
    }
    out
}

/// What an agent of the corpus may do in its harness.
fn model(harness: &Target, agent: &CorpusAgent) -> Option<HarnessModel> {
    let field = |start: &str| {
        let line = agent.text.lines().find_map(|line| line.strip_prefix(start))?;
        Some(line.trim().trim_matches(['"', '\'']).to_owned())
    };
    let (dir, file) = agent.path.rsplit_once('/').unwrap_or_default();
    let (stem, suffix) = file.split_once('.').unwrap_or_default();
    let names = [field("name:"), field("name ="), Some(stem.to_owned())];
    let mut models = names.into_iter().flatten();
    models.find_map(|name| {
        // A harness is asked about a file with the name of its agent.
        let path = format!("{dir}/{name}.{suffix}");
        (harness.model)(&ListedFiles(&[(&path, &agent.text)]), &name)
    })
}

/// The tools that an agent may use at all, by section.
fn granted(memo: &RenderMemo, model: &HarnessModel) -> BTreeSet<(Section, String)> {
    let is_permitted = |way: &&HarnessTool| {
        let nothing = [always(way.section, Action::Deny, "nothing")];
        within(memo, &way.layers, &nothing) != PolicyProof::Holds
    };
    let ways = model.ways.iter().filter(is_permitted);
    ways.map(|way| (way.section, way.tool.clone())).collect()
}

/// The names in the list of tools of a file; `None` if it has no list.
fn listed(harness: &str, text: &str) -> Option<BTreeSet<String>> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("tools:"));
    let rest = lines.next()?.strip_prefix("tools:")?.trim();
    let items: Vec<&str> = if rest.is_empty() {
        let items = lines.map_while(|line| line.trim_start().strip_prefix("- "));
        items.collect()
    } else {
        rest.trim_matches(['[', ']']).split([',', ' ']).collect()
    };
    let name = |item: &str| {
        let name = item.trim().trim_matches(['"', '\'', ',']);
        let name = name.split('(').next().unwrap_or(name);
        current(harness, name).to_owned()
    };
    let names: BTreeSet<String> = items.into_iter().map(name).collect();
    Some(names.into_iter().filter(|name| !name.is_empty()).collect())
}

/// Other names of tools, by harness.
const ALIASES: &[(&str, &str, &[&str])] = &[
    ("claude-code", "Agent", &["Task"]),
    ("copilot", "execute", &["Bash", "shell"]),
    ("copilot", "read", &["Read", "view"]),
    ("copilot", "edit", &["Edit", "Write", "MultiEdit", "create"]),
    ("copilot", "search", &["Grep", "Glob"]),
    ("copilot", "web", &["WebFetch", "WebSearch", "web_search", "web_fetch"]),
    ("copilot", "agent", &["Task"]),
    ("copilot", "todo", &["TodoWrite"]),
];

fn current<'a>(harness: &str, name: &'a str) -> &'a str {
    let mut rows = ALIASES.iter().filter(|(of, ..)| *of == harness);
    rows.find(|(_, _, others)| others.contains(&name)).map_or(name, |(_, name, _)| name)
}

/// The tools of an agent before and after: those that its file lists, else those that its model has. A tool
/// is one name, whatever sections it reaches: a search of Codex stays a search without live pages.
fn tools(
    harness: &str,
    before: (&str, &BTreeSet<(Section, String)>),
    after: (&str, &BTreeSet<(Section, String)>),
) -> (BTreeSet<String>, BTreeSet<String>) {
    let named = |all: &BTreeSet<(Section, String)>| -> BTreeSet<String> {
        // Whatever extensions may bring is no tool that the agent has.
        let real = all.iter().filter(|(_, tool)| !tool.contains(' '));
        real.map(|(_, tool)| tool.clone()).collect()
    };
    match (listed(harness, before.0), listed(harness, after.0)) {
        (Some(had), Some(has)) if !had.is_empty() => (had, has),
        // Without a list it has every tool.
        (Some(had), None) if !had.is_empty() && !after.1.is_empty() => (had.clone(), had),
        (Some(had), None) if !had.is_empty() => (had, BTreeSet::new()),
        _ => (named(before.1), named(after.1)),
    }
}

/// What became of all agents in one harness.
fn rendered(
    harness: &Target,
    subjects: &[RenderSubject],
) -> (ProjectRendering, Vec<Option<HarnessModel>>) {
    let existing = ListedFiles(&[]);
    // Pi never asks, nor does Codex about commands: a person who wants to keep the tools accepts that.
    let is_accepted = |section: &&Section| {
        harness.name == "pi" || (harness.name == "codex" && **section == Section::Bash)
    };
    let sections = Section::ALL.iter().filter(is_accepted);
    let accepted: Vec<String> = sections.map(|section| format!("permissions.{section}")).collect();
    let settings = RenderSettings { accepted: &accepted, ..RenderSettings::new(&existing) };
    let rendering = render(harness, subjects, &settings);
    let back = |subject| read_back(harness, subject, &rendering, &settings);
    let models = subjects.iter().map(back).collect();
    (rendering, models)
}

/// What became of the agents in all harnesses.
#[derive(Default)]
struct SurvivalTable {
    same: BTreeMap<&'static str, Share>,
    other: BTreeMap<(&'static str, Section), Share>,
    lost: BTreeMap<String, usize>,
    gained: Vec<String>,
    /// Agents that are reported to lose tools, though all of their list comes back.
    misreported: Vec<String>,
}

impl SurvivalTable {
    fn add(
        &mut self,
        memo: &RenderMemo,
        harness: &'static Target,
        it: &Survivor,
        (text, model): (&str, &HarnessModel),
        reported: &BTreeSet<Section>,
    ) {
        // A rule of Cursor is text, which has no limits that could be kept.
        let Some(own) = it.model.as_ref().filter(|model| !model.is_text) else { return };
        let (own, new) = (granted(memo, own), granted(memo, model));
        let place = format!("{} {} in {}", it.agent.package, it.agent.path, harness.name);
        let has = |all: &BTreeSet<(Section, String)>, section| all.iter().any(|it| it.0 == section);
        for section in [Section::Edit, Section::Bash] {
            if has(&own, section) {
                self.other.entry((harness.name, section)).or_default().add(has(&new, section));
            } else if has(&new, section) {
                self.gained.push(format!("{place}: {section}"));
            }
        }
        if it.agent.harness != harness.name {
            return;
        }
        let (before, after) = tools(harness.name, (&it.agent.text, &own), (text, &new));
        for tool in &before {
            self.same.entry(harness.name).or_default().add(after.contains(tool));
            if !after.contains(tool) {
                *self.lost.entry(format!("{} {tool}", harness.name)).or_default() += 1;
            }
        }
        let is_listed = listed(harness.name, &it.agent.text).is_some_and(|list| !list.is_empty());
        let is_kept = it.definition.iter().any(|(_, text)| text.contains("as-written"));
        if is_listed && is_kept && before.is_subset(&after) && !reported.is_empty() {
            self.misreported.push(format!("{place}: {reported:?}"));
        }
        self.gained.extend(after.difference(&before).map(|tool| format!("{place}: {tool}")));
        // A tool that stays must not reach more than before.
        let more = new.difference(&own).filter(|(_, tool)| !tool.contains(' '));
        self.gained.extend(more.map(|(section, tool)| format!("{place}: {section} by {tool}")));
    }

    fn all_tools(&self) -> Share {
        let shares = self.same.values();
        shares.fold(Share::default(), |all, it| Share {
            had: all.had + it.had,
            kept: all.kept + it.kept,
        })
    }

    #[expect(clippy::print_stdout, reason = "the table is what the test measures")]
    fn print(&self) {
        self.same.iter().for_each(|(harness, share)| println!("{harness:<12} tools {share}"));
        println!("all          tools {}", self.all_tools());
        for ((harness, section), share) in &self.other {
            println!("{harness:<12} {section:<5} {share}");
        }
        self.lost.iter().for_each(|(tool, count)| println!("lost {count} x {tool}"));
        self.gained.iter().take(20).for_each(|what| println!("gained {what}"));
    }
}

#[test]
fn most_real_agents_keep_their_needed_tools() {
    let all = survivors();
    let loaded = all.iter().filter(|it| it.model.is_some()).count();
    println!("{} agents, of which their harness loads {loaded}", all.len());
    let files: Vec<_> = all.iter().flat_map(|it| it.definition.clone()).collect();
    let mut subjects = crate::subjects(&files, None);
    // Found in the order of their paths, and needed in the order of the corpus.
    subjects.sort_by_key(|subject| subject.name[1..].parse::<usize>().expect("a number"));
    let memo = RenderMemo::default();
    let mut table = SurvivalTable::default();
    for harness in harnesses() {
        let (rendering, models) = rendered(harness, &subjects);
        for ((it, result), model) in all.iter().zip(&rendering.agents).zip(&models) {
            let text = result.files.first().map_or("", |file| file.text());
            let model = model.clone().unwrap_or_default();
            table.add(&memo, harness, it, (text, &model), &result.lost_tools);
        }
    }
    table.print();
    assert!(loaded >= 400, "{loaded}");
    assert_eq!(table.gained.len(), 0, "denials lost");
    assert_eq!(table.misreported, [""; 0]);
    for (harness, share) in &table.same {
        assert!(share.percent() >= 95, "tools in {harness}: {share}");
    }
    for ((harness, section), share) in table.other {
        let least = FEWER.iter().find(|(known, of, ..)| (*known, *of) == (harness, section));
        let least = least.map_or(90, |(.., least)| *least);
        assert!(share.percent() >= least, "{section} in {harness}: {share}");
    }
}

/// Where a denial costs more grants, in percent. Cursor cannot take any other tool away from one agent, so
/// that most agents are rules there.
const FEWER: &[(&str, Section, usize)] =
    &[("cursor", Section::Bash, 0), ("cursor", Section::Edit, 0)];
