//! Text report of a plan: arms, legs, the posts at each size of every scenario, and optimizations that do not apply.

mod scenario;

use std::fmt::Write;

use crds::printable::printable;
use crds::striping::StripingPolicy;
use crds::units::Size;
use crds::v1alpha1::{
    Alignment, MemoryKind, NixlRequests, TransportSpec, UcxAllocation, UcxMessages, UcxPreset,
    UcxWriteCompletion, VerbsSignaling,
};

use campaign::format::pluralized;
use campaign::plan::{Arm, HashedPlan, Leg, Plan, Separation, estimate};
use campaign::plan_check::{self, Note};

/// Formats `plan` as text, with the notes from the plan check and `more` notes.
pub fn render(plan: &HashedPlan, more: &[Note]) -> String {
    let mut out = String::new();
    // Writing into a String cannot fail.
    let _ = write_text(plan, more, &mut out);
    printable(&out).into_owned()
}

fn write_text(plan: &HashedPlan, more: &[Note], out: &mut String) -> std::fmt::Result {
    writeln!(
        out,
        "{}   {} · {} · {} · {} · {} % confidence · margin {} %",
        plan.run,
        format_transport(&plan.transport),
        super::run::overview::workers(plan),
        pluralized(plan.rounds.into(), "round"),
        super::run::overview::seed(plan),
        plan.sampling.confidence_percent,
        plan.sampling.margin_percent,
    )?;
    writeln!(out, "  plan      {}", plan.hash())?;
    let estimate = estimate(plan);
    writeln!(
        out,
        "  estimate  {} · {} of payload · {} of records · about {} (at {} and {}/s per rail)",
        pluralized(estimate.cases, "case"),
        decimal_bytes(estimate.payload_bytes),
        decimal_bytes(estimate.stream_bytes),
        format_seconds(estimate.seconds),
        format_micros(estimate.assumption.latency_nanos),
        decimal_bytes(estimate.assumption.rail_bytes_per_second),
    )?;
    if let Some(analyses) = super::run::stopping::analyses(plan) {
        writeln!(
            out,
            "  analyses  {analyses}; the estimate applies if no comparison ends earlier"
        )?;
    }
    if let Some(devices) = devices(plan) {
        writeln!(out, "  devices   {devices}")?;
    }
    writeln!(out, "\n  arms")?;
    for line in arms(plan) {
        writeln!(out, "    {line}")?;
    }
    writeln!(out, "\n  legs")?;
    legs(plan, out)?;
    for index in 0..plan.scenarios.len() {
        writeln!(out)?;
        scenario::write(plan, index, out)?;
    }
    let mut notes = plan_check::check(plan);
    notes.extend_from_slice(more);
    notes.sort_by_key(|note| std::cmp::Reverse(note.severity));
    if !notes.is_empty() {
        writeln!(out)?;
    }
    for note in notes {
        writeln!(out, "  {note}")?;
    }
    Ok(())
}

