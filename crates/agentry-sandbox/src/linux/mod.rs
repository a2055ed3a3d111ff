//! The back ends of Linux.

pub(crate) mod code;
pub(crate) mod filter;
pub(crate) mod git;
pub(crate) mod groups;
pub(crate) mod helper;
pub(crate) mod landlock_rules;
pub(crate) mod leftovers;
pub(crate) mod mounts;
pub(crate) mod namespaces;
pub(crate) mod pins;
pub(crate) mod prepare;
pub(crate) mod reserve;
pub(crate) mod sandbox;
pub(crate) mod seal;
pub(crate) mod supervisor;
pub(crate) mod support;
pub(crate) mod system;
pub(crate) mod user;
pub(crate) mod watch;
pub(crate) mod wire;
