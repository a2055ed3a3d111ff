//! Checks the same bytes as every kind of file of a harness.
#![no_main]

use agentry_fuzz::harness::everywhere;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| everywhere(bytes));
