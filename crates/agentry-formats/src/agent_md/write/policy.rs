//! The policy of an agent as abilities: unchanged if it was declared so, else never wider.

use agentry_model::{ConversionLoss, ConversionLossKind};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::{Abilities, Ability, Policy, PolicyContext, to_abilities, to_permissions};
use agentry_text::Spanned;

/// Returns the abilities of a policy; `None` when it is empty.
pub(super) fn abilities(
    policy: &Policy,
    place: &PolicyContext,
    notes: &mut Vec<ConversionLoss>,
) -> Option<Abilities> {
    let Policy { permissions, trust, abilities, tool_permissions, bases: _, tests: _ } = policy;
    let others = [
        ("permissions", permissions.is_some()),
        ("trust", trust.is_some()),
        ("tool_permissions", tool_permissions.is_some()),
    ];
    let others: Vec<_> = others.into_iter().filter(|(_, given)| *given).collect();
    // A policy that is only abilities is written unchanged.
    if others.is_empty() {
        return abilities.as_ref().map(sound);
    }
    for (field, _) in others {
        let detail = "abilities grant only what is allowed without exception".to_owned();
        notes.push(ConversionLoss {
            field: field.to_owned(),
            kind: ConversionLossKind::Narrowed,
            detail,
        });
    }
    if abilities.is_some() {
        let detail = "combined with the other rules of the agent".to_owned();
        notes.push(ConversionLoss {
            field: "abilities".to_owned(),
            kind: ConversionLossKind::Narrowed,
            detail,
        });
    }
    to_permissions(&PolicyMemo::default(), policy, place).map(|rules| sound(&to_abilities(&rules)))
}

/// Returns the abilities without duplicates and without those that are denied anyway.
fn sound(Abilities { allow, deny }: &Abilities) -> Abilities {
    let denied = deny.as_deref().unwrap_or_default();
    let allow = allow.as_deref().map(|list| {
        // Allowed and denied at once would be an error in this format.
        let is_open = |ability: &&Spanned<Ability>| !denied.iter().any(|deny| deny.covers(ability));
        once(list.iter().filter(is_open))
    });
    Abilities { allow, deny: deny.as_deref().map(|list| once(list.iter())) }
}

fn once<'a>(list: impl Iterator<Item = &'a Spanned<Ability>>) -> Vec<Spanned<Ability>> {
    let mut out: Vec<Spanned<Ability>> = Vec::new();
    for ability in list {
        if !out.iter().any(|other| other.value == ability.value) {
            out.push(ability.clone());
        }
    }
    out
}
