//! The helper as a separate program, for the tests of this crate.

fn main() -> std::process::ExitCode {
    agentry_sandbox::serve().into()
}
