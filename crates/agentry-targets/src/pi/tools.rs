//! The tools of Pi, and which of them an agent may have. Pi checks no call, so an agent gets a tool only if
//! it may use it in every way. What a command does beyond its line is a gap, as in other harnesses.

use agentry_policy::{Action, Section};

use super::NAME;
use super::blind_spots::BLIND;
use crate::built_in_protection::{self, UnprotectedSubject};
use crate::gap::{PolicyGap, gaps};
use crate::model::{HarnessModel, always};
use crate::original::OriginalFrontMatter;
use crate::proof::{PolicyProof, prove_with_example, within};
use crate::render_result::{LossKind, RenderSettings, RenderedAgent};
use crate::subject::RenderSubject;

/// A tool, and every section that it reaches.
#[derive(Debug)]
pub(super) struct PiTool {
    pub(super) name: &'static str,
    pub(super) reaches: &'static [Section],
}

/// Every known tool, in the order in which they are written.
pub(super) const TOOLS: &[PiTool] = &[
    PiTool { name: "read", reaches: &[Section::Read] },
    PiTool { name: "grep", reaches: &[Section::Read] },
    PiTool { name: "find", reaches: &[Section::Read] },
    PiTool { name: "ls", reaches: &[Section::Read] },
    PiTool { name: "bash", reaches: &[Section::Bash] },
    PiTool { name: "edit", reaches: &[Section::Edit] },
    PiTool { name: "write", reaches: &[Section::Edit] },
    PiTool { name: "fetch_content", reaches: &[Section::Webfetch] },
    PiTool { name: "web_search", reaches: &[Section::Websearch] },
];

/// Groups of tools with the same permissions, of which an agent may have only some.
pub(super) fn groups() -> [Vec<&'static str>; 3] {
    [vec!["read", "grep", "find", "ls"], vec!["edit", "write"], vec!["bash", "fetch_content"]]
}

/// Known tools that are never written: another shell, and subagents, which the limits of their caller do not
/// bind.
pub(super) const NEVER: &[PiTool] = &[
    PiTool { name: "powershell", reaches: &[Section::Bash] },
    PiTool { name: "subagent", reaches: Section::ALL },
];

/// The built-in tools of Pi.
pub(super) const BUILT_IN: &[&str] =
    &["read", "grep", "find", "ls", "bash", "powershell", "edit", "write"];

/// The tools of an agent whose file names none.
pub(super) const DEFAULT: &[&str] = &["read", "bash", "powershell", "edit", "write"];

/// The sections that decide about tools, with the names of these tools.
const SECTIONS: &[(Section, &str)] = &[
    (Section::Bash, "`bash`"),
    (Section::Edit, "`edit` and `write`"),
    (Section::Read, "`read`, `grep`, `find` and `ls`"),
    (Section::Webfetch, "`fetch_content`"),
    (Section::Websearch, "`web_search`"),
];

/// Returns the tools that the agent may have.
pub(super) fn granted(subject: &RenderSubject, settings: &RenderSettings<'_>) -> Vec<&'static str> {
    let is_open = |section: &Section| {
        free(subject, *section).is_ok()
            && !(settings.close_gaps && gap(subject, *section).is_some())
    };
    let original = OriginalFrontMatter::of(&subject.agent, NAME);
    let has = |tool: &&PiTool| original.may_have(&groups(), tool.name);
    let is_closed =
        |tool: &&PiTool| tool.name != "bash" || !settings.close_gaps || unseen(subject).is_none();
    let tools = TOOLS.iter().filter(has).filter(|tool| tool.reaches.iter().all(is_open));
    tools.filter(is_closed).map(|tool| tool.name).collect()
}

/// Returns where the source is stricter about commands than an unlimited shell, beyond its rules.
fn unseen(subject: &RenderSubject) -> Option<PolicyGap> {
    let mut shell = HarnessModel::default();
    let everything = always(Section::Bash, Action::Allow, "Pi does not check");
    shell.add(Section::Bash, "bash", vec![everything]);
    gaps(subject, &shell, BLIND).into_iter().next()
}

/// Succeeds if everything in a section is allowed; otherwise explains why not.
pub(super) fn free(subject: &RenderSubject, section: Section) -> Result<(), String> {
    let everything = always(section, Action::Allow, "Pi does not check");
    match prove_with_example(&subject.memo, section, &[everything], &subject.bounds(section)) {
        PolicyProof::Holds => Ok(()),
        PolicyProof::Fails { example, source, .. } => {
            Err(format!("{section} `{example}` is {source}"))
        }
        PolicyProof::Unknown(why) => Err(why),
    }
}

/// Whether anything in a section is allowed or asked about.
pub(super) fn is_used(subject: &RenderSubject, section: Section) -> bool {
    let nothing = always(section, Action::Deny, "nothing");
    within(&subject.memo, &subject.bounds(section), &[nothing]) != PolicyProof::Holds
}

/// Returns what the source protects in a section and an unlimited tool does not.
fn gap(subject: &RenderSubject, section: Section) -> Option<UnprotectedSubject> {
    built_in_protection::first(
        subject,
        section,
        &[always(section, Action::Allow, "Pi does not check")],
    )
}

/// Explains where the source is stricter than an unlimited tool.
pub(super) fn stricter(subject: &RenderSubject, section: Section) -> Option<String> {
    let protected = || {
        let found = gap(subject, section)?;
        Some(format!("{section} `{}` is {}", found.text, found.source))
    };
    let unseen = || {
        let found = unseen(subject).filter(|_| section == Section::Bash)?;
        Some(format!("{section} `{}` is {}", found.line, found.source))
    };
    free(subject, section).err().or_else(protected).or_else(unseen)
}

const EXACT: &str = "the guard would make it exact";

/// Reports the tools that were left out.
pub(super) fn report(subject: &RenderSubject, granted: &[&str], out: &mut RenderedAgent) {
    for (section, tools) in SECTIONS {
        let field = format!("permissions.{section}");
        let own = TOOLS.iter().find(|tool| tool.reaches.first() == Some(section));
        // An agent that may write a file can rewrite all of it, so `edit` is no loss.
        let writes = *section == Section::Edit && granted.contains(&"write");
        if writes || own.is_some_and(|tool| granted.contains(&tool.name)) {
            continue;
        }
        if is_used(subject, *section) {
            let reaches = own.map_or(&[][..], |tool| tool.reaches);
            let why = reaches.iter().find_map(|reached| stricter(subject, *reached));
            let why = why.unwrap_or_default();
            let detail =
                format!("Pi checks no call and {why} in the source: {tools} left out; {EXACT}");
            out.lose(field, LossKind::Narrowed, detail);
        }
    }
}
