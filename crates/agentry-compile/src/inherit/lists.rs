//! Merges two lists by their mode: append, override, restrict.

use agentry_model::{DeclaredList, ListMerge};
use agentry_text::{Data, Spanned};

/// Merges two lists of named items. A list that the child omits is inherited. An item in both lists has
/// the child's value at the base's position.
pub(super) fn named<T: Clone>(
    strategy: ListMerge,
    base: Option<&[T]>,
    child: Option<&[T]>,
    name: impl Fn(&T) -> &str,
) -> Option<Vec<T>> {
    let (Some(base), Some(child)) = (base, child) else {
        return child.or(base).map(<[T]>::to_vec);
    };
    let has = |list: &[T], item: &T| list.iter().any(|other| name(other) == name(item));
    Some(match strategy {
        ListMerge::Override => child.to_vec(),
        ListMerge::Restrict => child.iter().filter(|item| has(base, item)).cloned().collect(),
        ListMerge::Append => {
            let same = |item: &T| child.iter().find(|other| name(other) == name(item));
            let kept = base.iter().map(|item| same(item).unwrap_or(item));
            kept.chain(child.iter().filter(|item| !has(base, item))).cloned().collect()
        }
    })
}

/// Merges two lists of words.
pub(super) fn words(
    strategy: ListMerge,
    base: &DeclaredList<String>,
    child: &DeclaredList<String>,
) -> DeclaredList<String> {
    // A word in both lists keeps the span of the base.
    let (base, child) = (base.as_deref(), child.as_deref());
    let list = named(strategy, base, child, |word| &word.value)?;
    let as_named = |word: Spanned<String>| {
        let known = base.unwrap_or_default().iter().find(|other| other.value == word.value);
        known.filter(|_| strategy == ListMerge::Append).cloned().unwrap_or(word)
    };
    Some(list.into_iter().map(as_named).collect())
}

/// Merges two lists of files, where an empty list counts as omitted.
pub(super) fn files<T: Clone>(
    strategy: ListMerge,
    base: &[T],
    child: &[T],
    name: impl Fn(&T) -> &str,
) -> Vec<T> {
    let written = (!child.is_empty()).then_some(child);
    named(strategy, Some(base), written, name).unwrap_or_default()
}

/// Merges named blocks: the child's, and those only in the base. If both have a block as a map, it is
/// merged key by key.
pub(super) fn blocks(
    base: &[(String, Spanned<Data>)],
    child: &[(String, Spanned<Data>)],
) -> Vec<(String, Spanned<Data>)> {
    let both = |(name, block): &(String, Spanned<Data>)| {
        let known = base.iter().find(|(other, _)| other == name).map(|(_, data)| &data.value);
        let data = match (known, &block.value) {
            (Some(Data::Map(known)), Data::Map(own)) => Data::Map(entries(known, own)),
            (_, own) => own.clone(),
        };
        (name.clone(), Spanned::new(data, block.span))
    };
    let own: Vec<_> = child.iter().map(both).collect();
    let named = |list: &[(String, Spanned<Data>)], name: &str| {
        list.iter().position(|(other, _)| other == name)
    };
    let mut out: Vec<_> = base
        .iter()
        .map(|block| named(&own, &block.0).and_then(|at| own.get(at)).unwrap_or(block).clone())
        .collect();
    out.extend(own.into_iter().filter(|(name, _)| named(base, name).is_none()));
    out
}

fn entries(base: &[(String, Data)], child: &[(String, Data)]) -> Vec<(String, Data)> {
    let own = |name: &str| child.iter().find(|(other, _)| other == name);
    let kept = base.iter().map(|entry| own(&entry.0).unwrap_or(entry));
    let new = child.iter().filter(|(name, _)| base.iter().all(|(other, _)| other != name));
    kept.chain(new).cloned().collect()
}
