//! Builds the judge of an agent: its own layers and the user's policy.

use agentry_formats::{agentry_block, mcp};
use agentry_model::{Agent, McpTransport};
use agentry_policy::compare::{self, DecisionChange, RulesDiff};
use agentry_policy::path::LinkResolver;
use agentry_policy::{
    HazardProtection, Judge, LayerSource, PathAnchors, PatternKind, Permissions, PolicyContext,
    PolicyLayer, PolicyServer, PolicyTest, Section, SectionCall, Verdict, layer, layers,
};
use agentry_text::table::{Coercion, validate};
use agentry_text::{
    Diagnostic, Field, FieldKind, FieldTable, Findings, SourceFiles, Span, Spanned, TableRecord,
    TreeNode, limits, toml,
};

use crate::caps::RUN;
use crate::pipeline::CompiledAgent;
use crate::resolve::{MODEL, PROVIDER};
use crate::rules::UNREADABLE;
use crate::show::{asks_before_writing, resolved};
use crate::signing::SIGNING;
use crate::world::{ReadError, World};

/// The field table of the user's `config.toml`.
pub(crate) static USER: FieldTable = FieldTable::new(
    "the user's `config.toml`",
    &[
        Field::optional(
            "policy",
            FieldKind::Block(&agentry_block::PERMISSIONS),
            "What every agent may do at most, section by section.",
        ),
        Field::optional("run", FieldKind::Block(&RUN), "What a run may spend at most."),
        Field::optional(
            "signing",
            FieldKind::Block(&SIGNING),
            "Which agents of the store are used.",
        ),
        Field::optional(
            "models",
            FieldKind::List(&FieldKind::Block(&MODEL)),
            "Models that the catalogue does not have, or has otherwise.",
        ),
        Field::optional(
            "providers",
            FieldKind::Map(&FieldKind::Block(&PROVIDER)),
            "Where providers of models are reached, and which variables hold their keys.",
        ),
        Field::optional(
            "mcp_servers",
            FieldKind::Map(&FieldKind::Block(&mcp::SERVER)),
            "MCP servers for agents that only name them.",
        ),
    ],
);

/// Resolves links through a world.
pub struct WorldLinks<'a>(pub &'a dyn World);

impl LinkResolver for WorldLinks<'_> {
    fn resolve(&self, path: &str) -> Option<String> {
        self.0.real(path)
    }
}

/// The judge of an agent's calls. Returns the findings about the user's policy if it has errors: a limit
/// that cannot be read must not be ignored.
pub fn judge(world: &dyn World, compiled: &mut CompiledAgent) -> Result<Judge, Vec<Diagnostic>> {
    let places = places(world, &compiled.workspace);
    let mut layers = own_layers(compiled, &places);
    let mut findings = Findings::default();
    // The user's layer can only make verdicts stricter: the strictest layer counts.
    if let Some(permissions) = user_policy(world, &mut compiled.sources, &mut findings) {
        layers.push(layer(LayerSource::User, &permissions, &places));
    }
    if findings.has_errors() {
        return Err(findings.into_sorted());
    }
    Ok(Judge::new(layers, places))
}

/// The layer for calls inside a script or skill of the agent, by its name. A skill without a list of tools
/// has no layer; a script without one may call no tools. `None` if there is no such script or skill.
pub fn inside(agent: &Agent, name: &str, places: &PathAnchors) -> Option<Option<PolicyLayer>> {
    let named = |field: &Option<Spanned<String>>| field.as_ref().is_some_and(|it| it.value == name);
    let layer = |tools: &[Spanned<String>]| agentry_policy::allowed_tools(tools, places);
    let script = agent.tools.scripts.iter().find(|script| named(&script.name));
    if let Some(script) = script {
        return Some(Some(layer(script.allowed_tools.as_deref().unwrap_or_default())));
    }
    let skill = agent.skill_packs.iter().find(|skill| named(&skill.name))?;
    Some(skill.allowed_tools.as_deref().map(layer))
}

/// The layers of the agent's own files.
pub fn own_layers(compiled: &CompiledAgent, places: &PathAnchors) -> Vec<PolicyLayer> {
    let agent = resolved(compiled);
    layers(&agent.policy, &place(&agent, &compiled.dir), places)
}

/// The verdict of each policy test under the agent's own layers. The user's policy is left out, so that
/// the result is the same for everyone.
pub fn tested<'a>(
    world: &'a dyn World,
    compiled: &'a CompiledAgent,
) -> impl Iterator<Item = (&'a Spanned<PolicyTest>, Verdict)> {
    let tests = &compiled.agent.policy.tests;
    let judge = (!tests.is_empty()).then(|| {
        let places = places(world, &compiled.workspace);
        Judge::new(own_layers(compiled, &places), places)
    });
    judge.into_iter().flat_map(move |judge| {
        tests.iter().map(move |test| {
            let directory = &judge.places().workspace;
            let call = SectionCall { section: test.section, subject: &test.subject, directory };
            (test, judge.judge(call, &WorldLinks(world)))
        })
    })
}

