//! Parses Markdown: metadata, sections, fences, paragraphs.
#![no_main]

use agentry_compile::text::markdown::{
    fences, first_image, first_paragraph, outside, parts, sections,
};
use agentry_fuzz::text::read;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = read(bytes, |source, _| {
        let body = parts(source).body;
        let _ = (first_image(source, body.clone()), first_paragraph(source, body.clone()));
        let blocks: Vec<_> = fences(source, body.clone()).iter().map(|fence| fence.block).collect();
        let _ = (outside(source, body.clone(), &blocks), sections(source, body));
    });
});
