//! From compiled agents to what a harness is given: the agent with everything that it needs around
//! it.

mod skills;
mod subject;

pub use subject::subject;
