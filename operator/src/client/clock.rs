//! The clock of the API server. Performs no I/O.
//!
//! The API server writes the creation and deletion times of objects, and the statuses contain times of earlier operators,
//! which may have run on other nodes. If the operator compared them with its local clock, a wrong local clock would end
//! deadlines early or never. The operator therefore derives all its times from the `Date` header of the responses.
//!
//! The time is that of the local clock until a response differs from it by more than [`TOLERANCE`]. Deadlines may be early
//! or late by the tolerance.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::Response;
use http::header::DATE;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use tracing::warn;

/// Difference from the API server's clock that is tolerated.
const TOLERANCE: Duration = Duration::from_secs(5);
/// Longer requests are ignored, because it is too uncertain when the API server wrote the `Date` header.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(5);
/// Resolution of a `Date` header.
const DATE_RESOLUTION: Duration = Duration::from_secs(1);
/// Time without a response that agrees with the clock after which another time is adopted. If the clocks of several API
/// servers differ, the clock does not change with every response.
const ADOPT_AFTER: Duration = Duration::from_secs(10);
/// Minimum time between two messages that the responses contain different times.
const REPORT_INTERVAL: Duration = Duration::from_secs(600);

/// The API server's clock, which all clones share.
#[derive(Clone)]
pub(crate) struct Clock(Arc<Mutex<State>>);

impl Clock {
    /// Creates a clock that is the local clock until [`Self::observe`] adopts another time.
    pub(crate) fn local() -> Self {
        let anchor = Anchor {
            time: Timestamp::now(),
            at: Instant::now(),
        };
        Self(Arc::new(Mutex::new(State::new(anchor))))
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Timestamp {
        let anchor = self.0.lock().unwrap_or_else(PoisonError::into_inner).anchor;
        anchor.time_at(Instant::now())
    }

    /// Compares the clock with the time in a response that was received at `received` to a request that was sent at `sent`.
    /// Unsuccessful responses are ignored, because a load balancer may have written them.
    pub(super) fn observe<B>(&self, response: &Response<B>, sent: Instant, received: Instant) {
        let date = response.headers().get(DATE);
        let date = date.filter(|_| response.status().is_success());
        let date = date.and_then(|date| date.to_str().ok());
        let Some(date) = date.and_then(|date| DateTimeParser::new().parse_timestamp(date).ok()) else {
            return;
        };
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let finding = state.compare(date, sent, received);
        drop(state);
        if let Some(finding) = finding {
            warn!("{finding}");
        }
    }
}

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

struct State {
    anchor: Anchor,
    /// When the last response that agreed with the clock was received.
    agreed_at: Option<Instant>,
    /// The last response that did not agree, and was not adopted: when it was received, and the difference.
    differed: Option<(Instant, Difference)>,
    /// When it was last reported that the responses contain different times.
    reported_at: Option<Instant>,
}

impl State {
    fn new(anchor: Anchor) -> Self {
        Self {
            anchor,
            agreed_at: None,
            differed: None,
            reported_at: None,
        }
    }

    /// Compares the clock with `date`, which the API server wrote between `sent` and `received`, and adopts this time if
    /// no response has agreed with the clock for [`ADOPT_AFTER`]. Returns what must be reported.
    fn compare(&mut self, date: Timestamp, sent: Instant, received: Instant) -> Option<Finding> {
        let round_trip = received.saturating_duration_since(sent);
        if round_trip > MAX_ROUND_TRIP {
            return None;
        }
        let width = DATE_RESOLUTION + round_trip;
        let Some(difference) = Difference::new(self.anchor.time_at(received), date, width) else {
            self.agreed_at = self.agreed_at.max(Some(received));
            return self.differing_responses(received);
        };
        let is_recent = |at: Instant| received.saturating_duration_since(at) < ADOPT_AFTER;
        if self.agreed_at.is_some_and(is_recent) {
            self.differed = Some((received, difference));
            return None;
        }
        self.anchor = Anchor {
            time: date.checked_add(width / 2).unwrap_or(date),
            at: received,
        };
        self.agreed_at = Some(received);
        self.differed = None;
        Some(Finding::Adopted(difference))
    }

