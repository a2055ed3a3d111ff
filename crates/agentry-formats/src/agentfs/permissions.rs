//! Converts the policy of any format to the tool lists of `agent.json`, never wider.

use agentry_model::{ConversionLoss, ConversionLossKind};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::{
    Action, Permissions, Policy, PolicyContext, Section, ToolPermissions, to_permissions,
    to_tool_permissions,
};
use agentry_text::{FileId, Span, Spanned};

/// The tool lists, and the restrictions that no list can express.
#[derive(Debug, Default)]
pub(super) struct ToolLists {
    /// The lists of tools; `None` when the agent has no policy.
    pub(super) tools: Option<ToolPermissions>,
    /// Whether directories outside the workspace are denied.
    pub(super) inside_only: bool,
    /// Whether calls of other agents are denied.
    pub(super) no_delegates: bool,
    /// Whether the MCP servers must be left out.
    pub(super) no_mcp: bool,
}

/// Converts `policy` to lists, and notes where they are narrower.
pub(super) fn lists(
    policy: &Policy,
    place: &PolicyContext,
    notes: &mut Vec<ConversionLoss>,
) -> ToolLists {
    let Policy { permissions, trust, abilities, tool_permissions, bases: _, tests: _ } = policy;
    // Tool lists alone are written unchanged.
    if permissions.is_none() && trust.is_none() && abilities.is_none() {
        return ToolLists { tools: tool_permissions.clone(), ..ToolLists::default() };
    }
    let Some(rules) = to_permissions(&PolicyMemo::default(), policy, place) else {
        return ToolLists::default();
    };
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
        notes.push(ConversionLoss {
            field: (*field).to_owned(),
            kind: if exact { ConversionLossKind::Changed } else { ConversionLossKind::Narrowed },
            detail: if exact {
                "written as lists of tools, which say the same".to_owned()
            } else {
                "only whole tools can be allowed or denied; what is asked about stays so".to_owned()
            },
        });
    }
    let denies = |section| rules.strictest(section) == Action::Deny;
    ToolLists {
        tools: Some(tools),
        inside_only: denies(Section::ExternalDirectory),
        no_delegates: denies(Section::Delegate),
        no_mcp: denies(Section::Mcp),
    }
}

/// Denies tools that would be allowed if no list named them: only reading is, by default.
fn close(rules: &Permissions, tools: &mut ToolPermissions) {
    let mut deny = |tool: &str| {
        let tool = Spanned::new(tool.to_owned(), Span::start_of(FileId::BUILT_IN));
        tools.denied.get_or_insert_default().push(tool);
    };
    if rules.strictest(Section::Read) == Action::Ask {
        deny("Read");
    }
}

/// Whether the lists grant exactly what the rules do.
fn is_exact(rules: &Permissions, tools: &ToolPermissions) -> bool {
    let policy = Policy { tool_permissions: Some(tools.clone()), ..Policy::default() };
    let again = to_permissions(&PolicyMemo::default(), &policy, &PolicyContext::default())
        .unwrap_or_default();
    // A list names whole tools, so rules with patterns are never exact.
    let plain = rules.sections.iter().all(|section| section.rules.is_empty());
    plain && Section::ALL.iter().all(|of| rules.strictest(*of) == again.strictest(*of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_policy::{Abilities, ExecTrust, FilesystemTrust, SectionRules, Trust};

    fn at<T>(value: T) -> Spanned<T> {
        Spanned::new(value, Span::start_of(FileId::BUILT_IN))
    }

    fn policy(sections: &[(Section, Action)]) -> Policy {
        let section = |(section, intent): &(Section, Action)| SectionRules {
            section: at(*section),
            intent: Some(at(*intent)),
            rules: Vec::new(),
        };
        let permissions = Permissions { sections: sections.iter().map(section).collect() };
        Policy { permissions: Some(permissions), ..Policy::default() }
    }

    fn names(list: &Option<Vec<Spanned<String>>>) -> Vec<&str> {
        list.iter().flatten().map(|tool| tool.value.as_str()).collect()
    }

    #[test]
    fn whole_tools_are_allowed_or_denied() {
        use Action::{Allow, Ask, Deny};
        let cases = [
            (vec![(Section::Bash, Deny)], vec![], vec!["Bash"], ConversionLossKind::Changed),
            (vec![(Section::Bash, Ask)], vec![], vec![], ConversionLossKind::Changed),
            (
                vec![(Section::Edit, Allow)],
                vec!["Edit", "Write"],
                vec![],
                ConversionLossKind::Changed,
            ),
            // A tool that no list names asks, except reading and questions, which are allowed.
            (vec![(Section::Read, Ask)], vec![], vec!["Read"], ConversionLossKind::Narrowed),
            (vec![(Section::Tool, Deny)], vec![], vec![], ConversionLossKind::Narrowed),
        ];
        for (sections, allowed, denied, kind) in cases {
            let mut notes = Vec::new();
            let lists = lists(&policy(&sections), &PolicyContext::default(), &mut notes);
            let tools = lists.tools.expect("lists");
            let is_named = |name: &&str| !matches!(*name, "Read" | "AskUserQuestion");
            let found: Vec<_> = names(&tools.allowed).into_iter().filter(is_named).collect();
            assert_eq!(found, allowed, "{sections:?}");
            assert_eq!(names(&tools.denied), denied, "{sections:?}");
            let notes: Vec<_> = notes.iter().map(|note| (note.field.as_str(), note.kind)).collect();
            assert_eq!(notes, [("permissions", kind)], "{sections:?}");
        }
    }

    #[test]
    fn sections_without_a_list_are_closed_elsewhere() {
        let closed = [
            (Section::ExternalDirectory, Action::Deny),
            (Section::Delegate, Action::Deny),
            (Section::Mcp, Action::Deny),
        ];
        let lists = lists(&policy(&closed), &PolicyContext::default(), &mut Vec::new());
        assert!(lists.inside_only && lists.no_delegates && lists.no_mcp);
    }

    #[test]
    fn lists_never_widen() {
        let axes = Trust {
            filesystem: Some(at(FilesystemTrust::ReadOnly)),
            exec: Some(at(ExecTrust::None)),
            ..Trust::default()
        };
        let policies = [
            Policy { trust: Some(axes.clone()), ..Policy::default() },
            Policy { trust: Some(Trust::default()), ..Policy::default() },
            Policy { abilities: Some(Abilities::default()), ..Policy::default() },
            Policy { trust: Some(axes), ..policy(&[(Section::Bash, Action::Allow)]) },
        ];
        let spoken =
            [Section::Bash, Section::Edit, Section::Read, Section::Webfetch, Section::Websearch];
        for policy in policies {
            let rules = to_permissions(&PolicyMemo::default(), &policy, &PolicyContext::default())
                .expect("rules");
            let tools = lists(&policy, &PolicyContext::default(), &mut Vec::new()).tools;
            let result = Policy { tool_permissions: tools, ..Policy::default() };
            let again = to_permissions(&PolicyMemo::default(), &result, &PolicyContext::default())
                .unwrap_or_default();
            for section in spoken {
                let (before, after) = (rules.strictest(section), again.strictest(section));
                assert!(after >= before, "{section}: {before} became {after} in {policy:?}");
            }
        }
    }
}
