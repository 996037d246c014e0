//! The receive queue of one thread. A consumed receive is reposted soon, but only after the reply to its message, so
//! that ping-pong latency does not include the repost. Spare receives are available in the meantime.
//!
//! A posted receive cannot be withdrawn, and a message consumes the oldest receive, regardless of its size. Therefore,
//! if a case needs receives of a different size or in different memory, the queue is drained: the peer sends as many
//! messages on each rail as there are old receives, and every consumed receive is posted again with the size and
//! location that the case needs.

use super::layout::{CONTROL_BYTES, ReceiveLayout, SPARE_RECEIVES};
use crate::transport::{PostError, Rail, Transport};

/// Number of receives on each rail for control messages. Libraries buffer messages that arrive when none is posted.
pub const CONTROL_RECEIVES: u32 = 8;

/// Maximum number of consumed receives on a rail that wait until the thread is idle.
const MAX_DEFERRED: usize = SPARE_RECEIVES as usize / 2;

/// Size and location of the receives of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceivePlan {
    /// Control messages only, in the thread's control memory.
    Control,
    /// Control messages and payload, in the thread's memory region `region`.
    Data {
        /// Memory region index.
        region: usize,
        /// Offset of the landing area in the region.
        base: u64,
        /// Layout of the receives in the landing area.
        layout: ReceiveLayout,
    },
}

/// Location of a receive in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveLocation {
    /// Memory region index; `None` for control memory.
    pub region: Option<usize>,
    /// Offset in the region.
    pub offset: u64,
    /// Length in bytes.
    pub length: u64,
}

/// Receives of one thread, on all rails.
#[derive(Debug)]
pub struct Receives {
    plan: ReceivePlan,
    generation: u32,
    rails: Box<[RailReceives]>,
    /// Receives to be posted at a later poll: receives of a new plan, consumed receives, and receives that the library
    /// could not queue.
    deferred: Vec<(Rail, u32)>,
    /// Whether a rail has more consumed receives than [`MAX_DEFERRED`].
    must_post: bool,
}

#[derive(Debug, Default)]
struct RailReceives {
    /// Posted receives, by token.
    posted: Vec<Option<PostedReceives>>,
    /// Number of posted receives that belong to earlier plans.
    old: u32,
    /// Number of consumed receives that have not been posted again.
    consumed: usize,
}

#[derive(Clone, Copy, Debug)]
struct PostedReceives {
    location: ReceiveLocation,
    generation: u32,
}

impl ReceivePlan {
    fn per_rail(&self) -> u32 {
        match self {
            Self::Control => CONTROL_RECEIVES,
            Self::Data { layout, .. } => layout.per_rail,
        }
    }

    fn location(&self, rail: Rail, token: u32) -> ReceiveLocation {
        match self {
            // The first slot of control memory is reserved for sending control messages.
            Self::Control => ReceiveLocation {
                region: None,
                offset: (1 + rail as u64 * u64::from(CONTROL_RECEIVES) + u64::from(token)) * CONTROL_BYTES,
                length: CONTROL_BYTES,
            },
            Self::Data { region, base, layout } => ReceiveLocation {
                region: Some(*region),
                offset: base + layout.offset(rail, token),
                length: layout.length,
            },
        }
    }
}

/// Size of the control memory for `rails` rails, in bytes.
pub fn control_bytes(rails: usize) -> u64 {
    (1 + rails as u64 * u64::from(CONTROL_RECEIVES)) * CONTROL_BYTES
}

impl Receives {
    /// Creates an empty queue for `rails` rails.
    pub fn new(rails: usize) -> Self {
        Self {
            plan: ReceivePlan::Control,
            generation: 0,
            rails: (0..rails).map(|_| RailReceives::default()).collect(),
            deferred: Vec::new(),
            must_post: false,
        }
    }

