use agentry_posix::unix::fs::PermissionsExt as _;

use agentry_compile::policy::Action;

use super::super::testing::TestWorkspace;
use super::*;

fn framed(body: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch")})
}

#[test]
fn hunks_are_applied_where_they_fit() {
    let cases = [
        ("a\nb\nc\n", "@@\n a\n-b\n+x\n c", Ok("a\nx\nc\n")),
        ("a\nb\nc\n", " a\n-b\n+x", Ok("a\nx\nc\n")),
        ("a\nb\nc", "-c\n+x", Ok("a\nb\nx")),
        ("a\nb\nc", "+x", Ok("a\nb\nc\nx")),
        ("a\r\nb\r\n", "-a\n+x\n+y", Ok("x\r\ny\r\nb\r\n")),
        ("a\r\nb", "-b\n+x", Ok("a\r\nx")),
        ("", "+x", Ok("x\n")),
        ("a\n", "-a", Ok("")),
        ("f\n  x\ng\n  x\n", "@@ g\n-  x\n+  y", Ok("f\n  x\ng\n  y\n")),
        ("f\n  x\ng\n  x\n", "@@ f\n@@   x\n g\n-  x\n+  y", Ok("f\n  x\ng\n  y\n")),
        ("x\ny\nx\n", "-x\n+z\n*** End of File", Ok("x\ny\nz\n")),
        ("a\nb\na\nb\n", "-a\n+1\n@@\n-a\n+2", Ok("1\nb\n2\nb\n")),
        ("a  \n\tb\n", " a\n-b\n+c", Ok("a  \nc\n")),
        ("a\n\nb\n", " a\n\n-b\n+c", Ok("a\n\nc\n")),
        ("@@ g\nz", "@@ @@ g\n+y", Ok("@@ g\ny\nz")),
        ("grün\n🦀\n", "-🦀\n+🐢", Ok("grün\n🐢\n")),
        ("a\n", "-b\n+c", Err("change 1: 1 line, from `b` on, not there; read the file again")),
        (
            "b\na\n",
            "-a\n+1\n@@\n-b\n+2",
            Err("change 2: 1 line, from `b` on, not there; read the file again"),
        ),
        ("a\n", "@@ z\n+c", Err("change 1: there is no line `z` after the last change")),
    ];
    for (text, body, expected) in cases {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch");
        let parts = parse(&patch).unwrap();
        let [FilePatch::Update { hunks, .. }] = parts.as_slice() else { panic!("{parts:?}") };
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(applied(text, hunks), expected, "{text:?} {body:?}");
    }
}

#[test]
fn malformed_patches_are_errors() {
    let cases = [
        ("", "a patch begins with the line `*** Begin Patch`"),
        ("*** Begin Patch", "a patch ends with the line `*** End Patch`"),
        ("*** Begin Patch\n*** Add File: a\n+x", "a patch ends with the line `*** End Patch`"),
        ("*** Begin Patch\n*** End Patch", "the patch names no file"),
        ("*** Begin Patch\n+x\n*** End Patch", "line 2: no file is named yet"),
        (
            "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
            "line 3: a line of a new file begins with `+`",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch",
            "line 3: nothing comes after a file that is deleted",
        ),
        (
            "*** Begin Patch\n*** Update File: a\nx\n*** End Patch",
            "line 3: a line begins with a space, `-`, `+` or `@@`",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch",
            "there is no change for `a`",
        ),
        (
            "*** Begin Patch\n*** Update File: a\n+x\n*** Move to: b\n*** End Patch",
            "line 4: `*** Move to:` comes right after its file, once",
        ),
    ];
    for (patch, expected) in cases {
        assert_eq!(parse(patch), Err(expected.to_owned()), "{patch}");
    }
}

