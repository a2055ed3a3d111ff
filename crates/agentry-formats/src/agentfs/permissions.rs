//! What the policy of any format comes to in `agent.json`: lists of tools, never wider.

use agentry_model::{Loss, LossKind};
use agentry_policy::{
    Action, Permissions, Place, Policy, Section, ToolPermissions, to_permissions,
    to_tool_permissions,
};
use agentry_text::{FileId, Span, Spanned};

/// The lists, and what else has to be closed because no list can say it.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// The lists of tools; `None` when the definition says nothing.
    pub(super) tools: Option<ToolPermissions>,
    /// Whether folders outside the workspace are closed.
    pub(super) inside_only: bool,
    /// Whether other agents may not be called.
    pub(super) no_delegates: bool,
    /// Whether MCP servers have to be left out.
    pub(super) no_mcp: bool,
}

/// Turns `policy` into lists and says where they are narrower.
pub(super) fn lists(policy: &Policy, place: &Place, notes: &mut Vec<Loss>) -> Lists {
    let Policy { permissions, trust, abilities, tool_permissions } = policy;
    if permissions.is_none() && trust.is_none() && abilities.is_none() {
        return Lists { tools: tool_permissions.clone(), ..Lists::default() };
    }
    let Some(rules) = to_permissions(policy, place) else { return Lists::default() };
    let mut tools = to_tool_permissions(&rules);
    close(&rules, &mut tools);
    let layers = [
        ("permissions", permissions.is_some()),
        ("trust", trust.is_some()),
        ("abilities", abilities.is_some()),
        ("tool_permissions", tool_permissions.is_some()),
    ];
    let exact = is_exact(&rules, &tools);
    for (field, _) in layers.iter().filter(|(_, is_there)| *is_there) {
        notes.push(Loss {
            field: (*field).to_owned(),
            kind: if exact { LossKind::Changed } else { LossKind::Narrowed },
            detail: if exact {
                "written as lists of tools, which say the same".to_owned()
            } else {
                "only whole tools can be allowed or denied; what is asked about stays so".to_owned()
            },
        });
    }
    let denies = |section| rules.strictest(section) == Action::Deny;
    Lists {
        tools: Some(tools),
        inside_only: denies(Section::ExternalDirectory),
        no_delegates: denies(Section::Delegate),
        no_mcp: denies(Section::Mcp),
    }
}

/// Denies what being in no list would open: reading is free unless it is listed, and a tool that is
/// not listed is asked about.
fn close(rules: &Permissions, tools: &mut ToolPermissions) {
    let mut deny = |tool: &str| {
        let tool = Spanned::new(tool.to_owned(), Span::start_of(FileId::BUILT_IN));
        tools.denied.get_or_insert_default().push(tool);
    };
    if rules.strictest(Section::Read) == Action::Ask {
        deny("Read");
    }
    let others = rules.get(Section::Tool);
    if others.is_some_and(|others| others.rules.is_empty() && others.strictest() == Action::Deny) {
        deny("*");
    }
}

/// Whether the lists say neither more nor less than the rules.
fn is_exact(rules: &Permissions, tools: &ToolPermissions) -> bool {
    let policy = Policy { tool_permissions: Some(tools.clone()), ..Policy::default() };
    let again = to_permissions(&policy, &Place::default()).unwrap_or_default();
    let plain = rules.sections.iter().all(|section| section.rules.is_empty());
    plain && Section::ALL.iter().all(|of| rules.strictest(*of) == again.strictest(*of))
}
