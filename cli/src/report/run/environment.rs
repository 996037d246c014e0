//! Run environment and cold-start costs.

use campaign::format;
use campaign::summarize::{ArmFacts, SETUP_STEPS, SetupStep};
use crds::record::{HardwareFacts, HelloRecord, OffloadFacts, RailFacts};
use crds::v1alpha1::Answer;

use crate::report::Report;
use crate::report::document::{Block, Cell, Column, Detail, List, Note, Row, Section, Table};

/// Section with the setup costs before the first measured operation.
pub(super) fn setup_costs(report: &Report<'_>) -> Section {
    let rows = report.evaluation.summary.cold.iter().map(|cold| {
        let steps = SETUP_STEPS.into_iter().map(|step| match cold.nanos.get(&step) {
            Some(summary) => format!(
                "{} [{}, {}]",
                format::nanos(summary.median),
                format::nanos(summary.min),
                format::nanos(summary.max)
            ),
            // No worker reported the step.
            None if step == SetupStep::ThreadStart => "none: the main thread measures".to_owned(),
            None => "not reported".to_owned(),
        });
        let registered = format::bytes(cold.registered_bytes);
        let name = report.arm_name(cold.arm).to_owned();
        Row::new([name].into_iter().chain(steps).chain([registered]))
    });
    let steps = SETUP_STEPS.into_iter().map(SetupStep::name);
    let columns = ["arm"].into_iter().chain(steps).chain(["registered memory"]);
    let note = "Median and range [minimum, maximum] over the rounds. Every round starts new processes.";
    let table = Table::new("", Column::all(columns), rows)
        .detail(Detail::Full)
        .notes([Note::new("", note, Detail::Full)]);
    Section {
        heading: "Before the first measured operation".to_owned(),
        blocks: vec![table.into()],
        ..Section::default()
    }
}

/// Section with workers, libraries and endpoints.
pub(super) fn section(report: &Report<'_>) -> Section {
    let summary = &report.evaluation.summary;
    let environment = &summary.environment;
    let workers = environment
        .workers
        .iter()
        .map(|worker| host(worker.leg.to_string(), &worker.hello));
    let columns = [
        "leg",
        "rank",
        "host",
        "kernel",
        "CPU model",
        "CPUs",
        "governor",
        "locked memory",
        "memory",
        "2 MiB huge pages",
        "hardware",
        "clock",
        "image",
    ];
    let workers = Table::new("workers", Column::all(columns), workers).detail(Detail::Full);
    let columns = [
        "arm",
        "library",
        "provider",
        "fabric",
        "rails",
        "inject limits",
        "software",
        "queue depth",
        "progress",
        "polling",
        "memory",
        "variables",
    ];
    let title = "properties that the library reported for each arm on rank 0";
    let endpoints = environment.arms.iter().map(endpoints);
    let endpoints = Table::new(title, Column::all(columns), endpoints).detail(Detail::Full);
    let lines = Block::List(List {
        heading: "runner",
        items: summary.evidence_lines.clone(),
        detail: Detail::Full,
    });
    Section {
        heading: "Environment".to_owned(),
        blocks: vec![workers.into(), endpoints.into(), protocols(report).into(), lines],
        ..Section::default()
    }
}

/// Row of a worker.
fn host(leg: String, hello: &HelloRecord) -> Row {
    let host = &hello.environment;
    let node = host.node.as_ref().map(|node| format!(" on {node}"));
    let image = match (&host.image_variant, &host.image_digest) {
        (None, None) => "none".to_owned(),
        (variant, digest) => format!(
            "{} {}",
            variant.as_deref().unwrap_or("no variant"),
            digest.as_deref().unwrap_or("digest unknown")
        ),
    };
    Row::new([
        Cell::Text(leg),
        Cell::Text(hello.rank.to_string()),
        Cell::Text(format!("{}{}", host.hostname, node.unwrap_or_default())),
        Cell::Text(host.kernel.clone()),
        Cell::Text(host.cpu_model.clone()),
        Cell::Text(host.cpus_allowed.clone()),
        Cell::from(host.governor.as_deref().unwrap_or("not reported by the kernel")),
        Cell::Text(
            host.memlock_bytes
                .map_or_else(|| "unlimited".to_owned(), format::bytes),
        ),
        Cell::Text(format::bytes(
            host.memory_limit_bytes.unwrap_or(host.memory_bytes),
        )),
        Cell::Text(format!(
            "{} of {} free",
            host.hugepages_2mi_free, host.hugepages_2mi_total
        )),
        Cell::Values(hardware(&host.hardware)),
        Cell::Text(format!(
            "{} ({}), {:.1} ns per reading",
            host.clock.name, host.clock.source, host.clock.overhead_nanos
        )),
        Cell::Text(image),
    ])
}

