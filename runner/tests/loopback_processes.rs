//! Tests of the built-in transport between two processes. Each test starts the test binary as the peer. The two
//! processes exchange endpoint addresses over a TCP connection on 127.0.0.1, like workers at the rendezvous.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helper functions of a test may panic"
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
    Completion, CompletionKind, EndpointAddresses, OpenConfig, Operation, Post, PostError, Region, RemoteKey,
    RemoteRegion, Transport,
};
use serde::{Serialize, de::DeserializeOwned};

/// Environment variable with the address on which the peer's parent process listens.
const ADDRESS_VARIABLE: &str = "FABRICBENCH_TEST_PEER";
const TIMEOUT: Duration = Duration::from_secs(60);
const BUFFER_BYTES: usize = 300_000;
const RAILS: usize = 2;
const ROUNDS: u64 = 50;

/// Peer process. It is killed when the test ends.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        let _result = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Endpoints and memory of one process, and its TCP connection to the other process.
struct Side {
    transport: Loopback,
    memory: Arc<Memory>,
    region: LoopbackRegion,
    remote: Vec<RemoteKey>,
    stream: BufReader<TcpStream>,
}

impl Side {
    fn connect(stream: TcpStream, kind: MemoryKind) -> Self {
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut stream = BufReader::new(stream);
        let mut transport = Loopback::open(&OpenConfig {
            uses_wait: true,
            ..OpenConfig::polled(TransportSpec::Loopback(LoopbackSpec { rails: RAILS as u32 }), 16)
        })
        .unwrap();
        let memory = Memory::allocate(kind, BUFFER_BYTES).unwrap();
        let region = transport.register(Arc::clone(&memory)).unwrap();
        let peer: EndpointAddresses = exchange(&mut stream, transport.addresses());
        transport.connect(&peer).unwrap();
        let remote: RemoteRegion = exchange(&mut stream, &region.remote());
        let remote = transport.import(0, &remote).unwrap();
        Self {
            transport,
            memory,
            region,
            remote,
            stream,
        }
    }

    fn post(&mut self, rail: usize, operation: Operation, length: u64) {
        let start = Instant::now();
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
                Err(PostError::Again) => assert!(start.elapsed() < TIMEOUT),
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// Waits for the next completion.
    fn next_completion(&mut self) -> Completion {
        let mut room = [Completion {
            rail: 0,
            kind: CompletionKind::RemoteWrite { immediate: 0 },
        }];
        let start = Instant::now();
        while self.transport.poll(&mut room).unwrap() == 0 {
            assert!(start.elapsed() < TIMEOUT, "no operation completed in time");
            self.transport.wait(Duration::from_secs(1)).unwrap();
        }
        room[0]
    }

    /// Polls until the other process sends a line. Polling executes the other process's posts.
    fn poll_until_message(&mut self) {
        self.stream.get_ref().set_nonblocking(true).unwrap();
        let start = Instant::now();
        while !matches!(self.stream.fill_buf(), Ok(bytes) if !bytes.is_empty()) {
            assert!(start.elapsed() < TIMEOUT);
            let mut completions = [Completion {
                rail: 0,
                kind: CompletionKind::RemoteWrite { immediate: 0 },
            }];
            assert_eq!(self.transport.poll(&mut completions), Ok(0));
            self.transport.wait(Duration::from_millis(1)).unwrap();
        }
        self.stream.get_ref().set_nonblocking(false).unwrap();
    }
}

/// Sends `value` as a line, and returns the value that the other process sends.
fn exchange<S: Serialize, T: DeserializeOwned>(stream: &mut BufReader<TcpStream>, value: &S) -> T {
    let mut line = serde_json::to_string(value).unwrap();
    line.push('\n');
    stream.get_mut().write_all(line.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

/// Starts this test binary as the peer of one test, and accepts its connection.
fn start_peer(test: &str) -> (Peer, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(ADDRESS_VARIABLE, listener.local_addr().unwrap().to_string())
        .spawn()
        .unwrap();
    (Peer(child), listener.accept().unwrap().0)
}

/// Connects to the parent process. Returns `None` in a process that was not started as the peer.
fn connect_as_peer() -> Option<TcpStream> {
    let address = std::env::var(ADDRESS_VARIABLE).ok()?;
    Some(TcpStream::connect(address).unwrap())
}

fn bytes(round: u64, length: u64) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 256 + round) as u8).collect()
}

