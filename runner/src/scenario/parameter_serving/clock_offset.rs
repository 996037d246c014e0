//! Offset between the clocks of the trainer and a worker, with its error bound. Performs no I/O except for reading the
//! boot ID.
//!
//! The trainer's clock is read between two readings of the worker's clock, so that the error of the offset is at most
//! half the time between them. The offset is estimated before and after the measurement; in between, it is
//! interpolated, because the frequencies of two clocks differ.

use std::fs;

/// Number of exchanges per estimate. Only the exchange with the shortest round trip is used.
pub const EXCHANGES: u64 = 32;

/// One exchange: the trainer's clock was read between two readings of the worker's clock. All times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Worker time before the trainer's clock was read.
    pub before: u64,
    /// Trainer time.
    pub trainer: u64,
    /// Worker time after the trainer's clock was read.
    pub after: u64,
}

impl Exchange {
    fn round_trip(self) -> u64 {
        self.after.saturating_sub(self.before)
    }

    fn midpoint(self) -> u64 {
        self.before + self.round_trip() / 2
    }

    /// Trainer time minus worker time.
    fn offset(self) -> i128 {
        i128::from(self.trainer) - i128::from(self.midpoint())
    }

    /// Whether the readings are consistent with a single clock.
    fn is_ordered(self) -> bool {
        (self.before..=self.after).contains(&self.trainer)
    }
}

/// Relation between the clocks of the trainer and a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Both sides read the same clock.
    Same,
    /// The clocks differ. Their offset is known from two exchanges.
    Offset(Exchange, Exchange),
}

impl Relation {
    /// Determines the relation from one exchange before and one after the measurement. `same_boot` specifies whether
    /// both sides run on the same kernel.
    pub fn new(same_boot: bool, first: Exchange, last: Exchange) -> Self {
        if same_boot && first.is_ordered() && last.is_ordered() {
            Self::Same
        } else {
            Self::Offset(first, last)
        }
    }

    /// Converts a trainer time to the worker's clock.
    pub fn on_worker(self, trainer: u64) -> u64 {
        let Self::Offset(first, last) = self else {
            return trainer;
        };
        let (from, to) = (i128::from(first.trainer), i128::from(last.trainer));
        let drift = if to > from {
            (last.offset() - first.offset()) * (i128::from(trainer) - from) / (to - from)
        } else {
            0
        };
        let converted = i128::from(trainer) - first.offset() - drift;
        u64::try_from(converted.max(0)).unwrap_or(u64::MAX)
    }

    /// Maximum error of [`Relation::on_worker`], in nanoseconds.
    pub fn bound_nanos(self) -> u64 {
        match self {
            Self::Same => 0,
            Self::Offset(first, last) => first.round_trip().max(last.round_trip()).div_ceil(2),
        }
    }
}

/// Returns the exchange with the shortest round trip.
pub fn shortest_exchange(exchanges: impl IntoIterator<Item = Exchange>) -> Option<Exchange> {
    exchanges.into_iter().min_by_key(|one| one.round_trip())
}

/// Returns a number that is the same for all processes on this kernel until the machine restarts; 0 if the kernel has
/// no boot ID.
pub fn boot_number() -> u64 {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(16).collect();
    u64::from_str_radix(&digits, 16).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Creates an exchange at worker time `at`, with a trainer clock that is `offset` ahead and gains `drift_ppm`.
    fn exchange(at: u64, there: u64, back: u64, offset: i64, drift_ppm: i64) -> Exchange {
        Exchange {
            before: at,
            trainer: trainer_clock(at + there, offset, drift_ppm),
            after: at + there + back,
        }
    }

    fn trainer_clock(worker: u64, offset: i64, drift_ppm: i64) -> u64 {
        (worker as i64 + offset + worker as i64 / 1_000_000 * drift_ppm) as u64
    }

    #[test]
    fn one_kernel_has_one_clock_unless_the_readings_contradict_it() {
        let (first, last) = (exchange(1000, 5, 5, 0, 0), exchange(9000, 5, 5, 0, 0));
        assert_eq!(Relation::new(true, first, last), Relation::Same);
        assert_ne!(Relation::new(false, first, last), Relation::Same);
        let moved = exchange(9000, 5, 5, 100, 0);
        assert_ne!(Relation::new(true, first, moved), Relation::Same);
        assert_eq!(boot_number(), boot_number());
    }

    #[test]
    fn exchange_with_shortest_round_trip_is_used() {
        let exchanges = [exchange(0, 50, 50, 7, 0), exchange(200, 3, 4, 7, 0)];
        assert_eq!(shortest_exchange(exchanges), Some(exchanges[1]));
    }

    proptest! {
        #[test]
        fn error_is_below_the_bound(
            there in 1u64..100_000, back in 1u64..100_000, offset in -1_000_000_000i64..1_000_000_000_000,
            drift in -100i64..100, at in 2_000_000_000u64..62_000_000_000,
        ) {
            let first = exchange(2_000_000_000, there, back, offset, drift);
            let last = exchange(62_000_000_000, back, there, offset, drift);
            let relation = Relation::new(false, first, last);
            let error = relation.on_worker(trainer_clock(at, offset, drift)).abs_diff(at);
            // The synthetic clock has steps of `drift` nanoseconds per millisecond.
            prop_assert!(error <= relation.bound_nanos() + 200, "{} {}", error, relation.bound_nanos());
        }
    }
}
