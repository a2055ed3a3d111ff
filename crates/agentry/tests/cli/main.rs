//! The program as a user sees it: the real binary, whole outputs, exit codes.
#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::too_many_lines, reason = "whole outputs stand beside what made them")]
#![expect(clippy::format_push_string, clippy::format_collect, reason = "texts here are short")]

mod baseline;
mod bases;
mod check;
mod check_failures;
mod check_harness;
mod check_workspace;
mod config;
mod confined;
mod convert;
mod convert_meaning;
mod convert_paths;
mod convert_save;
mod corpus_reports;
mod delegation;
mod fix;
mod functions;
mod generated;
mod guard;
mod guard_project;
mod hash;
mod help;
mod hostile;
mod import;
mod import_report;
mod inherit;
mod lock;
mod mcp;
mod new;
mod policy;
mod quarantine;
mod readme;
mod render;
mod render_examples;
mod render_files;
mod render_many;
mod render_refused;
mod render_remembered;
mod render_rivals;
mod render_shared;
mod render_watch;
mod resolve;
mod rules;
mod run;
mod run_again;
mod run_calls;
mod run_killed;
mod run_locked;
mod run_person;
mod run_signals;
mod run_variables;
mod runs;
mod sandbox;
mod sandbox_exec;
mod schedule;
mod schema;
mod script_tools;
mod search;
#[path = "../../../agentry-runtime/tests/server/mod.rs"]
mod server;
mod shell;
mod show;
mod sign;
mod skills;
mod store;
mod store_crash;
mod store_gc;
mod store_reference;
#[cfg(feature = "otel")]
mod telemetry;
mod terminal;
mod test;
mod tools;
