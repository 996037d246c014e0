//! Tests of reading a log over several connections.

use crds::record::{BlockRecord, ChainWriter, EndRecord, Record, WarningReason, WarningRecord};
use http::{Request, Response, StatusCode};
use kube::client::Body;
use tower_test::mock::pair;

use super::*;

fn shared_state(terminated: bool) -> SharedState {
    SharedState {
        state: Mutex::new(FollowState {
            stream: Stream::new(AttemptId { leg: 0, attempt: 1 }, ResumePoint::default()),
            persisted_at: Instant::now(),
            closed: false,
            settled: false,
            terminated,
        }),
        changed: Notify::new(),
    }
}

/// Reads `lines` and takes due lines immediately. Returns the pieces that were taken.
async fn taken_pieces(lines: &[u8]) -> Vec<Vec<u8>> {
    let shared = shared_state(false);
    let pieces = Mutex::new(Vec::new());
    let wake = || {
        let mut state = shared.lock();
        let full = state.is_full();
        pieces.lock().unwrap().extend(state.stream.take(full));
        drop(state);
        shared.changed.notify_one();
    };
    read(lines, &shared, &wake).await.unwrap();
    pieces.into_inner().unwrap()
}

#[tokio::test]
async fn reads_a_block_that_exceeds_the_buffer() {
    let mut writer = ChainWriter::default();
    let mut lines = Vec::new();
    while lines.len() <= 2 * MAX_BUFFERED_BYTES {
        let warning = WarningRecord {
            rank: None,
            reason: WarningReason::Limit,
            message: "x".repeat(1000),
        };
        lines.extend(writer.line(&Record::Warning(warning)).unwrap().into_bytes());
    }
    let block = Record::Block(BlockRecord { block: 0, cases: 0 });
    lines.extend(writer.line(&block).unwrap().into_bytes());
    let pieces = taken_pieces(&lines).await;
    assert!(pieces.len() > 1, "{}", pieces.len());
    assert_eq!(pieces.concat(), lines);
}

/// The log of a worker that measured one block.
fn log() -> Vec<u8> {
    let mut writer = ChainWriter::default();
    let records = [
        Record::Block(BlockRecord { block: 0, cases: 0 }),
        Record::End(EndRecord {
            blocks: 1,
            complete: true,
            failure: None,
        }),
    ];
    let lines = records.iter().map(|record| writer.line(record).unwrap());
    lines.collect::<String>().into_bytes()
}

/// Follows the log of a terminated container. Each connection receives one of `responses`, and the last one is repeated.
/// Returns the end record and the fault of the stream, and the number of connections.
async fn follow_terminated(
    responses: Vec<(StatusCode, Vec<u8>)>,
) -> (Option<EndRecord>, Option<String>, usize) {
    let (service, mut server) = pair::<Request<Body>, Response<Body>>();
    let api = Api::namespaced(Client::new(service, "n"), "n");
    let source = LogSource {
        attempt: AttemptId { leg: 0, attempt: 1 },
        run: RunKey {
            namespace: "n".to_owned(),
            name: "r".to_owned(),
        },
        pod: "p".to_owned(),
        pod_uid: "u".to_owned(),
    };
    let shared = Arc::new(shared_state(true));
    let serve = async {
        let mut connections = 0;
        while let Some((_, send)) = server.next_request().await {
            let (code, body) = responses.get(connections).or(responses.last()).unwrap().clone();
            connections += 1;
            send.send_response(Response::builder().status(code).body(Body::from(body)).unwrap());
        }
        connections
    };
    let ((), connections) = futures::join!(follow(api, source, Arc::clone(&shared), || {}), serve);
    let state = shared.lock();
    (state.stream.end().cloned(), state.stream.fault(), connections)
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_early_does_not_truncate_the_log() {
    let log = log();
    for cut in [0, 1, log.len() - 1] {
        let part = (StatusCode::OK, log[..cut].to_vec());
        let responses = vec![part.clone(), part, (StatusCode::OK, log.clone())];
        let (end, fault, connections) = follow_terminated(responses).await;
        assert_eq!(
            (end.is_some(), fault, connections),
            (true, None, 3),
            "cut at {cut}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_that_always_ends_at_the_same_byte_is_truncated() {
    let log = log();
    let (end, fault, connections) =
        follow_terminated(vec![(StatusCode::OK, log[..log.len() - 1].to_vec())]).await;
    assert_eq!((end, connections), (None, 5));
    assert!(fault.unwrap().contains("after 1 lines without an end record"));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_may_be_unavailable_for_a_minute_after_the_container_has_terminated() {
    let started = Instant::now();
    let mut responses = vec![(StatusCode::SERVICE_UNAVAILABLE, Vec::new()); 12];
    responses.push((StatusCode::OK, log()));
    let (end, fault, _) = follow_terminated(responses).await;
    assert_eq!((end.is_some(), fault), (true, None));
    assert!(
        started.elapsed() >= Duration::from_secs(60),
        "{:?}",
        started.elapsed()
    );
    let (end, fault, _) = follow_terminated(vec![(StatusCode::SERVICE_UNAVAILABLE, Vec::new())]).await;
    assert_eq!(end, None);
    assert!(fault.unwrap().contains("cannot be read"));
}
