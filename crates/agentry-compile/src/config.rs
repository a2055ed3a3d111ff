//! `agentry.toml` at the root of a workspace: the team's settings for checking and rendering.
//!
//! It can change severities and exclude paths. It can never widen what an agent may do.

use std::collections::BTreeMap;

use agentry_text::path::{join, normal};
use agentry_text::table::{Coercion, validate};
use agentry_text::{
    Diagnostic, Field, FieldKind, FieldTable, Findings, Severity, SourceFiles, Span, TableRecord,
    TreeNode, limits, rules, toml,
};
use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::caps::{RUN, SpendingCaps};
use crate::evolution::{EVOLUTION, EvolutionRules};
use crate::inherit::{ENTRY, entries, rules::BAD_BASE_ENTRY};
use crate::notify::{NOTIFY, NotifySettings};
use crate::prompt_switches::{PROMPT, PromptSwitches};
use crate::registry::rule;
use crate::render::config::{RENDER, RenderConfig};
use crate::serve_settings::{SERVE, ServeSettings};
use crate::signing::{SigningSettings, WORKSPACE_SIGNING};
use crate::world::{EntryKind, ReadError, World};

rules! {
    /// Every rule about the configuration, in code order.
    pub(crate) RULES = [
        UNKNOWN_RULE: "AG0021",
        BAD_GLOB: "AG0022",
    ]
}

/// The name of the file.
pub(crate) const FILE: &str = "agentry.toml";

pub(crate) static TABLE: FieldTable = FieldTable::new(
    "`agentry.toml`",
    &[
        Field::optional("check", FieldKind::Block(&CHECK), "How agents are checked."),
        Field::optional(
            "audit",
            FieldKind::Block(&AUDIT),
            "What `agentry audit` takes for granted.",
        ),
        Field::optional(
            "bases",
            FieldKind::Map(&FieldKind::Either(&[FieldKind::Line, FieldKind::Block(&ENTRY)])),
            "What agents are built on: the path of each, and its base, both relative to this file.",
        ),
        Field::optional("run", FieldKind::Block(&RUN), "What a run may spend at most."),
        Field::optional(
            "evolution",
            FieldKind::Block(&EVOLUTION),
            "What becomes of the changes that agents propose to themselves; it can only be stricter than the user's.",
        ),
        Field::optional(
            "prompt",
            FieldKind::Block(&PROMPT),
            "Which parts the system prompt of a run has.",
        ),
        Field::optional(
            "signing",
            FieldKind::Block(&WORKSPACE_SIGNING),
            "Which signatures agents need in addition to what the user requires; it names no keys to trust.",
        ),
        Field::optional(
            "render",
            FieldKind::Block(&RENDER),
            "For which harnesses agents are rendered.",
        ),
        Field::optional("serve", FieldKind::Block(&SERVE), "How the server treats runs."),
        Field::optional(
            "notify",
            FieldKind::Block(&NOTIFY),
            "How a terminal calls the user; it can only turn something off.",
        ),
    ],
);

static CHECK: FieldTable = FieldTable::new(
    "`[check]`",
    &[
        Field::optional(
            "exclude",
            FieldKind::List(&FieldKind::Str),
            "Paths that a search skips, as globs relative to this file.",
        ),
        Field::optional(
            "severity",
            FieldKind::Map(&FieldKind::Choice(&["off", "note", "warning", "error"])),
            "How bad findings are, by rule name or code.",
        ),
        Field::optional(
            "baseline",
            FieldKind::Str,
            "A file of known findings that do not count, relative to this file.",
        ),
    ],
);

static AUDIT: FieldTable = FieldTable::new(
    "`[audit]`",
    &[Field::optional(
        "own",
        FieldKind::List(&FieldKind::Str),
        "Files beside rendered ones that a person wrote, as globs relative to this file.",
    )],
);

/// The field table of `agentry.toml`, for the reference pages.
pub fn configuration() -> &'static FieldTable {
    &TABLE
}

/// The new severity of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeverityOverride {
    /// Findings are not reported.
    Off,
    /// Findings have this severity.
    As(Severity),
}

