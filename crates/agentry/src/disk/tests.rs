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
