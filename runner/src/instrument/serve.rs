//! Executes the requests from a worker, one after another. Reads and writes the worker's socket.

use std::collections::BTreeMap;
use std::env;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crds::names::{ENV_SAMPLES_DIRECTORY, ENV_VARIANT};
use crds::record::{CaseFailure, ColdRecord, ConfigurationRecord, FabricFacts, ProtocolsRecord};
use serde_json::value::RawValue;

use super::arm::{Arm, CaseOutcome};
use super::configuration;
use super::failure::internal;
use super::flow_coordinator::SocketFlowCoordinator;
use super::open::Opener;
use super::protocol::{InstrumentParameters, MAX_MESSAGE_BYTES, Reply, Request};
use super::samples_file::SamplesFile;
use super::select::TransportSelector;
use super::variables::{FabricVariables, utf8_variables};
use super::variant;
use crate::frame::{self, FrameError, FrameReader};
use crate::measure::clock;
use crate::rendezvous::message::{CaseOrder, Opened, PeerCase, SideResult};

/// Executes the requests from one worker.
pub(super) struct Server<'c> {
    selector: &'c dyn TransportSelector,
    reader: FrameReader<UnixStream>,
    writer: UnixStream,
    opener: Option<Opener>,
    arms: BTreeMap<u32, Box<dyn Arm>>,
    /// Time taken to load the library.
    load_nanos: u64,
}

impl<'c> Server<'c> {
    pub(super) fn new(
        selector: &'c dyn TransportSelector,
        reader: FrameReader<UnixStream>,
        writer: UnixStream,
    ) -> Self {
        Self {
            selector,
            reader,
            writer,
            opener: None,
            arms: BTreeMap::new(),
            load_nanos: 0,
        }
    }

    /// Executes requests until [`Request::Leave`].
    pub(super) fn serve(mut self) -> Result<(), FrameError> {
        loop {
            let line = self.reader.read(MAX_MESSAGE_BYTES, None)?;
            let request = serde_json::from_slice(&line).map_err(|source| FrameError::Syntax { source })?;
            let last = matches!(request, Request::Leave);
            if let Some(reply) = self.execute(request) {
                frame::write(&mut self.writer, &reply, MAX_MESSAGE_BYTES)?;
            }
            if last {
                return Ok(());
            }
        }
    }

    /// Executes a request and returns the reply; `None` for a command to the flows of a case that has ended.
    fn execute(&mut self, request: Request) -> Option<Reply> {
        Some(match request {
            Request::Initialize(parameters) => Reply::Initialized(self.initialize(*parameters)),
            Request::Open { arm } => Reply::Opened(self.open(arm).map(Box::new)),
            Request::Connect { arm, peer, offer } => Reply::Connected(self.connect(arm, peer, &offer)),
            Request::Probe(peer_case) => self.probe(peer_case),
            Request::Run(order) => {
                let outcomes = self.run(&order).unwrap_or_else(|failure| vec![Err(failure)]);
                let mut evidence = Vec::new();
                let result = |outcome: Result<CaseOutcome, CaseFailure>| {
                    outcome.map(|outcome| {
                        evidence.extend(outcome.evidence);
                        outcome.side
                    })
                };
                let results = outcomes.into_iter().map(result).collect();
                Reply::Done { results, evidence }
            }
            Request::Flows(_) => return None,
            Request::Cold { round } => Reply::Cold(self.cold(round)),
            Request::Configuration => Reply::Configured(self.configuration()),
            Request::Close => Reply::Closed(self.close()),
            Request::Leave => Reply::Left,
        })
    }

    fn initialize(&mut self, parameters: InstrumentParameters) -> Result<(), CaseFailure> {
        let opener = self.opener.insert(Opener::new(parameters)?);
        let start = clock::now();
        opener.load(self.selector);
        self.load_nanos = clock::now().saturating_sub(start);
        Ok(())
    }

    fn open(&mut self, index: u32) -> Result<Opened, CaseFailure> {
        let opener = self
            .opener
            .as_mut()
            .ok_or_else(|| internal("an arm was opened before the instrument was initialized"))?;
        let assigned = opener.arm(index)?;
        variant::check(env::var(ENV_VARIANT).ok().as_deref(), &assigned)?;
        let arm = opener.open(self.selector, &assigned)?;
        let facts = recorded_facts(arm.as_ref());
        let offer = arm.offer()?;
        let opened = Opened { offer, facts };
        self.arms.insert(index, arm);
        Ok(opened)
    }

