//! Parses and writes ACL.
#![no_main]

use agentry_compile::text::acl::{emit, parse};
use agentry_fuzz::text::{comes_back, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Only a document without errors is sure to have names that ACL can write.
    if let Some(read) = read(bytes, parse).filter(|read| read.is_sound) {
        comes_back(&read.value.to_data(), parse, |data| emit(data, &[]));
    }
});
