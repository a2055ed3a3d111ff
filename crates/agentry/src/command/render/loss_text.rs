//! The texts of losses: finds the example in one, and shortens lists.

use std::cmp::Reverse;

use agentry_compile::policy::Action;
use agentry_compile::text::report::visible;

/// The number of names that are listed before the rest is counted.
const NAMED: usize = 3;

/// The text of a loss without its example and without the omitted tools: the part that equal losses
/// share. `section` may stand before the example.
pub(super) fn gist(detail: &str, section: &str) -> String {
    let mut out = match shown(detail) {
        Some((before, _, after)) => {
            let before = before.strip_suffix(&format!("{section} ")).unwrap_or(before);
            format!("{before}what {}", after.replacen("in the source and", "in the source is", 1))
        }
        None => detail.to_owned(),
    };
    // The tools of a server differ from agent to agent, so they are not part of the shared text.
    if let Some((before, after)) = out.split_once(" left out")
        && let Some((head, _)) = before.split_once(": `")
    {
        out = format!("{head}: its tools left out{after}");
    }
    out
}

/// A text without the names and paths that it quotes.
pub(super) fn unnamed(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(at, part)| if at % 2 == 0 { part } else { "`" }).collect()
}

/// The text of a loss whose example is one of several.
pub(super) fn example(detail: &str) -> String {
    match shown(detail) {
        Some((before, example, after)) => format!("{before}e.g. `{example}` {after}"),
        None => format!("e.g. {detail}"),
    }
}

/// Splits a loss into the text before its example, the example, and the text about it.
fn shown(detail: &str) -> Option<(&str, &str, &str)> {
    let names_verdict = |tail: &str, action: &str| {
        tail.strip_prefix(action).is_some_and(|tail| tail.starts_with(" in the source"))
    };
    let marks = detail.match_indices("` is ");
    let mut ends = marks.filter(|(at, mark)| {
        let tail = detail.get(at + mark.len()..).unwrap_or_default();
        Action::WORDS.iter().any(|action| names_verdict(tail, action))
    });
    let (end, _) = ends.next()?;
    let (head, tail) = (detail.get(..end)?, detail.get(end + 2..)?);
    // An example may contain backticks, so it is found by its start: the sentence, or the part after a `;`.
    let start = match head.rfind("; `") {
        Some(at) => at + 2,
        None => head.find('`')?,
    };
    Some((head.get(..start)?, head.get(start + 1..)?, tail))
}

/// Something that a harness does not check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlindSpotText<'a> {
    name: &'a str,
    example: &'a str,
    verdicts: &'a str,
}

impl<'a> BlindSpotText<'a> {
    /// Parses a loss of the form `name: why; example`.
    pub(super) fn of(detail: &'a str) -> Option<Self> {
        let (name, _) = detail.split_once(": ").filter(|(name, _)| !name.contains('`'))?;
        let (before, example, verdicts) = shown(detail)?;
        (before.ends_with("; ") && verdicts.ends_with(" there")).then_some(Self {
            name,
            example,
            verdicts,
        })
    }

    /// All of these in one sentence, with the most telling example.
    pub(super) fn joined(all: &[Self], title: &str) -> String {
        let names: Vec<&str> = all.iter().map(|spot| spot.name).collect();
        let names = match names.split_last() {
            Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
            _ => names.concat(),
        };
        // The most telling example: the source is strictest and the harness mildest.
        let rank = |spot: &&Self| {
            let place = |is: &dyn Fn(&str) -> bool| Action::WORDS.iter().position(|word| is(word));
            let there = place(&|word| spot.verdicts.ends_with(&format!("{word} there")));
            let source = place(&|word| spot.verdicts.starts_with(&format!("is {word} ")));
            (there, Reverse(source))
        };
        let shown = all.iter().min_by_key(rank);
        let shown =
            shown.map_or(String::new(), |spot| format!("; `{}` {}", spot.example, spot.verdicts));
        format!("{title} does not check {names}{shown}")
    }
}

/// A short list of fields: `permissions.{bash,edit}`.
pub(super) fn fields(all: &[&str]) -> String {
    let sections: Option<Vec<&str>> =
        all.iter().map(|field| field.strip_prefix("permissions.")).collect();
    match (all, sections) {
        ([one], _) => (*one).to_owned(),
        (_, Some(sections)) => format!("permissions.{{{}}}", sections.join(",")),
        _ => all.join(", "),
    }
}

/// Some of `total`, counted and named; `None` if there is only one.
pub(super) fn listed(some: &[&str], total: usize, what: &str) -> Option<String> {
    match (some.len(), total) {
        (_, 0 | 1) => None,
        (2, 2) => Some(format!("both {what}s")),
        (count, total) if count == total => Some(format!("all {total} {what}s")),
        (count, _) if count > NAMED => Some(format!("{count} {what}s: {}", names(some))),
        _ => Some(names(some)),
    }
}

/// The first names, and the number of the rest.
pub(super) fn names(all: &[&str]) -> String {
    let shown: Vec<_> = all.iter().take(NAMED).map(|name| visible(name).into_owned()).collect();
    let more = all.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_gists_leave_out_the_example() {
        let cases = [
            (
                "`x` is ask in the source and deny here",
                "",
                "what is ask in the source is deny here",
            ),
            (
                "`a`b` is ask in the source and deny here",
                "",
                "what is ask in the source is deny here",
            ),
            (
                "secrets: Pi does not check them; `.env` is ask in the source and allow there",
                "read",
                "secrets: Pi does not check them; what is ask in the source is allow there",
            ),
            (
                "Pi checks no call and edit `/` is ask in the source: `edit` and `write` left out; so",
                "edit",
                "Pi checks no call and what is ask in the source: its tools left out; so",
            ),
            ("the skill `a` was not found", "", "the skill `a` was not found"),
        ];
        for (detail, section, expected) in cases {
            assert_eq!(gist(detail, section), expected, "{detail}");
        }
    }

    #[test]
    fn blind_spots_are_recognised_in_loss_details() {
        let details = [
            "variables: it takes `X=1` for a name; `X=1 ls` is deny in the source and ask there",
            "options: it has no table; `ls --output=x` is ask in the source and allow there",
            "redirections: it checks only commands; `ls > x` is deny in the source and allow there",
        ];
        let spots: Vec<BlindSpotText<'_>> =
            details.iter().filter_map(|detail| BlindSpotText::of(detail)).collect();
        assert_eq!(
            BlindSpotText::joined(&spots, "Pi"),
            "Pi does not check variables, options and redirections; `ls > x` is deny in the \
             source and allow there"
        );
        for other in ["`x` is ask in the source and deny here", "session: Codex takes `-s`"] {
            assert_eq!(BlindSpotText::of(other), None, "{other}");
        }
    }

    #[test]
    fn long_lists_are_shortened() {
        let all = ["a", "b", "c", "d", "e"];
        let cases: [(&[&str], usize, Option<&str>); 5] = [
            (&all[..1], 1, None),
            (&all, 5, Some("all 5 agents")),
            (&all[..2], 2, Some("both agents")),
            (&all[..2], 5, Some("a, b")),
            (&all[..4], 5, Some("4 agents: a, b, c and 1 more")),
        ];
        for (some, total, expected) in cases {
            assert_eq!(listed(some, total, "agent").as_deref(), expected, "{some:?} of {total}");
        }
        assert_eq!(fields(&["permissions.bash", "permissions.edit"]), "permissions.{bash,edit}");
        assert_eq!(fields(&["mode", "tags"]), "mode, tags");
    }
}
