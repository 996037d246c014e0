//! Validity of cases, evidence for optimizations, and proof of the fabric.

use campaign::stopping::Stopping;
use campaign::summarize::{CellSummary, Invalid, Summary, summarize};
use crds::record::{CaseFailure, CaseResult, FailureReason, Measurement, Mismatch};
use crds::v1alpha1::{Answer, Engagement, FabricProof, Metric, Optimization};

use crate::fixture::{ARMS, Campaign, plan_of, run};

fn summary(campaign: &Campaign) -> Summary {
    summarize(&campaign.plan, &campaign.reports(), &Stopping::default())
}

fn cell<'a>(summary: &'a Summary, scenario: usize, size: u64, arm: &str) -> &'a CellSummary {
    let arm = ARMS.iter().position(|name| *name == arm).unwrap();
    summary.cell(scenario, size, arm).unwrap()
}

fn measurement_mut(case: &mut crds::record::CaseRecord) -> Option<&mut Measurement> {
    match &mut case.result {
        CaseResult::Measured(measurement) => Some(measurement),
        _ => None,
    }
}

/// UCX has neither an inject call nor FI_MORE, whatever the counters show.
#[test]
fn inject_and_doorbells_never_apply_over_ucx() {
    let mut run = run();
    run.spec.transport = serde_json::from_str(r#"{"ucx": {"transports": ["tcp"], "rails": 4}}"#).unwrap();
    let campaign = Campaign {
        plan: plan_of(&run),
        tweak_endpoints: |endpoints| {
            if let Some(facts) = &mut endpoints.fabric {
                facts.provider = "ucx".into();
                if let Some(library) = &mut facts.library {
                    library.name = "ucx".into();
                }
                for rail in &mut facts.rails {
                    rail.lanes = vec!["tcp/lo".into()];
                }
            }
        },
        ..Campaign::default()
    };
    let evaluation = campaign.evaluation_of(run, &campaign.stream(1, &[]));
    let cells = evaluation.summary.cells.iter();
    let mut evidence = cells
        .flat_map(|cell| &cell.evidence)
        .filter(|one| one.optimization != Optimization::Coalesce)
        .peekable();
    assert!(evidence.peek().is_some());
    for one in evidence {
        assert_eq!(one.engagement, Engagement::NotApplicable, "{one:?}");
        assert!(one.reason.starts_with("UCX has no "), "{one:?}");
    }
}

#[test]
fn every_cell_of_a_valid_campaign_is_valid_and_verified() {
    let campaign = Campaign::default();
    let summary = summary(&campaign);
    assert!(
        summary.is_complete() && summary.warnings.is_empty(),
        "{:?}",
        summary.warnings
    );
    assert_eq!(summary.cells.len(), 36);
    for cell in &summary.cells {
        assert_eq!(
            (cell.cases, cell.valid_cases, cell.valid_rounds.len()),
            (13, 13, 13)
        );
        assert_eq!(cell.latency.count(), 13 * 200);
        assert_eq!(
            cell.fabric.as_ref().map(|proof| proof.proof),
            Some(FabricProof::Verified)
        );
        assert_eq!(cell.metrics.len(), 7);
    }
    let fabric = summary.fabric.unwrap();
    assert_eq!(
        (fabric.proof, fabric.provider.as_str()),
        (FabricProof::Verified, "net")
    );
    assert!(fabric.counted_bytes.unwrap() > fabric.payload_bytes);
    assert_eq!(
        summary.evidence_lines,
        ["Using fi_injectdata for small message size=64"]
    );
    assert_eq!(summary.cold.len(), 6);
}

#[test]
fn metrics_have_their_units() {
    let summary = summary(&Campaign::default());
    let small = cell(&summary, 0, 64, "baseline");
    let p50 = small.metric(Metric::LatencyP50).unwrap().median;
    assert!((3900.0..4150.0).contains(&p50), "{p50} ns");
    // 200 messages of 64 B at about 8 us per round trip.
    let throughput = small.metric(Metric::Throughput).unwrap().median;
    assert!((7.5e6..8.3e6).contains(&throughput), "{throughput} B/s");
    let rate = small.metric(Metric::CompletionRate).unwrap().median;
    assert!((rate * 64.0 - throughput).abs() < 1.0);
    // Both sides use the CPU for 90 percent of the time.
    let cpu = small.metric(Metric::CpuSecondsPerGib).unwrap().median;
    let expected = 1.8 * f64::from(1 << 30) / throughput;
    assert!((cpu / expected - 1.0).abs() < 0.01, "{cpu} s/GiB");
}

#[test]
fn evidence_follows_the_counters() {
    let summary = summary(&Campaign::default());
    let engagement = |scenario, size, arm, optimization| {
        let cell = cell(&summary, scenario, size, arm);
        let found = cell
            .evidence
            .iter()
            .find(|evidence| evidence.optimization == optimization)
            .unwrap();
        (found.engagement, found.reason.clone())
    };
    use Optimization::{Coalesce, Doorbell, Inject};
    assert_eq!(engagement(0, 64, "fi-inject", Inject).0, Engagement::Confirmed);
    let over = engagement(0, 256, "fi-inject", Inject);
    assert_eq!(over.0, Engagement::NotEngaged);
    assert!(over.1.contains("128 B"), "{}", over.1);
    assert_eq!(
        engagement(0, 512, "fi-inject", Inject).0,
        Engagement::NotApplicable
    );
    assert_eq!(
        engagement(0, 64, "doorbell", Doorbell).0,
        Engagement::NotApplicable
    );
    assert_eq!(
        engagement(1, 32 << 10, "doorbell", Doorbell).0,
        Engagement::RequestedOnly
    );
    // All rails are addresses on one interface.
    assert_eq!(
        engagement(1, 32 << 10, "coalesce", Coalesce).0,
        Engagement::RequestedOnly
    );
    assert_eq!(
        engagement(1, 64 << 10, "coalesce", Coalesce).0,
        Engagement::NotApplicable
    );
}

#[test]
fn arm_without_a_valid_case_has_no_evidence() {
    let campaign = Campaign {
        tweak: |case| {
            if case.arm == "fi-inject"
                && let CaseResult::Measured(_) = case.result
            {
                case.result = CaseResult::Failed(CaseFailure {
                    reason: FailureReason::PeerLost,
                    message: "no answer".into(),
                });
            }
        },
        ..Campaign::default()
    };
    let summary = summary(&campaign);
    assert_eq!(cell(&summary, 0, 64, "fi-inject").evidence, Vec::new());
    assert_eq!(cell(&summary, 0, 64, "combined").evidence.len(), 3);
}

#[test]
fn reports_unavailable_throttling_counters_once() {
    let campaign = Campaign {
        tweak: |case| {
            if let Some(measured) = measurement_mut(case) {
                measured.target.throttled_nanos = None;
            }
        },
        ..Campaign::default()
    };
    let warnings = summary(&campaign).warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("throttled"), "{warnings:?}");
}