#[tokio::test]
async fn files_are_added_changed_moved_and_deleted() {
    let world = TestWorkspace::new();
    world.file("change", "a\nb\n");
    world.file("go", "x\n");
    let script = world.file("from", "old\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let body = "*** Add File: sub/new\n+one\n+\n+two\n*** Update File: change\n-b\n+c\n\
                *** Delete File: go\n*** Update File: from\n*** Move to: to\n-old\n+new";
    let host = world.host();
    let output = host.call(&PatchTool, framed(body)).await;
    let start = "made `sub/new`\nchanged `change`\ndeleted `go`\nmade `to`\ndeleted `from`\n---";
    assert!(!output.failed && output.text.starts_with(start), "{}", output.text);
    assert_eq!(world.text("sub/new"), "one\n\ntwo\n");
    assert_eq!(world.text("change"), "a\nc\n");
    assert_eq!(world.text("to"), "new\n");
    assert_eq!(std::fs::metadata(world.path("to")).unwrap().permissions().mode() & 0o777, 0o755);
    assert!(!world.path("go").exists() && !world.path("from").exists());
    assert_eq!(host.kept.lock().unwrap().len(), 5);
}

#[tokio::test]
async fn a_patch_is_applied_completely_or_not_at_all() {
    let world = TestWorkspace::new();
    world.file("a", "a\n");
    world.file("b", "b\n");
    agentry_posix::unix::fs::symlink("a", world.path("link")).unwrap();
    let cases = [
        ("*** Update File: a\n-a\n+x\n*** Update File: b\n-z\n+y", "`b`: change 1: "),
        ("*** Update File: a\n-a\n+x\n*** Delete File: c", "`c` does not exist"),
        ("*** Update File: a\n-a\n+x\n*** Add File: b\n+y", "`b` exists already"),
        ("*** Update File: a\n*** Move to: b\n-a\n+x", "`b` exists already"),
        ("*** Update File: a\n-a\n+x\n*** Delete File: link", "`link` is a link"),
        ("*** Update File: link\n*** Move to: c\n-a\n+x", "`link` is a link"),
        (
            "*** Update File: a\n-a\n+x\n*** Update File: ./link\n-a\n+y",
            "the patch names `./link` twice",
        ),
        (
            "*** Update File: a\n-a\n+x\n*** Add File: agentry.toml\n+y",
            " is protected from every tool",
        ),
        ("*** Update File: a\n*** Move to: secret/a\n-a\n+x", "Deny: secret/**:deny"),
        ("*** Update File: a\n-a\n+x\n*** Add File: ../../outside\n+y", "Ask: "),
    ];
    for (body, expected) in cases {
        let rules = (Section::Edit, Action::Allow, ["secret/**:deny"].as_slice());
        let output = world.judged(&[rules]).call(&PatchTool, framed(body)).await;
        assert!(output.failed && output.text.contains(expected), "{body}: {output:?}");
        assert_eq!((world.text("a"), world.text("b")), ("a\n".into(), "b\n".into()), "{body}");
    }
}

proptest::proptest! {
    #[test]
    fn any_patch_text_is_parsed_without_a_panic(text in "(\\*\\*\\* (Begin Patch|End Patch|Add File: a|Update File: a|Delete File: a|Move to: b|End of File)\n|[-+ @]{0,3}[ab]?\n){0,12}") {
        let patch = format!("*** Begin Patch\n{text}*** End Patch");
        for part in parse(&patch).unwrap_or_default() {
            if let FilePatch::Update { hunks, .. } = part {
                let _ = applied("a\nb\n", &hunks);
            }
        }
    }
}

#[tokio::test]
async fn a_patch_never_writes_protected_paths() {
    let world = TestWorkspace::new();
    world.file("run.sh", "a\n");
    std::fs::create_dir_all(world.path(".git/hooks")).unwrap();
    let bodies = [
        "*** Update File: run.sh\n*** Move to: .git/hooks/pre-commit\n-a\n+b",
        "*** Add File: b\n+x\n*** Add File: sub/.mcp.json\n+{}",
        "*** Add File: x/HEAD\n+x\n*** Add File: x/refs/a\n+x\n*** Add File: x/objects/a\n+x",
    ];
    for body in bodies {
        let output = world.host().call(&PatchTool, framed(body)).await;
        assert!(
            output.failed && output.text.contains(" is protected from every tool"),
            "{body}: {output:?}"
        );
    }
    assert_eq!(world.text("run.sh"), "a\n");
    assert!(!world.path("b").exists() && !world.path(".git/hooks/pre-commit").exists());
    assert!(!world.path("x/HEAD").exists(), "it was taken back");
}
