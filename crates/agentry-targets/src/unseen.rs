//! What the guard cannot see: it reads command lines, and not what a program that they start does.

use agentry_policy::path::NoLinks;
use agentry_policy::{Action, Call, Section};

use crate::rendering::{LossKind, Rendered};
use crate::subject::Subject;

/// Commands that run whatever a file or a text says.
const RUNNING: &[&str] = &[
    "python3 -c x",
    "python3 x.py",
    "python x.py",
    "node -e x",
    "node x.js",
    "perl -e x",
    "ruby -e x",
    "php -r x",
    "deno run x.ts",
    "bun x.ts",
    "./x",
    "npm run x",
    "npx x",
    "uv run x",
    "make x",
    "just x",
    "cargo run",
    "cargo test",
    "go run x",
    "go test",
];

/// Notes that an agent may run programs that can write to what decides about it.
pub(crate) fn programs(subject: &Subject, out: &mut Rendered) {
    let directory = &subject.judge.places().workspace;
    let is_allowed = |line: &&&str| {
        let call = Call { section: Section::Bash, subject: line, directory };
        subject.judge.judge(call, &NoLinks).action == Action::Allow
    };
    if let Some(line) = RUNNING.iter().find(is_allowed) {
        let detail = format!(
            "`{line}` is allow: the guard does not see what a program writes, so it could change the \
             definition or the settings of the harness"
        );
        out.lose("permissions.bash", LossKind::Gap, detail);
    }
}
