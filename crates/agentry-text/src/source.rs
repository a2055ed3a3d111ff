//! Where text came from: files, byte ranges, and values with their ranges.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::credentials;

/// One file of a compilation. [`SourceFiles`] has its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

impl FileId {
    /// The file of values that are in no file: defaults, and values that Agentry derives.
    pub const BUILT_IN: Self = Self(u32::MAX);
}

/// A byte range in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file the range is in.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// Reports whether it is in a file, and not a default.
    pub fn is_written(self) -> bool {
        self.file != FileId::BUILT_IN
    }

    /// The bytes `start..end` of `file`.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        // Files are limited to `limits::FILE_BYTES`, so 32 bits suffice; larger offsets are clamped.
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { file, start: offset(start), end: offset(end.max(start)) }
    }

    /// The start of `file`, for a finding about the whole file.
    pub fn start_of(file: FileId) -> Self {
        Self::new(file, 0, 0)
    }

    /// The range as indices into the text of its file.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// Returns the smallest range that contains both; `self` if they are in different files.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        if self.file == other.file {
            Self { start: self.start.min(other.start), end: self.end.max(other.end), ..self }
        } else {
            self
        }
    }

    /// Returns the range shifted to the right, to convert it from a part of a file to the whole file.
    #[must_use]
    pub fn shifted(self, by: usize) -> Self {
        let range = self.range();
        Self::new(self.file, range.start + by, range.end + by)
    }
}

/// A value, with the span it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value with its span.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// Converts the value and keeps the span.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: change(self.value), span: self.span }
    }

    /// Returns a reference to the value, with the same span.
    pub fn as_ref(&self) -> Spanned<&T> {
        Spanned { value: &self.value, span: self.span }
    }
}

impl<T> std::ops::Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The text of one file, with the id that spans have. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The id that spans have.
    pub id: FileId,
    /// The path that is shown to users, with `/` between its parts.
    pub path: Arc<str>,
    /// The whole text, without a byte order mark.
    pub text: Arc<str>,
    /// Whether a byte order mark was removed. Parsers do not need it, but digests may.
    pub had_mark: bool,
    /// Whether the text is the whole file. Otherwise it is a placeholder for a file that was not read.
    pub is_whole: bool,
    /// Built when a position is first needed; for most files it never is.
    index: Arc<OnceLock<LineIndex>>,
    digest: Arc<OnceLock<String>>,
    credentials: Arc<OnceLock<Vec<Range<usize>>>>,
}

impl SourceFile {
    /// A file with its text.
    pub fn new(id: FileId, path: &str, text: &str) -> Self {
        let (path, text) = (path.into(), text.into());
        Self {
            id,
            path,
            text,
            had_mark: false,
            is_whole: false,
            index: Arc::default(),
            digest: Arc::default(),
            credentials: Arc::default(),
        }
    }

    /// Returns the bytes of the file, including a byte order mark; `None` if it was not read as a whole.
    pub fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        let text = self.text.as_bytes();
        let marked = || ["\u{feff}".as_bytes(), text].concat();
        self.is_whole.then(|| if self.had_mark { marked().into() } else { text.into() })
    }

    /// Returns the digest of the bytes, computed once for all clones; `None` if they are not known.
    pub fn digest(&self, digest: impl FnOnce(&[u8]) -> String) -> Option<&str> {
        let bytes = self.bytes()?;
        Some(self.digest.get_or_init(|| digest(&bytes)))
    }

    /// Returns the ranges of credentials in the text, searched once for all clones.
    pub fn credentials(&self) -> &[Range<usize>] {
        let find = || credentials::find(&self.text).into_iter().map(|(_, range)| range).collect();
        self.credentials.get_or_init(find)
    }

    /// Returns the text of `span`; empty if the span is outside of the text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// The span of the whole file.
    pub fn whole(&self) -> Span {
        Span::new(self.id, 0, self.text.len())
    }

    /// Returns the position of byte `at`, or of the end of the text if that is less.
    pub fn position(&self, at: usize) -> TextPosition {
        self.index.get_or_init(|| LineIndex::new(&self.text)).position(&self.text, at)
    }
}

/// Line and column of a byte, both counted from 1; columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPosition {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

/// The files of one compilation, by their [`FileId`].
#[derive(Debug, Clone, Default)]
pub struct SourceFiles {
    /// The id of the first file.
    first: u32,
    files: Vec<SourceFile>,
    /// The files of other compilations that this one builds on; their ids differ from these.
    others: Vec<Arc<Self>>,
    hidden: Vec<Span>,
}

impl SourceFiles {
    /// An empty list whose first file will get the id `first`.
    /// Another compilation with smaller ids can then share these files.
    pub fn starting_at(first: u32) -> Self {
        Self { first, ..Self::default() }
    }

    /// Adds the files of another compilation, whose ids must differ. They come last.
    pub fn share(&mut self, other: Arc<Self>) {
        self.others.push(other);
    }

    /// Adds a file and gives it an id.
    pub fn add(&mut self, path: &str, text: &str) -> SourceFile {
        let count = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        let id = FileId(self.first.saturating_add(count));
        let source = SourceFile::new(id, path, text);
        self.files.push(source.clone());
        source
    }

    /// Adds a file that was read as a whole.
    pub fn add_whole(&mut self, path: &str, text: &str, had_mark: bool) -> SourceFile {
        let mut source = self.add(path, text);
        (source.had_mark, source.is_whole) = (had_mark, true);
        // `add` has stored a copy already, which needs the two flags as well.
        if let Some(last) = self.files.last_mut() {
            last.clone_from(&source);
        }
        source
    }

