//! The skip rule of heartbeats: a checklist without anything to check needs no model.

/// Returns whether a `HEARTBEAT.md` has something to do: any text besides headings, comments, rules and empty list
/// items.
#[must_use]
pub fn has_tasks(text: &str) -> bool {
    let text = without_comments(text);
    let mut lines: Vec<&str> = text.lines().map(str::trim).collect();
    // A line above `===` or `---` is a heading; without text above it is a rule.
    for at in (1..lines.len()).rev() {
        let is_underline = lines.get(at).is_some_and(|line| {
            !line.is_empty() && (line.chars().all(|c| c == '=') || line.chars().all(|c| c == '-'))
        });
        if is_underline {
            lines.drain(at - 1..=at);
            lines.insert(at - 1, "");
        }
    }
    lines.into_iter().any(is_task)
}

fn is_task(line: &str) -> bool {
    if line.starts_with('#') {
        return false;
    }
    let line = line.trim_start_matches(['-', '*', '+', '>', '_', '=']).trim_start();
    let line =
        ["[ ]", "[x]", "[X]"].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    !line.trim_matches(['*', '-', '_', ' ']).is_empty()
}

/// The text without HTML comments; one that is not closed reaches to the end.
fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        plain.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_comments_are_no_heartbeat_tasks() {
        let idle = [
            "",
            "  \n\n",
            "# Heartbeat\n\n## Checks\n",
            "# a\n# b comment\n",
            "<!-- check the mail -->",
            "<!-- check\nthe mail\n--> \n# x",
            "<!-- not closed\ncheck",
            "Heartbeat\n=========\n",
            "Checks\n---\n",
            "---\n***\n___\n",
            "- \n* [ ]\n- [ ] \n",
        ];
        for text in idle {
            assert!(!has_tasks(text), "{text:?}");
        }
        let busy = [
            "check the mail",
            "# Heartbeat\n- check the mail\n",
            "- [ ] mail",
            "<!-- x --> mail <!-- y -->",
            "1. mail",
            "> mail",
            "审查邮件",
        ];
        for text in busy {
            assert!(has_tasks(text), "{text:?}");
        }
    }
}
