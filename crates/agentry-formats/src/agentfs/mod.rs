//! Placeholder.

use agentry_model::{Agent, Format};
use agentry_text::Findings;

use crate::{FormatInfo, Package, Target, Written};

/// The format.
pub const INFO: FormatInfo = FormatInfo {
    format: Format::AgentFs,
    title: "",
    documents: &[],
    rules: &[],
    carries: &[],
    read,
    write,
    defaults,
};

fn read(_: &mut Package<'_>, _: &mut Findings) -> Agent {
    Agent::default()
}

fn write(_: &Agent, _: &Target) -> Written {
    Written::default()
}

fn defaults(_: &mut Agent) {}
