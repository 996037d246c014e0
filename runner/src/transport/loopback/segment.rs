//! Segments: made by their owner, mapped by its peers. Asks the kernel; nothing here is on the way of the bytes.
//!
//! A segment is a file without a name in any file system: it is gone with the last process that has it, however that
//! ends. Peers open it through the owner's descriptor in `/proc`, which the kernel allows to processes of the same
//! user that see its process number.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crds::record::FailureReason;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{SealFlags, fcntl_get_seals};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::thread::futex;

use super::layout::{Layout, MAGIC, header};
use super::name::SegmentName;
use super::ring::Ring;
use crate::memory::ffi::mapping::Mapping;
use crate::memory::pages;
use crate::transport::TransportError;

/// A mapped segment.
#[derive(Debug)]
pub(super) struct Segment {
    mapping: Arc<Mapping>,
    layout: Layout,
    nonce: u64,
    /// Whether its owner may sleep and has to be woken.
    waits: bool,
}

/// The segment of this side, with the file that peers open.
#[derive(Debug)]
pub(super) struct OwnSegment {
    pub(super) segment: Segment,
    file: File,
}

/// A peer's segment, with a hold on its process.
#[derive(Debug)]
pub(super) struct PeerSegment {
    pub(super) segment: Segment,
    process: OwnedFd,
}

impl OwnSegment {
    /// Makes a segment, all of it present in memory.
    ///
    /// # Errors
    /// `MemoryUnavailable` when the machine has no room for it.
    pub(super) fn create(layout: Layout, waits: bool) -> Result<Self, TransportError> {
        let failed = |reason, message| TransportError {
            reason,
            operation: "open",
            message,
        };
        let (mapping, file) = pages::shared(layout.bytes()).map_err(|error| {
            failed(
                error.reason(),
                format!(
                    "{} rails x {} peers x {} slots: {error}",
                    layout.rails, layout.peers, layout.slots
                ),
            )
        })?;
        let nonce = random().map_err(|error| failed(FailureReason::Internal, error.to_string()))?;
        let segment = Segment {
            mapping: Arc::new(mapping),
            layout,
            nonce,
            waits,
        };
        for (at, value) in [
            (header::NONCE, nonce),
            (header::RAILS, layout.rails as u64),
            (header::PEERS, layout.peers as u64),
            (header::SLOTS, layout.slots as u64),
            (header::WAITS, u64::from(waits)),
            (header::MAGIC, MAGIC),
        ] {
            segment.set(at, value);
        }
        Ok(Self { segment, file })
    }

    /// How peers find it.
    pub(super) fn name(&self) -> SegmentName {
        SegmentName {
            process: std::process::id(),
            descriptor: self.file.as_raw_fd().unsigned_abs(),
            nonce: self.segment.nonce,
        }
    }

    /// Tells peers that nobody will consume any more.
    pub(super) fn close(&self) {
        self.segment.set(header::CLOSED, 1);
    }

    /// Sleeps on the segment for at most `timeout`, unless `ready` says that there is something to do. Returns
    /// whether the whole time has passed.
    pub(super) fn sleep(&self, timeout: Timespec, ready: impl FnOnce() -> bool) -> io::Result<bool> {
        let half_word = |at| {
            self.segment
                .mapping
                .half_word(at)
                .ok_or(io::ErrorKind::InvalidData)
        };
        let (signal, sleeping): (&AtomicU32, &AtomicU32) =
            (half_word(header::SIGNAL)?, half_word(header::SLEEPING)?);
        let seen = signal.load(Ordering::Acquire);
        sleeping.store(1, Ordering::SeqCst);
        // Pairs with the fence in `wake`: either the peer sees that this side sleeps and changes the signal, or
        // `ready` sees what the peer has published.
        fence(Ordering::SeqCst);
        let mut whole = false;
        if !ready() {
            match futex::wait(signal, futex::Flags::empty(), seen, Some(&timeout)) {
                Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::TIMEDOUT) => whole = true,
                Err(error) => return Err(error.into()),
            }
        }
        sleeping.store(0, Ordering::Relaxed);
        Ok(whole)
    }
}

impl PeerSegment {
    /// Maps a peer's segment.
    ///
    /// # Errors
    /// `FabricUnreachable` when the process cannot be reached or has no such segment.
    pub(super) fn open(name: SegmentName) -> Result<Self, TransportError> {
        Self::mapped(name).map_err(|error| TransportError {
            reason: FailureReason::FabricUnreachable,
            operation: "connect",
            message: format!(
                "segment {} of process {}: {error}; both sides must be processes of one machine, one PID namespace and \
                 one user, and alive",
                name.descriptor, name.process
            ),
        })
    }