    /// Returns the file with this id.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        // Ids are consecutive from `first`, so an id is an index.
        let own = id.0.checked_sub(self.first).and_then(|at| self.files.get(at as usize));
        own.or_else(|| self.others.iter().find_map(|other| other.get(id)))
    }

    /// Marks the text of `span` as a secret, so that it is never shown.
    pub fn hide(&mut self, span: Span) {
        self.hidden.push(span);
    }

    /// Returns the spans of secrets.
    pub fn hidden(&self) -> Box<dyn Iterator<Item = Span> + '_> {
        let others = self.others.iter().flat_map(|other| other.hidden());
        Box::new(self.hidden.iter().copied().chain(others))
    }

    /// Returns the text of a file with asterisks for its secrets; the length stays the same.
    pub fn shown<'s>(&self, source: &'s SourceFile) -> Cow<'s, str> {
        let mut text = Cow::Borrowed(&*source.text);
        for span in self.hidden().filter(|span| span.file == source.id) {
            if source.text.get(span.range()).is_some() {
                // The same length, so that spans stay valid.
                let stars = "*".repeat(span.range().len());
                text.to_mut().replace_range(span.range(), &stars);
            }
        }
        text
    }

    /// Returns every file in the order of being added, shared files last.
    pub fn iter(&self) -> impl Iterator<Item = &SourceFile> {
        self.all()
    }

    fn all(&self) -> Box<dyn Iterator<Item = &SourceFile> + '_> {
        // Boxed, because the type of a recursive iterator would be infinite.
        Box::new(self.files.iter().chain(self.others.iter().flat_map(|other| other.all())))
    }

    /// Returns the text of `span`.
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.file).map_or("", |source| source.slice(span))
    }

    /// Returns the path of the file of `span`.
    pub fn path(&self, span: Span) -> &str {
        self.get(span.file).map_or("", |source| &source.path)
    }

    /// Returns the position where `span` starts.
    pub fn start(&self, span: Span) -> TextPosition {
        self.position(span.file, span.start as usize)
    }

    /// Returns the position after the last character of `span`.
    pub fn end(&self, span: Span) -> TextPosition {
        self.position(span.file, span.end as usize)
    }

    fn position(&self, file: FileId, at: usize) -> TextPosition {
        let start = TextPosition { line: 1, column: 1 };
        self.get(file).map_or(start, |source| source.position(at))
    }
}

/// Returns the position of byte `at` of `text`. A lone CR ends a line, as LF and CRLF do.
pub fn position(text: &str, at: usize) -> TextPosition {
    IndexMark::START.walk(text, at).position
}

/// Positions at regular distances of a text, so that any other needs only a short scan.
#[derive(Debug)]
struct LineIndex {
    /// One every [`LineIndex::STRIDE`] bytes, at the start of the character there.
    marks: Vec<IndexMark>,
}

impl LineIndex {
    // The most bytes that one lookup scans.
    const STRIDE: usize = 1024;

    fn new(text: &str) -> Self {
        let mut mark = IndexMark::START;
        let mut marks = vec![mark];
        for stride in 1..=text.len() / Self::STRIDE {
            mark = mark.walk(text, stride * Self::STRIDE);
            marks.push(mark);
        }
        Self { marks }
    }

    fn position(&self, text: &str, at: usize) -> TextPosition {
        let at = at.min(text.len());
        let mark = self.marks.get(at / Self::STRIDE).unwrap_or(&IndexMark::START);
        mark.walk(text, at).position
    }
}

/// The position of one byte.
#[derive(Debug, Clone, Copy)]
struct IndexMark {
    byte: usize,
    position: TextPosition,
}

impl IndexMark {
    const START: Self = Self { byte: 0, position: TextPosition { line: 1, column: 1 } };

    /// Returns the mark of byte `at`, or of the character that contains it. It must not be before this mark.
    fn walk(self, text: &str, at: usize) -> Self {
        let at = text.floor_char_boundary(at);
        let TextPosition { mut line, mut column } = self.position;
        let after = text.get(self.byte..).unwrap_or("");
        for (offset, char) in after.char_indices().take_while(|(offset, _)| self.byte + offset < at)
        {
            column += 1;
            let next_is_lf = after.as_bytes().get(offset + 1) == Some(&b'\n');
            if char == '\n' || (char == '\r' && !next_is_lf) {
                (line, column) = (line + 1, 1);
            }
        }
        Self { byte: at, position: TextPosition { line, column } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters() {
        let cases = [
            ("", 0, (1, 1)),
            ("ab", 1, (1, 2)),
            ("a\nb", 2, (2, 1)),
            ("a\r\nb", 3, (2, 1)),
            ("a\rb", 2, (2, 1)),
            ("é\u{1F680}x", 6, (1, 3)),
            ("a\n", 2, (2, 1)),
            ("a", 99, (1, 2)),
            ("é", 1, (1, 1)),
        ];
        for (text, at, (line, column)) in cases {
            assert_eq!(position(text, at), TextPosition { line, column }, "{text:?} at {at}");
        }
    }

    #[test]
    fn the_index_agrees_with_counting() {
        let texts = [
            String::new(),
            "é".repeat(3000) + "\r" + &"x".repeat(5000),
            "a\r\nb\rc\n".repeat(700),
            "\u{1F680}".repeat(256) + "\r\n",
            "x".repeat(1023) + "\r\n" + &"y".repeat(2048),
        ];
        for text in texts {
            let source = SourceFile::new(FileId(0), "a", &text);
            for at in (0..=text.len() + 1).chain([usize::MAX]) {
                assert_eq!(source.position(at), position(&text, at), "{at} of {}", text.len());
            }
        }
    }
}
