//! Computes the staleness of one worker from the times at which its version changed. Performs no I/O.
//!
//! At each step, the version lag is the number of versions that were published after the version in use, and the time
//! lag is the time since the first of them was published. Steps before the first version are cold: they are counted and
//! excluded.

use crds::histogram::Histogram;
use crds::record::{OriginalStaleness, PostedStaleness, WorkerReport};

/// Observations of a worker, on its own clock, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct WorkerObservations {
    /// Time at which the observations started. The first step is one period later.
    pub start: u64,
    /// Time at which the observations ended.
    pub end: u64,
    /// Time between two steps; above 0.
    pub step_nanos: u64,
    /// Times at which the worker started to use a version, with its number, in ascending order.
    pub installs: Vec<(u64, u64)>,
    /// Times of the posts. A post covers the steps since the previous one.
    pub posts: Vec<u64>,
}

/// Trainer events.
#[derive(Clone, Debug, Default)]
pub struct TrainerEvents {
    /// Publication times on the worker's clock, in nanoseconds.
    pub times: Vec<u64>,
    /// Number of published versions when each post arrived.
    pub receipts: Vec<u64>,
}

/// Staleness of one worker.
#[derive(Clone, Debug, Default)]
pub struct Staleness {
    /// Summary, in which torn versions and datagrams are not filled in.
    pub worker: WorkerReport,
    /// Version lags at all steps with a version.
    pub version_lag: Histogram,
    /// Time lags at all steps with a version.
    pub time_lag: Histogram,
    /// Smallest time lag.
    pub min_time_lag: u64,
    /// Time from publication to first use, for each version that was used.
    pub store_lags: Vec<u64>,
}

/// Sums over the steps that one post covers.
#[derive(Clone, Copy, Debug, Default)]
struct CoveredSteps {
    steps: u64,
    cold_steps: u64,
    latest: u64,
    lag: u64,
    original: i64,
}

/// Computes the staleness.
pub fn evaluate(observed: &WorkerObservations, published: &TrainerEvents) -> Staleness {
    let mut staleness = Staleness::default();
    let (mut version_lags, mut time_lags) = (Vec::new(), Vec::new());
    let mut posts = PostMeans::default();
    let (mut latest, mut installed) = (0, 0);
    let mut time = observed.start;
    loop {
        time += observed.step_nanos.max(1);
        if time > observed.end {
            break;
        }
        latest = advance(&published.times, latest, |at| *at <= time);
        installed = advance(&observed.installs, installed, |(at, _)| *at <= time);
        posts.close_before(time, observed, published);
        let held = installed.checked_sub(1).map(|last| observed.installs[last].1);
        let Some(held) = held else {
            staleness.worker.cold_steps += 1;
            posts.add_cold();
            continue;
        };
        // If there are two clocks, a version can appear to be used before it is published.
        let lag = (latest as u64).saturating_sub(held + 1);
        let since = published.times.get(held as usize + 1);
        let time_lag = since.filter(|_| lag > 0).map_or(0, |at| time.saturating_sub(*at));
        version_lags.push(lag);
        time_lags.push(time_lag);
        posts.add(latest as u64, lag);
    }
    posts.close_before(u64::MAX, observed, published);
    let first = observed.installs.first().map_or(observed.end, |(at, _)| *at);
    let worker = &mut staleness.worker;
    worker.versions = observed.installs.len() as u64;
    worker.steps = version_lags.len() as u64;
    worker.cold_nanos = first.saturating_sub(observed.start);
    worker.posts = published.receipts.len() as u64;
    worker.posted = posts.means();
    worker.original = posts.original();
    worker.version_lag_sum = version_lags.iter().sum();
    version_lags.sort_unstable();
    time_lags.sort_unstable();
    worker.version_lag_p50 = nearest_rank(&version_lags, 0.5);
    worker.version_lag_p99 = nearest_rank(&version_lags, 0.99);
    worker.version_lag_max = version_lags.last().copied().unwrap_or(0);
    worker.time_lag_p50_nanos = nearest_rank(&time_lags, 0.5);
    worker.time_lag_p99_nanos = nearest_rank(&time_lags, 0.99);
    worker.time_lag_max_nanos = time_lags.last().copied().unwrap_or(0);
    staleness.min_time_lag = time_lags.first().copied().unwrap_or(0);
    for lag in version_lags {
        staleness.version_lag.record(lag);
    }
    for lag in time_lags {
        staleness.time_lag.record(lag);
    }
    let store_lag = |(at, version): &(u64, u64)| {
        let published_at = published.times.get(*version as usize)?;
        Some(at.saturating_sub(*published_at))
    };
    staleness.store_lags = observed.installs.iter().filter_map(store_lag).collect();
    staleness
}

