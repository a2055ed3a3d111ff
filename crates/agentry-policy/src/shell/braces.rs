//! Brace expansion: `a{b,c}` becomes two words.

use super::word::WordBit;

/// With more words than this, the expansion is unknown.
const MAX_WORDS: usize = 64;
/// With deeper nesting than this, the expansion is unknown.
const MAX_DEPTH: usize = 8;

/// Returns the words that `bits` expand to, or `None` if there are too many.
pub(super) fn expand(bits: Vec<WordBit>) -> Option<Vec<Vec<WordBit>>> {
    let has_braces =
        bits.iter().any(|bit| matches!(bit, WordBit::Plain(text) if text.contains('{')));
    if !has_braces {
        return Some(vec![bits]);
    }
    let units: Vec<BraceUnit> = bits.into_iter().flat_map(units).collect();
    // Each search for a closing brace reads the rest, so many openings take quadratic time.
    let openings = units.iter().filter(|unit| matches!(unit, BraceUnit::Plain('{'))).count();
    if openings > MAX_WORDS {
        return None;
    }
    let words = words(&units, MAX_DEPTH)?;
    Some(words.into_iter().map(bits_of).collect())
}

/// A character that may be brace syntax, or a part of a word that is not.
#[derive(Clone)]
enum BraceUnit {
    Plain(char),
    Other(WordBit),
}

fn units(bit: WordBit) -> Vec<BraceUnit> {
    match bit {
        WordBit::Plain(text) => text.chars().map(BraceUnit::Plain).collect(),
        bit => vec![BraceUnit::Other(bit)],
    }
}

fn bits_of(units: Vec<BraceUnit>) -> Vec<WordBit> {
    let mut bits: Vec<WordBit> = Vec::new();
    for unit in units {
        match (unit, bits.last_mut()) {
            (BraceUnit::Plain(c), Some(WordBit::Plain(text))) => text.push(c),
            (BraceUnit::Plain(c), _) => bits.push(WordBit::Plain(c.to_string())),
            (BraceUnit::Other(bit), _) => bits.push(bit),
        }
    }
    bits
}

/// Returns all words that `units` expand to.
fn words(units: &[BraceUnit], depth: usize) -> Option<Vec<Vec<BraceUnit>>> {
    let mut done: Vec<Vec<BraceUnit>> = vec![Vec::new()];
    let mut at = 0;
    while let Some(unit) = units.get(at) {
        let group = match unit {
            BraceUnit::Plain('{') => BraceGroup::find(units, at),
            _ => None,
        };
        match group {
            Some(group) => {
                let choices = group.choices(units, depth.checked_sub(1)?)?;
                done = product(&done, &choices)?;
                at = group.end + 1;
            }
            None => {
                done.iter_mut().for_each(|word| word.push(unit.clone()));
                at += 1;
            }
        }
    }
    Some(done)
}

fn product(left: &[Vec<BraceUnit>], right: &[Vec<BraceUnit>]) -> Option<Vec<Vec<BraceUnit>>> {
    if left.len() * right.len() > MAX_WORDS {
        return None;
    }
    let join =
        |head: &Vec<BraceUnit>, tail: &Vec<BraceUnit>| head.iter().chain(tail).cloned().collect();
    Some(left.iter().flat_map(|head| right.iter().map(move |tail| join(head, tail))).collect())
}

/// A pair of braces and its commas.
struct BraceGroup {
    start: usize,
    end: usize,
    commas: Vec<usize>,
}

impl BraceGroup {
    /// Returns the group that opens at `start`, if it closes and has commas or a range.
    fn find(units: &[BraceUnit], start: usize) -> Option<Self> {
        let mut open = 0usize;
        let mut commas = Vec::new();
        for (at, unit) in units.iter().enumerate().skip(start + 1) {
            match unit {
                BraceUnit::Plain('{') => open += 1,
                BraceUnit::Plain('}') if open == 0 => {
                    let group = Self { start, end: at, commas };
                    return (!group.commas.is_empty() || group.is_range(units)).then_some(group);
                }
                BraceUnit::Plain('}') => open -= 1,
                BraceUnit::Plain(',') if open == 0 => commas.push(at),
                _ => {}
            }
        }
        None
    }

