//! Text report of one scenario of a plan: a table of rails and chunks by size and arm, and the optimizations that do
//! not apply.

use std::fmt::Write;

use campaign::format::{memory_kinds, pluralized};
use campaign::plan::{Cell, Plan, PlannedScenario, Role};
use crds::assignment::{
    CommandWorkload, Delivery, Extent, ScenarioAssignment, ServingWorkload, TransferMode, Workload,
};
use crds::units::{Duration, Size};
use crds::v1alpha1::{RpcPayload, TransferBuffers};

use super::{lines, plain_table};

pub(super) fn write(plan: &Plan, index: usize, out: &mut String) -> std::fmt::Result {
    let Some(scenario) = plan.scenarios.get(index) else {
        return Ok(());
    };
    writeln!(
        out,
        "  {}   {}",
        scenario.assignment.name,
        workload(plan, &scenario.assignment)
    )?;
    writeln!(
        out,
        "    primary metric {:?}{}; {}; at least {} for a verdict{}",
        scenario.primary,
        match plan.many_to_many {
            Some(pattern) => format!(
                " of {} at the same time",
                pluralized(pattern.flow_count(), "flow")
            ),
            None => String::new(),
        },
        pluralized(scenario.comparisons.into(), "comparison"),
        pluralized(scenario.minimum_rounds.into(), "round"),
        match scenario.assignment.workload.command() {
            _ if !scenario.integrity => "",
            Some(command) if command_output::log::is_read(command.tool) =>
                "; executed in round 0 with library logging",
            Some(_) => "; executed in round 0",
            None => "; every byte checked in round 0",
        },
    )?;
    for line in table(plan, scenario) {
        writeln!(out, "    {line}")?;
    }
    for line in not_applicable(plan, scenario) {
        writeln!(out, "    n/a {line}")?;
    }
    Ok(())
}

fn workload(plan: &Plan, scenario: &ScenarioAssignment) -> String {
    let (what, measured, warmup, noun) = match &scenario.workload {
        Workload::PingPong(work) => (
            format!("ping-pong {:?}", work.operation),
            work.measured,
            work.warmup,
            "round trip",
        ),
        Workload::MemoryFootprint(work) => (
            format!(
                "footprint of {} · {} · at most {} s",
                pluralized(work.consumers.into(), "consumer"),
                pluralized(work.distributions.into(), "distribution"),
                work.timeout_seconds
            ),
            work.measured,
            Extent::Iterations(0),
            "operation",
        ),
        Workload::Rpc(work) => (
            format!(
                "calls {:?} · {}{} · at most {} s",
                work.pattern,
                pluralized(work.hops.into(), "hop"),
                open_loop(&scenario.workload),
                work.timeout_seconds
            ),
            work.measured,
            work.warmup,
            "sample",
        ),
        Workload::Transfer(work) => (
            format!(
                "transfer {:?} {:?} · window {} · batch {} · {}{}{}{}",
                work.operation,
                work.direction,
                work.window,
                work.batch,
                pluralized(work.threads.into(), "thread"),
                match work.buffers {
                    TransferBuffers::Separate => "",
                    TransferBuffers::Shared => " · shared buffers",
                },
                open_loop(&scenario.workload),
                match work.mode {
                    TransferMode::Plain => "",
                    TransferMode::Flushed => " · a flush after each transfer",
                    TransferMode::WithPings => " · pings during the transfers",
                    TransferMode::Segments { read_back: true, .. } => {
                        " · each batch is read back · threads and memory on every NUMA node"
                    }
                    TransferMode::Segments { .. } => " · threads and memory on every NUMA node",
                },
            ),
            work.measured,
            work.warmup,
            "transfer",
        ),
        Workload::Command(command) => return self::command(command),
        Workload::ParameterServing(serving) => {
            return format!(
                "{}{}",
                parameter_serving(plan, serving, scenario),
                polling_text(scenario)
            );
        }
    };
    format!(
        "{what} · {}{} · {} after {} of warm-up",
        memory_kinds(scenario),
        polling_text(scenario),
        extent(measured, noun),
        extent(warmup, noun)
    )
}

