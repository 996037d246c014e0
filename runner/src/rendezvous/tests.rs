//! Meetings over 127.0.0.1, with those who belong there and those who do not.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crds::assignment::{LegIdentity, Rendezvous};
use crds::record::FailureReason;

use super::guest::{self, JoinError};
use super::host::{self, MeetError, Meeting};
use super::message::{Command, MAX_HELLO_BYTES, PROTOCOL_VERSION, Processors, Refusal, Report, WorkerHello};
use super::{link, message};
use crate::frame::FrameReader;

fn identity() -> LegIdentity {
    LegIdentity {
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

type Joining = JoinHandle<Result<(Processors, FrameReader<TcpStream>), JoinError>>;

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(100)
}

/// A coordinator that waits for `workers - 1` others.
struct Host {
    rendezvous: Rendezvous,
    meeting: JoinHandle<Result<Meeting, MeetError>>,
}

impl Host {
    fn waits(workers: u32, timeout_seconds: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let rendezvous = Rendezvous {
            host: "127.0.0.1".into(),
            bind: "127.0.0.1".into(),
            port: listener.local_addr().unwrap().port(),
            timeout_seconds,
        };
        let waited = rendezvous.clone();
        let meet = move || {
            let meeting = host::meet(&listener, &identity(), workers, &waited, || false)?;
            let processors: Vec<_> = (0..workers)
                .map(|rank| Processors {
                    cpus: vec![rank],
                    sharers: 1,
                })
                .collect();
            host::welcome(&meeting, &identity(), &processors);
            Ok(meeting)
        };
        Self {
            rendezvous,
            meeting: thread::spawn(meet),
        }
    }

    fn join(&self, identity: LegIdentity, rank: u32) -> Joining {
        let rendezvous = self.rendezvous.clone();
        thread::spawn(move || guest::join(&rendezvous, &identity, rank, hello(&format!("r{rank}")), || false))
    }

    fn stranger(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.rendezvous.port)).unwrap()
    }

    /// Joins as someone else and returns the refusal.
    fn refusal(&self, identity: LegIdentity, rank: u32) -> Refusal {
        let error = self.join(identity, rank).join().unwrap().unwrap_err();
        assert_eq!(error.failure().reason, FailureReason::UnknownPeerRefused);
        let JoinError::Refused { reason, .. } = error else {
            panic!("{error}");
        };
        reason
    }

    /// Joins as `rank` again for as long as the place is taken.
    fn join_until_welcome(&self, rank: u32) -> Joining {
        let rendezvous = self.rendezvous.clone();
        thread::spawn(move || {
            loop {
                match guest::join(&rendezvous, &identity(), rank, hello("again"), || false) {
                    Err(JoinError::Refused {
                        reason: Refusal::RankTaken,
                        ..
                    }) => {}
                    result => return result,
                }
            }
        })
    }

    /// Sends raw bytes and returns what comes back until the end.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.stranger();
        // The host may close before all is sent.
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    }
}

#[test]
fn all_ranks_meet_and_each_learns_its_own_processors() {
    let host = Host::waits(4, 30);
    let guests: Vec<_> = [3, 1, 2].map(|rank| host.join(identity(), rank)).into();
    for (rank, guest) in [3, 1, 2].into_iter().zip(guests) {
        let (processors, _) = guest.join().unwrap().unwrap();
        assert_eq!(processors.cpus, [rank]);
    }
    let meeting = host.meeting.join().unwrap().unwrap();
    let met: Vec<_> = meeting
        .guests
        .iter()
        .map(|guest| (guest.rank, guest.hello.runner_version.as_str()))
        .collect();
    assert_eq!(met, [(1, "r1"), (2, "r2"), (3, "r3")]);
    assert!(meeting.refused.is_empty());
}

#[test]
fn strangers_are_told_why_and_counted_and_the_meeting_goes_on() {
    let host = Host::waits(3, 30);
    let one = host.join(identity(), 1);
    let other = |change: fn(&mut LegIdentity)| {
        let mut identity = identity();
        change(&mut identity);
        identity
    };
    assert_eq!(
        host.refusal(other(|who| who.uid = "uid-2".into()), 2),
        Refusal::OtherRun
    );
    assert_eq!(
        host.refusal(other(|who| who.plan_hash = "p2".into()), 2),
        Refusal::OtherPlan
    );
    assert_eq!(
        host.refusal(other(|who| who.attempt = 2), 2),
        Refusal::OtherAttempt
    );
    assert_eq!(host.refusal(other(|who| who.leg = 1), 2), Refusal::OtherAttempt);
    assert_eq!(host.refusal(identity(), 0), Refusal::RankOutOfRange);
    assert_eq!(host.refusal(identity(), 3), Refusal::RankOutOfRange);
    assert!(host.raw(b"GET / HTTP/1.1\r\n\r\n").contains("Garbage"));
    assert!(host.raw(b"{\"half\":").contains("Garbage"));
    assert!(host.raw(&vec![b'x'; 2 * MAX_HELLO_BYTES]).contains("TooLong"));
    let (one, two) = (one, host.join(identity(), 2));
    assert!(one.join().unwrap().is_ok() && two.join().unwrap().is_ok());
    let meeting = host.meeting.join().unwrap().unwrap();
    let refused: Vec<_> = meeting.refused.into_iter().collect();
    let expected = [
        (Refusal::OtherRun, 1),
        (Refusal::OtherPlan, 1),
        (Refusal::OtherAttempt, 2),
        (Refusal::RankOutOfRange, 2),
        (Refusal::Garbage, 2),
        (Refusal::TooLong, 1),
    ];
    assert_eq!(refused, expected);
}

