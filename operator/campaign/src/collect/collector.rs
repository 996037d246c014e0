//! Reads streams incrementally: from a file, or in pieces from running workers.

use std::collections::{BTreeMap, BTreeSet};

use crds::assignment::AttemptIdentity;
use crds::record::{
    BlockRecord, CaseRecord, Chain, ClaimRecord, HelloRecord, LineError, MAX_LINE_BYTES, MAX_STREAM_BYTES,
    RECORD_VERSION, Record,
};

use super::case::Case;
use super::expected::ExpectedBlocks;
use super::fault::{BlockFault, Fault, FaultKind, RefusedStream};
use super::framing::{Framing, RawLine};
use super::oversized;
use super::reports::{FromStream, MAX_CONFIGURATIONS, MAX_FAULTS, MAX_WARNINGS, Reports, Stream};
use crate::plan::HashedPlan;

/// Reads streams of one run and plan, one after another. Memory use is bounded: each block of the plan is stored only
/// once, and no stream is read beyond [`MAX_STREAM_BYTES`].
#[derive(Debug, Clone)]
pub struct Collector {
    uid: String,
    plan_hash: String,
    expected: ExpectedBlocks,
    framing: Framing,
    line: u64,
    state: StreamState,
    /// Running digest after each line, by leg and attempt, used to recognize a stream that is read again.
    digests: BTreeMap<(u32, u32), Vec<String>>,
    /// Leg, round, rank and arm of each stored cold record.
    cold: BTreeSet<(u32, u32, u32, String)>,
    /// Leg, round, restart, rank and arm of each stored protocols record.
    protocols: BTreeSet<(u32, u32, u32, u32, String)>,
    reports: Reports,
}

/// State of the stream at the current position in the input.
#[derive(Debug, Clone)]
enum StreamState {
    /// No stream is open; only line 0 of a stream can follow.
    Outside,
    /// A stream is open.
    Inside(Box<OpenStream>),
    /// A fault occurred; lines are skipped until the next line 0.
    Broken,
}

#[derive(Debug, Clone)]
struct OpenStream {
    hello: HelloRecord,
    /// Index in [`Reports::streams`].
    index: usize,
    chain: Chain,
    bytes: u64,
    /// Cases since the last block record.
    pending: Vec<Case>,
    /// First fault in the open block. A block with a fault is rejected.
    block_fault: Option<BlockFault>,
    ended: bool,
}

impl OpenStream {
    fn key(&self) -> (u32, u32) {
        (self.hello.identity.leg, self.hello.identity.attempt)
    }
}

impl Collector {
    /// Creates a collector for streams of the run with UID `uid` and plan `plan`.
    pub fn new(plan: &HashedPlan, uid: &str) -> Self {
        Self {
            uid: uid.to_owned(),
            plan_hash: plan.hash().to_owned(),
            expected: ExpectedBlocks::new(plan),
            framing: Framing::default(),
            line: 0,
            state: StreamState::Outside,
            digests: BTreeMap::new(),
            cold: BTreeSet::new(),
            protocols: BTreeSet::new(),
            reports: Reports::default(),
        }
    }

