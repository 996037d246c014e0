//! What can be wrong with a run: the field's path, what is wrong, and what to do.

use std::fmt;

use crds::units::{Size, Span};
use crds::v1alpha1::Metric;
use snafu::Snafu;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Path of the field, as `spec.variants[2].striping.thresholdBytes`.
    pub path: String,
    /// What is wrong with it, and what to do.
    pub kind: ProblemKind,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.kind)
    }
}

/// Everything that is wrong with a run; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Problems(pub Vec<Problem>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// What is wrong with a field, and what to do.
#[derive(Clone, Debug, PartialEq, Snafu)]
pub enum ProblemKind {
    /// The run's name does not fit what is named after it.
    #[snafu(display(
        "`{name}` is no name of 1 to 52 lower-case letters, digits and `-` that begins and ends with a letter or digit. \
         Pods and folders are named after it: choose another"
    ))]
    RunName {
        /// The name.
        name: String,
    },
    /// The baseline is no variant.
    #[snafu(display("`{name}` is no variant; there are {}. Name one of these", known.join(", ")))]
    UnknownBaseline {
        /// The name.
        name: String,
        /// The variants there are.
        known: Vec<String>,
    },
    /// Two entries of a list have the same name.
    #[snafu(display("`{name}` is already the name of {first}. Give each a name of its own"))]
    DuplicateName {
        /// The name.
        name: String,
        /// Path of the entry that has it.
        first: String,
    },
    /// The environment variable belongs to the campaign.
    #[snafu(display("`{name}` is set by fabricbench itself. Remove it"))]
    ReservedVariable {
        /// Its name.
        name: String,
    },
    /// A size is 0 or above the limit.
    #[snafu(display("{size} is not between 1 and {most} bytes. Choose another size"))]
    SizeBounds {
        /// The size.
        size: Size,
        /// The limit.
        most: Size,
    },
    /// A size stands twice in a list.
    #[snafu(display(
        "{size} stands in the list twice. Remove one: repeats are made by spec.sampling.rounds"
    ))]
    DuplicateSize {
        /// The size.
        size: Size,
    },
    /// A number of bytes that must not be 0 is.
    #[snafu(display("0 bytes have no effect. {advice}"))]
    NoBytes {
        /// What to do.
        advice: &'static str,
    },
    /// A scenario measures nothing, or for longer than a case may take.
    #[snafu(display(
        "{given} is not between {least} and {most}, which leaves room for the rest of a case below \
         spec.runPolicy.caseDeadlineSeconds. Choose another time"
    ))]
    SpanBounds {
        /// The time given.
        given: Span,
        /// The least.
        least: Span,
        /// The most.
        most: Span,
    },
    /// The messages in flight need more memory than any worker has.
    #[snafu(display(
        "messages in flight need {needed} in every instrument process, more than the {most} that one may have. \
         Lower threads or the largest size"
    ))]
    TooMuchMemory {
        /// Bytes of all areas of all threads.
        needed: Size,
        /// The limit.
        most: Size,
    },
    /// The metric says nothing of the scenario.
    #[snafu(display(
        "{metric} of a ping-pong is its latency written another way, for one message is in flight. \
         Use LatencyP50, or a transfer scenario"
    ))]
    MetricDoesNotFit {
        /// The metric.
        metric: Metric,
    },
    /// Huge pages are wanted and not asked for, or fewer than needed.
    #[snafu(display(
        "{given} of huge pages are not enough: {processes} instrument processes need {needed} for scenario \
         \"{scenario}\". Ask for {needed} or more"
    ))]
    TooFewHugePages {
        /// What the spec asks for.
        given: Size,
        /// What all processes need together.
        needed: Size,
        /// Instrument processes that hold memory at the same time.
        processes: u64,
        /// The scenario that needs most.
        scenario: String,
    },
    /// Huge pages come in pages.
    #[snafu(display("{given} is no multiple of 2Mi. Round it up"))]
    HugePagesMultiple {
        /// What the spec asks for.
        given: Size,
    },
    /// GPU memory without a GPU.
    #[snafu(display(
        "memory Cuda needs a GPU and spec.resources.gpus is 0. Ask for one, or use memory Heap"
    ))]
    NoGpu,
    /// Inject of messages in device memory.
    #[snafu(display(
        "memory Cuda cannot be injected (its limit is 0), and variant \"{variant}\" injects messages of {size}. \
         Use memory Heap or sizes above {max}, or remove the variant's inject"
    ))]
    InjectOnDevice {
        /// The variant.
        variant: String,
        /// The smallest size it injects.
        size: Size,
        /// The variant's limit.
        max: Size,
    },
    /// More rails than devices.
    #[snafu(display(
        "every rail needs an EFA device: rails is {rails}, spec.resources.efas is {efas}. Ask for {rails} or use fewer rails"
    ))]
    MoreRailsThanEfas {
        /// Rails.
        rails: u32,
        /// Devices.
        efas: u32,
    },
    /// A name in an expectation leads nowhere.
    #[snafu(display("`{name}` is no {what}; there are {}. Name one of these", known.join(", ")))]
    UnknownName {
        /// The name.
        name: String,
        /// What it should be.
        what: &'static str,
        /// Those there are.
        known: Vec<String>,
    },
    /// The expectation holds for no size.
    #[snafu(display(
        "no size of scenario \"{scenario}\" ({}) lies in this range. Widen it",
        list(sizes)
    ))]
    NoSizeSelected {
        /// The scenario.
        scenario: String,
        /// Its sizes.
        sizes: Vec<Size>,
    },
    /// Two variants would send the same bytes the same way.
    #[snafu(display(
        "{reason}, so \"{first}\" and \"{second}\" would send the same bytes the same way. {advice}"
    ))]
    IdenticalVariants {
        /// The one.
        first: String,
        /// The other.
        second: String,
        /// The value that makes them alike.
        reason: String,
        /// What to do.
        advice: String,
    },
}

fn list(sizes: &[Size]) -> String {
    let sizes: Vec<_> = sizes.iter().map(Size::to_string).collect();
    sizes.join(", ")
}

/// Collects problems.
#[derive(Debug, Default)]
pub(super) struct Reporter(Vec<Problem>);

impl Reporter {
    pub(super) fn add(&mut self, path: impl Into<String>, kind: ProblemKind) {
        self.0.push(Problem {
            path: path.into(),
            kind,
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_problems(self) -> Problems {
        Problems(self.0)
    }

    /// Reports every name of a list that an earlier entry has; `field` is the list's path.
    pub(super) fn unique_names<'a>(&mut self, field: &str, names: impl IntoIterator<Item = &'a str>) {
        let mut seen: Vec<&str> = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            if let Some(first) = seen.iter().position(|earlier| *earlier == name) {
                self.add(
                    format!("{field}[{index}].name"),
                    ProblemKind::DuplicateName {
                        name: name.to_owned(),
                        first: format!("{field}[{first}]"),
                    },
                );
            }
            seen.push(name);
        }
    }
}
