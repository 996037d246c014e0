//! Tests the rendezvous over 127.0.0.1 with expected and unknown peers.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crds::assignment::{AttemptIdentity, Rendezvous};
use crds::record::FailureReason;

use super::coordinator::{self, AdmittedPeers, RendezvousError};
use super::message::{
    Command, MAX_HELLO_BYTES, PROTOCOL_VERSION, Rejection, WorkerCpus, WorkerHello, WorkerReport,
};
use super::peer::{self, JoinError};
use super::{link, message};
use crate::frame::FrameReader;

fn identity() -> AttemptIdentity {
    AttemptIdentity {
        run: "a-run".into(),
        uid: "uid-1".into(),
        plan_hash: "p1".into(),
        leg: 2,
        attempt: 3,
    }
}

fn hello(name: &str) -> WorkerHello {
    WorkerHello {
        protocol: PROTOCOL_VERSION,
        runner_version: name.into(),
        environment: Default::default(),
        boot_id: "b".into(),
        cpus: vec![0],
    }
}

type JoiningWorker = JoinHandle<Result<(WorkerCpus, FrameReader<TcpStream>), JoinError>>;

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(100)
}

/// A coordinator that waits for peers on a separate thread.
struct Coordinator {
    rendezvous: Rendezvous,
    result: JoinHandle<Result<AdmittedPeers, RendezvousError>>,
}

impl Coordinator {
    fn start(workers: u32, timeout_seconds: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let rendezvous = Rendezvous {
            host: "127.0.0.1".into(),
            bind: "127.0.0.1".into(),
            port: listener.local_addr().unwrap().port(),
            timeout_seconds,
        };
        let waiting = rendezvous.clone();
        let wait = move || {
            let admitted = coordinator::wait_for_peers(&listener, &identity(), workers, &waiting, || false)?;
            let cpus: Vec<_> = (0..workers)
                .map(|rank| WorkerCpus {
                    cpus: vec![rank],
                    overlapping_workers: 1,
                })
                .collect();
            coordinator::welcome(&admitted, &identity(), &cpus);
            Ok(admitted)
        };
        Self {
            rendezvous,
            result: thread::spawn(wait),
        }
    }

    fn join(&self, identity: AttemptIdentity, rank: u32) -> JoiningWorker {
        let rendezvous = self.rendezvous.clone();
        thread::spawn(move || peer::join(&rendezvous, &identity, rank, hello(&format!("r{rank}")), || false))
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.rendezvous.port)).unwrap()
    }

    /// Joins with a wrong identity or rank and returns the reason for the rejection.
    fn rejection(&self, identity: AttemptIdentity, rank: u32) -> Rejection {
        let error = self.join(identity, rank).join().unwrap().unwrap_err();
        assert_eq!(error.failure().reason, FailureReason::UnknownPeerRefused);
        let JoinError::Refused { reason, .. } = error else {
            panic!("{error}");
        };
        reason
    }

    /// Joins as `rank`, and retries while the rank is taken.
    fn join_until_welcome(&self, rank: u32) -> JoiningWorker {
        let rendezvous = self.rendezvous.clone();
        thread::spawn(move || {
            loop {
                match peer::join(&rendezvous, &identity(), rank, hello("again"), || false) {
                    Err(JoinError::Refused {
                        reason: Rejection::RankTaken,
                        ..
                    }) => {}
                    result => return result,
                }
            }
        })
    }

    /// Sends raw bytes and returns the complete response.
    fn send_raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The coordinator may close the connection before all bytes are sent.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response);
        String::from_utf8(response).unwrap()
    }
}

#[test]
fn admits_all_ranks_and_sends_each_its_cpus() {
    let coordinator = Coordinator::start(4, 30);
    let peers: Vec<_> = [3, 1, 2].map(|rank| coordinator.join(identity(), rank)).into();
    for (rank, peer) in [3, 1, 2].into_iter().zip(peers) {
        let (cpus, _) = peer.join().unwrap().unwrap();
        assert_eq!(cpus.cpus, [rank]);
    }
    let admitted = coordinator.result.join().unwrap().unwrap();
    let joined: Vec<_> = admitted
        .peers
        .iter()
        .map(|peer| (peer.rank, peer.hello.runner_version.as_str()))
        .collect();
    assert_eq!(joined, [(1, "r1"), (2, "r2"), (3, "r3")]);
    assert!(admitted.rejected.is_empty());
}

