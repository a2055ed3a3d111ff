//! A sealed process can open nothing, even if the engine in it is taken over.

use std::process::Command;

use crate::broker::PROGRAM;

#[test]
fn a_sealed_worker_cannot_open_anything() {
    // The probe tries each way itself, as code that took over the engine would.
    let output = Command::new(PROGRAM).arg("__probe").output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "sealed\n", "{output:?}");
    let open = Command::new(PROGRAM).arg("__probe-open").output().expect("the program runs");
    let found = String::from_utf8_lossy(&open.stdout).into_owned();
    for what in ["file", "socket", "process", "thread", "directory"] {
        assert!(found.contains(what), "the probe finds `{what}` where it is open: {found}");
    }
}
