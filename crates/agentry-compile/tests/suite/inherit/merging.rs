//! How each block of a base and a child is merged.

use agentry_compile::model::tree;
use agentry_compile::{prompt, resolved, rows};
use serde_json::{Value, json};

use super::{checked, errors};
use crate::world::world;

/// A field of the merged manifest `child` on `base`.
fn merged(base: &str, child: &str, field: &str) -> Value {
    let base = format!("name: base\n{base}");
    let child = format!("name: child\nbase: ./base.agent\n{child}");
    let world = world(&[("base.agent", &base), ("child.agent", &child)]);
    let compiled = checked(&world, "child.agent");
    assert_eq!(errors(&compiled), Vec::<String>::new(), "{child}");
    let json = tree::tree(&resolved(&compiled)).to_data().to_json();
    field.split('.').fold(json, |value, key| value[key].clone())
}

#[test]
fn lists_follow_their_strategy() {
    let names =
        |list: &[&str]| -> Value { list.iter().map(|name| json!({"name": name})).collect() };
    let cases = [
        ("", "skills: [c, a]", names(&["a", "b", "c"])),
        ("merge: {skills: append}\n", "skills: [c, a]", names(&["a", "b", "c"])),
        ("merge: {skills: override}\n", "skills: [c, a]", names(&["c", "a"])),
        ("merge: {skills: restrict}\n", "skills: [c, a]", names(&["a"])),
        ("merge: {skills: override}\n", "skills: []", names(&[])),
        ("merge: {skills: override}\n", "", names(&["a", "b"])),
        ("merge: {skills: restrict}\n", "", names(&["a", "b"])),
    ];
    for (merge, own, expected) in cases {
        assert_eq!(
            merged("skills: [a, b]\n", &format!("{merge}{own}"), "skills"),
            expected,
            "{merge}{own}"
        );
    }
}

#[test]
fn a_child_skill_replaces_the_base_skill() {
    let own = "skills: [{name: a, optional: true}]";
    let expected = json!([{"name": "a", "optional": true}, {"name": "b"}]);
    assert_eq!(merged("skills: [a, b]\n", own, "skills"), expected);
}

#[test]
fn each_tool_list_follows_the_merge_strategy() {
    let base = "tools: {mcp: [a, b], native: [bash]}\n";
    let names =
        |list: &[&str]| -> Value { list.iter().map(|name| json!({"name": name})).collect() };
    let cases = [
        (
            "tools: {mcp: [c], native: [edit, bash]}",
            names(&["a", "b", "c"]),
            json!(["bash", "edit"]),
        ),
        ("merge: {tools: override}\ntools: {mcp: [c]}", names(&["c"]), json!(["bash"])),
        ("merge: {tools: restrict}\ntools: {mcp: [c, b], native: []}", names(&["b"]), json!([])),
    ];
    for (own, mcp, native) in cases {
        assert_eq!(merged(base, own, "tools.mcp"), mcp, "{own}");
        assert_eq!(merged(base, own, "tools.native"), native, "{own}");
    }
}

#[test]
fn child_fields_override_base_fields() {
    let base = "license: MIT\ntags: [x]\nmodel: {preferred: [a/b], fallback: reasoning-low}\n\
        memory: {long_term: local, shared: true}\nauth: {strategy: none}\nauthor: me\nsoul: You are one.\n\
        expose: [{name: e}]\nbehavior: {temperature: 1, max_steps: 7, traits: [t]}\n";
    let cases = [
        ("", "license", json!("MIT")),
        ("license: ISC", "license", json!("ISC")),
        ("", "author", json!("me")),
        ("tags: []", "tags", json!([])),
        ("model: {fallback: reasoning-high}", "model.preferred", json!(["a/b"])),
        ("model: {fallback: reasoning-high}", "model.fallback", json!("reasoning-high")),
        ("", "memory.long_term", json!("local")),
        ("memory: {shared: false}", "memory.long_term", json!("none")),
        ("memory: {shared: false}", "memory.shared", json!(false)),
        ("auth: {strategy: auto}", "auth.strategy", json!("auto")),
        ("", "system", json!("You are one.")),
        ("soul: You are two.", "system", json!("You are two.")),
        ("expose: [{name: f}]", "expose", json!([{"name": "f"}])),
        ("", "max_turns", json!(7)),
        ("behavior: {temperature: 0}", "max_turns", json!(20)),
        ("behavior: {temperature: 0}", "traits", json!(null)),
        ("merge: {behavior: append}\nbehavior: {traits: [u, t]}", "traits", json!(["t", "u"])),
        ("merge: {behavior: append}\nbehavior: {max_steps: 9}", "max_turns", json!(9)),
        ("merge: {behavior: append}\nbehavior: {max_steps: 9}", "temperature", json!(1.0)),
    ];
    for (own, field, expected) in cases {
        assert_eq!(merged(base, own, field), expected, "{field} of {own}");
    }
}