#[test]
fn rejects_unknown_peers_with_a_reason_and_continues() {
    let coordinator = Coordinator::start(3, 30);
    let one = coordinator.join(identity(), 1);
    let other = |change: fn(&mut AttemptIdentity)| {
        let mut identity = identity();
        change(&mut identity);
        identity
    };
    assert_eq!(
        coordinator.rejection(other(|identity| identity.uid = "uid-2".into()), 2),
        Rejection::OtherRun
    );
    assert_eq!(
        coordinator.rejection(other(|identity| identity.plan_hash = "p2".into()), 2),
        Rejection::OtherPlan
    );
    assert_eq!(
        coordinator.rejection(other(|identity| identity.attempt = 2), 2),
        Rejection::OtherAttempt
    );
    assert_eq!(
        coordinator.rejection(other(|identity| identity.leg = 1), 2),
        Rejection::OtherAttempt
    );
    assert_eq!(coordinator.rejection(identity(), 0), Rejection::RankOutOfRange);
    assert_eq!(coordinator.rejection(identity(), 3), Rejection::RankOutOfRange);
    assert!(
        coordinator
            .send_raw(b"GET / HTTP/1.1\r\n\r\n")
            .contains("Garbage")
    );
    assert!(coordinator.send_raw(b"{\"half\":").contains("Garbage"));
    assert!(
        coordinator
            .send_raw(&vec![b'x'; 2 * MAX_HELLO_BYTES])
            .contains("TooLong")
    );
    let (one, two) = (one, coordinator.join(identity(), 2));
    assert!(one.join().unwrap().is_ok() && two.join().unwrap().is_ok());
    let admitted = coordinator.result.join().unwrap().unwrap();
    let rejected: Vec<_> = admitted.rejected.into_iter().collect();
    let expected = [
        (Rejection::OtherRun, 1),
        (Rejection::OtherPlan, 1),
        (Rejection::OtherAttempt, 2),
        (Rejection::RankOutOfRange, 2),
        (Rejection::Garbage, 2),
        (Rejection::TooLong, 1),
    ];
    assert_eq!(rejected, expected);
}

#[test]
fn rejects_a_taken_rank_and_replaces_a_disconnected_peer() {
    let coordinator = Coordinator::start(3, 30);
    let envelope = message::Envelope {
        identity: identity(),
        rank: 1,
        message: hello("first"),
    };
    let mut first = coordinator.connect();
    crate::frame::write(&mut first, &envelope, MAX_HELLO_BYTES).unwrap();
    // Two connections claim rank 1, and both stay open. Whichever is checked second must be rejected.
    let mut reader = FrameReader::new(first.try_clone().unwrap());
    let second = coordinator.join(identity(), 1);
    while !second.is_finished() && !crate::frame::wait_until_readable(&first, soon()).unwrap() {}
    let first_was_rejected = crate::frame::wait_until_readable(&first, soon()).unwrap();
    let second = if first_was_rejected {
        let line = String::from_utf8(reader.read(MAX_HELLO_BYTES, None).unwrap()).unwrap();
        assert!(line.contains("RankTaken"), "{line}");
        second
    } else {
        let error = second.join().unwrap().unwrap_err();
        assert!(
            matches!(
                error,
                JoinError::Refused {
                    reason: Rejection::RankTaken,
                    ..
                }
            ),
            "{error}"
        );
        drop((first, reader));
        // The rank becomes available as soon as the coordinator detects that the first connection has closed.
        coordinator.join_until_welcome(1)
    };
    let third = coordinator.join(identity(), 2);
    assert!(second.join().unwrap().is_ok() && third.join().unwrap().is_ok());
    let admitted = coordinator.result.join().unwrap().unwrap();
    assert!(admitted.rejected[&Rejection::RankTaken] >= 1);
}

