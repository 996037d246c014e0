//! The arms of a plan.

use campaign::format::pluralized;
use campaign::plan::{Arm, Plan, Separation};
use crds::striping::StripingPolicy;
use crds::units::Size;
use crds::v1alpha1::{
    NixlRequests, TransportSpec, UcxAllocation, UcxMessages, UcxPreset, UcxWriteCompletion, VerbsSignaling,
};

use super::text::aligned;
use crate::report::document::{Column, Layout, Row, Table};

/// The arms, in which they differ from the baseline, and how.
pub(super) fn table(plan: &Plan) -> Table {
    let baseline = plan.arms.get(plan.baseline);
    let baseline_transport = baseline.and_then(|baseline| baseline.process.transport.clone());
    let arms = plan.arms.iter().enumerate();
    let rows: Vec<[String; 4]> = arms
        .map(|(index, arm)| {
            let role = match (index == plan.baseline, arm.control) {
                (true, _) => "baseline".to_owned(),
                (_, Some(separation)) => format!("control for {}", factor(separation)),
                (_, None) if arm.process.transport != baseline_transport => "differs in transport".to_owned(),
                (_, None) => format!("differs in {}", factor(arm.separation)),
            };
            [
                arm.name.clone(),
                role,
                format_tuning(plan, index, arm),
                format_process(arm),
            ]
        })
        .collect();
    let lines = aligned(rows.iter().map(|row| row.to_vec()), None);
    let rows = rows.into_iter().zip(lines);
    let rows = rows.map(|(row, line)| Row::new(row).line("", line));
    Table::new("", Column::all(["arm", "role", "tuning", "process"]), rows).layout(Layout::Lines)
}

/// Returns the property in which an arm with `separation` can differ from the baseline.
fn factor(separation: Separation) -> &'static str {
    match separation {
        Separation::Tuning => "tuning",
        Separation::Environment => "environment",
        Separation::Image => "image",
        Separation::Claims => "claims",
    }
}

fn format_tuning(plan: &Plan, index: usize, arm: &Arm) -> String {
    let mut scenarios = plan.scenarios.iter();
    if scenarios.all(|scenario| scenario.assignment.workload.tool().is_some()) {
        // The tool, not the tuning of the arm, determines what is posted.
        return arm.arguments.join(" ");
    }
    if plan
        .scenarios
        .iter()
        .all(|scenario| plan.is_off_fabric(scenario, index))
    {
        return "outside the transport".to_owned();
    }
    let mut parts = Vec::new();
    if let Some(maximum) = arm.inject_max_bytes {
        parts.push(format!("inject up to {}", Size(maximum)));
    }
    if let Some(maximum) = arm.doorbell_max_batch {
        parts.push(format!("doorbell batches up to {maximum}"));
    }
    let threshold = Size(arm.striping.threshold_bytes);
    parts.push(match arm.striping.policy {
        StripingPolicy::Single => "one rail per transfer".to_owned(),
        StripingPolicy::Nixl => format!("striped from {threshold}"),
        StripingPolicy::NixlCoalesce => {
            format!(
                "striped from {threshold} in chunks of at least {}",
                Size(arm.striping.min_chunk_bytes)
            )
        }
    });
    parts.join(", ")
}

fn format_process(arm: &Arm) -> String {
    let env = arm
        .process
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let transport = arm.process.transport.iter().map(format_transport);
    let library = arm
        .process
        .library
        .iter()
        .map(|library| format!("library {library}"));
    let image = arm
        .image
        .iter()
        .map(|image| format!("image {}", shorten_digest(image)));
    let claims = arm.claims.iter().map(|claims| format!("claims {claims}"));
    transport
        .chain(env)
        .chain(library)
        .chain(image)
        .chain(claims)
        .collect::<Vec<_>>()
        .join(" ")
}

pub(super) fn format_transport(transport: &TransportSpec) -> String {
    let library = match transport {
        TransportSpec::Libfabric(libfabric) => format!("libfabric {}", libfabric.provider.name()),
        TransportSpec::Nixl(nixl) => {
            let requests = match nixl.requests {
                NixlRequests::Prepared => "",
                NixlRequests::Created => ", requests created for each transfer",
            };
            let progress = if nixl.progress_thread {
                ", progress thread"
            } else {
                ""
            };
            let descriptors = nixl.descriptors.map(|descriptors| {
                let merging = if descriptors.merge { ", merged" } else { "" };
                format!(", descriptors of at most {}{merging}", descriptors.max_bytes)
            });
            let descriptors = descriptors.unwrap_or_default();
            format!("nixl {}{requests}{progress}{descriptors}", nixl.backend.name())
        }
        TransportSpec::Ucx(ucx) => {
            let transports: Vec<_> = ucx.transports.iter().map(|transport| transport.name()).collect();
            let preset = match ucx.preset {
                UcxPreset::Plain => String::new(),
                preset => format!(" as in {}", preset.name()),
            };
            let mode = ucx
                .error_handling
                .map(|mode| format!(", error handling {}", mode.name()));
            let memory = match ucx.allocation {
                UcxAllocation::Caller => "",
                UcxAllocation::Library => ", memory allocated by UCX",
            };
            let messages = match ucx.messages {
                UcxMessages::Tag => "",
                UcxMessages::ActiveMessage => ", active messages",
            };
            let writes = match ucx.write_completion {
                UcxWriteCompletion::Delivery => "",
                UcxWriteCompletion::Local => ", writes complete locally",
            };
            format!(
                "ucx {}{preset}{}{memory}{messages}{writes}",
                transports.join(","),
                mode.unwrap_or_default()
            )
        }
        TransportSpec::Verbs(verbs) => match verbs.signaling {
            VerbsSignaling::EveryPost => "verbs".to_owned(),
            VerbsSignaling::EveryDoorbell => "verbs, one completion per doorbell".to_owned(),
        },
        TransportSpec::Loopback(_) => transport.library().to_owned(),
    };
    format!("{library} · {}", pluralized(transport.rails().into(), "rail"))
}

/// Shortens the digest in an image reference to its first digits.
pub(super) fn shorten_digest(image: &str) -> String {
    const DIGITS: usize = 12;
    match image.split_once("@sha256:") {
        Some((name, digest)) => format!("{name}@{}", digest.chars().take(DIGITS).collect::<String>()),
        None => image.to_owned(),
    }
}
