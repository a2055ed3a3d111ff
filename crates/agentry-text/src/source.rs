//! Where text came from: files, byte ranges, and values that remember them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::credentials;

/// One file of a compilation. Has no path of its own: [`SourceFiles`] maps it to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u32);

impl FileId {
    /// The place of values that no file holds: defaults, and what Agentry itself derives.
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
    /// Whether somebody wrote it, in some file.
    pub fn is_written(self) -> bool {
        self.file != FileId::BUILT_IN
    }

    /// The range of bytes `start..end` of `file`.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { file, start: offset(start), end: offset(end.max(start)) }
    }

    /// The very start of `file`, for a finding about the whole of it.
    pub fn start_of(file: FileId) -> Self {
        Self::new(file, 0, 0)
    }

    /// The range as indices into the text of its file.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The least range that holds both; `self` when they are in different files.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        if self.file == other.file {
            Self { start: self.start.min(other.start), end: self.end.max(other.end), ..self }
        } else {
            self
        }
    }

    /// The same range, shifted right: how a part of a file reports into the whole of it.
    #[must_use]
    pub fn shifted(self, by: usize) -> Self {
        let range = self.range();
        Self::new(self.file, range.start + by, range.end + by)
    }
}

/// A value, and the text it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value with its place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// The value turned into another, in the same place.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Spanned<U> {
        Spanned { value: change(self.value), span: self.span }
    }

    /// The same place with a borrowed value.
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

/// The text of one file, and the number by which spans name it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// The number that spans carry.
    pub id: FileId,
    /// As a person would name it, with `/` between its parts.
    pub path: Arc<str>,
    /// The whole text, without a byte order mark.
    pub text: Arc<str>,
    /// Whether a byte order mark was taken off: no reader cares, but a hash may.
    pub had_mark: bool,
    /// Whether this is all that the file holds; else it only stands for one that was not read.
    pub is_whole: bool,
    /// Made when a position is first asked for; most files never are.
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

    /// The bytes of the file, where they are known: a byte order mark and the text.
    pub fn bytes(&self) -> Option<Cow<'_, [u8]>> {
        let text = self.text.as_bytes();
        let marked = || ["\u{feff}".as_bytes(), text].concat();
        self.is_whole.then(|| if self.had_mark { marked().into() } else { text.into() })
    }

    /// What `digest` makes of its bytes, once for all who share the file; nothing where they are not
    /// known.
    pub fn digest(&self, digest: impl FnOnce(&[u8]) -> String) -> Option<&str> {
        let bytes = self.bytes()?;
        Some(self.digest.get_or_init(|| digest(&bytes)))
    }

    /// Where keys and tokens of well-known services stand, looked for once for all who share the file.
    pub fn credentials(&self) -> &[Range<usize>] {
        let find = || credentials::find(&self.text).into_iter().map(|(_, range)| range).collect();
        self.credentials.get_or_init(find)
    }

    /// The text at `span`; empty when the span does not fit the text.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or("")
    }

    /// The span of the whole file.
    pub fn whole(&self) -> Span {
        Span::new(self.id, 0, self.text.len())
    }

    /// The position of byte `at`; of the end of the text, when there is no such byte.
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
    /// The number of the first file.
    first: u32,
    files: Vec<SourceFile>,
    /// The files of other compilations that this one builds on, with numbers of their own.
    others: Vec<Arc<Self>>,
    hidden: Vec<Span>,
}

impl SourceFiles {
    /// No files yet, and the number that the first will have: so that others can share them, who have
    /// files of their own with smaller numbers.
    pub fn starting_at(first: u32) -> Self {
        Self { first, ..Self::default() }
    }

    /// Takes in the files of another compilation, whose numbers must be others. They come last.
    pub fn share(&mut self, other: Arc<Self>) {
        self.others.push(other);
    }

    /// Takes a file in and gives it its number.
    pub fn add(&mut self, path: &str, text: &str) -> SourceFile {
        let count = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        let id = FileId(self.first.saturating_add(count));
        let source = SourceFile::new(id, path, text);
        self.files.push(source.clone());
        source
    }

    /// Takes in a file that was read from its first byte to its last.
    pub fn add_whole(&mut self, path: &str, text: &str, had_mark: bool) -> SourceFile {
        let mut source = self.add(path, text);
        (source.had_mark, source.is_whole) = (had_mark, true);
        if let Some(last) = self.files.last_mut() {
            last.clone_from(&source);
        }
        source
    }

    /// The file with that number.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        let own = id.0.checked_sub(self.first).and_then(|at| self.files.get(at as usize));
        own.or_else(|| self.others.iter().find_map(|other| other.get(id)))
    }

    /// Keeps the text at `span` out of everything that is shown: it is a secret.
    pub fn hide(&mut self, span: Span) {
        self.hidden.push(span);
    }

    /// The places of secrets.
    pub fn hidden(&self) -> Box<dyn Iterator<Item = Span> + '_> {
        let others = self.others.iter().flat_map(|other| other.hidden());
        Box::new(self.hidden.iter().copied().chain(others))
    }

    /// The text of a file with its secrets starred out, byte for byte.
    pub fn shown<'s>(&self, source: &'s SourceFile) -> Cow<'s, str> {
        let mut text = Cow::Borrowed(&*source.text);
        for span in self.hidden().filter(|span| span.file == source.id) {
            if source.text.get(span.range()).is_some() {
                let stars = "*".repeat(span.range().len());
                text.to_mut().replace_range(span.range(), &stars);
            }
        }
        text
    }

    /// Every file, in the order of being added; those of others after its own.
    pub fn iter(&self) -> impl Iterator<Item = &SourceFile> {
        self.all()
    }

    fn all(&self) -> Box<dyn Iterator<Item = &SourceFile> + '_> {
        Box::new(self.files.iter().chain(self.others.iter().flat_map(|other| other.all())))
    }

    /// The text at `span`.
    pub fn slice(&self, span: Span) -> &str {
        self.get(span.file).map_or("", |source| source.slice(span))
    }

    /// The path of the file of `span`.
    pub fn path(&self, span: Span) -> &str {
        self.get(span.file).map_or("", |source| &source.path)
    }

    /// Where `span` starts.
    pub fn start(&self, span: Span) -> TextPosition {
        self.position(span.file, span.start as usize)
    }

    /// Where `span` ends (the position after its last character).
    pub fn end(&self, span: Span) -> TextPosition {
        self.position(span.file, span.end as usize)
    }

    fn position(&self, file: FileId, at: usize) -> TextPosition {
        let start = TextPosition { line: 1, column: 1 };
        self.get(file).map_or(start, |source| source.position(at))
    }
}

/// The position of byte `at` of `text`. A lone CR ends a line, as LF and CRLF do.
pub fn position(text: &str, at: usize) -> TextPosition {
    IndexMark::START.walk(text, at).position
}

/// Known positions of a text, so that any other is found by counting only a few characters.
#[derive(Debug)]
struct LineIndex {
    /// One every [`LineIndex::STRIDE`] bytes, at the start of the character there.
    marks: Vec<IndexMark>,
}

impl LineIndex {
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

    /// The mark of byte `at` or of the character around it, which must not be before this one.
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
