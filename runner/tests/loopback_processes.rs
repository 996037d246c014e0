//! The built-in transport between two processes: this test starts itself as the peer, and the two exchange endpoint
//! names over a TCP connection on 127.0.0.1, as workers do at the rendezvous.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of a test fails the test"
)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crds::record::FailureReason;
use crds::v1alpha1::{Loopback as LoopbackSpec, MemoryKind, TransportSpec};
use fabricbench_runner::memory::Memory;
use fabricbench_runner::transport::loopback::{Loopback, LoopbackRegion};
use fabricbench_runner::transport::{
    Completion, CompletionKind, EndpointAddresses, OpenConfig, Operation, Post, PostError, Region,
    RemoteRegion, Transport,
};
use serde::{Serialize, de::DeserializeOwned};

/// Tells the started process where the other one listens.
const ADDRESS: &str = "FABRICBENCH_TEST_PEER";
const PATIENCE: Duration = Duration::from_secs(60);
const ROOM: usize = 300_000;
const RAILS: usize = 2;
const ROUNDS: u64 = 50;

/// Ends the peer with the test, however that ends.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _status = self.0.wait();
    }
}

/// One side: endpoints, memory, and the connection to the other.
struct Side {
    transport: Loopback,
    memory: Arc<Memory>,
    region: LoopbackRegion,
    remote: RemoteRegion,
    stream: BufReader<TcpStream>,
}

