//! Tests with datagrams over the loopback interface.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use crds::assignment::MulticastDelivery;
use crds::record::DatagramReport;
use rustix::net::sockopt;

use super::receiver::RECEIVE_BUFFER_BYTES;
use super::*;
use crate::scenario::parameter_serving::parameters::{Parameters, Verification};

const KEY: u64 = 5;
const SIZE: u64 = 1_000_000;
/// Datagram payload of 8 KiB: a version of 1 MB consists of 123 datagrams.
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
            Some(Verification::Intact(version)) => assert!(whole.insert(version)),
            Some(Verification::Torn) => panic!("a complete version is torn"),
            None => {}
        }
    }
    whole
}

/// Sends `versions` versions through a relay, and returns the report, the number of datagrams that the relay dropped
/// and the number of complete versions.
fn through_relay(versions: u64, drops: impl Fn(u64) -> bool + Send + Copy) -> (DatagramReport, u64, u64) {
    let mut parameters = Parameters::new(KEY, SIZE);
    let (inbound, _) = free_address();
    // The relay must not lose additional datagrams, even when its thread starts late.
    let granted = sockopt::set_socket_recv_buffer_size_force(&inbound, RECEIVE_BUFFER_BYTES);
    granted
        .or_else(|_| sockopt::set_socket_recv_buffer_size(&inbound, RECEIVE_BUFFER_BYTES))
        .unwrap();
    let (reserved, group) = free_address();
    drop(reserved);
    let delivery = delivery(&inbound, &group);
    let mut receiver = Receiver::open(&delivery, &parameters, KEY, versions as u32).unwrap();
    let mut sender = Sender::open(&delivery, &parameters, KEY).unwrap();
    let total = versions * datagram_count(SIZE as usize, PAYLOAD as usize);
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
fn loss_of_every_hundredth_datagram_is_counted_exactly() {
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
fn ignores_duplicate_and_unknown_datagrams() {
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
