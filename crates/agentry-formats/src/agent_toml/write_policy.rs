//! Writes the policy of an agent as `[permissions.TOOL]` sections, never wider than its source.

use agentry_model::{ASK_BEFORE_WRITING, ConversionLoss, ConversionLossKind};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::{
    Abilities, AbilityBase, Action, PatternRule, Permissions, Policy, PolicyContext, Section,
    SectionRules, ToolPermissions, Trust, to_permissions, to_tool_permissions,
};
use agentry_text::{Data, Spanned, toml};

/// Returns the sections of `policy`, and notes every change.
pub(super) fn sections(
    policy: &Policy,
    place: &PolicyContext,
    notes: &mut Vec<ConversionLoss>,
) -> String {
    let Some(permissions) = to_permissions(&PolicyMemo::default(), policy, place) else {
        return String::new();
    };
    note_layers(policy, &permissions, notes);
    if place.asks_before_writing && policy.trust.is_some() {
        let detail = format!("the trait `{ASK_BEFORE_WRITING}` became the answer `ask`");
        narrowed("permissions.edit", &detail, notes);
    }
    let mut seen = Vec::new();
    let mut blocks = Vec::new();
    for section in &permissions.sections {
        if !seen.contains(&section.section.value) {
            seen.push(section.section.value);
            blocks.push(block(section));
        }
    }
    blocks.join("\n")
}

fn block(SectionRules { section, intent, rules }: &SectionRules) -> String {
    let intent = intent.map_or(Action::Ask, |intent| intent.value);
    // A blank pattern matches nothing, and `:deny` without a pattern would not parse again.
    let rules = rules.iter().filter(|rule| !rule.pattern.trim().is_empty());
    let lines: Vec<_> = rules.map(|rule| format!("  {},\n", quoted(&rule.value))).collect();
    let head = format!("[permissions.{}]\nintent = \"{intent}\"\n", section.value);
    if lines.is_empty() { head } else { format!("{head}rules = [\n{}]\n", lines.concat()) }
}

fn quoted(rule: &PatternRule) -> String {
    let line = toml::emit(&Data::Map(vec![("rule".to_owned(), Data::str(rule.to_string()))]));
    line.trim_start_matches("rule = ").trim_end_matches('\n').to_owned()
}

/// Notes how each other kind of policy became rules.
fn note_layers(policy: &Policy, result: &Permissions, notes: &mut Vec<ConversionLoss>) {
    let Policy { permissions, trust, abilities, tool_permissions, bases: _, tests: _ } = policy;
    let layers = [
        trust.as_ref().map(|trust| ("trust", exact_trust(trust, result))),
        abilities.as_ref().map(|abilities| ("abilities", exact_abilities(abilities))),
        tool_permissions.as_ref().map(|tools| ("tool_permissions", exact_tools(tools, result))),
    ];
    let layers: Vec<_> = layers.into_iter().flatten().collect();
    // Several layers are combined into one, so none of them is carried over exactly.
    let alone = layers.len() + usize::from(permissions.is_some()) == 1;
    for (field, exact) in layers {
        let (kind, detail) = if exact && alone {
            (ConversionLossKind::Changed, "written as `permissions`")
        } else {
            (
                ConversionLossKind::Narrowed,
                "written as `permissions` that allow no more, in part less",
            )
        };
        notes.push(ConversionLoss { field: field.to_owned(), kind, detail: detail.to_owned() });
    }
    if !alone && permissions.as_ref().is_some_and(|before| before != result) {
        let detail = "combined with the other limits of the agent";
        narrowed("permissions", detail, notes);
    }
}

/// Whether every path of the scope became a rule.
fn exact_trust(trust: &Trust, result: &Permissions) -> bool {
    let paths = trust.scope.as_deref().unwrap_or_default().len();
    result.get(Section::Edit).is_some_and(|edit| edit.rules.is_empty() || edit.rules.len() == paths)
}

/// Whether the abilities are exact: no section is about a browser alone, so `browser` is never granted.
fn exact_abilities(abilities: &Abilities) -> bool {
    let allowed = abilities.allow.as_deref().unwrap_or_default();
    !allowed.iter().any(|ability| ability.base == AbilityBase::Browser)
}

/// Whether every tool keeps its verdict, found by converting the result back.
fn exact_tools(tools: &ToolPermissions, result: &Permissions) -> bool {
    let holds = |before: &Option<Vec<Spanned<String>>>, after: &Option<Vec<Spanned<String>>>| {
        let after: Vec<_> = after.iter().flatten().map(|name| name.to_lowercase()).collect();
        before.iter().flatten().all(|name| after.contains(&name.to_lowercase()))
    };
    let back = to_tool_permissions(result);
    holds(&tools.allowed, &back.allowed) && holds(&tools.denied, &back.denied)
}

fn narrowed(field: &str, detail: &str, notes: &mut Vec<ConversionLoss>) {
    let (field, detail) = (field.to_owned(), detail.to_owned());
    notes.push(ConversionLoss { field, kind: ConversionLossKind::Narrowed, detail });
}
