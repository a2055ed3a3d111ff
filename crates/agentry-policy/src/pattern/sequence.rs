//! Patterns over a sequence of items: the words of a command, the segments of a path, the labels of a host
//! name.

use super::glob::GlobPattern;

/// One element of such a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PatternElement {
    /// One item that matches any of the globs.
    One(Vec<GlobPattern>),
    /// Any number of items, including none.
    Many,
}

impl PatternElement {
    /// Makes an element for one item with this glob.
    pub(crate) fn one(glob: GlobPattern) -> Self {
        Self::One(vec![glob])
    }

    /// Makes an element for one item with any text.
    pub(crate) fn any() -> Self {
        Self::one(GlobPattern::any())
    }

    /// Whether one item may be in this position.
    pub(crate) fn takes(&self, item: &str) -> bool {
        match self {
            Self::One(globs) => globs.iter().any(|glob| glob.matches(item)),
            Self::Many => true,
        }
    }

    /// Returns the only text that matches, or `None` if there are several.
    pub(crate) fn as_literal(&self) -> Option<&str> {
        match self {
            Self::One(globs) => match globs.as_slice() {
                [glob] => glob.as_literal(),
                _ => None,
            },
            Self::Many => None,
        }
    }
}

/// Whether `count` items, given by `item`, match all `elements`.
///
/// Backtracking is only needed to the last [`PatternElement::Many`], so this takes at most `elements × count`
/// steps.
pub(crate) fn matches<'a>(
    elements: &[PatternElement],
    count: usize,
    item: impl Fn(usize) -> &'a str,
) -> bool {
    let (mut element, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match elements.get(element) {
            Some(PatternElement::Many) => {
                retry = Some((element, at));
                element += 1;
                continue;
            }
            Some(one) if at < count && one.takes(item(at)) => {
                element += 1;
                at += 1;
                continue;
            }
            None if at == count => return true,
            _ => {}
        }
        match &mut retry {
            Some((many, from)) if *from < count => {
                *from += 1;
                (element, at) = (*many + 1, *from);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::glob::GlobPart;
    use super::*;

    #[test]
    fn sequences_match_with_wildcards() {
        let cases = [
            ("a", "a", true),
            ("a", "a b", false),
            ("a **", "a", true),
            ("a ** b", "a b", true),
            ("a ** b", "a x b y b", true),
            ("a ** b", "a x b y", false),
            ("** b **", "a b c", true),
            ("** a ** b", "x a a", false),
        ];
        for (pattern, items, expected) in cases {
            let elements: Vec<_> = pattern
                .split(' ')
                .map(|token| match token {
                    "**" => PatternElement::Many,
                    token => PatternElement::one(GlobPattern::new(token, &GlobPart::Any)),
                })
                .collect();
            let items: Vec<_> = items.split(' ').collect();
            assert_eq!(
                matches(&elements, items.len(), |at| items[at]),
                expected,
                "{pattern} {items:?}"
            );
        }
    }
}
