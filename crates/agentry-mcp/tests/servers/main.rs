//! The client against real programs and servers on loopback, most of them hostile.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::format_push_string, reason = "texts here are short")]

mod hostile;
mod http;
mod login;
mod program;
mod questions;
mod support;
