//! Handles of files, directories and pipes.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::windows::io::OwnedHandle;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// An open file, directory or pipe.
#[derive(Debug)]
pub struct OwnedFd {
    pub(super) file: File,
    /// The path by which a directory was opened.
    pub(super) path: PathBuf,
}

/// A borrowed handle. It is only used to make a copy of it.
#[derive(Debug, Clone, Copy)]
pub struct BorrowedFd<'a>(std::os::windows::io::BorrowedHandle<'a>);

impl BorrowedFd<'_> {
    /// Makes a copy of the handle.
    pub fn try_clone_to_owned(&self) -> io::Result<OwnedFd> {
        self.0.try_clone_to_owned().map(OwnedFd::from)
    }
}

impl OwnedFd {
    /// Makes a copy of the handle.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { file: self.file.try_clone()?, path: self.path.clone() })
    }
}

/// A standard stream, whose handle can be copied.
pub trait AsFd {
    /// The handle, to be copied.
    fn as_fd(&self) -> BorrowedFd<'_>;
}

macro_rules! standard_streams {
    ($($stream:ty),*) => {$(
        impl AsFd for $stream {
            fn as_fd(&self) -> BorrowedFd<'_> {
                BorrowedFd(std::os::windows::io::AsHandle::as_handle(self))
            }
        }
    )*};
}

standard_streams!(io::Stdin, io::Stdout, io::Stderr);

/// What the system calls take: a file, a directory, or a pipe.
pub trait HeldHandle {
    /// The file behind it.
    fn as_file(&self) -> Option<&File> {
        None
    }

    /// The path of a directory.
    fn directory(&self) -> &Path {
        Path::new("")
    }

    /// Reads what is there.
    fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.as_file().ok_or(io::ErrorKind::Unsupported)?;
        file.read(buffer)
    }

    /// Writes as much as possible at once.
    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.as_file().ok_or(io::ErrorKind::Unsupported)?;
        file.write(bytes)
    }
}

impl HeldHandle for OwnedFd {
    fn as_file(&self) -> Option<&File> {
        Some(&self.file)
    }

    fn directory(&self) -> &Path {
        &self.path
    }
}

impl HeldHandle for File {
    fn as_file(&self) -> Option<&File> {
        Some(self)
    }
}

impl HeldHandle for io::Stdin {
    fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.lock().read(buffer)
    }
}

impl HeldHandle for io::Stdout {
    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut output = self.lock();
        let count = output.write(bytes)?;
        output.flush().map(|()| count)
    }
}

impl<T: HeldHandle> HeldHandle for &T {
    fn as_file(&self) -> Option<&File> {
        (**self).as_file()
    }

    fn directory(&self) -> &Path {
        (**self).directory()
    }

    fn read_some(&self, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_some(buffer)
    }

    fn write_some(&self, bytes: &[u8]) -> io::Result<usize> {
        (**self).write_some(bytes)
    }
}

impl From<OwnedHandle> for OwnedFd {
    fn from(handle: OwnedHandle) -> Self {
        Self { file: File::from(handle), path: PathBuf::new() }
    }
}

impl From<File> for OwnedFd {
    fn from(file: File) -> Self {
        Self { file, path: PathBuf::new() }
    }
}

impl From<PipeReader> for OwnedFd {
    fn from(pipe: PipeReader) -> Self {
        OwnedHandle::from(pipe).into()
    }
}

impl From<PipeWriter> for OwnedFd {
    fn from(pipe: PipeWriter) -> Self {
        OwnedHandle::from(pipe).into()
    }
}

impl From<OwnedFd> for File {
    fn from(held: OwnedFd) -> Self {
        held.file
    }
}

impl From<OwnedFd> for PipeReader {
    fn from(held: OwnedFd) -> Self {
        OwnedHandle::from(held.file).into()
    }
}

impl From<OwnedFd> for Stdio {
    fn from(held: OwnedFd) -> Self {
        held.file.into()
    }
}
