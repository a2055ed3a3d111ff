//! OpenCode: the last rule that matches wins.

use crate::{Wish, file, one};

#[test]
fn t1_rules_are_reversed_after_the_catch_all() {
    let lines = r#"
[permissions.bash]
intent = "ask"
rules = ["git push --force*:deny", "git push*:allow"]
"#;
    let rendered = one("opencode", lines, Wish::default());
    let expected = "  bash:\n    \"*\": ask\n    git push*: allow\n    git push --force*: deny\n";
    let text = file(&rendered, ".opencode/agents/helper.md");
    assert!(text.contains(expected), "{text}");
}

#[test]
fn the_planner() {
    let files = crate::planner();
    let r = crate::rendering("opencode", &files, Wish::default());
    for f in &r.agents[0].files {
        println!("=== {}\n{}", f.path, f.text);
    }
    println!("{}", crate::told(&r.agents[0]));
}
