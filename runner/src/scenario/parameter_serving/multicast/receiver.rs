//! Receives the trainer's datagrams, assembles the versions, and counts the datagrams that arrived.

use std::io;
use std::net::UdpSocket;

use crds::assignment::MulticastDelivery;
use crds::record::DatagramReport;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

use super::address::{interface, socket_address};
use super::{BURST, HEADER_BYTES, datagram_count};
use crate::scenario::parameter_serving::parameters::{Parameters, Verification, load_from};

/// Size of the receive buffer that a worker requests: three versions of the default size.
pub(super) const RECEIVE_BUFFER_BYTES: usize = 32 << 20;

/// Receiver of one worker.
#[derive(Debug)]
pub struct Receiver {
    socket: UdpSocket,
    key: u64,
    payload: usize,
    packet: Vec<u8>,
    assembly: Vec<u8>,
    /// The version in `assembly`, and the number of its datagrams that have not arrived.
    assembling: Option<(u64, u64)>,
    /// One bit for each datagram of each version. The bit is set if the datagram has arrived.
    arrived: Vec<u64>,
    pub(super) counts: DatagramReport,
}

impl Receiver {
    /// Joins the group. `max_version` is the number of versions for which datagrams are counted.
    ///
    /// # Errors
    /// Returns an error if an address is invalid, or the socket cannot be opened or join the group.
    pub fn open(
        delivery: &MulticastDelivery,
        parameters: &Parameters,
        key: u64,
        max_version: u32,
    ) -> io::Result<Self> {
        let interface = interface(delivery)?;
        let group = socket_address("group", &delivery.group)?;
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        // All workers on a machine listen on the same port.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER_BYTES).is_err() {
            // If the process is not privileged, the kernel reduces the size to its limit.
            sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER_BYTES)?;
        }
        bind(&socket, &group)?;
        let granted = sockopt::socket_recv_buffer_size(&socket)? as u64;
        let socket = UdpSocket::from(socket);
        if group.ip().is_multicast() {
            socket.join_multicast_v4(group.ip(), &interface)?;
        }
        let payload = delivery.datagram_bytes as usize;
        let bits = datagram_count(parameters.size(), payload) * u64::from(max_version);
        Ok(Self {
            socket,
            key,
            payload,
            packet: vec![0; HEADER_BYTES + payload + 1],
            assembly: vec![0; parameters.size()],
            assembling: None,
            arrived: vec![0; bits.div_ceil(64) as usize],
            counts: DatagramReport {
                receive_buffer_bytes: granted,
                ..DatagramReport::default()
            },
        })
    }

    /// Receives some of the waiting datagrams. Returns the result for a version whose last datagram has arrived, or
    /// `None`. Sets `idle` if no datagram was waiting.
    ///
    /// # Errors
    /// Returns an error if the socket fails.
    pub fn receive(
        &mut self,
        parameters: &mut Parameters,
        idle: &mut bool,
    ) -> io::Result<Option<Verification>> {
        for received in 0..BURST {
            let length = match self.socket.recv(&mut self.packet) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    *idle = received == 0;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            };
            if self.handle(length) {
                let Ok(verified) = parameters.verify(load_from(&self.assembly));
                return Ok(Some(verified));
            }
        }
        Ok(None)
    }

    /// Handles the datagram of `length` bytes in `packet`. Returns whether the version in `assembly` is complete.
    fn handle(&mut self, length: usize) -> bool {
        let size = self.assembly.len();
        let total = datagram_count(size, self.payload);
        let Some((version, index)) = self.identify(length, total) else {
            // The datagram belongs to another application or another case.
            return false;
        };
        let bit = version * total + index;
        let Some(word) = self.arrived.get_mut((bit / 64) as usize) else {
            return false;
        };
        if *word >> (bit % 64) & 1 == 1 {
            self.counts.duplicates += 1;
            return false;
        }
        *word |= 1 << (bit % 64);
        self.counts.received += 1;
        let missing = match self.assembling {
            Some((current, missing)) if current == version => missing,
            // A newer version has already replaced the version of this datagram.
            Some((current, _)) if current > version => return false,
            _ => total,
        };
        let from = index as usize * self.payload;
        let to = size.min(from + self.payload);
        self.assembly[from..to].copy_from_slice(&self.packet[HEADER_BYTES..length]);
        self.assembling = Some((version, missing - 1));
        missing == 1
    }

    /// Returns the version and index of the datagram of `length` bytes in `packet`, if it belongs to this case.
    fn identify(&self, length: usize, total: u64) -> Option<(u64, u64)> {
        let (words, _) = self.packet.as_chunks::<8>();
        let [key, version, place] = [0, 1, 2].map(|word| u64::from_le_bytes(words[word]));
        let (index, count) = (place & u64::from(u32::MAX), place >> 32);
        let payload = (self.assembly.len() as u64).saturating_sub(index * self.payload as u64);
        let expected = HEADER_BYTES as u64 + payload.min(self.payload as u64);
        let belongs = key == self.key && count == total && index < total && length as u64 == expected;
        belongs.then_some((version, index))
    }

    /// Returns the datagram counts. `sent` datagrams and `versions_sent` versions were sent by the trainer, and this
    /// worker received `versions_received` versions completely. Must be called only after every datagram has arrived or
    /// is considered lost.
    pub fn report(&self, sent: u64, versions_sent: u64, versions_received: u64) -> DatagramReport {
        DatagramReport {
            sent,
            lost: sent.saturating_sub(self.counts.received),
            incomplete_versions: versions_sent.saturating_sub(versions_received),
            ..self.counts
        }
    }
}