    fn inside(&self, units: &[BraceUnit]) -> Option<String> {
        let inside = units.get(self.start + 1..self.end)?;
        let plain = |unit: &BraceUnit| match unit {
            BraceUnit::Plain(c) => Some(*c),
            BraceUnit::Other(_) => None,
        };
        inside.iter().map(plain).collect()
    }

    fn is_range(&self, units: &[BraceUnit]) -> bool {
        self.inside(units).is_some_and(|inside| inside.contains(".."))
    }

    /// Returns the words between the commas, each one expanded.
    fn choices(&self, units: &[BraceUnit], depth: usize) -> Option<Vec<Vec<BraceUnit>>> {
        if self.commas.is_empty() {
            let range = range(&self.inside(units)?)?;
            return Some(
                range.iter().map(|text| text.chars().map(BraceUnit::Plain).collect()).collect(),
            );
        }
        let ends = self.commas.iter().copied().chain([self.end]);
        let starts = [self.start].into_iter().chain(self.commas.iter().copied());
        let mut all = Vec::new();
        for (start, end) in starts.zip(ends) {
            all.extend(words(units.get(start + 1..end)?, depth)?);
            if all.len() > MAX_WORDS {
                return None;
            }
        }
        Some(all)
    }
}

/// Expands `1..5`, `a..e` or `1..9..2`; `None` if it is long, or not exactly a range.
fn range(text: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = text.split("..").collect();
    let (start, end, step) = match parts.as_slice() {
        [start, end] => (*start, *end, 1),
        [start, end, step] => (*start, *end, step.parse::<i64>().ok()?.checked_abs()?.max(1)),
        _ => return None,
    };
    let letter = |text: &str| {
        let mut chars = text.chars();
        chars.next().filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    if let (Some(first), Some(last)) = (letter(start), letter(end)) {
        // Between `Z` and `a` there are characters that are no letters.
        let same_case = first.is_ascii_lowercase() == last.is_ascii_lowercase();
        let numbers = steps(i64::from(u32::from(first)), i64::from(u32::from(last)), step)?;
        let c = |number: i64| u32::try_from(number).ok().and_then(char::from_u32).map(String::from);
        return numbers.into_iter().map(c).collect::<Option<_>>().filter(|_| same_case);
    }
    let is_padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
    if is_padded(start) || is_padded(end) {
        return None;
    }
    let numbers = steps(start.parse().ok()?, end.parse().ok()?, step)?;
    Some(numbers.into_iter().map(|number| number.to_string()).collect())
}

fn steps(start: i64, end: i64, step: i64) -> Option<Vec<i64>> {
    let count = end.checked_sub(start)?.checked_abs()?.checked_div(step)?;
    let count = usize::try_from(count).ok().filter(|count| *count < MAX_WORDS)?;
    let step = if end < start { -step } else { step };
    Some((0..=count).filter_map(|n| Some(start + step * i64::try_from(n).ok()?)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::word::lex;

    #[test]
    fn braces_expand_to_words() {
        let cases = [
            ("a", Some("a")),
            ("{rm,-rf,x}", Some("rm -rf x")),
            ("a/{b,c}/d", Some("a/b/d a/c/d")),
            ("{a,b{1,2}}", Some("a b1 b2")),
            ("{1..3}", Some("1 2 3")),
            ("{c..a}", Some("c b a")),
            ("{1..9..4}", Some("1 5 9")),
            ("{}", Some("{}")),
            ("{a}", Some("{a}")),
            ("{a,b", Some("{a,b")),
            ("x{,y}", Some("x xy")),
            ("{1..100000}", None),
            ("{01..10}", None),
            ("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", None),
        ];
        for (text, expected) in cases {
            let words = expand(lex(text)).map(|words| {
                let word = |bits: Vec<WordBit>| match bits.as_slice() {
                    [WordBit::Plain(text)] => text.clone(),
                    _ => "?".to_owned(),
                };
                words.into_iter().map(word).collect::<Vec<_>>().join(" ")
            });
            assert_eq!(words.as_deref(), expected, "{text}");
        }
    }
}
