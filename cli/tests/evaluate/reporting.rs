//! Status and report formats of an evaluation.

use std::collections::BTreeSet;

use campaign::Evaluation;
use campaign::status::{MAX_WARNINGS, Phase, StatusInput, rejected_status, status};
use crds::v1alpha1::{FabricProof, Metric, State, Verdict};

use crate::fixture::Campaign;

fn status_input<'a>(campaign: &'a Campaign, evaluation: &'a Evaluation) -> StatusInput<'a> {
    StatusInput {
        plan: &campaign.plan,
        phase: Phase::Complete,
        evaluation,
        records: None,
        generation: Some(1),
        now: "2026-03-01T10:01:00Z",
        previous: None,
    }
}

#[test]
fn status_summarizes_the_evaluation() {
    let campaign = Campaign {
        effects: [(("fi-inject", 64), 0.85)].into(),
        ..Campaign::default()
    };
    let evaluation = campaign.evaluation();
    let status = status(&status_input(&campaign, &evaluation));
    assert_eq!(status.state, Some(State::Complete));
    assert_eq!(
        status.progress.as_ref().map(|progress| progress.text.as_str()),
        Some("84/84")
    );
    assert_eq!(
        status.fabric.as_ref().map(|fabric| fabric.proof),
        Some(FabricProof::Verified)
    );
    assert_eq!(status.results.len(), 36);
    assert_eq!(
        status.placement.as_ref().map(|placement| placement.nodes.len()),
        Some(2)
    );
    let inject = status
        .comparisons
        .iter()
        .find(|one| (one.arm.as_str(), one.size_bytes) == ("fi-inject", 64))
        .unwrap();
    assert_eq!(inject.verdict, Some(Verdict::Improved));
    assert!(
        (-160_000..-140_000).contains(&inject.effect_ppm.unwrap()),
        "{:?}",
        inject.effect_ppm
    );
    let types: BTreeSet<&str> = status
        .conditions
        .iter()
        .map(|condition| condition.type_.as_str())
        .collect();
    assert_eq!(
        types,
        ["Accepted", "Complete", "Failed", "Running", "Suspended"].into()
    );
}

#[test]
fn condition_keeps_its_transition_time_until_its_status_changes() {
    let campaign = Campaign::default();
    let evaluation = campaign.evaluation();
    let running = StatusInput {
        phase: Phase::Running,
        now: "2026-03-01T10:00:00Z",
        ..status_input(&campaign, &evaluation)
    };
    let first = status(&running);
    let second = status(&StatusInput {
        previous: Some(&first),
        ..status_input(&campaign, &evaluation)
    });
    let transition_time = |type_name: &str| {
        let condition = second
            .conditions
            .iter()
            .find(|condition| condition.type_ == type_name)
            .unwrap();
        condition.last_transition_time.as_str()
    };
    assert_eq!(transition_time("Accepted"), "2026-03-01T10:00:00Z");
    assert_eq!(transition_time("Complete"), "2026-03-01T10:01:00Z");
    let invalid = rejected_status(
        "spec.variants[2]: no",
        Some(2),
        "2026-03-01T10:02:00Z",
        Some(&second),
    );
    assert_eq!(
        (invalid.state, invalid.conditions[0].status.as_str()),
        (Some(State::Failed), "False")
    );
}

#[test]
fn limits_number_and_length_of_warnings() {
    let campaign = Campaign::default();
    let mut evaluation = campaign.evaluation();
    evaluation.summary.warnings = (0..500)
        .map(|number| format!("{number}: {}", "x".repeat(5000)))
        .collect();
    let status = status(&status_input(&campaign, &evaluation));
    assert_eq!(status.warnings.len(), MAX_WARNINGS);
    assert!(status.warnings.last().unwrap().starts_with("437 more"));
    assert!(
        status
            .warnings
            .iter()
            .all(|warning| warning.chars().count() <= 1024)
    );
}

pub mod formats {
    use std::sync::LazyLock;

    use campaign::collect::collect;
    use campaign::compare::Comparison;
    use campaign::plan::Role;
    use campaign::{RunOutcome, evaluate};
    use crds::quantity::Quantity;
    use crds::record::{CaseFailure, CaseResult, FailureReason};
    use crds::v1alpha1::BenchmarkRun;
    use fabricbench_cli::report::text::{TextOptions, render};
    use fabricbench_cli::report::{Format, Report, StoredReport, csv, html, json, junit, markdown};

