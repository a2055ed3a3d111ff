//! Builds the judge of an agent: its own layers and the user's policy.

use agentry_formats::{agentry_block, mcp};
use agentry_model::Agent;
use agentry_policy::commands::HiddenExceptions;
use agentry_policy::compare::{SectionDiff, section_diffs};
use agentry_policy::path::LinkResolver;
use agentry_policy::{
    Judge, LayerSource, PathAnchors, Permissions, PolicyLayer, PolicyTest, SectionCall, Verdict,
    layer, layers,
};
use agentry_text::table::{Coercion, validate};
use agentry_text::{
    Diagnostic, Field, FieldKind, FieldTable, Findings, SourceFiles, Span, Spanned, TableRecord,
    TreeNode, limits, toml,
};

use crate::caps::RUN;
use crate::evolution::EVOLUTION;
use crate::notify::NOTIFY;
use crate::pipeline::CompiledAgent;
use crate::render::admitted;
use crate::resolve::{MODEL, PROVIDER};
use crate::rules::UNREADABLE;
use crate::serve_settings::SERVE;
use crate::show::resolved;
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
            "evolution",
            FieldKind::Block(&EVOLUTION),
            "What becomes of the changes that agents propose to themselves.",
        ),
        Field::optional("serve", FieldKind::Block(&SERVE), "How the server treats runs."),
        Field::optional("notify", FieldKind::Block(&NOTIFY), "How a terminal calls the user."),
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

/// The field table of the user's `config.toml`, for the reference pages.
pub fn user_configuration() -> &'static FieldTable {
    &USER
}

/// Resolves links through a world.
pub struct WorldLinks<'a>(pub &'a dyn World);

impl LinkResolver for WorldLinks<'_> {
    fn resolve(&self, path: &str) -> Option<String> {
        self.0.real(path)
    }

    fn text(&self, path: &str) -> Option<String> {
        let bytes = self.0.read("/", path, limits::FILE_BYTES).ok()?;
        String::from_utf8(bytes).ok()
    }

    fn admitted(&self, directory: &str, exceptions: HiddenExceptions) -> Option<Vec<String>> {
        admitted(self.0, directory, exceptions)
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
    layers(&agent.policy, &agent.policy_context(&compiled.dir), places)
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

/// What `new` may do more and less than `old`, section by section. Both are placed in the same directory,
/// so that their real locations do not matter.
pub fn policy_diff(old: &CompiledAgent, new: &CompiledAgent) -> Vec<SectionDiff> {
    section_diffs(&own_judge(old), &own_judge(new))
}

/// What an agent without a predecessor may do: its policy beside one without rules, which asks about everything.
pub fn policy_grants(new: &CompiledAgent) -> Vec<SectionDiff> {
    let silent = Judge::new(Vec::new(), PathAnchors::default());
    let mut diffs = section_diffs(&silent, &own_judge(new));
    diffs.iter_mut().for_each(|diff| diff.lost.clear());
    diffs.retain(|diff| !diff.gained.is_empty() || diff.unknown.is_some());
    diffs
}

/// The judge of the agent's own layers, in a placeholder directory.
pub(crate) fn own_judge(compiled: &CompiledAgent) -> Judge {
    let places = PathAnchors::default();
    Judge::new(own_layers(compiled, &places), places)
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
