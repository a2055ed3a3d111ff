//! The worker and the helper of its sandbox as a separate program, for the tests of this crate. Also a
//! probe that lists what a process can still open.
#![allow(clippy::print_stdout, reason = "a probe for tests")]

use std::net::UdpSocket;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(agentry_javascript::WORKER) => agentry_javascript::serve().into(),
        Some("__probe") => match agentry_sandbox::seal(256 << 20) {
            Ok(()) => probe(),
            Err(_) => ExitCode::FAILURE,
        },
        Some("__probe-open") => probe(),
        _ => agentry_sandbox::serve().into(),
    }
}

fn probe() -> ExitCode {
    let open = [
        ("file", std::fs::File::open("/proc/self/status").is_ok()),
        ("socket", UdpSocket::bind("127.0.0.1:0").is_ok()),
        ("process", Command::new("/bin/true").spawn().is_ok()),
        ("thread", std::thread::Builder::new().spawn(|| ()).is_ok()),
        ("directory", std::fs::read_dir("/").is_ok()),
    ];
    let names: Vec<_> = open.iter().filter(|(_, open)| *open).map(|(name, _)| *name).collect();
    println!("{}", if names.is_empty() { "sealed".to_owned() } else { names.join(" ") });
    ExitCode::SUCCESS
}
