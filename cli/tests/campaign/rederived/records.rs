//! Changes to a run's records.

use crds::assignment::Pass;
use crds::histogram::Histogram;
use crds::record::{
    CaseFailure, CaseRecord, CaseResult, EndpointsRecord, FailureReason, IntegrityReport, Measurement,
    Mismatch, Posted, Record, VariableFacts, VariableKnowledge,
};
use crds::v1alpha1::Answer;

use super::{Mutant, Original};

/// Edits each line with a measured case, without updating the chain or the digest in the status.
pub fn edited_lines(original: &Original) -> impl Iterator<Item = Mutant> {
    let lines = original.text.lines().enumerate();
    let measured = lines.filter(|(_, line)| line.contains("elapsedNanos"));
    measured.map(|(number, line)| Mutant {
        records: original
            .text
            .replace(line, &line.replacen("\"elapsedNanos\":", "\"elapsedNanos\":1", 1)),
        ..original.with_status("edited line", number.to_string(), |_| {})
    })
}

/// Changes what is known about the variables that a withheld verdict depends on.
pub fn changed_configurations(original: &Original) -> impl Iterator<Item = Mutant> {
    let edit = |name: &str, edit: fn(&mut VariableFacts)| {
        let mut records = original.records.clone();
        let mut changed = 0;
        for record in &mut records {
            if let Record::Configuration(record) = record {
                let is_of_variant = record.arms.iter().any(|arm| arm != "baseline");
                let variables = record.variables.iter_mut();
                for facts in variables.filter(|facts| is_of_variant && facts.name == name) {
                    edit(facts);
                    changed += 1;
                }
            }
        }
        assert!(changed > 0, "{name}");
        original.with_records("configuration", name, &records)
    };
    let without = original
        .records
        .iter()
        .filter(|record| !matches!(record, Record::Configuration(_)));
    let without: Vec<Record> = without.cloned().collect();
    [
        edit("FI_UNIVERSE_SIZ", |facts| {
            facts.knowledge = VariableKnowledge::Known
        }),
        edit("FI_UNIVERSE_SIZ", |facts| {
            facts.knowledge = VariableKnowledge::Unassessed
        }),
        edit("FI_NET_TX_SIZE", |facts| facts.effective = Some("1".to_owned())),
        edit("FI_NET_TX_SIZE", |facts| facts.effective = None),
        original.with_records("configuration", "omitted", &without),
    ]
    .into_iter()
}

/// A change to a measured case. It returns false, without changing the case, if it does not apply to the case.
type CaseEdit = fn(&mut CaseRecord) -> bool;

const CASE_EDITS: [(&str, CaseEdit); 24] = [
    ("failed", |case| {
        case.result = CaseResult::Failed(failure());
        true
    }),
    ("minNanos", |case| edit_posts(case, |one| one.min_nanos = 1)),
    ("maxNanos", |case| {
        edit_posts(case, |one| one.max_nanos += 1 << 50)
    }),
    ("elapsedNanos: longer than the window", |case| {
        let window = measurement_mut(case).initiator.window_nanos;
        edit_posts(case, |one| one.elapsed_nanos = window + 1)
    }),
    ("elapsedNanos: shorter than the latencies", |case| {
        edit_posts(case, |one| one.elapsed_nanos = 1)
    }),
    ("operations", |case| edit_posts(case, |one| one.operations += 1)),
    ("payloadBytes", |case| {
        edit_posts(case, |one| one.payload_bytes += 1)
    }),
    ("latency: one sample fewer", |case| {
        edit_posts(case, |one| one.latency = scale_samples(&one.latency, 1.0, 1))
    }),
    ("latency: all samples too short", |case| {
        edit_posts(case, |one| one.latency = scale_samples(&one.latency, 0.0, 0))
    }),
    ("posts", |case| edit_posts(case, |one| one.counters.posts += 1)),
    ("more", |case| edit_posts(case, |one| one.counters.more += 1)),
    ("appDoorbells", |case| {
        edit_posts(case, |one| one.counters.app_doorbells += 1)
    }),
    ("bytesPerRail", |case| {
        edit_posts(case, |one| one.counters.bytes_per_rail[0] += 1)
    }),
    ("postsPerRail", |case| {
        edit_posts(case, |one| one.counters.posts_per_rail[0] += 1)
    }),
    ("injected", |case| {
        injects(case) && edit_posts(case, |one| one.counters.injected -= 1)
    }),
    ("refused", |case| {
        injects(case) && edit_posts(case, |one| one.counters.refused += 1)
    }),
    ("completions", |case| {
        injects(case) && edit_posts(case, |one| one.counters.completions += 1)
    }),
    ("railsPlanned", |case| {
        coalesces(case) && edit_posts(case, |one| one.counters.rails_planned += 1)
    }),
    ("txBytes", |case| {
        let measured = measurement_mut(case);
        for side in [&mut measured.initiator, &mut measured.target] {
            side.interfaces.iter_mut().for_each(|delta| delta.tx_bytes = 0);
        }
        true
    }),
    ("rxBytes", |case| {
        let measured = measurement_mut(case);
        for side in [&mut measured.initiator, &mut measured.target] {
            side.interfaces.iter_mut().for_each(|delta| delta.rx_bytes = 0);
        }
        true
    }),
    ("throttledNanos", |case| {
        measurement_mut(case).target.throttled_nanos = Some(1);
        true
    }),
    ("migrations", |case| {
        measurement_mut(case).target.migrations = 1;
        true
    }),
    ("governorChanged", |case| {
        measurement_mut(case).initiator.governor_changed = true;
        true
    }),
    ("arm", |case| {
        case.arm.push('x');
        true
    }),
];

