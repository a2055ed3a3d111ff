//! Ordered rules per section; the first match decides.

use agentry_text::Spanned;

use crate::notations::{nowhere, section};
use crate::{Action, Declared};

crate::words! {
    /// The kind of call that rules are about.
    pub enum Section {
        /// Shell commands.
        Bash = "bash",
        /// Creating, changing, moving and deleting files.
        Edit = "edit",
        /// Reading files.
        Read = "read",
        /// Fetching a web address.
        Webfetch = "webfetch",
        /// Searching the web.
        Websearch = "websearch",
        /// Asking the user a question.
        Question = "question",
        /// Files outside the workspace.
        ExternalDirectory = "external_directory",
        /// Tools of MCP servers.
        Mcp = "mcp",
        /// Other tools by name.
        Tool = "tool",
        /// Skills by name.
        Skill = "skill",
        /// Delegating work to another agent.
        Delegate = "delegate",
        /// Environment variables.
        Env = "env",
    }
}

impl Section {
    /// Returns the verdict inside the workspace where the section was not written: a call asks, but files may
    /// be read, and asking the user a question is always allowed.
    pub fn unwritten_action(self) -> Action {
        if matches!(self, Self::Read | Self::Question) { Action::Allow } else { Action::Ask }
    }

    /// Returns the rules of a section that was not written. What is read outside the workspace follows the rules
    /// about external directories.
    pub fn unwritten(self) -> SectionRules {
        section(self, nowhere(), self.unwritten_action(), Vec::new())
    }
}

/// The rules of an agent, one entry per section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// The sections, in source order.
    pub sections: Vec<SectionRules>,
}

/// The rules of one section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionRules {
    /// The section.
    pub section: Spanned<Section>,
    /// The verdict if no rule matches; `ask` if it was not written.
    pub intent: Declared<Action>,
    /// The rules, in order.
    pub rules: Vec<Spanned<PatternRule>>,
}

/// One rule: `git log*:allow`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PatternRule {
    /// The pattern as written.
    pub pattern: String,
    /// The verdict of the rule.
    pub action: Action,
}

impl Permissions {
    /// Returns the rules of `section`, if it was written.
    pub fn get(&self, section: Section) -> Option<&SectionRules> {
        self.sections.iter().find(|rules| rules.section.value == section)
    }

    /// Returns the mildest verdict of `section`.
    pub fn mildest(&self, section: Section) -> Action {
        self.get(section).map_or(section.unwritten_action(), SectionRules::mildest)
    }

    /// Returns a verdict that is at least as strict as every one of `section`; where it was not written, as
    /// every one inside the workspace.
    pub fn strictest(&self, section: Section) -> Action {
        self.get(section).map_or(section.unwritten_action(), SectionRules::strictest)
    }
}

impl SectionRules {
    /// Returns the mildest verdict of the intent and all rules.
    pub fn mildest(&self) -> Action {
        let intent = self.intent.map_or(Action::Ask, |intent| intent.value);
        self.rules.iter().fold(intent, |mildest, rule| mildest.min(rule.action))
    }

    /// Returns the same rules, none milder than `least`.
    #[must_use]
    pub fn at_least(&self, least: Action) -> Self {
        let mut rules = self.clone();
        let place = rules.intent.map_or(rules.section.span, |intent| intent.span);
        let intent = rules.intent.map_or(Action::Ask, |intent| intent.value);
        rules.intent = Some(Spanned::new(intent.strictest(least), place));
        for rule in &mut rules.rules {
            rule.value.action = rule.action.strictest(least);
        }
        rules
    }

    /// Returns a verdict at least as strict as the intent and all rules.
    pub fn strictest(&self) -> Action {
        let intent = self.intent.map_or(Action::Ask, |intent| intent.value);
        self.rules.iter().fold(intent, |strictest, rule| strictest.max(rule.action))
    }
}

impl std::fmt::Display for PatternRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.pattern, self.action)
    }
}

impl std::str::FromStr for PatternRule {
    type Err = InvalidRule;

    /// Splits at the **last** colon, so that a pattern may contain colons.
    fn from_str(text: &str) -> Result<Self, InvalidRule> {
        let (pattern, action) = text.rsplit_once(':').ok_or(InvalidRule::NoAction)?;
        if pattern.trim().is_empty() {
            return Err(InvalidRule::NoPattern);
        }
        let action = action.parse().map_err(|()| InvalidRule::Action(action.to_owned()))?;
        Ok(Self { pattern: pattern.to_owned(), action })
    }
}

/// The reason why a text is no [`PatternRule`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidRule {
    /// There is no colon.
    NoAction,
    /// The text before the last colon is empty.
    NoPattern,
    /// The text after the last colon is no action.
    Action(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_splits_at_its_last_colon() {
        let rule = |pattern: &str, action| Ok(PatternRule { pattern: pattern.to_owned(), action });
        let cases = [
            ("git log*:allow", rule("git log*", Action::Allow)),
            ("npm run test:unit:deny", rule("npm run test:unit", Action::Deny)),
            ("git push", Err(InvalidRule::NoAction)),
            (":allow", Err(InvalidRule::NoPattern)),
            ("ls *:Allow", Err(InvalidRule::Action("Allow".to_owned()))),
            ("ls *: allow", Err(InvalidRule::Action(" allow".to_owned()))),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<PatternRule>(), expected, "{text}");
        }
    }
}
