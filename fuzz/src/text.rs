//! Parses fuzzer input as text of a data language, and writes it again.

use agentry_compile::text::{Data, Findings, TreeNode, SourceFile, SourceFiles};

use crate::agent::fits;

/// A parsed value, and whether it had no errors.
pub struct Read<T> {
    /// The parsed value.
    pub value: T,
    /// Whether there was no error.
    pub is_sound: bool,
}

/// Parses `bytes`, if they are UTF-8, and shows the findings.
pub fn read<T>(bytes: &[u8], parse: impl FnOnce(&SourceFile, &mut Findings) -> T) -> Option<Read<T>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut sources = SourceFiles::default();
    let source = sources.add("text", text);
    let mut findings = Findings::default();
    let value = parse(&source, &mut findings);
    let is_sound = !findings.has_errors();
    findings.into_sorted().iter().for_each(|found| fits(found, &sources));
    Some(Read { value, is_sound })
}

/// Parses `bytes`, writes the value, and parses the result: it must have no errors and the same value
/// in the form of `emit`.
pub fn round_trip(
    bytes: &[u8],
    parse: impl Fn(&SourceFile, &mut Findings) -> TreeNode,
    emit: impl Fn(&Data) -> String,
) {
    let Some(Read { value, .. }) = read(bytes, &parse) else { return };
    comes_back(&value.to_data(), parse, emit);
}

/// Writes `data` and parses it again.
pub fn comes_back(
    data: &Data,
    parse: impl Fn(&SourceFile, &mut Findings) -> TreeNode,
    emit: impl Fn(&Data) -> String,
) {
    let written = emit(data);
    let source = SourceFiles::default().add("written", &written);
    let mut findings = Findings::default();
    // The written forms are compared, since spans differ between the two values.
    let again = emit(&parse(&source, &mut findings).to_data());
    assert!(!findings.has_errors(), "{findings:#?}\n{written}");
    assert_eq!(again, written);
}
