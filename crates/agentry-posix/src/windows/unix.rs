//! The extensions that the standard library has on Unix only.

/// Files: permissions are read-only or not, and a file is told from another one by its times.
pub mod fs {
    use std::fs::{DirBuilder, Metadata, OpenOptions, Permissions};
    use std::io;
    use std::os::windows::fs::MetadataExt as _;
    use std::path::Path;

    /// From 1601, in which Windows counts, to 1970, in seconds.
    const EPOCH: i64 = 11_644_473_600;
    /// The steps of a file's time in one second.
    const STEPS: u64 = 10_000_000;

    /// What Unix knows of a file.
    pub trait MetadataExt {
        /// The file system: there is one number for all.
        fn dev(&self) -> u64;
        /// What tells the file from others: the time at which it was created.
        fn ino(&self) -> u64;
        /// Its kind and its permissions.
        fn mode(&self) -> u32;
        /// Its user.
        fn uid(&self) -> u32;
        /// Its group.
        fn gid(&self) -> u32;
        /// Its length.
        fn size(&self) -> u64;
        /// The second of its last change.
        fn mtime(&self) -> i64;
        /// The nanoseconds beside it.
        fn mtime_nsec(&self) -> i64;
        /// The second of its last change.
        fn ctime(&self) -> i64;
        /// The nanoseconds beside it.
        fn ctime_nsec(&self) -> i64;
    }

    impl MetadataExt for Metadata {
        fn dev(&self) -> u64 {
            0
        }

        fn ino(&self) -> u64 {
            self.creation_time()
        }

        fn mode(&self) -> u32 {
            let kind = match self.file_type() {
                kind if kind.is_symlink() => 0o120_000,
                kind if kind.is_dir() => 0o040_000,
                _ => 0o100_000,
            };
            kind | self.permissions().mode()
        }

        fn uid(&self) -> u32 {
            0
        }

        fn gid(&self) -> u32 {
            0
        }

        fn size(&self) -> u64 {
            self.file_size()
        }

        fn mtime(&self) -> i64 {
            i64::try_from(self.last_write_time() / STEPS).unwrap_or(i64::MAX) - EPOCH
        }

        fn mtime_nsec(&self) -> i64 {
            i64::try_from(self.last_write_time() % STEPS * 100).unwrap_or_default()
        }

        fn ctime(&self) -> i64 {
            self.mtime()
        }

        fn ctime_nsec(&self) -> i64 {
            self.mtime_nsec()
        }
    }

    /// Permissions as bits.
    pub trait PermissionsExt {
        /// The bits.
        fn mode(&self) -> u32;
        /// Sets the bits; only whether one of them permits to write counts.
        fn set_mode(&mut self, mode: u32);
        /// Permissions of these bits.
        fn from_mode(mode: u32) -> Self;
    }

    impl PermissionsExt for Permissions {
        fn mode(&self) -> u32 {
            if self.readonly() { 0o555 } else { 0o777 }
        }

        fn set_mode(&mut self, mode: u32) {
            self.set_readonly(mode & 0o222 == 0);
        }

        fn from_mode(mode: u32) -> Self {
            super::super::fs::permissions(mode & 0o222 == 0)
        }
    }

    /// How a file is opened.
    pub trait OpenOptionsExt {
        /// Does nothing: a new file has the permissions of its directory.
        fn mode(&mut self, mode: u32) -> &mut Self;
        /// Flags of the system call.
        fn custom_flags(&mut self, flags: i32) -> &mut Self;
    }

    impl OpenOptionsExt for OpenOptions {
        fn mode(&mut self, _: u32) -> &mut Self {
            self
        }

        fn custom_flags(&mut self, flags: i32) -> &mut Self {
            let flags = super::super::fs::OFlags::from_bits(flags.cast_unsigned());
            std::os::windows::fs::OpenOptionsExt::custom_flags(self, flags.system_flags())
        }
    }

    /// How a directory is created.
    pub trait DirBuilderExt {
        /// Does nothing: a new directory has the permissions of the one above.
        fn mode(&mut self, mode: u32) -> &mut Self;
    }

    impl DirBuilderExt for DirBuilder {
        fn mode(&mut self, _: u32) -> &mut Self {
            self
        }
    }

    /// Creates a link. Windows wants to know whether it leads to a directory.
    pub fn symlink(target: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
        let (target, link) = (target.as_ref(), link.as_ref());
        let leads_to = link.parent().map_or_else(|| target.to_owned(), |at| at.join(target));
        if leads_to.is_dir() {
            std::os::windows::fs::symlink_dir(target, link)
        } else {
            std::os::windows::fs::symlink_file(target, link)
        }
    }
}

/// Names as bytes: UTF-8, which paths of Windows are but for lone surrogates.
pub mod ffi {
    use std::ffi::{OsStr, OsString};

    /// Names from bytes.
    pub trait OsStringExt {
        /// The name in these bytes.
        fn from_vec(bytes: Vec<u8>) -> Self;
        /// Its bytes.
        fn into_vec(self) -> Vec<u8>;
    }

    impl OsStringExt for OsString {
        fn from_vec(bytes: Vec<u8>) -> Self {
            String::from_utf8_lossy(&bytes).into_owned().into()
        }

        fn into_vec(self) -> Vec<u8> {
            self.to_string_lossy().into_owned().into_bytes()
        }
    }

    /// Names as bytes.
    pub trait OsStrExt {
        /// The name in these bytes; the empty name if they are no UTF-8.
        fn from_bytes(bytes: &[u8]) -> &Self;
        /// Its bytes.
        fn as_bytes(&self) -> &[u8];
    }

    impl OsStrExt for OsStr {
        fn from_bytes(bytes: &[u8]) -> &Self {
            OsStr::new(std::str::from_utf8(bytes).unwrap_or_default())
        }

        fn as_bytes(&self) -> &[u8] {
            self.as_encoded_bytes()
        }
    }
}

/// Commands.
pub mod process {
    use std::io;
    use std::process::Command;

    /// What Unix does with commands.
    pub trait CommandExt {
        /// A group of its own, so that a Ctrl-C for this process is none for the command.
        fn process_group(&mut self, group: i32) -> &mut Self;
        /// Runs the command in place of this program. It returns only if it fails.
        fn exec(&mut self) -> io::Error;
    }

    impl CommandExt for Command {
        fn process_group(&mut self, _: i32) -> &mut Self {
            const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
            std::os::windows::process::CommandExt::creation_flags(self, CREATE_NEW_PROCESS_GROUP)
        }

        #[expect(
            clippy::exit,
            reason = "Windows cannot replace a program; this one stands for the other"
        )]
        fn exec(&mut self) -> io::Error {
            match self.status() {
                Ok(status) => std::process::exit(status.code().unwrap_or(1)),
                Err(error) => error,
            }
        }
    }
}
