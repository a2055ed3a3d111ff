//! Judges the addresses in the arguments of a command; an address such as `file:///a` is a file.

use crate::Section;
use crate::argv::ShellWord;
use crate::path::LinkResolver;
use crate::pattern::PatternSubject;
use crate::shell::CurrentDirs;
use crate::verdict::LayerDecision;
use crate::web::address;
use crate::{LayerSource, RuleList};

use super::{Judge, READING, SectionCall, UNKNOWN, counts, is_strict};

impl Judge {
    /// Returns what is against an address.
    pub(super) fn fetched(
        &self,
        word: &ShellWord,
        bases: &CurrentDirs,
        call: SectionCall<'_>,
        resolver: &dyn LinkResolver,
    ) -> Option<LayerDecision> {
        let text = word.literal();
        if let Some(file) = local_file(word) {
            return self.operand(READING, &file, bases, call, resolver);
        }
        if !self.rules(Section::Webfetch).any(|(_, rules)| is_strict(rules, READING)) {
            return None;
        }
        let address = text.and_then(|text| address(text).ok());
        let Some(address) = address else {
            return self.not_understood(Section::Webfetch, UNKNOWN);
        };
        let subject = PatternSubject::Text(&address.text);
        let decide = |(source, rules): (LayerSource, &RuleList)| {
            let rule = rules.first(subject);
            counts(rule, rules, READING).then(|| LayerDecision::by(rule, source))
        };
        self.rules(Section::Webfetch).filter_map(decide).reduce(LayerDecision::strictest)
    }
}

/// Returns the file that an address of the scheme `file` names; any file, if the word may become such an address.
fn local_file(word: &ShellWord) -> Option<ShellWord> {
    let text = word.start();
    let (scheme, rest) = text.split_once(':')?;
    // `curl` expands braces and brackets, also those in a scheme.
    if scheme.contains(['{', '[']) {
        return Some(ShellWord::any());
    }
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    if word.literal().is_none() || rest.contains(['{', '[']) {
        return Some(ShellWord::any());
    }
    // `file://localhost/a` names a host, which is this machine.
    let path = match rest.strip_prefix("//") {
        Some(behind) => behind.find('/').and_then(|at| behind.get(at..)).unwrap_or_default(),
        None => rest,
    };
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    Some(ShellWord::text(decoded))
}
