//! Reads a manifest with its texts.
#![no_main]

use agentry_compile::model::Format;
use agentry_fuzz::agent::everything;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| everything(Format::Manifest, bytes));