/// The changes of one section between two versions of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionDiff {
    /// The section.
    pub section: Section,
    /// Calls with a milder verdict now.
    pub gained: Vec<DecisionChange>,
    /// Calls with a stricter verdict now.
    pub lost: Vec<DecisionChange>,
    /// Why the comparison is incomplete; it must then be treated as a gain.
    pub unknown: Option<String>,
}

/// What `new` may do more and less than `old`, section by section. Both are placed in the same directory,
/// so that their real locations do not matter.
pub fn policy_diff(old: &CompiledAgent, new: &CompiledAgent) -> Vec<SectionDiff> {
    let judge = |compiled: &CompiledAgent| {
        let places = PathAnchors::default();
        Judge::new(own_layers(compiled, &places), places)
    };
    section_diffs(&judge(old), &judge(new))
}

/// What the judge `new` allows more and less than `old`. Both use [`PathAnchors::default`].
pub(crate) fn section_diffs(old: &Judge, new: &Judge) -> Vec<SectionDiff> {
    let memo = new.memo();
    let section = |section: &Section| {
        let old: Vec<_> = old.rules(*section).map(|(_, rules)| rules).collect();
        let new: Vec<_> = new.rules(*section).map(|(_, rules)| rules).collect();
        let RulesDiff { mut gained, mut lost, unknown } =
            compare::diff(memo, &old, &new, HazardProtection::On);
        // Only paths contain the stand-in directories.
        if section.kind() == PatternKind::Path {
            gained.iter_mut().chain(&mut lost).for_each(at_home);
        }
        let is_something = !gained.is_empty() || !lost.is_empty() || unknown.is_some();
        is_something.then_some(SectionDiff { section: *section, gained, lost, unknown })
    };
    Section::ALL.iter().filter_map(section).collect()
}

/// Rewrites the path of an example as a rule would name it. The default anchors are only stand-ins.
fn at_home(change: &mut DecisionChange) {
    let PathAnchors { workspace, home, .. } = PathAnchors::default();
    let below = |dir: &str| change.example.strip_prefix(dir)?.strip_prefix('/');
    let inside = below(&workspace).map(str::to_owned);
    let shown = inside.or_else(|| Some(format!("~/{}", below(&home?)?)));
    change.example = shown.unwrap_or_else(|| std::mem::take(&mut change.example));
}

/// The facts of the definition that its policy depends on.
pub(crate) fn place(agent: &Agent, dir: &str) -> PolicyContext {
    let server = |server: &agentry_model::McpServer| {
        // A server that runs as a program has no host.
        let program = server.command.is_some()
            || server.transport.is_some_and(|how| how.value == McpTransport::Stdio);
        let host = server.url.as_ref().filter(|_| !program).and_then(|url| host(&url.value));
        PolicyServer { name: server.name.clone(), host }
    };
    PolicyContext {
        dir: dir.to_owned(),
        servers: agent.tools.mcp.iter().flatten().map(|spanned| server(spanned)).collect(),
        asks_before_writing: asks_before_writing(agent),
    }
}

/// The host of a web address, with its port unless it is the default port.
fn host(url: &str) -> Option<String> {
    let address = agentry_policy::web::address(url).ok()?;
    let (_, rest) = address.text.split_once("://")?;
    let host = rest.split('/').next()?;
    Some(host.strip_suffix(":443").or_else(|| host.strip_suffix(":80")).unwrap_or(host).to_owned())
}

/// The directories that path patterns are anchored at.
pub fn places(world: &dyn World, workspace: &str) -> PathAnchors {
    let root = world.absolute(workspace);
    let real = |path: String| world.real(&path).unwrap_or(path);
    PathAnchors {
        ignores_case: world.ignores_case(workspace),
        workspace: real(root).trim_end_matches('/').to_owned(),
        home: world.machine().home.clone().map(|home| real(home).trim_end_matches('/').to_owned()),
    }
}

fn user_policy(
    world: &dyn World,
    sources: &mut SourceFiles,
    findings: &mut Findings,
) -> Option<Permissions> {
    let node = user_file(world, sources, findings)?;
    let record = TableRecord::new(&USER, &node, Coercion::Strict);
    let policy = record.record("policy", &agentry_block::PERMISSIONS)?;
    Some(agentry_block::read_sections(policy, findings))
}

/// The user's configuration, validated. `None` if there is none, or if it cannot be read (reported).
pub(crate) fn user_file(
    world: &dyn World,
    sources: &mut SourceFiles,
    findings: &mut Findings,
) -> Option<TreeNode> {
    let path = world.machine().user_config.clone()?;
    let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
    let bytes = match world.read(dir, &path, limits::FILE_BYTES) {
        Ok(bytes) => bytes,
        Err(ReadError::Missing) => return None,
        Err(error) => {
            let source = sources.add(&path, "");
            let message = format!("the user's configuration cannot be read: {error}");
            findings.add(&UNREADABLE, Span::start_of(source.id), message);
            return None;
        }
    };
    let source = sources.add(&path, &String::from_utf8_lossy(&bytes));
    let node = toml::parse(&source, findings);
    validate(&USER, &node, Coercion::Strict, findings);
    Some(node)
}
