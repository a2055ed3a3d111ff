//! Losses of an agent in Claude Code, and gaps that Claude Code leaves.

use agentry_policy::path::NoLinks;
use agentry_policy::{Action, RuleList, Section, SectionCall};
use agentry_text::{Data, Span};

use super::NAME;
use super::agent_file;
use super::encode::{is_all, is_denied};
use super::fields::FIELDS;
use super::ruleset::{UnmatchedAnswer, never, of};
use super::settings::{ClaudeRuleLists, SHARED, known};
use super::tools::{ClaudeTools, GROUPS, groups};
use crate::fields::report_losses;
use crate::harness_files::{
    ChangedFiles, FileChange, FileRoot, HarnessFiles as _, HarnessPath, MemoFiles,
};
use crate::loss;
use crate::model::{HarnessModel, always};
use crate::original::OriginalFrontMatter;
use crate::proof::{PolicyProof, prove_with_example, within};
use crate::render_result::{LossKind, RenderSettings, RenderedAgent, RenderedFile};
use crate::subject::{BundledSkill, RenderSubject};

/// The user's directory of agents, which every project has.
const PERSONAL: &str = "~/.claude/agents/";

/// Reports all losses of one agent.
pub(super) fn report(
    subject: &RenderSubject,
    (tools, (allowed, written)): (&ClaudeTools, (&[String], &[String])),
    shared: &[RenderedFile],
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) {
    report_losses(FIELDS, subject, out);
    not_loaded(subject, out);
    let change = |path: HarnessPath<'_>| {
        let is_it = |file: &&RenderedFile| path.root == FileRoot::Project && file.path == path.path;
        let written = shared.iter().find(is_it);
        written.map_or(FileChange::None, |file| FileChange::Text(file.text().to_owned()))
    };
    let files = ChangedFiles { below: settings.existing, change: &change };
    let files = MemoFiles { below: &files, memo: &subject.memo };
    let known = known(&files);
    let model = of(files.memo(), tools, &known, UnmatchedAnswer::Runs);
    removed(subject, tools, settings, out);
    let way_out = (!settings.guard).then_some(loss::BY_GUARD);
    loss::toolless(subject, &model, way_out, out);
    if settings.guard {
        // The guard decides all other sections exactly.
        limits(subject, &model, &known.rules, out);
        narrowed(subject, Section::Tool, (&model, None), out);
        return;
    }
    let session = model.clone().in_session(settings.is_attended());
    for section in Section::ALL {
        // That a whole tool is asked about although it is allowed is reported below.
        let is_free = allowed.iter().any(|text| is_all(text, *section));
        let model = if is_free { &model } else { &session };
        narrowed(subject, *section, (model, Some(loss::EXACT)), out);
    }
    asks_outside(subject, &model, out);
    asks_all_the_same(allowed, &known.rules, out);
    allows_everyone(written, settings, out);
}

/// Reports the tools that an agent loses without rules in the shared settings.
pub(super) fn unshared(missing: &[(Section, ClaudeRuleLists)], out: &mut RenderedAgent) {
    for (section, rules) in missing {
        let lines = rules.listed().map(|(list, text)| format!("`{text}` in `permissions.{list}`"));
        let lines: Vec<String> = lines.collect();
        let detail = format!(
            "Claude Code has rules only for a whole project: without {} of `{SHARED}` the tool is \
             removed; `--shared` writes them",
            lines.join(", ")
        );
        out.lose(format!("permissions.{section}"), LossKind::Narrowed, detail);
    }
}