    fn mapped(name: SegmentName) -> io::Result<Self> {
        let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message.to_owned());
        let number = i32::try_from(name.process).ok().and_then(Pid::from_raw);
        let number = number.ok_or_else(|| invalid("not a process number"))?;
        // The process is held before its file is opened, and the nonce read from the file: so the two belong
        // together even where the number was used again.
        let process = pidfd_open(number, PidfdFlags::empty())?;
        let path = format!("/proc/{}/fd/{}", name.process, name.descriptor);
        let file = File::options().read(true).write(true).open(path)?;
        // Without the seal its owner could cut the file and make this process fault.
        if !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            return Err(invalid("not sealed"));
        }
        let bytes = usize::try_from(file.metadata()?.len()).map_err(|_| invalid("too large"))?;
        let mapping = pages::map(&file, bytes)?;
        let word = |at| mapping.words::<1>(at).map(|[word]| word.load(Ordering::Acquire));
        let number = |at| word(at).and_then(|value| usize::try_from(value).ok());
        if word(header::MAGIC) != Some(MAGIC) || word(header::NONCE) != Some(name.nonce) {
            return Err(invalid("not the segment of this endpoint name"));
        }
        let layout = Layout {
            rails: number(header::RAILS).unwrap_or(0),
            peers: number(header::PEERS).unwrap_or(0),
            slots: number(header::SLOTS).unwrap_or(0),
        };
        if !layout.is_valid() || layout.bytes() > bytes {
            return Err(invalid("its sizes do not fit"));
        }
        let segment = Segment {
            waits: word(header::WAITS) != Some(0),
            mapping: Arc::new(mapping),
            layout,
            nonce: name.nonce,
        };
        Ok(Self { segment, process })
    }

    /// Takes one ring of every rail for the side with the nonce `own`. Returns their number.
    pub(super) fn claim(&self, own: u64) -> Option<usize> {
        let [claimed] = self.segment.mapping.words::<1>(header::CLAIMED)?;
        let peers = self.segment.layout.peers as u64;
        let claim = claimed
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |claimed| {
                (claimed < peers).then_some(claimed + 1)
            })
            .ok()? as usize;
        self.segment.set(header::CLAIMS + claim * 8, own);
        Some(claim)
    }

    /// Whether its process has ended.
    pub(super) fn has_ended(&self) -> bool {
        let mut processes = [PollFd::new(&self.process, PollFlags::IN)];
        let at_once = Timespec::default();
        rustix::event::poll(&mut processes, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
}

impl Segment {
    /// Random number that it begins with.
    pub(super) fn nonce(&self) -> u64 {
        self.nonce
    }

    /// Its sizes.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// The ring of a rail.
    pub(super) fn ring(&self, rail: usize, claim: usize) -> Ring {
        Ring::new(Arc::clone(&self.mapping), self.layout, rail, claim)
    }

    /// Rings that peers have claimed on every rail.
    #[inline]
    pub(super) fn claimed(&self) -> usize {
        // The owner's peers count only up to their number; the bound holds against a peer that does not.
        (self.get(header::CLAIMED) as usize).min(self.layout.peers)
    }

    /// Nonce of the side that claimed a ring; nothing while it is about to write it.
    pub(super) fn claimant(&self, claim: usize) -> Option<u64> {
        Some(self.get(header::CLAIMS + claim * 8)).filter(|nonce| *nonce != 0)
    }

    /// Whether its owner has closed it.
    pub(super) fn is_closed(&self) -> bool {
        self.get(header::CLOSED) != 0
    }

    /// Wakes its owner, after something was published for it, if it sleeps.
    #[inline]
    pub(super) fn wake(&self) {
        if self.waits {
            self.wake_sleeper();
        }
    }

    fn wake_sleeper(&self) {
        let half_word = |at| self.mapping.half_word(at);
        if let (Some(signal), Some(sleeping)) = (half_word(header::SIGNAL), half_word(header::SLEEPING)) {
            // Pairs with the fence in `sleep`.
            fence(Ordering::SeqCst);
            if sleeping.load(Ordering::Relaxed) != 0 {
                signal.fetch_add(1, Ordering::Release);
                // The call fails for an address that is not mapped only, and this one is.
                let _woken = futex::wake(signal, futex::Flags::empty(), 1);
            }
        }
    }

    fn get(&self, at: usize) -> u64 {
        let word: Option<&[AtomicU64; 1]> = self.mapping.words(at);
        word.map_or(0, |[word]| word.load(Ordering::Acquire))
    }

    fn set(&self, at: usize, value: u64) {
        if let Some([word]) = self.mapping.words::<1>(at) {
            word.store(value, Ordering::Release);
        }
    }
}

/// A random number other than 0.
pub(super) fn random() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes).max(1))
}
