//! The standard streams, without the buffers of the standard library.

/// Standard input.
pub fn stdin() -> std::io::Stdin {
    std::io::stdin()
}

/// Standard output.
pub fn stdout() -> std::io::Stdout {
    std::io::stdout()
}
