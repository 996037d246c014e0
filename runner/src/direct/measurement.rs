//! Client tasks that are the same whether or not the server runs on another machine: preparing the request, and
//! printing and writing the results. Uses standard output and files.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, Write};

use clap::Args;
use crds::assignment::Pass;
use crds::record::{CaseResult, Record};

use super::flags::{LocalFlags, OutputFlags, ScenarioFlags, TransportFlags};
use super::report::Report;
use super::request::{Limits, Request, RequestedTransport};
use super::trace::Trace;
use super::{DirectError, run_id, text};

/// Flags of a measurement that the client coordinates.
#[derive(Clone, Debug, Args)]
pub struct MeasurementFlags {
    /// Library and transports, on both sides.
    #[command(flatten)]
    pub transport: TransportFlags,
    /// Library and devices on this machine.
    #[command(flatten)]
    pub local: LocalFlags,
    /// Scenarios to measure.
    #[command(flatten)]
    pub scenarios: ScenarioFlags,
    /// Destinations of the results.
    #[command(flatten)]
    pub output: OutputFlags,
}

/// A measurement that is ready to start.
pub(super) struct Measurement<'a> {
    /// Request that describes the measurement.
    pub request: Request,
    /// Destinations of the results.
    pub results: Results<'a>,
    /// Environment variables of the instruments on this machine.
    pub variables: BTreeMap<String, String>,
}

impl MeasurementFlags {
    /// Creates the request and the destinations of the results.
    ///
    /// # Errors
    /// Returns an error if the flags are invalid, the request exceeds `limits`, or a destination cannot be used.
    pub(super) fn prepare(&self, limits: &Limits) -> Result<Measurement<'_>, DirectError> {
        let variable = |name: &str| env::var(name).ok();
        self.local.check_devices(self.scenarios.rails)?;
        let transport = self
            .transport
            .transport_or(RequestedTransport::suite_default(self.scenarios.rails), variable)?;
        let request = self.scenarios.request(run_id()?, transport);
        request.check(limits)?;
        let results = Results::new(&self.output)?;
        let mut variables = self.transport.replaced_variables(variable);
        variables.extend(results.trace_variable());
        Ok(Measurement {
            request,
            results,
            variables,
        })
    }
}

/// Prints the outcome of a case to standard error.
pub(super) fn print_progress(record: &Record) {
    let Record::Case(case) = record else {
        return;
    };
    let verb = match (&case.result, case.pass) {
        (CaseResult::Failed(_), _) => "failed",
        (_, Pass::Integrity) => "verified",
        (_, Pass::Pilot | Pass::Measure) => "measured",
    };
    // Progress is lost if standard error is closed.
    let _ = writeln!(io::stderr(), "{verb} {}", case.scenario);
}

/// Destinations for one measurement's results.
pub(super) struct Results<'a> {
    flags: &'a OutputFlags,
    trace: Option<Trace>,
}

impl<'a> Results<'a> {
    /// Prepares the destinations.
    ///
    /// # Errors
    /// Returns an error if the directory for samples or the file cannot be created.
    pub(super) fn new(flags: &'a OutputFlags) -> Result<Self, DirectError> {
        // A path that cannot be written is reported before the measurement instead of after it.
        if let Some(path) = &flags.output {
            let opened = fs::OpenOptions::new().create(true).append(true).open(path);
            opened.map_err(|source| DirectError::File {
                action: "write",
                path: path.clone(),
                source,
            })?;
        }
        let trace = flags.store_trace.then(Trace::new).transpose();
        let trace = trace.map_err(|source| DirectError::System {
            action: "creating a temporary directory",
            source,
        })?;
        Ok(Self { flags, trace })
    }

    /// Environment variable that makes instruments store samples, if samples are requested.
    pub(super) fn trace_variable(&self) -> Option<(String, String)> {
        self.trace.as_ref().map(Trace::environment_variable)
    }

    /// Writes the report to the file, and prints it. If one of these steps fails, the other one is still performed.
    ///
    /// # Errors
    /// Returns the first error if results cannot be read or written, or if not every scenario was measured.
    pub(super) fn publish(&self, request: &Request, records: &[Record]) -> Result<(), DirectError> {
        let samples = self.trace.as_ref().map(Trace::read).transpose();
        let (samples, unread) = match samples {
            Ok(samples) => (samples.unwrap_or_default(), Ok(())),
            Err(source) => (
                Vec::new(),
                Err(DirectError::System {
                    action: "reading the samples",
                    source,
                }),
            ),
        };
        let report = Report::new(request, records, samples);
        // A measured result must not be lost because nothing is reading standard output anymore.
        let written = self.write(&report);
        let printed = super::print(text::format(&report).trim_end()).map_err(|source| DirectError::System {
            action: "writing to standard output",
            source,
        });
        let missing = report.not_measured();
        let complete = match missing.is_empty() {
            true => Ok(()),
            false => Err(DirectError::NotMeasured {
                scenarios: missing.join(", "),
            }),
        };
        unread.and(written).and(printed).and(complete)
    }

    fn write(&self, report: &Report) -> Result<(), DirectError> {
        let Some(path) = &self.flags.output else {
            return Ok(());
        };
        let document = serde_json::to_vec_pretty(report).map_err(io::Error::from);
        let written = document.and_then(|document| fs::write(path, document));
        written.map_err(|source| DirectError::File {
            action: "write",
            path: path.clone(),
            source,
        })
    }
}
