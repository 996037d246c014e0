//! Segments of shared memory: the owner creates a segment, and its peers map it. Transferring messages makes no system
//! calls except to wake a sleeping owner; all other operations make system calls.
//!
//! A segment is an anonymous file, which the kernel frees when the last process that has it open exits, even when the
//! process crashes. Peers open it through the owner's file descriptor in `/proc`, which the kernel permits for
//! processes that run as the same user and can see the owner's process ID.

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

use super::ring::Ring;
use super::rules::address::SegmentAddress;
use super::rules::layout::{Layout, MAGIC, header};
use crate::memory::ffi::mapping::Mapping;
use crate::memory::pages;
use crate::transport::TransportError;

/// Mapped segment.
#[derive(Debug)]
pub(super) struct Segment {
    mapping: Arc<Mapping>,
    layout: Layout,
    nonce: u64,
    /// Whether the owner may sleep and must be woken.
    waits: bool,
}

/// This side's segment, with the file that peers open.
#[derive(Debug)]
pub(super) struct OwnSegment {
    pub(super) segment: Segment,
    file: File,
}

/// A peer's segment, with a pidfd of the peer's process.
#[derive(Debug)]
pub(super) struct PeerSegment {
    pub(super) segment: Segment,
    process: OwnedFd,
}

impl OwnSegment {
    /// Creates a segment with all of its pages allocated.
    ///
    /// # Errors
    /// Returns `NotEnoughMemory` if the machine does not have enough memory.
    pub(super) fn create(layout: Layout, waits: bool) -> Result<Self, TransportError> {
        let failed = |reason, message| TransportError {
            reason,
            operation: "open",
            message,
        };
        let (mapping, file) = pages::allocate_shared(layout.bytes()).map_err(|error| {
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
        for (offset, value) in [
            (header::NONCE, nonce),
            (header::RAILS, layout.rails as u64),
            (header::PEERS, layout.peers as u64),
            (header::SLOTS, layout.slots as u64),
            (header::WAITS, u64::from(waits)),
            (header::MAGIC, MAGIC),
        ] {
            segment.set(offset, value);
        }
        Ok(Self { segment, file })
    }

    /// Address that peers use to open the segment.
    pub(super) fn address(&self) -> SegmentAddress {
        SegmentAddress {
            process: std::process::id(),
            descriptor: self.file.as_raw_fd().unsigned_abs(),
            nonce: self.segment.nonce,
        }
    }

    /// Marks the segment as closed, so that peers detect that their posts will no longer be consumed.
    pub(super) fn close(&self) {
        self.segment.set(header::CLOSED, 1);
    }

    /// Sleeps until a peer wakes this side, but no longer than `timeout`.
    ///
    /// Does not sleep if `is_ready` returns true. Returns whether the timeout expired.
    pub(super) fn sleep(&self, timeout: Timespec, is_ready: impl FnOnce() -> bool) -> io::Result<bool> {
        let half_word = |offset| {
            self.segment
                .mapping
                .half_word(offset)
                .ok_or(io::ErrorKind::InvalidData)
        };
        let (signal, sleeping): (&AtomicU32, &AtomicU32) =
            (half_word(header::SIGNAL)?, half_word(header::SLEEPING)?);
        let current = signal.load(Ordering::Acquire);
        sleeping.store(1, Ordering::SeqCst);
        // Pairs with the fence in `wake_sleeper`: either the peer observes that this side is going to sleep and changes
        // the signal, or `is_ready` observes the posts or responses that the peer has published.
        fence(Ordering::SeqCst);
        let mut timed_out = false;
        if !is_ready() {
            match futex::wait(signal, futex::Flags::empty(), current, Some(&timeout)) {
                Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::TIMEDOUT) => timed_out = true,
                Err(error) => return Err(error.into()),
            }
        }
        sleeping.store(0, Ordering::Relaxed);
        Ok(timed_out)
    }
}

impl PeerSegment {
    /// Maps a peer's segment.
    ///
    /// # Errors
    /// Returns `FabricUnreachable` if the process cannot be accessed or does not have the segment.
    pub(super) fn open(address: SegmentAddress) -> Result<Self, TransportError> {
        Self::map(address).map_err(|error| TransportError {
            reason: FailureReason::FabricUnreachable,
            operation: "connect",
            message: format!(
                "cannot open segment {} of process {}: {error}; both processes must be running on the same machine, \
                 in the same PID namespace and as the same user",
                address.descriptor, address.process
            ),
        })
    }