    /// Switches to `plan`. Returns the number of messages needed on each rail to consume the receives of earlier plans.
    ///
    /// Receives that the new plan needs but that are not posted yet are posted by [`Receives::post_deferred`]. After
    /// construction, only `change` allocates memory.
    pub fn change(&mut self, plan: ReceivePlan) -> u32 {
        for (rail, token) in self.deferred.drain(..) {
            self.rails[rail].posted[token as usize] = None;
        }
        self.reset_consumed();
        if plan != self.plan {
            self.plan = plan;
            self.generation += 1;
        }
        let generation = self.generation;
        let wanted = plan.per_rail();
        self.deferred.reserve(self.rails.len() * wanted as usize);
        for (rail, receives) in self.rails.iter_mut().enumerate() {
            let is_old = |posted: &&PostedReceives| posted.generation != generation;
            receives.old = receives.posted.iter().flatten().filter(is_old).count() as u32;
            let known = receives.posted.len().max(wanted as usize);
            receives.posted.resize(known, None);
            for token in 0..wanted {
                let posted = &mut receives.posted[token as usize];
                if posted.is_none() {
                    let location = plan.location(rail, token);
                    *posted = Some(PostedReceives { location, generation });
                    self.deferred.push((rail, token));
                }
            }
        }
        self.rails.iter().map(|receives| receives.old).max().unwrap_or(0)
    }

    /// Whether all receives of earlier plans have been consumed and no receives are waiting to be posted.
    pub fn is_drained(&self) -> bool {
        self.deferred.is_empty() && self.rails.iter().all(|receives| receives.old == 0)
    }

    /// Location of the posted receive `token` on `rail`.
    #[inline]
    pub fn location(&self, rail: Rail, token: u32) -> Option<ReceiveLocation> {
        let posted = self.rails.get(rail)?.posted.get(token as usize)?;
        posted.map(|posted| posted.location)
    }

    /// Records that a message consumed receive `token` on `rail`. If the current plan includes the receive,
    /// [`Receives::post_deferred`] posts it again.
    #[inline]
    pub fn release(&mut self, rail: Rail, token: u32) {
        let Some(receives) = self.rails.get_mut(rail) else {
            return;
        };
        let Some(Some(posted)) = receives.posted.get_mut(token as usize) else {
            return;
        };
        if posted.generation != self.generation {
            receives.old -= 1;
            if token >= self.plan.per_rail() {
                receives.posted[token as usize] = None;
                return;
            }
            *posted = PostedReceives {
                location: self.plan.location(rail, token),
                generation: self.generation,
            };
        }
        receives.consumed += 1;
        self.must_post |= receives.consumed > MAX_DEFERRED;
        self.deferred.push((rail, token));
    }

    #[inline]
    fn reset_consumed(&mut self) {
        for rail in &mut self.rails {
            rail.consumed = 0;
        }
        self.must_post = false;
    }

    #[inline]
    fn post<T: Transport>(
        &mut self,
        rail: Rail,
        token: u32,
        location: ReceiveLocation,
        transport: &mut T,
        regions: Regions<'_, T>,
    ) -> Result<(), PostError> {
        let region = match location.region {
            Some(index) => regions.data(index),
            None => Some(regions.control),
        };
        let Some(region) = region else {
            return Ok(());
        };
        match transport.post_receive(rail, region, location.offset, location.length, token) {
            Err(PostError::Again) => {
                self.deferred.push((rail, token));
                Ok(())
            }
            posted => posted,
        }
    }

    /// Whether receives are waiting to be posted.
    #[inline]
    pub fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// Whether too many receives are waiting, so that they must be posted before the next message is handled.
    #[inline]
    pub fn must_post(&self) -> bool {
        self.must_post
    }

    /// Posts the waiting receives until the library's queue is full.
    ///
    /// # Errors
    /// Returns an error if the library rejects a receive.
    pub fn post_deferred<T: Transport>(
        &mut self,
        transport: &mut T,
        regions: Regions<'_, T>,
    ) -> Result<(), PostError> {
        self.reset_consumed();
        for _ in 0..self.deferred.len() {
            let Some((rail, token)) = self.deferred.pop() else {
                break;
            };
            let waiting = self.deferred.len();
            let Some(location) = self.location(rail, token) else {
                continue;
            };
            self.post(rail, token, location, transport, regions)?;
            if self.deferred.len() > waiting {
                break;
            }
        }
        Ok(())
    }
}

/// Registered memory of one thread.
pub struct Regions<'a, T: Transport> {
    /// Control memory.
    pub control: &'a T::Region,
    /// Memory of each kind; `None` if it is unavailable.
    pub data: &'a [Option<T::Region>],
}

impl<T: Transport> Clone for Regions<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Transport> Copy for Regions<'_, T> {}

impl<'a, T: Transport> Regions<'a, T> {
    #[inline]
    fn data(self, index: usize) -> Option<&'a T::Region> {
        self.data.get(index)?.as_ref()
    }
}
