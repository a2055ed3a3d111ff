//! The whole table of trust: every parent, child and grandchild on every axis.

use agentry_compile::model::tree;
use agentry_compile::text::Data;
use agentry_compile::{CompiledAgent, MemoryWorld, resolved};

use super::{checked, errors};

const AXES: &[(&str, &[&str])] = &[
    ("filesystem", &["none", "read-only", "scoped", "full"]),
    ("network", &["none", "scoped", "allowed"]),
    ("exec", &["none", "sandboxed", "full"]),
];

/// A manifest with one axis, or without any trust.
fn manifest(name: &str, base: Option<&str>, axis: &str, word: Option<&str>) -> String {
    let base = base.map_or(String::new(), |base| format!("base: ./{base}.agent\n"));
    let more = match (axis, word) {
        ("filesystem", Some("scoped")) => ", scope: [./work]",
        ("network", Some("scoped")) => ", hosts: [example.com]",
        _ => "",
    };
    let trust = word.map_or(String::new(), |word| format!("trust: {{{axis}: {word}{more}}}\n"));
    format!("name: {name}\ndescription: Answers questions\n{base}{trust}")
}

fn axis_of(compiled: &CompiledAgent, axis: &str) -> String {
    let data = tree::tree(&resolved(compiled)).to_data();
    let word = data.get("trust").and_then(|trust| trust.get(axis)).and_then(Data::as_str);
    word.expect("a word").to_owned()
}

/// The expected trust: the child's value if it is at most the base's, the base's if it has none.
fn expected<'w>(base: &'w str, own: Option<&'w str>, order: &[&str]) -> Result<&'w str, ()> {
    let rank = |word: &str| order.iter().position(|other| *other == word);
    match own {
        None => Ok(base),
        Some(own) if rank(own) <= rank(base) => Ok(own),
        Some(_) => Err(()),
    }
}

#[test]
fn trust_only_narrows() {
    for (axis, words) in AXES {
        let choices: Vec<Option<&str>> =
            [None].into_iter().chain(words.iter().copied().map(Some)).collect();
        for parent in &choices {
            for child in &choices {
                for grandchild in &choices {
                    table_row(axis, words, [*parent, *child, *grandchild]);
                }
            }
        }
    }
}

fn table_row(axis: &str, order: &[&str], words: [Option<&str>; 3]) {
    let [parent, child, grandchild] = words;
    let case = format!("{axis}: {words:?}");
    let world = MemoryWorld::new([
        ("p.agent".to_owned(), manifest("p", None, axis, parent)),
        ("c.agent".to_owned(), manifest("c", Some("p"), axis, child)),
        ("g.agent".to_owned(), manifest("g", Some("c"), axis, grandchild)),
    ]);
    let top = parent.unwrap_or("none");
    let (own, last) = (checked(&world, "c.agent"), checked(&world, "g.agent"));
    let Ok(middle) = expected(top, child, order) else {
        assert!(errors(&own).iter().any(|error| error.starts_with("AG0035")), "{case}");
        assert!(errors(&last).iter().any(|error| error.starts_with("AG0036")), "{case}");
        // Even with the error, nothing was widened.
        assert_eq!(axis_of(&own, axis), top, "{case}");
        return;
    };
    assert_eq!(errors(&own), Vec::<String>::new(), "{case}");
    assert_eq!(axis_of(&own, axis), middle, "{case}");
    match expected(middle, grandchild, order) {
        Ok(own) => {
            assert_eq!(errors(&last), Vec::<String>::new(), "{case}");
            assert_eq!(axis_of(&last, axis), own, "{case}");
        }
        Err(()) => {
            assert!(errors(&last).iter().any(|error| error.starts_with("AG0035")), "{case}");
            assert_eq!(axis_of(&last, axis), middle, "{case}");
        }
    }
}