    fn map(address: SegmentAddress) -> io::Result<Self> {
        let invalid = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message.to_owned());
        let pid = i32::try_from(address.process).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| invalid("not a valid process ID"))?;
        // Opening the pidfd before the file, and comparing the nonce in the file, ensures that both belong to the same
        // process even when the process ID has been reused.
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        let path = format!("/proc/{}/fd/{}", address.process, address.descriptor);
        let file = File::options().read(true).write(true).open(path)?;
        // Without the seal, the owner could truncate the file and cause a bus error in this process.
        if !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            return Err(invalid("the segment is not sealed against shrinking"));
        }
        let bytes =
            usize::try_from(file.metadata()?.len()).map_err(|_| invalid("the segment is too large"))?;
        let mapping = pages::map(&file, bytes)?;
        let word = |offset| {
            mapping
                .words::<1>(offset)
                .map(|[word]| word.load(Ordering::Acquire))
        };
        let size = |offset| word(offset).and_then(|value| usize::try_from(value).ok());
        if word(header::MAGIC) != Some(MAGIC) || word(header::NONCE) != Some(address.nonce) {
            return Err(invalid("the segment does not belong to this endpoint name"));
        }
        let layout = Layout {
            rails: size(header::RAILS).unwrap_or(0),
            peers: size(header::PEERS).unwrap_or(0),
            slots: size(header::SLOTS).unwrap_or(0),
        };
        if !layout.is_valid() || layout.bytes() > bytes {
            return Err(invalid("the sizes in the segment header are invalid"));
        }
        let segment = Segment {
            waits: word(header::WAITS) != Some(0),
            mapping: Arc::new(mapping),
            layout,
            nonce: address.nonce,
        };
        Ok(Self { segment, process })
    }

    /// Claims one ring on every rail for the side with the nonce `own`.
    ///
    /// Returns the index of the claim; `None` if all rings are claimed.
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

    /// Whether the peer's process has exited.
    pub(super) fn has_exited(&self) -> bool {
        let mut processes = [PollFd::new(&self.process, PollFlags::IN)];
        let no_wait = Timespec::default();
        rustix::event::poll(&mut processes, Some(&no_wait)).is_ok_and(|ready| ready > 0)
    }
}

impl Segment {
    /// Random number in the header, which identifies the segment.
    pub(super) fn nonce(&self) -> u64 {
        self.nonce
    }

    /// Segment layout.
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// Ring for the given rail and claim.
    pub(super) fn ring(&self, rail: usize, claim: usize) -> Ring {
        Ring::new(Arc::clone(&self.mapping), self.layout, rail, claim)
    }

    /// Number of rings that peers have claimed on every rail.
    #[inline]
    pub(super) fn claimed_rings(&self) -> usize {
        // Peers never increment the counter beyond this limit; `min` protects against a misbehaving peer.
        (self.get(header::CLAIMED) as usize).min(self.layout.peers)
    }

    /// Nonce of the side that claimed a ring; `None` until that side has written it.
    pub(super) fn claimant(&self, claim: usize) -> Option<u64> {
        Some(self.get(header::CLAIMS + claim * 8)).filter(|nonce| *nonce != 0)
    }

    /// Whether the owner has closed the segment.
    pub(super) fn is_closed(&self) -> bool {
        self.get(header::CLOSED) != 0
    }

    /// Wakes the owner if it is sleeping. Called after posts or responses for the owner have been published.
    #[inline]
    pub(super) fn wake(&self) {
        if self.waits {
            self.wake_sleeper();
        }
    }

    fn wake_sleeper(&self) {
        let half_word = |offset| self.mapping.half_word(offset);
        if let (Some(signal), Some(sleeping)) = (half_word(header::SIGNAL), half_word(header::SLEEPING)) {
            // Pairs with the fence in `sleep`.
            fence(Ordering::SeqCst);
            if sleeping.load(Ordering::Relaxed) != 0 {
                signal.fetch_add(1, Ordering::Release);
                // The call can fail only if the address is not mapped.
                let _woken = futex::wake(signal, futex::Flags::empty(), 1);
            }
        }
    }

    fn get(&self, offset: usize) -> u64 {
        let word: Option<&[AtomicU64; 1]> = self.mapping.words(offset);
        word.map_or(0, |[word]| word.load(Ordering::Acquire))
    }

    fn set(&self, offset: usize, value: u64) {
        if let Some([word]) = self.mapping.words::<1>(offset) {
            word.store(value, Ordering::Release);
        }
    }
}

/// Returns a nonzero random number.
pub(super) fn random() -> io::Result<u64> {
    let mut bytes = [0u8; 8];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes).max(1))
}
