//! Judges reads and writes of files.

use agentry_commands::secrets::is_secret;

use crate::path::{LinkResolver, absolute, is_inside, with_home};
use crate::verdict::LayerDecision;
use crate::{Action, Section};

use super::{Judge, SectionCall};

impl Judge {
    /// Returns the decision about a path as a user or a tool writes it, with `~`.
    pub(super) fn file(&self, call: SectionCall<'_>, resolver: &dyn LinkResolver) -> LayerDecision {
        match with_home(call.subject, &self.places) {
            Some(path) => self.path(SectionCall { subject: &path, ..call }, resolver),
            None => self.unknown_path(call.section, "another user's home"),
        }
    }

    /// Returns the decision about a path, relative to the directory of the call.
    pub(super) fn path(&self, call: SectionCall<'_>, resolver: &dyn LinkResolver) -> LayerDecision {
        let SectionCall { section, subject, directory } = call;
        let real =
            absolute(subject, directory, &self.places).and_then(|path| resolver.resolve(&path));
        let Some(real) = real else {
            return self.unknown_path(section, "it is not known where it leads");
        };
        // The patterns were converted to lower case when they were compiled.
        let folded = if self.places.ignores_case { real.to_lowercase() } else { real };
        let decision = self.text(section, &folded);
        let decision = match section {
            Section::ExternalDirectory => decision,
            _ if self.is_inside(&folded) => decision,
            _ => decision.strictest(self.text(Section::ExternalDirectory, &folded)),
        };
        match is_secret(&folded, self.places.home.as_deref()) {
            Some(what) if section != Section::ExternalDirectory => decision
                .strictest(LayerDecision::built_in(Action::Ask, format!("a secret: {what}"))),
            _ => decision,
        }
    }

    /// Returns the decision about an unknown path.
    pub(super) fn any_path(&self, section: Section) -> LayerDecision {
        let worst = self.worst(section).strictest(self.worst(Section::ExternalDirectory));
        // Where every command is allowed, other commands can read a secret as well.
        if section == Section::Read && !self.is_open(Section::Bash) {
            return worst.strictest(LayerDecision::built_in(
                Action::Ask,
                "it may be any file, also a secret",
            ));
        }
        worst
    }

    /// Whether a resolved path lies in the workspace.
    pub(super) fn is_inside(&self, path: &str) -> bool {
        let root = &self.places.workspace;
        if self.places.ignores_case {
            is_inside(path, &root.to_lowercase())
        } else {
            is_inside(path, root)
        }
    }

    fn unknown_path(&self, section: Section, why: &str) -> LayerDecision {
        // It may be any path, also a denied one.
        let action = self.any_path(section).action.strictest(Action::Ask);
        LayerDecision::built_in(action, format!("not understood: {why}"))
    }
}
