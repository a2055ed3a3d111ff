//! The ways to set up an agent, from the mildest to the strictest, and what each lets it do.

use agentry_policy::{Action, Rules, Section, words};

use super::prefix::Prefix;
use crate::encoding::{Encoding, Order};
use crate::harmless::{HARMLESS, Harmless};
use crate::model::{Model, always, outside};

words! {
    /// When a person is asked.
    pub enum Approval {
        /// When the agent asks to leave the sandbox.
        OnRequest = "on-request",
        /// About every command that is not taken for harmless, and every change.
        Untrusted = "untrusted",
        /// Never: what the sandbox does not permit fails.
        Never = "never",
    }
}

words! {
    /// What commands and changes may touch without asking.
    pub enum Sandbox {
        /// The files of the workspace.
        WorkspaceWrite = "workspace-write",
        /// Nothing.
        ReadOnly = "read-only",
    }
}

/// How an agent is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setup {
    /// Whether it runs commands at all.
    pub(super) shell: bool,
    pub(super) approval: Approval,
    pub(super) sandbox: Sandbox,
}

const fn setup(shell: bool, approval: Approval, sandbox: Sandbox) -> Setup {
    Setup { shell, approval, sandbox }
}

/// All that are ever written, the mildest first. The last one permits nothing.
pub(super) const SETUPS: &[Setup] = &[
    setup(true, Approval::OnRequest, Sandbox::WorkspaceWrite),
    setup(true, Approval::Never, Sandbox::WorkspaceWrite),
    setup(true, Approval::OnRequest, Sandbox::ReadOnly),
    setup(true, Approval::Never, Sandbox::ReadOnly),
    setup(true, Approval::Untrusted, Sandbox::ReadOnly),
    setup(false, Approval::OnRequest, Sandbox::WorkspaceWrite),
    setup(false, Approval::Never, Sandbox::WorkspaceWrite),
    setup(false, Approval::OnRequest, Sandbox::ReadOnly),
    STRICTEST,
];

/// The one that permits nothing.
pub(super) const STRICTEST: Setup = setup(false, Approval::Never, Sandbox::ReadOnly);

impl Setup {
    /// What becomes of a command that no rule is about.
    pub(super) fn unruled(self) -> Action {
        if self.approval == Approval::Untrusted { Action::Ask } else { Action::Allow }
    }

    /// What becomes of a change inside the workspace, and outside.
    pub(super) fn edits(self) -> (Action, Action) {
        let asked = match self.approval {
            Approval::OnRequest | Approval::Untrusted => Action::Ask,
            Approval::Never => Action::Deny,
        };
        let free = self.sandbox == Sandbox::WorkspaceWrite && self.approval != Approval::Untrusted;
        (if free { Action::Allow } else { asked }, asked)
    }

    /// The commands that run without asking although nobody allows them.
    pub(super) fn harmless(self) -> &'static [Harmless] {
        if self.approval == Approval::Untrusted { HARMLESS } else { &[] }
    }

    /// The rules about commands: one entry for each answer, and one for what is taken for harmless.
    pub(super) fn commands(self, rules: &[Prefix]) -> Encoding {
        let answer = |rule: &Prefix| match rule.action {
            Action::Ask if self.approval == Approval::Never => Action::Deny,
            action => action,
        };
        let grouped = Action::ALL.iter().rev().filter_map(|action| {
            Prefix::entry(rules.iter().filter(|rule| answer(rule) == *action), *action)
        });
        // Whatever has a rule of its own is no longer taken for harmless.
        let known = |command: &&Harmless| {
            let own =
                |rule: &Prefix| matches!(rule.words.as_slice(), [word] if word == command.name);
            rules.iter().any(own)
        };
        let harmless = self.harmless().iter().filter(|command| !known(command));
        let harmless: Vec<Prefix> =
            harmless.map(|command| Prefix::harmless(command.name)).collect();
        let harmless = Prefix::entry(harmless.iter(), Action::Allow);
        Encoding {
            section: Section::Bash,
            order: Order::Strictest,
            entries: grouped.chain(harmless).collect(),
            default: self.unruled(),
        }
    }

    /// What an agent may do that is set up so, under these rules.
    pub(super) fn model(self, rules: &[Prefix]) -> Model {
        let mut model = Model::default();
        if self.shell {
            model.add(Section::Bash, "shell", vec![self.commands(rules).rules()]);
            model.add(Section::Read, "shell", vec![self.reads(rules)]);
        }
        let (inside, beyond) = self.edits();
        let beyond = always(Section::ExternalDirectory, beyond, self.approval.as_str());
        let inside = always(Section::Edit, inside, self.sandbox.as_str());
        let layers = vec![inside, outside(Section::Edit, &beyond)];
        model.add(Section::Edit, "apply_patch", layers);
        model
    }

    /// Whether a command shows any file without asking.
    pub(super) fn reads(self, rules: &[Prefix]) -> Rules {
        let asks = |name: &str| {
            let about = |rule: &&Prefix| {
                rule.words.len() == 1 && rule.words.first().is_some_and(|word| word == name)
            };
            rules.iter().filter(about).any(|rule| rule.action > Action::Allow)
        };
        let silent = self.harmless().iter().any(|command| command.reads && !asks(command.name));
        let free = self.unruled() == Action::Allow || silent;
        let action = if free { Action::Allow } else { Action::Ask };
        always(Section::Read, action, "every sandbox can read every file")
    }
}
