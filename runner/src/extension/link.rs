//! Messages on a stream socket: the lengths of header and body, the header as JSON, and the body. Performs I/O, and
//! blocks until a whole message has been sent or received.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use super::Stream;
use super::message::Message;

/// Size of the two length fields: 4 bytes for the header length, and 8 bytes for the body length.
const PREFIX_BYTES: usize = 12;
/// Size of the input buffer. A small message is received with a single system call.
const INPUT_BYTES: usize = 64 * 1024;
/// Maximum length of a header.
const MAX_HEADER_BYTES: usize = 32 * 1024;

/// Content that follows a header.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body<'a> {
    /// No content.
    Empty,
    /// Bytes to send.
    Bytes(&'a [u8]),
    /// File descriptor to send.
    Descriptor(BorrowedFd<'a>),
}

/// One end of a connection between a host and its extension.
#[derive(Debug)]
pub(super) struct Link {
    stream: Stream,
    input: Box<[u8]>,
    /// The bytes from `start` to `end` in `input` have been received and belong to the next message.
    start: usize,
    end: usize,
    output: Vec<u8>,
    /// Descriptor that accompanied the last message.
    descriptor: Option<OwnedFd>,
}

impl Link {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            input: vec![0; INPUT_BYTES].into(),
            start: 0,
            end: 0,
            output: Vec::with_capacity(1024),
            descriptor: None,
        }
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &Message, body: Body<'_>) -> io::Result<()> {
        let bytes: &[u8] = match body {
            Body::Bytes(bytes) => bytes,
            Body::Empty | Body::Descriptor(_) => &[],
        };
        self.output.clear();
        self.output.extend_from_slice(&[0; PREFIX_BYTES]);
        serde_json::to_writer(&mut self.output, message)?;
        let header = (self.output.len() - PREFIX_BYTES) as u32;
        self.output[..4].copy_from_slice(&header.to_le_bytes());
        self.output[4..PREFIX_BYTES].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        let mut sent = 0;
        if let (Body::Descriptor(descriptor), Stream::Unix(stream)) = (body, &self.stream) {
            sent = send_with(stream.as_fd(), &self.output, descriptor)?;
        }
        let (mut head, mut bytes) = (&self.output[sent..], bytes);
        while !head.is_empty() {
            let slices = [IoSlice::new(head), IoSlice::new(bytes)];
            let written = match self.stream.write_vectored(&slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                written => written?,
            };
            let of_head = written.min(head.len());
            (head, bytes) = (&head[of_head..], &bytes[written - of_head..]);
        }
        self.stream.write_all(bytes)
    }

    /// Receives a message header. Returns the message and the length of its body, which is at most `max`. The body must
    /// be received next.
    ///
    /// # Errors
    /// Returns `UnexpectedEof` if the other side has closed the connection, and `InvalidData` if the message is
    /// malformed or its body is too long.
    pub(super) fn receive_header(&mut self, max: u64) -> io::Result<(Message, usize)> {
        self.fill(PREFIX_BYTES)?;
        let prefix = &self.input[self.start..self.start + PREFIX_BYTES];
        let header = u32::from_le_bytes(prefix[..4].try_into().unwrap_or_default()) as usize;
        let length = u64::from_le_bytes(prefix[4..].try_into().unwrap_or_default());
        if header > MAX_HEADER_BYTES || length > max {
            let message = format!("a message has a header of {header} bytes and a body of {length}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        self.start += PREFIX_BYTES;
        self.fill(header)?;
        let message = serde_json::from_slice(&self.input[self.start..self.start + header])?;
        self.start += header;
        Ok((message, length as usize))
    }

    /// Receives a body of `length` bytes and replaces `body` with it.
    ///
    /// # Errors
    /// Returns `UnexpectedEof` if the other side has closed the connection, and `OutOfMemory` if there is no memory for
    /// the body.
    pub(super) fn receive_body(&mut self, length: usize, body: &mut Vec<u8>) -> io::Result<()> {
        if length > body.len() {
            body.try_reserve_exact(length - body.len())
                .map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        }
        body.resize(length, 0);
        let buffered = length.min(self.end - self.start);
        body[..buffered].copy_from_slice(&self.input[self.start..self.start + buffered]);
        self.start += buffered;
        self.stream.read_exact(&mut body[buffered..])
    }

    /// Receives a body of `length` bytes, and passes its parts to `sink` with their offsets.
    ///
    /// # Errors
    /// Returns `UnexpectedEof` if the other side has closed the connection, and any error that `sink` returns.
    pub(super) fn receive_parts<E: From<io::Error>>(
        &mut self,
        length: usize,
        mut sink: impl FnMut(usize, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut done = 0;
        while done < length {
            self.fill(1)?;
            let count = (length - done).min(self.end - self.start);
            sink(done, &self.input[self.start..self.start + count])?;
            self.start += count;
            done += count;
        }
        Ok(())
    }

    /// Takes the descriptor that accompanied the last message.
    pub(super) fn take_descriptor(&mut self) -> Option<OwnedFd> {
        self.descriptor.take()
    }

    /// Receives until at least `count` bytes are in the buffer.
    fn fill(&mut self, count: usize) -> io::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.start + count > self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.end - self.start < count {
            let received = match &mut self.stream {
                Stream::Unix(stream) => {
                    receive_with(stream.as_fd(), &mut self.input[self.end..], &mut self.descriptor)
                }
                Stream::Tcp(stream) => stream.read(&mut self.input[self.end..]),
            };
            match received {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                received => self.end += received?,
            }
        }
        Ok(())
    }
}

fn send_with(socket: BorrowedFd<'_>, bytes: &[u8], descriptor: BorrowedFd<'_>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = SendFlags::NOSIGNAL;
    loop {
        match sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags) {
            Err(rustix::io::Errno::INTR) => {}
            sent => return Ok(sent?),
        }
    }
}

/// Receives bytes, and a descriptor if one accompanies them.
fn receive_with(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    descriptor: &mut Option<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let slices = &mut [IoSliceMut::new(bytes)];
    let received = recvmsg(socket, slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            *descriptor = descriptors.last();
        }
    }
    Ok(received.bytes)
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(bytes),
            Self::Tcp(stream) => stream.read(bytes),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write_vectored(slices),
            Self::Tcp(stream) => stream.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