#[test]
fn a_child_scope_must_lie_inside_the_base_scope() {
    let cases = [
        ("bases", "[./w]", "agents", "[../bases/w/sub]", true),
        ("bases", "[./w]", "agents", "[./w]", false),
        ("bases", "[./w]", "agents", "[../bases]", false),
        ("bases", "[./w]", "agents", "[../bases/w/../x]", false),
        ("bases", "[./w]", "agents", "[../bases/wide]", false),
        ("bases", "[./w, ../data]", "agents", "[../data/a, ../bases/w]", true),
        ("bases", "[/srv/x]", "agents", "[/srv/x/y]", true),
        ("bases", "[./w]", "agents", "[/srv/x]", false),
        ("bases", "[~/notes]", "agents", "[~/notes/today]", true),
        ("bases", "[~/notes]", "agents", "['~/notes/../x']", false),
        ("bases", "[]", "agents", "[./w]", false),
    ];
    for (base_dir, base, dir, own, fits) in cases {
        let manifest = |base: &str, scope: &str| {
            format!("name: x\n{base}trust: {{filesystem: scoped, scope: {scope}}}\n")
        };
        let world = MemoryWorld::new([
            (format!("{base_dir}/p.agent"), manifest("", base)),
            (format!("{dir}/c.agent"), manifest(&format!("base: ../{base_dir}/p.agent\n"), own)),
        ]);
        let found = errors(&checked(&world, &format!("{dir}/c.agent")));
        assert_eq!(found.is_empty(), fits, "{own} in {base}: {found:?}");
        assert!(found.iter().all(|error| error.starts_with("AG0035")), "{found:?}");
    }
}

#[test]
fn an_inherited_scope_is_relative_to_the_base() {
    let world = crate::world::world(&[
        ("bases/p.agent", "name: p\ntrust: {filesystem: scoped, scope: [./w]}\n"),
        ("agents/x/c.agent", "name: c\nbase: ../../bases/p.agent\n"),
    ]);
    let compiled = checked(&world, "agents/x/c.agent");
    let trust = resolved(&compiled).policy.trust.expect("trust");
    let scope: Vec<_> = trust.scope.expect("scope").into_iter().map(|path| path.value).collect();
    assert_eq!(scope, ["../../bases/w"]);
}

#[test]
fn child_hosts_must_lie_inside_the_base_hosts() {
    let cases = [
        ("hosts: ['*.example.com']", "hosts: [api.example.com]", true),
        ("hosts: ['*.example.com']", "hosts: [example.com]", false),
        ("hosts: [example.com]", "hosts: ['*.example.com']", false),
        ("hosts: [a.org, b.org]", "hosts: [b.org]", true),
        ("hosts: [a.org]", "hosts: [a.org, b.org]", false),
        ("hosts: [a.org]", "hosts: []", true),
    ];
    for (base, own, fits) in cases {
        let manifest = |base: &str, hosts: &str| {
            format!("name: x\n{base}trust: {{network: scoped, {hosts}}}\n")
        };
        let world = MemoryWorld::new([
            ("p.agent".to_owned(), manifest("", base)),
            ("c.agent".to_owned(), manifest("base: p.agent\n", own)),
        ]);
        let found = errors(&checked(&world, "c.agent"));
        assert_eq!(found.is_empty(), fits, "{own} in {base}: {found:?}");
        assert!(found.iter().all(|error| error.starts_with("AG0035")), "{found:?}");
    }
}

/// The hosts of `scoped` come from the servers if none are named. A server that a child adds does not open
/// its host.
#[test]
fn a_new_server_opens_no_host() {
    let world = crate::world::world(&[
        (
            "p.agent",
            "name: p\ntools: {mcp: [{name: a, url: 'https://a.org/mcp'}]}\ntrust: {network: scoped}\n",
        ),
        (
            "c.agent",
            "name: c\nbase: p.agent\ntools: {mcp: [{name: b, url: 'https://b.org/mcp'}]}\n",
        ),
    ]);
    let compiled = checked(&world, "c.agent");
    assert_eq!(errors(&compiled), Vec::<String>::new());
    let trust = resolved(&compiled).policy.trust.expect("trust");
    let hosts: Vec<_> = trust.hosts.expect("hosts").into_iter().map(|host| host.value).collect();
    assert_eq!(hosts, ["a.org"]);
}
