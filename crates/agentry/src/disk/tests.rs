use super::*;

fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap().to_owned();
    (folder, root)
}

/// Resolving many paths at once gives the same as resolving each alone.
#[cfg(unix)]
#[test]
fn real_paths_in_a_batch_equal_single_ones() {
    use agentry_posix::unix::fs::symlink;
    let (_folder, root) = folder();
    fs::create_dir_all(format!("{root}/a/b")).unwrap();
    fs::write(format!("{root}/a/file"), "").unwrap();
    symlink("a", format!("{root}/to-a")).unwrap();
    symlink("../file", format!("{root}/a/b/to-file")).unwrap();
    symlink("loop", format!("{root}/loop")).unwrap();
    symlink("/proc/self/cwd", format!("{root}/process")).unwrap();
    let names = [
        "",
        "a",
        "a/b",
        "a/b/to-file",
        "a/file",
        "a/file/x",
        "to-a/file",
        "to-a/b/to-file",
        "to-a/b/new",
        "to-a/../x",
        "new/deep/x",
        "new/../x",
        "loop/x",
        "loop",
        "process/x",
        "process",
    ];
    let paths: Vec<String> = names.iter().map(|name| format!("{root}/{name}")).collect();
    let disk = DiskWorld::default();
    let alone: Vec<_> = paths.iter().map(|path| disk.real(path)).collect();
    assert_eq!(disk.real_of_all(&paths), alone);
    assert_eq!(disk.real_of_all(&["/".to_owned()]), [Some("/".to_owned())]);
}

/// A file that the search opened is read from memory, but only the first time.
#[test]
fn a_peeked_file_is_cached_for_one_read() {
    let (_folder, root) = folder();
    let path = format!("{root}/agent.json");
    fs::write(&path, "old").unwrap();
    let disk = DiskWorld::default();
    assert_eq!(disk.peek(&root, &path, 10).unwrap(), b"old");
    fs::write(&path, "new").unwrap();
    assert_eq!(disk.read(&root, &path, 10).unwrap(), b"old");
    assert_eq!(disk.read(&root, &path, 10).unwrap(), b"new");
    assert_eq!(disk.peek(&root, &path, 2), Err(ReadError::TooLarge(3)));
}

#[test]
fn files_are_read_whole_and_no_further_than_the_limit() {
    let (_folder, root) = folder();
    let path = format!("{root}/x");
    // The reported size, the actual size, the limit, and the bytes that are read.
    for (reported_size, size, limit, read) in
        [(0, 0, 9, 0), (5, 5, 9, 5), (9, 4, 9, 4), (2, 7, 9, 7), (2, 20, 9, 10), (0, 3, 9, 3)]
    {
        fs::write(&path, vec![b'x'; size]).unwrap();
        let bytes = contents(fs::File::open(&path).unwrap(), reported_size, limit).unwrap();
        assert_eq!(bytes.len(), read, "{reported_size} {size}");
    }
}

#[test]
fn a_sandbox_placeholder_counts_as_missing() {
    let (_folder, root) = folder();
    let path = format!("{root}/agent.yaml");
    fs::write(&path, PLACEHOLDER).unwrap();
    let disk = DiskWorld::default();
    assert_eq!(disk.read(&root, &path, 100), Err(ReadError::Missing));
    assert_eq!(disk.kind(&path), EntryKind::Missing);
    assert_eq!(disk.list(&root, &root), Ok(Vec::new()));
    disk.walk(&root, &mut |_| panic!("there is nothing"));
    fs::write(&path, format!("{PLACEHOLDER}name: x\n")).unwrap();
    assert_eq!(disk.kind(&path), EntryKind::File);
}

/// The files below a directory, as the crate `ignore` walks through it.
fn walked_by_ignore(root: &str) -> Vec<String> {
    let mut walk = ignore::WalkBuilder::new(root);
    walk.hidden(false).require_git(false);
    let is_entered = |entry: &ignore::DirEntry| {
        !entry.file_name().to_str().is_some_and(|name| NEVER.contains(&name))
    };
    let entries = walk.filter_entry(is_entered).build().map(Result::unwrap);
    let files = entries.filter(|entry| !entry.file_type().is_some_and(|kind| kind.is_dir()));
    let mut files: Vec<String> =
        files.map(|entry| entry.path().to_str().unwrap().to_owned()).collect();
    files.sort();
    files
}

/// The files below a directory, as the guard walks through it.
fn walked(root: &str) -> Vec<String> {
    let mut files = Vec::new();
    DiskWorld::default().walk(root, &mut |walked| match walked {
        WalkedPath::File(path) => files.push(path.to_owned()),
        other => panic!("{other:?}"),
    });
    files.sort();
    files
}

