//! AG9023: a script tool that may call a shell, which undoes its isolation.

use agentry_text::{Findings, LintRule, rule};

use crate::{CheckSubject, RuleCheck};

pub(super) const CHECK: RuleCheck = RuleCheck { rule: &RULE, check };

/// Tools that give a script everything the agent may do.
const EVERYTHING: &[&str] = &["*", "**", "bash", "shell", "sh", "exec"];

static RULE: LintRule = rule!("AG9023");

fn check(subject: &CheckSubject<'_>, findings: &mut Findings) {
    for script in &subject.agent.tools.scripts {
        for tool in script.allowed_tools.iter().flatten() {
            if EVERYTHING.contains(&tool.to_lowercase().as_str()) {
                let name = script.name.as_ref().map_or("", |name| name.value.as_str());
                let message = format!("script `{name}` may call `{}`", tool.value);
                findings
                    .add(&RULE, tool.span, message)
                    .hint("list the tools that it needs, as in `[read, grep]`");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use agentry_model::{Agent, ScriptTool};

    use super::*;
    use crate::testing::{at, count, texts};

    #[test]
    fn scripts_that_may_call_a_shell_are_reported() {
        let cases: &[(&[&str], usize)] =
            &[(&["read", "grep"], 0), (&["*"], 1), (&["Bash", "read"], 1), (&[], 0)];
        for (tools, expected) in cases {
            let mut agent = Agent::default();
            let script = ScriptTool { allowed_tools: Some(texts(tools)), ..ScriptTool::default() };
            agent.tools.scripts.push(at(script));
            assert_eq!(count(&CHECK, &agent), *expected, "{tools:?}");
        }
    }
}
