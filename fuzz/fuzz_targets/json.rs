//! Parses and writes JSON.
#![no_main]

use agentry_compile::text::json::{emit, parse};
use agentry_fuzz::text::round_trip;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| round_trip(bytes, parse, emit));