#[test]
fn a_rank_that_is_there_is_not_taken_by_another_and_one_that_died_is_replaced() {
    let host = Host::waits(3, 30);
    let envelope = message::Envelope {
        identity: identity(),
        rank: 1,
        message: hello("first"),
    };
    let mut first = host.stranger();
    crate::frame::write(&mut first, &envelope, MAX_HELLO_BYTES).unwrap();
    // Two come as rank 1 and both stay: whoever is looked at later is refused, and hears so.
    let mut reader = FrameReader::new(first.try_clone().unwrap());
    let second = host.join(identity(), 1);
    while !second.is_finished() && !crate::frame::readable(&first, soon()).unwrap() {}
    let first_was_refused = crate::frame::readable(&first, soon()).unwrap();
    let second = if first_was_refused {
        let line = String::from_utf8(reader.read(MAX_HELLO_BYTES, None).unwrap()).unwrap();
        assert!(line.contains("RankTaken"), "{line}");
        second
    } else {
        let error = second.join().unwrap().unwrap_err();
        assert!(
            matches!(
                error,
                JoinError::Refused {
                    reason: Refusal::RankTaken,
                    ..
                }
            ),
            "{error}"
        );
        drop((first, reader));
        // The place is free as soon as the host has seen the first one go.
        host.join_until_welcome(1)
    };
    let third = host.join(identity(), 2);
    assert!(second.join().unwrap().is_ok() && third.join().unwrap().is_ok());
    let meeting = host.meeting.join().unwrap().unwrap();
    assert!(meeting.refused[&Refusal::RankTaken] >= 1);
}

#[test]
fn a_missing_rank_is_named_and_the_others_are_sent_home() {
    let host = Host::waits(4, 1);
    let there = host.join(identity(), 2);
    host.refusal(identity(), 7);
    let error = host.meeting.join().unwrap().unwrap_err();
    let failure = error.failure();
    assert_eq!(failure.reason, FailureReason::WorkerMissing);
    assert!(
        failure.message.contains("rank 1, 3 did not come"),
        "{}",
        failure.message
    );
    assert!(
        failure.message.contains("1 RankOutOfRange"),
        "{}",
        failure.message
    );
    let sent_home = there.join().unwrap().unwrap_err();
    assert_eq!(sent_home.failure().reason, FailureReason::WorkerMissing);
}

#[test]
fn a_coordinator_that_is_not_there_is_said_to_be_missing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let rendezvous = Rendezvous {
        host: "127.0.0.1".into(),
        bind: "127.0.0.1".into(),
        port,
        timeout_seconds: 1,
    };
    let error = guest::join(&rendezvous, &identity(), 1, hello("r1"), || false).unwrap_err();
    assert_eq!(error.failure().reason, FailureReason::WorkerMissing);
    assert!(error.to_string().contains(&port.to_string()));
}

#[test]
fn a_stop_ends_the_waiting_of_both_sides() {
    static STOPPED: AtomicBool = AtomicBool::new(false);
    let listener = host::listen(&Rendezvous {
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
    let guest =
        thread::spawn(move || guest::join(&joining, &identity(), 1, hello("r1"), stopped).unwrap_err());
    let meeting =
        thread::spawn(move || host::meet(&listener, &identity(), 3, &rendezvous, stopped).unwrap_err());
    STOPPED.store(true, Ordering::Relaxed);
    assert_eq!(
        meeting.join().unwrap().failure().reason,
        FailureReason::Interrupted
    );
    assert_eq!(guest.join().unwrap().failure().reason, FailureReason::Interrupted);
}

#[test]
fn a_link_carries_messages_and_refuses_those_of_another_rank() {
    let host = Host::waits(2, 30);
    let (_, reader) = host.join(identity(), 1).join().unwrap().unwrap();
    let mut meeting = host.meeting.join().unwrap().unwrap();
    let guest = meeting.guests.remove(0);
    let mut raw = reader.stream().try_clone().unwrap();
    let (mut to_host, mut from_host) = link::link(reader, &identity(), 1, 0).unwrap();
    let (mut to_guest, mut from_guest) = link::link(guest.reader, &identity(), 0, 1).unwrap();
    to_guest.send(&Command::OpenRound { index: 7 }).unwrap();
    assert!(matches!(
        from_host.receive().unwrap(),
        Command::OpenRound { index: 7 }
    ));
    to_host.send(&Report::RoundOpened).unwrap();
    assert!(matches!(from_guest.receive().unwrap(), Report::RoundOpened));
    let forged = message::Envelope {
        identity: identity(),
        rank: 5,
        message: Report::RoundOpened,
    };
    crate::frame::write(&mut raw, &forged, MAX_HELLO_BYTES).unwrap();
    let error = from_guest.receive::<Report>().unwrap_err();
    assert!(matches!(error, link::LinkError::Identity), "{error}");
}
