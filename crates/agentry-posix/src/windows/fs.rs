//! Files and directories, below directories that are held.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{self, Metadata, OpenOptions, Permissions};
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use super::fd::{HeldHandle, OwnedFd};
use super::io::Errno;
pub use super::process::Uid;
use super::unix::fs::MetadataExt as _;

/// The bits of a file's kind and permissions.
pub type RawMode = u32;

/// A result with an error number.
type Outcome<T> = Result<T, Errno>;

macro_rules! flags {
    ($(#[$about:meta])* $name:ident: $($(#[$of:meta])* $flag:ident = $bits:expr,)*) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(u32);

        impl $name {
            $($(#[$of])* pub const $flag: Self = Self($bits);)*

            /// No flag.
            pub const fn empty() -> Self {
                Self(0)
            }

            /// The flags of both.
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            /// The flags of these bits.
            pub const fn from_bits(bits: u32) -> Self {
                Self(bits)
            }

            /// The bits.
            pub const fn bits(self) -> u32 {
                self.0
            }

            /// Whether all of `others` are set.
            pub const fn contains(self, others: Self) -> bool {
                self.0 & others.0 == others.0
            }
        }

        impl std::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                self.union(other)
            }
        }
    };
}

flags! {
    /// How something is opened.
    OFlags:
    /// To be read.
    RDONLY = 1,
    /// To be written.
    WRONLY = 2,
    /// It is created if it is not there.
    CREATE = 4,
    /// It must not be there.
    EXCL = 8,
    /// It must be a directory.
    DIRECTORY = 16,
    /// It must not be a link.
    NOFOLLOW = 32,
    /// Handles are never inherited here.
    CLOEXEC = 0,
    /// Opening never waits here.
    NONBLOCK = 0,
    /// There are no terminals among the files.
    NOCTTY = 0,
}

flags! {
    /// How a name is taken.
    AtFlags:
    /// A link is not followed. It never is.
    SYMLINK_NOFOLLOW = 1,
    /// A directory is removed, not a file.
    REMOVEDIR = 2,
}

/// Opens directories, too.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
/// Opens a link itself.
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
/// Others may read and write, but neither rename nor remove.
const SHARE_READ_AND_WRITE: u32 = 3;

impl OFlags {
    pub(super) fn system_flags(self) -> u32 {
        let link = if self.contains(Self::NOFOLLOW) { FILE_FLAG_OPEN_REPARSE_POINT } else { 0 };
        FILE_FLAG_BACKUP_SEMANTICS | link
    }
}

/// The permissions of a new file, which Windows does not have.
#[derive(Debug, Clone, Copy)]
pub struct Mode(u32);

impl Mode {
    /// None.
    pub const fn empty() -> Self {
        Self(0)
    }

    /// These bits.
    pub const fn from_raw_mode(mode: RawMode) -> Self {
        Self(mode)
    }
}

/// A group of users.
#[derive(Debug, Clone, Copy)]
pub struct Gid;

impl Gid {
    /// The group with this number.
    pub fn from_raw(_: u32) -> Self {
        Self
    }
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    /// A file.
    RegularFile,
    /// A directory.
    Directory,
    /// A link.
    Symlink,
    /// Something else.
    Unknown,
}

impl FileType {
    /// The kind in these bits.
    pub fn from_raw_mode(mode: RawMode) -> Self {
        match mode & 0o170_000 {
            0o100_000 => Self::RegularFile,
            0o040_000 => Self::Directory,
            0o120_000 => Self::Symlink,
            _ => Self::Unknown,
        }
    }

    /// Whether it is a link.
    pub fn is_symlink(self) -> bool {
        self == Self::Symlink
    }

    /// Whether it is a directory.
    pub fn is_dir(self) -> bool {
        self == Self::Directory
    }

    /// Whether it is a file.
    pub fn is_file(self) -> bool {
        self == Self::RegularFile
    }
}

/// What is known of a file, in the fields of Unix.
#[expect(clippy::struct_field_names, reason = "the names of the system call")]
#[derive(Debug, Clone, Copy)]
pub struct Stat {
    /// The file system.
    pub st_dev: u64,
    /// What tells the file from others.
    pub st_ino: u64,
    /// Its length.
    pub st_size: u64,
    /// The second of its last change.
    pub st_mtime: i64,
    /// The nanoseconds beside it.
    pub st_mtime_nsec: i64,
    /// Its kind and permissions.
    pub st_mode: RawMode,
    /// Its user.
    pub st_uid: u32,
    /// Its group.
    pub st_gid: u32,
}

impl Stat {
    fn of(found: &Metadata) -> Self {
        Self {
            st_dev: found.dev(),
            st_ino: found.ino(),
            st_size: found.len(),
            st_mtime: found.mtime(),
            st_mtime_nsec: found.mtime_nsec(),
            st_mode: found.mode(),
            st_uid: 0,
            st_gid: 0,
        }
    }
}

/// The kind of a file system, which is not known here.
#[derive(Debug, Clone, Copy)]
pub struct StatFs {
    /// Zero: no file system that is known.
    pub f_type: u64,
}

/// The current directory as a place to open from.
pub const CWD: CurrentDirectory = CurrentDirectory;

/// The current directory.
#[derive(Debug, Clone, Copy)]
pub struct CurrentDirectory;

impl HeldHandle for CurrentDirectory {}

/// A path or a part of one.
pub trait PathArgument {
    /// The path.
    fn path(&self) -> PathBuf;
}

impl<T: AsRef<OsStr>> PathArgument for T {
    fn path(&self) -> PathBuf {
        self.as_ref().into()
    }
}

fn placed<F: HeldHandle, P: PathArgument>(directory: &F, name: &P) -> PathBuf {
    match name.path() {
        name if name.as_os_str() == "." => directory.directory().to_owned(),
        name => directory.directory().join(name),
    }
}

/// Opens a path.
pub fn open<P: PathArgument>(path: P, flags: OFlags, mode: Mode) -> Outcome<OwnedFd> {
    openat(CWD, path, flags, mode)
}

/// Opens a name in a held directory.
pub fn openat<F: HeldHandle, P: PathArgument>(
    directory: F,
    name: P,
    flags: OFlags,
    _: Mode,
) -> Outcome<OwnedFd> {
    let path = placed(&directory, &name);
    let mut options = OpenOptions::new();
    options.read(!flags.contains(OFlags::WRONLY)).write(flags.contains(OFlags::WRONLY));
    options.create_new(flags.contains(OFlags::CREATE.union(OFlags::EXCL)));
    options.custom_flags(flags.system_flags());
    if flags.contains(OFlags::DIRECTORY) {
        options.share_mode(SHARE_READ_AND_WRITE);
    }
    let file = options.open(&path)?;
    let kind = file.metadata()?.file_type();
    if flags.contains(OFlags::NOFOLLOW) && kind.is_symlink() {
        return Err(Errno::LOOP);
    }
    if flags.contains(OFlags::DIRECTORY) && !kind.is_dir() {
        return Err(Errno::NOTDIR);
    }
    Ok(OwnedFd { file, path })
}

/// What is known of a name in a held directory. A link is not followed.
pub fn statat<F: HeldHandle, P: PathArgument>(directory: F, name: P, _: AtFlags) -> Outcome<Stat> {
    Ok(Stat::of(&fs::symlink_metadata(placed(&directory, &name))?))
}

/// What is known of an open file.
pub fn fstat<F: HeldHandle>(file: F) -> Outcome<Stat> {
    Ok(Stat::of(&file.as_file().ok_or(Errno::INVAL)?.metadata()?))
}

/// The file system of a path.
pub fn statfs<P: PathArgument>(_: P) -> Outcome<StatFs> {
    Err(Errno::NOSYS)
}

/// Creates a directory.
pub fn mkdirat<F: HeldHandle, P: PathArgument>(directory: F, name: P, _: Mode) -> Outcome<()> {
    Ok(fs::create_dir(placed(&directory, &name))?)
}

/// Removes a file or a link, or an empty directory.
pub fn unlinkat<F: HeldHandle, P: PathArgument>(
    directory: F,
    name: P,
    flags: AtFlags,
) -> Outcome<()> {
    let path = placed(&directory, &name);
    if flags.contains(AtFlags::REMOVEDIR) {
        return Ok(fs::remove_dir(path)?);
    }
    Ok(fs::remove_file(path)?)
}

/// Renames a file, over one that is there.
pub fn renameat<F: HeldHandle, P: PathArgument, G: HeldHandle, Q: PathArgument>(
    from: F,
    old: P,
    to: G,
    new: Q,
) -> Outcome<()> {
    Ok(fs::rename(placed(&from, &old), placed(&to, &new))?)
}

/// The target of a link.
pub fn readlinkat<F: HeldHandle, P: PathArgument>(
    directory: F,
    name: P,
    _: Vec<u8>,
) -> Outcome<CString> {
    let target = fs::read_link(placed(&directory, &name))?;
    CString::new(target.to_string_lossy().into_owned()).map_err(|_| Errno::INVAL)
}

/// Creates a link.
pub fn symlinkat<P: PathArgument, F: HeldHandle, Q: PathArgument>(
    target: P,
    directory: F,
    name: Q,
) -> Outcome<()> {
    Ok(super::unix::fs::symlink(target.path(), placed(&directory, &name))?)
}

/// Does nothing: Windows writes the entries of directories itself.
pub fn fsync<F: HeldHandle>(_: F) -> Outcome<()> {
    Ok(())
}

/// Does nothing: files have no owner by number.
pub fn fchown<F: HeldHandle>(_: F, _: Option<Uid>, _: Option<Gid>) -> Outcome<()> {
    Ok(())
}

/// Sets whether a file is read-only.
pub fn fchmod<F: HeldHandle>(file: F, mode: Mode) -> Outcome<()> {
    let file = file.as_file().ok_or(Errno::INVAL)?;
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(mode.0 & 0o222 == 0);
    Ok(file.set_permissions(permissions)?)
}

/// The entries of a directory.
#[derive(Debug)]
pub struct Dir(fs::ReadDir);

impl Dir {
    /// Lists a held directory.
    #[expect(clippy::needless_pass_by_value, reason = "the same as on Unix")]
    pub fn new(directory: OwnedFd) -> Outcome<Self> {
        Self::read_from(&directory)
    }

    /// Lists a held directory.
    pub fn read_from<F: HeldHandle>(directory: F) -> Outcome<Self> {
        Ok(Self(fs::read_dir(directory.directory())?))
    }
}

impl Iterator for Dir {
    type Item = Outcome<DirEntry>;

    fn next(&mut self) -> Option<Self::Item> {
        let entry = self.0.next()?;
        Some(entry.map_err(Errno::from).and_then(|entry| DirEntry::of(&entry)))
    }
}

/// An entry of a directory.
#[derive(Debug)]
pub struct DirEntry {
    name: CString,
    kind: FileType,
}

impl DirEntry {
    fn of(entry: &fs::DirEntry) -> Outcome<Self> {
        let name: OsString = entry.file_name();
        let name = CString::new(name.to_string_lossy().into_owned()).map_err(|_| Errno::INVAL)?;
        let kind = match entry.file_type()? {
            kind if kind.is_symlink() => FileType::Symlink,
            kind if kind.is_dir() => FileType::Directory,
            _ => FileType::RegularFile,
        };
        Ok(Self { name, kind })
    }

    /// Its name.
    pub fn file_name(&self) -> &CStr {
        &self.name
    }

    /// Its kind.
    pub fn file_type(&self) -> FileType {
        self.kind
    }
}

/// Permissions that are read-only or not. They can only be had from a file.
pub(super) fn permissions(is_readonly: bool) -> Permissions {
    let any = std::env::current_exe().and_then(fs::metadata).map(|found| found.permissions());
    match any {
        Ok(mut permissions) => {
            permissions.set_readonly(is_readonly);
            permissions
        }
        Err(error) => unreachable!("the running program cannot be read: {error}"),
    }
}
