//! Datagrams of mode `Multicast`: the trainer divides each version into numbered datagrams, and each worker assembles
//! them and counts exactly which ones did not arrive. Lost datagrams are not sent again.
//!
//! ```text
//! 0 key of the case   8 version   16 index   20 number of datagrams of the version   24 payload …
//! ```

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

use crds::assignment::MulticastDelivery;
use crds::record::DatagramReport;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

use super::parameters::{Parameters, Verified, load_from, store_in};

/// Length of the header of a datagram, in bytes.
const HEADER_BYTES: usize = 24;
/// Receive buffer that a worker asks for: three versions of the default size.
const RECEIVE_BUFFER_BYTES: usize = 32 << 20;
/// Number of datagrams that are sent or received before the thread does other work.
const BURST: u32 = 32;

fn invalid(what: &str, value: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{what} `{value}` is not an IPv4 address"),
    )
}

fn address(what: &str, value: &str) -> io::Result<SocketAddrV4> {
    value.parse().map_err(|_| invalid(what, value))
}

fn interface(delivery: &MulticastDelivery) -> io::Result<Ipv4Addr> {
    let given = delivery.interface.as_deref();
    given.map_or(Ok(Ipv4Addr::UNSPECIFIED), |value| {
        value.parse().map_err(|_| invalid("interface", value))
    })
}

/// Number of datagrams of a version of `size` bytes.
fn datagrams(size: usize, payload: usize) -> u64 {
    size.div_ceil(payload) as u64
}

/// The trainer's side.
#[derive(Debug)]
pub struct Sender {
    socket: UdpSocket,
    destination: SocketAddrV4,
    key: u64,
    payload: usize,
    bytes_per_second: Option<u64>,
    prepared: Vec<u8>,
    packet: Vec<u8>,
    sending: Option<Sending>,
}

/// A version that is being sent.
#[derive(Clone, Copy, Debug)]
struct Sending {
    version: u64,
    next: u64,
    started_at: u64,
}

/// Progress of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Number of datagrams sent by this call.
    pub datagrams: u64,
    /// The version whose last datagram was sent by this call.
    pub finished: Option<u64>,
}

impl Sender {
    /// Opens the socket.
    ///
    /// # Errors
    /// If an address is invalid, or the socket cannot be opened or configured.
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
            destination: address("destination", &delivery.destination)?,
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

