use agentry_posix::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::fs;

use super::super::replace::{remove, replace};
use super::super::testing::TestWorkspace;
use super::*;

fn error(result: io::Result<()>) -> String {
    why("x", &result.unwrap_err())
}

#[test]
fn relative_paths_start_at_the_run_directory() {
    let world = TestWorkspace::new();
    let place = world.host().place();
    world.file("a/b.txt", "");
    symlink(world.path("a"), world.path("link")).unwrap();
    let cases = [
        ("a/b.txt", Some(world.path("a/b.txt"))),
        ("link/b.txt", Some(world.path("a/b.txt"))),
        ("link/../new", Some(world.path("new"))),
        ("/etc/../new", Some(PathBuf::from("/new"))),
        ("~/x", Some(place.home.clone().unwrap().join("x"))),
        ("~other", Some(world.path("~other"))),
        ("", None),
        ("a\0b", None),
        ("missing/../a", None),
        ("/proc/self/cwd/a", None),
    ];
    for (path, expected) in cases {
        assert_eq!(resolve(path, &place).ok(), expected, "{path}");
    }
    assert!(resolve(&"x/".repeat(4_000), &place).is_err());
    fs::create_dir(place.home.clone().unwrap()).unwrap();
    symlink("x", place.home.clone().unwrap().join("link")).unwrap();
    for (path, expected) in [("link", true), ("~/link", true), ("a", false), ("~/x", false)] {
        assert_eq!(is_link(path, &place), expected, "{path}");
    }
}

#[test]
fn definition_files_are_protected_in_both_directions() {
    let world = TestWorkspace::new();
    let place = world.host().place();
    let cases = [
        ("agentry.toml", false),
        ("agents/own/agent.toml", false),
        ("agents", false),
        ("agents/other/agent.toml", true),
        ("agentry.toml.bak", true),
    ];
    for (path, expected) in cases {
        assert_eq!(unprotected(&world.path(path), &place).is_ok(), expected, "{path}");
    }
}

#[test]
fn a_new_symlink_is_not_followed() {
    let world = TestWorkspace::new();
    world.file("outside/secret", "hush");
    let file = world.file("dir/file", "text");
    let (_, stamp) = contents(&file).unwrap().unwrap();
    fs::remove_file(&file).unwrap();
    symlink(world.path("outside/secret"), &file).unwrap();
    let link = "`x`: a link is on the way that was not there before";
    assert_eq!(error(open(&file).map(drop)), link);
    assert_eq!(
        error(replace(&file, b"new", Some(&stamp), Some(&stamp))),
        "`x`: it is not a regular file"
    );
    assert_eq!(error(replace(&file, b"new", None, None)), "`x`: it is not a regular file");
    assert_eq!(error(remove(&file, &stamp)), "`x`: it is not a regular file");
    fs::remove_dir_all(world.path("dir")).unwrap();
    symlink(world.path("outside"), world.path("dir")).unwrap();
    let secret = world.path("dir/secret");
    assert!(open(&secret).is_err());
    assert!(replace(&secret, b"new", Some(&stamp), Some(&stamp)).is_err());
    assert!(replace(&world.path("dir/new/file"), b"new", None, None).is_err());
    assert_eq!(world.text("outside/secret"), "hush");
    assert!(!world.path("outside/new").exists());
}

#[test]
fn writing_keeps_permissions_and_other_files() {
    let world = TestWorkspace::new();
    for mode in [0o644, 0o755, 0o600, 0o664] {
        let file = world.file("dir/file", "old");
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let (_, stamp) = contents(&file).unwrap().unwrap();
        replace(&file, b"new", Some(&stamp), Some(&stamp)).unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, mode, "{mode:o}");
        assert_eq!(world.text("dir/file"), "new");
        assert_eq!(fs::read_dir(world.path("dir")).unwrap().count(), 1, "nothing else is left");
    }
    let file = world.path("dir/file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
    let (_, stamp) = contents(&file).unwrap().unwrap();
    assert_eq!(error(replace(&file, b"x", Some(&stamp), Some(&stamp))), "`x`: it is read-only");
}

#[test]
fn a_concurrent_change_is_not_overwritten() {
    let world = TestWorkspace::new();
    let file = world.file("file", "old");
    let (_, stamp) = contents(&file).unwrap().unwrap();
    fs::write(&file, "theirs").unwrap();
    let changed = "`x`: it was changed in the meantime";
    assert_eq!(error(replace(&file, b"mine", Some(&stamp), Some(&stamp))), changed);
    assert_eq!(error(replace(&file, b"mine", None, None)), changed);
    assert_eq!(error(remove(&file, &stamp)), changed);
    assert_eq!(world.text("file"), "theirs");
    assert_eq!(contents(&world.path("missing")).unwrap(), None);
}

#[cfg(target_os = "linux")]
#[test]
fn only_regular_files_are_opened() {
    let world = TestWorkspace::new();
    fs::create_dir(world.path("dir")).unwrap();
    agentry_posix::fs::mkfifoat(
        agentry_posix::fs::CWD,
        world.path("pipe"),
        Mode::from_raw_mode(0o644),
    )
    .unwrap();
    let cases = [
        (world.path("dir"), "`x`: it is a directory"),
        (world.path("pipe"), "`x`: it is a device, a pipe or a socket"),
        (PathBuf::from("/dev/zero"), "`x`: it is a device, a pipe or a socket"),
        (PathBuf::from("/"), "`x`: it is a directory"),
        (world.path("missing/x"), "`x`: it does not exist"),
    ];
    for (path, expected) in cases {
        assert_eq!(error(open(&path).map(drop)), expected, "{}", path.display());
    }
}

#[test]
fn missing_directories_are_made() {
    let world = TestWorkspace::new();
    replace(&world.path("a/b/c.txt"), b"new", None, None).unwrap();
    assert_eq!(world.text("a/b/c.txt"), "new");
}