#[test]
fn every_invalid_case_has_a_typed_reason() {
    let campaign = Campaign {
        tweak: |case| {
            let (round, size) = (case.round, case.size_bytes);
            if size != 64 || case.arm != "fi-inject" {
                return;
            }
            match round {
                1 => {
                    case.result = CaseResult::Failed(CaseFailure {
                        reason: FailureReason::DeadlineExceeded,
                        message: "no completion in 60 s".into(),
                    });
                }
                2 => measurement_mut(case).unwrap().target.throttled_nanos = Some(5),
                3 => measurement_mut(case).unwrap().initiator.migrations = 1,
                4 => measurement_mut(case).unwrap().initiator.governor_changed = true,
                5 => {
                    for side in [0, 1] {
                        let measurement = measurement_mut(case).unwrap();
                        let side = if side == 0 {
                            &mut measurement.initiator
                        } else {
                            &mut measurement.target
                        };
                        side.interfaces[0].tx_bytes = 100;
                    }
                }
                6 => {
                    measurement_mut(case)
                        .unwrap()
                        .initiator
                        .posted
                        .as_mut()
                        .unwrap()
                        .operations = 0
                }
                7 => {
                    let mut fast = crds::histogram::Histogram::new();
                    fast.record(30);
                    measurement_mut(case)
                        .unwrap()
                        .initiator
                        .posted
                        .as_mut()
                        .unwrap()
                        .latency = fast;
                }
                8 => {
                    measurement_mut(case)
                        .unwrap()
                        .initiator
                        .posted
                        .as_mut()
                        .unwrap()
                        .counters
                        .again = 1_000_000
                }
                _ => {}
            }
        },
        ..Campaign::default()
    };
    let summary = summary(&campaign);
    let cell = cell(&summary, 0, 64, "fi-inject");
    assert_eq!((cell.cases, cell.valid_cases), (13, 6));
    // EAGAIN does not invalidate a case.
    assert_eq!(cell.valid_rounds, [8, 9, 10, 11, 12, 13]);
    let has = |wanted: fn(&Invalid) -> bool| cell.invalid.iter().any(|kind| wanted(&kind.example));
    assert!(has(|reason| matches!(reason, Invalid::Failed { .. })));
    assert!(has(|reason| matches!(reason, Invalid::Throttled { nanos: 5 })));
    assert!(has(|reason| matches!(
        reason,
        Invalid::Migrated { migrations: 1 }
    )));
    assert!(has(|reason| matches!(reason, Invalid::GovernorChanged)));
    assert!(has(|reason| matches!(reason, Invalid::FabricContradicted { .. })));
    assert!(has(|reason| matches!(reason, Invalid::NothingMeasured)));
    assert!(has(|reason| matches!(
        reason,
        Invalid::BelowFloor {
            measured_nanos: 30,
            ..
        }
    )));
    assert_eq!(summary.fabric.unwrap().proof, FabricProof::Contradicted);
}