    fn connect(&mut self, arm: u32, peer: u32, offer: &RawValue) -> Result<Box<FabricFacts>, CaseFailure> {
        let arm = self.arm(arm)?;
        arm.connect(peer, offer)?;
        Ok(Box::new(recorded_facts(arm)))
    }

    fn probe(&mut self, peer_case: PeerCase) -> Reply {
        let timeout = self.opener.as_ref().map_or(Duration::ZERO, Opener::case_deadline);
        let reached = self
            .arm(peer_case.arm)
            .and_then(|arm| arm.probe(peer_case, timeout));
        Reply::Done {
            results: vec![reached.map(|()| SideResult::Reached)],
            evidence: Vec::new(),
        }
    }

    /// Runs the flows of a case, and writes their samples to files if an environment variable requests it. Returns the
    /// outcome of each flow.
    fn run(&mut self, order: &CaseOrder) -> Result<Vec<Result<CaseOutcome, CaseFailure>>, CaseFailure> {
        let opener = self
            .opener
            .as_ref()
            .ok_or_else(|| internal("a case was run before the instrument was initialized"))?;
        let scenario = opener.scenario(order.scenario)?;
        let arm = self.arms.get_mut(&order.arm).ok_or_else(|| not_open(order.arm))?;
        let directory = env::var_os(ENV_SAMPLES_DIRECTORY);
        let mut flow_coordinator = SocketFlowCoordinator {
            reader: &mut self.reader,
            writer: &mut self.writer,
        };
        let limit = opener.case_limit(order);
        let mut outcomes = arm.run(order, scenario, limit, directory.is_some(), &mut flow_coordinator);
        for outcome in outcomes.iter_mut().flatten() {
            let (Some(directory), Some(samples)) = (&directory, outcome.samples.take()) else {
                continue;
            };
            let file = SamplesFile {
                scenario: scenario.name.clone(),
                size_bytes: order.size_bytes,
                rank: opener.rank(),
                case: order.number,
                samples,
            };
            file.write(directory.as_ref())
                .map_err(|error| internal(&format!("{ENV_SAMPLES_DIRECTORY}: {error}")))?;
        }
        Ok(outcomes)
    }

    fn cold(&self, round: u32) -> Vec<ColdRecord> {
        let Some(opener) = &self.opener else {
            return Vec::new();
        };
        let mut records = Vec::new();
        for (index, arm) in &self.arms {
            records.push(ColdRecord {
                round,
                rank: opener.rank(),
                load_nanos: self.load_nanos,
                arm: opener.arm(*index).map(|arm| arm.name).unwrap_or_default(),
                ..arm.cold()
            });
        }
        records
    }

    fn configuration(&self) -> Vec<ConfigurationRecord> {
        let Some(opener) = &self.opener else {
            return Vec::new();
        };
        configuration::records(opener, &self.arms)
    }

    /// Closes the endpoints of all arms. Returns a record for each arm whose library reports its protocols.
    fn close(&mut self) -> Vec<ProtocolsRecord> {
        let mut records = Vec::new();
        for (index, arm) in std::mem::take(&mut self.arms) {
            let protocols = arm.close();
            let Some(opener) = self.opener.as_ref().filter(|_| !protocols.is_empty()) else {
                continue;
            };
            records.push(ProtocolsRecord {
                round: opener.round(),
                restart: 0,
                rank: opener.rank(),
                arm: opener.arm(index).map(|arm| arm.name).unwrap_or_default(),
                protocols,
                omitted: 0,
            });
        }
        records
    }

    fn arm(&mut self, index: u32) -> Result<&mut (dyn Arm + 'static), CaseFailure> {
        let arm = self.arms.get_mut(&index).ok_or_else(|| not_open(index))?;
        Ok(arm.as_mut())
    }
}

/// Facts of `arm`, with the environment variables that configure fabric libraries.
fn recorded_facts(arm: &dyn Arm) -> FabricFacts {
    let variables = FabricVariables::new(utf8_variables(env::vars_os()));
    FabricFacts {
        variables_sha256: Some(variables.sha256()),
        variables: variables.bounded(),
        ..arm.facts()
    }
}

fn not_open(arm: u32) -> CaseFailure {
    internal(&format!("arm {arm} is not open"))
}
