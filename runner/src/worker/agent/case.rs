//! Runs cases and probes on this worker.

use crds::record::{CaseFailure, FailureReason};

use super::waiting::{internal, unexpected};
use super::{Agent, Departure};
use crate::attempt::process_of;
use crate::instrument::protocol::{Reply, Request};
use crate::rendezvous::message::{CaseOrder, PeerCase, Report};

impl Agent<'_> {
    pub(super) fn probe(&mut self, peer_case: PeerCase) -> Result<(), Departure> {
        self.measure(peer_case.arm, &Request::Probe(peer_case))
    }

    pub(super) fn prepare(&mut self, order: CaseOrder) -> Result<(), Departure> {
        let running = self.check_running(process_of(self.assignment, order.with.arm));
        // If only one side failed, the other would wait for it until the deadline of the case.
        let result = running.and_then(|()| match self.broken_arms.get(&order.with.arm) {
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
        self.report(&Report::Ready(result))
    }

    pub(super) fn go(&mut self) -> Result<(), Departure> {
        if let Some(order) = self.prepared.take() {
            return self.measure(order.with.arm, &Request::Run(order));
        }
        let result = Err(internal("no case was prepared".into()));
        let evidence = Vec::new();
        self.report(&Report::Done { result, evidence })
    }

    fn measure(&mut self, arm: u32, request: &Request) -> Result<(), Departure> {
        let (result, evidence) =
            match self.request(process_of(self.assignment, arm), request, self.case_timeout())? {
                Ok(Reply::Done { result, evidence }) => (result, evidence),
                Ok(other) => (Err(unexpected(&other)), Vec::new()),
                Err(failure) => (Err(failure), Vec::new()),
            };
        if let Err(failure) = &result
            && failure.reason == FailureReason::PostFailed
        {
            self.broken_arms.entry(arm).or_insert_with(|| failure.clone());
        }
        self.report(&Report::Done { result, evidence })
    }
}
