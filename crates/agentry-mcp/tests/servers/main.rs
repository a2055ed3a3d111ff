//! The client against real programs and servers on loopback, most of them hostile.

mod hostile;
mod http;
mod program;
mod questions;
mod support;