#[test]
fn budgets_only_shrink() {
    let base = "observability: {cost_limit: 1, step_limit: 10, trace: true}\n";
    let cases = [
        (base, "", "step_limit", json!(10)),
        (base, "observability: {step_limit: 5}", "step_limit", json!(5)),
        (base, "observability: {step_limit: 20}", "step_limit", json!(10)),
        (base, "observability: {cost_limit: 2}", "cost_limit", json!(1.0)),
        (base, "observability: {cost_limit: 0.5}", "cost_limit", json!(0.5)),
        (base, "observability: {trace: false}", "trace", json!(true)),
        (base, "observability: {on_exceed: ask}", "on_exceed", json!("abort")),
        // A limit that the base omits is the default of its format.
        ("", "observability: {step_limit: 80}", "step_limit", json!(50)),
        ("observability: {on_exceed: ask}\n", "", "on_exceed", json!("ask")),
        ("", "observability: {cost_limit: 3}", "cost_limit", json!(3.0)),
    ];
    for (base, own, field, expected) in cases {
        assert_eq!(merged(base, own, &format!("budget.{field}")), expected, "{field} of {own}");
    }
}

#[test]
fn hard_rules_of_bases_come_first() {
    let world = world(&[
        ("a.agent", "name: a\nsoul: You answer.\nrules: Never lie.\n"),
        ("b.agent", "name: b\nbase: a.agent\nrules: Never guess.\n"),
        ("c.agent", "name: c\nbase: b.agent\nrules: Never shout.\n"),
    ]);
    let compiled = checked(&world, "c.agent");
    let parts: Vec<_> = prompt(&world, &compiled)
        .into_iter()
        .map(|part| {
            format!("{} {} {}", part.name, part.origin, part.text.lines().last().unwrap_or(""))
        })
        .collect();
    assert_eq!(
        parts,
        [
            "system a.agent:2 You answer.",
            "rules a.agent:3 Never lie.",
            "rules b.agent:3 Never guess.",
            "rules c.agent:3 Never shout.",
        ]
    );
}

#[test]
fn extensions_merge_two_levels_deep() {
    let world = world(&[
        ("a.agent", "name: a\nextensions:\n  x: {a: 1, deep: {k: 1}}\n  y: 1\n"),
        ("b.agent", "name: b\nbase: a.agent\nextensions:\n  x: {b: 2}\n"),
        ("c.agent", "name: c\nbase: b.agent\nextensions:\n  x: {deep: {m: 3}}\n"),
    ]);
    let compiled = checked(&world, "c.agent");
    let rows = rows(&resolved(&compiled), &compiled);
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.field.starts_with("extensions"))
        .map(|row| format!("{} {} {}", row.field, row.value, row.origin))
        .collect();
    assert_eq!(
        rows,
        [
            "extensions.x.a 1 a.agent:3",
            "extensions.x.deep.m 3 c.agent:4",
            "extensions.x.b 2 b.agent:4",
            "extensions.y 1 a.agent:4",
        ]
    );
}

#[test]
fn findings_of_a_base_are_not_repeated_for_children() {
    let world = world(&[
        (
            "base.agent",
            "# agentry: allow(no-description) nobody looks for it\nname: base\nsoul: You answer. TODO\ntools: {mcp: [{name: a, url: 'http://a.org/mcp'}]}\n",
        ),
        ("child.agent", "name: child\ndescription: Answers\nbase: ./base.agent\n"),
    ]);
    let lines: Vec<_> =
        crate::world::report(&world).into_iter().filter(|line| line.starts_with("child")).collect();
    assert_eq!(lines, Vec::<String>::new());
}

#[test]
fn a_child_of_a_disabled_base_is_disabled() {
    let world = world(&[
        (
            "a_base.agent.md",
            "---\ntitle: Base\nicon: 🙂\nversion: 1.0.0\nstatus: disabled\n---\n# Base\n\nAnswers.\n",
        ),
        (
            "a_child.agent.md",
            "---\ntitle: Child\nicon: 🙂\nversion: 1.0.0\nstatus: active\nx-agentry: {base: ./a_base.agent.md}\n---\n# Child\n\nAnswers.\n",
        ),
    ]);
    let compiled = checked(&world, "a_child.agent.md");
    let status = compiled.whole().identity.status.map(|status| status.value.as_str());
    assert_eq!(status, Some("disabled"), "{:?}", compiled.diagnostics);
}