    use super::*;
    use crate::fixture::UID;

    /// A campaign with known effects and its evaluation.
    struct PlantedCampaign {
        campaign: Campaign,
        evaluation: Evaluation,
    }

    impl PlantedCampaign {
        fn report(&self) -> Report<'_> {
            Report {
                plan: &self.campaign.plan,
                evaluation: &self.evaluation,
            }
        }
    }

    static PLANTED: LazyLock<PlantedCampaign> = LazyLock::new(|| {
        let effects = [
            (("fi-inject", 64), 0.85),
            (("doorbell", 128 << 10), 1.1),
            (("coalesce", 32 << 10), 0.92),
            (("combined", 64), 0.985),
        ];
        let campaign = Campaign {
            effects: effects.into(),
            ..Campaign::default()
        };
        PlantedCampaign {
            evaluation: campaign.evaluation(),
            campaign,
        }
    });

    #[test]
    fn renders_text() {
        let options = TextOptions {
            full_report: Some("demo-output/planted/report.html"),
            ..TextOptions::default()
        };
        insta::assert_snapshot!("text", render(&PLANTED.report().document(), &options));
    }

    #[test]
    fn text_fits_a_narrow_terminal() {
        let options = TextOptions {
            width: 80,
            ..TextOptions::default()
        };
        let text = render(&PLANTED.report().document(), &options);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!("text_narrow", text);
    }

    #[test]
    fn colors_text_only_on_request() {
        let text = |color| {
            render(
                &PLANTED.report().document(),
                &TextOptions {
                    color,
                    ..TextOptions::default()
                },
            )
        };
        assert!(!text(false).contains('\u{1b}'));
        assert!(text(true).contains('\u{1b}'));
    }

    #[test]
    fn csv_has_a_row_for_every_scenario_size_arm_and_metric() {
        let text = csv::render(&PLANTED.report()).unwrap();
        assert_eq!(
            text.lines().count(),
            1 + 2 * 3 * 6 * campaign::summarize::METRICS.len()
        );
        let primary: String = text
            .lines()
            .filter(|line| line.contains(",primary,") || line.contains(",true,"))
            .flat_map(|line| [line, "\n"])
            .collect();
        insta::assert_snapshot!("csv", primary);
    }

    #[test]
    fn json_contains_names_units_and_intervals() {
        let text = json::render(&PLANTED.report()).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["units"]["LatencyP50"], "ns");
        assert_eq!(json["results"].as_array().unwrap().len(), 36);
        let inject = json["comparisons"]
            .as_array()
            .unwrap()
            .iter()
            .find(|one| {
                one["armName"] == "fi-inject" && one["sizeBytes"] == 64 && one["metric"] == "LatencyP50"
            })
            .unwrap();
        assert_eq!(inject["verdict"], "Improved");
        assert_eq!(inject["scenarioName"], "small");
        assert!(inject["interval"]["upperPercent"].as_f64().unwrap() < -10.0);
        assert_eq!(json["expectations"][0]["outcome"], "Met");
    }

    #[test]
    fn markdown_has_a_table_for_each_scenario() {
        insta::assert_snapshot!("markdown", markdown::render(&PLANTED.report().document()));
    }

    #[test]
    fn the_reports_list_the_devices_of_claims() {
        let mut evaluation = PLANTED.campaign.evaluation();
        evaluation.summary.environment.claims =
            vec!["aligned: gpu-0, nic_1 (same PCI root complex)".to_owned()];
        let report = Report {
            evaluation: &evaluation,
            ..PLANTED.report()
        };
        let text = render(&report.document(), &TextOptions::default());
        assert!(
            text.contains("claims") && text.contains("aligned: gpu-0, nic_1"),
            "{text}"
        );
        let text = markdown::render(&report.document());
        assert!(text.contains("\n- claims aligned: gpu-0, nic\\_1 "), "{text}");
        let text = html::render(&report.document());
        assert!(
            text.contains("<dt>Claims</dt><dd>aligned: gpu-0, nic_1 "),
            "{text}"
        );
    }

    #[test]
    fn junit_contains_failures_and_reports_an_incomplete_run_as_an_error() {
        let report = PLANTED.report();
        let text = junit::render(&report.document()).unwrap();
        insta::assert_snapshot!("junit", text.replace(report.plan.hash(), "<plan hash>"));
        let PlantedCampaign { campaign, .. } = &*PLANTED;
        let lines = campaign.stream(1, &[5]);
        let reports = collect(&campaign.plan, UID, lines.as_bytes());
        let report = Report {
            evaluation: &evaluate(&campaign.plan, &reports).unwrap(),
            ..PLANTED.report()
        };
        let text = junit::render(&report.document()).unwrap();
        assert!(
            text.contains("<error") && text.contains("blocks were measured"),
            "{text}"
        );
    }

    #[test]
    fn undecided_comparisons_are_not_reported_as_passed() {
        let campaign = Campaign {
            effects: [
                (("fi-inject", 64), 0.85),
                (("coalesce", 32 << 10), 0.92),
                (("combined", 64), 0.985),
            ]
            .into(),
            ..Campaign::default()
        };
        let mut planted = PlantedCampaign {
            evaluation: campaign.evaluation(),
            campaign,
        };
        assert_eq!(planted.evaluation.outcome(), RunOutcome::Passed);
        let undecided = html::render(&planted.report().document());
        let sentence = "no regression was found, but 1 of 11 comparisons is undecided, and in 2 of 11 comparisons, the \
             variant did not take effect (NotEngaged) or does not apply.";
        assert!(
            undecided.contains("overall na") && undecided.contains(sentence),
            "{undecided}"
        );
        let tests = junit::render(&planted.report().document()).unwrap();
        assert!(
            tests
                .contains(r#"<skipped message="1 of 5 sizes is undecided, and in 1 of 5 sizes, the variant"#),
            "{tests}"
        );
        for comparison in &mut planted.evaluation.comparisons.all {
            if comparison.role == Role::Variant && comparison.primary {
                comparison.verdict = Some(Verdict::NoChange);
            }
        }
        let settled = html::render(&planted.report().document());
        assert!(settled.contains("overall better") && settled.contains("no variant regressed"));
        assert!(
            !junit::render(&planted.report().document())
                .unwrap()
                .contains("<skipped")
        );
    }

    #[test]
    fn every_format_reports_an_invalid_baseline() {
        let campaign = Campaign {
            tweak: |case| {
                if (case.arm.as_str(), case.size_bytes) == ("baseline", 64)
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
        let planted = PlantedCampaign {
            evaluation: campaign.evaluation(),
            campaign,
        };
        let reason = "invalid: 13 of 13 cases: failed (PeerLost): no answer";
        let report = planted.report();
        assert!(markdown::render(&report.document()).contains(reason));
        assert!(
            render(
                &report.document(),
                &TextOptions {
                    width: 400,
                    ..TextOptions::default()
                }
            )
            .contains(reason)
        );
        let page = html::render(&report.document());
        assert!(page.contains(
            r#"<td class="invalid"><span class="label">invalid</span> <span class="reason">13 of 13"#
        ));
        let tests = junit::render(&report.document()).unwrap();
        assert!(
            tests.contains("small 64 B, baseline: 13 of 13 cases: failed (PeerLost): no answer"),
            "{tests}"
        );
        assert!(!tests.contains("verified:"), "{tests}");
        assert_eq!(tests.matches("small 64 B, baseline").count(), 1, "{tests}");
    }

    #[test]
    fn text_and_markdown_explain_lost_rounds() {
        let campaign = Campaign {
            tweak: |case| {
                if (case.arm.as_str(), case.size_bytes, case.round) == ("baseline", 64, 3)
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
        let planted = PlantedCampaign {
            evaluation: campaign.evaluation(),
            campaign,
        };
        let lost = "baseline at 64 B: 12 of 13 rounds are valid, and 1 round was lost; the most frequent problem: 1 of \
                    13 cases: failed (PeerLost): no answer";
        let options = TextOptions {
            width: 400,
            ..TextOptions::default()
        };
        for text in [
            render(&planted.report().document(), &options),
            markdown::render(&planted.report().document()),
        ] {
            assert_eq!(text.matches(lost).count(), 1, "{text}");
            assert_eq!(text.matches("was lost").count(), 1, "{text}");
        }
    }

    #[test]
    fn noise_floor_reports_the_sizes_it_covers() {
        let campaign = Campaign::default();
        let mut planted = PlantedCampaign {
            evaluation: campaign.evaluation(),
            campaign,
        };
        let control = |one: &&mut Comparison| one.role == Role::ControlArm && one.primary;
        for comparison in planted
            .evaluation
            .comparisons
            .all
            .iter_mut()
            .filter(control)
            .take(2)
        {
            comparison.interval = None;
        }
        let options = TextOptions::default();
        for text in [
            render(&planted.report().document(), &options),
            markdown::render(&planted.report().document()),
            html::render(&planted.report().document()),
        ] {
            assert!(text.contains("(control arm, 4 of 6 sizes)"), "{text}");
        }
        for comparison in &mut planted.evaluation.comparisons.all {
            comparison.interval = None;
        }
        assert!(
            markdown::render(&planted.report().document()).contains("- noise unknown: too few valid rounds")
        );
    }

    #[test]
    fn html_shows_bytes_per_rail_and_both_kinds_of_percentiles() {
        let text = planted_html();
        assert_eq!(text.matches("<summary>Bytes per rail</summary>").count(), 2);
        assert!(text.contains(r#"<th scope="col">rail 3</th>"#));
        for quantile in ["p50", "p95", "p99"] {
            for kind in ["", "raw "] {
                let column = format!(r#"<th scope="col">{kind}{quantile}</th>"#);
                assert_eq!(text.matches(&column).count(), 2, "{column}");
            }
        }
    }

    /// HTML report of a campaign with known effects.
    pub fn planted_html() -> String {
        html::render(&PLANTED.report().document())
    }

    #[test]
    fn html_shows_only_metrics_with_values() {
        let html = planted_html();
        let has_table = |metric| {
            let name = campaign::compare::metric_name(metric);
            html.contains(&format!("aria-label=\"Changes in {name} of "))
        };
        assert!(has_table(crds::v1alpha1::Metric::Throughput));
        assert!(!has_table(crds::v1alpha1::Metric::ReportedLatency));
        assert!(!has_table(crds::v1alpha1::Metric::ReportedBandwidth));
    }

    #[test]
    fn every_format_contains_every_quantity_or_says_why_not() {
        let report = PLANTED.report();
        let input = status_input(&PLANTED.campaign, &PLANTED.evaluation);
        let run = BenchmarkRun {
            status: Some(status(&input)),
            ..crate::fixture::run()
        };
        let stored = StoredReport {
            run: &run,
            report,
            state_summary: None,
        };
        let cells = report.evaluation.summary.cells.iter();
        let measured: BTreeSet<Quantity> = cells
            .flat_map(|cell| cell.values().map(|(quantity, _)| quantity))
            .collect();
        assert!(measured.len() > 10, "{measured:?}");
        for format in Format::all() {
            let text = format.render(&stored, &TextOptions::default()).unwrap();
            if let Some(reason) = format.omission() {
                assert!(!reason.is_empty());
                continue;
            }
            for quantity in &measured {
                let series = format!("fabricbench_arm_{}", quantity.definition().series.metric);
                let names = [quantity.name().to_owned(), quantity.column(), series];
                let found = names.iter().any(|name| text.contains(name));
                assert!(found, "{}: {quantity}", format.name());
            }
        }
    }

    #[test]
    fn plots_show_every_round() {
        let report = PLANTED.report();
        let changes = report.evaluation.comparisons.primary();
        let changes: usize = changes.map(|comparison| comparison.round_percents.len()).sum();
        let by_size = [Metric::LatencyP50, Metric::Throughput, Metric::CpuSecondsPerGib];
        let cells = report.evaluation.summary.cells.iter();
        let values = cells.flat_map(|cell| by_size.iter().filter_map(|metric| cell.metric(*metric)));
        let values: usize = values.map(|spread| spread.values.len()).sum();
        assert!(changes > 0 && values > 0);
        assert_eq!(
            planted_html().matches(r#"opacity="0.35""#).count(),
            changes + values
        );
    }

    #[test]
    fn html_is_self_contained_and_escapes_text() {
        let text = planted_html();
        assert!(text.contains("Xeon &lt;Gold&gt; &amp;"));
        assert!(!text.contains("<Gold>"));
        assert!(!text.contains("<script") && !text.contains("http://") && !text.contains("src="));
        assert_eq!(text.matches("<svg ").count(), 2 * (4 + 3));
        // Every placeholder color was replaced by a CSS variable.
        assert!(!text.contains("#FA0"));
    }
}
