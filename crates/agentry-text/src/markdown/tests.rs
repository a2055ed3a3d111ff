use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::source::{FileId, SourceFile, Span, Spanned};

fn source(text: &str) -> SourceFile {
    SourceFile::new(FileId(0), "x.md", text)
}

fn all(source: &SourceFile) -> Range<usize> {
    0..source.text.len()
}

#[test]
fn front_matter_is_split_off() {
    let cases = [
        ("---\na: 1\n---\nbody\n", Some("a: 1\n"), "body\n"),
        ("\n \n---\na: 1\n---\nbody", Some("a: 1\n"), "body"),
        ("---\r\na: 1\r\n---\r\nbody\r\n", Some("a: 1\r\n"), "body\r\n"),
        ("---\ra: 1\r---\rbody\r", Some("a: 1\r"), "body\r"),
        ("---  \na: 1\n---\t \nbody", Some("a: 1\n"), "body"),
        ("---\n---", Some(""), ""),
        ("---\n---\n", Some(""), ""),
        ("---\na: 1\n---", Some("a: 1\n"), ""),
        ("---\na: |\n---\nb", Some("a: |\n"), "b"),
        ("---\na: |\n  ---\n---\nb", Some("a: |\n  ---\n"), "b"),
        ("---\n----\n---\n", Some("----\n"), ""),
        (" ---\na: 1\n---\n", None, " ---\na: 1\n---\n"),
        ("----\na: 1\n---\n", None, "----\na: 1\n---\n"),
        ("text\n---\na: 1\n---\n", None, "text\n---\na: 1\n---\n"),
        ("", None, ""),
        ("\n\n", None, "\n\n"),
        ("é\n---\n", None, "é\n---\n"),
    ];
    for (text, metadata, body) in cases {
        let parts = parts(&source(text));
        assert_eq!(parts.metadata.map(|range| &text[range]), metadata, "{text:?}");
        assert_eq!(&text[parts.body], body, "{text:?}");
        assert_eq!(parts.unclosed, None, "{text:?}");
    }
}

#[test]
fn front_matter_may_be_unclosed() {
    for (text, start) in [("---", 0), ("\n---\na: 1\n", 1), ("---\na: 1\n ---\n", 0)] {
        let parts = parts(&source(text));
        assert_eq!(parts.unclosed, Some(Span::new(FileId(0), start, start + 3)), "{text:?}");
        assert_eq!((parts.metadata, parts.body), (None, 0..text.len()), "{text:?}");
    }
}

/// Returns one line per section: level, title, raw title, heading, own text, content.
fn outline(text: &str) -> Vec<(u8, String, String, String, String)> {
    let source = source(text);
    let show = |section: MarkdownSection| {
        let slice = |span| source.slice(span).to_owned();
        let title = section.title.value;
        (section.level, title, slice(section.heading), slice(section.own), slice(section.content))
    };
    sections(&source, all(&source)).into_iter().map(show).collect()
}

#[test]
fn sections_nest() {
    let text = "intro\n# A\na\n## B\nb\n### C\nc\n## D\n# E";
    let expected = [
        (1, "A", "# A", "a\n", "a\n## B\nb\n### C\nc\n## D\n"),
        (2, "B", "## B", "b\n", "b\n### C\nc\n"),
        (3, "C", "### C", "c\n", "c\n"),
        (2, "D", "## D", "", ""),
        (1, "E", "# E", "", ""),
    ];
    let expected = expected.map(|(level, title, heading, own, content)| {
        (level, title.into(), heading.into(), own.into(), content.into())
    });
    assert_eq!(outline(text), expected);
}