/// The configuration of one workspace.
#[derive(Debug, Default)]
pub struct WorkspaceConfig {
    /// The directory of the file.
    pub root: String,
    /// Severities by rule code.
    pub severity: BTreeMap<&'static str, SeverityOverride>,
    /// The baseline, relative to the root.
    pub baseline: Option<String>,
    /// The harnesses that agents are rendered for.
    pub render: RenderConfig,
    /// The spending limits of a run.
    pub run: SpendingCaps,
    /// The handling of changes that agents propose, if the file sets it.
    pub evolution: Option<EvolutionRules>,
    /// How the server treats runs.
    pub serve: ServeSettings,
    /// How a terminal calls the user.
    pub notify: NotifySettings,
    /// The parts of the system prompt of a run.
    pub prompt: PromptSwitches,
    /// The signatures that this workspace requires in addition.
    pub signing: SigningSettings,
    /// The root and the current directory, as absolute paths.
    places: (String, String),
    exclude: GlobSet,
    /// Files beside rendered ones that a person wrote.
    own: GlobSet,
    /// Findings about the file itself.
    pub diagnostics: Vec<Diagnostic>,
    /// The text that the findings are about.
    pub sources: SourceFiles,
}

impl WorkspaceConfig {
    /// Reads the configuration of the workspace that `path` belongs to.
    pub fn read(world: &dyn World, path: &str) -> Self {
        let root = world.workspace(path);
        let places = (world.absolute(&root), world.absolute(""));
        let mut config = Self { root, places, ..Self::default() };
        let file = join(&config.root, FILE);
        let mut findings = Findings::default();
        match world.read(&config.root, &file, limits::FILE_BYTES) {
            Ok(bytes) => {
                let node = config.parse(&file, &String::from_utf8_lossy(&bytes), &mut findings);
                config.bases(world, &node, &mut findings);
            }
            // A workspace needs no configuration.
            Err(ReadError::Missing) => {}
            Err(error) => {
                let source = config.sources.add(&file, "");
                let message = format!("the configuration cannot be read: {error}");
                findings.add(&crate::rules::UNREADABLE, Span::start_of(source.id), message);
            }
        }
        config.diagnostics = findings.into_sorted();
        // `check --fix` repairs only agents, so no fix is offered for this file.
        config.diagnostics.iter_mut().for_each(|found| found.fix = None);
        config
    }

    /// Reports entries of `[bases]` whose agent does not exist.
    fn bases(&self, world: &dyn World, root: &TreeNode, findings: &mut Findings) {
        for entry in entries(root).map(|map| map.entries.as_slice()).unwrap_or_default() {
            let path = &entry.key.text;
            if world.kind(&join(&self.root, path)) == EntryKind::Missing {
                findings
                    .add(&BAD_BASE_ENTRY, entry.key.span, format!("there is no agent `{path}`"))
                    .hint("name its file or directory, relative to `agentry.toml`");
            }
        }
    }

    fn parse(&mut self, file: &str, text: &str, findings: &mut Findings) -> TreeNode {
        let source = self.sources.add(file, text.trim_start_matches('\u{feff}'));
        let node = toml::parse(&source, findings);
        validate(&TABLE, &node, Coercion::Strict, findings);
        let record = TableRecord::new(&TABLE, &node, Coercion::Strict);
        if let Some(render) = record.record("render", &RENDER) {
            self.render = RenderConfig::read(&render, findings);
        }
        if let Some(run) = record.record("run", &RUN) {
            self.run = SpendingCaps::read(&run);
        }
        if let Some(signing) = record.record("signing", &WORKSPACE_SIGNING) {
            self.signing = SigningSettings::read(&signing);
        }
        if let Some(evolution) = record.record("evolution", &EVOLUTION) {
            self.evolution = Some(EvolutionRules::read(&evolution, EvolutionRules::MILDEST));
        }
        if let Some(serve) = record.record("serve", &SERVE) {
            self.serve = ServeSettings::read(&serve);
        }
        if let Some(notify) = record.record("notify", &NOTIFY) {
            self.notify = NotifySettings::read(&notify);
        }
        if let Some(prompt) = record.record("prompt", &PROMPT) {
            self.prompt = PromptSwitches::read(&prompt);
        }
        if let Some(audit) = record.record("audit", &AUDIT) {
            self.own = glob_set(&audit, "own", findings);
        }
        let Some(check) = record.record("check", &CHECK) else { return node };
        self.baseline = check.str("baseline").map(|path| path.value);
        self.exclude = glob_set(&check, "exclude", findings);
        self.severities(&check, findings);
        node
    }

