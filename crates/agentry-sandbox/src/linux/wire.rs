//! Messages with descriptors, over a stream socket: a length with the descriptors, then JSON.

use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::protocol::LONGEST;

/// The most descriptors that go with one message.
const MOST: usize = 4;

/// Sends a message.
pub(crate) fn send<T: Serialize>(
    mut socket: &UnixStream,
    message: &T,
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    if text.len() > LONGEST {
        return Err(io::Error::other("the message is too long"));
    }
    let length = u32::try_from(text.len()).map_err(io::Error::other)?.to_le_bytes();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    // The descriptors travel with the first byte, so the length is sent with them.
    let sent = sendmsg(socket, &[IoSlice::new(&length)], &mut ancillary, SendFlags::NOSIGNAL)?;
    socket.write_all(length.get(sent..).unwrap_or_default())?;
    socket.write_all(&text)
}

/// Receives a message, or `None` when the other side has closed the socket.
pub(crate) fn receive<T: DeserializeOwned>(
    mut socket: &UnixStream,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut buffers = [IoSliceMut::new(&mut length)];
    let got = recvmsg(socket, &mut buffers, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?.bytes;
    if got == 0 {
        return Ok(None);
    }
    let descriptors = ancillary.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    let descriptors: Vec<OwnedFd> = descriptors.collect();
    socket.read_exact(length.get_mut(got..).unwrap_or_default())?;
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Err(io::Error::other("the message is too long"));
    }
    let mut text = vec![0; length];
    socket.read_exact(&mut text)?;
    Ok(Some((serde_json::from_slice(&text)?, descriptors)))
}
