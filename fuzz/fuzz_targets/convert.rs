//! Writes an agent of any format in all five, and reads the results.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agentry_fuzz::convert::everywhere(bytes));
