//! The initiator's side of a measured case: executes the client and reads the case's result from its output.

use command_output::{OutputOrigin, ParseError, Printed, log, most_payload, parse, select, unknown_lines};
use crds::assignment::{CommandWorkload, Extent};
use crds::record::{CaseFailure, CommandProgram, CommandReport, FabricFacts, FailureReason, PrintedRange};

use super::execution;
use crate::command::Output;
use crate::measure::clock;
use crate::measure::recorder::Recorder;
use crate::scenario::case::Case;
use crate::scenario::case_protocol::Work;
use crate::scenario::engine::{Engine, failure};
use crate::scenario::thread_report::ThreadMeasurement;
use crate::transport::Transport;

/// Side that executes the client.
pub(in crate::scenario) struct Client<'a> {
    workload: &'a CommandWorkload,
    case: &'a Case<'a>,
    facts: &'a FabricFacts,
}

impl<'a> Client<'a> {
    pub(in crate::scenario) fn new(
        workload: &'a CommandWorkload,
        case: &'a Case<'a>,
        facts: &'a FabricFacts,
    ) -> Self {
        Self {
            workload,
            case,
            facts,
        }
    }
}

impl<T: Transport> Work<T> for Client<'_> {
    fn run(&mut self, engine: &mut Engine<'_, T>) -> Result<Option<ThreadMeasurement>, CaseFailure> {
        let start = clock::now();
        let output = execute(engine, self.case, self.workload, self.facts, &[])?;
        let end = clock::now();
        let nothing = Recorder::new(Extent::Iterations(0));
        Ok(Some(ThreadMeasurement {
            command: Some(report(self.workload, self.case.size_bytes, &output)?),
            ..ThreadMeasurement::new(0, start, end, nothing)
        }))
    }
}

/// Executes the client and returns its output.
pub(super) fn execute<T: Transport>(
    engine: &mut Engine<'_, T>,
    case: &Case<'_>,
    workload: &CommandWorkload,
    facts: &FabricFacts,
    variables: &[(&str, &str)],
) -> Result<Output, CaseFailure> {
    let mut process = execution::start(case, workload, facts, variables)?;
    let limit = execution::time_limit(workload);
    let exit = execution::wait_for_exit(engine, &mut process, CommandProgram::Client, limit)?;
    let program = process.program().to_owned();
    let output = process.stop()?;
    execution::check_exit(&program, CommandProgram::Client, &exit, &output)?;
    Ok(output)
}

/// Range of a printed value before printing.
fn range(printed: &Printed) -> PrintedRange {
    PrintedRange {
        least: printed.least,
        most: printed.most,
    }
}

/// Reads the result for `size` bytes, and the log lines that are evidence.
fn report(workload: &CommandWorkload, size: u64, output: &Output) -> Result<CommandReport, CaseFailure> {
    let unreadable = |error: ParseError| {
        let unknown = unknown_lines(workload.tool, workload.pattern.as_ref(), &output.text);
        let unknown = (unknown.count > 0).then(|| unknown.to_string());
        let message = format!(
            "the client output cannot be parsed as {:?} output: {}",
            workload.tool,
            error.explained_with(OutputOrigin::Command, &unknown.unwrap_or_default())
        );
        failure(FailureReason::CommandOutput, message)
    };
    let rows = parse(workload.tool, workload.pattern.as_ref(), &output.text).map_err(unreadable)?;
    let row = select(&rows, size).map_err(unreadable)?;
    Ok(CommandReport {
        latency_nanos: row.latency_nanos(),
        latency_range: row.latency.as_ref().map(range),
        bytes_per_second: row.bytes_per_second(),
        bandwidth_range: row.bandwidth.as_ref().map(range),
        payload_bytes: row.payload_bytes,
        most_payload_bytes: most_payload(&rows, size),
        log: log::read_streams(CommandProgram::Client, output.stdout(), output.stderr()),
        fallbacks: Vec::new(),
    })
}
