//! An agent of any format, written in all five and read again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agentry_fuzz::convert::everywhere(bytes));
