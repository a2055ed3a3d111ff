//! What a harness makes of its own files, as rules that the policy engine can compare.

use std::sync::{Arc, OnceLock};

use agentry_policy::{Action, PathAnchors, Pattern, PatternKind, PolicyRule, RuleList, Section};

use crate::encoding::RuleEncoding;
use crate::proof;

/// What an agent may do in a harness: the most that its files may mean, which is what a rendered agent must
/// hold against. The least, for an imported one, is a [`Bound`](crate::import::PermittedBound).
#[derive(Debug, Clone, Default)]
pub struct HarnessModel {
    /// Every way to do something, tool by tool. Agents with the same rules share them.
    pub ways: Arc<Vec<HarnessTool>>,
}

/// One tool of a harness, and the rules that decide about its calls.
#[derive(Debug, Clone)]
pub struct HarnessTool {
    /// The section of the model that its calls belong to.
    pub section: Section,
    /// What the harness calls it.
    pub tool: String,
    /// Its rules; the strictest of several lists decides.
    pub layers: Vec<RuleList>,
    key: OnceLock<Arc<str>>,
}

impl HarnessTool {
    /// All that a decision by its rules depends on, as text.
    pub(crate) fn key(&self) -> Arc<str> {
        Arc::clone(self.key.get_or_init(|| proof::key(&self.layers).into()))
    }
}

impl HarnessModel {
    /// Adds a way.
    pub fn add(&mut self, section: Section, tool: impl Into<String>, layers: Vec<RuleList>) {
        let way = HarnessTool { section, tool: tool.into(), layers, key: OnceLock::new() };
        Arc::make_mut(&mut self.ways).push(way);
    }

    /// Leaves out all ways but these.
    pub(crate) fn retain(&mut self, keep: impl Fn(&HarnessTool) -> bool) {
        Arc::make_mut(&mut self.ways).retain(keep);
    }

    /// Adds a way for each reading of the rules of a tool, with `others` beside them.
    pub fn add_readings(&mut self, tool: &str, encoding: &RuleEncoding, others: &[RuleList]) {
        for rules in encoding.readings() {
            let layers = std::iter::once(rules).chain(others.iter().cloned()).collect();
            self.add(encoding.section, tool, layers);
        }
    }
}

/// One answer for a whole section.
pub fn always(section: Section, action: Action, text: &str) -> RuleList {
    let intent = PolicyRule {
        pattern: Pattern::new(section.kind(), "**", action, &PathAnchors::default()),
        action,
        text: text.to_owned(),
        span: None,
    };
    RuleList { section, rules: Vec::new(), intent }
}

/// Rules about places outside the workspace as a layer of a section about files: inside, they allow.
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
    layer.rules.insert(0, inside);
    layer
}

/// A path as the machines see it: its segments, each followed by `/`.
pub fn regex_of_path(path: &str) -> String {
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    segments.flat_map(|segment| [escape(segment), "/".to_owned()]).collect()
}

/// A text that matches itself in a regular expression.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // `\<` and `\>` would be the edges of a word.
        if c.is_ascii_punctuation() && !matches!(c, '_' | '<' | '>') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
