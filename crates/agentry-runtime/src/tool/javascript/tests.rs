use agentry_compile::policy::Action;
use serde_json::json;

use super::super::testing::{TestRules, judge};
use super::*;

fn described(key: &str, scheme: Value) -> DescribedTool {
    DescribedTool { block: 0, key: key.to_owned(), has_function: true, scheme }
}

#[test]
fn a_scheme_is_checked() {
    let scheme = |name: &str, parameters: Value| json!({"name": name, "description": "d", "parameters": parameters});
    let object = || json!({"type": "object"});
    let deep =
        (0..100).fold(object(), |inner, _| json!({"type": "object", "properties": {"a": inner}}));
    let doubling = {
        let mut definitions = serde_json::Map::new();
        for n in 0..16 {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            definitions.insert(format!("d{n}"), json!({"allOf": [next, next]}));
        }
        definitions.insert("d16".to_owned(), object());
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions})
    };
    let cases = [
        (described("check", scheme("Check", object())), Ok("check")),
        (described("fetch", scheme("fetch", object())), Ok("fetch")),
        (described("a b", scheme("a b", object())), Err("a name has 1 to 64")),
        (described("Bash", scheme("bash", object())), Err("`bash` is the name of a built-in tool")),
        (described("a", json!(null)), Err("`scheme` is not an object")),
        (described("a", json!({})), Err("`scheme.name` is missing")),
        (described("a", scheme("b", object())), Err("`scheme.name` is `b`")),
        (described("a", json!({"name": "a"})), Err("`scheme.description` is missing")),
        (
            described("a", json!({"name": "a", "description": "d"})),
            Err("`scheme.parameters` is missing"),
        ),
        (described("a", scheme("a", json!(5))), Err("`scheme.parameters`: it is not an object")),
        (
            described("a", scheme("a", json!({"type": "string"}))),
            Err("`scheme.parameters`: its type is not `object`"),
        ),
        (described("a", scheme("a", json!({"type": "nothing"}))), Err("`scheme.parameters`: ")),
        (
            described("a", scheme("a", json!({"properties": {"a": {"pattern": "("}}}))),
            Err("`scheme.parameters`: "),
        ),
        (
            described("a", scheme("a", json!({"$ref": "#"}))),
            Err("`scheme.parameters`: `#` refers to itself"),
        ),
        (
            described("a", scheme("a", json!({"properties": {"a": {"$ref": "#"}}}))),
            Err("`scheme.parameters`: `#` refers to itself"),
        ),
        (
            described("a", scheme("a", json!({"$ref": "https://example.com/schema"}))),
            Err("`scheme.parameters`: `https://example.com/schema` refers to nothing here"),
        ),
        (described("a", scheme("a", deep)), Err("`scheme.parameters`: it has more than 64 levels")),
        (
            described("a", scheme("a", doubling)),
            Err("`scheme.parameters`: it has more than 5000 values"),
        ),
    ];
    for (tool, expected) in cases {
        let found = specification(&tool).map(|spec| spec.name);
        match expected {
            Ok(name) => assert_eq!(found.as_deref(), Ok(name)),
            Err(part) => assert!(found.as_ref().is_err_and(|it| it.starts_with(part)), "{found:?}"),
        }
    }
    let unfinished = DescribedTool { has_function: false, ..described("a", scheme("a", object())) };
    assert_eq!(specification(&unfinished), Err("`fn` is not a function".to_owned()));
}

#[test]
fn references_are_replaced() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/name"}, "b": {"$ref": "#/$defs/name", "maxLength": 3}},
        "$defs": {"name": {"type": "string"}},
    });
    let expected = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"allOf": [{"type": "string"}, {"maxLength": 3}]}},
    });
    assert_eq!(scheme::expanded(&schema), Ok(expected));
}

#[test]
fn the_policy_is_asked_where_it_speaks_about_tools() {
    let cases: [(&str, Vec<TestRules<'_>>, &[&str]); 5] = [
        ("Deploy", vec![], &[]),
        ("Deploy", vec![(Section::Bash, Action::Deny, &[])], &[]),
        ("Deploy", vec![(Section::Tool, Action::Ask, &[])], &["Deploy"]),
        // A rule against another spelling of the name holds too; one for it does not lose the tool.
        ("Deploy", vec![(Section::Tool, Action::Allow, &["deploy:deny"])], &["Deploy", "deploy"]),
        ("Deploy", vec![(Section::Tool, Action::Deny, &["Deploy:allow"])], &["Deploy"]),
    ];
    for (name, rules, expected) in cases {
        let judge = judge(&rules, "/workspace".as_ref());
        let found = own_touches(&judge, name);
        let found: Vec<&str> = found.iter().map(|touch| touch.subject.as_str()).collect();
        assert_eq!(found, expected, "{rules:?}");
    }
}
