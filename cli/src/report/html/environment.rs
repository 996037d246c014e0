//! Run environment and cold-start costs.

use campaign::format;
use campaign::summarize::{SETUP_STEPS, SetupStep};
use crds::record::{HardwareFacts, OffloadFacts};
use crds::v1alpha1::Answer;
use maud::{Markup, html};

use super::verdicts::arm_name;
use crate::report::Report;

/// Section with the setup costs before the first measured operation.
pub(super) fn setup_costs(report: &Report<'_>) -> Markup {
    html! {
        section #cold aria-labelledby="cold-title" {
            h2 #cold-title { "Before the first measured operation" }
            p.note { "Median and range [minimum, maximum] over the rounds. Every round starts new processes." }
            div.scroll tabindex="0" role="region" aria-label="Cold-start metrics" {
                table.numbers {
                    thead {
                        tr {
                            th scope="col" { "arm" }
                            @for step in SETUP_STEPS { th scope="col" { (step.name()) } }
                            th scope="col" { "registered memory" }
                        }
                    }
                    tbody {
                        @for cold in &report.evaluation.summary.cold {
                            tr {
                                th scope="row" { (arm_name(report, cold.arm)) }
                                @for step in SETUP_STEPS {
                                    td {
                                        @if let Some(summary) = cold.nanos.get(&step) {
                                            (format::nanos(summary.median))
                                            " [" (format::nanos(summary.min)) ", " (format::nanos(summary.max)) "]"
                                        } @else { (absent(step)) }
                                    }
                                }
                                td { (format::bytes(cold.registered_bytes)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Text for a step that no worker reported.
fn absent(step: SetupStep) -> &'static str {
    match step {
        SetupStep::ThreadStart => "none: the main thread measures",
        _ => "not reported",
    }
}

/// Section with workers, libraries and endpoints.
pub(super) fn environment(report: &Report<'_>) -> Markup {
    let environment = &report.evaluation.summary.environment;
    html! {
        section #environment aria-labelledby="environment-title" {
            h2 #environment-title { "Environment" }
            div.scroll tabindex="0" role="region" aria-label="Workers" {
                table {
                    caption { "Workers" }
                    thead {
                        tr {
                            @for head in [
                                "leg", "rank", "host", "kernel", "CPU model", "CPUs", "governor", "locked memory", "memory",
                                "2 MiB huge pages", "hardware", "clock", "image",
                            ] { th scope="col" { (head) } }
                        }
                    }
                    tbody {
                        @for worker in &environment.workers {
                            @let host = &worker.hello.environment;
                            tr {
                                td { (worker.leg) }
                                td { (worker.hello.rank) }
                                td { (host.hostname) @if let Some(node) = &host.node { " on " (node) } }
                                td { (host.kernel) }
                                td { (host.cpu_model) }
                                td { (host.cpus_allowed) }
                                td { (host.governor.as_deref().unwrap_or("not reported by the kernel")) }
                                td { (host.memlock_bytes.map_or_else(|| "unlimited".to_owned(), format::bytes)) }
                                td { (format::bytes(host.memory_limit_bytes.unwrap_or(host.memory_bytes))) }
                                td { (host.hugepages_2mi_free) " of " (host.hugepages_2mi_total) " free" }
                                td { @for line in hardware(&host.hardware) { div { (line) } } }
                                td { (host.clock.name) " (" (host.clock.source) "), " (format!("{:.1}", host.clock.overhead_nanos)) " ns per reading" }
                                td {
                                    @match (&host.image_variant, &host.image_digest) {
                                        (None, None) => "none",
                                        (variant, digest) => {
                                            (variant.as_deref().unwrap_or("no variant")) " "
                                            (digest.as_deref().unwrap_or("digest unknown"))
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if !environment.device_pairs.is_empty() {
                p.note { "Memory and NICs: " (environment.device_pairs.join("; ")) "." }
            }
            @if !environment.claims.is_empty() {
                p.note { "Devices of the claims: " (environment.claims.join("; ")) "." }
            }
            div.scroll tabindex="0" role="region" aria-label="Endpoints" {
                table {
                    caption { "Properties that the library reported for each arm on rank 0" }
                    thead {
                        tr {
                            @for head in [
                                "arm", "library", "provider", "fabric", "rails", "inject limits", "software", "queue depth", "progress",
                                "polling", "memory", "variables",
                            ] { th scope="col" { (head) } }
                        }
                    }
                    tbody {
                        @for arm in &environment.arms {
                            @let fabric = &arm.fabric;
                            tr {
                                th scope="row" { (arm.arm) }
                                td {
                                    @if let Some(library) = &fabric.library {
                                        (library.name) " " (library.version) " (API " (library.api_version) ") " (library.path)
                                    } @else { "built in" }
                                }
                                td { (fabric.provider) }
                                td { (fabric.fabric) }
                                td {
                                    @for rail in &fabric.rails {
                                        div {
                                            (rail.domain) " " (rail.address)
                                            @if let Some(pci) = &rail.pci { " " (pci) }
                                            @if let Some(rate) = rail.line_bits_per_second { (format!(" {} Gbit/s", rate as f64 / 1e9)) }
                                        }
                                    }
                                }
                                td { "send " (fabric.inject_limits.send_bytes) " B, write " (fabric.inject_limits.write_bytes) " B" }
                                td { @for line in offload(&fabric.offload) { div { (line) } } }
                                td { (fabric.transmit_depth) }
                                td { (fabric.progress) }
                                td {
                                    @for (scenario, polling) in &fabric.polling { div { (scenario) ": " (format!("{polling:?}")) } }
                                    @if fabric.polling.is_empty() { "not reported" }
                                }
                                td {
                                    @for memory in &fabric.memory {
                                        div { (memory.scenario) ": " (format!("{:?}", memory.kind)) ", " (memory.registration) }
                                    }
                                    @if fabric.memory.is_empty() { "not reported" }
                                }
                                td {
                                    @for (name, value) in &fabric.variables { div { code { (name) "=" (value) } } }
                                    @if fabric.variables.is_empty() { "none" }
                                    @if let Some(hash) = &fabric.variables_sha256 {
                                        div { "SHA-256 " code title=(hash) { (hash.get(..12).unwrap_or(hash)) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            (protocols(report))
            @if !report.evaluation.summary.evidence_lines.is_empty() {
                details {
                    summary { "Evidence lines from the runners" }
                    ul { @for line in &report.evaluation.summary.evidence_lines { li { code { (line) } } } }
                }
            }
        }
    }
}

/// Table of the protocols that the libraries used; empty if none reported them.
fn protocols(report: &Report<'_>) -> Markup {
    let plan = report.plan;
    let cells = &report.evaluation.summary.cells;
    let used = || {
        cells
            .iter()
            .flat_map(|cell| cell.protocols.iter().map(move |protocol| (cell, protocol)))
    };
    html! {
        @if used().next().is_some() {
            div.scroll tabindex="0" role="region" aria-label="Protocols" {
                table {
                    caption { "Protocols that the library used for each operation in round 0, which contributes no results" }
                    thead { tr { @for head in ["scenario", "size", "arm", "function", "protocol", "lanes", "count"] { th scope="col" { (head) } } } }
                    tbody {
                        @for (cell, protocol) in used() {
                            tr {
                                td { (plan.scenarios.get(cell.scenario).map_or("", |scenario| scenario.assignment.name.as_str())) }
                                td { (format::size(cell.size_bytes)) }
                                td { (arm_name(report, cell.arm)) }
                                td { code { (protocol.function) } }
                                td { (protocol.description) }
                                td { (protocol.lanes) }
                                td { (protocol.count) }
                            }
                        }
                    }
                }
            }
        }
    }
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
