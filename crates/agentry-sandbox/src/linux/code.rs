//! Releases the memory of the program's code. A process that only waits needs little of it; pages that
//! are needed again are read from the program file.

use std::fs;
use std::ops::Range;
use std::sync::OnceLock;

use super::system;

/// The address ranges of the code. They are found while `/proc` is still available.
static CODE: OnceLock<Vec<Range<usize>>> = OnceLock::new();

/// Finds the address ranges of the code.
pub(crate) fn find() -> &'static [Range<usize>] {
    CODE.get_or_init(|| {
        let own = fs::read_link("/proc/self/exe").unwrap_or_default();
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        own.to_str().map(|own| code_of(own, &maps)).unwrap_or_default()
    })
}

/// Releases the memory of the code.
pub fn forget_code() {
    find().iter().for_each(system::forget);
}

/// The code of a file among the mappings of a process: executable and never written.
fn code_of(file: &str, maps: &str) -> Vec<Range<usize>> {
    let code = |line: &str| {
        let (addresses, rest) = line.split_once(' ')?;
        let is_code = rest.starts_with("r-xp ") && rest.ends_with(&format!(" {file}"));
        let (start, end) = addresses.split_once('-').filter(|_| is_code)?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        Some(address(start)?..address(end)?)
    };
    maps.lines().filter_map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_read_only_executable_pages_are_released() {
        let maps = "1000-2000 r--p 00000000 fe:00 1 /bin/own\n2000-5000 r-xp 00001000 fe:00 1 /bin/own\n\
                    5000-6000 rw-p 00004000 fe:00 1 /bin/own\n7000-8000 r-xp 00000000 fe:00 2 /lib/c.so\n\
                    9000-a000 rwxp 00000000 fe:00 1 /bin/own\n";
        assert_eq!(code_of("/bin/own", maps), vec![Range { start: 0x2000, end: 0x5000 }]);
    }

    #[test]
    fn the_program_continues_after_releasing_code() {
        assert!(!find().is_empty());
        forget_code();
        assert_eq!(code_of("/x", "1-2 r-xp 0 0 0 /x").len(), 1);
    }
}
