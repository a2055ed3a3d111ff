//! Abilities: the permissions of an agent, as allow and deny lists that must not contradict each other.

use agentry_policy::{Abilities, Ability, AbilityBase, InvalidAbility};
use agentry_text::suggestion::did_you_mean;
use agentry_text::{Findings, SourceFile, Span, Spanned, TableRecord, TreeNode};

use super::fields::ABILITIES;
use super::metadata::texts;
use super::rules::{
    ABILITIES_CONTRADICT, ABILITY_COMMAND, ABILITY_OVERLAP, ABILITY_SCOPE, ABILITY_TWICE,
    ABILITY_WILDCARD, UNKNOWN_ABILITY,
};

/// Reads `abilities` and the top-level `allow` and `deny`.
pub(super) fn read(
    record: &TableRecord<'_>,
    source: &SourceFile,
    findings: &mut Findings,
) -> Option<Abilities> {
    let mut reader = AbilityReader { source, findings };
    let block = record.record("abilities", &ABILITIES);
    // `abilities: [fs]` is short for `abilities: {allow: [fs]}`.
    let listed = record.node("abilities").filter(|node| node.as_map().is_none());
    let in_block = |name| block.as_ref().and_then(|block| block.node(name));
    let allow = [listed.or_else(|| in_block("allow")), record.node("allow")];
    let deny = [in_block("deny"), record.node("deny")];
    let allow = reader.list("allow", allow);
    // Needs both lists, so it comes after them.
    let deny = reader.list("deny", deny);
    reader.overlap(allow.as_deref(), deny.as_deref());
    let written = block.is_some() || allow.is_some() || deny.is_some();
    written.then_some(Abilities { allow, deny })
}

struct AbilityReader<'r> {
    source: &'r SourceFile,
    findings: &'r mut Findings,
}

impl AbilityReader<'_> {
    /// Reads one list, which may be in `abilities` and at the top level; both must be equal.
    fn list(&mut self, name: &str, nodes: [Option<&TreeNode>; 2]) -> Option<Vec<Spanned<Ability>>> {
        let [block, top] = nodes;
        let first = block.and_then(|node| self.parse(node));
        let second = top.and_then(|node| self.parse(node));
        if let (Some(a), Some(b), Some(block), Some(top)) = (&first, &second, block, top)
            && !(within(a, b) && within(b, a))
        {
            self.findings
                .add(&ABILITIES_CONTRADICT, top.span, format!("`{name}` differs from `abilities`"))
                .related(block.span, "`abilities` says something else")
                .hint("keep one of them");
        }
        first.or(second)
    }

    fn parse(&mut self, node: &TreeNode) -> Option<Vec<Spanned<Ability>>> {
        let mut list: Vec<Spanned<Ability>> = Vec::new();
        for text in texts(node, self.source)? {
            let Some(ability) = self.ability(&text) else { continue };
            match list.iter().find(|other| other.value == ability) {
                Some(first) => self.twice(&ability, text.span, first.span),
                None => list.push(Spanned::new(ability, text.span)),
            }
        }
        Some(list)
    }

    fn twice(&mut self, ability: &Ability, span: Span, first: Span) {
        self.findings
            .add(&ABILITY_TWICE, span, format!("`{ability}` is listed twice"))
            .related(first, "first listed here")
            .hint("remove one of them");
    }

    fn ability(&mut self, text: &Spanned<String>) -> Option<Ability> {
        let words = || AbilityBase::WORDS.iter().copied();
        let all = || format!("use `{}` or `sh:<command>`", AbilityBase::WORDS.join("`, `"));
        let written = text.value.trim();
        let error = match text.value.parse::<Ability>() {
            Ok(ability) => return Some(ability),
            Err(error) => error,
        };
        match error {
            InvalidAbility::Unknown(base) if base.contains('*') => self
                .findings
                .add(&ABILITY_WILDCARD, text.span, format!("`{written}` is not an ability"))
                .hint(format!("list what is meant: `{}`", AbilityBase::WORDS.join("`, `"))),
            InvalidAbility::Unknown(base) => self
                .findings
                .add(&UNKNOWN_ABILITY, text.span, format!("there is no ability `{base}`"))
                .hint(did_you_mean(&base, words()).unwrap_or_else(all)),
            InvalidAbility::Scoped(base) => self
                .findings
                .add(
                    &ABILITY_SCOPE,
                    text.span,
                    format!("`{base}` cannot be narrowed, as in `{written}`"),
                )
                .hint(format!("write `{base}`; only `sh` takes a command")),
            InvalidAbility::Command(command) => {
                let message = if command.is_empty() {
                    "`sh:` names no command".to_owned()
                } else {
                    format!("`{command}` is not one command name")
                };
                let hint = "write one command without arguments, as in `sh:git`";
                self.findings.add(&ABILITY_COMMAND, text.span, message).hint(hint)
            }
        };
        None
    }

    /// Reports abilities that are allowed and also denied as a whole.
    fn overlap(&mut self, allow: Option<&[Spanned<Ability>]>, deny: Option<&[Spanned<Ability>]>) {
        for allowed in allow.unwrap_or_default() {
            let covering = deny.unwrap_or_default().iter().find(|deny| deny.covers(allowed));
            let Some(denied) = covering else { continue };
            let message = if denied.value == allowed.value {
                format!("`{}` is both allowed and denied", allowed.value)
            } else {
                format!("`{}` is allowed, but all of `{}` is denied", allowed.value, denied.value)
            };
            self.findings
                .add(&ABILITY_OVERLAP, allowed.span, message)
                .related(denied.span, "denied here")
                .hint("remove one of them");
        }
    }
}

fn within(a: &[Spanned<Ability>], b: &[Spanned<Ability>]) -> bool {
    a.iter().all(|ability| b.iter().any(|other| other.value == ability.value))
}
