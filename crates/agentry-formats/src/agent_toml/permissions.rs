//! `[permissions.TOOL]`: the intent of each section and its rules, in order.

use std::collections::HashMap;
use std::ops::Range;

use agentry_policy::compare::{self, DeadRule, ExampleSubject};
use agentry_policy::memo::PolicyMemo;
use agentry_policy::{
    Action, HazardProtection, InvalidRule, PathAnchors, PatternRule, Permissions, RuleList,
    Section, SectionRules,
};
use agentry_text::edit::{Applicability, TextEdit};
use agentry_text::suggestion::nearest;
use agentry_text::table::Coercion;
use agentry_text::{
    Findings, Fix, SourceFile, Span, Spanned, TableRecord, TreeEntry, TreeMap, TreeNode,
};

use super::fields::SECTION;
use super::rules::{
    CONTRADICTING_RULES, DUPLICATE_RULE, MALFORMED_RULE, SHADOWED_RULE, UNKNOWN_ACTION,
};

/// The most rules of a section that are compared with each other.
const MOST_COMPARED: usize = 500;

/// Reads the sections of `map`, in source order. Unknown sections were reported by the field table.
pub(super) fn read(map: &TreeMap, source: &SourceFile, findings: &mut Findings) -> Permissions {
    let mut reader = PermissionsReader { source, findings, memo: PolicyMemo::default() };
    Permissions { sections: map.entries.iter().filter_map(|entry| reader.section(entry)).collect() }
}

struct PermissionsReader<'r> {
    source: &'r SourceFile,
    findings: &'r mut Findings,
    /// Shared, because the sections of one file often repeat patterns.
    memo: PolicyMemo,
}

