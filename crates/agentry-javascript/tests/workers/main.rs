//! Real workers: what tools can do, and what hostile code cannot.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot start has failed")]

mod broker;
mod hostile;
mod many_calls;
mod scripts;
mod seal;
mod table;
mod web;
