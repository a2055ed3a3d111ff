//! What a pattern matches directly is what its machine says.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agentry_fuzz::pattern::agrees(bytes));
