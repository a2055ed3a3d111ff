//! Parses a command line.
#![no_main]

use agentry_compile::policy::shell::{ShellContext, PartEffect, analyse};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(line) = std::str::from_utf8(bytes) else { return };
    let context =
        ShellContext { home: Some("/home/user".to_owned()), directory: Some("/work".to_owned()) };
    let parts = analyse(line, &context);
    for (index, part) in parts.iter().enumerate() {
        let PartEffect::Command(command) = &part.what else { continue };
        assert!(command.argv.first().is_some_and(|name| name.literal().is_some()), "{command:?}");
        assert!(command.inner_at.is_none_or(|at| at <= command.argv.len()), "{command:?}");
        assert!(command.behind.is_none_or(|outer| outer < index), "{command:?}");
    }
});
