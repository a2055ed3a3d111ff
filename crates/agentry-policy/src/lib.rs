//! What an agent may do: the notations of a policy, and the procedure that decides about calls.
//!
//! ```text
//! permissions, trust, abilities, … ─▶ layers ─▶ Judge ◀─ a call: command line, path, address, name
//!                                       │          └─▶ Verdict, with the rule behind each part
//!                                       └─▶ compare: is A within B, dead rules, gained and lost
//! ```
//!
//! `shell` analyses a command line. `pattern` matches one subject directly; `automata` answers questions
//! about all subjects.
#![warn(clippy::disallowed_methods)]

mod ability;
mod action;
mod allowed_tools;
mod anchors;
mod automata;
mod base_policy;
pub mod compare;
pub mod deciders;
mod hazard;
mod judge;
mod layer;
pub mod memo;
mod narrow;
mod notations;
pub mod overlap;
pub mod path;
pub mod pattern;
mod permissions;
mod policy_test;
mod rules;
pub mod shell;
mod tool_permissions;
mod trust;
mod verdict;
pub mod web;

pub use agentry_commands::{self as commands, argv};

pub use ability::{Abilities, Ability, AbilityBase, InvalidAbility};
pub use action::Action;
pub use allowed_tools::allowed_tools;
pub use anchors::PathAnchors;
pub use base_policy::{flattened, under};
pub use judge::{Judge, SectionCall};
pub use layer::{LayerSource, PolicyLayer, default_rules, layer, layers, written};
pub use narrow::{to_abilities, to_permissions, to_tool_permissions, to_trust};
pub use notations::{PolicyContext, PolicyServer};
pub use pattern::{ANYTHING, HazardProtection, Pattern, PatternKind, PatternSubject};
pub use permissions::{InvalidRule, PatternRule, Permissions, Section, SectionRules};
pub use policy_test::{ExpectedVerdict, PolicyTest};
pub use rules::{PolicyRule, RuleList};
pub use tool_permissions::ToolPermissions;
pub use trust::{ExecTrust, FilesystemTrust, NetworkTrust, Trust};
pub use verdict::{Verdict, VerdictReason};

use agentry_text::Spanned;

/// The policy of one definition. Its parts are layers: each one only restricts, and the strictest verdict
/// counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Ordered rules per tool.
    pub permissions: Option<Permissions>,
    /// Trust on three axes.
    pub trust: Option<Trust>,
    /// Named abilities.
    pub abilities: Option<Abilities>,
    /// Tools by name.
    pub tool_permissions: Option<ToolPermissions>,
    /// Rules of its bases, nearest first; one without a section does not decide about it.
    pub bases: Vec<Permissions>,
    /// The verdicts that the author expects; they decide nothing.
    pub tests: Vec<Spanned<PolicyTest>>,
}

impl Policy {
    /// Whether the definition has no policy, so that the user's default policy alone decides.
    pub fn is_empty(&self) -> bool {
        let Self { permissions, trust, abilities, tool_permissions, bases, tests: _ } = self;
        permissions.is_none()
            && trust.is_none()
            && abilities.is_none()
            && tool_permissions.is_none()
            && bases.is_empty()
    }

    /// Whether its commands may run only inside the sandbox: the sandbox enforces the other axes of trust.
    pub fn needs_sandbox(&self) -> bool {
        let exec = self.trust.as_ref().and_then(|trust| trust.exec);
        exec.is_some_and(|exec| exec.value == ExecTrust::Sandboxed)
    }

    /// Removes what it may do only inside the sandbox: commands, and servers on this machine.
    pub fn leave_sandbox(&mut self) {
        let exec = self.trust.as_mut().and_then(|trust| trust.exec.as_mut());
        if let Some(exec) = exec.filter(|exec| exec.value == ExecTrust::Sandboxed) {
            exec.value = ExecTrust::None;
        }
    }
}

/// A value that the author wrote, or `None`.
pub type Declared<T> = Option<Spanned<T>>;
/// A list that the author wrote (possibly empty), or `None`.
pub type DeclaredList<T> = Option<Vec<Spanned<T>>>;

/// Defines an enum whose variants are words of a format, with `FromStr`, `as_str` and `Display`.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            /// Every variant, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// The words, in order.
            pub const WORDS: &'static [&'static str] = &[$($word,)+];

            /// Returns the word for the variant.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text { $($word => Ok(Self::$variant),)+ _ => Err(()) }
            }
        }

        impl From<$name> for agentry_text::TreeValue {
            fn from(word: $name) -> Self {
                Self::Str(word.as_str().to_owned())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