/// Row of what the library reported for an arm.
fn endpoints(arm: &ArmFacts) -> Row {
    let fabric = &arm.fabric;
    let library = fabric.library.as_ref().map(|library| {
        format!(
            "{} {} (API {}) {}",
            library.name, library.version, library.api_version, library.path
        )
    });
    let polling = fabric
        .polling
        .iter()
        .map(|(scenario, polling)| format!("{scenario}: {polling:?}"));
    let memory = fabric
        .memory
        .iter()
        .map(|memory| format!("{}: {:?}, {}", memory.scenario, memory.kind, memory.registration));
    let variables = fabric
        .variables
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let hash = fabric
        .variables_sha256
        .iter()
        .map(|hash| format!("SHA-256 {hash}"));
    let or = |values: Vec<String>, absent: &str| match values.is_empty() {
        true => Cell::from(absent),
        false => Cell::Values(values),
    };
    Row::new([
        Cell::from(arm.arm.as_str()),
        Cell::Text(library.unwrap_or_else(|| "built in".to_owned())),
        Cell::Text(fabric.provider.clone()),
        Cell::Text(fabric.fabric.clone()),
        Cell::Values(fabric.rails.iter().map(rail).collect()),
        Cell::Text(format!(
            "send {} B, write {} B",
            fabric.inject_limits.send_bytes, fabric.inject_limits.write_bytes
        )),
        Cell::Values(offload(&fabric.offload)),
        Cell::Text(fabric.transmit_depth.to_string()),
        Cell::Text(fabric.progress.clone()),
        or(polling.collect(), "not reported"),
        or(memory.collect(), "not reported"),
        or(variables.chain(hash).collect(), "none"),
    ])
}

fn rail(rail: &RailFacts) -> String {
    let rate = rail
        .line_bits_per_second
        .map(|rate| format!("{} Gbit/s", rate as f64 / 1e9));
    let parts = [rail.domain.clone(), rail.address.clone()];
    let parts: Vec<String> = parts.into_iter().chain(rail.pci.clone()).chain(rate).collect();
    parts.join(" ")
}

/// Table of the protocols that the libraries used; without rows if none reported them.
fn protocols(report: &Report<'_>) -> Table {
    let used = report.cells().flat_map(|view| {
        let protocols = view.cell.protocols.iter();
        protocols.map(move |protocol| (view, protocol))
    });
    let rows = used.map(|(view, protocol)| {
        Row::new([
            view.scenario.assignment.name.as_str(),
            &format::size(view.cell.size_bytes),
            &view.arm.name,
            &protocol.function,
            &protocol.description,
            &protocol.lanes,
            &protocol.count.to_string(),
        ])
    });
    let columns = [
        "scenario", "size", "arm", "function", "protocol", "lanes", "count",
    ];
    let title = "protocols that the library used for each operation in round 0, which contributes no results";
    Table::new(title, Column::all(columns), rows).detail(Detail::Full)
}

/// Describes the machine, its devices and the software that drives them.
fn hardware(hardware: &HardwareFacts) -> Vec<String> {
    let iommu = hardware.iommu.as_ref().map(|kind| format!("IOMMU {kind}"));
    let installer = hardware
        .efa_installer
        .as_ref()
        .map(|version| format!("EFA installer {version}"));
    let rdma_core = hardware.rdma_core.as_ref().map(|facts| {
        let installed = match facts.installed_efa.as_slice() {
            [] => "none".to_owned(),
            versions => versions.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        };
        format!(
            "rdma-core loads rdmav{}; installed for EFA: {installed}",
            facts.expected
        )
    });
    let lines = hardware.instance_type.clone().into_iter();
    let lines: Vec<String> = lines
        .chain(hardware.devices())
        .chain(
            hardware
                .max_gpu_clocks()
                .into_iter()
                .map(|clocks| format!("GPU clocks up to {clocks}")),
        )
        .chain(iommu)
        .chain(installer)
        .chain(rdma_core)
        .collect();
    match lines.is_empty() {
        true => vec!["no RDMA device or GPU".to_owned()],
        false => lines,
    }
}

/// Describes the work that the provider executes in software and the device's inline limit.
fn offload(offload: &OffloadFacts) -> Vec<String> {
    let answers = [
        ("emulated reads", offload.emulated_reads),
        ("emulated writes", offload.emulated_writes),
        ("staged GPU memory", offload.staged),
    ];
    let answers = answers.into_iter().filter_map(|(what, answer)| {
        let answer = match answer? {
            Answer::True => "yes",
            Answer::False => "no",
            Answer::Unknown => "unknown",
        };
        Some(format!("{what}: {answer}"))
    });
    let inline = offload
        .inline_bytes
        .map(|bytes| format!("device inlines up to {bytes} B"));
    let lines: Vec<String> = answers.chain(inline).collect();
    match lines.is_empty() {
        true => vec!["no device".to_owned()],
        false => lines,
    }
}
