//! Renders agents for Codex: their files, and the command rules that they share.

use agentry_policy::{Action, Section};
use agentry_text::Data;
use agentry_text::toml;

use super::NAME;
use super::blind_spots::BLIND;
use super::fields::FIELDS;
use super::prefix::{self, PrefixRule};
use super::rivals::CodexRivals;
use super::role::{self, PROJECT, RULES, TEMPORARY, path};
use super::setup::{CodexSandbox, CodexSetup, SETUPS, STRICTEST};
use crate::built_in_protection::protects;
use crate::encoding::EncodingView;
use crate::fields::{self, report_losses};
use crate::front_matter::MARK;
use crate::gap::gaps;
use crate::model::always;
use crate::render::{each, each_of};
use crate::render_result::{
    LossKind, ProjectRendering, RenderSettings, RenderedAgent, RenderedFile, SharedLine,
};
use crate::subject::RenderSubject;
use crate::{loss, skills};

/// Directories in which Codex finds skills itself.
const SKILLS: &[&str] = &[".agents/skills"];

/// The sections that a web search touches.
const WEB: &[Section] = &[Section::Webfetch, Section::Websearch];

pub(super) fn render(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let (others, unclear) = role::beside(settings.existing, PROJECT);
    let earlier = settings.existing.text(RULES).filter(|_| !settings.shared);
    let earlier_rules = prefix::read(earlier.as_deref().unwrap_or_default()).0;
    let own = each(subjects, |subject| wanted(subject, settings));
    // All rules count for the losses of an agent, but its own file depends on its own rules only.
    let mut rules: Vec<PrefixRule> = Vec::new();
    for rule in own.iter().flatten().filter(|_| settings.shared).chain(&earlier_rules) {
        if !rules.contains(rule) {
            rules.push(rule.clone());
        }
    }
    let all: Vec<PrefixRule> = rules.iter().chain(&others).cloned().collect();
    let rivals = CodexRivals::of(settings);
    let unwritten = subjects.iter().zip(&own);
    let mut agents: Vec<RenderedAgent> = each_of(unwritten, |subject, own| {
        let written = own.iter().filter(|_| settings.shared).chain(&earlier_rules);
        let known: Vec<PrefixRule> = written.chain(&others).cloned().collect();
        let mut out = agent(subject, (&known, &all), settings);
        unshared(subject, (own, &known), settings, &mut out);
        rivals.report(&subject.name, settings, &mut out);
        out
    });
    for path in &unclear {
        let detail = format!("`{path}` holds rules that are not understood: they may allow more");
        for agent in &mut agents {
            agent.lose("permissions.bash", LossKind::Gap, detail.as_str());
        }
    }
    let head = format!(
        "{MARK}all agents of the project\n# Codex has no rules for one agent: these hold for every \
         session here. None of them allows anything.\n"
    );
    let text = earlier.unwrap_or_else(|| prefix::write(&head, &rules));
    let shared = if rules.is_empty() { Vec::new() } else { vec![RenderedFile::new(RULES, text)] };
    ProjectRendering { agents, shared, lines: lines(&own) }
}

/// Returns the shared rules, each with an agent that needs it.
fn lines(own: &[Vec<PrefixRule>]) -> Vec<SharedLine> {
    let line = |(agent, rule): (usize, &PrefixRule)| SharedLine {
        path: RULES.to_owned(),
        place: String::new(),
        text: prefix::write("", std::slice::from_ref(rule)).trim().to_owned(),
        agent,
    };
    let all = own.iter().enumerate();
    all.flat_map(|(at, rules)| rules.iter().map(move |rule| (at, rule))).map(line).collect()
}

/// Reports the rules that an agent would need to keep its shell.
fn unshared(
    subject: &RenderSubject,
    (own, known): (&[PrefixRule], &[PrefixRule]),
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) {
    let missing: Vec<PrefixRule> =
        own.iter().filter(|rule| !known.contains(rule)).cloned().collect();
    let has_shell = chosen(subject, known, settings).shell;
    if missing.is_empty() || has_shell || !chosen(subject, own, settings).shell {
        return;
    }
    let lines = prefix::write("", &missing);
    let lines: Vec<String> = lines.trim().lines().map(|line| format!("`{line}`")).collect();
    let detail = format!(
        "Codex has rules only for a whole project: without {} in `{RULES}` there is no shell; \
         `--shared` writes them",
        lines.join(", ")
    );
    out.lose("permissions.bash", LossKind::Narrowed, detail);
}