#[test]
fn wrong_bytes_invalidate_the_arm_at_that_size_only() {
    let campaign = Campaign {
        tweak: |case| {
            if let CaseResult::Checked(report) = &mut case.result
                && (case.arm.as_str(), case.size_bytes) == ("coalesce", 32 << 10)
            {
                report.first_mismatch = Some(Mismatch {
                    thread: 2,
                    batch: Some(0),
                    transfer: 3,
                    offset_bytes: 16384,
                    expected: 1,
                    found: 2,
                });
            }
        },
        ..Campaign::default()
    };
    let summary = summary(&campaign);
    let bad = cell(&summary, 1, 32 << 10, "coalesce");
    assert_eq!(bad.valid_cases, 0);
    assert!(
        bad.invalid_reason()
            .unwrap()
            .contains("thread 2, batch 0, transfer 3, offset 16384"),
        "{:?}",
        bad.invalid_reason()
    );
    assert_eq!(cell(&summary, 1, 64 << 10, "coalesce").valid_cases, 13);
    assert_eq!(cell(&summary, 1, 32 << 10, "baseline").valid_cases, 13);
}

#[test]
fn different_provider_contradicts_the_request() {
    let campaign = Campaign {
        tweak_endpoints: |endpoints| {
            if endpoints.arm == "doorbell" {
                endpoints.fabric.as_mut().unwrap().provider = "shm".into();
            }
        },
        ..Campaign::default()
    };
    let summary = summary(&campaign);
    let wrong = cell(&summary, 0, 64, "doorbell");
    assert_eq!(wrong.valid_cases, 0);
    assert!(
        wrong
            .proof_if(FabricProof::Contradicted)
            .unwrap()
            .reason
            .contains("provider shm")
    );
    assert_eq!(cell(&summary, 0, 64, "baseline").valid_cases, 13);
}

