//! Reads `agent.json` with persona, principles, skills and memory.
#![no_main]

use agentry_compile::model::Format;
use agentry_fuzz::agent::everything;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| everything(Format::AgentFs, bytes));
