//! Writes generated agents in every format and reads them again.

use agentry_compile::formats::{FORMATS, FormatInfo, OutputShape, WriteTarget, convert};
use agentry_compile::model::{Agent, ConversionLoss, ConversionLossKind, Format, tree};
use proptest::prelude::*;

use crate::arbitrary::Gen;

/// Bytes to make an agent of; a failing test shows the agent's files, not these.
struct Bytes(Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop::collection::vec(any::<u8>(), 0..1500).prop_map(Bytes)
}

/// Where a result of each format lies: the name says what the agent is called.
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

/// Writing gives a definition without errors; what the format has words for comes back; writing
/// again gives the same text.
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
        // What the source did not say cannot be lost: the writer had to make it up.
        let lost =
            |loss: &&ConversionLoss| loss.kind != ConversionLossKind::Added && carried(&loss.field);
        let broken = first.losses.iter().filter(lost);
        let broken: Vec<_> = broken.collect();
        prop_assert!(broken.is_empty(), "{}: {broken:#?}\n{:#?}", info.format, first.files);
        let again = convert(&first.agent, info.format, &target);
        prop_assert_eq!(&again.files, &first.files, "{}", info.format);
        // What a writer remarks about a value that is all there is no loss.
        let lost: Vec<_> =
            again.losses.iter().filter(|loss| loss.kind != ConversionLossKind::Changed).collect();
        prop_assert!(lost.is_empty(), "{}: {lost:#?}", info.format);
        let (a, b) = (tree::tree(&first.agent).to_data(), tree::tree(&again.agent).to_data());
        prop_assert_eq!(a, b, "{}", info.format);
    }
    Ok(())
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
