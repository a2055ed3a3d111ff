//! The setups of an agent, from the mildest to the strictest, and what each of them permits.

use agentry_policy::{Action, Section, words};

use super::prefix::PrefixRule;
use crate::encoding::{EncodingView, MatchOrder, RuleEncoding};
use crate::model::{HarnessModel, always, outside};

words! {
    /// When the user is asked.
    pub enum CodexApproval {
        /// When the agent asks to leave the sandbox.
        OnRequest = "on-request",
        /// Formerly about every change and most commands. Codex 0.166 refuses or ignores it, so it is read
        /// and never rendered.
        Untrusted = "untrusted",
        /// Never: what the sandbox does not permit fails.
        Never = "never",
    }
}

words! {
    /// What commands and changes may touch without a question.
    pub enum CodexSandbox {
        /// The files of the workspace.
        WorkspaceWrite = "workspace-write",
        /// Nothing.
        ReadOnly = "read-only",
        /// Everything, without a sandbox. It is imported, and never rendered.
        Unbound = "danger-full-access",
    }
}

/// The setup of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CodexSetup {
    /// Whether it can run commands.
    pub(super) shell: bool,
    pub(super) approval: CodexApproval,
    pub(super) sandbox: CodexSandbox,
}

const fn setup(shell: bool, approval: CodexApproval, sandbox: CodexSandbox) -> CodexSetup {
    CodexSetup { shell, approval, sandbox }
}

/// All setups that are ever written, the mildest first. The last one permits nothing.
pub(super) const SETUPS: &[CodexSetup] = &[
    setup(true, CodexApproval::OnRequest, CodexSandbox::WorkspaceWrite),
    setup(true, CodexApproval::Never, CodexSandbox::WorkspaceWrite),
    setup(true, CodexApproval::OnRequest, CodexSandbox::ReadOnly),
    setup(true, CodexApproval::Never, CodexSandbox::ReadOnly),
    setup(false, CodexApproval::OnRequest, CodexSandbox::WorkspaceWrite),
    setup(false, CodexApproval::Never, CodexSandbox::WorkspaceWrite),
    setup(false, CodexApproval::OnRequest, CodexSandbox::ReadOnly),
    STRICTEST,
];

/// The setup that permits nothing.
pub(super) const STRICTEST: CodexSetup = setup(false, CodexApproval::Never, CodexSandbox::ReadOnly);

impl CodexSetup {
    /// The verdict for what needs an approval.
    pub(super) fn asked(self) -> Action {
        if self.approval == CodexApproval::Never { Action::Deny } else { Action::Ask }
    }

    /// Whether everything is asked about. Only an older Codex does so, so no render relies on it.
    fn waits(self, view: EncodingView) -> bool {
        view == EncodingView::Strictest && self.approval == CodexApproval::Untrusted
    }

    /// The verdict for a command without a rule. For an import, running in a sandbox does not count as
    /// allowed, because a definition has no such sandbox.
    pub(super) fn unruled(self, view: EncodingView) -> Action {
        let runs = match view {
            EncodingView::Mildest => true,
            EncodingView::Strictest => !self.waits(view) && self.sandbox == CodexSandbox::Unbound,
        };
        if runs { Action::Allow } else { self.asked() }
    }

    /// The verdicts for changes inside and outside the workspace.
    pub(super) fn edits(self, view: EncodingView) -> (Action, Action) {
        let waits = self.waits(view);
        let asked = self.asked();
        match self.sandbox {
            CodexSandbox::Unbound if !waits => (Action::Allow, Action::Allow),
            CodexSandbox::WorkspaceWrite if !waits => (Action::Allow, asked),
            CodexSandbox::Unbound | CodexSandbox::WorkspaceWrite | CodexSandbox::ReadOnly => {
                (asked, asked)
            }
        }
    }

    /// Whether commands write some files without a question.
    pub(super) fn writes(self) -> bool {
        self.sandbox == CodexSandbox::WorkspaceWrite
    }

    /// Encodes the command rules, with one entry per verdict.
    pub(super) fn commands(self, rules: &[PrefixRule], view: EncodingView) -> RuleEncoding {
        let mut rules = rules.to_vec();
        if view == EncodingView::Strictest && self.sandbox == CodexSandbox::Unbound {
            // Codex may ask about `rm` even without a sandbox.
            rules.push(PrefixRule { words: vec!["rm".to_owned()], action: Action::Ask });
        }
        let answer = |rule: &PrefixRule| match rule.action {
            Action::Ask => self.asked(),
            action => action,
        };
        let grouped = Action::ALL.iter().rev().filter_map(|action| {
            PrefixRule::entry(rules.iter().filter(|rule| answer(rule) == *action), *action)
        });
        RuleEncoding {
            section: Section::Bash,
            order: MatchOrder::Strictest,
            entries: grouped.collect(),
            default: self.unruled(view),
        }
    }

    /// Returns what an agent with this setup may do under these rules.
    pub(super) fn model(self, rules: &[PrefixRule], view: EncodingView) -> HarnessModel {
        let mut model = HarnessModel::default();
        if self.shell {
            model.add(Section::Bash, "shell", vec![self.commands(rules, view).rules()]);
            let every = always(Section::Read, Action::Allow, "every sandbox can read every file");
            model.add(Section::Read, "shell", vec![every]);
            // A command that a rule allows runs outside the sandbox.
            let leaves = |rule: &PrefixRule| rule.action == Action::Allow;
            if view == EncodingView::Mildest && rules.iter().any(leaves) {
                let every = always(Section::Edit, Action::Allow, "outside the sandbox");
                model.add(Section::Edit, "shell", vec![every]);
            }
        }
        let (inside, beyond) = self.edits(view);
        let beyond = always(Section::ExternalDirectory, beyond, self.approval.as_str());
        let inside = always(Section::Edit, inside, self.sandbox.as_str());
        let layers = vec![inside, outside(Section::Edit, &beyond)];
        model.add(Section::Edit, "apply_patch", layers);
        model
    }
}
