//! Tests the MCP client: with the conformance suite of the protocol ([`suite`]), and with servers that
//! people use ([`real_servers`]). Both come from the registries of npm and `PyPI` ([`install`]).

pub(crate) mod install;
mod real_servers;
mod suite;

use crate::suite::{End, House};

/// Runs both parts; a part whose packages cannot be had is skipped, and its reason is shown.
pub(crate) fn run(house: &House) -> End {
    let node = install::node(&house.target);
    let python = install::python(&house.target);
    let suite = node.as_ref().map_err(Clone::clone).and_then(|node| suite::run(house, node));
    let servers = real_servers::run(house, node.as_ref().ok(), python.as_ref().ok());
    let (mut is_well, mut is_skipped) = (true, false);
    for (what, reason) in [("npm", node.err()), ("PyPI", python.err())] {
        if let Some(reason) = reason {
            println!("SKIPPED: the packages of {what} cannot be had: {reason}");
            is_skipped = true;
        }
    }
    match suite {
        Ok(defects) => is_well &= shown(&defects),
        // Reported above.
        Err(_) => is_skipped = true,
    }
    is_well &= shown(&servers);
    match (is_well, is_skipped) {
        (false, _) => End::Defects,
        (true, true) => End::Skipped,
        (true, false) => End::Well,
    }
}

/// Shows defects; returns whether there are none.
pub(crate) fn shown(defects: &[String]) -> bool {
    defects.iter().for_each(|defect| println!("DEFECT: {defect}"));
    defects.is_empty()
}