/// Returns the first index from `from` whose element does not satisfy `holds`.
fn advance<T>(elements: &[T], from: usize, holds: impl Fn(&T) -> bool) -> usize {
    let rest = elements.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|element| holds(element)).count()
}

/// Returns the smallest of the sorted values that is at least as large as the fraction `quantile` of all values; 0 if
/// there are no values.
fn nearest_rank(sorted: &[u64], quantile: f64) -> u64 {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

/// Mean values over all posts.
#[derive(Debug, Default)]
struct PostMeans {
    current: CoveredSteps,
    /// Index of the post that covers the next step.
    next: usize,
    /// Number of posts that cover a step with a version, and sums of the lags of these posts.
    sums: PostedStaleness,
    /// Number of posts that cover a step, and sum of the values that the original benchmark would report.
    original: OriginalStaleness,
}

impl PostMeans {
    fn add(&mut self, latest: u64, lag: u64) {
        self.current.steps += 1;
        self.current.latest += latest;
        self.current.lag += lag;
        self.current.original += latest as i64 - lag as i64;
    }

    /// Adds a step before the first version, for which the original benchmark records version -1.
    fn add_cold(&mut self) {
        self.current.cold_steps += 1;
    }

    /// Closes the posts that were sent before `time`, which is the time of the next step.
    fn close_before(&mut self, time: u64, observed: &WorkerObservations, published: &TrainerEvents) {
        while let (Some(sent_at), Some(receipt)) = (
            observed.posts.get(self.next),
            published.receipts.get(self.next).copied(),
        ) {
            if *sent_at >= time {
                return;
            }
            let covered = std::mem::take(&mut self.current);
            self.next += 1;
            let all = covered.steps + covered.cold_steps;
            if all > 0 {
                // Versions are counted from 1 here, so that version -1 of the original benchmark is 0.
                self.original.posts += 1;
                self.original.versions += receipt as f64 - covered.original as f64 / all as f64;
            }
            if covered.steps > 0 {
                let steps = covered.steps as f64;
                self.sums.posts += 1;
                self.sums.store_versions += covered.lag as f64 / steps;
                self.sums.post_versions += receipt as f64 - covered.latest as f64 / steps;
            }
        }
    }

    fn means(&self) -> Option<PostedStaleness> {
        let posts = self.sums.posts;
        (posts > 0).then(|| PostedStaleness {
            posts,
            store_versions: self.sums.store_versions / posts as f64,
            post_versions: self.sums.post_versions / posts as f64,
        })
    }

    fn original(&self) -> Option<OriginalStaleness> {
        let posts = self.original.posts;
        (posts > 0).then(|| OriginalStaleness {
            posts,
            versions: self.original.versions / posts as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns trainer events in which versions 0 to 4 are published at intervals of 100 ns. Steps are 10 ns apart.
    fn trainer_events() -> TrainerEvents {
        TrainerEvents {
            times: vec![1000, 1100, 1200, 1300, 1400],
            receipts: Vec::new(),
        }
    }

    fn worker_observations(installs: &[(u64, u64)]) -> WorkerObservations {
        WorkerObservations {
            start: 1000,
            end: 1500,
            step_nanos: 10,
            installs: installs.to_vec(),
            posts: Vec::new(),
        }
    }

    #[test]
    fn version_that_is_used_immediately_is_never_stale() {
        let installs: Vec<(u64, u64)> = (0..5).map(|version| (1000 + 100 * version, version)).collect();
        let found = evaluate(&worker_observations(&installs), &trainer_events());
        let worker = &found.worker;
        assert_eq!((worker.steps, worker.cold_steps, worker.cold_nanos), (50, 0, 0));
        assert_eq!((worker.version_lag_sum, worker.time_lag_max_nanos), (0, 0));
        assert_eq!(found.store_lags, [0; 5]);
        assert_eq!(found.version_lag.quantile(1.0), Some(0));
    }

    #[test]
    fn steps_before_the_first_version_are_counted_and_excluded() {
        let found = evaluate(&worker_observations(&[(1050, 0)]), &trainer_events()).worker;
        assert_eq!((found.cold_steps, found.steps, found.cold_nanos), (4, 46, 50));
        let never = evaluate(&worker_observations(&[]), &trainer_events()).worker;
        assert_eq!((never.cold_steps, never.steps, never.cold_nanos), (50, 0, 500));
        assert_eq!((never.posted, never.version_lag_p99), (None, 0));
    }

    #[test]
    fn lags_count_newer_versions_and_time_since_the_first_newer_one() {
        // Version 0 is used until 1450, and then version 3.
        let found = evaluate(&worker_observations(&[(1000, 0), (1450, 3)]), &trainer_events());
        let worker = &found.worker;
        // Lag 0 at 9 steps, 1, 2 and 3 at 10 steps each, 4 at 5 steps (1400 to 1440), and 1 at 6 steps (1450 to 1500).
        assert_eq!(worker.version_lag_sum, 10 + 20 + 30 + 20 + 6);
        assert_eq!((worker.version_lag_p50, worker.version_lag_max), (1, 4));
        assert_eq!(worker.time_lag_max_nanos, 340);
        assert_eq!(found.store_lags, [0, 150]);
        // At 1500, version 4 has been newer than version 3 for 100 ns.
        assert_eq!(found.time_lag.count(), 50);
    }

    #[test]
    fn original_value_is_the_sum_of_post_lag_and_store_lag() {
        let observed = WorkerObservations {
            posts: vec![1205, 1405],
            ..worker_observations(&[(1000, 0), (1250, 2)])
        };
        let published = TrainerEvents {
            // When the second post arrives, a fifth version has been published.
            receipts: vec![3, 5],
            ..trainer_events()
        };
        let worker = evaluate(&observed, &published).worker;
        let (posted, original) = (worker.posted.unwrap(), worker.original.unwrap());
        assert_eq!((posted.posts, original.posts), (2, 2));
        // First post: 20 steps to 1200. Latest version (from 1): 9 times 1, 10 times 2 and once 3. Lag: 10 times 1,
        // once 2.
        let (latest, store) = (32.0 / 20.0, 12.0 / 20.0);
        // Second post: steps from 1210 to 1400. Latest: 9 times 3, 10 times 4, once 5. Version 1 until 1240, then 3.
        let (latest_2, store_2) = (72.0 / 20.0, (4.0 * 2.0 + 10.0 + 2.0) / 20.0);
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        near(posted.store_versions, (store + store_2) / 2.0);
        near(posted.post_versions, (3.0 - latest + 5.0 - latest_2) / 2.0);
        near(original.versions, posted.store_versions + posted.post_versions);
    }

    #[test]
    fn original_counts_cold_steps_as_version_minus_one() {
        let observed = WorkerObservations {
            posts: vec![1105],
            ..worker_observations(&[(1051, 0)])
        };
        let published = TrainerEvents {
            receipts: vec![2],
            ..trainer_events()
        };
        let found = evaluate(&observed, &published).worker;
        let posted = found.posted.unwrap();
        // Ten steps: five without a version, five with version 0. The latest version is 1 at the last step.
        let original = found.original.unwrap();
        assert!((original.versions - 1.5).abs() < 1e-9, "{original:?}");
        assert!((posted.store_versions - 0.2).abs() < 1e-9, "{posted:?}");
        assert!((posted.post_versions - 0.8).abs() < 1e-9, "{posted:?}");
    }

    #[test]
    fn original_has_a_value_even_without_versions() {
        let observed = WorkerObservations {
            posts: vec![1105],
            ..worker_observations(&[])
        };
        let published = TrainerEvents {
            receipts: vec![2],
            ..trainer_events()
        };
        let found = evaluate(&observed, &published).worker;
        // Two versions were published when the post arrived, and the worker used version -1 throughout.
        let expected = OriginalStaleness {
            posts: 1,
            versions: 2.0,
        };
        assert_eq!((found.posted, found.original), (None, Some(expected)));
    }
}
