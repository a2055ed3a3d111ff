//! System calls that no library wraps safely, each behind a safe function.
#![allow(unsafe_code, reason = "the one file of the house with system calls of its own")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "descriptors and process numbers come back from the system as long integers"
)]

// The type of `RLIMIT_…` differs between the C libraries.
#[cfg(target_env = "gnu")]
use libc::__rlimit_resource_t as ResourceKind;
#[cfg(not(target_env = "gnu"))]
use libc::c_int as ResourceKind;

use std::ffi::CString;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn text(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// Moves this process into new namespaces.
pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointers; this process has one thread.
    checked(unsafe { libc::unshare(flags) }.into()).map(drop)
}

/// Releases the pages of a mapping of code.
pub(crate) fn forget(code: &Range<usize>) {
    let start = code.start as *mut libc::c_void;
    // SAFETY: the range is a private mapping of a file that is never written, so a page that is touched
    // again is read from the file. A refusal changes nothing.
    unsafe { libc::madvise(start, code.len(), libc::MADV_DONTNEED) };
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: libc::c_uint) -> io::Result<()> {
    // SAFETY: takes no pointers. Must be called before any descriptor has an owner here.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) }).map(drop)
}

/// Which side of a fork this is.
pub(crate) enum ForkSide {
    /// The new process.
    Child,
    /// The old process, with the id of the new one.
    Parent(libc::pid_t),
}

/// Forks this process.
pub(crate) fn fork() -> io::Result<ForkSide> {
    // SAFETY: this process has one thread, so no lock is held by another.
    match checked(unsafe { libc::fork() }.into())? {
        0 => Ok(ForkSide::Child),
        pid => Ok(ForkSide::Parent(pid as libc::pid_t)),
    }
}

/// An ended child: process id, exit code and signal. `None` if no child has ended.
pub(crate) type ReapedProcess = Option<(libc::pid_t, Option<i32>, Option<i32>)>;

/// Reaps any child. With `block`, waits until one has ended.
pub(crate) fn reap(block: bool) -> io::Result<ReapedProcess> {
    let mut status = 0;
    let options = if block { 0 } else { libc::WNOHANG };
    // SAFETY: the pointer is to a local.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, options) };
    match checked(pid.into())? {
        0 => Ok(None),
        _ if libc::WIFEXITED(status) => Ok(Some((pid, Some(libc::WEXITSTATUS(status)), None))),
        _ => Ok(Some((pid, None, Some(libc::WTERMSIG(status))))),
    }
}

/// Has this process killed when its parent ends.
pub(crate) fn die_with_parent(signal: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) }.into()).map(drop)
}

/// Leaves the session and the terminal of the parent process.
pub(crate) fn own_session() {
    // SAFETY: takes no pointers. Fails only for a process that already leads a session.
    unsafe { libc::setsid() };
}

/// Keeps other processes of the same user from inspecting this one.
pub(crate) fn close_to_others() -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) }.into()).map(drop)
}

/// Makes this process the parent of orphans among its descendants.
pub(crate) fn adopt_orphans() -> io::Result<()> {
    // SAFETY: takes no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) }.into()).map(drop)
}

/// Drops all capabilities and every way to regain privileges.
pub(crate) fn drop_privileges() -> io::Result<()> {
    #[repr(C)]
    struct CapabilityHeader {
        version: u32,
        pid: i32,
    }
    // SAFETY: takes no pointers.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
    for capability in 0..64 {
        // SAFETY: takes no pointers. Numbers beyond the last capability are refused.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability) } < 0 {
            break;
        }
    }
    let header = CapabilityHeader { version: 0x2008_0522, pid: 0 };
    let none = [0_u32; 6];
    // SAFETY: both pointers are to locals of the sizes that version 3 of the call expects.
    checked(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) }).map(drop)
}

/// A descriptor that becomes readable when a child has ended.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is a local that the calls fill; the descriptor is new and ours.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        checked(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()).into())?;
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        let fd = checked(libc::signalfd(-1, &raw const set, flags).into())?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// Unblocks all signals: commands start with none blocked.
pub(crate) fn unblock_signals() {
    // SAFETY: the set is a local; async-signal-safe, as a forked child needs.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

/// Sends a signal to a process group.
pub(crate) fn kill_group(group: libc::pid_t, signal: libc::c_int) {
    // SAFETY: takes no pointers.
    unsafe { libc::kill(-group, signal) };
}

/// Sends a signal to a process.
pub(crate) fn kill(pid: libc::pid_t, signal: libc::c_int) {
    // SAFETY: takes no pointers.
    unsafe { libc::kill(pid, signal) };
}

/// A copy of the mounts below `path`, not attached yet. Links are not followed: a link at the end is
/// copied itself.
pub(crate) fn clone_tree(path: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    let flags = libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | flags.cast_unsigned();
    // SAFETY: the path ends with NUL; the descriptor is new and ours.
    unsafe {
        let fd = opened.as_raw_fd();
        let fd = checked(libc::syscall(libc::SYS_open_tree, fd, c"".as_ptr(), flags))?;
        Ok(OwnedFd::from_raw_fd(fd as RawFd))
    }
}

/// The attributes of all mounts of a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CopyAttributes {
    pub(crate) read_only: bool,
    pub(crate) no_devices: bool,
}

