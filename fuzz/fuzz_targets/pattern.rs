//! Checks that direct matching of a pattern and its automaton agree.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| agentry_fuzz::pattern::agrees(bytes));
