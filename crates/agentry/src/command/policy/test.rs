//! `agentry policy test`: checks the examples beside the rules.

use agentry_compile::policy::{PolicyTest, Verdict};
use agentry_compile::tested;
use agentry_compile::text::report::visible;
use agentry_compile::text::{SourceFiles, Spanned};
use serde_json::{Value, json};

use crate::args::{PolicyTestArguments, ResultFormat};
use crate::command::{find, usable};
use crate::disk::DiskWorld;
use crate::output::{CliOutcome, ExitKind, columns, complain, print, print_json};

pub(crate) fn run(args: &PolicyTestArguments) -> CliOutcome {
    let disk = DiskWorld::default();
    let (agents, wrong) = find(&disk, &args.agents, args.format_override);
    let mut exit = ExitKind::Done;
    // A wrong path does not affect the others.
    for failure in &wrong {
        complain(failure);
        exit = exit.max(failure.exit);
    }
    let (mut results, mut rows) = (Vec::new(), Vec::new());
    let mut failed = 0;
    for found in &agents {
        let compiled = usable(&disk, found)?;
        for (test, verdict) in tested(&disk, &compiled) {
            failed += usize::from(!test.expected.holds(verdict.action));
            results.push(to_json(test, &verdict, &compiled.sources));
            rows.push(row(test, &verdict, &compiled.sources));
        }
    }
    match args.format {
        ResultFormat::Json => print_json(&json!({"tests": results, "failed": failed})),
        ResultFormat::Human => {
            print(&format!("{}{}\n", columns(&rows), summary(rows.len(), failed)));
        }
    }
    Ok(if failed == 0 { exit } else { exit.max(ExitKind::Findings) })
}

fn summary(count: usize, failed: usize) -> String {
    match (count, failed) {
        (0, _) => "no examples: write some in a `policy-tests` block".to_owned(),
        (1, 0) => "1 example holds".to_owned(),
        (_, 0) => format!("{count} examples hold"),
        _ => format!("{failed} of {count} examples do not hold"),
    }
}

fn to_json(test: &Spanned<PolicyTest>, verdict: &Verdict, sources: &SourceFiles) -> Value {
    let PolicyTest { section, subject, expected } = &test.value;
    json!({
        "section": section.as_str(),
        "subject": subject,
        "expected": expected.as_str(),
        "verdict": verdict.action.as_str(),
        "holds": expected.holds(verdict.action),
        "path": sources.path(test.span),
        "line": sources.start(test.span).line,
    })
}

fn row(test: &Spanned<PolicyTest>, verdict: &Verdict, sources: &SourceFiles) -> Vec<String> {
    let PolicyTest { section, subject, expected } = &test.value;
    let holds = if expected.holds(verdict.action) { "ok" } else { "FAILED" };
    let answer = match holds {
        "ok" => verdict.action.to_string(),
        _ => {
            let decided = verdict.reasons.iter().find(|reason| reason.action == verdict.action);
            let rule = decided.map_or(String::new(), |reason| format!(" by `{}`", reason.rule));
            format!("{}, not {expected}{rule}", verdict.action)
        }
    };
    let place = format!("{}:{}", sources.path(test.span), sources.start(test.span).line);
    let cells = [holds, section.as_str(), subject.as_str(), answer.as_str(), place.as_str()];
    cells.map(|cell| visible(cell).into_owned()).into()
}
