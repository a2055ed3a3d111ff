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
}

/// One tool of a harness, and the rules that decide about its calls.
#[derive(Debug, Clone)]
pub struct HarnessTool {
    /// The section of the model that its calls belong to.
    pub section: Section,
    /// The name of the tool in the harness.
    pub tool: String,
    /// The rules of the tool; the strictest of several lists decides.
    pub layers: Vec<RuleList>,
    key: OnceLock<Arc<str>>,
}

impl HarnessTool {
    /// A text of everything that its verdicts depend on, for the memo.
    pub(crate) fn key(&self) -> Arc<str> {
        Arc::clone(self.key.get_or_init(|| proof::key(&self.layers).into()))
    }
}

impl HarnessModel {
    /// Adds a tool.
    pub fn add(&mut self, section: Section, tool: impl Into<String>, layers: Vec<RuleList>) {
        let way = HarnessTool { section, tool: tool.into(), layers, key: OnceLock::new() };
        Arc::make_mut(&mut self.ways).push(way);
    }

    /// Removes all tools for which `keep` is false.
    pub(crate) fn retain(&mut self, keep: impl Fn(&HarnessTool) -> bool) {
        Arc::make_mut(&mut self.ways).retain(keep);
    }

    /// Adds a tool once per reading of its rules, with the layers `others` beside them.
    pub fn add_readings(&mut self, tool: &str, encoding: &RuleEncoding, others: &[RuleList]) {
        for rules in encoding.readings() {
            let layers = std::iter::once(rules).chain(others.iter().cloned()).collect();
            self.add(encoding.section, tool, layers);
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