/// Reports skills that only the user may start: Claude Code does not load them for an agent.
fn not_loaded(subject: &RenderSubject, out: &mut RenderedAgent) {
    let is_for_people = |skill: &&BundledSkill| {
        let mut files = skill.files.iter().flatten();
        let main = files.find(|(path, _)| path == "SKILL.md");
        let text = main.and_then(|(_, bytes)| std::str::from_utf8(bytes).ok());
        let front = text.and_then(agent_file::read);
        front.is_some_and(|it| it.metadata.get(FOR_PEOPLE) == Some(&Data::Bool(true)))
    };
    for BundledSkill { name, .. } in subject.skills.iter().filter(is_for_people) {
        let detail = format!(
            "the skill `{name}` says `{FOR_PEOPLE}`: Claude Code does not load it for an agent, and only \
             a person can start it"
        );
        out.lose("skills", LossKind::Dropped, detail);
    }
}

/// The field of a skill that prevents a model from starting it.
const FOR_PEOPLE: &str = "disable-model-invocation";

/// Reports what the run mode of an agent does not guarantee, or costs.
pub(super) fn running(metadata: &Data, out: &mut RenderedAgent) {
    let mode = metadata.get("permissionMode").and_then(Data::as_str);
    if let Some(mode) = mode.filter(|mode| !matches!(*mode, "default" | "manual")) {
        let detail = format!(
            "`permissionMode: {mode}` is no promise: a session above that asks less decides instead, and a \
             plugin or a person who starts the agent leaves it out"
        );
        out.lose("permissions", LossKind::Gap, detail);
    }
    if metadata.get("background") == Some(&Data::Bool(true)) {
        let detail =
            "`background`: no user can be asked there, so tools that need an answer are lost";
        out.lose("permissions", LossKind::Narrowed, detail);
    }
}

/// Reports allow rules that also apply to other agents and sessions, and only in a trusted workspace.
fn allows_everyone(written: &[String], settings: &RenderSettings<'_>, out: &mut RenderedAgent) {
    if written.is_empty() {
        return;
    }
    let rules: Vec<String> = written.iter().map(|text| format!("`{text}`")).collect();
    let theirs: Vec<String> = agent_file::by_name(settings.existing, PERSONAL)
        .keys()
        .map(|name| format!("`{name}`"))
        .collect();
    let whose = if theirs.is_empty() {
        "yours included".to_owned()
    } else {
        format!("yours and those of your own agents ({}) included", theirs.join(", "))
    };
    let detail = format!(
        "allowed in every session of the project, {whose}: {}; Claude Code has no rules for a single agent, \
         and needs none with `--guard`",
        rules.join(", ")
    );
    out.lose("permissions", LossKind::Gap, detail);
    let detail = "Claude Code ignores what a project allows until its workspace is trusted";
    out.lose("permissions", LossKind::Narrowed, detail);
}

/// Reports what Claude Code asks about although the agent allows it, because the settings lack the rule.
fn asks_all_the_same(allowed: &[String], rules: &ClaudeRuleLists, out: &mut RenderedAgent) {
    // Delegation to another agent is never asked about.
    let is_asked = |text: &&String| !rules.allow.contains(text) && *text != "Agent";
    let asked: Vec<String> =
        allowed.iter().filter(is_asked).map(|text| format!("`{text}`")).collect();
    if !asked.is_empty() {
        let detail = format!(
            "Claude Code asks about {}: an allow in the settings would hold for every session, and is \
             yours to write; `--guard` lifts the question for this agent alone",
            asked.join(", ")
        );
        out.lose("permissions", LossKind::Narrowed, detail);
    }
}

/// Reports tools that are removed although the source does not deny them. Without the guard, [`narrowed`]
/// reports a section without any tool.
fn removed(
    subject: &RenderSubject,
    tools: &ClaudeTools,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) {
    for group in GROUPS.iter().filter(|group| !is_denied(subject, group.section)) {
        let is_kept = group.tools.iter().any(|tool| tools.has(tool));
        let why = if is_kept {
            "it searches many files at once, and not all of them are allowed"
        } else {
            "what this agent is denied would be denied to others, as rules hold for all"
        };
        let original = OriginalFrontMatter::of(&subject.agent, NAME);
        let is_gone = |tool: &&&str| !tools.has(tool) && original.may_have(&groups(), tool);
        let gone = group.tools.iter().filter(is_gone);
        for tool in gone.filter(|_| is_kept || settings.guard) {
            let detail = format!("the tool `{tool}` is removed: {why}");
            out.lose(format!("permissions.{}", group.section), LossKind::Narrowed, detail);
        }
    }
}

