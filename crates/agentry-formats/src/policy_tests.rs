//! `policy-tests`: example calls with expected verdicts, written beside the rules. All formats have the
//! block; in `agent.acl` it is called `policy_tests`.

use agentry_policy::{ExpectedVerdict, PolicyTest, Section};
use agentry_text::data::MapBuilder;
use agentry_text::table::UnknownKeys;
use agentry_text::{Data, Field, FieldKind, FieldTable, Spanned, TableRecord};

/// The name of the block.
pub const KEY: &str = "policy-tests";

/// Makes the field for the table of a format.
pub const fn field(name: &'static str) -> Field {
    Field::optional(
        name,
        FieldKind::Block(&TESTS),
        "Examples of calls and what should become of them, run by `agentry policy test` and `check`.",
    )
}

/// Calls that a section must allow, written beside its rules.
pub const MATCH: Field = Field::optional("match", CALLS, "Examples of calls that must be allowed.");
/// Calls that a section must not allow, written beside its rules.
pub const NOT_MATCH: Field =
    Field::optional("not_match", CALLS, "Examples of calls that must not be allowed.");

const EXAMPLES: FieldKind = FieldKind::Block(&SECTION);
const CALLS: FieldKind = FieldKind::List(&FieldKind::Str);

/// The table of the block, with one field for each section.
pub static TESTS: FieldTable = FieldTable::new(
    "`policy-tests`",
    &[
        Field::optional(Section::Bash.as_str(), EXAMPLES, "Command lines."),
        Field::optional(Section::Edit.as_str(), EXAMPLES, "Paths that are written."),
        Field::optional(Section::Read.as_str(), EXAMPLES, "Paths that are read."),
        Field::optional(Section::Webfetch.as_str(), EXAMPLES, "Web addresses."),
        Field::optional(Section::Websearch.as_str(), EXAMPLES, "Searches."),
        Field::optional(Section::Question.as_str(), EXAMPLES, "Questions to the person."),
        Field::optional(
            Section::ExternalDirectory.as_str(),
            EXAMPLES,
            "Paths outside the workspace.",
        ),
        Field::optional(Section::Mcp.as_str(), EXAMPLES, "Tools of MCP servers, as `server/tool`."),
        Field::optional(Section::Tool.as_str(), EXAMPLES, "Other tools."),
        Field::optional(Section::Skill.as_str(), EXAMPLES, "Skills."),
        Field::optional(Section::Delegate.as_str(), EXAMPLES, "Agents that work is handed to."),
        Field::optional(Section::Env.as_str(), EXAMPLES, "Environment variables."),
    ],
)
.unknown(UnknownKeys::Error);

/// The table of one section.
static SECTION: FieldTable = FieldTable::new(
    "the section",
    &[
        Field::optional(ExpectedVerdict::Allow.as_str(), CALLS, "Calls that must be allowed."),
        Field::optional(ExpectedVerdict::Ask.as_str(), CALLS, "Calls that must be asked about."),
        Field::optional(ExpectedVerdict::Deny.as_str(), CALLS, "Calls that must be denied."),
        Field::optional(
            ExpectedVerdict::NotAllow.as_str(),
            CALLS,
            "Calls that must not be allowed.",
        ),
    ],
)
.unknown(UnknownKeys::Error);

/// Reads the tests of the block `name` of `record`, in source order.
pub fn read(record: &TableRecord<'_>, name: &str) -> Vec<Spanned<PolicyTest>> {
    let Some(block) = record.record(name, &TESTS) else { return Vec::new() };
    let mut tests = Vec::new();
    for section in Section::ALL {
        let Some(examples) = block.record(section.as_str(), &SECTION) else { continue };
        for expected in ExpectedVerdict::ALL {
            let calls = examples.strings(expected.as_str()).unwrap_or_default();
            tests.extend(calls.into_iter().map(|call| of(*section, *expected, call)));
        }
    }
    tests.sort_by_key(|test| test.span);
    tests
}

/// Reads the tests `match` and `not_match` beside the rules of a block with one field for each section.
pub fn beside_rules(
    permissions: &TableRecord<'_>,
    table: &'static FieldTable,
) -> Vec<Spanned<PolicyTest>> {
    let lists = [(MATCH.name, ExpectedVerdict::Allow), (NOT_MATCH.name, ExpectedVerdict::NotAllow)];
    let mut tests = Vec::new();
    for section in Section::ALL {
        let Some(rules) = permissions.record(section.as_str(), table) else { continue };
        for (name, expected) in lists {
            let calls = rules.strings(name).unwrap_or_default();
            tests.extend(calls.into_iter().map(|call| of(*section, expected, call)));
        }
    }
    tests
}

/// Makes one test.
fn of(section: Section, expected: ExpectedVerdict, call: Spanned<String>) -> Spanned<PolicyTest> {
    call.map(|subject| PolicyTest { section, subject, expected })
}

/// Returns the block; `None` if there are no tests.
pub fn to_data(tests: &[Spanned<PolicyTest>]) -> Option<Data> {
    let mut block = MapBuilder::new();
    for section in Section::ALL {
        let mut examples = MapBuilder::new();
        for expected in ExpectedVerdict::ALL {
            let calls = tests
                .iter()
                .filter(|test| test.section == *section && test.expected == *expected)
                .map(|test| test.subject.clone());
            examples.set_full(expected.as_str(), Data::strings(calls));
        }
        block.set_full(section.as_str(), examples.build());
    }
    (!block.is_empty()).then(|| block.build())
}
