//! Agents in registries: the real program against a scripted registry on this machine, and against the
//! registry of the Docker project.
#![cfg(unix)]
#![expect(clippy::expect_used, reason = "a test that cannot be set up has failed")]

mod bases;
mod crash;
mod credentials;
mod docker_agent;
mod docker_registry;
mod exchange;
mod hostile;
mod scripted;
mod signatures;
#[allow(dead_code, reason = "the builder of the other tests; not all of it is needed here")]
#[path = "../cli/test.rs"]
mod test;

use agentry_compile::text::digest::of as sha256;

use scripted::ScriptedRegistry;
use test::{HELPER, Test};

/// A workspace with an agent that is in the registry as `team/helper:0.1.0`, and the registry.
fn pushed() -> (Test, ScriptedRegistry) {
    let registry = ScriptedRegistry::start();
    let test = Test::new().file("helper.agent", HELPER);
    test.run(&format!("push helper.agent oci://{}/team/helper", registry.host())).exits(0);
    (test, registry)
}
