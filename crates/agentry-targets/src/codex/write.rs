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
use crate::encoding::{EncodingView, MatchOrder, RuleEncoding};
use crate::fields::{self, report_losses};
use crate::front_matter::MARK;
use crate::gap::gaps;
use crate::harmless_commands::HarmlessCommand;
use crate::model::always;
use crate::render::each;
use crate::render_result::{
    LossKind, ProjectRendering, RenderSettings, RenderedAgent, RenderedFile,
};
use crate::subject::{PromptTextKind, RenderSubject};
use crate::{loss, skills};

/// Directories in which Codex finds skills itself.
const SKILLS: &[&str] = &[".agents/skills"];

/// The sections that a web search touches.
const WEB: &[Section] = &[Section::Webfetch, Section::Websearch];

pub(super) fn render(
    subjects: &[RenderSubject],
    settings: &RenderSettings<'_>,
) -> ProjectRendering {
    let rules = common(subjects);
    let (others, unclear) = role::beside(settings.existing, PROJECT);
    let all: Vec<PrefixRule> = rules.iter().cloned().chain(others).collect();
    let rivals = CodexRivals::of(settings);
    let mut agents: Vec<RenderedAgent> = each(subjects, |subject| {
        let mut out = agent(subject, &all, settings);
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
    let text = prefix::write(&head, &rules);
    let shared = if rules.is_empty() { Vec::new() } else { vec![RenderedFile::new(RULES, text)] };
    ProjectRendering { agents, shared }
}

fn agent(
    subject: &RenderSubject,
    rules: &[PrefixRule],
    settings: &RenderSettings<'_>,
) -> RenderedAgent {
    let mut out = RenderedAgent::default();
    let setup = chosen(subject, rules, settings);
    let web = searches(|sections| free(subject, sections, settings));
    let prompt =
        subject.prompt(&[PromptTextKind::Prompt, PromptTextKind::Context, PromptTextKind::Rules]);
    // Codex ignores an agent without instructions.
    let told = Some(prompt.trim()).filter(|text| !text.is_empty());
    let told = told.unwrap_or_else(|| subject.description());
    let mut computed = vec![
        ("sandbox_mode", Data::str(setup.sandbox.as_str())),
        ("approval_policy", Data::str(setup.approval.as_str())),
        ("web_search", Data::str(web)),
        ("developer_instructions", Data::str(format!("{told}\n"))),
    ];
    computed.extend(tables(subject, setup, rules, settings));
    let role = fields::write(FIELDS, (subject, NAME), computed, &mut out);
    losses(subject, &role, rules, &mut out);
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
    rules: &[PrefixRule],
    settings: &RenderSettings<'_>,
) -> Vec<(&'static str, Data)> {
    let mut tables = Vec::new();
    let off = |key: &str, value: bool| Data::Map(vec![(key.to_owned(), Data::Bool(value))]);
    if !setup.shell {
        tables.push(("features", off("shell_tool", false)));
    }
    // A file that commands ask about must not be shown by another tool.
    let asks = setup.shell && setup.reads(rules).intent.action > Action::Allow;
    if asks || !free(subject, &[Section::Read], settings) {
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

/// Returns the rules that an agent needs to have a shell; `None` if no rules suffice.
fn wanted(subject: &RenderSubject) -> Option<Vec<PrefixRule>> {
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
    let edits = |setup: &&CodexSetup| {
        let model = setup.model(&[], EncodingView::Mildest);
        let mut ways = model.ways.iter().filter(|way| way.section == Section::Edit);
        setup.shell && ways.all(|way| subject.permits(way.section, &way.layers))
    };
    SETUPS.iter().filter(edits).find_map(|setup| {
        let hidden = !all(subject, &[Section::Read]);
        let asked = setup
            .harmless()
            .iter()
            .filter(|command| (command.reads && hidden) || !allowed(subject, command));
        let asked =
            asked.map(|it| PrefixRule { action: Action::Ask, ..PrefixRule::harmless(it.name) });
        let rules: Vec<PrefixRule> = strict.iter().cloned().chain(asked).collect();
        let encoding = setup
            .commands(&rules, EncodingView::Mildest)
            .narrowed(&subject.memo, &[], &subject.bounds(Section::Bash))
            .encoding;
        let entries = encoding.entries.iter().filter(|entry| entry.action > Action::Allow);
        let mut found: Vec<PrefixRule> = Vec::new();
        for rule in entries.flat_map(PrefixRule::of) {
            if !found.contains(&rule) {
                found.push(rule);
            }
        }
        let model = setup.model(&found, EncodingView::Mildest);
        let fits = model.ways.iter().all(|way| subject.permits(way.section, &way.layers));
        // No rule can express the default, so narrowing must not have raised it.
        (encoding.default == setup.unruled(EncodingView::Mildest) && fits).then_some(found)
    })
}

/// Whether the source allows a command with any arguments.
fn allowed(subject: &RenderSubject, command: &HarmlessCommand) -> bool {
    if subject.permissions.mildest(Section::Bash) > Action::Allow {
        return false;
    }
    let only = RuleEncoding {
        section: Section::Bash,
        order: MatchOrder::First,
        entries: vec![command.entry()],
        default: Action::Deny,
    };
    subject.permits(Section::Bash, &[only.rules()])
}

/// Returns the rules that all agents with a shell need. An agent that could not have a shell under these
/// rules does not count.
fn common(subjects: &[RenderSubject]) -> Vec<PrefixRule> {
    let mut wanted: Vec<(&RenderSubject, Vec<PrefixRule>)> =
        subjects.iter().filter_map(|subject| Some((subject, wanted(subject)?))).collect();
    loop {
        let Some(((_, first), others)) = wanted.split_first() else { return Vec::new() };
        let shared = |rule: &&PrefixRule| others.iter().all(|(_, rules)| rules.contains(rule));
        let rules: Vec<PrefixRule> = first.iter().filter(shared).cloned().collect();
        // Dropping an agent may leave more common rules, so repeat until none is dropped.
        let before = wanted.len();
        wanted.retain(|(subject, _)| {
            let fits = |setup: &CodexSetup| {
                let model = setup.model(&rules, EncodingView::Mildest);
                model.ways.iter().all(|way| subject.permits(way.section, &way.layers))
            };
            !subject.grants.is_empty() || SETUPS.iter().any(|setup| setup.shell && fits(setup))
        });
        if wanted.len() == before {
            return rules;
        }
    }
}

/// Reports where the agent may do less than its source, and unsupported fields.
fn losses(subject: &RenderSubject, role: &Data, rules: &[PrefixRule], out: &mut RenderedAgent) {
    let model = role::of(role, rules, EncodingView::Mildest);
    // Paths outside the workspace are reported with reads and edits.
    loss::compare_all(subject, &model, &[Section::ExternalDirectory], out);
    loss::unattended(&model, out);
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
