//! Installed agents on disk: repositories in which nothing is run, and protection against agents that change themselves.
#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]
#![expect(clippy::too_many_lines, reason = "a table of attempts is long")]

mod attempts;
mod checkout;
mod evolution;
mod repository;
mod support;