type IntegrityEdit = fn(&mut IntegrityReport);

const INTEGRITY_EDITS: [(&str, IntegrityEdit); 5] = [
    ("firstMismatch", |report| {
        report.first_mismatch = Some(Mismatch {
            thread: 0,
            batch: Some(0),
            transfer: 0,
            offset_bytes: 0,
            expected: 1,
            found: 2,
        });
    }),
    ("crc32cFound", |report| report.crc32c_found.push('0')),
    ("tornChunks", |report| report.torn_chunks = 1),
    ("duplicatedChunks", |report| report.duplicated_chunks = 1),
    ("nothing checked", |report| {
        (report.bytes, report.transfers) = (0, 0)
    }),
];

type EndpointsEdit = fn(&mut EndpointsRecord);

const ENDPOINTS_EDITS: [(&str, EndpointsEdit); 3] = [
    ("emulatedWrites", |record| {
        record.fabric.as_mut().unwrap().offload.emulated_writes = Some(Answer::True);
    }),
    ("provider", |record| {
        record.fabric.as_mut().unwrap().provider = "shm".to_owned()
    }),
    ("lineBitsPerSecond", |record| {
        for rail in &mut record.fabric.as_mut().unwrap().rails {
            rail.pci = Some("0000:00:06.0".to_owned());
            rail.line_bits_per_second = Some(1);
        }
    }),
];

/// Changes one record at a time: cases of the integrity pass, the pilot and round 1, endpoints of rank 0, and blocks.
pub fn edited_records(original: &Original) -> impl Iterator<Item = Mutant> {
    original
        .records
        .iter()
        .enumerate()
        .flat_map(move |(index, record)| {
            let edited = changed_records(record).into_iter();
            edited.map(move |(kind, record)| {
                let mut records = original.records.clone();
                records[index] = record;
                original.with_records(&kind, format!("line {index}"), &records)
            })
        })
}

/// Returns all changed versions of `record`, each with the name of the change.
fn changed_records(record: &Record) -> Vec<(String, Record)> {
    let mut found = Vec::new();
    let mut add = |kind: &str, record: Record| found.push((kind.to_owned(), record));
    match record {
        Record::Case(case) => match (&case.result, case.pass) {
            (CaseResult::Measured(_), Pass::Measure) if case.round == 1 => {
                for (kind, edit) in CASE_EDITS {
                    let mut case = case.clone();
                    if edit(&mut case) {
                        add(&format!("case {kind}"), Record::Case(case));
                    }
                }
            }
            (CaseResult::Measured(_), Pass::Pilot) => {
                let mut case = case.clone();
                edit_posts(&mut case, |one| one.elapsed_nanos = 1);
                add("pilot elapsedNanos", Record::Case(case));
            }
            (CaseResult::Checked(report), _) => {
                for (kind, edit) in INTEGRITY_EDITS {
                    let (mut case, mut report) = (case.clone(), report.clone());
                    edit(&mut report);
                    case.result = CaseResult::Checked(report);
                    add(&format!("integrity {kind}"), Record::Case(case));
                }
            }
            _ => {}
        },
        // Rank 0 is the initiator. The target posts no operations.
        Record::Endpoints(endpoints) if endpoints.rank == 0 => {
            for (kind, edit) in ENDPOINTS_EDITS {
                let mut endpoints = endpoints.clone();
                edit(&mut endpoints);
                add(&format!("endpoints {kind}"), Record::Endpoints(endpoints));
            }
        }
        Record::Block(block) => {
            let mut block = block.clone();
            block.cases += 1;
            add("block cases", Record::Block(block));
        }
        _ => {}
    }
    found
}