/// Returns title, raw title and heading.
type Shown = (&'static str, &'static str, &'static str);

#[test]
fn headings_are_those_of_commonmark() {
    let cases: [(&str, &[Shown]); 22] = [
        ("# A #\n", &[("A", "A", "# A #")]),
        ("## *A* and `b` ##  \nx", &[("A and b", "*A* and `b`", "## *A* and `b` ##")]),
        ("# [A](b) **c**\n", &[("A c", "[A](b) **c**", "# [A](b) **c**")]),
        ("# ![logo](x.png) A\n", &[("A", "![logo](x.png) A", "# ![logo](x.png) A")]),
        ("# a\\# &amp; b\n", &[("a# & b", "a\\# &amp; b", "# a\\# &amp; b")]),
        ("   # A\n", &[("A", "A", "# A")]),
        ("    # A\n", &[]),
        ("#A\n", &[]),
        ("####### A\n", &[]),
        ("#\n", &[("", "#", "#")]),
        ("A\n=\n", &[("A", "A", "A\n=")]),
        ("A\nb\n---\n", &[("A b", "A\nb", "A\nb\n---")]),
        ("\nA\n\n---\n", &[]),
        ("```\n# A\n```\n# B\n", &[("B", "B", "# B")]),
        ("~~~\n# A\n", &[]),
        ("<!--\n# A\n-->\n", &[]),
        ("> # A\n", &[]),
        ("- # A\n", &[]),
        ("# A\r\nx\r\n# B\r\n", &[("A", "A", "# A"), ("B", "B", "# B")]),
        ("# A\rx\r# B\r", &[("A", "A", "# A"), ("B", "B", "# B")]),
        ("```\r# A\r```\r# B", &[("B", "B", "# B")]),
        ("# \u{1F680} é\n", &[("\u{1F680} é", "\u{1F680} é", "# \u{1F680} é")]),
    ];
    for (text, expected) in cases {
        let source = source(text);
        let found = sections(&source, all(&source));
        let show = |section: &MarkdownSection| {
            let raw = source.slice(section.title.span).to_owned();
            (section.title.value.clone(), raw, source.slice(section.heading).to_owned())
        };
        let found: Vec<_> = found.iter().map(show).collect();
        let found: Vec<_> =
            found.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn long_lines_keep_their_meaning() {
    let digits = "1".repeat(300);
    let dashes = "- ".repeat(300);
    let cases = [
        (format!("A\n{}", "-".repeat(300)), "A"),
        (format!("{digits}\n==="), &*digits),
        (format!("# {dashes}"), dashes.trim()),
    ];
    for (text, title) in cases {
        assert_eq!(outline(&text)[0].1, title, "{text:?}");
    }
}

#[test]
fn spans_count_from_the_start_of_the_file() {
    let text = "---\nname: é\n---\n# A\n\npara\n\n```js\n1\n```\n![i](p.png)\n";
    let source = source(text);
    let body = parts(&source).body;
    let section = sections(&source, body.clone()).remove(0);
    let range = section.own.range();
    assert_eq!(source.slice(section.title.span), "A");
    assert_eq!(source.slice(fences(&source, body)[0].code), "1\n");
    let paragraph = first_paragraph(&source, range.clone()).expect("a paragraph");
    assert_eq!(source.slice(paragraph.span), "para");
    let image = first_image(&source, range).expect("an image");
    assert_eq!(source.slice(image.span), "p.png");
}

/// Returns language, code, block and whether it is closed.
type Found = (&'static str, &'static str, &'static str, bool);

#[test]
fn fenced_blocks_are_found_with_their_ends() {
    let cases: [(&str, &[Found]); 25] = [
        ("```js\nx\n```\n", &[("js", "x\n", "```js\nx\n```", true)]),
        ("```JS title=\"a b\"\nx\n```", &[("js", "x\n", "```JS title=\"a b\"\nx\n```", true)]),
        ("```\n```\n", &[("", "", "```\n```", true)]),
        ("```js", &[("js", "", "```js", false)]),
        ("```js\n", &[("js", "", "```js\n", false)]),
        ("```js\nx", &[("js", "x", "```js\nx", false)]),
        ("```\nx ```", &[("", "x ```", "```\nx ```", false)]),
        ("```\n    ```", &[("", "    ```", "```\n    ```", false)]),
        ("````\n```\n````\n", &[("", "```\n", "````\n```\n````", true)]),
        ("~~~ js\n```\n~~~~  \nx", &[("js", "```\n", "~~~ js\n```\n~~~~  ", true)]),
        ("~~~\nx\n~~~\t\ny", &[("", "x\n", "~~~\nx\n~~~\t", true)]),
        ("```\nx\n``` js\n", &[("", "x\n``` js\n", "```\nx\n``` js\n", false)]),
        ("- ```js\n  x\n  ```\n", &[("js", "  x\n", "```js\n  x\n  ```", true)]),
        ("- a\n\n  ```js\n  x\n\nb", &[("js", "  x\n\n", "```js\n  x\n\n", false)]),
        ("> ```\n> x\n> ```\n", &[("", "> x\n", "```\n> x\n> ```", true)]),
        ("> ```\n> x\ny", &[("", "> x\n", "```\n> x\n", false)]),
        ("> ```\n>\n> ```", &[("", ">\n", "```\n>\n> ```", true)]),
        ("  ```\n  x\n   ```\n", &[("", "  x\n", "```\n  x\n   ```", true)]),
        ("    ```\n    x\n    ```\n", &[]),
        ("a `` ``` `` b", &[]),
        ("``` a`b\nx\n```", &[("", "", "```", false)]),
        ("```js\r\nx\r\n```\r\n", &[("js", "x\r\n", "```js\r\nx\r\n```", true)]),
        ("```js\rx\r```\r", &[("js", "x\r", "```js\rx\r```", true)]),
        ("```\n\n```\n", &[("", "\n", "```\n\n```", true)]),
        (
            "```a\n1\n```\n```b\n2",
            &[("a", "1\n", "```a\n1\n```", true), ("b", "2", "```b\n2", false)],
        ),
    ];
    for (text, expected) in cases {
        let source = source(text);
        let found = fences(&source, all(&source));
        let show = |fence: &CodeFence| {
            let slice = |span| source.slice(span).to_owned();
            (fence.language.clone(), slice(fence.code), slice(fence.block), fence.closed)
        };
        let found: Vec<_> = found.iter().map(show).collect();
        let found: Vec<_> =
            found.iter().map(|(a, b, c, d)| (a.as_str(), b.as_str(), c.as_str(), *d)).collect();
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn the_opening_of_a_fence_is_one_line() {
    let cases = [("a\n\n  ```js x \r\n1\n```", "```js x"), ("~~~", "~~~"), ("- ~~~a\n  b", "~~~a")];
    for (text, expected) in cases {
        let source = source(text);
        let opening = fences(&source, all(&source))[0].opening;
        assert_eq!(source.slice(opening), expected, "{text:?}");
    }
}

#[test]
fn text_outside_of_blocks() {
    let cases: [(&str, &[&str]); 6] = [
        ("```\nx\n```\n", &[]),
        (" a\n\n```\nx\n```\nb\n", &["a", "b"]),
        ("```\nx\n```\n\n \n```\ny\n```\n", &[]),
        ("a\nb", &["a\nb"]),
        ("a\n```\nx", &["a"]),
        ("", &[]),
    ];
    for (text, expected) in cases {
        let source = source(text);
        let blocks: Vec<_> =
            fences(&source, all(&source)).iter().rev().map(|fence| fence.block).collect();
        let found = outside(&source, all(&source), &blocks);
        let found: Vec<_> = found.iter().map(|span| source.slice(*span)).collect();
        assert_eq!(found, expected, "{text:?}");
    }
    let text = source("abcdef");
    let blocks = [Span::new(FileId(0), 0, 2), Span::new(FileId(0), 4, 9)];
    assert_eq!(outside(&text, 1..5, &blocks), [Span::new(FileId(0), 2, 4)]);
}

/// Returns the value and its raw text.
fn pair(source: &SourceFile, found: Option<Spanned<String>>) -> Option<(String, String)> {
    found.map(|found| (found.value.clone(), source.slice(found.span).to_owned()))
}

#[test]
fn the_first_paragraph_is_found() {
    let cases = [
        ("Hello\n", Some(("Hello", "Hello"))),
        (
            "\n  Hello\n  *dear*   world  \n\nNext",
            Some(("Hello *dear* world", "Hello\n  *dear*   world")),
        ),
        ("a\r\nb\r\n", Some(("a b", "a\r\nb"))),
        ("a\rb\r", Some(("a b", "a\rb"))),
        ("# A\n\ntext\n", None),
        ("text\n===\n", None),
        ("![logo](x.png)\n\ntext\n", Some(("text", "text"))),
        ("[![badge](x.svg)](y)\n![b](z)\n\ntext\n", Some(("text", "text"))),
        (
            "![logo](x.png) with words\n",
            Some(("![logo](x.png) with words", "![logo](x.png) with words")),
        ),
        ("- item\n\n  more\n\ntext\n", Some(("text", "text"))),
        ("> quote\n\ntext", Some(("text", "text"))),
        ("```\ncode\n```\ntext", Some(("text", "text"))),
        ("[a]: b\ntext", Some(("text", "text"))),
        ("<!-- note -->\n\ntext", Some(("text", "text"))),
        ("`code`", Some(("`code`", "`code`"))),
        ("", None),
    ];
    for (text, expected) in cases {
        let source = source(text);
        let found = pair(&source, first_paragraph(&source, all(&source)));
        let expected = expected.map(|(value, raw)| (value.to_owned(), raw.to_owned()));
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn the_first_image_is_found() {
    let cases = [
        ("![a](b.png)", Some(("b.png", "b.png"))),
        ("text ![a]( b.png \"title\") ![c](d)", Some(("b.png", "b.png"))),
        ("![ a ](<b c.png>)", Some(("b c.png", "b c.png"))),
        ("![](b(1).png)", Some(("b(1).png", "b(1).png"))),
        ("![a](b\\).png)", Some(("b).png", "b\\).png"))),
        ("![a](b&amp;c)", Some(("b&c", "b&amp;c"))),
        ("![x ![y](z)](w)", Some(("w", "w"))),
        ("![a]()", Some(("", ""))),
        ("[![a](b)](c)", Some(("b", "b"))),
        ("- ![a](b)", Some(("b", "b"))),
        ("![a][p]\n\n[p]: b.png", Some(("b.png", "![a][p]"))),
        ("![p]\n\n[P]: b.png", Some(("b.png", "![p]"))),
        ("![a][missing]", None),
        ("`![a](b)`", None),
        ("```\n![a](b)\n```", None),
        ("\\![a](b)", None),
        ("[a](b)", None),
    ];
    for (text, expected) in cases {
        let source = source(text);
        let found = pair(&source, first_image(&source, all(&source)));
        let expected = expected.map(|(value, raw)| (value.to_owned(), raw.to_owned()));
        assert_eq!(found, expected, "{text:?}");
    }
}

#[test]
fn image_references_are_resolved() {
    let text = source("# Avatar\n\n![me][p]\n\n# Notes\n\n[p]: me.png\n");
    let range = sections(&text, all(&text))[0].content.range();
    let found = pair(&text, first_image(&text, range));
    assert_eq!(found, Some(("me.png".to_owned(), "![me][p]".to_owned())));
}

#[test]
fn invalid_ranges_are_empty() {
    let text = source("é # a");
    for range in [1..3, 3..99, 99..100] {
        assert_eq!(sections(&text, range.clone()), []);
        assert_eq!(fences(&text, range.clone()), []);
        assert_eq!(first_paragraph(&text, range.clone()), None);
        assert_eq!(first_image(&text, range.clone()), None);
        assert_eq!(outside(&text, range, &[]), []);
    }
}

/// Calls every function, for texts that must only not fail.
fn look(source: &SourceFile) {
    let body = parts(source).body;
    let sections = sections(source, body.clone());
    let fences = fences(source, body.clone());
    let whole = |span: Span| assert!(source.text.get(span.range()).is_some(), "{span:?}");
    for MarkdownSection { title, heading, content, own, .. } in &sections {
        [title.span, *heading, *content, *own].into_iter().for_each(whole);
        assert!(title.span.start >= heading.start && title.span.end <= heading.end);
        assert!(heading.end <= own.start && own.start == content.start && own.end <= content.end);
    }
    for pair in sections.windows(2) {
        assert!(pair[0].own.end <= pair[1].heading.start);
    }
    for CodeFence { code, block, opening, .. } in &fences {
        [*code, *block, *opening].into_iter().for_each(whole);
        assert!(block.start == opening.start && opening.end <= code.start && code.end <= block.end);
    }
    let blocks: Vec<_> = fences.iter().map(|fence| fence.block).collect();
    outside(source, body.clone(), &blocks).into_iter().for_each(whole);
    let prose = [first_paragraph(source, body.clone()), first_image(source, body)];
    prose.into_iter().flatten().map(|found| found.span).for_each(whole);
}

#[test]
fn large_and_deep_texts_are_read() {
    let size = 1 << 20;
    let fill = |unit: &str| unit.repeat(size / unit.len());
    let fill_some = |unit: &str| unit.repeat(size / 16 / unit.len());
    let deep = format!("{}```\n{}", "- ".repeat(size / 4), "\n".repeat(size / 2));
    let steps: Vec<_> = (0..600).map(|at| "  ".repeat(at) + "- a\n").collect();
    let stairs = format!("{}{}```\n{}", steps.concat(), "  ".repeat(600), "\n".repeat(size / 2));
    let others = ["![", "`", "> ", "- ", "1. ", "# a\n", "a\n---\n", "```\n", "<", "[a]: b\n"];
    let texts = [">", "*", "["].map(fill).into_iter().chain([deep, stairs]);
    for text in texts.chain(others.map(fill_some)) {
        look(&source(&text));
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_without_a_panic(text in "([-#>*`~=_!\\[\\]()<:|+ \t\r\nab1.\\\\&é]|---\n|```|~~~|\r\n){0,60}") {
        look(&source(&text));
    }

    #[test]
    fn parts_lie_within_the_text(text in "([- a\r\n]|---\n|---\r){0,20}") {
        let parts = parts(&source(&text));
        prop_assert!(text.get(parts.body.clone()).is_some());
        prop_assert_eq!(parts.body.end, text.len());
        if let Some(metadata) = parts.metadata {
            prop_assert!(text.get(metadata.clone()).is_some() && metadata.end < parts.body.start);
        }
    }
}
