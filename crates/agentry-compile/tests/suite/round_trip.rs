//! Generated agents, written in every format and read again.

use agentry_compile::formats::{FORMATS, FormatInfo, OutputShape, WriteTarget, convert};
use agentry_compile::model::{
    Agent, AgentInstructions, ConversionLoss, ConversionLossKind, Format, tree,
};
use proptest::prelude::*;

use crate::arbitrary::Gen;

/// Bytes for an agent. A failing test shows the agent's files, not these.
struct Bytes(Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..1500).prop_map(Bytes)
}

/// The path of a result in each format. The file name has the agent's name.
pub(crate) fn targets(format: Format, agent: &Agent) -> Vec<WriteTarget> {
    let name = agent.name().to_owned();
    let file =
        |name: String| WriteTarget { name, shape: OutputShape::File, ..WriteTarget::default() };
    let directory = |name: String| WriteTarget {
        name,
        shape: OutputShape::Directory,
        ..WriteTarget::default()
    };
    match format {
        Format::AgentMd => {
            let category =
                agent.identity.category.as_ref().map_or("general", |category| &category.value);
            vec![file(format!("{category}_{name}.agent.md"))]
        }
        Format::Manifest => vec![file(format!("{name}.agent")), directory(name)],
        Format::AgentToml | Format::AgentFs | Format::AgentDir => vec![directory(name)],
    }
}

/// Writing gives a definition without errors. What the format can express is read back. Writing again gives
/// the same text.
fn survives(info: &FormatInfo, agent: &Agent) -> Result<(), TestCaseError> {
    for target in targets(info.format, agent) {
        let first = convert(agent, info.format, &target);
        let errors: Vec<_> = first
            .findings
            .iter()
            .filter(|found| found.severity == agentry_compile::text::Severity::Error)
            .map(|found| format!("{} {}", found.rule.code, found.message))
            .collect();
        prop_assert!(errors.is_empty(), "{}: {errors:#?}\n{:#?}", info.format, first.files);
        let carried = |field: &str| {
            info.carries.iter().any(|path| field == *path || field.starts_with(&format!("{path}.")))
        };
        // A value that the source omitted cannot be lost: the writer had to invent it.
        let lost =
            |loss: &&ConversionLoss| loss.kind != ConversionLossKind::Added && carried(&loss.field);
        let is_kept = |loss: &&ConversionLoss| !is_spoken(agent, &first.agent, &loss.field);
        let broken = first.losses.iter().filter(lost).filter(is_kept);
        let broken: Vec<_> = broken.collect();
        prop_assert!(broken.is_empty(), "{}: {broken:#?}\n{:#?}", info.format, first.files);
        let again = convert(&first.agent, info.format, &target);
        prop_assert_eq!(&again.files, &first.files, "{}", info.format);
        // A remark about a value that is complete is not a loss.
        let lost: Vec<_> =
            again.losses.iter().filter(|loss| loss.kind != ConversionLossKind::Changed).collect();
        prop_assert!(lost.is_empty(), "{}: {lost:#?}", info.format);
        let (a, b) = (tree::tree(&first.agent).to_data(), tree::tree(&again.agent).to_data());
        prop_assert_eq!(a, b, "{}", info.format);
    }
    Ok(())
}

/// Whether a text is still sent where it should be: a system text may get more at its end, and a raw override
/// alone replaces role and traits.
fn is_spoken(before: &Agent, after: &Agent, field: &str) -> bool {
    let (before, after) = (&before.instructions, &after.instructions);
    let text = |agent: &AgentInstructions| agent.system.as_ref().map(|text| text.trim().to_owned());
    match field {
        "system" => text(after).unwrap_or_default().starts_with(&text(before).unwrap_or_default()),
        "role" | "traits" => before.system.is_none() && before.system_override.is_some(),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, max_shrink_iters: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agent_md_round_trip(bytes in bytes()) {
        survives(&FORMATS[0], &Gen::new(&bytes.0).agent())?;
    }

    #[test]
    fn agent_toml_round_trip(bytes in bytes()) {
        survives(&FORMATS[1], &Gen::new(&bytes.0).agent())?;
    }

    #[test]
    fn manifest_round_trip(bytes in bytes()) {
        survives(&FORMATS[2], &Gen::new(&bytes.0).agent())?;
    }

    #[test]
    fn agentfs_round_trip(bytes in bytes()) {
        survives(&FORMATS[3], &Gen::new(&bytes.0).agent())?;
    }

    #[test]
    fn agent_dir_round_trip(bytes in bytes()) {
        survives(&FORMATS[4], &Gen::new(&bytes.0).agent())?;
    }
}