#[test]
fn reports_missing_ranks_and_notifies_joined_peers() {
    let coordinator = Coordinator::start(4, 1);
    let joined = coordinator.join(identity(), 2);
    coordinator.rejection(identity(), 7);
    let error = coordinator.result.join().unwrap().unwrap_err();
    let failure = error.failure();
    assert_eq!(failure.reason, FailureReason::WorkerMissing);
    assert!(
        failure.message.contains("ranks 1 and 3 did not join"),
        "{}",
        failure.message
    );
    assert!(
        failure.message.contains("1 RankOutOfRange"),
        "{}",
        failure.message
    );
    let error = joined.join().unwrap().unwrap_err();
    assert_eq!(error.failure().reason, FailureReason::WorkerMissing);
}

#[test]
fn reports_an_absent_coordinator() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let rendezvous = Rendezvous {
        host: "127.0.0.1".into(),
        bind: "127.0.0.1".into(),
        port,
        timeout_seconds: 1,
    };
    let error = peer::join(&rendezvous, &identity(), 1, hello("r1"), || false).unwrap_err();
    assert_eq!(error.failure().reason, FailureReason::WorkerMissing);
    assert!(error.to_string().contains(&port.to_string()));
}

#[test]
fn a_signal_stops_the_rendezvous_on_both_sides() {
    static STOPPED: AtomicBool = AtomicBool::new(false);
    let listener = coordinator::listen(&Rendezvous {
        host: "127.0.0.1".into(),
        bind: "127.0.0.1".into(),
        port: 0,
        timeout_seconds: 60,
    })
    .unwrap();
    let rendezvous = Rendezvous {
        host: "127.0.0.1".into(),
        bind: "127.0.0.1".into(),
        port: listener.local_addr().unwrap().port(),
        timeout_seconds: 60,
    };
    let stopped = || STOPPED.load(Ordering::Relaxed);
    let joining = rendezvous.clone();
    let peer = thread::spawn(move || peer::join(&joining, &identity(), 1, hello("r1"), stopped).unwrap_err());
    let waiting = thread::spawn(move || {
        coordinator::wait_for_peers(&listener, &identity(), 3, &rendezvous, stopped).unwrap_err()
    });
    STOPPED.store(true, Ordering::Relaxed);
    assert_eq!(
        waiting.join().unwrap().failure().reason,
        FailureReason::Interrupted
    );
    assert_eq!(peer.join().unwrap().failure().reason, FailureReason::Interrupted);
}

#[test]
fn a_link_carries_messages_and_rejects_other_ranks() {
    let coordinator = Coordinator::start(2, 30);
    let (_, reader) = coordinator.join(identity(), 1).join().unwrap().unwrap();
    let mut admitted = coordinator.result.join().unwrap().unwrap();
    let peer = admitted.peers.remove(0);
    let mut raw = reader.stream().try_clone().unwrap();
    let (mut to_coordinator, mut from_coordinator) = link::split(reader, &identity(), 1, 0).unwrap();
    let (mut to_peer, mut from_peer) = link::split(peer.reader, &identity(), 0, 1).unwrap();
    to_peer.send(&Command::OpenRound { index: 7 }).unwrap();
    assert!(matches!(
        from_coordinator.receive().unwrap(),
        Command::OpenRound { index: 7 }
    ));
    to_coordinator.send(&WorkerReport::RoundOpened).unwrap();
    assert!(matches!(from_peer.receive().unwrap(), WorkerReport::RoundOpened));
    let forged = message::Envelope {
        identity: identity(),
        rank: 5,
        message: WorkerReport::RoundOpened,
    };
    crate::frame::write(&mut raw, &forged, MAX_HELLO_BYTES).unwrap();
    let error = from_peer.receive::<WorkerReport>().unwrap_err();
    assert!(matches!(error, link::LinkError::Identity), "{error}");
}