#[test]
fn a_walk_leaves_out_what_git_ignores() {
    const PATTERNS: [&str; 16] = [
        "a", "/a", "b/", "a/b", "*.md", "!*.md", "!a.md", "/*", "!/a/", "**/b", "a/**", "!a/b",
        "!a/b/", "# a", "[", "c*",
    ];
    const NAMES: [&str; 6] = ["a", "b", "c", "a.md", "c.md", ".a"];
    const RULES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];
    let mut state = 1_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap_or_default() % below
    };
    for round in 0..300 {
        let (_folder, root) = folder();
        for _ in 0..12 {
            let depth = random(4);
            let names: Vec<&str> = (0..=depth).map(|_| NAMES[random(NAMES.len())]).collect();
            let path = format!("{root}/outer/{}", names.join("/"));
            // A name may be a file already.
            if fs::create_dir_all(Path::new(&path).parent().unwrap()).is_ok() {
                let _ = fs::write(&path, "");
            }
        }
        for _ in 0..random(5) {
            let place = ["", "/outer", "/outer/a", "/outer/b", "/outer/a/b"][random(5)];
            let path = format!("{root}{place}/{}", RULES[random(RULES.len())]);
            let lines: Vec<&str> = (0..=random(3)).map(|_| PATTERNS[random(16)]).collect();
            if fs::create_dir_all(Path::new(&path).parent().unwrap()).is_ok() {
                let _ = fs::write(&path, lines.join("\n"));
            }
        }
        for start in [root.clone(), format!("{root}/outer"), format!("{root}/outer/")] {
            assert_eq!(walked(&start), walked_by_ignore(&start), "{round} {start}");
        }
    }
}

#[test]
fn many_directories_are_walked_like_few() {
    let (_folder, root) = folder();
    for directory in 0..450 {
        let path = format!("{root}/{}/{directory}", directory % 3);
        fs::create_dir_all(&path).unwrap();
        fs::write(format!("{path}/a"), "").unwrap();
    }
    fs::write(format!("{root}/1/.gitignore"), "/4*\n").unwrap();
    let files = walked(&root);
    assert_eq!(files, walked_by_ignore(&root));
    assert!(files.len() > 300, "{}", files.len());
}

#[cfg(unix)]
#[test]
fn a_walk_shows_names_that_are_not_text_and_follows_no_links() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let (_folder, root) = folder();
    let odd = Path::new(&root).join(OsStr::from_bytes(b"x\xff"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join("a"), "").unwrap();
    fs::create_dir(format!("{root}/real")).unwrap();
    fs::write(format!("{root}/real/a"), "").unwrap();
    agentry_posix::unix::fs::symlink("real", format!("{root}/link")).unwrap();
    let mut met = Vec::new();
    DiskWorld::default().walk(&root, &mut |walked| met.push(format!("{walked:?}")));
    let mut met: Vec<String> = met.iter().map(|text| text.replace(&root, "")).collect();
    met.sort();
    let expected = ["File(\"/link\")", "File(\"/real/a\")", "Unnamed(\"/x\u{fffd}/a\")"];
    assert_eq!(met, expected);
    let mut failed = Vec::new();
    let missing = format!("{root}/none");
    DiskWorld::default().walk(&missing, &mut |walked| failed.push(format!("{walked:?}")));
    assert_eq!(failed.len(), 1, "{failed:?}");
    assert!(failed[0].starts_with("Failed("), "{failed:?}");
}

#[cfg(unix)]
#[test]
fn symlinks_out_of_the_root_are_refused() {
    use agentry_posix::unix::fs::symlink;
    let (_folder, root) = folder();
    fs::create_dir_all(format!("{root}/agent/skills")).unwrap();
    fs::write(format!("{root}/agent/real"), "real").unwrap();
    fs::write(format!("{root}/secret"), "secret").unwrap();
    symlink("../real", format!("{root}/agent/skills/inside")).unwrap();
    symlink("../../secret", format!("{root}/agent/skills/outside")).unwrap();
    symlink("..", format!("{root}/agent/up")).unwrap();
    let agent = format!("{root}/agent");
    let read = |path: &str| {
        let bytes = DiskWorld::default().read(&agent, &format!("{agent}/{path}"), 100);
        bytes.map(|bytes| String::from_utf8(bytes).unwrap())
    };
    let cases = [
        ("real", Ok("real".to_owned())),
        ("skills/inside", Ok("real".to_owned())),
        ("./skills//inside", Ok("real".to_owned())),
        ("skills/outside", Err(ReadError::Escapes)),
        ("up/secret", Err(ReadError::Escapes)),
        ("../secret", Err(ReadError::Escapes)),
        ("skills", Err(ReadError::NotAFile)),
        ("nothing", Err(ReadError::Missing)),
        ("real/x", Err(ReadError::Missing)),
    ];
    for (path, expected) in cases {
        assert_eq!(read(path), expected, "{path}");
    }
}
