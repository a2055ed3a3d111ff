//! The ways to set up an agent, from the mildest to the strictest, and what each lets it do.

use agentry_policy::{Action, Rules, Section, words};

use super::prefix::Prefix;
use crate::encoding::{Encoding, Order, View};
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
        /// Everything: there is none. It is read, and never written.
        Unbound = "danger-full-access",
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
    /// What becomes of that which needs a person.
    pub(super) fn asked(self) -> Action {
        if self.approval == Approval::Never { Action::Deny } else { Action::Ask }
    }

    /// What becomes of a command that no rule is about. It may run, but in a sandbox: that it would also
    /// run where there is none, nobody said.
    pub(super) fn unruled(self, view: View) -> Action {
        let waits = self.approval == Approval::Untrusted;
        let runs = match view {
            View::Mildest => !waits || self.sandbox == Sandbox::Unbound,
            View::Strictest => !waits && self.sandbox == Sandbox::Unbound,
        };
        if runs { Action::Allow } else { self.asked() }
    }

    /// What becomes of a change inside the workspace, and outside.
    pub(super) fn edits(self, view: View) -> (Action, Action) {
        let waits = self.approval == Approval::Untrusted;
        let asked = self.asked();
        match self.sandbox {
            Sandbox::Unbound if view == View::Mildest || !waits => (Action::Allow, Action::Allow),
            Sandbox::WorkspaceWrite if !waits => (Action::Allow, asked),
            Sandbox::Unbound | Sandbox::WorkspaceWrite | Sandbox::ReadOnly => (asked, asked),
        }
    }

    /// Whether commands write some files without asking.
    pub(super) fn writes(self) -> bool {
        self.sandbox == Sandbox::WorkspaceWrite && self.approval != Approval::Untrusted
    }

    /// The commands that run without asking although nobody allows them.
    pub(super) fn harmless(self) -> &'static [Harmless] {
        if self.approval == Approval::Untrusted { HARMLESS } else { &[] }
    }

    /// The rules about commands: one entry for each answer, and one for what is taken for harmless.
    /// Options may take a command off that list, and others make one dangerous, so neither is relied on.
    pub(super) fn commands(self, rules: &[Prefix], view: View) -> Encoding {
        let mut rules = rules.to_vec();
        match view {
            View::Mildest => {
                // Whatever has a rule of its own is no longer taken for harmless.
                let known = |command: &&Harmless| {
                    rules.iter().any(|rule| rule.words.as_slice() == [command.name])
                };
                let harmless = self.harmless().iter().filter(|command| !known(command));
                let harmless: Vec<_> = harmless.map(|it| Prefix::harmless(it.name)).collect();
                rules.extend(harmless);
            }
            View::Strictest if self.sandbox == Sandbox::Unbound => {
                rules.push(Prefix { words: vec!["rm".to_owned()], action: Action::Ask });
            }
            View::Strictest => {}
        }
        let answer = |rule: &Prefix| match rule.action {
            Action::Ask => self.asked(),
            action => action,
        };
        let grouped = Action::ALL.iter().rev().filter_map(|action| {
            Prefix::entry(rules.iter().filter(|rule| answer(rule) == *action), *action)
        });
        Encoding {
            section: Section::Bash,
            order: Order::Strictest,
            entries: grouped.collect(),
            default: self.unruled(view),
        }
    }

    /// What an agent may do that is set up so, under these rules.
    pub(super) fn model(self, rules: &[Prefix], view: View) -> Model {
        let mut model = Model::default();
        if self.shell {
            model.add(Section::Bash, "shell", vec![self.commands(rules, view).rules()]);
            model.add(Section::Read, "shell", vec![self.reads(rules)]);
        }
        let (inside, beyond) = self.edits(view);
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
        let free = self.unruled(View::Mildest) == Action::Allow || silent;
        let action = if free { Action::Allow } else { Action::Ask };
        always(Section::Read, action, "every sandbox can read every file")
    }
}