fn length(round: u64) -> u64 {
    1 + round * round * 100
}

#[test]
fn transfers_every_operation_between_processes() {
    if let Some(stream) = connect_as_peer() {
        return target(Side::connect(stream, MemoryKind::SharedMemory));
    }
    let (mut peer, stream) = start_peer("transfers_every_operation_between_processes");
    let mut side = Side::connect(stream, MemoryKind::Heap);
    for round in 0..ROUNDS {
        let (rail, length) = (round as usize % RAILS, length(round));
        side.memory.write_from(0, &bytes(round, length)).unwrap();
        let immediate = round;
        // The processes synchronize over TCP after each operation, so that the target can check its memory.
        side.post(rail, Operation::Send { immediate }, length);
        assert!(matches!(
            side.next_completion().kind,
            CompletionKind::Posted { .. }
        ));
        assert!(exchange::<_, bool>(&mut side.stream, &true));
        let (remote, remote_offset) = (side.remote[rail], 1);
        side.post(
            rail,
            Operation::WriteImmediate {
                remote,
                remote_offset,
                immediate,
            },
            length,
        );
        assert!(matches!(
            side.next_completion().kind,
            CompletionKind::Posted { .. }
        ));
        assert!(exchange::<_, bool>(&mut side.stream, &true));
        // Only the local memory is cleared. The read then fetches the target's bytes, starting at offset 1.
        side.memory.fill(0).unwrap();
        side.post(
            rail,
            Operation::Read {
                remote,
                remote_offset,
            },
            length,
        );
        assert!(matches!(
            side.next_completion().kind,
            CompletionKind::Posted { .. }
        ));
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
            .post_receive(rail, &side.region, 5, BUFFER_BYTES as u64 - 5, 1)
            .unwrap();
        let completion = side.next_completion();
        let expected = CompletionKind::Received {
            token: 1,
            immediate: Some(round),
            length: length(round),
        };
        assert_eq!((completion.rail, completion.kind), (rail, expected));
        check(&side, 5, round);
        assert!(exchange::<_, bool>(&mut side.stream, &true));
        let completion = side.next_completion();
        assert_eq!(
            (completion.rail, completion.kind),
            (rail, CompletionKind::RemoteWrite { immediate: round })
        );
        check(&side, 1, round);
        assert!(exchange::<_, bool>(&mut side.stream, &true));
        side.poll_until_message();
        assert!(exchange::<_, bool>(&mut side.stream, &true));
    }
}

#[test]
fn detects_a_killed_process() {
    if let Some(stream) = connect_as_peer() {
        let mut side = Side::connect(stream, MemoryKind::Heap);
        // The peer does not poll. It is killed while it waits for a line that the parent never sends.
        let _never: bool = exchange(&mut side.stream, &true);
        return;
    }
    let (mut peer, stream) = start_peer("detects_a_killed_process");
    let mut side = Side::connect(stream, MemoryKind::Heap);
    side.post(0, Operation::Send { immediate: 0 }, 8);
    peer.0.kill().unwrap();
    peer.0.wait().unwrap();
    let start = Instant::now();
    let error = loop {
        assert!(start.elapsed() < TIMEOUT, "the killed peer was not detected");
        if let Err(error) = side.transport.poll(&mut []) {
            break error;
        }
        side.transport.wait(Duration::from_millis(1)).unwrap();
    };
    assert_eq!(error.reason, FailureReason::PeerLost);
    assert!(
        error
            .message
            .contains("exited while this side had outstanding posts"),
        "{error}"
    );
}
