//! A round's endpoints: opened at every worker, made known to each other, closed.

use std::collections::BTreeMap;
use std::io::Write;

use crds::assignment::RoundAssignment;
use crds::record::{CaseFailure, ColdRecord, EndpointsRecord, Record, WarningReason};
use serde_json::value::RawValue;

use super::Coordinator;
use crate::rendezvous::message::{Command, Opened, Report};
use crate::session::Halt;
use crate::session::endpoints::Change;
use crate::session::setup_failures::SetupFailures;

type Offers = BTreeMap<(u32, u32), Box<RawValue>>;

impl<W: Write> Coordinator<'_, W> {
    /// Starts the instruments of the round at every worker, opens its arms and connects them. What failed is in the
    /// standing.
    pub(super) fn open(&mut self, index: u32, round: &RoundAssignment) -> Result<SetupFailures, Halt> {
        let ranks = self.gang.alive();
        for rank in &ranks {
            self.gang.send(*rank, Command::OpenRound { index });
        }
        let mut opened: BTreeMap<(u32, u32), Result<Box<Opened>, CaseFailure>> = BTreeMap::new();
        let steps = self.assignment.processes.len() + self.assignment.arms.len();
        let wait = self.setup_wait(steps);
        self.gang
            .gather(&ranks, "opening a round", wait, |rank, report| match report {
                Report::Opened { arm, result } => {
                    opened.insert((arm, rank), result);
                    None
                }
                Report::RoundOpened => Some(()),
                _ => None,
            })?;
        self.pass_on_warnings()?;
        let mut setup_failures = SetupFailures::default();
        let mut offers = Offers::new();
        for ((arm, rank), result) in opened {
            let (fabric, failure) = match result {
                Ok(opened) => {
                    offers.insert((arm, rank), opened.offer);
                    (Some(opened.facts), None)
                }
                Err(failure) => {
                    setup_failures.not_opened(arm, rank, failure.clone());
                    (None, Some(failure))
                }
            };
            let arm = self.arm_name(arm);
            let round = round.round;
            self.note_endpoints(EndpointsRecord {
                round,
                rank,
                arm,
                fabric,
                failure,
            })?;
        }
        self.connect(&offers, &mut setup_failures)?;
        Ok(setup_failures)
    }

    fn note_endpoints(&mut self, record: EndpointsRecord) -> Result<(), Halt> {
        let change = self.endpoints.note(&record);
        if change == Change::None {
            return Ok(());
        }
        if change == Change::Changed {
            let message = format!(
                "arm {} has other endpoints than in the round before, from round {} on; both are in the records",
                record.arm, record.round
            );
            self.warn(record.rank, WarningReason::EnvironmentChanged, &message)?;
        }
        self.stream.write(Record::Endpoints(Box::new(record)))?;
        Ok(())
    }

    fn connect(&mut self, offers: &Offers, setup_failures: &mut SetupFailures) -> Result<(), Halt> {
        let ranks = self.gang.alive();
        for ((arm, peer), offer) in offers {
            let others = ranks
                .iter()
                .filter(|rank| *rank != peer && setup_failures.is_open(*arm, **rank));
            for rank in others {
                let (arm, peer, offer) = (*arm, *peer, offer.clone());
                self.gang.send(*rank, Command::Connect { arm, peer, offer });
            }
        }
        for rank in &ranks {
            self.gang.send(*rank, Command::ConnectDone);
        }
        let wait = self.setup_wait(offers.len());
        let connected = self
            .gang
            .gather(&ranks, "connecting", wait, |_, report| match report {
                Report::Connected { failures } => Some(failures),
                _ => None,
            })?;
        for (rank, failures) in connected {
            for not in failures.into_iter().flatten() {
                setup_failures.not_connected(not.arm, rank, not.peer, not.failure);
            }
        }
        self.pass_on_warnings()?;
        Ok(())
    }

    /// Starts the round's instruments again for the blocks that are left: posts to a worker that died may have broken
    /// endpoints that others need, too. A block is never split, so its arms still stand side by side.
    pub(super) fn reopen(&mut self, index: u32, round: &RoundAssignment) -> Result<SetupFailures, Halt> {
        let message = format!(
            "the instruments of round {} were started again, for a worker was lost in it",
            round.round
        );
        self.stream
            .warn(None, WarningReason::EnvironmentChanged, &message)?;
        self.end_instruments()?;
        self.open(index, round)
    }

    /// Ends the instruments of the round and writes what its arms cost before their first measured operation.
    pub(super) fn close(&mut self, round: &RoundAssignment) -> Result<(), Halt> {
        for (rank, cold) in self.end_instruments()? {
            for record in cold.into_iter().flatten() {
                let round = round.round;
                self.stream.write(Record::Cold(ColdRecord {
                    round,
                    rank,
                    ..record
                }))?;
            }
        }
        Ok(())
    }

    fn end_instruments(&mut self) -> Result<BTreeMap<u32, Result<Vec<ColdRecord>, CaseFailure>>, Halt> {
        let ranks = self.gang.alive();
        for rank in &ranks {
            self.gang.send(*rank, Command::CloseRound);
        }
        let wait = self.setup_wait(self.assignment.processes.len() * 2);
        let ended = self
            .gang
            .gather(&ranks, "closing a round", wait, |_, report| match report {
                Report::RoundEnded { cold } => Some(cold),
                _ => None,
            })?;
        self.pass_on_warnings()?;
        Ok(ended)
    }
}