impl PermissionsReader<'_> {
    fn section(&mut self, entry: &TreeEntry) -> Option<SectionRules> {
        let section: Section = entry.key.text.parse().ok()?;
        entry.value.as_map()?;
        let record = TableRecord::new(&SECTION, &entry.value, Coercion::Strict);
        let intent = record.str("intent").and_then(|text| {
            let action = text.value.parse().ok()?;
            Some(Spanned::new(action, text.span))
        });
        let written = record.list("rules").unwrap_or_default();
        let rules: Vec<_> = written.iter().filter_map(|node| self.rule(node)).collect();
        let section = Spanned::new(section, entry.key.span);
        let rules = SectionRules { section, intent, rules };
        self.compare(&rules);
        Some(rules)
    }

    fn rule(&mut self, node: &TreeNode) -> Option<Spanned<PatternRule>> {
        let text = node.as_str()?;
        match text.parse::<PatternRule>() {
            Ok(rule) => return Some(Spanned::new(rule, node.span)),
            Err(InvalidRule::NoAction) => {
                let hint =
                    format!("say what happens: `{text}:allow`, `{text}:ask` or `{text}:deny`");
                self.findings
                    .add(&MALFORMED_RULE, node.span, format!("rule `{text}` has no action"))
                    .hint(hint);
            }
            Err(InvalidRule::NoPattern) => {
                self.findings
                    .add(&MALFORMED_RULE, node.span, format!("rule `{text}` has no pattern"))
                    .hint("write what it matches before the colon; `**` matches everything");
            }
            Err(InvalidRule::Action(word)) => self.action(&word, text, node.span),
        }
        None
    }

    fn action(&mut self, word: &str, rule: &str, span: Span) {
        let part = rule.len() - word.len()..rule.len();
        // With escapes in the string the part cannot be located; then the whole rule is underlined.
        let place = self.inside(span, rule, part.clone()).unwrap_or(span);
        let found = self.findings.add(&UNKNOWN_ACTION, place, format!("`{word}` is not an action"));
        let plain = word.trim().to_lowercase();
        if plain.parse::<Action>().is_ok() {
            found.hint(format!("write `{plain}`"));
            if place != span {
                found.fix(Fix::safe(format!("write `{plain}`"), place, plain));
            }
        } else if let Some(near) = nearest(word, Action::WORDS.iter().copied()) {
            found.hint(format!("did you mean `{near}`?"));
        } else {
            let start = rule.trim_end_matches(':');
            found.hint(format!("end the rule with an action, as in `{start}:ask`"));
        }
    }

    /// Returns the span of the part `range` of `text`, if the file has the text unescaped.
    fn inside(&self, span: Span, text: &str, range: Range<usize>) -> Option<Span> {
        let raw = self.source.slice(span);
        let quoted = raw.get(1..raw.len().checked_sub(1)?)?;
        let start = span.range().start + 1;
        (quoted == text).then(|| Span::new(span.file, start + range.start, start + range.end))
    }

    /// Reports rules that never decide, each once.
    fn compare(&mut self, section: &SectionRules) {
        // Rules beyond the limit are not reported, neither here nor as shadowed.
        let rules = section.rules.get(..MOST_COMPARED).unwrap_or(&section.rules);
        let mut first = HashMap::new();
        for (at, late) in rules.iter().enumerate() {
            let before = *first.entry(late.pattern.as_str()).or_insert(at);
            let pair = rules.get(before..=at).unwrap_or_default();
            match pair.first() {
                Some(early) if before < at && early.value == late.value => self.duplicate(pair),
                Some(early) if before < at => self.contradicting(early, late),
                _ => {}
            }
        }
        let compiled = RuleList::new(section, &PathAnchors::default());
        for dead in compare::dead(&self.memo, &compiled, HazardProtection::On).unwrap_or_default() {
            // A repeated pattern was already reported above.
            let repeated = rules
                .get(dead.rule)
                .is_none_or(|late| first.get(late.pattern.as_str()) != Some(&dead.rule));
            if !repeated {
                self.shadowed(&dead, rules, &compiled);
            }
        }
    }

    fn duplicate(&mut self, rules: &[Spanned<PatternRule>]) {
        let [first, .., before, late] = rules else {
            if let [first, late] = rules {
                self.duplicate_of(first, first, late);
            }
            return;
        };
        self.duplicate_of(first, before, late);
    }

    fn duplicate_of(
        &mut self,
        first: &Spanned<PatternRule>,
        before: &Spanned<PatternRule>,
        late: &Spanned<PatternRule>,
    ) {
        // The gap starts after the previous rule, so that the fix also removes the comma.
        let gap = Span { start: before.span.end, end: late.span.start, ..late.span };
        let only_comma = self.source.slice(gap).trim() == ",";
        let found = self
            .findings
            .add(&DUPLICATE_RULE, late.span, format!("rule `{}` is there twice", late.value))
            .related(first.span, "first written here")
            .hint("remove one of them");
        // A comment in the gap would be removed as well, so there is no fix then.
        if only_comma {
            found.fix(Fix::safe("remove the second one", gap.to(late.span), ""));
        }
    }

    fn contradicting(&mut self, early: &Spanned<PatternRule>, late: &Spanned<PatternRule>) {
        let message = format!(
            "`{}` is both `{}` and `{}`; the first one holds",
            late.pattern, early.action, late.action
        );
        self.findings
            .add(&CONTRADICTING_RULES, late.span, message)
            .related(early.span, "this one holds")
            .hint("keep one of them");
    }

    /// Reports a rule that earlier rules cover.
    fn shadowed(&mut self, dead: &DeadRule, rules: &[Spanned<PatternRule>], compiled: &RuleList) {
        let Some(late) = rules.get(dead.rule) else { return };
        let earlier: Vec<_> = dead.covered_by.iter().filter_map(|at| rules.get(*at)).collect();
        // A rule without earlier ones matches nothing at all; it is not reported here.
        let Some((early, others)) = earlier.split_first() else { return };
        let from = dead.covered_by.first().copied().unwrap_or_default();
        let fix = rules
            .get(from..=dead.rule)
            .map(|rules| self.moved_to_front(rules, &format!("move it before `{}`", early.value)));
        let names: Vec<_> =
            earlier.iter().take(3).map(|rule| format!("`{}`", rule.value)).collect();
        let come = if others.is_empty() { "comes" } else { "come" };
        let message =
            format!("rule `{}` never decides: {} {come} first", late.value, names.join(" and "));
        let found = self.findings.add(&SHADOWED_RULE, late.span, message);
        for early in &earlier {
            let label = if others.is_empty() {
                "this one matches all that it matches"
            } else {
                "this one matches a part"
            };
            found.related(early.span, label);
        }
        let answer = |example: &ExampleSubject| {
            let decides = example.with(|subject| compiled.first(subject).action);
            (example.to_string(), decides)
        };
        match dead.example.as_ref().map(answer) {
            // Only a rule whose verdict differs is worth moving; any other is redundant.
            Some((subject, action)) if action != late.action => {
                let becomes = match action {
                    Action::Allow => "allowed",
                    Action::Ask => "asked about",
                    Action::Deny => "denied",
                };
                found.hint(format!("put it first; as it is, `{subject}` is {becomes}"));
                if let Some(fix) = fix {
                    found.fix(fix);
                }
            }
            _ => drop(found.hint("remove it")),
        }
    }

    /// Makes a fix that moves the last of `rules` to the front. The spans stay and the texts rotate.
    fn moved_to_front(&self, rules: &[Spanned<PatternRule>], title: &str) -> Fix {
        let texts = rules.iter().map(|rule| self.source.slice(rule.span).to_owned());
        let mut texts: Vec<_> = texts.collect();
        if let Some(last) = texts.pop() {
            texts.insert(0, last);
        }
        let edits = rules.iter().zip(texts).map(|(rule, text)| TextEdit { span: rule.span, text });
        let edits = edits.collect();
        Fix::several(title, edits, Applicability::Unsafe)
    }
}