    fn severities(&mut self, check: &TableRecord<'_>, findings: &mut Findings) {
        let Some(map) = check.map("severity") else { return };
        for entry in &map.entries {
            let Some(known) = rule(&entry.key.text) else {
                let names = crate::registry::registry();
                let near = agentry_text::suggestion::did_you_mean(
                    &entry.key.text,
                    names.iter().map(|rule| rule.name),
                );
                findings
                    .add(
                        &UNKNOWN_RULE,
                        entry.key.span,
                        format!("there is no rule `{}`", entry.key.text),
                    )
                    .hint(near.unwrap_or_else(|| "`agentry rules` lists them all".to_owned()));
                continue;
            };
            let severity = match entry.value.as_str() {
                Some("off") => SeverityOverride::Off,
                Some("note") => SeverityOverride::As(Severity::Note),
                Some("warning") => SeverityOverride::As(Severity::Warning),
                Some("error") => SeverityOverride::As(Severity::Error),
                _ => continue,
            };
            self.severity.insert(known.code, severity);
        }
    }

    /// Whether a search skips `path`.
    pub fn excludes_path(&self, path: &str) -> bool {
        if self.exclude.is_empty() {
            return false;
        }
        self.exclude.is_match(self.from_root(path))
    }

    /// Whether a person claims a file beside rendered ones.
    pub fn owns_path(&self, path: &str) -> bool {
        self.own.is_match(self.from_root(path))
    }

    /// `path` relative to the workspace root, whatever the current directory is. Unchanged if it lies
    /// outside.
    pub fn from_root(&self, path: &str) -> String {
        let (root, here) = &self.places;
        let full = if path.starts_with('/') { path.to_owned() } else { format!("{here}/{path}") };
        let (Some(root), Some(full)) = (normal(root), normal(&full)) else {
            return path.to_owned();
        };
        let root = if root.is_empty() { root } else { format!("{root}/") };
        full.strip_prefix(&root).unwrap_or(path).to_owned()
    }

    /// Applies the severities of this workspace to findings.
    pub fn weigh(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let weigh = |mut found: Diagnostic| match self.severity.get(found.rule.code) {
            Some(SeverityOverride::Off) => None,
            Some(SeverityOverride::As(severity)) => {
                found.severity = *severity;
                Some(found)
            }
            None => Some(found),
        };
        if self.severity.is_empty() {
            diagnostics
        } else {
            diagnostics.into_iter().filter_map(weigh).collect()
        }
    }
}

/// The patterns of a field. One that is no pattern is reported.
fn glob_set(table: &TableRecord<'_>, field: &str, findings: &mut Findings) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in table.strings(field).unwrap_or_default() {
        match globs(&pattern) {
            Ok(globs) => globs.into_iter().for_each(|glob| {
                set.add(glob);
            }),
            Err(error) => {
                let message = format!("`{}` is not a pattern: {}", pattern.value, error.kind());
                findings.add(&BAD_GLOB, pattern.span, message);
            }
        }
    }
    set.build().unwrap_or_default()
}

/// The globs of one pattern: `vendor` excludes the path and everything below it.
fn globs(pattern: &str) -> Result<Vec<Glob>, globset::Error> {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    // With `literal_separator`, `*` does not match `/`.
    let build = |text: &str| GlobBuilder::new(text).literal_separator(true).build();
    Ok(vec![build(pattern)?, build(&format!("{pattern}/**"))?])
}
