//! The origins of single keys in blocks that both agent and base have. The model has only one span for a
//! whole block.

use agentry_model::Agent;
use agentry_text::{Data, Span, Spanned};

/// The keys that blocks of `child` inherit from `base`, with their spans. `known` has those of the base.
pub(super) fn of(base: &Agent, child: &Agent, known: &[(String, Span)]) -> Vec<(String, Span)> {
    let mut out = Vec::new();
    let kinds = [
        ("extensions", &base.extensions, &child.extensions),
        ("settings", &base.settings, &child.settings),
    ];
    for (kind, base, child) in kinds {
        for (name, block) in base {
            let field = format!("{kind}.{name}");
            match child.iter().find(|(other, _)| other == name) {
                Some((_, own)) => shared(&field, (block, own), known, &mut out),
                None => {
                    out.extend(known.iter().filter(|(path, _)| is_below(path, &field)).cloned());
                }
            }
        }
    }
    out
}

/// The keys of one block that the child does not set itself.
fn shared(
    field: &str,
    (base, own): (&Spanned<Data>, &Spanned<Data>),
    known: &[(String, Span)],
    out: &mut Vec<(String, Span)>,
) {
    let (Data::Map(entries), Data::Map(_)) = (&base.value, &own.value) else { return };
    for (key, _) in entries.iter().filter(|(key, _)| own.value.get(key).is_none()) {
        let path = format!("{field}.{key}");
        let before = known.iter().find(|(other, _)| *other == path);
        out.push((path, before.map_or(base.span, |(_, span)| *span)));
    }
}

fn is_below(path: &str, field: &str) -> bool {
    path.strip_prefix(field).is_some_and(|rest| rest.starts_with('.'))
}
