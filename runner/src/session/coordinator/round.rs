//! Opens, connects and closes the endpoints of a round on all workers.

use std::collections::BTreeMap;
use std::io::Write;

use crds::assignment::RoundAssignment;
use crds::record::{
    CaseFailure, ColdRecord, ConfigurationRecord, EndpointsRecord, FabricFacts, ProtocolsRecord, Record,
    WarningReason,
};
use serde_json::value::RawValue;

use super::Coordinator;
use crate::rendezvous::message::{Command, Opened, WorkerReport};
use crate::session::Halt;
use crate::session::configurations;
use crate::session::endpoints::Change;
use crate::session::setup_failures::SetupFailures;

/// Reports that one worker's instruments sent when they stopped.
struct InstrumentReports {
    cold: Vec<ColdRecord>,
    protocols: Vec<ProtocolsRecord>,
    configurations: Vec<ConfigurationRecord>,
}

type Offers = BTreeMap<(u32, u32), Box<RawValue>>;

impl<W: Write> Coordinator<'_, W> {
    /// Starts the instruments of the round on every worker, opens its arms and connects them. Returns the failures.
    pub(super) fn open(&mut self, index: u32, round: &RoundAssignment) -> Result<SetupFailures, Halt> {
        let ranks = self.gang.alive();
        for rank in &ranks {
            self.gang.send(*rank, Command::OpenRound { index });
        }
        let mut opened: BTreeMap<(u32, u32), Result<Box<Opened>, CaseFailure>> = BTreeMap::new();
        let steps = self.assignment.processes.len() + self.assignment.arms.len();
        let timeout = self.setup_timeout(steps);
        self.gang
            .gather(&ranks, "opening a round", timeout, |rank, report| match report {
                WorkerReport::Opened { arm, result } => {
                    opened.insert((arm, rank), result);
                    None
                }
                WorkerReport::RoundOpened => Some(()),
                _ => None,
            })?;
        self.write_warnings()?;
        let mut setup_failures = SetupFailures::default();
        let mut offers = Offers::new();
        let mut facts = BTreeMap::new();
        for ((arm, rank), result) in opened {
            match result {
                Ok(opened) => {
                    offers.insert((arm, rank), opened.offer);
                    facts.insert((arm, rank), opened.facts);
                }
                Err(failure) => {
                    setup_failures.add_open(arm, rank, failure.clone());
                    self.record_endpoints(round.round, (arm, rank), None, Some(failure))?;
                }
            }
        }
        // The facts are recorded after connecting, because some libraries do not choose their lanes until they connect.
        facts.extend(self.connect(&offers, &mut setup_failures)?);
        for (arm_rank, fabric) in facts {
            self.record_endpoints(round.round, arm_rank, Some(fabric), None)?;
        }
        Ok(setup_failures)
    }

    /// Whether two workers exchange data.
    fn is_pair(&self, rank: u32, peer: u32) -> bool {
        rank != peer
            && self
                .assignment
                .many_to_many
                .is_none_or(|pattern| pattern.has_flow(rank, peer) || pattern.has_flow(peer, rank))
    }

    /// Writes the endpoint record if it differs from the previous record of the same arm and rank.
    fn record_endpoints(
        &mut self,
        round: u32,
        (arm, rank): (u32, u32),
        fabric: Option<FabricFacts>,
        failure: Option<CaseFailure>,
    ) -> Result<(), Halt> {
        let record = EndpointsRecord {
            round,
            restart: self.restart,
            rank,
            arm: self.arm_name(arm),
            fabric,
            failure,
        };
        let change = self.endpoints.update(&record);
        if change == Change::Unchanged {
            return Ok(());
        }
        if change == Change::Changed {
            let message = format!(
                "the endpoints of arm {} changed in round {}; the records contain both versions",
                record.arm, record.round
            );
            self.warn(record.rank, WarningReason::EnvironmentChanged, &message)?;
        }
        self.stream.write(Record::Endpoints(Box::new(record)))?;
        Ok(())
    }

    /// Connects the arms on all workers. Returns their facts, by arm and rank.
    fn connect(
        &mut self,
        offers: &Offers,
        setup_failures: &mut SetupFailures,
    ) -> Result<BTreeMap<(u32, u32), FabricFacts>, Halt> {
        let ranks = self.gang.alive();
        for ((arm, peer), offer) in offers {
            let others: Vec<u32> = ranks
                .iter()
                .copied()
                .filter(|rank| self.is_pair(*rank, *peer) && setup_failures.is_open(*arm, *rank))
                .collect();
            for rank in others {
                let (arm, peer, offer) = (*arm, *peer, offer.clone());
                self.gang.send(rank, Command::Connect { arm, peer, offer });
            }
        }
        for rank in &ranks {
            self.gang.send(*rank, Command::ConnectDone);
        }
        let timeout = self.setup_timeout(offers.len());
        let connected = self
            .gang
            .gather(&ranks, "connecting", timeout, |_, report| match report {
                WorkerReport::Connected { failures, facts } => Some((failures, facts)),
                _ => None,
            })?;
        let mut connected_facts = BTreeMap::new();
        for (rank, report) in connected {
            let Ok((failures, facts)) = report else {
                continue;
            };
            for failed in failures {
                setup_failures.add_connect(failed.arm, rank, failed.peer, failed.failure);
            }
            connected_facts.extend(facts.into_iter().map(|arm| ((arm.arm, rank), arm.facts)));
        }
        self.write_warnings()?;
        Ok(connected_facts)
    }

    /// Restarts the instruments for the remaining blocks of the round. `cause` is the loss of a worker or an instrument:
    /// posts to it may have broken endpoints that other pairs use. The restart happens between blocks, so the arms of a
    /// block remain comparable.
    pub(super) fn reopen(
        &mut self,
        index: u32,
        round: &RoundAssignment,
        cause: &str,
    ) -> Result<SetupFailures, Halt> {
        let message = format!(
            "the instruments of round {} were restarted because {cause}",
            round.round
        );
        self.stream
            .warn(None, WarningReason::EnvironmentChanged, &message)?;
        self.close(round)?;
        self.restart += 1;
        self.open(index, round)
    }

    /// Stops the instruments of the round, and writes its arms' setup costs and protocols.
    pub(super) fn close(&mut self, round: &RoundAssignment) -> Result<(), Halt> {
        let mut configurations = Vec::new();
        for (rank, stopped) in self.stop_instruments()? {
            let Ok(InstrumentReports {
                cold,
                protocols,
                configurations: of_rank,
            }) = stopped
            else {
                continue;
            };
            configurations.extend(of_rank.into_iter().map(|record| (rank, record)));
            for record in cold {
                let round = round.round;
                self.stream.write(Record::Cold(ColdRecord {
                    round,
                    rank,
                    ..record
                }))?;
            }
            for record in protocols {
                let round = round.round;
                self.stream.write(Record::Protocols(Box::new(ProtocolsRecord {
                    round,
                    restart: self.restart,
                    rank,
                    ..record
                })))?;
            }
        }
        self.write_configurations(round.round, configurations)
    }

    /// Writes the configurations that the workers, given by rank, reported. Workers and arms with the same configuration
    /// share a record.
    fn write_configurations(
        &mut self,
        round: u32,
        reported: Vec<(u32, ConfigurationRecord)>,
    ) -> Result<(), Halt> {
        let (records, omitted) = configurations::records(reported);
        for record in records {
            self.stream
                .write(Record::Configuration(Box::new(ConfigurationRecord {
                    round,
                    restart: self.restart,
                    ..record
                })))?;
        }
        if omitted > 0 {
            let message = format!(
                "{omitted} configurations of workers were omitted: the workers of this leg have too many different ones"
            );
            self.stream.warn(None, WarningReason::Limit, &message)?;
        }
        Ok(())
    }

    /// Stops the instruments on all workers. Returns their reports, by rank.
    fn stop_instruments(&mut self) -> Result<BTreeMap<u32, Result<InstrumentReports, CaseFailure>>, Halt> {
        let ranks = self.gang.alive();
        for rank in &ranks {
            self.gang.send(*rank, Command::CloseRound);
        }
        let timeout = self.setup_timeout(self.assignment.processes.len() * 2);
        let stopped = self
            .gang
            .gather(&ranks, "closing a round", timeout, |_, report| match report {
                WorkerReport::RoundEnded {
                    cold,
                    protocols,
                    configurations,
                } => Some(InstrumentReports {
                    cold,
                    protocols,
                    configurations,
                }),
                _ => None,
            })?;
        self.write_warnings()?;
        Ok(stopped)
    }
}