type CellEdit = fn(&mut Measurement);

/// Changes that the median hides if they affect only one case.
const CELL_EDITS: [(&str, CellEdit); 3] = [
    ("cpuNanos", |measured| measured.initiator.cpu_nanos *= 2),
    ("elapsedNanos and windowNanos", |measured| {
        let side = &mut measured.initiator;
        side.window_nanos += side.window_nanos / 50;
        if let Some(posted) = &mut side.posted {
            posted.elapsed_nanos += posted.elapsed_nanos / 50;
        }
    }),
    ("latency: all samples shorter", |measured| {
        if let Some(posted) = &mut measured.initiator.posted {
            posted.latency = scale_samples(&posted.latency, 0.9, 0);
        }
    }),
];

/// Changes all measured cases of each arm at each size.
pub fn edited_cells(original: &Original) -> impl Iterator<Item = Mutant> {
    let results = original.run["status"]["results"].as_array().unwrap().iter();
    results.flat_map(move |result| {
        CELL_EDITS.map(|(kind, edit)| {
            let mut records = original.records.clone();
            for record in &mut records {
                if let Record::Case(case) = record
                    && case.pass == Pass::Measure
                    && (result["arm"] == case.arm && result["sizeBytes"] == case.size_bytes)
                {
                    edit(measurement_mut(case));
                }
            }
            let cell = format!("{} at {}", result["arm"], result["sizeBytes"]);
            original.with_records(&format!("all cases {kind}"), cell, &records)
        })
    })
}

/// Gives one worker at a time the name of another node.
pub fn renamed_nodes(original: &Original) -> impl Iterator<Item = Mutant> {
    let records = original.records.iter().enumerate();
    records.filter_map(|(index, record)| {
        let Record::Hello(mut hello) = record.clone() else {
            return None;
        };
        let rank = hello.rank;
        hello.environment.node = Some("another".to_owned());
        let mut records = original.records.clone();
        records[index] = Record::Hello(hello);
        Some(original.with_records("hello node", format!("rank {rank}"), &records))
    })
}

fn failure() -> CaseFailure {
    CaseFailure {
        reason: FailureReason::PeerLost,
        message: "no answer".to_owned(),
    }
}

fn measurement_mut(case: &mut CaseRecord) -> &mut Measurement {
    let CaseResult::Measured(measured) = &mut case.result else {
        panic!("not a measured case");
    };
    measured
}

/// Changes the initiator's posts, which always exist.
fn edit_posts(case: &mut CaseRecord, edit: impl FnOnce(&mut Posted)) -> bool {
    edit(measurement_mut(case).initiator.posted.as_mut().unwrap());
    true
}

/// Whether the provider confirms that the case injects its messages.
fn injects(case: &CaseRecord) -> bool {
    case.arm == "fi-inject" && case.size_bytes == 64
}

/// Whether the case uses fewer rails than the baseline.
fn coalesces(case: &CaseRecord) -> bool {
    case.arm == "coalesce" && case.scenario == "mid"
}

/// Returns the samples of `histogram` without the first `without` samples, each multiplied by `factor`.
fn scale_samples(histogram: &Histogram, factor: f64, without: usize) -> Histogram {
    let mut scaled = Histogram::new();
    let buckets = histogram.buckets();
    let samples = buckets.flat_map(|(nanos, count)| (0..count).map(move |_| nanos));
    for nanos in samples.skip(without) {
        scaled.record((nanos as f64 * factor) as u64);
    }
    scaled
}
