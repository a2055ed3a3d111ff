//! YAML of both versions.
#![no_main]

use agentry_compile::text::yaml::{Version, emit, parse};
use agentry_compile::text::{Findings, Node, Source};
use agentry_fuzz::text::{read, round_trip};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = read(bytes, |source, findings| whole(source, Version::V1_1, findings));
    round_trip(bytes, |source, findings| whole(source, Version::V1_2, findings), emit);
});

fn whole(source: &Source, version: Version, findings: &mut Findings) -> Node {
    parse(source, 0..source.text.len(), version, findings)
}
