//! Why a comparison has no verdict, or why its verdict is `Inconclusive`. Performs no I/O.

use std::fmt;

use crds::v1alpha1::Optimization;
use serde::Serialize;
use snafu::Snafu;

use super::noise_above_margin::NoiseAboveMargin;

/// Reason for withholding a comparison's verdict, or for a missing interval.
#[derive(Clone, Debug, PartialEq, Snafu, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Withheld {
    /// The metric is not the primary metric of the scenario.
    #[snafu(display("descriptive: only the primary metric gets verdicts"))]
    NotPrimary,
    /// The arm is a control arm.
    #[snafu(display("control arm: a second baseline, so its interval is the noise floor"))]
    Control,
    /// The arm is identical to the baseline at this size.
    #[snafu(display("negative control: {message}"))]
    Identical {
        /// Why the arm is identical to the baseline.
        message: String,
    },
    /// No optimization that the arm requests applies at this size.
    #[snafu(display("not applicable: {message}"))]
    NotApplicable {
        /// Why the optimizations do not apply.
        message: String,
    },
    /// The arm has no case at this size yet.
    #[snafu(display("{arm} has not been measured yet"))]
    NotMeasured {
        /// Name of the arm.
        arm: String,
    },
    /// The arm has no valid round at this size.
    #[snafu(display("{arm} has no valid round: {message}"))]
    NoValidRound {
        /// Name of the arm.
        arm: String,
        /// Why the arm's cases are invalid.
        message: String,
    },
    /// The arm and the baseline are never valid in the same round.
    #[snafu(display("there is no round in which both the arm and the baseline are valid"))]
    NoCommonRound,
    /// The run has several analyses, and the first one has not taken place yet.
    #[snafu(display("the first analysis takes place after {rounds} rounds"))]
    NotAnalyzed {
        /// Number of rounds at the first analysis.
        rounds: u32,
    },
    /// The comparison has too few rounds, a value is below the resolution of its tool, or a round effect is not finite.
    #[snafu(display("{message}"))]
    NoInterval {
        /// Why no interval exists.
        message: String,
    },
    /// Evidence shows that a case did not use the requested fabric.
    #[snafu(display("fabric contradicted: {message}"))]
    Contradicted {
        /// Arm, and the evidence that contradicts the requested fabric.
        message: String,
    },
    /// A requested optimization did not take effect although it applies at this size.
    #[snafu(display("NotEngaged: {optimization:?}: {message}"))]
    NotEngaged {
        /// The optimization.
        optimization: Optimization,
        /// Why the optimization did not take effect.
        message: String,
    },
    /// The arm differs from the baseline only in its environment, library, image or claims, and none of these differences
    /// can have an effect.
    #[snafu(display("NotEngaged: {message}"))]
    NoEffect {
        /// Why the differences cannot have an effect.
        message: String,
    },
    /// A control at the same size shows a change although it is identical to the baseline.
    #[snafu(display(
        "suspect: {control} changed by {low:+.1} to {high:+.1} % although it is identical to the baseline, so something \
         other than the arms may differ; repeat the run"
    ))]
    ControlViolated {
        /// Kind and name of the control.
        control: String,
        /// Lower end of the control's interval, in percent.
        low: f64,
        /// Upper end of the control's interval, in percent.
        high: f64,
    },
    /// Other traffic used the interfaces of the arm or of the baseline.
    #[snafu(display("suspect: interface shared with other traffic: {message}"))]
    InterfaceShared {
        /// Arm, and its proof.
        message: String,
    },
    /// The legs of the arm and of the baseline ran on different nodes or devices.
    #[snafu(display(
        "invalid: the legs of the arm and the baseline ran on different nodes or devices ({message})"
    ))]
    DifferentDevices {
        /// First node on which only one of the arms ran, with its devices.
        message: String,
    },
}

/// Cause of an `Inconclusive` verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Inconclusive {
    /// The last digit of the printed values does not support any other verdict.
    Resolution {
        /// Which changes the printed values allow, and what to measure instead.
        message: String,
    },
    /// The noise floor at the same size extends beyond the margin.
    Noise(NoiseAboveMargin),
}

impl fmt::Display for Inconclusive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolution { message } => f.write_str(message),
            Self::Noise(noise) => fmt::Display::fmt(noise, f),
        }
    }
}
