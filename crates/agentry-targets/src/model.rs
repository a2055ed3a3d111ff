//! How a harness reads its own files, as rules that the policy engine can compare.

use std::sync::{Arc, OnceLock};

use agentry_policy::{Action, PathAnchors, Pattern, PatternKind, PolicyRule, RuleList, Section};

use crate::encoding::RuleEncoding;
use crate::proof;

/// What an agent may do in a harness: the most that its files may mean, against which a rendered agent is
/// proved. The least, for an imported agent, is a [`PermittedBound`](crate::import::PermittedBound).
#[derive(Debug, Clone, Default)]
pub struct HarnessModel {
    /// The tools, each with its rules. Agents with the same rules share this list.
    pub ways: Arc<Vec<HarnessTool>>,
    /// Whether the agent is only text, which a session follows with its own tools.
    pub is_text: bool,
}

/// One tool of a harness, and the rules that decide about its calls.
#[derive(Debug, Clone)]
pub struct HarnessTool {
    /// The section of the model that its calls belong to.
    pub section: Section,
    /// The name of the tool in the harness.
    pub tool: String,
    /// The rules of the tool in every mode; the strictest of several lists decides.
    pub layers: Vec<RuleList>,
    /// What the harness also asks about in its ordinary interactive mode. Other modes skip it.
    pub asked: Option<RuleList>,
    /// How many of the layers hold in every mode.
    lasting: usize,
    key: OnceLock<Arc<str>>,
}

impl HarnessTool {
    /// The rules that hold in every mode.
    pub(crate) fn lasting(&self) -> &[RuleList] {
        self.layers.get(..self.lasting).unwrap_or(&self.layers)
    }

    /// A text of everything that its verdicts depend on, for the memo.
    pub(crate) fn key(&self) -> Arc<str> {
        Arc::clone(self.key.get_or_init(|| proof::key(&self.layers).into()))
    }
}

impl HarnessModel {
    /// Adds a tool.
    pub fn add(&mut self, section: Section, tool: impl Into<String>, layers: Vec<RuleList>) {
        self.add_asked(section, tool, layers, None);
    }

    /// Adds a tool that the harness also asks about in its ordinary mode.
    pub fn add_asked(
        &mut self,
        section: Section,
        tool: impl Into<String>,
        layers: Vec<RuleList>,
        asked: Option<RuleList>,
    ) {
        let (tool, lasting, key) = (tool.into(), layers.len(), OnceLock::new());
        let way = HarnessTool { section, tool, layers, asked, lasting, key };
        Arc::make_mut(&mut self.ways).push(way);
    }

    /// Returns the model of a session: with the questions of the ordinary mode if a person answers them.
    #[must_use]
    pub fn in_session(mut self, attended: bool) -> Self {
        if attended && self.ways.iter().any(|way| way.asked.is_some()) {
            for way in Arc::make_mut(&mut self.ways) {
                way.layers.extend(way.asked.take());
                way.key = OnceLock::new();
            }
        }
        self
    }

    /// Removes all tools for which `keep` is false.
    pub(crate) fn retain(&mut self, keep: impl Fn(&HarnessTool) -> bool) {
        Arc::make_mut(&mut self.ways).retain(keep);
    }

    /// Adds a tool once per reading of its rules, with the layers `others` beside them.
    pub fn add_readings(
        &mut self,
        tool: &str,
        encoding: &RuleEncoding,
        others: &[RuleList],
        asked: Option<&RuleList>,
    ) {
        for rules in encoding.readings() {
            let layers = std::iter::once(rules).chain(others.iter().cloned()).collect();
            self.add_asked(encoding.section, tool, layers, asked.cloned());
        }
    }
}

/// One verdict for a whole section.
pub fn always(section: Section, action: Action, text: &str) -> RuleList {
    let intent = PolicyRule {
        pattern: Pattern::new(section.kind(), "**", action, &PathAnchors::default()),
        action,
        text: text.to_owned(),
        span: None,
    };
    RuleList { section, rules: Vec::new(), intent }
}

/// Turns rules about paths outside the workspace into a layer for files; inside the workspace it allows.
pub fn outside(section: Section, rules: &RuleList) -> RuleList {
    let root = regex_of_path(&PathAnchors::default().workspace);
    let inside = PolicyRule {
        pattern: Pattern::foreign(
            PatternKind::Path,
            &format!("{root}(?s:.)*"),
            "inside the workspace",
            Action::Allow,
        ),
        action: Action::Allow,
        text: "inside the workspace".to_owned(),
        span: None,
    };
    let mut layer = rules.clone();
    layer.section = section;
    // The first match decides, so files inside never reach the other rules.
    layer.rules.insert(0, inside);
    layer
}

/// A regular expression for a path as the policy engine matches it: each segment is followed by `/`.
pub fn regex_of_path(path: &str) -> String {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    segments.flat_map(|segment| [escape(segment), "/".to_owned()]).collect()
}

/// Returns a regular expression for all commands that start with these words.
pub(crate) fn starting_with(words: &[&str]) -> String {
    let words = words.iter().flat_map(|word| [escape(word), r"\x00".to_owned()]);
    words.chain([r"(?:[^\x00]*\x00)*".to_owned()]).collect()
}

/// Escapes a text for a regular expression.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // `\<` and `\>` would match word boundaries.
        if c.is_ascii_punctuation() && !matches!(c, '_' | '<' | '>') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