fn agent(
    subject: &RenderSubject,
    (rules, all): (&[PrefixRule], &[PrefixRule]),
    settings: &RenderSettings<'_>,
) -> RenderedAgent {
    let mut out = RenderedAgent::default();
    let setup = chosen(subject, rules, settings);
    let web = searches(|sections| free(subject, sections, settings));
    let prompt = subject.prompt();
    // Codex ignores an agent without instructions.
    let prompt_text = Some(prompt.trim()).filter(|text| !text.is_empty());
    let prompt_text = prompt_text.unwrap_or_else(|| subject.description());
    let mut computed = vec![
        ("sandbox_mode", Data::str(setup.sandbox.as_str())),
        ("approval_policy", Data::str(setup.approval.as_str())),
        ("web_search", Data::str(web)),
        ("developer_instructions", Data::str(format!("{prompt_text}\n"))),
    ];
    computed.extend(tables(subject, setup, settings));
    let role = fields::write(FIELDS, (subject, NAME), computed, &mut out);
    losses(subject, &role, (all, settings), &mut out);
    session(subject, setup, settings, &mut out);
    let text = format!("{MARK}{}\n{}", subject.origin(), toml::emit(&role));
    out.files.push(RenderedFile::new(path(&subject.name), text));
    skills::copy(subject, SKILLS, ".agents/skills", &mut out);
    out
}

/// Returns the tables that disable features.
fn tables(
    subject: &RenderSubject,
    setup: CodexSetup,
    settings: &RenderSettings<'_>,
) -> Vec<(&'static str, Data)> {
    let mut tables = Vec::new();
    let off = |key: &str, value: bool| Data::Map(vec![(key.to_owned(), Data::Bool(value))]);
    if !setup.shell {
        tables.push(("features", off("shell_tool", false)));
    }
    let everything = [always(Section::Read, Action::Allow, "everything")];
    // A shell that shows every file at once makes the tool no gap of its own.
    let reads = setup.shell || subject.permits_unasked(Section::Read, &everything);
    if !reads || !free(subject, &[Section::Read], settings) {
        tables.push(("tools", off("view_image", false)));
    }
    if !all(subject, &[Section::Skill]) {
        tables.push(("skills", off("include_instructions", false)));
    }
    if setup.sandbox == CodexSandbox::WorkspaceWrite {
        let flags = TEMPORARY.map(|key| (key.to_owned(), Data::Bool(true)));
        tables.push(("sandbox_workspace_write", Data::Map(flags.into())));
    }
    tables
}

/// The search mode of the agent: live pages, cached pages, or none.
fn searches(is_free: impl Fn(&[Section]) -> bool) -> &'static str {
    match (is_free(WEB), is_free(&[Section::Websearch])) {
        (true, _) => "live",
        (false, true) => "cached",
        (false, false) => "disabled",
    }
}

/// Whether the source allows everything in these sections.
fn all(subject: &RenderSubject, sections: &[Section]) -> bool {
    let allowed = |section: &Section| {
        subject.permits(*section, &[always(*section, Action::Allow, "everything")])
    };
    sections.iter().all(allowed)
}

/// Whether a tool may do everything in these sections, also with `--close-gaps`.
fn free(subject: &RenderSubject, sections: &[Section], settings: &RenderSettings<'_>) -> bool {
    let everything = |section: Section| [always(section, Action::Allow, "everything")];
    let safe = |section: &Section| protects(subject, *section, &everything(*section));
    all(subject, sections) && (!settings.close_gaps || sections.iter().all(safe))
}

/// Returns the first setup that permits no more than the source.
fn chosen(
    subject: &RenderSubject,
    rules: &[PrefixRule],
    settings: &RenderSettings<'_>,
) -> CodexSetup {
    let fits = |setup: &&CodexSetup| {
        let model = setup.model(rules, EncodingView::Mildest);
        let model = model.in_session(settings.is_attended());
        let within = model.ways.iter().all(|way| subject.permits(way.section, &way.layers));
        let safe = || {
            let mut ways = model.ways.iter();
            gaps(subject, &model, BLIND).is_empty()
                && ways.all(|way| protects(subject, way.section, &way.layers))
        };
        within && (!settings.close_gaps || safe())
    };
    SETUPS.iter().find(fits).copied().unwrap_or(STRICTEST)
}

