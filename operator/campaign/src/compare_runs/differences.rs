//! What makes two runs incomparable.

use std::collections::BTreeSet;

use crds::record::RailFacts;
use serde::Serialize;

use super::Finished;
use crate::figures;
use crate::plan::PlannedScenario;

/// Something in which two runs differ though they should not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// What.
    pub what: String,
    /// In the first run.
    pub first: String,
    /// In the second run.
    pub second: String,
}

/// Every difference that would be taken for one of the arms: which arms there are, the instrument, hardware, limits,
/// kernel, library, provider, rails, variables, transport, scenarios and sizes, tunings.
pub fn differences(first: &Finished<'_>, second: &Finished<'_>) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut differ = |what: &str, describe: &dyn Fn(&Finished<'_>) -> String| {
        let (one, other) = (describe(first), describe(second));
        if one != other {
            found.push(Difference {
                what: what.to_owned(),
                first: one,
                second: other,
            });
        }
    };
    differ("workers", &|run| run.plan.workers.to_string());
    differ("arms", &|run| {
        let arms = run.plan.arms.iter().filter(|arm| arm.control.is_none());
        list(arms.map(|arm| arm.name.clone()))
    });
    differ("baseline", &|run| {
        let baseline = run.plan.arms.get(run.plan.baseline);
        baseline.map(|arm| arm.name.clone()).unwrap_or_default()
    });
    differ("runner", &|run| {
        let workers = run.evaluation.summary.environment.workers.iter();
        list(workers.map(|worker| worker.hello.runner_version.clone()))
    });
    differ("transport", &|run| {
        // Written out for people only where it differs.
        serde_json::to_string(&run.plan.transport).unwrap_or_default()
    });
    differ("kernel", &|run| hosts(run, |host| host.kernel.clone()));
    differ("CPU", &|run| hosts(run, |host| host.cpu_model.clone()));
    differ("processors allowed", &|run| {
        hosts(run, |host| host.cpus_allowed.clone())
    });
    differ("governor", &|run| {
        hosts(run, |host| host.governor.clone().unwrap_or_default())
    });
    differ("processor limit", &|run| {
        hosts(run, |host| limit(host.cpu_limit_millis, "thousandths"))
    });
    differ("memory limit", &|run| {
        hosts(run, |host| limit(host.memory_limit_bytes, "bytes"))
    });
    differ("RDMA devices", &|run| {
        hosts(run, |host| host.rdma_devices.join(" "))
    });
    differ("library", &|run| {
        let arms = run.evaluation.summary.environment.arms.iter();
        let libraries = arms.filter_map(|arm| arm.fabric.library.as_ref());
        list(libraries.map(|library| {
            let build = library.build_id.as_ref().map(|build| format!(" (build {build})"));
            format!(
                "{} {}{}",
                library.name,
                library.version,
                build.unwrap_or_default()
            )
        }))
    });
    differ("rails", &|run| {
        let arms = run.evaluation.summary.environment.arms.iter();
        list(arms.flat_map(|arm| &arm.fabric.rails).map(rail))
    });
    differ("provider", &|run| {
        let arms = run.evaluation.summary.environment.arms.iter();
        list(arms.map(|arm| format!("{} ({})", arm.fabric.provider, arm.fabric.fabric)))
    });
    differ("polling", &|run| {
        let arms = run.evaluation.summary.environment.arms.iter();
        list(
            arms.flat_map(|arm| &arm.fabric.polling)
                .map(|(scenario, polling)| format!("{scenario} {polling:?}")),
        )
    });
    differ("scenarios", &|run| {
        let scenarios = run.plan.scenarios.iter();
        scenarios
            .map(|scenario| scenario.assignment.name.clone())
            .collect::<Vec<_>>()
            .join(", ")
    });
    let of = |run: &Finished<'_>, name: &str, describe: fn(&PlannedScenario) -> String| {
        let found = run
            .plan
            .scenarios
            .iter()
            .find(|scenario| scenario.assignment.name == name);
        found.map(describe).unwrap_or_default()
    };
    for scenario in &first.plan.scenarios {
        let name = scenario.assignment.name.as_str();
        if !second
            .plan
            .scenarios
            .iter()
            .any(|other| other.assignment.name == name)
        {
            continue;
        }
        differ(&format!("sizes of {name}"), &|run| {
            of(run, name, |scenario| {
                let sizes = scenario.sizes.iter().map(|size| figures::size(*size));
                sizes.collect::<Vec<_>>().join(", ")
            })
        });
        differ(&format!("workload of {name}"), &|run| {
            of(run, name, |scenario| {
                let assignment = &scenario.assignment;
                let workload = serde_json::to_string(&assignment.workload).unwrap_or_default();
                format!("{workload}, memory {:?}", assignment.memory)
            })
        });
    }
    // One that only one of them has is a difference already.
    let both = |name: &str| second.plan.arms.iter().any(|other| other.name == name);
    let arms = first.plan.arms.iter().filter(|arm| arm.control.is_none());
    for arm in arms.filter(|arm| both(&arm.name)) {
        differ(&format!("tuning of {}", arm.name), &|run| {
            let arm = run.plan.arms.iter().find(|other| other.name == arm.name);
            let tuning = arm.map(|arm| (arm.inject_max_bytes, arm.doorbell_max_batch, arm.striping));
            serde_json::to_string(&tuning).unwrap_or_default()
        });
        differ(&format!("variables of {}", arm.name), &|run| {
            let mut arms = run.evaluation.summary.environment.arms.iter();
            let found = arms.find(|other| other.arm == arm.name);
            let variables = found.into_iter().flat_map(|arm| &arm.fabric.variables);
            list(variables.map(|(name, value)| format!("{name}={value}")))
        });
    }
    found
}

fn hosts(run: &Finished<'_>, describe: fn(&crds::record::HostEnvironment) -> String) -> String {
    let workers = run.evaluation.summary.environment.workers.iter();
    list(workers.map(|worker| describe(&worker.hello.environment)))
}

fn limit(value: Option<u64>, unit: &str) -> String {
    value.map_or_else(|| "none".to_owned(), |value| format!("{value} {unit}"))
}

/// The link that carries a rail. Its address is of the run, and its domain may name a process.
fn rail(rail: &RailFacts) -> String {
    let interface = rail.interface.as_deref().unwrap_or("no interface");
    let pci = rail.pci.as_ref().map(|pci| format!(" at {pci}"));
    let rate = rail.line_bits_per_second.map(|rate| format!(", {rate} bit/s"));
    format!(
        "{interface}{}{}",
        pci.unwrap_or_default(),
        rate.unwrap_or_default()
    )
}

/// Each value once, in order.
fn list(values: impl Iterator<Item = String>) -> String {
    let once: BTreeSet<String> = values.collect();
    once.into_iter().collect::<Vec<_>>().join(", ")
}
