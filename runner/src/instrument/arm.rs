//! An arm whose transport type is erased: the boundary between dynamic and static dispatch.

use std::collections::BTreeMap;
use std::time::Duration;

use crds::assignment::{ArmAssignment, ScenarioAssignment};
use crds::record::{CaseFailure, ColdRecord, FabricFacts, FailureReason, ProtocolUse};
use crds::v1alpha1::ManyToMany;
use serde_json::value::{RawValue, to_raw_value};

use super::failure::{from_transport, internal};
use crate::arm_endpoints::{ArmEndpoints, ArmOffer};
use crate::rendezvous::message::{CaseOrder, FlowOrder, PeerCase, SideResult};
use crate::scenario::{self, Case, CaseReport, CaseSamples, CommandSite, FlowCoordinator, Role, SideOutcome};
use crate::transport::Transport;

/// Result of a case on this side.
#[derive(Debug)]
pub struct CaseOutcome {
    /// Measurement or integrity report.
    pub side: SideResult,
    /// Evidence of the optimizations, one line each.
    pub evidence: Vec<String>,
    /// Samples of a measured case, if they were requested.
    pub samples: Option<CaseSamples>,
}

/// The endpoints and memory of one arm on one worker.
pub trait Arm {
    /// Returns the addresses and keys that peers need to reach the arm, as JSON.
    ///
    /// # Errors
    /// Returns an error if the offer cannot be serialized.
    fn offer(&self) -> Result<Box<RawValue>, CaseFailure>;

    /// Facts reported by the library.
    fn facts(&self) -> FabricFacts;

    /// Connects to the endpoints of `peer`, using its offer.
    ///
    /// # Errors
    /// Returns an error if the offer does not match this arm, or the library rejects it.
    fn connect(&mut self, peer: u32, offer: &RawValue) -> Result<(), CaseFailure>;

    /// Exchanges a message with a peer on every rail.
    ///
    /// # Errors
    /// Returns an error if the peer cannot be reached on every rail before `timeout` expires.
    fn probe(&mut self, peer_case: PeerCase, timeout: Duration) -> Result<(), CaseFailure>;

    /// Runs the flows of one case of `scenario` together with their peers, and returns each flow's outcome on this
    /// side. The outcomes contain the samples only if `keep_samples` is true. If the coordinator controls the flows, it
    /// does so through `flow_coordinator`.
    fn run(
        &mut self,
        order: &CaseOrder,
        scenario: &ScenarioAssignment,
        limit: Duration,
        keep_samples: bool,
        flow_coordinator: &mut dyn FlowCoordinator,
    ) -> Vec<Result<CaseOutcome, CaseFailure>>;

    /// Setup costs of the arm. The caller sets the round and rank.
    fn cold(&self) -> ColdRecord;

    /// Closes the endpoints. Returns the protocols that the library reports.
    fn close(self: Box<Self>) -> Vec<ProtocolUse>;
}

/// An arm opened over transport `T`.
pub(super) struct OpenedArm<T: Transport> {
    pub(super) endpoints: ArmEndpoints<T>,
    pub(super) assigned: ArmAssignment,
    pub(super) rank: u32,
    pub(super) many_to_many: Option<ManyToMany>,
    /// Addresses at which the peers can be reached, by rank.
    pub(super) peer_hosts: BTreeMap<u32, String>,
    /// Site of the arm's commands, without the peer address.
    pub(super) site: CommandSite,
}

impl<T: Transport + 'static> Arm for OpenedArm<T> {
    fn offer(&self) -> Result<Box<RawValue>, CaseFailure> {
        let offer = ArmOffer {
            host: self.site.own_address.clone(),
            ..self.endpoints.offer()
        };
        to_raw_value(&offer).map_err(|error| internal(&format!("the offer cannot be serialized: {error}")))
    }

    fn facts(&self) -> FabricFacts {
        self.endpoints.facts().clone()
    }

    fn connect(&mut self, peer: u32, offer: &RawValue) -> Result<(), CaseFailure> {
        let offer: ArmOffer = serde_json::from_str(offer.get()).map_err(|error| CaseFailure {
            reason: FailureReason::InvalidAssignment,
            message: format!(
                "invalid offer from rank {peer}: {error}; use the same runner version for all workers"
            ),
        })?;
        self.peer_hosts.insert(peer, offer.host.clone());
        let Some(pattern) = self.many_to_many else {
            return self.endpoints.connect(peer, &offer).map_err(from_transport);
        };
        let (own, partner) = pattern
            .flow_index(self.rank, peer)
            .zip(pattern.flow_index(peer, self.rank))
            .ok_or_else(|| {
                internal(&format!(
                    "there is no flow between ranks {} and {peer}",
                    self.rank
                ))
            })?;
        self.endpoints
            .connect_flow(peer, &offer, own as usize, partner as usize)
            .map_err(from_transport)
    }

    fn probe(&mut self, peer_case: PeerCase, timeout: Duration) -> Result<(), CaseFailure> {
        scenario::probe(
            &mut self.endpoints,
            role(peer_case.initiator),
            peer_case.peer,
            timeout,
        )
    }

    fn run(
        &mut self,
        order: &CaseOrder,
        scenario: &ScenarioAssignment,
        limit: Duration,
        keep_samples: bool,
        flow_coordinator: &mut dyn FlowCoordinator,
    ) -> Vec<Result<CaseOutcome, CaseFailure>> {
        let mut scenario = scenario.clone();
        scenario.workload.set_measured(order.measured);
        let case = |flow: &FlowOrder| Case {
            number: order.number,
            scenario: &scenario,
            pass: order.pass,
            size_bytes: order.size_bytes,
            arm: &self.assigned,
            role: role(flow.initiator),
            peer_rank: flow.peer,
            deadline: limit,
            seed: flow.seed,
            keep_samples,
            site: CommandSite {
                peer_address: self.peer_hosts.get(&flow.peer).cloned().unwrap_or_default(),
                ..self.site.clone()
            },
        };
        let cases: Vec<Case<'_>> = order.flows.iter().map(case).collect();
        let flow_coordinator = order.is_simultaneous.then_some(flow_coordinator);
        let reports = scenario::run_flows(&mut self.endpoints, &cases, flow_coordinator);
        let outcome = |report: Result<CaseReport, CaseFailure>| {
            report.map(|report| CaseOutcome {
                side: match report.outcome {
                    SideOutcome::Measured(report) => SideResult::Measured(report),
                    SideOutcome::Checked(report) => SideResult::Checked(report),
                },
                evidence: report.evidence,
                samples: report.samples,
            })
        };
        reports.into_iter().map(outcome).collect()
    }

    fn cold(&self) -> ColdRecord {
        self.endpoints.cold()
    }

    fn close(self: Box<Self>) -> Vec<ProtocolUse> {
        self.endpoints.close()
    }
}

fn role(is_initiator: bool) -> Role {
    if is_initiator {
        Role::Initiator
    } else {
        Role::Target
    }
}
