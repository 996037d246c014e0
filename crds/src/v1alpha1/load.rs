//! When workload operations start.

use serde::{Deserialize, Serialize};

/// When transfers, or the samples of rpc, start. If unset, one starts as soon as an earlier one has completed (closed
/// loop).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum Load {
    /// Transfers, or samples of rpc, have intended start times, whether or not earlier ones have completed. The latency is
    /// measured from the intended start, so a stall delays everything that should have started during it. Only one sample
    /// of rpc is in progress at a time, so its latency includes the time for which it waited for the previous one.
    OpenLoop(OpenLoop),
    /// The scenario is measured as an open loop at several rates, each as a separate scenario named `NAME-RATE`.
    /// status.sweeps[] reports the highest rate that each arm sustains. Requires a single size or payload.
    Sweep(Sweep),
}

/// Intended start times of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OpenLoop {
    /// Mean number of transfers, or samples of rpc, per second per thread.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub rate: u32,
    /// Distribution of the time between two intended starts. Defaults to Poisson.
    #[serde(default)]
    pub arrivals: Arrivals,
}

/// Rates of a load sweep: a geometric sequence from `from` to `to`, rounded to whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(kube::KubeSchema))]
#[cfg_attr(feature = "crd", x_kube(
    validation = kube::core::Rule::new("self.from < self.to").message("from must be less than to, because a sweep goes from the lowest to the highest rate").field_path(".from"),
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sweep {
    /// Lowest rate, in transfers, or samples of rpc, per second per thread. The latency at this rate is the reference for
    /// the higher rates, so choose a rate far below the capacity.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub from: u32,
    /// Highest rate, in the same unit.
    #[cfg_attr(feature = "crd", schemars(range(min = 1, max = 10_000_000)))]
    pub to: u32,
    /// Number of rates, including `from` and `to`.
    #[cfg_attr(feature = "crd", schemars(range(min = 3, max = 32)))]
    pub steps: u32,
    /// Distribution of the time between two intended starts. Defaults to Poisson.
    #[serde(default)]
    pub arrivals: Arrivals,
}

impl Load {
    /// Returns the open loop or, for a sweep, the open loop at its lowest rate.
    pub fn lowest(self) -> OpenLoop {
        match self {
            Self::OpenLoop(open_loop) => open_loop,
            Self::Sweep(sweep) => sweep.at(sweep.from),
        }
    }
}

impl Sweep {
    /// Returns the open loop at one rate.
    pub fn at(self, rate: u32) -> OpenLoop {
        OpenLoop {
            rate,
            arrivals: self.arrivals,
        }
    }

    /// The rates in ascending order. They are distinct unless the range is too narrow for the number of steps.
    pub fn rates(&self) -> impl Iterator<Item = u32> + use<> {
        let (from, steps) = (f64::from(self.from), self.steps.max(2));
        let ratio = f64::from(self.to) / from;
        (0..steps).map(move |step| (from * ratio.powf(f64::from(step) / f64::from(steps - 1))).round() as u32)
    }
}

/// Distribution of the time between two intended starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
pub enum Arrivals {
    /// Exponentially distributed, like requests from many independent clients. All arms of a block have the same
    /// intended start times.
    #[default]
    Poisson,
    /// Constant.
    Constant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_form_a_geometric_sequence() {
        let sweep = |from, to, steps| {
            let arrivals = Arrivals::Poisson;
            let sweep = Sweep {
                from,
                to,
                steps,
                arrivals,
            };
            sweep.rates().collect::<Vec<_>>()
        };
        assert_eq!(sweep(100, 800, 4), [100, 200, 400, 800]);
        assert_eq!(sweep(1000, 3000, 5), [1000, 1316, 1732, 2280, 3000]);
        assert_eq!(sweep(1, 10_000_000, 32).last(), Some(&10_000_000));
        assert_eq!(sweep(3, 4, 3), [3, 3, 4]);
    }
}
