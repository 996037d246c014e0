//! A message of 8 bytes that is sent back and forth, as membership services do.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::units::Size;
use crate::v1alpha1::{Metric, SpecWorkload};

/// A message of 8 bytes that is sent back and forth. Latency is the time until the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Heartbeat {
    /// Number of measured messages.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub beats: u32,
}

/// Size of a message.
const SIZES: [Size; 1] = [Size(8)];

impl SpecWorkload for Heartbeat {
    fn sizes(&self) -> Cow<'_, [Size]> {
        Cow::Borrowed(&SIZES)
    }

    fn metric_of_closed_loop(&self) -> Metric {
        Metric::LatencyP50
    }
}