/// Reports where the harness is stricter than the source, with a remedy.
fn narrowed(
    subject: &RenderSubject,
    section: Section,
    (model, way_out): (&HarnessModel, Option<&str>),
    out: &mut RenderedAgent,
) {
    let way = model.ways.iter().find(|way| way.section == section);
    let removed = [always(section, Action::Deny, "removed")];
    let layers: &[RuleList] = way.map_or(&removed, |way| &way.layers);
    // These sections have their own reports.
    let by_itself =
        matches!(section, Section::Question | Section::ExternalDirectory | Section::Env);
    if by_itself || !is_written(subject, section) {
        return;
    }
    let field = format!("permissions.{section}");
    let mut bounds = subject.written_bounds(section);
    bounds.push(never(section));
    match prove_with_example(&subject.memo, section, &bounds, layers) {
        PolicyProof::Holds => {}
        // The sides are swapped: the source is on the left, so `target` is its verdict.
        PolicyProof::Fails { example, source, target } => {
            let why = match way {
                Some(_) => "it asks by itself, and its rules hold for all agents",
                None => "the tool is removed",
            };
            let way_out = way_out.map_or(String::new(), |text| format!("; {text}"));
            let detail =
                format!("`{example}` is {target} in the source and {source} here: {why}{way_out}");
            out.lose(field, LossKind::Narrowed, detail);
        }
        PolicyProof::Unknown(why) => out.lose(field, LossKind::Narrowed, why),
    }
}

/// Whether the author wrote a rule about a section.
pub(super) fn is_written(subject: &RenderSubject, section: Section) -> bool {
    let mut rules = subject.judge.rules(section).flat_map(|(_, rules)| rules.all());
    rules.any(|rule| rule.span.is_some_and(Span::is_written))
}

/// Reports that only Claude Code itself asks about files outside the workspace.
fn asks_outside(subject: &RenderSubject, model: &HarnessModel, out: &mut RenderedAgent) {
    let files = [Section::Read, Section::Edit];
    let reaches = model.ways.iter().any(|way| files.contains(&way.section));
    let outside = within(
        &subject.memo,
        &[always(Section::ExternalDirectory, Action::Allow, "allow")],
        &subject.bounds(Section::ExternalDirectory),
    );
    if reaches && outside != PolicyProof::Holds {
        let detail = "outside the workspace Claude Code asks by itself; in its auto mode a model \
                      answers instead of a person";
        out.lose("permissions.external_directory", LossKind::Gap, detail);
    }
}

/// Reports what remains when the hook does not run.
fn limits(
    subject: &RenderSubject,
    floor: &HarnessModel,
    rules: &ClaudeRuleLists,
    out: &mut RenderedAgent,
) {
    let detail = "the guard does not run under `disableAllHooks` and, from the metadata of an agent, \
                  in a workspace that is not trusted: then Claude Code asks as it always does";
    out.lose("permissions", LossKind::Gap, detail);
    let directory = subject.judge.places().workspace.clone();
    let has = |section| floor.ways.iter().any(|way| way.section == section);
    for (section, text) in [(Section::Bash, "ls"), (Section::Read, "README.md")] {
        let call = SectionCall { section, subject: text, directory: &directory };
        let source = subject.judge.judge(call, &NoLinks).action;
        if has(section) && source > Action::Allow {
            let detail = format!(
                "without the guard Claude Code would not ask about `{text}`, which is {source} in the source"
            );
            out.lose(format!("permissions.{section}"), LossKind::Gap, detail);
        }
    }
    if let Some(text) = rules.allow.first() {
        let detail = format!("without the guard the settings allow `{text}`");
        out.lose("permissions", LossKind::Gap, detail);
    }
}
