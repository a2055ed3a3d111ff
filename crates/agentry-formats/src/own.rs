//! The block `x-agentry`, which only Agentry reads: rules that a format has no words for, so that a
//! conversion never widens what an agent may do.

use agentry_model::Agent;
use agentry_policy::{Action, PatternRule, Permissions, PolicyTest, Section, SectionRules};
use agentry_text::data::MapBuilder;
use agentry_text::table::{Coerce, Form, Keys, Unknown, validate};
use agentry_text::{
    Data, Example, Field, Findings, Kind, Node, Record, Rule, Severity, Spanned, Table,
};

use crate::policy_tests;

/// The key of the block, as the formats with extensions write it.
pub const KEY: &str = "x-agentry";

/// What can be wrong with the block.
pub const RULES: &[&Rule] = &[&BROKEN_PERMISSION];

/// A rule that cannot be understood.
pub static BROKEN_PERMISSION: Rule = Rule {
    code: "AG0171",
    name: "broken-permission",
    severity: Severity::Error,
    why: "A rule of `x-agentry` is `pattern:action`. One that cannot be understood allows nothing, \
          but it also denies nothing: the agent is not used before it is mended.",
    bad: Example::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nextensions:\n  x-agentry:\n    permissions: {bash: {intent: ask, rules: [git push]}}\n",
    ),
    good: Example::File(
        "helper.agent",
        "name: helper\ndescription: Answers questions\nextensions:\n  x-agentry:\n    permissions: {bash: {intent: ask, rules: ['git push:deny']}}\n",
    ),
};

/// A rule: what it is about, and what happens then.
pub static PERMISSION_RULE: Form = Form {
    title: "`pattern:action` rule",
    many: "`pattern:action` rules",
    fits: |text| text.parse::<PatternRule>().is_ok(),
    pattern: "[\\s\\S]*\\S[\\s\\S]*:(?:allow|ask|deny)",
    trims: false,
    examples: &["git push*:ask", "**/*.lock:deny", "https://example.com/**:allow"],
    others: &[
        "git push",
        ":allow",
        "  :deny",
        "git push:never",
        "git push:Allow",
        "git push:allow ",
    ],
};

/// `x_agentry`: what Agentry itself adds.
pub static X_AGENTRY: Table = Table::new(
    "`x_agentry`",
    &[Field::optional(
        "permissions",
        Kind::Block(&PERMISSIONS),
        "What the agent may do, as ordered rules; only Agentry reads it.",
    )],
)
.keys(Keys::SnakeOrCamel);

const RULE_BLOCK: Kind = Kind::Block(&SECTION);

/// `permissions` of `x_agentry`; the fields are those of [`Section`].
pub static PERMISSIONS: Table = Table::new(
    "`permissions`",
    &[
        Field::optional(Section::Bash.as_str(), RULE_BLOCK, "Shell commands."),
        Field::optional(
            Section::Edit.as_str(),
            RULE_BLOCK,
            "Creating, changing and deleting files.",
        ),
        Field::optional(Section::Read.as_str(), RULE_BLOCK, "Reading files."),
        Field::optional(Section::Webfetch.as_str(), RULE_BLOCK, "Fetching web addresses."),
        Field::optional(Section::Websearch.as_str(), RULE_BLOCK, "Searching the web."),
        Field::optional(Section::Question.as_str(), RULE_BLOCK, "Asking the person."),
        Field::optional(
            Section::ExternalDirectory.as_str(),
            RULE_BLOCK,
            "Files outside the workspace.",
        ),
        Field::optional(Section::Mcp.as_str(), RULE_BLOCK, "Tools of MCP servers."),
        Field::optional(Section::Tool.as_str(), RULE_BLOCK, "Other tools, by name."),
        Field::optional(Section::Skill.as_str(), RULE_BLOCK, "Skills, by name."),
        Field::optional(Section::Delegate.as_str(), RULE_BLOCK, "Handing work to another agent."),
        Field::optional(Section::Env.as_str(), RULE_BLOCK, "Environment variables."),
    ],
)
.unknown(Unknown::Error);

