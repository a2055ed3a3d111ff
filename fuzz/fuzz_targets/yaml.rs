//! Parses YAML of both versions.
#![no_main]

use agentry_compile::text::yaml::{YamlVersion, emit, parse};
use agentry_compile::text::{Findings, TreeNode, SourceFile};
use agentry_fuzz::text::{read, round_trip};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = read(bytes, |source, findings| whole(source, YamlVersion::V1_1, findings));
    round_trip(bytes, |source, findings| whole(source, YamlVersion::V1_2, findings), emit);
});

fn whole(source: &SourceFile, version: YamlVersion, findings: &mut Findings) -> TreeNode {
    parse(source, 0..source.text.len(), version, findings)
}
