//! One rail as the driver of a [`RailSet`](crate::transport::rail_set::RailSet).

use std::collections::VecDeque;
use std::sync::Arc;

use crds::record::{FabricFacts, RailFacts};
use crds::v1alpha1::TransportSpec;

use super::inbox::{Arrival, Inbox};
use crate::memory::Memory;
use crate::transport::failures::{other_transport, refused};
use crate::transport::rail_set::{Abilities, Armed, OpenedRails, RailDriver, RegisteredMemory};
use crate::transport::{
    CompletionKind, EndpointAddresses, OpenConfig, Operation, PackedKey, Peer, Post, PostError, RemoteKey,
    TransportError,
};

/// One rail.
pub struct Rail {
    name: u64,
    inbox: Arc<Inbox>,
    peers: Vec<Arc<Inbox>>,
    receives: VecDeque<Receive>,
    completed: VecDeque<u32>,
    depth: usize,
}

struct Receive {
    memory: Arc<Memory>,
    offset: usize,
    length: u64,
    token: u32,
}

/// Memory that is registered on one rail.
pub struct Region {
    memory: Arc<Memory>,
    key: u64,
}

const INVALID: PostError = PostError::Refused(libc::EINVAL);

impl RailDriver for Rail {
    type Shared = ();
    type Region = Region;

    const CONNECT: &'static str = "connect";
    const ABILITIES: Abilities<Self> = Abilities::NONE;

    fn load(_config: &OpenConfig) -> Result<(), TransportError> {
        Ok(())
    }

    fn open(config: &OpenConfig) -> Result<OpenedRails<Self>, TransportError> {
        let TransportSpec::Pipe(spec) = &config.spec else {
            return Err(other_transport("pipe", config));
        };
        if config.inject_bytes.is_some() {
            return Err(refused("open", "a pipe has no inject call".to_owned()));
        }
        let rails: Vec<Self> = (0..spec.rails)
            .map(|_| {
                let (name, inbox) = Inbox::open();
                Self {
                    name,
                    inbox,
                    peers: Vec::new(),
                    receives: VecDeque::new(),
                    completed: VecDeque::new(),
                    depth: config.depth,
                }
            })
            .collect();
        let names = rails.iter().map(|rail| rail.name.to_le_bytes().to_vec());
        Ok(OpenedRails {
            addresses: EndpointAddresses { rails: names.collect() },
            facts: FabricFacts {
                provider: "pipe".to_owned(),
                rails: vec![RailFacts::default(); rails.len()],
                transmit_depth: config.depth as u64,
                max_message_bytes: u64::MAX,
                progress: "auto".to_owned(),
                ..FabricFacts::default()
            },
            shared: (),
            rails,
        })
    }

    fn connect(
        &mut self,
        _shared: &mut (),
        _rail: crate::transport::Rail,
        name: &[u8],
        _facts: &mut FabricFacts,
    ) -> Result<Peer, TransportError> {
        let name = <[u8; 8]>::try_from(name).map(u64::from_le_bytes).ok();
        let inbox = name.and_then(Inbox::find).ok_or_else(|| {
            let message = "the peer is not in this process, or has closed its rail; use loopback between processes";
            refused(Self::CONNECT, message.to_owned())
        })?;
        self.peers.push(inbox);
        Ok(self.peers.len() - 1)
    }

    fn register(&mut self, _shared: &(), memory: &Arc<Memory>) -> Result<Region, TransportError> {
        let memory = Arc::clone(memory);
        let key = self.inbox.register(Arc::clone(&memory));
        Ok(Region { memory, key })
    }

    fn registration_method(_memory: &Memory) -> &'static str {
        "none needed"
    }

    fn key(region: &Region) -> PackedKey {
        RemoteKey { address: 0, key: region.key }.into()
    }

    fn import(&mut self, _shared: &(), _peer: Peer, key: &PackedKey, _length: u64) -> Result<RemoteKey, TransportError> {
        RemoteKey::try_from(key)
    }

    fn post(&mut self, _shared: &(), region: &Region, post: &Post<'_, RegisteredMemory<Self>>) -> Result<(), PostError> {
        if post.inject || post.more {
            return Err(PostError::Refused(libc::EOPNOTSUPP));
        }
        if self.completed.len() >= self.depth {
            return Err(PostError::Again);
        }
        let peer = self.peers.get(post.peer).ok_or(INVALID)?;
        let local = |bytes: &mut [u8]| region.memory.read_into(post.offset as usize, bytes);
        let mut bytes = vec![0; post.length as usize];
        let remote = |key: RemoteKey| peer.region(key.key).ok_or(INVALID);
        match post.operation {
            Operation::Send { immediate } => {
                local(&mut bytes).map_err(|_| INVALID)?;
                peer.deliver(Arrival::Message(immediate, bytes));
            }
            Operation::Write { remote: key, remote_offset } => {
                local(&mut bytes).map_err(|_| INVALID)?;
                remote(key)?.write_from(remote_offset as usize, &bytes).map_err(|_| INVALID)?;
            }
            Operation::WriteImmediate { remote: key, remote_offset, immediate } => {
                local(&mut bytes).map_err(|_| INVALID)?;
                remote(key)?.write_from(remote_offset as usize, &bytes).map_err(|_| INVALID)?;
                peer.deliver(Arrival::Write(immediate));
            }
            Operation::Read { remote: key, remote_offset } => {
                remote(key)?.read_into(remote_offset as usize, &mut bytes).map_err(|_| INVALID)?;
                region.memory.write_from(post.offset as usize, &bytes).map_err(|_| INVALID)?;
            }
        }
        self.completed.push_back(post.token);
        Ok(())
    }

    fn receive(&mut self, _shared: &(), region: &Region, offset: u64, length: u64, token: u32) -> Result<(), PostError> {
        let memory = Arc::clone(&region.memory);
        let offset = usize::try_from(offset).map_err(|_| INVALID)?;
        self.receives.push_back(Receive { memory, offset, length, token });
        Ok(())
    }

    fn poll(&mut self, room: usize, mut report: impl FnMut(CompletionKind)) -> Result<(), TransportError> {
        for _ in 0..room {
            if let Some(token) = self.completed.pop_front() {
                report(CompletionKind::Posted { token });
                continue;
            }
            match self.inbox.take(!self.receives.is_empty()) {
                None => break,
                Some(Arrival::Write(immediate)) => report(CompletionKind::RemoteWrite { immediate }),
                Some(Arrival::Message(immediate, bytes)) => {
                    let Some(receive) = self.receives.pop_front() else { break };
                    let length = bytes.len() as u64;
                    if length > receive.length {
                        let message = format!("a message of {length} bytes arrived for {} bytes", receive.length);
                        return Err(refused("poll", message));
                    }
                    receive.memory.write_from(receive.offset, &bytes)?;
                    let token = receive.token;
                    report(CompletionKind::Received { token, immediate: Some(immediate), length });
                }
            }
        }
        Ok(())
    }

    fn arm(&mut self) -> Result<Armed, TransportError> {
        Err(refused("wait", "a pipe can only be polled".to_owned()))
    }
}

impl Drop for Rail {
    fn drop(&mut self) {
        Inbox::close(self.name);
    }
}