    /// Returns a finding if another response differed shortly before a response that agrees with the clock was received.
    fn differing_responses(&mut self, received: Instant) -> Option<Finding> {
        let (at, difference) = self.differed.take()?;
        let is_within = |at: Instant, limit| received.saturating_duration_since(at) < limit;
        if !is_within(at, ADOPT_AFTER) || self.reported_at.is_some_and(|at| is_within(at, REPORT_INTERVAL)) {
            return None;
        }
        self.reported_at = Some(received);
        Some(Finding::Contradictory(difference))
    }
}

/// Difference of the operator's time from the times that are possible according to a response, in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Difference {
    /// The operator's time is later by this number of seconds.
    Ahead(u64),
    /// The operator's time is earlier by this number of seconds.
    Behind(u64),
}

impl Difference {
    /// Returns the difference of `time` from the times from `earliest` until `width` later, if it exceeds the tolerance.
    fn new(time: Timestamp, earliest: Timestamp, width: Duration) -> Option<Self> {
        let since = time.duration_since(earliest);
        let outside = match since.is_negative() {
            true => since.unsigned_abs(),
            false => since.unsigned_abs().saturating_sub(width),
        };
        let seconds = outside.as_secs();
        (outside > TOLERANCE).then_some(match since.is_negative() {
            true => Self::Behind(seconds),
            false => Self::Ahead(seconds),
        })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ahead(seconds) => write!(f, "{seconds} s ahead of"),
            Self::Behind(seconds) => write!(f, "{seconds} s behind"),
        }
    }
}

