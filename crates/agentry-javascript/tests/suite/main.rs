//! Real workers: what tools can do, and what hostile code cannot.
#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot start has failed")]

mod bench;
mod broker;
mod hostile;
mod seal;
mod table;
mod web;