/// Intended start times of an open loop; empty for a closed loop.
fn open_loop(workload: &Workload) -> String {
    workload.open_loop().map_or_else(String::new, |load| {
        let arrivals = format!("{:?}", load.arrivals).to_lowercase();
        let (rate, what) = (load.rate, workload.started());
        format!(" · open loop with {arrivals} arrivals at {rate} {what}/s per thread")
    })
}

/// Describes the client and server of a command, as in the spec.
fn command(command: &CommandWorkload) -> String {
    let server = match command.server.as_slice() {
        [] => String::new(),
        server => format!(" · server `{}`", server.join(" ")),
    };
    format!(
        "command, output of {:?} · client `{}`{server} · at most {} s",
        command.tool,
        command.client.join(" "),
        command.timeout_seconds
    )
}

fn polling_text(scenario: &ScenarioAssignment) -> String {
    scenario
        .polling
        .map_or_else(String::new, |polling| format!(" · {polling:?}"))
}

fn parameter_serving(plan: &Plan, serving: &ServingWorkload, scenario: &ScenarioAssignment) -> String {
    let delivery = match &serving.delivery {
        Delivery::Filesystem { directory } => format!(" in {directory}"),
        Delivery::Multicast(multicast) => format!(
            " to {} in datagrams of {}{}",
            multicast.destination,
            Size(multicast.datagram_bytes.into()),
            multicast
                .bytes_per_second
                .map_or_else(String::new, |rate| format!(" at most {}/s", Size(rate)))
        ),
        Delivery::Push | Delivery::Pull => format!(" · {:?}", scenario.memory),
    };
    let pull = match serving.delivery {
        Delivery::Filesystem { .. } | Delivery::Pull => format!(" · pull {}", duration(serving.pull_nanos)),
        Delivery::Multicast(_) | Delivery::Push => String::new(),
    };
    let pods = plan.many_to_many.map_or_else(String::new, |pattern| {
        format!(
            " in the pod of each of {}",
            pluralized(pattern.receivers.into(), "receiver")
        )
    });
    format!(
        "parameter serving {}{delivery} · {}{pods} · push {}{pull} · post {} · step {} · {} or {}",
        serving.delivery.mode(),
        pluralized(serving.workers.into(), "worker"),
        duration(serving.push_nanos),
        duration(serving.post_nanos),
        duration(serving.step_nanos),
        pluralized(serving.max_version.into(), "version"),
        duration(serving.max_time_nanos),
    )
}

fn extent(extent: Extent, noun: &str) -> String {
    match extent {
        Extent::Iterations(count) => pluralized(count.into(), noun),
        Extent::DurationNanos(nanos) => duration(nanos),
        Extent::FillWindow {
            min_iterations,
            min_window_nanos,
        } => format!(
            "at least {} and {}",
            pluralized(min_iterations.into(), noun),
            duration(min_window_nanos)
        ),
    }
}

fn duration(nanos: u64) -> String {
    Duration(std::time::Duration::from_nanos(nanos)).to_string()
}

fn table(plan: &Plan, scenario: &PlannedScenario) -> Vec<String> {
    let arms = || {
        plan.arms
            .iter()
            .enumerate()
            .filter(|(_, arm)| arm.control.is_none())
    };
    let mut table = plain_table();
    table.set_header(std::iter::once("size".to_owned()).chain(arms().map(|(_, arm)| arm.name.clone())));
    for size in &scenario.sizes {
        let cells = arms().map(|(arm, _)| {
            let found = scenario
                .cells
                .iter()
                .find(|cell| cell.arm == arm && cell.size_bytes == *size);
            let channel = plan.arms.get(arm).map(|arm| arm.channel).unwrap_or_default();
            if scenario.assignment.workload.command().is_some() {
                return found.map_or_else(String::new, |cell| command_difference(plan, cell));
            }
            if scenario.assignment.workload.is_off_fabric(channel) {
                return format!("{:?}", channel.for_payload(*size));
            }
            found.map_or_else(String::new, text)
        });
        table.add_row(std::iter::once(row_label(&scenario.assignment.workload, *size)).chain(cells));
    }
    lines(&table)
}

