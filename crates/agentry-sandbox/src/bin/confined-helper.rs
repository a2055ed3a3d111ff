//! The helper as a program of its own, for the tests of this room.

fn main() -> std::process::ExitCode {
    agentry_sandbox::serve().into()
}
