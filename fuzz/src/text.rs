//! Bytes as one text of a data language.

use agentry_compile::text::{Data, Findings, Node, Source, Sources};

use crate::agent::fits;

/// Reads `bytes`, if they are text, and looks at what was found.
pub fn read<T>(bytes: &[u8], parse: impl FnOnce(&Source, &mut Findings) -> T) -> Option<T> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut sources = Sources::default();
    let source = sources.add("text", text);
    let mut findings = Findings::default();
    let value = parse(&source, &mut findings);
    findings.into_sorted().iter().for_each(|found| fits(found, &sources));
    Some(value)
}

/// Reads `bytes`, writes what they say, and reads that again: it must be free of errors and say the
/// same, in the words of `emit`.
pub fn round_trip(
    bytes: &[u8],
    parse: impl Fn(&Source, &mut Findings) -> Node,
    emit: impl Fn(&Data) -> String,
) {
    let Some(node) = read(bytes, &parse) else { return };
    let written = emit(&node.to_data());
    let source = Sources::default().add("written", &written);
    let mut findings = Findings::default();
    let again = emit(&parse(&source, &mut findings).to_data());
    assert!(!findings.has_errors(), "{findings:#?}\n{written}");
    assert_eq!(again, written);
}
