//! Runs cases and probes on this worker.

use std::time::{Duration, Instant};

use crds::record::{CaseFailure, FailureReason};

use super::waiting::{internal, unexpected_reply};
use super::{Agent, Departure};
use crate::attempt::process_of;
use crate::instrument::protocol::{Reply, Request};
use crate::rendezvous::message::{CaseOrder, Command, PeerCase, SideResult, WorkerReport};
use crate::worker_event::WorkerEvent;

/// Flow results of a case, and the evidence lines.
type Outcome = (Vec<Result<SideResult, CaseFailure>>, Vec<String>);

impl Agent<'_> {
    pub(super) fn probe(&mut self, peer_case: PeerCase) -> Result<(), Departure> {
        let process = process_of(self.assignment, peer_case.arm);
        let reply = self.request(process, &Request::Probe(peer_case), self.step_timeout())?;
        self.finish(peer_case.arm, outcome(reply))
    }

    pub(super) fn prepare(&mut self, order: CaseOrder) -> Result<(), Departure> {
        let running = self.check_running(process_of(self.assignment, order.arm));
        // A worker that cannot run the case reports the failure before the case starts. Otherwise, the other side would
        // wait for it until the case deadline.
        let result = running.and_then(|()| match self.broken_arms.get(&order.arm) {
            Some(failure) => Err(CaseFailure {
                reason: failure.reason,
                message: format!(
                    "the endpoints were broken by an earlier case: {}",
                    failure.message
                ),
            }),
            None => Ok(()),
        });
        self.prepared = result.is_ok().then_some(order);
        self.report(&WorkerReport::Ready(result))
    }

    pub(super) fn run_prepared_case(&mut self) -> Result<(), Departure> {
        let Some(order) = self.prepared.take() else {
            let results = vec![Err(internal("no case was prepared".into()))];
            let evidence = Vec::new();
            return self.report(&WorkerReport::Done { results, evidence });
        };
        let (arm, is_simultaneous) = (order.arm, order.is_simultaneous);
        let process = process_of(self.assignment, arm);
        let limits = self.assignment.case_limits(order.scenario, arm, order.size_bytes);
        let timeout = limits.worker;
        let request = Request::Run(order);
        let reply = match is_simultaneous {
            true => self.run_flows(process, &request, timeout)?,
            false => self.request(process, &request, timeout)?,
        };
        self.finish(arm, outcome(reply))
    }

    /// Sends a case whose flows the coordinator controls to the instrument of `process`. Passes messages between the
    /// coordinator and the instrument until the instrument has finished the case, and returns the instrument's reply.
    /// An inner error has the same meaning as in [`Agent::request`].
    fn run_flows(
        &mut self,
        process: u32,
        request: &Request,
        timeout: Duration,
    ) -> Result<Result<Reply, CaseFailure>, Departure> {
        self.send(process, request)?;
        let deadline = Instant::now() + timeout;
        loop {
            if let Err(failure) = self.check_running(process) {
                return Ok(Err(failure));
            }
            match self.next_event(Some(deadline))? {
                None => return self.handle_timeout(process, timeout).map(Err),
                Some(WorkerEvent::Command(Command::Flows(command))) => {
                    self.send(process, &Request::Flows(command))?;
                }
                Some(WorkerEvent::Reply { serial, reply }) if self.belongs_to_process(serial, process) => {
                    match reply {
                        Reply::Reached(phase) => self.report(&WorkerReport::Reached(phase))?,
                        reply => return Ok(Ok(reply)),
                    }
                }
                Some(WorkerEvent::InstrumentLost { serial, error }) => {
                    self.handle_loss_of_serial(serial, &error)?;
                }
                Some(event) => self.defer(event),
            }
        }
    }

    fn finish(&mut self, arm: u32, (results, evidence): Outcome) -> Result<(), Departure> {
        let mut failures = results.iter().filter_map(|result| result.as_ref().err());
        if let Some(failure) = failures.find(|failure| failure.reason == FailureReason::PostFailed) {
            self.broken_arms.entry(arm).or_insert_with(|| failure.clone());
        }
        self.report(&WorkerReport::Done { results, evidence })
    }
}

fn outcome(reply: Result<Reply, CaseFailure>) -> Outcome {
    match reply {
        Ok(Reply::Done { results, evidence }) => (results, evidence),
        Ok(other) => (vec![Err(unexpected_reply(&other))], Vec::new()),
        Err(failure) => (vec![Err(failure)], Vec::new()),
    }
}
