//! Sends the trainer's versions as datagrams, at no more than a given rate.

use std::io;
use std::net::{SocketAddrV4, UdpSocket};

use crds::assignment::MulticastDelivery;
use rustix::net::sockopt;

use super::address::{interface, socket_address};
use super::{BURST, HEADER_BYTES, datagram_count};
use crate::scenario::parameter_serving::parameters::{Parameters, store_in};

/// The trainer's sender.
#[derive(Debug)]
pub struct Sender {
    socket: UdpSocket,
    destination: SocketAddrV4,
    key: u64,
    payload: usize,
    bytes_per_second: Option<u64>,
    prepared: Vec<u8>,
    packet: Vec<u8>,
    sending: Option<SendState>,
}

/// A version that is being sent.
#[derive(Clone, Copy, Debug)]
struct SendState {
    version: u64,
    next: u64,
    started_at: u64,
}

/// Progress of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendProgress {
    /// Number of datagrams sent by this call.
    pub datagrams: u64,
    /// Version whose last datagram was sent by this call.
    pub finished: Option<u64>,
}

impl Sender {
    /// Opens the socket.
    ///
    /// # Errors
    /// Returns an error if an address is invalid, or the socket cannot be opened or configured.
    pub fn open(delivery: &MulticastDelivery, parameters: &Parameters, key: u64) -> io::Result<Self> {
        let interface = interface(delivery)?;
        let socket = UdpSocket::bind(SocketAddrV4::new(interface, 0))?;
        socket.set_nonblocking(true)?;
        if !interface.is_unspecified() {
            sockopt::set_ip_multicast_if(&socket, &interface)?;
        }
        // Workers on this machine receive the datagrams too, and a router may forward them.
        socket.set_multicast_loop_v4(true)?;
        socket.set_multicast_ttl_v4(8)?;
        let payload = delivery.datagram_bytes as usize;
        Ok(Self {
            destination: socket_address("destination", &delivery.destination)?,
            socket,
            key,
            payload,
            bytes_per_second: delivery.bytes_per_second,
            prepared: vec![0; parameters.size()],
            packet: Vec::with_capacity(HEADER_BYTES + payload),
            sending: None,
        })
    }

    /// Creates the bytes of `version` in memory, for [`Sender::start`].
    pub fn prepare(&mut self, parameters: &mut Parameters, version: u64) {
        let Ok(()) = parameters.create(version, store_in(&mut self.prepared));
    }

    /// Starts sending the prepared version at time `now`.
    pub fn start(&mut self, version: u64, now: u64) {
        self.sending = Some(SendState {
            version,
            next: 0,
            started_at: now,
        });
    }

    /// Whether a version is being sent.
    pub fn is_busy(&self) -> bool {
        self.sending.is_some()
    }

    /// Sends the next datagrams that the rate allows at time `now`.
    ///
    /// # Errors
    /// Returns an error if the socket refuses a datagram for a reason other than a full queue.
    pub fn advance(&mut self, now: u64) -> io::Result<SendProgress> {
        let mut sent = SendProgress {
            datagrams: 0,
            finished: None,
        };
        let Some(mut sending) = self.sending else {
            return Ok(sent);
        };
        let total = datagram_count(self.prepared.len(), self.payload);
        for _ in 0..BURST {
            if self.is_ahead(sending, now) {
                break;
            }
            let from = sending.next as usize * self.payload;
            let to = self.prepared.len().min(from + self.payload);
            self.packet.clear();
            self.packet.extend_from_slice(&self.key.to_le_bytes());
            self.packet.extend_from_slice(&sending.version.to_le_bytes());
            self.packet
                .extend_from_slice(&(sending.next as u32).to_le_bytes());
            self.packet.extend_from_slice(&(total as u32).to_le_bytes());
            self.packet.extend_from_slice(&self.prepared[from..to]);
            match self.socket.send_to(&self.packet, self.destination) {
                Ok(_) => {}
                Err(error) if is_full(&error) => break,
                // The error is an ICMP message about an earlier datagram, for example because a worker has closed its
                // socket.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            }
            sent.datagrams += 1;
            sending.next += 1;
            if sending.next == total {
                sent.finished = Some(sending.version);
                break;
            }
        }
        self.sending = Some(sending).filter(|_| sent.finished.is_none());
        Ok(sent)
    }

    /// Whether the bytes sent so far exceed what the rate allows at time `now`.
    fn is_ahead(&self, sending: SendState, now: u64) -> bool {
        self.bytes_per_second.is_some_and(|rate| {
            let elapsed = now.saturating_sub(sending.started_at);
            let allowed = u128::from(elapsed) * u128::from(rate) / 1_000_000_000;
            u128::from(sending.next) * self.payload as u128 > allowed
        })
    }
}

fn is_full(error: &io::Error) -> bool {
    // ENOBUFS: the interface queue is full.
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS)
}