/// Returns the rules that an agent needs to have a shell; none if no rules suffice.
fn wanted(subject: &RenderSubject, settings: &RenderSettings<'_>) -> Vec<PrefixRule> {
    found_rules(subject, settings).unwrap_or_default()
}

fn found_rules(subject: &RenderSubject, settings: &RenderSettings<'_>) -> Option<Vec<PrefixRule>> {
    let written = subject.permissions.get(Section::Bash);
    let rules = written.iter().flat_map(|rules| &rules.rules);
    let strict = rules.filter(|rule| rule.action > Action::Allow);
    let strict: Vec<PrefixRule> =
        strict.filter_map(|rule| PrefixRule::around(&rule.value)).collect();
    if !subject.grants.is_empty() {
        // With restored grants, only denials need a rule; asks work as they did in the original.
        let denied = strict.into_iter().filter(|rule| rule.action == Action::Deny);
        return Some(denied.collect()).filter(|denied: &Vec<PrefixRule>| !denied.is_empty());
    }
    rules_for(subject, &strict, settings)
}

/// Returns the rules of the first setup with a shell that fits the source.
fn rules_for(
    subject: &RenderSubject,
    strict: &[PrefixRule],
    settings: &RenderSettings<'_>,
) -> Option<Vec<PrefixRule>> {
    let edits = |setup: &&CodexSetup| {
        let model = setup.model(&[], EncodingView::Mildest);
        let mut ways = model.ways.iter().filter(|way| way.section == Section::Edit);
        setup.shell && ways.all(|way| subject.permits(way.section, &way.layers))
    };
    SETUPS.iter().filter(edits).find_map(|setup| {
        let encoding = setup
            .commands(strict, EncodingView::Mildest)
            .narrowed(&subject.memo, &[], &subject.bounds(Section::Bash))
            .encoding;
        let entries = encoding.entries.iter().filter(|entry| entry.action > Action::Allow);
        let mut found: Vec<PrefixRule> = Vec::new();
        for rule in entries.flat_map(PrefixRule::of) {
            if !found.contains(&rule) {
                found.push(rule);
            }
        }
        let model = setup.model(&found, EncodingView::Mildest).in_session(settings.is_attended());
        let fits = model.ways.iter().all(|way| subject.permits(way.section, &way.layers));
        // No rule can express the default, so narrowing must not have raised it.
        (encoding.default == setup.unruled(EncodingView::Mildest) && fits).then_some(found)
    })
}

/// Reports where the agent may do less than its source, and unsupported fields.
fn losses(
    subject: &RenderSubject,
    role: &Data,
    (rules, settings): (&[PrefixRule], &RenderSettings<'_>),
    out: &mut RenderedAgent,
) {
    let model = role::of(role, rules, EncodingView::Mildest).in_session(settings.is_attended());
    // Paths outside the workspace are reported with reads and edits.
    loss::compare_all(subject, &model, &[Section::ExternalDirectory], out);
    loss::toolless(subject, &model, None, out);
    report_losses(FIELDS, subject, out);
}

/// Reports what only the session can enforce.
fn session(
    subject: &RenderSubject,
    setup: CodexSetup,
    settings: &RenderSettings<'_>,
    out: &mut RenderedAgent,
) {
    let sections = [
        Section::Bash,
        Section::Edit,
        Section::Read,
        Section::Webfetch,
        Section::Websearch,
        Section::Mcp,
    ];
    if all(subject, &sections) {
        return;
    }
    let search = match searches(|sections| all(subject, sections)) {
        "live" => String::new(),
        word => format!(" -c web_search={word}"),
    };
    let command = format!("codex -s {} -a {}{search}", setup.sandbox, setup.approval);
    if settings.close_gaps {
        let message = "Codex gives an agent the sandbox, the approvals, the searches and the servers \
                       of the session that starts it, and no file of the agent can close that";
        let hint = format!("render without `--close-gaps`, and start sessions with `{command}`");
        out.refuse("permissions", message, Some(&hint));
    }
    let detail = format!(
        "session: Codex gives an agent the sandbox, the approvals, the searches and the servers of \
         the session that starts it, whatever its file says; start it with `{command}`"
    );
    out.lose("permissions", LossKind::Gap, detail);
}
