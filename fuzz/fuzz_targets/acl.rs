//! ACL, read and written.
#![no_main]

use agentry_compile::text::acl::{emit, parse};
use agentry_fuzz::text::{comes_back, read};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A document without errors has only names that it can spell; any other may not.
    if let Some(read) = read(bytes, parse).filter(|read| read.is_sound) {
        comes_back(&read.value.to_data(), parse, |data| emit(data, &[]));
    }
});