fn format_transport(transport: &TransportSpec) -> String {
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

/// Describes which memory and NICs the workers will use, such as `GPUs 0, 1, each with the nearest NICs; align
/// PciRoot`. `None` if the rails use no RDMA devices and the spec sets neither devices nor an alignment.
fn devices(plan: &Plan) -> Option<String> {
    let devices = &plan.devices;
    if !plan.transports().any(TransportSpec::uses_rdma_devices)
        && devices.is_default()
        && plan.align.is_none()
    {
        return None;
    }
    let uses_gpu = plan
        .scenarios
        .iter()
        .any(|scenario| scenario.assignment.uses(MemoryKind::Cuda));
    let segments_use_all_gpus = devices.gpus.is_empty()
        && plan
            .scenarios
            .iter()
            .any(|scenario| scenario.assignment.has_segments_on_gpus());
    let memory = match (uses_gpu, devices.gpus.as_slice(), devices.numa_node) {
        _ if segments_use_all_gpus => "all GPUs of a worker".to_owned(),
        (true, [] | [_], _) => format!("GPU {}", devices.gpu(0)),
        (true, gpus, _) => format!("GPUs {}, each", join(gpus)),
        (false, _, Some(node)) => format!("host memory on NUMA node {node}"),
        (false, _, None) => "host memory".to_owned(),
    };
    let uses_ip = plan.transports().all(TransportSpec::uses_ip);
    let nics = match (devices.nics.as_slice(), uses_ip) {
        ([], true) => "addresses chosen by the executor".to_owned(),
        ([], false) => "the nearest NICs".to_owned(),
        (nics, _) => {
            let rails = nics.chunks(plan.transport.rails() as usize);
            let described = rails.enumerate().map(|(thread, nics)| match uses_gpu {
                true => format!("{} for GPU {}", join(nics), devices.gpu(thread)),
                false => join(nics),
            });
            described.collect::<Vec<_>>().join("; ")
        }
    };
    let align = match plan.align {
        Alignment::None => String::new(),
        align => format!("; align {align:?}"),
    };
    Some(format!("{memory} with {nics}{align}"))
}

fn join(values: &[impl ToString]) -> String {
    values
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn arms(plan: &Plan) -> Vec<String> {
    let baseline = plan.arms.get(plan.baseline);
    let baseline_transport = baseline.and_then(|baseline| baseline.process.transport.clone());
    let mut table = plain_table();
    for (index, arm) in plan.arms.iter().enumerate() {
        let role = match (index == plan.baseline, arm.control) {
            (true, _) => "baseline".to_owned(),
            (_, Some(separation)) => format!("control for {}", factor(separation)),
            (_, None) if arm.process.transport != baseline_transport => "differs in transport".to_owned(),
            (_, None) => format!("differs in {}", factor(arm.separation)),
        };
        table.add_row(vec![
            arm.name.clone(),
            role,
            format_tuning(plan, index, arm),
            format_process(arm),
        ]);
    }
    lines(&table)
}

/// Creates a table without borders, with two spaces between columns.
fn plain_table() -> comfy_table::Table {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table
}

fn lines(table: &comfy_table::Table) -> Vec<String> {
    // Without borders, every line still starts with the padding of its first cell.
    let unpadded = |line: String| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned();
    table.lines().map(unpadded).collect()
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

/// Writes one line for each of the first legs, and the total number of legs if there are more.
fn legs(plan: &Plan, out: &mut String) -> std::fmt::Result {
    const SHOWN: usize = 8;
    for leg in plan.legs.iter().take(SHOWN) {
        writeln!(out, "    {}", leg_line(plan, leg))?;
    }
    if plan.legs.len() > SHOWN {
        writeln!(out, "    ... {} legs in total", plan.legs.len())?;
    }
    Ok(())
}

fn leg_line(plan: &Plan, leg: &Leg) -> String {
    let rounds: Vec<_> = leg.rounds.iter().map(|round| round.round).collect();
    let rounds = match (rounds.first(), rounds.last()) {
        (Some(first), Some(last)) if first != last => format!("rounds {first} to {last}"),
        (Some(first), _) => format!("round {first}"),
        (None, _) => "no round".to_owned(),
    };
    let blocks: usize = leg.rounds.iter().map(|round| round.blocks.len()).sum();
    let arms = leg
        .arms
        .iter()
        .filter_map(|(arm, _)| plan.arms.get(*arm))
        .map(|arm| arm.name.as_str());
    let image = leg
        .image
        .as_ref()
        .map_or_else(String::new, |image| format!(" · {}", shorten_digest(image)));
    format!(
        "{}   {rounds} · {} · {} · {}{image}",
        leg.leg,
        pluralized(blocks as u64, "block"),
        pluralized(leg.processes.len() as u64, "process"),
        arms.collect::<Vec<_>>().join(", "),
    )
}

/// Shortens the digest in an image reference to its first digits.
fn shorten_digest(image: &str) -> String {
    const DIGITS: usize = 12;
    match image.split_once("@sha256:") {
        Some((name, digest)) => format!("{name}@{}", digest.chars().take(DIGITS).collect::<String>()),
        None => image.to_owned(),
    }
}

/// Formats a number of bytes in decimal units with one decimal place.
fn decimal_bytes(bytes: u64) -> String {
    let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let value = bytes as f64;
    match units.iter().find(|(factor, _)| value >= *factor) {
        Some((factor, unit)) => format!("{:.1} {unit}", value / factor),
        None => format!("{bytes} B"),
    }
}

fn format_micros(nanos: u64) -> String {
    format!("{} us", nanos as f64 / 1e3)
}

fn format_seconds(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}
