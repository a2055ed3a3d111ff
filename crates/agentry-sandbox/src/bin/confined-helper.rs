//! The helper as a program of its own, for the tests of this room.

fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    return agentry_sandbox::serve().into();
    #[cfg(not(target_os = "linux"))]
    std::process::ExitCode::FAILURE
}
