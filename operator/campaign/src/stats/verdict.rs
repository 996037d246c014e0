//! Verdicts: an interval compared with the margin. Performs no I/O.

use crds::v1alpha1::{Metric, Verdict};

use super::{Interval, Margin};

/// Direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BetterDirection {
    /// Lower values are better, for example for latency.
    LowerIsBetter,
    /// Higher values are better, for example for throughput.
    HigherIsBetter,
}

impl From<Metric> for BetterDirection {
    fn from(metric: Metric) -> BetterDirection {
        if metric.higher_is_better() {
            BetterDirection::HigherIsBetter
        } else {
            BetterDirection::LowerIsBetter
        }
    }
}

/// Result of a comparison that must show no effect: a control arm, or arms with identical plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullCheck {
    /// Part of the interval lies inside the margin: the interval is the noise floor.
    Holds,
    /// The whole interval lies beyond the margin. Something other than the arms' settings may differ, so the
    /// comparisons that this one controls get no verdict.
    Violated,
}

/// The verdict on `interval`: `Improved` or `Regressed` if it lies entirely beyond the margin, `NoChange` if it lies
/// entirely inside the margin, bounds included (equivalence), and `Inconclusive` otherwise.
pub fn decide_verdict(interval: &Interval, margin: Margin, direction: BetterDirection) -> Verdict {
    let edge = margin.log_ratio();
    let gain = match direction {
        BetterDirection::LowerIsBetter => interval.inverse(),
        BetterDirection::HigherIsBetter => *interval,
    };
    if gain.lower > edge {
        Verdict::Improved
    } else if gain.upper < -edge {
        Verdict::Regressed
    } else if gain.lower >= -edge && gain.upper <= edge {
        Verdict::NoChange
    } else {
        Verdict::Inconclusive
    }
}

/// Checks a comparison that must show no effect.
pub fn null_check(interval: &Interval, margin: Margin) -> NullCheck {
    match decide_verdict(interval, margin, BetterDirection::HigherIsBetter) {
        Verdict::Improved | Verdict::Regressed => NullCheck::Violated,
        Verdict::NoChange | Verdict::Inconclusive => NullCheck::Holds,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn interval(lower: f64, upper: f64) -> Interval {
        Interval {
            estimate: (lower + upper) / 2.0,
            lower,
            upper,
            level: 0.05,
        }
    }

    #[test]
    fn verdict_depends_on_interval_position() {
        let margin = Margin::from_percent(2.0).unwrap();
        let edge = margin.log_ratio();
        let table = [
            ((-0.08, -0.04), Verdict::Improved),
            ((-0.08, -edge), Verdict::Inconclusive),
            ((-edge, edge), Verdict::NoChange),
            ((-0.01, 0.005), Verdict::NoChange),
            ((-0.01, 0.05), Verdict::Inconclusive),
            ((-0.05, 0.05), Verdict::Inconclusive),
            ((0.03, 0.05), Verdict::Regressed),
        ];
        for ((lower, upper), expected) in table {
            let verdict = decide_verdict(&interval(lower, upper), margin, BetterDirection::LowerIsBetter);
            assert_eq!(verdict, expected, "[{lower}, {upper}]");
        }
    }

    #[test]
    fn control_is_violated_only_if_its_whole_interval_is_beyond_the_margin() {
        let margin = Margin::from_percent(2.0).unwrap();
        assert_eq!(null_check(&interval(0.025, 0.1), margin), NullCheck::Violated);
        assert_eq!(null_check(&interval(-0.1, -0.025), margin), NullCheck::Violated);
        assert_eq!(null_check(&interval(0.015, 0.1), margin), NullCheck::Holds);
        assert_eq!(null_check(&interval(-0.1, 0.1), margin), NullCheck::Holds);
    }

    proptest! {
        #[test]
        fn the_inverse_ratio_and_the_other_direction_both_mirror_the_verdict(
            ends in (-0.2..0.2f64, -0.2..0.2f64),
            percent in 0.0..10.0f64,
        ) {
            let interval = interval(ends.0.min(ends.1), ends.0.max(ends.1));
            let margin = Margin::from_percent(percent).unwrap();
            let mirrored = match decide_verdict(&interval, margin, BetterDirection::LowerIsBetter) {
                Verdict::Improved => Verdict::Regressed,
                Verdict::Regressed => Verdict::Improved,
                other => other,
            };
            prop_assert_eq!(decide_verdict(&interval.inverse(), margin, BetterDirection::LowerIsBetter), mirrored);
            prop_assert_eq!(decide_verdict(&interval, margin, BetterDirection::HigherIsBetter), mirrored);
        }
    }
}
