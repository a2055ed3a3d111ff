//! The setups of an agent, from the mildest to the strictest, and what each of them permits.

use agentry_policy::{Action, RuleList, Section, words};

use super::NAME;
use super::prefix::PrefixRule;
use crate::encoding::{EncodingView, MatchOrder, RuleEncoding};
use crate::harmless_commands::{HARMLESS, HarmlessCommand};
use crate::model::{HarnessModel, always, outside};
use crate::question_habits::is_asked;

words! {
    /// When the user is asked.
    pub enum CodexApproval {
        /// When the agent asks to leave the sandbox.
        OnRequest = "on-request",
        /// About every change, and every command that is not considered harmless.
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
    setup(true, CodexApproval::Untrusted, CodexSandbox::ReadOnly),
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

    /// The verdict for a command without a rule. For an import, running in a sandbox does not count as
    /// allowed, because a definition has no such sandbox.
    pub(super) fn unruled(self, view: EncodingView) -> Action {
        let waits = self.approval == CodexApproval::Untrusted;
        let runs = match view {
            EncodingView::Mildest => !waits || self.sandbox == CodexSandbox::Unbound,
            EncodingView::Strictest => !waits && self.sandbox == CodexSandbox::Unbound,
        };
        if runs { Action::Allow } else { self.asked() }
    }

    /// The verdicts for changes inside and outside the workspace.
    pub(super) fn edits(self, view: EncodingView) -> (Action, Action) {
        let waits = self.approval == CodexApproval::Untrusted;
        let asked = self.asked();
        match self.sandbox {
            CodexSandbox::Unbound if view == EncodingView::Mildest || !waits => {
                (Action::Allow, Action::Allow)
            }
            CodexSandbox::WorkspaceWrite if !waits => (Action::Allow, asked),
            CodexSandbox::Unbound | CodexSandbox::WorkspaceWrite | CodexSandbox::ReadOnly => {
                (asked, asked)
            }
        }
    }

    /// Whether commands write some files without a question.
    pub(super) fn writes(self) -> bool {
        self.sandbox == CodexSandbox::WorkspaceWrite && self.approval != CodexApproval::Untrusted
    }

    /// The commands that run without a question and without a rule.
    pub(super) fn harmless(self) -> &'static [HarmlessCommand] {
        if self.approval == CodexApproval::Untrusted { HARMLESS } else { &[] }
    }

    /// Encodes the command rules, with one entry per verdict. Options can make a command harmless or
    /// dangerous, so no view relies on that.
    pub(super) fn commands(self, rules: &[PrefixRule], view: EncodingView) -> RuleEncoding {
        let mut rules = rules.to_vec();
        match view {
            EncodingView::Mildest => {
                // A command with its own rule is no longer considered harmless.
                let known = |command: &&HarmlessCommand| {
                    rules.iter().any(|rule| rule.words.as_slice() == [command.name])
                };
                let harmless = self.harmless().iter().filter(|command| !known(command));
                let harmless: Vec<_> = harmless.map(|it| PrefixRule::harmless(it.name)).collect();
                rules.extend(harmless);
            }
            EncodingView::Strictest if self.sandbox == CodexSandbox::Unbound => {
                // Codex may ask about `rm` even without a sandbox.
                rules.push(PrefixRule { words: vec!["rm".to_owned()], action: Action::Ask });
            }
            EncodingView::Strictest => {}
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

    /// What this setup asks about, apart from commands that it considers harmless: what no rule allows.
    pub(super) fn asked_commands(self, rules: &[PrefixRule]) -> Option<RuleList> {
        let waits = self.unruled(EncodingView::Mildest) == Action::Ask;
        if !waits || !is_asked(NAME, Section::Bash) {
            return None;
        }
        let allowed = rules.iter().filter(|rule| rule.action == Action::Allow);
        let entries = PrefixRule::entry(allowed, Action::Allow).into_iter().collect();
        let (section, order, default) = (Section::Bash, MatchOrder::First, Action::Ask);
        Some(RuleEncoding { section, order, entries, default }.rules())
    }

    /// Returns what an agent with this setup may do under these rules.
    pub(super) fn model(self, rules: &[PrefixRule], view: EncodingView) -> HarnessModel {
        let mut model = HarnessModel::default();
        if self.shell {
            let commands = vec![self.commands(rules, view).rules()];
            model.add_asked(Section::Bash, "shell", commands, self.asked_commands(rules));
            model.add(Section::Read, "shell", vec![self.reads(rules)]);
        }
        let (inside, beyond) = self.edits(view);
        let beyond = always(Section::ExternalDirectory, beyond, self.approval.as_str());
        let inside = always(Section::Edit, inside, self.sandbox.as_str());
        let layers = vec![inside, outside(Section::Edit, &beyond)];
        model.add(Section::Edit, "apply_patch", layers);
        model
    }

    /// Whether some command can show any file without a question.
    pub(super) fn reads(self, rules: &[PrefixRule]) -> RuleList {
        let asks = |name: &str| {
            let about = |rule: &&PrefixRule| {
                rule.words.len() == 1 && rule.words.first().is_some_and(|word| word == name)
            };
            rules.iter().filter(about).any(|rule| rule.action > Action::Allow)
        };
        let silent = self.harmless().iter().any(|command| command.reads && !asks(command.name));
        let free = self.unruled(EncodingView::Mildest) == Action::Allow || silent;
        let action = if free { Action::Allow } else { Action::Ask };
        always(Section::Read, action, "every sandbox can read every file")
    }
}