/// The rules of one section.
pub static SECTION: Table = Table::new(
    "the section",
    &[
        Field::default(
            "intent",
            Kind::Choice(Action::WORDS),
            "\"ask\"",
            "The answer when no rule matches.",
        ),
        Field::optional(
            "rules",
            Kind::List(&Kind::Form(&PERMISSION_RULE)),
            "Rules in order, `pattern:action`; the first that matches counts.",
        ),
        policy_tests::MATCH,
        policy_tests::NOT_MATCH,
    ],
)
.unknown(Unknown::Error);

/// The permissions of the block `node`, and every problem in it.
pub fn read(node: &Node, findings: &mut Findings) -> Option<Permissions> {
    validate(&X_AGENTRY, node, Coerce::Strict, findings);
    let record = Record::new(&X_AGENTRY, node, Coerce::Strict);
    let permissions = record.record("permissions", &PERMISSIONS)?;
    Some(read_permissions(&permissions, findings))
}

/// The examples beside the permissions of the block `node`.
pub(crate) fn tests(node: &Node) -> Vec<Spanned<PolicyTest>> {
    let record = Record::new(&X_AGENTRY, node, Coerce::Strict);
    let permissions = record.record("permissions", &PERMISSIONS);
    permissions.map_or(Vec::new(), |all| policy_tests::beside_rules(&all, &SECTION))
}

/// The rules of a block with one field a section.
pub fn read_permissions(permissions: &Record<'_>, findings: &mut Findings) -> Permissions {
    let mut sections: Vec<SectionRules> = Vec::new();
    for section in Section::ALL {
        let Some(entry) = permissions.entry(section.as_str()) else { continue };
        let Some(rules) = permissions.record(section.as_str(), &SECTION) else { continue };
        sections.push(read_section(Spanned::new(*section, entry.key.span), rules, findings));
    }
    sections.sort_by_key(|rules| rules.section.span);
    Permissions { sections }
}

fn read_section(
    section: Spanned<Section>,
    record: Record<'_>,
    findings: &mut Findings,
) -> SectionRules {
    let mut rules = Vec::new();
    for text in record.strings("rules").unwrap_or_default() {
        match text.value.parse::<PatternRule>() {
            Ok(rule) => rules.push(Spanned::new(rule, text.span)),
            Err(_) => {
                findings
                    .add(&BROKEN_PERMISSION, text.span, format!("`{}` is no rule", text.value))
                    .hint("write `pattern:allow`, `pattern:ask` or `pattern:deny`");
            }
        }
    }
    SectionRules { section, intent: record.word("intent"), rules }
}

/// The permissions as the block writes them.
pub fn to_data(permissions: &Permissions) -> Data {
    let mut sections = MapBuilder::new();
    for SectionRules { section, intent, rules } in &permissions.sections {
        let mut out = MapBuilder::new();
        out.str_opt("intent", intent.map(|intent| intent.value.as_str()));
        let rules = rules.iter().map(|rule| rule.value.to_string());
        out.set_full("rules", Data::strings(rules));
        sections.set(section.as_str(), out.build());
    }
    Data::Map(vec![("permissions".to_owned(), sections.build())])
}

/// Takes the block of a format with extensions for what it is: a further layer of the policy.
pub(crate) fn adopt(agent: &mut Agent, findings: &mut Findings) {
    let named = |(key, _): &(String, Spanned<Data>)| key.eq_ignore_ascii_case(KEY);
    let Some(at) = agent.extensions.iter().position(named) else { return };
    if agent.policy.permissions.is_some() {
        return;
    }
    let (_, block) = agent.extensions.remove(at);
    let node = Node::from_data(&block.value, block.span);
    agent.policy.permissions = read(&node, findings);
    agent.policy.tests.extend(tests(&node));
}