/// Sets the attributes of all mounts of a copy. Set-user-ID programs never gain privileges there.
pub(crate) fn set_attributes(tree: BorrowedFd<'_>, attributes: CopyAttributes) -> io::Result<()> {
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        userns: u64,
    }
    const RDONLY: u64 = 1;
    const NOSUID: u64 = 2;
    const NODEV: u64 = 4;
    let mut set = NOSUID;
    set |= if attributes.read_only { RDONLY } else { 0 };
    set |= if attributes.no_devices { NODEV } else { 0 };
    let attr = MountAttr { set, clear: 0, propagation: libc::MS_PRIVATE, userns: 0 };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is an empty C string, the struct a local of the size that is passed.
    checked(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            std::mem::size_of::<MountAttr>(),
        )
    })
    .map(drop)
}

/// Attaches a copy of mounts at `path`.
pub(crate) fn attach(tree: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
    let path = text(path)?;
    // SAFETY: both paths are C strings.
    checked(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    })
    .map(drop)
}

/// Mounts a new file system.
pub(crate) fn mount(kind: &str, path: &Path, flags: libc::c_ulong, data: &str) -> io::Result<()> {
    let (kind, data) = (CString::new(kind)?, CString::new(data)?);
    let path = text(path)?;
    // SAFETY: all pointers are to C strings.
    checked(
        unsafe {
            libc::mount(kind.as_ptr(), path.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast())
        }
        .into(),
    )
    .map(drop)
}

/// Makes the mount at `path` read-only.
pub(crate) fn make_read_only(path: &Path, flags: libc::c_ulong) -> io::Result<()> {
    let path = text(path)?;
    let flags = flags | libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY;
    let nothing = std::ptr::null();
    // SAFETY: the pointers are to a C string or null, as this use of the call allows.
    let done = unsafe { libc::mount(nothing, path.as_ptr(), nothing, flags, nothing.cast()) };
    checked(done.into()).map(drop)
}

/// Keeps mount changes here from the rest of the machine.
pub(crate) fn make_private() -> io::Result<()> {
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the pointers are to a C string or null, as this use of the call allows.
    checked(
        unsafe {
            libc::mount(std::ptr::null(), c"/".as_ptr(), std::ptr::null(), flags, std::ptr::null())
        }
        .into(),
    )
    .map(drop)
}

/// Makes `path` the root directory, and detaches the old root.
pub(crate) fn enter(path: &Path) -> io::Result<()> {
    std::env::set_current_dir(path)?;
    // SAFETY: the pointers are to C strings.
    unsafe {
        checked(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()))?;
        checked(libc::umount2(c".".as_ptr(), libc::MNT_DETACH).into())?;
    }
    std::env::set_current_dir("/")
}

/// Brings the loopback device up.
pub(crate) fn loopback_up() -> io::Result<()> {
    // SAFETY: the request is a local struct of the type that the call expects.
    unsafe {
        let fd =
            checked(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0).into())?;
        let socket = OwnedFd::from_raw_fd(fd as RawFd);
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo\0") {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        // musl's requests are signed; the cast keeps all bits.
        let set_flags = libc::SIOCSIFFLAGS as libc::Ioctl;
        checked(libc::ioctl(socket.as_raw_fd(), set_flags, &raw const request).into()).map(drop)
    }
}

/// The version of Landlock.
pub(crate) fn landlock_version() -> Option<u32> {
    // SAFETY: with the version flag the call takes no pointer.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, 1_u32)
    };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// Sets a resource limit for this process and all that it starts.
pub(crate) fn limit(what: ResourceKind, most: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
    // SAFETY: the pointer is to a local.
    checked(unsafe { libc::setrlimit(what, &raw const limit) }.into()).map(drop)
}

/// Ends this process at once, without any cleanup.
pub(crate) fn end(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

/// Unblocks all signals in a command, although this process blocks some.
pub(crate) fn start_unblocked(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt as _;
    // SAFETY: the closure only makes calls that are safe between fork and exec.
    unsafe {
        command.pre_exec(|| {
            unblock_signals();
            Ok(())
        });
    }
}
