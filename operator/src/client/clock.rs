//! The clock of the API server. Performs no I/O.
//!
//! The API server writes the creation and deletion times of objects, and the statuses contain times of earlier operators,
//! which may have run on other nodes. If the operator compared them with its local clock, a wrong local clock would end
//! deadlines early or never. The operator therefore derives all its times from the `Date` header of the responses.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::DATE;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::{SignedDuration, Timestamp};
use tracing::warn;

/// Difference from the API server's clock that is tolerated. A `Date` header has whole seconds.
const TOLERANCE: Duration = Duration::from_secs(5);

/// The API server's clock, which all clones share. It is the local clock until the first response is received.
#[derive(Clone)]
pub(crate) struct Clock(Arc<Mutex<Anchor>>);

/// A time of the API server's clock, and the local monotonic time at which it was this time. The clock continues with the
/// monotonic clock, so it does not jump with the local clock.
#[derive(Clone, Copy)]
struct Anchor {
    time: Timestamp,
    at: Instant,
}

impl Anchor {
    /// Returns the time of the clock at `instant`, which is not before the anchor.
    fn time_at(self, instant: Instant) -> Timestamp {
        let elapsed = instant.saturating_duration_since(self.at);
        self.time.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }
}

impl Clock {
    /// Creates a clock that is the local clock until [`Self::observe`] is called.
    pub(crate) fn local() -> Self {
        Self(Arc::new(Mutex::new(Anchor {
            time: Timestamp::now(),
            at: Instant::now(),
        })))
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Timestamp {
        let anchor = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        anchor.time_at(Instant::now())
    }

    /// Adopts the time in the headers of a response to a request that was sent at `sent`. Responses that took longer than
    /// the tolerance are ignored, because it is unknown when the API server wrote them.
    pub(super) fn observe(&self, headers: &HeaderMap, sent: Instant) {
        let received = Instant::now();
        let date = headers.get(DATE).and_then(|date| date.to_str().ok());
        let date = date.and_then(|date| DateTimeParser::new().parse_timestamp(date).ok());
        let Some(date) = date.filter(|_| received.duration_since(sent) <= TOLERANCE) else {
            return;
        };
        let mut anchor = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ahead = anchor.time_at(received).duration_since(date);
        if ahead.unsigned_abs() <= TOLERANCE {
            return;
        }
        *anchor = Anchor {
            time: date,
            at: received,
        };
        drop(anchor);
        warn!(
            seconds = SignedDuration::as_secs(&ahead),
            "the clock of this node or of the API server is wrong or was changed: the operator's time was ahead of the API \
             server's, which it uses from now on"
        );
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn dated(date: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(DATE, HeaderValue::from_static(date))])
    }

    fn assert_time(clock: &Clock, time: &str) {
        let difference = clock.now().duration_since(time.parse().unwrap());
        assert!(
            difference.unsigned_abs() < Duration::from_secs(2),
            "{difference:?}"
        );
    }

    #[test]
    fn continues_with_the_time_of_the_api_server() {
        let clock = Clock::local();
        clock.observe(&dated("Sun, 06 Nov 1994 08:49:37 GMT"), Instant::now());
        assert_time(&clock, "1994-11-06T08:49:37Z");
        // The header has whole seconds, so small differences say nothing.
        clock.observe(&dated("Sun, 06 Nov 1994 08:49:41 GMT"), Instant::now());
        assert_time(&clock, "1994-11-06T08:49:37Z");
        clock.observe(&dated("Sun, 06 Nov 1994 07:49:37 GMT"), Instant::now());
        assert_time(&clock, "1994-11-06T07:49:37Z");
    }

    #[test]
    fn late_and_undated_responses_do_not_change_the_clock() {
        let clock = Clock::local();
        let late = Instant::now().checked_sub(2 * TOLERANCE).unwrap();
        clock.observe(&dated("Sun, 06 Nov 1994 08:49:37 GMT"), late);
        clock.observe(&dated("yesterday"), Instant::now());
        clock.observe(&HeaderMap::new(), Instant::now());
        assert_time(&clock, &Timestamp::now().to_string());
    }
}
