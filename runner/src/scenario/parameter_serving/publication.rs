//! Versions that the trainer has published and delivered. The threads of all the initiator's flows share this state.
//! Uses only atomics.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crds::assignment::{Delivery, ServingWorkload};

use crate::measure::clock;

/// Versions of one case.
#[derive(Debug)]
pub struct Publication {
    /// Key that distinguishes the versions and datagrams of this case from those of all other cases.
    key: u64,
    /// Number of threads that deliver each version.
    deliverers: u32,
    /// Number of deliveries by each flow.
    deliveries_by_flow: Box<[AtomicU64]>,
    is_ready: AtomicBool,
    start: AtomicU64,
    published: AtomicU64,
    ended: AtomicBool,
    datagrams: AtomicU64,
    versions: Box<[Version]>,
}

#[derive(Debug, Default)]
struct Version {
    published_at: AtomicU64,
    delivered_at: AtomicU64,
    deliveries: AtomicU32,
}

impl Publication {
    /// Creates the state of a case that has `flows` flows and no published versions. `key` should be different for
    /// every case.
    pub fn new(serving: &ServingWorkload, flows: u32, key: u64) -> Self {
        Self {
            key,
            deliverers: match serving.delivery {
                Delivery::Push => serving.workers.saturating_mul(flows),
                Delivery::Filesystem { .. } | Delivery::Multicast(_) => 1,
                Delivery::Pull => 0,
            },
            deliveries_by_flow: (0..flows).map(|_| AtomicU64::new(0)).collect(),
            is_ready: AtomicBool::new(false),
            start: AtomicU64::new(0),
            published: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            datagrams: AtomicU64::new(0),
            versions: (0..serving.max_version).map(|_| Version::default()).collect(),
        }
    }

    /// Creates a key that is unique on this machine, and very likely globally unique.
    pub fn unique_key(seed: u64) -> u64 {
        let process = u64::from(std::process::id());
        (seed ^ clock::now().rotate_left(20)).wrapping_add(process.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns the case key.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Records that the file or socket for the versions is open.
    pub fn set_ready(&self) {
        self.is_ready.store(true, Ordering::Release);
    }

    /// Whether the file or socket for the versions is open.
    pub fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    /// Starts publishing at time `now`.
    pub fn start_at(&self, now: u64) {
        self.start.store(now, Ordering::Release);
    }

    /// Time at which publishing started; `None` if it has not started.
    pub fn start(&self) -> Option<u64> {
        Some(self.start.load(Ordering::Acquire)).filter(|start| *start > 0)
    }

    /// Publishes the next version at time `now`.
    pub fn publish(&self, now: u64) {
        let version = self.published.load(Ordering::Relaxed);
        if let Some(next) = self.versions.get(version as usize) {
            next.published_at.store(now, Ordering::Relaxed);
            self.published.store(version + 1, Ordering::Release);
        }
    }

    /// Number of published versions. The number of the latest version is one less.
    #[inline]
    pub fn published_count(&self) -> u64 {
        self.published.load(Ordering::Acquire)
    }

    /// Ends publishing.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Whether publishing has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Records that the calling thread, which belongs to the flow with index `flow`, has delivered `version` at time
    /// `now`.
    pub fn record_delivery(&self, flow: usize, version: u64, now: u64) {
        if let Some(deliveries) = self.deliveries_by_flow.get(flow) {
            deliveries.fetch_add(1, Ordering::AcqRel);
        }
        if let Some(version) = self.versions.get(version as usize) {
            version.delivered_at.fetch_max(now, Ordering::AcqRel);
            version.deliveries.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Records sent datagrams.
    pub fn record_datagrams(&self, count: u64) {
        self.datagrams.fetch_add(count, Ordering::AcqRel);
    }

    /// Number of sent datagrams.
    pub fn datagrams(&self) -> u64 {
        self.datagrams.load(Ordering::Acquire)
    }

    /// Publication times of all published versions.
    pub fn times(&self) -> impl Iterator<Item = u64> + '_ {
        let published = self.published_count() as usize;
        let versions = self.versions.iter().take(published);
        versions.map(|version| version.published_at.load(Ordering::Acquire))
    }

    /// Times from publication to the last delivery, for the versions that every thread has delivered.
    pub fn delivery_times(&self) -> impl Iterator<Item = u64> + '_ {
        let published = self.published_count() as usize;
        let delivered = self.versions.iter().take(published).filter(|version| {
            self.deliverers > 0 && version.deliveries.load(Ordering::Acquire) == self.deliverers
        });
        delivered.map(|version| {
            let published_at = version.published_at.load(Ordering::Acquire);
            version
                .delivered_at
                .load(Ordering::Acquire)
                .saturating_sub(published_at)
        })
    }

    /// Returns the deliveries by the flow with index `index`.
    pub fn flow_deliveries(&self, index: usize) -> FlowDeliveries<'_> {
        FlowDeliveries {
            publication: self,
            index,
        }
    }
}

/// Deliveries by one of a trainer's flows.
#[derive(Clone, Copy, Debug)]
pub struct FlowDeliveries<'a> {
    publication: &'a Publication,
    index: usize,
}

