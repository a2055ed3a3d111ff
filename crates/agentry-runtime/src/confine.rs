//! From what an agent may do to what its commands are confined to: the coarsest confinement that lies
//! within the policy. What a confinement cannot say makes it narrower, never wider.

use std::path::PathBuf;

use agentry_compile::policy::Judge;
use agentry_sandbox::Confinement;

/// What a confinement depends on beside the policy.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Agentry's own home.
    pub agentry_home: Option<PathBuf>,
    /// The files and directories of the agent's own definition and of its bases.
    pub definition: Vec<PathBuf>,
    /// The directories of `PATH`.
    pub programs: Vec<PathBuf>,
}

/// A confinement, and what does not fit into one.
#[derive(Debug)]
pub struct Confined {
    /// For the sandbox.
    pub confinement: Confinement,
    /// For the proxy, if there is one.
    pub hosts: Hosts,
    /// What the policy permits and commands may not do all the same, in words.
    pub narrowed: Vec<String>,
}

/// The hosts that commands may reach, for [`agentry_sandbox::proxy`].
#[derive(Debug, Clone)]
pub struct Hosts(Judge);

/// The coarsest confinement within the policy of `judge`.
pub fn confinement(_judge: &Judge, _surroundings: &Surroundings) -> Confined {
    todo!()
}

/// The environment of commands: `PATH`, `HOME`, `LANG`, `TERM`, `TMPDIR`, the addresses of the proxy, and
/// the names that the agent was granted, looked up by the driver.
pub fn environment(
    _granted: &[String],
    _lookup: &dyn Fn(&str) -> Option<String>,
    _sandbox: &agentry_sandbox::Sandbox,
    _proxy: Option<u16>,
) -> Vec<(String, String)> {
    todo!()
}
