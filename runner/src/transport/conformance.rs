//! Tests of what every transport must do, with real traffic between two transports in one process.
//! [`transport_conformance`](crate::transport_conformance) instantiates them for a transport. An operation that a transport
//! does not support must be refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    reason = "only tests use this module"
)]

mod refusals;

pub use refusals::*;

use crate::transport::test_pair::{Pair, PostRequest, pattern};
use crate::transport::{CompletionKind, OpenConfig, Operation, PostError, Transport, TransportError};
use crds::record::FailureReason;
use crds::v1alpha1::TransportSpec;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Configuration under which a transport is tested.
#[derive(Clone, Debug)]
pub struct Subject {
    /// One rail.
    pub config: OpenConfig,
    /// Several rails.
    pub rails: Option<OpenConfig>,
    /// Length of the longest message in bytes. Reads and writes may be longer.
    pub max_message: usize,
    /// Part of the error if the transport cannot wait; `None` if it can.
    pub cannot_wait: Option<&'static str>,
    /// Held while a pair exists.
    pub lock: Option<&'static Mutex<()>>,
}

impl Subject {
    pub fn new(config: OpenConfig) -> Self {
        Self {
            config,
            rails: None,
            max_message: 300_000,
            cannot_wait: None,
            lock: None,
        }
    }

    fn try_pair<T: Transport>(&self, config: &OpenConfig) -> Result<Pair<T>, TransportError> {
        let lock = self
            .lock
            .map(|lock| lock.lock().unwrap_or_else(PoisonError::into_inner));
        Pair::open(config, lock)
    }