impl Side {
    fn meet(stream: TcpStream, kind: MemoryKind) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut stream = BufReader::new(stream);
        let mut transport = Loopback::open(&OpenConfig {
            spec: TransportSpec::Loopback(LoopbackSpec { rails: RAILS as u32 }),
            rails: Vec::new(),
            library: None,
            inject_bytes: None,
            depth: 16,
            sleeps: true,
            device_memory: false,
            peers: 1,
        })
        .unwrap();
        let memory = Memory::allocate(kind, ROOM).unwrap();
        let region = transport.register(Arc::clone(&memory)).unwrap();
        let peer: EndpointAddresses = exchange(&mut stream, transport.addresses());
        transport.connect(&peer).unwrap();
        let remote = exchange(&mut stream, &region.remote());
        Self {
            transport,
            memory,
            region,
            remote,
            stream,
        }
    }

    fn post(&mut self, rail: usize, operation: Operation, length: u64) {
        let begun = Instant::now();
        loop {
            let post = Post {
                rail,
                peer: 0,
                operation,
                region: &self.region,
                offset: 0,
                length,
                inject: false,
                more: false,
                token: 0,
            };
            match self.transport.post(&post) {
                Ok(()) => return,
                Err(PostError::Again) => assert!(begun.elapsed() < PATIENCE),
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// The next completion.
    fn next(&mut self) -> Completion {
        let mut room = [Completion {
            rail: 0,
            kind: CompletionKind::RemoteWrite { immediate: 0 },
        }];
        let begun = Instant::now();
        while self.transport.poll(&mut room).unwrap() == 0 {
            assert!(begun.elapsed() < PATIENCE, "nothing completes");
            self.transport.wait(Duration::from_secs(1)).unwrap();
        }
        room[0]
    }

    /// Polls, so that what the other side posts is carried out, until it has sent a word.
    fn serve(&mut self) {
        self.stream.get_ref().set_nonblocking(true).unwrap();
        let begun = Instant::now();
        while !matches!(self.stream.fill_buf(), Ok(bytes) if !bytes.is_empty()) {
            assert!(begun.elapsed() < PATIENCE);
            let mut none = [Completion {
                rail: 0,
                kind: CompletionKind::RemoteWrite { immediate: 0 },
            }];
            assert_eq!(self.transport.poll(&mut none), Ok(0));
            self.transport.wait(Duration::from_millis(1)).unwrap();
        }
        self.stream.get_ref().set_nonblocking(false).unwrap();
    }
}

/// Sends a value as a line and takes one.
fn exchange<S: Serialize, T: DeserializeOwned>(stream: &mut BufReader<TcpStream>, value: &S) -> T {
    let mut line = serde_json::to_string(value).unwrap();
    line.push('\n');
    stream.get_mut().write_all(line.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

/// Starts this program again for one test, and takes its connection.
fn start_peer(test: &str) -> (Peer, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(ADDRESS, listener.local_addr().unwrap().to_string())
        .spawn()
        .unwrap();
    (Peer(child), listener.accept().unwrap().0)
}

fn called() -> Option<TcpStream> {
    let address = std::env::var(ADDRESS).ok()?;
    Some(TcpStream::connect(address).unwrap())
}

fn bytes(round: u64, length: u64) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + at / 256 + round) as u8).collect()
}

fn length(round: u64) -> u64 {
    1 + round * round * 100
}

#[test]
fn every_operation_crosses_from_one_process_to_another() {
    if let Some(stream) = called() {
        return target(Side::meet(stream, MemoryKind::SharedMemory));
    }
    let (mut peer, stream) = start_peer("every_operation_crosses_from_one_process_to_another");
    let mut side = Side::meet(stream, MemoryKind::Heap);
    for round in 0..ROUNDS {
        let (rail, length) = (round as usize % RAILS, length(round));
        side.memory.write_from(0, &bytes(round, length)).unwrap();
        let immediate = round;
        // Two messages to meet: the target looks at each before it answers.
        side.post(rail, Operation::Send { immediate }, length);
        assert!(matches!(side.next().kind, CompletionKind::Posted { .. }));
        assert!(exchange::<_, bool>(&mut side.stream, &true));
        let (remote, remote_offset) = (side.remote.rails[rail], 1);
        side.post(
            rail,
            Operation::WriteImmediate {
                remote,
                remote_offset,
                immediate,
            },
            length,
        );
        assert!(matches!(side.next().kind, CompletionKind::Posted { .. }));
        assert!(exchange::<_, bool>(&mut side.stream, &true));
        // Overwrites nothing but the memory here, which then is what the target has one byte further on.
        side.memory.fill(0).unwrap();
        side.post(
            rail,
            Operation::Read {
                remote,
                remote_offset,
            },
            length,
        );
        assert!(matches!(side.next().kind, CompletionKind::Posted { .. }));
        let mut back = vec![0; length as usize];
        side.memory.read_into(0, &mut back).unwrap();
        assert_eq!(back, bytes(round, length));
        assert!(exchange::<_, bool>(&mut side.stream, &true));
    }
    assert!(peer.0.wait().unwrap().success());
}

fn target(mut side: Side) {
    let check = |side: &Side, offset, round| {
        let mut found = vec![0; length(round) as usize];
        side.memory.read_into(offset, &mut found).unwrap();
        assert_eq!(found, bytes(round, length(round)));
    };
    for round in 0..ROUNDS {
        let rail = round as usize % RAILS;
        side.transport
            .post_receive(rail, &side.region, 5, ROOM as u64 - 5, 1)
            .unwrap();
        let came = side.next();
        let expected = CompletionKind::Received {
            token: 1,
            immediate: Some(round),
            length: length(round),
        };
        assert_eq!((came.rail, came.kind), (rail, expected));
        check(&side, 5, round);
        assert!(exchange::<_, bool>(&mut side.stream, &true));
        let came = side.next();
        assert_eq!(
            (came.rail, came.kind),
            (rail, CompletionKind::RemoteWrite { immediate: round })
        );
        check(&side, 1, round);
        assert!(exchange::<_, bool>(&mut side.stream, &true));
        side.serve();
        assert!(exchange::<_, bool>(&mut side.stream, &true));
    }
}

#[test]
fn a_killed_process_is_noticed() {
    if let Some(stream) = called() {
        let mut side = Side::meet(stream, MemoryKind::Heap);
        // Never polls: it is killed while it waits for a word that does not come.
        let _never: bool = exchange(&mut side.stream, &true);
        return;
    }
    let (mut peer, stream) = start_peer("a_killed_process_is_noticed");
    let mut side = Side::meet(stream, MemoryKind::Heap);
    side.post(0, Operation::Send { immediate: 0 }, 8);
    peer.0.kill().unwrap();
    peer.0.wait().unwrap();
    let begun = Instant::now();
    let error = loop {
        assert!(begun.elapsed() < PATIENCE, "not noticed");
        if let Err(error) = side.transport.poll(&mut []) {
            break error;
        }
        side.transport.wait(Duration::from_millis(1)).unwrap();
    };
    assert_eq!(error.reason, FailureReason::PeerLost);
    assert!(
        error.message.contains("ended with posts of this side undone"),
        "{error}"
    );
}