    /// Reads the next bytes of the input, which may end in the middle of a line.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut framing = std::mem::take(&mut self.framing);
        framing.feed(bytes, |line| self.process_line(line));
        self.framing = framing;
    }

    /// Ends the input, possibly in the middle of a line. Another stream may follow.
    pub fn end_of_input(&mut self) {
        let mut framing = std::mem::take(&mut self.framing);
        framing.rest(|line| self.process_last_line(line));
        self.state = StreamState::Outside;
    }

    /// Returns the records verified so far.
    pub fn reports(&self) -> &Reports {
        &self.reports
    }

    /// Ends the input and returns all verified records.
    pub fn finish(mut self) -> Reports {
        self.end_of_input();
        self.reports
    }

    /// Processes the last line of an input that does not end with a newline. The line may still be complete.
    fn process_last_line(&mut self, line: RawLine<'_>) {
        let RawLine::Whole(bytes) = line else {
            return self.process_line(line);
        };
        let faults = self.reports.faults.len();
        self.process_line(line);
        if let Some(fault) = self.reports.faults.get_mut(faults)
            && matches!(fault.kind, FaultKind::Broken { .. } | FaultKind::NotText)
        {
            fault.kind = FaultKind::Truncated { bytes: bytes.len() };
        }
    }

    fn process_line(&mut self, line: RawLine<'_>) {
        self.line += 1;
        match line {
            RawLine::Whole([]) => {}
            RawLine::Whole(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => self.process_text(text),
                Err(_) => self.abort_stream(FaultKind::NotText),
            },
            RawLine::TooLong => {
                let seq = match &self.state {
                    StreamState::Inside(open) => open.chain.next(),
                    StreamState::Outside | StreamState::Broken => 0,
                };
                let error = LineError::TooLong {
                    seq,
                    length: MAX_LINE_BYTES,
                };
                self.abort_stream(error.into());
            }
        }
    }

    fn process_text(&mut self, text: &str) {
        if let Some(claim) = claim_record(text) {
            return self.store_claim(claim);
        }
        let error = match std::mem::replace(&mut self.state, StreamState::Broken) {
            StreamState::Inside(mut open) => {
                open.bytes += text.len() as u64 + 1;
                match open.chain.read(text) {
                    Ok(_) if open.bytes > MAX_STREAM_BYTES => FaultKind::StreamTooLong,
                    Ok(mut record) => {
                        if let Record::Case(case) = &mut record {
                            oversized::refuse(case, text);
                        }
                        return self.next_record(open, record);
                    }
                    Err(LineError::Sequence { found: 0, .. }) => return self.process_first_line(text),
                    Err(error) => {
                        self.state = StreamState::Inside(open);
                        FaultKind::from(error)
                    }
                }
            }
            StreamState::Outside => return self.process_first_line(text),
            StreamState::Broken => match Chain::default().read(text) {
                Ok(_) => return self.process_first_line(text),
                Err(_) => {
                    if let Some(fault) = self.reports.faults.last_mut() {
                        fault.lines_skipped += 1;
                    }
                    return;
                }
            },
        };
        self.abort_stream(error);
    }

    /// Stores a claim record. The first record about a claim counts.
    fn store_claim(&mut self, record: ClaimRecord) {
        let why = match record.version == RECORD_VERSION {
            true => self.check_identity(&record.identity).err(),
            false => Some(RefusedStream::Version {
                found: record.version,
            }),
        };
        if let Some(why) = why {
            return self.record_fault(FaultKind::Refused { why }, None);
        }
        let (leg, attempt) = (record.identity.leg, record.identity.attempt);
        let is_known = self.reports.claims.iter().any(|known| {
            (known.leg, known.attempt, known.record.rank, known.record.group)
                == (leg, attempt, record.rank, record.group)
        });
        if !is_known {
            self.reports.claims.push(FromStream { leg, attempt, record });
        }
    }

    fn process_first_line(&mut self, text: &str) {
        let mut chain = Chain::default();
        match chain.read(text) {
            Ok(Record::Hello(hello)) if hello.rank == 0 => {
                self.start_stream(*hello, chain, text.len() as u64 + 1)
            }
            Ok(_) => self.abort_stream(FaultKind::Misplaced {
                reason: "a stream must start with the hello record of rank 0".into(),
            }),
            Err(error) => self.abort_stream(error.into()),
        }
    }

    fn start_stream(&mut self, hello: HelloRecord, chain: Chain, bytes: u64) {
        if let Err(why) = self.admit(&hello, &chain) {
            return self.abort_stream(FaultKind::Refused { why });
        }
        let (leg, attempt) = (hello.identity.leg, hello.identity.attempt);
        let known = self
            .reports
            .streams
            .iter()
            .position(|stream| (stream.leg, stream.attempt) == (leg, attempt));
        let index = known.unwrap_or(self.reports.streams.len());
        if known.is_none() {
            self.reports.streams.push(Stream {
                leg,
                attempt,
                started_at: hello.started_at.clone(),
                runner_version: hello.runner_version.clone(),
                lines: 0,
                end: None,
            });
        }
        let open = OpenStream {
            hello: hello.clone(),
            index,
            chain,
            bytes,
            pending: Vec::new(),
            block_fault: None,
            ended: false,
        };
        self.next_record(Box::new(open), Record::Hello(Box::new(hello)));
    }

    fn admit(&self, hello: &HelloRecord, chain: &Chain) -> Result<(), RefusedStream> {
        let identity = &hello.identity;
        if hello.version != RECORD_VERSION {
            return Err(RefusedStream::Version { found: hello.version });
        }
        self.check_identity(identity)?;
        let known = self.digests.get(&(identity.leg, identity.attempt));
        match known.and_then(|digests| digests.first()) {
            Some(digest) if *digest != chain.digest() => Err(RefusedStream::ConflictingAttempt {
                leg: identity.leg,
                attempt: identity.attempt,
            }),
            _ => Ok(()),
        }
    }

    /// Checks that records with `identity` belong to this run, plan and one of its legs.
    fn check_identity(&self, identity: &AttemptIdentity) -> Result<(), RefusedStream> {
        if identity.uid != self.uid {
            return Err(RefusedStream::OtherRun {
                found: identity.uid.chars().take(60).collect(),
                expected: self.uid.clone(),
            });
        }
        if identity.plan_hash != self.plan_hash {
            return Err(RefusedStream::OtherPlan {
                found: identity.plan_hash.chars().take(64).collect(),
                expected: self.plan_hash.clone(),
            });
        }
        match self.expected.has_leg(identity.leg) {
            true => Ok(()),
            false => Err(RefusedStream::UnknownLeg { leg: identity.leg }),
        }
    }

    /// Processes a record that continues its stream. Cases and blocks are processed every time the stream is read,
    /// because a block that was cut off by a truncation may be complete when the stream is read again. Other records
    /// are stored only the first time.
    fn next_record(&mut self, mut open: Box<OpenStream>, record: Record) {
        let (leg, attempt) = open.key();
        let digest = open.chain.digest();
        let digests = self.digests.entry((leg, attempt)).or_default();
        let index = (open.chain.next() - 1) as usize;
        let already_read = match digests.get(index) {
            Some(known) if *known != digest => {
                let why = RefusedStream::ConflictingAttempt { leg, attempt };
                self.state = StreamState::Inside(open);
                return self.abort_stream(FaultKind::Refused { why });
            }
            known => known.is_some(),
        };
        if !already_read {
            digests.push(digest);
        }
        if open.ended {
            self.state = StreamState::Inside(open);
            return self.abort_stream(FaultKind::Misplaced {
                reason: "records follow the end of the stream".into(),
            });
        }
        match record {
            Record::Case(case) => self.process_case(&mut open, *case),
            Record::Block(block) => self.process_block(&mut open, &block),
            Record::Hello(hello) if hello.identity != open.hello.identity => {
                self.state = StreamState::Inside(open);
                return self.abort_stream(FaultKind::Misplaced {
                    reason: format!(
                        "the hello record of rank {} belongs to another run, plan or attempt",
                        hello.rank
                    ),
                });
            }
            Record::Claim(_) => {
                self.state = StreamState::Inside(open);
                return self.abort_stream(FaultKind::Misplaced {
                    reason: "a claim record is part of a worker's stream, but only the operator writes it"
                        .to_owned(),
                });
            }
            Record::End(end) => {
                open.ended = true;
                if let Some(stream) = self.reports.streams.get_mut(open.index) {
                    stream.end = Some(end);
                }
            }
            other if !already_read => self.store_record((leg, attempt), other),
            _ => {}
        }
        if let Some(stream) = self.reports.streams.get_mut(open.index) {
            stream.lines = stream.lines.max(open.chain.next());
        }
        self.state = StreamState::Inside(open);
    }

    fn process_case(&mut self, open: &mut OpenStream, record: CaseRecord) {
        let leg = open.hello.identity.leg;
        let is_complete =
            self.reports.is_done(leg, record.block) && !self.expected.is_partial(leg, record.block);
        if is_complete || open.block_fault.is_some() {
            return;
        }
        match self.expected.case(open.key(), record) {
            Ok(case) => open.pending.push(case),
            Err(block_fault) => open.block_fault = Some(block_fault),
        }
    }

    fn process_block(&mut self, open: &mut OpenStream, record: &BlockRecord) {
        let (leg, _) = open.key();
        let cases = std::mem::take(&mut open.pending);
        let block_fault = open.block_fault.take();
        if self.reports.is_done(leg, record.block) && !self.replaces(leg, record.block, &cases) {
            return;
        }
        let stray = cases.iter().find(|case| case.block != record.block);
        let checked = match (block_fault, stray) {
            (Some(block_fault), _) => Err(block_fault),
            (None, Some(case)) => Err(BlockFault::Contradiction {
                reason: format!("it belongs to block {}", case.block),
            }),
            (None, None) => self.expected.check(leg, record.block, record.cases, &cases),
        };
        match checked {
            Ok(()) => {
                let is_new = self.reports.done.entry(leg).or_default().insert(record.block);
                if !is_new {
                    let replaced = |case: &Case| (case.leg, case.block) == (leg, record.block);
                    self.reports.cases.retain(|case| !replaced(case));
                }
                self.reports.cases.extend(cases);
            }
            Err(why) => {
                let kind = FaultKind::Block {
                    block: record.block,
                    why,
                };
                self.record_fault(kind, Some(open.key()));
            }
        }
    }

    /// Whether `cases` contain all arms that are already measured in this block of a later stage, and more. Such a
    /// block is measured again if an earlier analysis was repeated with different records and left more comparisons
    /// open.
    fn replaces(&self, leg: u32, block: u32, cases: &[Case]) -> bool {
        if !self.expected.is_partial(leg, block) {
            return false;
        }
        let known = self.reports.cases.iter();
        let known = known.filter(|case| (case.leg, case.block) == (leg, block));
        let known: BTreeSet<usize> = known.map(|case| case.arm).collect();
        let new: BTreeSet<usize> = cases.iter().map(|case| case.arm).collect();
        new.is_superset(&known) && new != known
    }

    /// Stores a record that does not belong to a block.
    fn store_record(&mut self, (leg, attempt): (u32, u32), record: Record) {
        let reports = &mut self.reports;
        match record {
            Record::Hello(hello) => reports.hellos.push(FromStream {
                leg,
                attempt,
                record: *hello,
            }),
            Record::Endpoints(endpoints) => reports.endpoints.push(FromStream {
                leg,
                attempt,
                record: *endpoints,
            }),
            Record::Cold(record) => {
                if self
                    .cold
                    .insert((leg, record.round, record.rank, record.arm.clone()))
                {
                    reports.cold.push(FromStream { leg, attempt, record });
                }
            }
            Record::Protocols(record) => {
                // A later attempt repeats the rounds of an earlier one.
                let key = (leg, record.round, record.restart, record.rank, record.arm.clone());
                if self.protocols.insert(key) {
                    let record = *record;
                    reports.protocols.push(FromStream { leg, attempt, record });
                }
            }
            Record::Configuration(record) => {
                let record = *record;
                // A later attempt repeats the configuration.
                let is_known = reports
                    .configurations
                    .iter()
                    .any(|known| known.leg == leg && known.record == record);
                if !is_known && reports.configurations.len() < MAX_CONFIGURATIONS {
                    reports.configurations.push(FromStream { leg, attempt, record });
                }
            }
            Record::Warning(record) if reports.warnings.len() < MAX_WARNINGS => {
                reports.warnings.push(FromStream { leg, attempt, record });
            }
            Record::Warning(_) => reports.warnings_dropped += 1,
            Record::Case(_) | Record::Block(_) | Record::End(_) | Record::Claim(_) => {}
        }
    }

    fn abort_stream(&mut self, kind: FaultKind) {
        let stream = match &self.state {
            StreamState::Inside(open) => Some(open.key()),
            StreamState::Outside | StreamState::Broken => None,
        };
        self.state = StreamState::Broken;
        self.record_fault(kind, stream);
    }

    fn record_fault(&mut self, kind: FaultKind, stream: Option<(u32, u32)>) {
        if self.reports.faults.len() == MAX_FAULTS {
            self.reports.faults_dropped += 1;
            return;
        }
        self.reports.faults.push(Fault {
            line: self.line,
            stream,
            kind,
            lines_skipped: 0,
        });
    }
}

/// Returns the claim record in `text` if the line is a stream of its own; `None` for every other line.
fn claim_record(text: &str) -> Option<ClaimRecord> {
    // Lines that continue a stream are not parsed twice.
    if !text.starts_with(FIRST_LINE_START) {
        return None;
    }
    match Chain::default().read(text) {
        Ok(Record::Claim(claim)) => Some(*claim),
        Ok(_) | Err(_) => None,
    }
}

/// Start of the first line of a stream.
const FIRST_LINE_START: &str = "{\"seq\":0,";
