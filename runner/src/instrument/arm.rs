//! An arm, whatever its transport: where static dispatch begins and ends.

use std::time::Duration;

use crds::assignment::{ArmAssignment, ScenarioAssignment};
use crds::record::{CaseFailure, ColdRecord, FabricFacts, FailureReason};
use serde_json::value::{RawValue, to_raw_value};

use super::failure::{from_transport, internal};
use crate::arm_endpoints::{ArmEndpoints, ArmOffer};
use crate::rendezvous::message::{CaseOrder, PeerCase, Side};
use crate::scenario::{self, Case, Outcome, Role};
use crate::transport::Transport;

/// One arm's endpoints and buffers at one worker.
pub trait Arm {
    /// What peers need to reach it.
    ///
    /// # Errors
    /// When it cannot be written down.
    fn offer(&self) -> Result<Box<RawValue>, CaseFailure>;

    /// What the library returned.
    fn facts(&self) -> FabricFacts;

    /// Makes the endpoints of `peer` known, from its offer.
    ///
    /// # Errors
    /// When the offer is none of this arm, or the library refuses it.
    fn connect(&mut self, peer: u32, offer: &RawValue) -> Result<(), CaseFailure>;

    /// Exchanges a message with a peer on every rail.
    ///
    /// # Errors
    /// When a rail does not reach it.
    fn probe(&mut self, with: PeerCase, within: Duration) -> Result<(), CaseFailure>;

    /// Runs one case of `scenario` with a peer that runs it, too. Returns what this side saw and the optimizations'
    /// evidence lines.
    ///
    /// # Errors
    /// Why there is no number.
    fn run(
        &mut self,
        order: &CaseOrder,
        scenario: &ScenarioAssignment,
        within: Duration,
    ) -> Result<(Side, Vec<String>), CaseFailure>;

    /// What it cost so far; round and rank are the caller's.
    fn cold(&self) -> ColdRecord;
}

/// An arm over transport `T`.
pub(super) struct Opened<T: Transport> {
    pub(super) endpoints: ArmEndpoints<T>,
    pub(super) assigned: ArmAssignment,
}

impl<T: Transport + 'static> Arm for Opened<T> {
    fn offer(&self) -> Result<Box<RawValue>, CaseFailure> {
        to_raw_value(&self.endpoints.offer())
            .map_err(|error| internal(&format!("the offer cannot be written: {error}")))
    }

    fn facts(&self) -> FabricFacts {
        self.endpoints.facts().clone()
    }

    fn connect(&mut self, peer: u32, offer: &RawValue) -> Result<(), CaseFailure> {
        let offer: ArmOffer = serde_json::from_str(offer.get()).map_err(|error| CaseFailure {
            reason: FailureReason::InvalidAssignment,
            message: format!(
                "the offer of rank {peer} cannot be read: {error}; use one runner for all workers"
            ),
        })?;
        self.endpoints.connect(peer, &offer).map_err(from_transport)
    }

    fn probe(&mut self, with: PeerCase, within: Duration) -> Result<(), CaseFailure> {
        scenario::probe(&mut self.endpoints, role(with), with.peer, within)
    }

    fn run(
        &mut self,
        order: &CaseOrder,
        scenario: &ScenarioAssignment,
        within: Duration,
    ) -> Result<(Side, Vec<String>), CaseFailure> {
        let case = Case {
            number: order.number,
            scenario,
            pass: order.pass,
            size_bytes: order.size_bytes,
            arm: &self.assigned,
            role: role(order.with),
            peer_rank: order.with.peer,
            deadline: within,
            seed: order.seed,
        };
        let report = scenario::run_case(&mut self.endpoints, &case)?;
        let side = match report.outcome {
            Outcome::Measured(report) => Side::Measured(report),
            Outcome::Checked(report) => Side::Checked(report),
        };
        Ok((side, report.evidence))
    }

    fn cold(&self) -> ColdRecord {
        self.endpoints.cold()
    }
}

fn role(with: PeerCase) -> Role {
    if with.initiator {
        Role::Initiator
    } else {
        Role::Target
    }
}