/// What is reported about the clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    /// The clock was changed, and differed as stated before.
    Adopted(Difference),
    /// Some responses agree with the clock, and one differs as stated.
    Contradictory(Difference),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adopted(difference) => write!(
                f,
                "the operator's time was {difference} the API server's, which it uses from now on. Synchronize the clocks of \
                 the API servers and of this node"
            ),
            Self::Contradictory(difference) => write!(
                f,
                "the clocks of the API servers differ: some responses agree with the operator's time, which is {difference} \
                 the time in others. Deadlines may be wrong by this difference. Synchronize the clocks of the API servers"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn date(text: &str) -> Timestamp {
        format!("1994-11-06T{text}Z").parse().unwrap()
    }

    /// A clock that is compared with responses at exact instants, in seconds since its creation at 08:00.
    struct Scene {
        state: State,
        start: Instant,
    }

    impl Scene {
        fn new() -> Self {
            let start = Instant::now();
            let time = date("08:00:00");
            Self {
                state: State::new(Anchor { time, at: start }),
                start,
            }
        }

        fn at(&self, seconds: f64) -> Instant {
            self.start + Duration::from_secs_f64(seconds)
        }

        /// Compares the clock with a response that was received at once.
        fn compare(&mut self, seconds: f64, text: &str) -> Option<Finding> {
            let at = self.at(seconds);
            self.state.compare(date(text), at, at)
        }

        fn time(&self, seconds: f64) -> Timestamp {
            self.state.anchor.time_at(self.at(seconds))
        }
    }

    #[test]
    fn first_response_sets_a_wrong_clock_to_the_middle_of_the_possible_times() {
        let mut scene = Scene::new();
        let ahead = Finding::Adopted(Difference::Ahead(3599));
        assert_eq!(scene.compare(0.0, "07:00:00"), Some(ahead));
        assert_eq!(scene.time(0.0), date("07:00:00.5"));
        assert_eq!(scene.time(100.0), date("07:01:40.5"), "it continues");

        let mut scene = Scene::new();
        let (sent, received) = (scene.at(1.0), scene.at(4.0));
        let finding = scene.state.compare(date("09:00:00"), sent, received);
        assert_eq!(finding, Some(Finding::Adopted(Difference::Behind(3596))));
        assert_eq!(scene.time(4.0), date("09:00:02"));
    }

    #[test]
    fn tolerance_starts_where_the_time_of_the_api_server_can_no_longer_lie() {
        // At 20 s, the clock is 08:00:20. The response of 2 s allows times from its date until 3 s later.
        for (text, changes) in [
            ("08:00:25", false),
            ("08:00:25.001", true),
            ("08:00:12", false),
            ("08:00:11.999", true),
        ] {
            let mut scene = Scene::new();
            let (sent, received) = (scene.at(18.0), scene.at(20.0));
            let finding = scene.state.compare(date(text), sent, received);
            assert_eq!(finding.is_some(), changes, "{text}");
            assert_eq!(scene.time(20.0) != date("08:00:20"), changes, "{text}");
        }
    }

    #[test]
    fn late_responses_do_not_change_the_clock() {
        let mut scene = Scene::new();
        let received = scene.at(20.0);
        for (round_trip, changes) in [(MAX_ROUND_TRIP + SECOND, false), (MAX_ROUND_TRIP, true)] {
            let sent = received.checked_sub(round_trip).unwrap();
            let finding = scene.state.compare(date("07:00:00"), sent, received);
            assert_eq!(finding.is_some(), changes, "{round_trip:?}");
        }
    }

    #[test]
    fn alternating_times_of_two_api_servers_are_reported_once_and_do_not_change_the_clock() {
        let mut scene = Scene::new();
        let mut findings = Vec::new();
        for second in 0..1200 {
            let text = match second % 2 {
                0 => format!("08:{:02}:{:02}", second / 60, second % 60),
                _ => format!("09:{:02}:{:02}", second / 60, second % 60),
            };
            if let Some(finding) = scene.compare(f64::from(second), &text) {
                findings.push((second, finding));
            }
            assert_eq!(scene.time(0.0), date("08:00:00"), "second {second}");
        }
        let contradictory = Finding::Contradictory(Difference::Behind(3600));
        assert_eq!(findings, [(2, contradictory), (602, contradictory)]);
    }

    #[test]
    fn changed_time_of_the_only_api_server_is_adopted_and_reported_once() {
        let mut scene = Scene::new();
        assert_eq!(scene.compare(1.0, "08:00:01"), None);
        let findings: Vec<_> = (2..60)
            .filter_map(|second| {
                let finding = scene.compare(f64::from(second), &format!("09:00:{second:02}"))?;
                Some((second, finding))
            })
            .collect();
        assert_eq!(findings, [(11, Finding::Adopted(Difference::Behind(3600)))]);
        assert_eq!(scene.time(60.0), date("09:01:00.5"));
    }

    #[test]
    fn only_successful_responses_with_a_date_are_used() {
        let response = |status: u16, date: &str| {
            let builder = Response::builder().status(status);
            let builder = match date {
                "" => builder,
                date => builder.header(DATE, date),
            };
            builder.body(()).unwrap()
        };
        let clock = Clock::local();
        let anchor = || clock.0.lock().unwrap().anchor.time;
        let local = anchor();
        let now = Instant::now();
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        for ignored in [response(502, date), response(200, "yesterday"), response(200, "")] {
            clock.observe(&ignored, now, now);
            assert_eq!(anchor(), local, "{ignored:?}");
        }
        clock.observe(&response(201, date), now, now);
        assert_eq!(anchor(), self::date("08:49:37.5"));
    }

    #[test]
    fn findings_say_in_which_direction_the_times_differ() {
        let text = Finding::Adopted(Difference::Behind(7)).to_string();
        assert!(
            text.starts_with("the operator's time was 7 s behind the API server's, "),
            "{text}"
        );
        let text = Finding::Contradictory(Difference::Ahead(7)).to_string();
        assert!(
            text.contains("which is 7 s ahead of the time in others"),
            "{text}"
        );
    }
}
