//! Serializes intervals, resolutions and numbers of rounds for reports.

use serde::{Serialize, Serializer};

use crate::stats::{Interval, Resolution, RoundsToSettle, percent_change};

pub(super) fn interval_percent<S: Serializer>(
    interval: &Option<Interval>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Percent {
        estimate_percent: f64,
        lower_percent: f64,
        upper_percent: f64,
        level: f64,
    }
    let percent = interval.map(|interval| Percent {
        estimate_percent: percent_change(interval.estimate),
        lower_percent: percent_change(interval.lower),
        upper_percent: percent_change(interval.upper),
        level: interval.level,
    });
    percent.serialize(serializer)
}

pub(super) fn resolution_percent<S: Serializer>(
    resolution: &Option<Resolution>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Percent {
        lower_percent: f64,
        upper_percent: f64,
    }
    let percent = resolution.map(|resolution| Percent {
        lower_percent: percent_change(resolution.lower),
        upper_percent: percent_change(resolution.upper),
    });
    percent.serialize(serializer)
}

pub(super) fn serialize_rounds<S: Serializer>(
    rounds: &Option<RoundsToSettle>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    rounds.map(|rounds| rounds.to_string()).serialize(serializer)
}