    fn pair<T: Transport>(&self) -> Pair<T> {
        self.try_pair(&self.config)
            .unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    fn injects(&self) -> bool {
        self.config.inject_bytes.is_some()
    }
}

/// Maximum number of posts in flight in [`config`].
pub const DEPTH: usize = 64;

/// Configuration for polling, with one peer and the devices that the transport selects.
pub fn config(spec: TransportSpec) -> OpenConfig {
    OpenConfig::polled(spec, DEPTH)
}

const POSTED: CompletionKind = CompletionKind::Posted { token: 0 };
const SEND: Operation = Operation::Send {
    immediate: 0xdead_beef,
};

fn write<T: Transport>(pair: &Pair<T>, rail: usize, remote_offset: u64) -> Operation {
    Operation::Write {
        remote: pair.remote(rail),
        remote_offset,
    }
}

fn write_immediate<T: Transport>(pair: &Pair<T>, remote_offset: u64, immediate: u64) -> Operation {
    Operation::WriteImmediate {
        remote: pair.remote(0),
        remote_offset,
        immediate,
    }
}

fn receive<T: Transport>(pair: &mut Pair<T>, offset: u64, length: u64, token: u32) {
    let target = &mut pair.target;
    target
        .transport
        .post_receive(0, &target.region, offset, length, token)
        .unwrap();
}

pub fn a_send_transfers_bytes_and_immediate_data<T: Transport>(subject: &Subject) {
    let lengths = [1, 8, 64, 4096, 300_000];
    for length in lengths
        .into_iter()
        .filter(|length| *length <= subject.max_message)
    {
        let mut pair = subject.pair::<T>();
        pair.initiator.fill(0, &pattern(length, 1));
        receive(&mut pair, 0, 500_000, 5);
        pair.post(PostRequest {
            token: 7,
            ..PostRequest::new(SEND, length as u64)
        });
        let observed =
            pair.poll_until(|observed| !observed.initiator.is_empty() && !observed.target.is_empty());
        let posted = CompletionKind::Posted { token: 7 };
        assert_eq!(observed.initiator, [posted], "{subject:?}");
        let arrived = CompletionKind::Received {
            token: 5,
            immediate: Some(0xdead_beef),
            length: length as u64,
        };
        assert_eq!(observed.target, [arrived], "{subject:?}");
        assert_eq!(pair.target.bytes(0, length), pattern(length, 1), "{subject:?}");
    }
}

pub fn messages_that_arrive_before_their_receives_are_delivered_in_order<T: Transport>(subject: &Subject) {
    const COUNT: u32 = 10;
    let length = subject.max_message.min(64) as u64;
    let mut pair = subject.pair::<T>();
    pair.initiator.fill(0, &pattern(COUNT as usize * 64, 2));
    for token in 0..COUNT {
        let immediate = 100 + u64::from(token);
        pair.post(PostRequest {
            token,
            offset: 64 * u64::from(token),
            ..PostRequest::new(Operation::Send { immediate }, length)
        });
    }
    let mut posted = 0;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(20) {
        posted += pair.initiator.poll().unwrap().len();
        assert_eq!(pair.target.poll().unwrap(), [], "{subject:?}");
    }
    // The order of the receives counts, not the order of their tokens.
    for token in (0..COUNT).rev() {
        receive(&mut pair, 64 * u64::from(COUNT - 1 - token), 64, token);
    }
    let observed = pair.poll_until(|observed| {
        posted + observed.initiator.len() == COUNT as usize && observed.target.len() == COUNT as usize
    });
    let arrived: Vec<_> = (0..COUNT)
        .map(|message| CompletionKind::Received {
            token: COUNT - 1 - message,
            immediate: Some(100 + u64::from(message)),
            length,
        })
        .collect();
    assert_eq!(observed.target, arrived, "{subject:?}");
    let sent = pattern(COUNT as usize * 64, 2);
    for at in (0..COUNT as usize).map(|message| message * 64) {
        let bytes = pair.target.bytes(at, length as usize);
        assert_eq!(bytes, sent[at..at + length as usize], "{subject:?}");
    }
}

pub fn a_completed_write_is_in_target_memory<T: Transport>(subject: &Subject) {
    for length in [8, 4096, 500_000] {
        let mut pair = subject.pair::<T>();
        pair.initiator.fill(128, &pattern(length, 4));
        pair.post(PostRequest {
            offset: 128,
            ..PostRequest::new(write(&pair, 0, 64), length as u64)
        });
        let observed = pair.poll_until(|observed| !observed.initiator.is_empty());
        assert_eq!(
            (observed.initiator, observed.target),
            (vec![POSTED], vec![]),
            "{subject:?}"
        );
        assert_eq!(pair.target.bytes(64, length), pattern(length, 4), "{subject:?}");
        assert_eq!(pair.target.bytes(0, 64), vec![0; 64], "{subject:?}");
    }
}

pub fn immediate_data_arrives_after_the_bytes_of_its_write<T: Transport>(subject: &Subject) {
    for (length, inject) in [(48, false), (200_000, false), (48, true)] {
        let mut pair = subject.pair::<T>();
        pair.initiator.fill(0, &pattern(length, 5));
        let post = PostRequest {
            inject,
            ..PostRequest::new(write_immediate(&pair, 16, 77), length as u64)
        };
        if inject && !subject.injects() {
            let refused = Err(PostError::Refused(libc::EOPNOTSUPP));
            assert_eq!(pair.initiator.post(post), refused, "{subject:?}");
            continue;
        }
        pair.post(post);
        let observed = pair.poll_until(|observed| !observed.target.is_empty());
        assert_eq!(pair.target.bytes(16, length), pattern(length, 5), "{subject:?}");
        let arrived = CompletionKind::RemoteWrite { immediate: 77 };
        assert_eq!(observed.target, [arrived], "{subject:?}");
        if !inject && observed.initiator.is_empty() {
            let observed = pair.poll_until(|observed| !observed.initiator.is_empty());
            assert_eq!(observed.initiator, [POSTED], "{subject:?}");
        }
    }
}

pub fn a_read_transfers_bytes_from_the_target<T: Transport>(subject: &Subject) {
    for length in [8, 100_000] {
        let mut pair = subject.pair::<T>();
        pair.target.fill(32, &pattern(length, 6));
        let operation = Operation::Read {
            remote: pair.remote(0),
            remote_offset: 32,
        };
        let more = pair.initiator.transport.capabilities().more;
        pair.post(PostRequest {
            more,
            ..PostRequest::new(operation, length as u64)
        });
        if more {
            pair.post(PostRequest {
                token: 1,
                offset: 500_000,
                ..PostRequest::new(operation, length as u64)
            });
        }
        let observed = pair.poll_until(|observed| observed.initiator.len() == 1 + usize::from(more));
        assert!(observed.initiator.contains(&POSTED), "{subject:?}");
        assert_eq!(pair.initiator.bytes(0, length), pattern(length, 6), "{subject:?}");
    }
}

/// Posts bursts of writes, with and without `more`.
pub fn every_write_of_a_burst_completes_once<T: Transport>(subject: &Subject) {
    const BURST: u32 = 24;
    const BYTES: u64 = 8192;
    for shares_doorbell in [false, true] {
        let mut pair = subject.pair::<T>();
        if shares_doorbell && !pair.initiator.transport.capabilities().more {
            let post = PostRequest {
                more: true,
                ..PostRequest::new(write(&pair, 0, 0), 8)
            };
            let refused = Err(PostError::Refused(libc::EOPNOTSUPP));
            assert_eq!(pair.initiator.post(post), refused, "{subject:?}");
            continue;
        }
        let bytes = BURST as usize * BYTES as usize;
        pair.initiator.fill(0, &pattern(bytes, 7));
        for token in 0..BURST {
            let at = u64::from(token) * BYTES;
            let operation = match token % 3 {
                0 => write(&pair, 0, at),
                _ => write_immediate(&pair, at, u64::from(token)),
            };
            pair.post(PostRequest {
                offset: at,
                more: shares_doorbell && token + 1 < BURST,
                token,
                ..PostRequest::new(operation, BYTES)
            });
        }
        let observed = pair.poll_until(|observed| {
            observed.initiator.len() == BURST as usize && observed.target.len() == BURST as usize * 2 / 3
        });
        for token in 0..BURST {
            let posted = CompletionKind::Posted { token };
            assert!(observed.initiator.contains(&posted), "{subject:?}: {observed:?}");
        }
        assert_eq!(pair.target.bytes(0, bytes), pattern(bytes, 7), "{subject:?}");
    }
}

pub fn messages_that_share_a_doorbell_are_all_delivered<T: Transport>(subject: &Subject) {
    const COUNT: u32 = 4;
    let mut pair = subject.pair::<T>();
    let more = pair.initiator.transport.capabilities().more;
    for token in 0..COUNT {
        receive(&mut pair, u64::from(token) * 64, 64, token);
        pair.post(PostRequest {
            more: more && token + 1 < COUNT,
            token,
            ..PostRequest::new(SEND, 8)
        });
    }
    let observed = pair.poll_until(|observed| {
        observed.initiator.len() == COUNT as usize && observed.target.len() == COUNT as usize
    });
    for token in 0..COUNT {
        let arrived = CompletionKind::Received {
            token,
            immediate: Some(0xdead_beef),
            length: 8,
        };
        assert!(observed.target.contains(&arrived), "{subject:?}: {observed:?}");
    }
}

pub fn an_injected_send_buffer_is_reusable_on_return_without_a_completion<T: Transport>(subject: &Subject) {
    let mut pair = subject.pair::<T>();
    let inject = PostRequest {
        inject: true,
        ..PostRequest::new(SEND, subject.max_message.min(64) as u64)
    };
    if !subject.injects() {
        let refused = Err(PostError::Refused(libc::EOPNOTSUPP));
        assert_eq!(pair.initiator.post(inject), refused, "{subject:?}");
        return;
    }
    receive(&mut pair, 0, 64, 0);
    pair.initiator.fill(0, &pattern(64, 2));
    pair.post(inject);
    pair.initiator.fill(0, &pattern(64, 3));
    pair.poll_until(|observed| !observed.target.is_empty());
    assert_eq!(pair.target.bytes(0, 64), pattern(64, 2), "{subject:?}");
    // If the injection had a completion, it would arrive before the completion of this write.
    pair.post(PostRequest {
        token: 3,
        ..PostRequest::new(write(&pair, 0, 0), 64)
    });
    let observed = pair.poll_until(|observed| !observed.initiator.is_empty());
    let posted = CompletionKind::Posted { token: 3 };
    assert_eq!(observed.initiator, [posted], "{subject:?}");
}

pub fn every_rail_transfers_its_own_posts<T: Transport>(subject: &Subject) {
    let Some(config) = &subject.rails else {
        return;
    };
    let mut pair = subject
        .try_pair::<T>(config)
        .unwrap_or_else(|error| panic!("{config:?}: {error}"));
    let count = pair.initiator.transport.rails();
    assert!(count > 1, "{config:?}");
    assert_eq!(pair.initiator.transport.facts().rails.len(), count, "{config:?}");
    pair.initiator.fill(0, &pattern(1024 * count, 9));
    for rail in 0..count {
        let at = rail as u64 * 1024;
        pair.post(PostRequest {
            rail,
            offset: at,
            ..PostRequest::new(write(&pair, rail, at), 1024)
        });
    }
    let mut rails = Vec::new();
    pair.retry_until_some(|pair| {
        rails.extend(pair.poll().unwrap().iter().map(|(completion, _)| completion.rail));
        (rails.len() == count).then_some(())
    });
    rails.sort_unstable();
    assert_eq!(rails, (0..count).collect::<Vec<_>>(), "{config:?}");
    let sent = pattern(1024 * count, 9);
    assert_eq!(pair.target.bytes(0, 1024 * count), sent, "{config:?}");
}

pub fn wait_returns_when_a_message_arrives<T: Transport>(subject: &Subject) {
    let config = OpenConfig {
        uses_wait: true,
        ..subject.config.clone()
    };
    let opened = subject.try_pair::<T>(&config).and_then(|mut pair| {
        pair.target.transport.wait(Duration::from_millis(1))?;
        Ok(pair)
    });
    let mut pair = match (opened, subject.cannot_wait) {
        (Ok(pair), None) => pair,
        (Err(error), Some(cause)) => {
            assert_eq!(error.reason, FailureReason::OperationRejected, "{error}");
            assert!(error.message.contains(cause), "{error}");
            return;
        }
        (Ok(_), Some(cause)) => panic!("{subject:?}: no error with {cause}"),
        (Err(error), None) => panic!("{subject:?}: {error}"),
    };
    receive(&mut pair, 0, 64, 0);
    pair.post(PostRequest::new(SEND, subject.max_message.min(64) as u64));
    let start = Instant::now();
    let mut arrived = Vec::new();
    while arrived.is_empty() {
        let elapsed = start.elapsed();
        assert!(
            elapsed < Duration::from_secs(20),
            "{subject:?}: no message arrived"
        );
        pair.initiator.poll().unwrap();
        pair.target.transport.wait(Duration::from_millis(200)).unwrap();
        arrived = pair.target.poll().unwrap();
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(50) {
        pair.target.transport.wait(Duration::from_millis(50)).unwrap();
        assert_eq!(pair.target.poll().unwrap(), [], "{subject:?}");
    }
}

/// Checks at compile time that a transport and its region can move to another thread.
pub const fn transport_and_region_are_send<T: Transport>() {
    const fn assert_send<T: Send>() {}
    assert_send::<T>();
    assert_send::<T::Region>();
}

/// Instantiates the conformance tests for a transport with an expression for its [`Subject`]s, and an attribute of the
/// tests, if any. With `traffic`, only those that need no checks of arguments, which some transports leave to the
/// library.
#[macro_export]
macro_rules! transport_conformance {
    ($transport:ty, $subjects:expr $(, #[$attribute:meta])?) => {
        $crate::transport_conformance!(traffic $transport, $subjects $(, #[$attribute])?);
        $crate::transport_conformance! { @each $transport, $subjects, [$(#[$attribute])?];
            a_transport_that_was_opened_for_polling_does_not_wait
            a_depth_of_zero_is_rejected
            a_missing_library_is_reported
            more_sources_than_rails_are_rejected
            a_peer_with_another_number_of_rails_is_rejected
            invalid_arguments_are_refused
            a_token_is_refused_while_it_is_in_flight
        }
    };
    (traffic $transport:ty, $subjects:expr $(, #[$attribute:meta])?) => {
        const _: () = $crate::transport::conformance::transport_and_region_are_send::<$transport>();
        $crate::transport_conformance! { @each $transport, $subjects, [$(#[$attribute])?];
            a_send_transfers_bytes_and_immediate_data
            messages_that_arrive_before_their_receives_are_delivered_in_order
            a_completed_write_is_in_target_memory
            immediate_data_arrives_after_the_bytes_of_its_write
            a_read_transfers_bytes_from_the_target
            every_write_of_a_burst_completes_once
            messages_that_share_a_doorbell_are_all_delivered
            an_injected_send_buffer_is_reusable_on_return_without_a_completion
            every_rail_transfers_its_own_posts
            wait_returns_when_a_message_arrives
        }
    };
    (@each $transport:ty, $subjects:expr, $attributes:tt; $($check:ident)*) => {
        $($crate::transport_conformance! { @one $transport, $subjects, $attributes; $check })*
    };
    (@one $transport:ty, $subjects:expr, [$($attribute:tt)*]; $check:ident) => {
        #[test]
        $($attribute)*
        fn $check() {
            for subject in $subjects {
                $crate::transport::conformance::$check::<$transport>(&subject);
            }
        }
    };
}