impl FlowDeliveries<'_> {
    /// Number of deliveries by the threads of the flow.
    pub fn count(self) -> u64 {
        let deliveries = self.publication.deliveries_by_flow.get(self.index);
        deliveries.map_or(0, |deliveries| deliveries.load(Ordering::Acquire))
    }

    /// Whether the flow delivers no version, because the workers fetch them or another flow delivers them to all
    /// workers.
    pub fn are_absent(self) -> bool {
        match self.publication.deliverers {
            0 => true,
            1 => self.index > 0,
            _ => false,
        }
    }

    /// Returns the times of [`Publication::delivery_times`]. All flows share these times, so only the first flow
    /// returns them.
    pub fn times(self) -> impl Iterator<Item = u64> {
        let times = (self.index == 0).then(|| self.publication.delivery_times());
        times.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serving(delivery: Delivery) -> ServingWorkload {
        ServingWorkload {
            delivery,
            workers: 2,
            push_nanos: 10,
            pull_nanos: 10,
            post_nanos: 100,
            step_nanos: 1,
            max_version: 3,
            max_time_nanos: 1000,
        }
    }

    #[test]
    fn delivery_of_a_version_ends_when_every_worker_has_it() {
        let publication = Publication::new(&serving(Delivery::Push), 1, 1);
        for time in [100, 110, 120] {
            publication.publish(time);
        }
        publication.record_delivery(0, 0, 105);
        publication.record_delivery(0, 1, 112);
        publication.record_delivery(0, 0, 109);
        let deliveries = publication.flow_deliveries(0);
        assert_eq!(deliveries.times().collect::<Vec<_>>(), [9]);
        assert_eq!(deliveries.count(), 3);
        assert_eq!(publication.times().collect::<Vec<_>>(), [100, 110, 120]);
    }

    #[test]
    fn delivery_to_several_nodes_ends_with_the_last_node() {
        let publication = Publication::new(&serving(Delivery::Push), 2, 1);
        publication.publish(100);
        for (flow, time) in [(0, 105), (0, 106), (1, 130)] {
            publication.record_delivery(flow, 0, time);
        }
        assert_eq!(publication.delivery_times().count(), 0);
        publication.record_delivery(1, 0, 120);
        let [first, second] = [0, 1].map(|flow| publication.flow_deliveries(flow));
        assert_eq!(first.times().collect::<Vec<_>>(), [30]);
        // Delivery times are shared by all flows, so only flow 0 reports them.
        assert_eq!(second.times().count(), 0);
        assert_eq!((first.count(), second.count()), (2, 2));
        assert!(!first.are_absent() && !second.are_absent());
    }

    #[test]
    fn shared_versions_are_delivered_by_one_flow() {
        let directory = "/tmp".to_owned();
        let publication = Publication::new(&serving(Delivery::Filesystem { directory }), 2, 1);
        let [first, second] = [0, 1].map(|flow| publication.flow_deliveries(flow));
        assert!(!first.are_absent() && second.are_absent());
        assert!(
            Publication::new(&serving(Delivery::Pull), 1, 1)
                .flow_deliveries(0)
                .are_absent()
        );
    }

    #[test]
    fn no_version_is_published_beyond_the_maximum() {
        let publication = Publication::new(&serving(Delivery::Pull), 1, 1);
        (0..5).for_each(|time| publication.publish(time));
        assert_eq!(publication.published_count(), 3);
        assert_eq!(publication.delivery_times().count(), 0);
    }
}
