//! Checks that a command line with the verdict `allow` runs only what the rules allow.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agentry_fuzz::execution::run(bytes));