/// Describes how the arm's command differs from the baseline's: in its arguments or its environment.
fn command_difference(plan: &Plan, cell: &Cell) -> String {
    let arm = plan.arms.get(cell.arm);
    let arguments = arm.map_or(&[][..], |arm| &arm.arguments);
    match (arguments, cell.role) {
        (_, Some(Role::NegativeControl | Role::NotApplicable)) => "as baseline".to_owned(),
        ([], _) => "1 execution".to_owned(),
        (arguments, _) => arguments.join(" "),
    }
}

/// Formats the size, with the name of the payload if the scenario makes calls.
fn row_label(workload: &Workload, size: u64) -> String {
    let size_text = Size(size).to_string();
    match (workload, RpcPayload::with_size(size)) {
        (Workload::Rpc(_), Some(payload)) => format!("{} ({size_text})", payload.name()),
        _ => size_text,
    }
}

/// Formats a cell, such as `2 x 16Ki, 15/16 more`, or `as baseline` if its posts equal those of the baseline.
fn text(cell: &Cell) -> String {
    if matches!(cell.role, Some(Role::NegativeControl | Role::NotApplicable)) {
        return "as baseline".to_owned();
    }
    let mut text = format!("{} x {}", cell.rails, Size(cell.chunk_bytes));
    if cell.last_chunk_bytes != cell.chunk_bytes {
        text.push_str(&format!(" (last {})", Size(cell.last_chunk_bytes)));
    }
    if cell.more_per_burst > 0 {
        text.push_str(&format!(
            ", {}/{} more",
            cell.more_per_burst, cell.posts_per_burst
        ));
    } else if cell.posts_per_burst > 1 {
        text.push_str(&format!(", {} posts", cell.posts_per_burst));
    }
    let injected = cell.optimizations.iter().any(|planned| {
        planned.optimization == crds::v1alpha1::Optimization::Inject && planned.not_applicable.is_none()
    });
    if injected {
        text.push_str(", injected");
    }
    text
}

/// Describes the optimizations that do not apply, with one line for each arm, optimization and reason, such as
/// `doorbell Doorbell at 64, 128: only one post per rail per burst`.
fn not_applicable(plan: &Plan, scenario: &PlannedScenario) -> Vec<String> {
    let mut grouped: Vec<(String, String, Vec<String>)> = Vec::new();
    for (index, arm) in plan
        .arms
        .iter()
        .enumerate()
        .filter(|(_, arm)| arm.control.is_none())
    {
        for cell in scenario.cells.iter().filter(|cell| cell.arm == index) {
            for planned in &cell.optimizations {
                let Some(reason) = &planned.not_applicable else {
                    continue;
                };
                let what = format!("{} {:?}", arm.name, planned.optimization);
                let size = Size(cell.size_bytes).to_string();
                match grouped
                    .iter_mut()
                    .find(|(group, why, _)| *group == what && why == reason)
                {
                    Some((_, _, sizes)) => sizes.push(size),
                    None => grouped.push((what, reason.clone(), vec![size])),
                }
            }
        }
    }
    let all = scenario.sizes.len();
    let lines = grouped.into_iter().map(|(what, reason, sizes)| {
        let sizes = if sizes.len() == all {
            "every size".to_owned()
        } else {
            sizes.join(", ")
        };
        format!("{what} at {sizes}: {reason}")
    });
    lines.collect()
}
