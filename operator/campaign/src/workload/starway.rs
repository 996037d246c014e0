//! Validation of the Starway benchmark scenarios, which are executed as ping-pongs and transfers.

use crds::assignment::{CountedWorkload, Extent, Workload};
use crds::v1alpha1::{LargeArray, ManyToMany, PingpongFlag, SmallMessages, StreamingDuplex};

use super::flows::{OPEN_LOOP, check_threads};
use super::{Context, GivenWorkload};
use crate::validate::durations;
use crate::validate::reporter::Reporter;

fn counted(given: &impl CountedWorkload, context: &Context<'_>) -> Workload {
    given.workload(context.at_least(given.iterations()))
}

impl GivenWorkload for LargeArray {
    fn workload(&self, context: &mut Context<'_>) -> Workload {
        counted(self, context)
    }
}

impl GivenWorkload for SmallMessages {
    /// Concurrent flows are measured for a duration, not for a number of batches.
    fn workload(&self, context: &mut Context<'_>) -> Workload {
        match context.many_to_many {
            Some(_) => {
                let nanos = durations::nanos(context.flow_duration());
                CountedWorkload::workload(self, Extent::DurationNanos(nanos))
            }
            None => counted(self, context),
        }
    }

    fn check_flows(&self, path: &str, pattern: ManyToMany, report: &mut Reporter) {
        if self.load.is_some() {
            report.add(format!("{path}.load"), OPEN_LOOP);
        }
        check_threads(path.to_owned(), 1, pattern, report);
    }
}

impl GivenWorkload for PingpongFlag {
    fn workload(&self, context: &mut Context<'_>) -> Workload {
        counted(self, context)
    }
}

impl GivenWorkload for StreamingDuplex {
    fn workload(&self, context: &mut Context<'_>) -> Workload {
        counted(self, context)
    }
}
