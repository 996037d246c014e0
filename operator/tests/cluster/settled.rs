//! A run that ends comparisons as soon as they are decided. While the run is in progress, its operator is killed and
//! the run is suspended. The analyses depend only on the records, so every new operator measures exactly what the run
//! still needs.

use std::time::Duration;

use crds::units::Size;
use crds::v1alpha1::{BenchmarkRun, State, Stop};
use serde_json::json;
use tokio::time::timeout;

use super::nodes::share_nodes;
use super::test_namespace::{TIMEOUT, TestNamespace, planned};
use test_support::cluster::{run, until_within};

const NAME: &str = "settled";

/// Returns a run with two comparisons, which are analyzed at several round counts.
fn settled_run() -> BenchmarkRun {
    let mut run = run(NAME);
    run.spec.sampling.rounds = Some(40);
    run.spec.sampling.stop = Stop::Settled;
    let ping_pong = run.spec.scenarios[0].ping_pong.as_mut().unwrap();
    ping_pong.sizes = vec![Size(64), Size(128)];
    run
}

#[tokio::test]
async fn run_that_may_end_early_continues_after_kills_and_suspension() {
    let nodes = share_nodes().await;
    let namespace = TestNamespace::new(&nodes).await;
    let run = settled_run();
    namespace.create(&run).await;
    let ended = || namespace.wait_for_end(NAME);
    // Each operator lives long enough to store some records.
    let mut kills = 0;
    while kills < 4 {
        let _operator = namespace.operator();
        if timeout(Duration::from_secs(6), ended()).await.is_ok() {
            break;
        }
        kills += 1;
    }
    let _operator = namespace.operator();
    let is_running = namespace.status(NAME).await.state != Some(State::Complete);
    if is_running {
        let suspend = |suspend: bool| namespace.patch(NAME, json!({"spec": {"suspend": suspend}}));
        suspend(true).await.unwrap();
        until_within(TIMEOUT, || async {
            let state = namespace.status(NAME).await.state;
            matches!(state, Some(State::Suspended | State::Complete)).then_some(())
        })
        .await;
        suspend(false).await.unwrap();
    }
    // Among other checks, this call rederives the analyses from the records.
    let status = namespace.wait_for_completion(NAME).await;
    let progress = status.progress.unwrap();
    let plan = planned(&namespace.runs.get(NAME).await.unwrap());
    let skipped = progress.blocks_skipped.unwrap();
    assert!(plan.analyses.len() > 2, "{:?}", plan.analyses);
    assert_eq!(progress.blocks_total + skipped, plan.blocks_total);
    let attempts = status.execution.unwrap().attempts;
    println!(
        "{kills} kills, {} attempts for {} legs; {skipped} of {} blocks skipped; ends: {:?}",
        attempts.len(),
        plan.legs.len(),
        plan.blocks_total,
        status.comparisons.iter().map(|one| one.ended).collect::<Vec<_>>()
    );
    namespace.delete().await;
}