/// Sets the configuration hash, and the file that the configuration comes from.
fn set_configuration(endpoints: &mut crds::record::EndpointsRecord, hash: &str, file: Option<&str>) {
    let facts = endpoints.fabric.as_mut().unwrap();
    facts.configuration_sha256 = Some(hash.to_owned());
    facts.configuration_files = file.map(str::to_owned).into_iter().collect();
}

#[test]
fn workers_with_different_configurations_are_invalid() {
    let campaign = Campaign {
        tweak_endpoints: |endpoints| match (endpoints.arm.as_str(), endpoints.rank) {
            ("doorbell", 1) => set_configuration(endpoints, "b2", Some("/root/ucx.conf")),
            // Not every library prints its configuration.
            ("coalesce", 1) => {}
            _ => set_configuration(endpoints, "a1", None),
        },
        ..Campaign::default()
    };
    let summary = summary(&campaign);
    let wrong = cell(&summary, 0, 64, "doorbell");
    assert_eq!(wrong.valid_cases, 0);
    let reason = wrong.invalid_reason().unwrap();
    assert!(
        reason.contains("configuration a1 on rank 0, and configuration b2 (with /root/ucx.conf) on rank 1"),
        "{reason}"
    );
    assert!(matches!(
        wrong.invalid[0].example,
        Invalid::ConfigurationsDiffer {
            initiator_rank: 0,
            target_rank: 1,
            ..
        }
    ));
    for arm in ["baseline", "coalesce"] {
        assert_eq!(cell(&summary, 0, 64, arm).valid_cases, 13, "{arm}");
    }
}

#[test]
fn each_result_reports_emulated_operations() {
    let campaign = Campaign {
        tweak_endpoints: |endpoints| {
            let answer = match endpoints.arm.as_str() {
                "doorbell" => Answer::True,
                "coalesce" => Answer::Unknown,
                _ => Answer::False,
            };
            endpoints.fabric.as_mut().unwrap().offload.emulated_writes = Some(answer);
        },
        ..Campaign::default()
    };
    let summary = summary(&campaign);
    let emulated = |scenario, size, arm| cell(&summary, scenario, size, arm).emulated;
    assert_eq!(emulated(1, 128 << 10, "doorbell"), Some(Answer::True));
    assert_eq!(emulated(1, 128 << 10, "coalesce"), Some(Answer::Unknown));
    assert_eq!(emulated(1, 128 << 10, "baseline"), Some(Answer::False));
    assert_eq!(emulated(0, 64, "doorbell"), None, "a ping-pong writes nothing");
    let warnings = summary.warnings.join("\n");
    assert!(
        warnings.contains("\"doorbell\": the provider emulates RMA writes in software"),
        "{warnings}"
    );
    assert!(
        warnings.contains("does not report whether the provider emulates RMA writes"),
        "{warnings}"
    );
}

#[test]
fn rate_above_the_line_rate_is_invalid() {
    let campaign = Campaign {
        tweak_endpoints: |endpoints| {
            for rail in &mut endpoints.fabric.as_mut().unwrap().rails {
                rail.pci = Some("0000:00:06.0".into());
                rail.line_bits_per_second = Some(1_000_000_000);
            }
        },
        ..Campaign::default()
    };
    let summary = summary(&campaign);
    // 128 KiB in about 1.2 us each (16 in flight) is far above 1 Gbit/s; 64 B in 8 us is not.
    let large = cell(&summary, 1, 128 << 10, "baseline");
    assert!(large.invalid.iter().any(|kind| matches!(
        kind.example,
        Invalid::AboveLineRate {
            line_bits_per_second: 1_000_000_000,
            ..
        }
    )));
    assert_eq!(cell(&summary, 0, 64, "baseline").valid_cases, 13);
}