    /// Starts to send the prepared version at time `now`.
    pub fn start(&mut self, version: u64, now: u64) {
        self.sending = Some(Sending {
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
    /// If the socket refuses a datagram for a reason other than a full queue.
    pub fn advance(&mut self, now: u64) -> io::Result<Sent> {
        let mut sent = Sent {
            datagrams: 0,
            finished: None,
        };
        let Some(mut sending) = self.sending else {
            return Ok(sent);
        };
        let total = datagrams(self.prepared.len(), self.payload);
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
                // An ICMP message about an earlier datagram, for example because a worker has closed its socket.
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
    fn is_ahead(&self, sending: Sending, now: u64) -> bool {
        self.bytes_per_second.is_some_and(|rate| {
            let elapsed = now.saturating_sub(sending.started_at);
            let allowed = u128::from(elapsed) * u128::from(rate) / 1_000_000_000;
            u128::from(sending.next) * self.payload as u128 > allowed
        })
    }
}

fn is_full(error: &io::Error) -> bool {
    // ENOBUFS: the queue of the interface is full.
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// A worker's side.
#[derive(Debug)]
pub struct Receiver {
    socket: UdpSocket,
    key: u64,
    payload: usize,
    packet: Vec<u8>,
    assembly: Vec<u8>,
    /// The version in `assembly`, and the number of its datagrams that have not arrived.
    assembling: Option<(u64, u64)>,
    /// One bit for each datagram of each version, set if it has arrived.
    arrived: Vec<u64>,
    counts: DatagramReport,
}

impl Receiver {
    /// Joins the group. `max_version` is the number of versions for which datagrams are counted.
    ///
    /// # Errors
    /// If an address is invalid, or the socket cannot be opened or join the group.
    pub fn open(
        delivery: &MulticastDelivery,
        parameters: &Parameters,
        key: u64,
        max_version: u32,
    ) -> io::Result<Self> {
        let interface = interface(delivery)?;
        let group = address("group", &delivery.group)?;
        let socket = socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
            None,
        )?;
        // All workers on a machine listen on the same port.
        sockopt::set_socket_reuseaddr(&socket, true)?;
        if sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER_BYTES).is_err() {
            // Without the privilege, the kernel reduces the size to its limit.
            sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER_BYTES)?;
        }
        bind(&socket, &group)?;
        let granted = sockopt::socket_recv_buffer_size(&socket)? as u64;
        let socket = UdpSocket::from(socket);
        if group.ip().is_multicast() {
            socket.join_multicast_v4(group.ip(), &interface)?;
        }
        let payload = delivery.datagram_bytes as usize;
        let bits = datagrams(parameters.size(), payload) * u64::from(max_version);
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

    /// Receives some of the waiting datagrams. Returns the result for a version whose last datagram has arrived, or `None`.
    /// `idle` is set if no datagram was waiting.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn receive(&mut self, parameters: &mut Parameters, idle: &mut bool) -> io::Result<Option<Verified>> {
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
        let total = datagrams(size, self.payload);
        let Some((version, index)) = self.identify(length, total) else {
            // A datagram of another application, or of another case.
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
            // A datagram of a version that a newer one has already replaced.
            Some((current, _)) if current > version => return false,
            _ => total,
        };
        let from = index as usize * self.payload;
        let to = size.min(from + self.payload);
        self.assembly[from..to].copy_from_slice(&self.packet[HEADER_BYTES..length]);
        self.assembling = Some((version, missing - 1));
        missing == 1
    }

    /// Version and index of the datagram of `length` bytes in `packet`, if it belongs to this case.
    fn identify(&self, length: usize, total: u64) -> Option<(u64, u64)> {
        let (words, _) = self.packet.as_chunks::<8>();
        let [key, version, place] = [0, 1, 2].map(|word| u64::from_le_bytes(words[word]));
        let (index, count) = (place & u64::from(u32::MAX), place >> 32);
        let payload = (self.assembly.len() as u64).saturating_sub(index * self.payload as u64);
        let expected = HEADER_BYTES as u64 + payload.min(self.payload as u64);
        let belongs = key == self.key && count == total && index < total && length as u64 == expected;
        belongs.then_some((version, index))
    }

    /// The counts, given the numbers of datagrams and versions that the trainer sent and the number of versions that this
    /// worker received completely. Must be called after all datagrams have arrived or are lost.
    pub fn report(&self, sent: u64, versions_sent: u64, versions_received: u64) -> DatagramReport {
        DatagramReport {
            sent,
            lost: sent.saturating_sub(self.counts.received),
            incomplete_versions: versions_sent.saturating_sub(versions_received),
            ..self.counts
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    const KEY: u64 = 5;
    const SIZE: u64 = 1_000_000;
    /// 8 KiB datagrams: 123 in a version of 1 MB.
    const PAYLOAD: u32 = 8192;

    fn delivery(destination: &UdpSocket, group: &str) -> MulticastDelivery {
        MulticastDelivery {
            group: group.to_owned(),
            destination: destination.local_addr().unwrap().to_string(),
            interface: Some("127.0.0.1".to_owned()),
            datagram_bytes: PAYLOAD,
            bytes_per_second: Some(40_000_000),
        }
    }

    fn free_address() -> (UdpSocket, String) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap().to_string();
        (socket, address)
    }

    /// Forwards `count` datagrams from `from` to `to`, except those for which `drops` returns true. Returns the number of
    /// dropped datagrams.
    fn relay(from: UdpSocket, to: String, count: u64, drops: impl Fn(u64) -> bool + Send) -> u64 {
        let mut packet = vec![0; 65_536];
        from.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut dropped = 0;
        for number in 0..count {
            let length = from.recv(&mut packet).unwrap();
            if drops(number) {
                dropped += 1;
            } else {
                from.send_to(&packet[..length], &to).unwrap();
            }
        }
        dropped
    }

    fn send_all(sender: &mut Sender, parameters: &mut Parameters, versions: u64) -> u64 {
        let mut sent = 0;
        for version in 0..versions {
            sender.prepare(parameters, version);
            let start = Instant::now();
            sender.start(version, 1);
            while sender.is_busy() {
                let now = 1 + start.elapsed().as_nanos() as u64;
                sent += sender.advance(now).unwrap().datagrams;
                thread::yield_now();
            }
        }
        sent
    }

    fn receive_all(receiver: &mut Receiver, wanted: u64) -> BTreeSet<u64> {
        let mut parameters = Parameters::new(KEY, SIZE);
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut whole = BTreeSet::new();
        while receiver.counts.received + receiver.counts.duplicates < wanted {
            assert!(Instant::now() < deadline, "{:?}", receiver.counts);
            match receiver.receive(&mut parameters, &mut false).unwrap() {
                Some(Verified::Whole(version)) => assert!(whole.insert(version)),
                Some(Verified::Torn) => panic!("a complete version is torn"),
                None => {}
            }
        }
        whole
    }

    /// Sends `versions` versions through a relay, and returns the report, the complete versions and the numbers of the
    /// datagrams that the relay dropped.
    fn through_relay(versions: u64, drops: impl Fn(u64) -> bool + Send + Copy) -> (DatagramReport, u64, u64) {
        let mut parameters = Parameters::new(KEY, SIZE);
        let (inbound, _) = free_address();
        // The relay must not lose datagrams by itself, even if its thread starts late.
        let granted = sockopt::set_socket_recv_buffer_size_force(&inbound, RECEIVE_BUFFER_BYTES);
        granted
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&inbound, RECEIVE_BUFFER_BYTES))
            .unwrap();
        let (reserved, group) = free_address();
        drop(reserved);
        let delivery = delivery(&inbound, &group);
        let mut receiver = Receiver::open(&delivery, &parameters, KEY, versions as u32).unwrap();
        let mut sender = Sender::open(&delivery, &parameters, KEY).unwrap();
        let total = versions * datagrams(SIZE as usize, PAYLOAD as usize);
        let planned = (0..total).filter(|number| drops(*number)).count() as u64;
        thread::scope(|scope| {
            let relay = scope.spawn(move || relay(inbound, group, total, drops));
            let receiving = scope.spawn(move || {
                let whole = receive_all(&mut receiver, total - planned);
                (receiver, whole)
            });
            let sent = send_all(&mut sender, &mut parameters, versions);
            assert_eq!(sent, total);
            let dropped = relay.join().unwrap();
            let (receiver, whole) = receiving.join().unwrap();
            (
                receiver.report(sent, versions, whole.len() as u64),
                dropped,
                whole.len() as u64,
            )
        })
    }

    #[test]
    fn loss_of_every_hundredth_datagram_is_accounted_exactly() {
        let (report, dropped, whole) = through_relay(20, |number| number % 100 == 99);
        // 123 datagrams per version: at least one of each version is dropped.
        assert_eq!((report.sent, dropped, whole), (2460, 24, 0));
        assert_eq!((report.lost, report.received, report.duplicates), (24, 2436, 0));
        assert_eq!(report.incomplete_versions, 20);
    }

    #[test]
    fn versions_without_loss_are_complete() {
        let (report, dropped, whole) = through_relay(5, |number| number == 130);
        assert_eq!((report.lost, dropped, whole), (1, 1, 4));
        assert_eq!(report.incomplete_versions, 1);
    }

    #[test]
    fn every_worker_receives_the_datagrams_of_the_group() {
        let mut parameters = Parameters::new(KEY, SIZE);
        let (reserved, address) = free_address();
        drop(reserved);
        let port = address.rsplit(':').next().unwrap();
        let delivery = MulticastDelivery {
            group: format!("239.255.7.8:{port}"),
            destination: format!("239.255.7.8:{port}"),
            interface: Some("127.0.0.1".to_owned()),
            datagram_bytes: PAYLOAD,
            bytes_per_second: Some(100_000_000),
        };
        let open = || Receiver::open(&delivery, &parameters, KEY, 3).unwrap();
        let mut receivers = [open(), open(), open()];
        let mut sender = Sender::open(&delivery, &parameters, KEY).unwrap();
        let sent = send_all(&mut sender, &mut parameters, 3);
        for receiver in &mut receivers {
            assert_eq!(receive_all(receiver, sent).len(), 3);
            assert_eq!(receiver.report(sent, 3, 3).lost, 0);
        }
    }

    #[test]
    fn duplicates_and_foreign_datagrams_are_no_arrivals() {
        let parameters = Parameters::new(KEY, SIZE);
        let (reserved, group) = free_address();
        drop(reserved);
        let (target, _) = free_address();
        let delivery = delivery(&target, &group);
        let mut receiver = Receiver::open(&delivery, &parameters, KEY, 2).unwrap();
        let datagram = |key: u64, version: u64, index: u32| {
            let mut bytes = [key.to_le_bytes(), version.to_le_bytes()].concat();
            bytes.extend(index.to_le_bytes());
            bytes.extend(123_u32.to_le_bytes());
            bytes.resize(HEADER_BYTES + PAYLOAD as usize, 1);
            bytes
        };
        for bytes in [
            datagram(KEY, 0, 0),
            datagram(KEY, 0, 0),
            datagram(KEY + 1, 0, 1),
            datagram(KEY, 0, 123),
            datagram(KEY, 7, 0),
            vec![0; 3],
        ] {
            target.send_to(&bytes, &group).unwrap();
        }
        let mut parameters = Parameters::new(KEY, SIZE);
        let deadline = Instant::now() + Duration::from_secs(20);
        while receiver.counts.duplicates == 0 {
            assert!(Instant::now() < deadline);
            receiver.receive(&mut parameters, &mut false).unwrap();
        }
        let mut idle = false;
        while !idle {
            receiver.receive(&mut parameters, &mut idle).unwrap();
        }
        let report = receiver.report(10, 2, 0);
        assert_eq!((report.received, report.duplicates, report.lost), (1, 1, 9));
    }
}
