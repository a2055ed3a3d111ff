//! The pipeline on worlds in memory: every rule's examples, round trips of generated agents, and the
//! generated reference.

#![allow(
    clippy::expect_used,
    clippy::format_push_string,
    reason = "tests may stop, and build pages"
)]

mod arbitrary;
#[path = "../corpus/mod.rs"]
mod corpus;
mod detection;
mod examples;
mod fixes;
mod forms;
mod generated;
mod harness;
mod harness_paths;
mod hostile;
mod inherit;
mod kept_or_listed;
mod matrix;
mod prompts;
mod reported;
mod round_trip;
mod slips;
mod suppression;
mod together;
mod world;
