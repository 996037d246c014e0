//! What one side has registered, and what has been delivered to it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::memory::Memory;
use crate::transport::{Completion, CompletionKind, Rail, RemoteKey};

#[derive(Default)]
pub(super) struct Endpoint {
    pub(super) regions: Vec<Arc<Memory>>,
    pub(super) receives: Vec<VecDeque<Receive>>,
    pub(super) unexpected: Vec<VecDeque<(Vec<u8>, u64)>>,
    pub(super) completions: VecDeque<Completion>,
}

pub(super) struct Receive {
    pub(super) memory: Arc<Memory>,
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) token: u32,
}

impl Endpoint {
    /// Delivers a message to the oldest posted receive, or stores the message until a receive is posted.
    pub(super) fn deliver_message(&mut self, rail: Rail, bytes: Vec<u8>, immediate: u64) {
        let Some(receive) = self.receives[rail].pop_front() else {
            self.unexpected[rail].push_back((bytes, immediate));
            return;
        };
        assert!(
            bytes.len() as u64 <= receive.length,
            "a message of {} bytes exceeds its receive buffer of {} bytes on rail {rail}",
            bytes.len(),
            receive.length
        );
        receive
            .memory
            .write_from(receive.offset as usize, &bytes)
            .unwrap();
        self.completions.push_back(Completion {
            rail,
            kind: CompletionKind::Received {
                token: receive.token,
                immediate: Some(immediate),
                length: bytes.len() as u64,
            },
        });
    }

    /// Writes into the region with `remote`'s key.
    pub(super) fn write(&self, remote: RemoteKey, offset: u64, bytes: &[u8]) {
        let memory = &self.regions[remote.key as usize];
        memory.write_from(offset as usize, bytes).unwrap();
    }
}
