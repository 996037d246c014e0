//! Tests of the request bounds.

use crds::units::Size;
use crds::v1alpha1::{
    LargeArray, LibfabricProvider, PingpongFlag, SmallMessages, StreamingDuplex, UcxTransport,
};

use super::*;

fn request(scenario: RequestedScenario) -> Request {
    Request {
        run_id: "0123456789abcdef0123456789abcdef".into(),
        transport: RequestedTransport::Ucx {
            transports: vec![UcxTransport::Tcp],
            rails: 1,
        },
        memory: MemoryKind::Heap,
        scenarios: vec![scenario],
        integrity: true,
        case_timeout_seconds: 60,
        segment: None,
        allow_emulation: false,
    }
}

fn error(scenario: RequestedScenario) -> String {
    request(scenario)
        .check(&Limits::default())
        .unwrap_err()
        .to_string()
}

#[test]
fn accepts_the_defaults_of_every_scenario() {
    for scenario in [
        RequestedScenario::LargeArray(LargeArray::default()),
        RequestedScenario::SmallMessages(SmallMessages::default()),
        RequestedScenario::PingpongFlag(PingpongFlag::default()),
        RequestedScenario::StreamingDuplex(StreamingDuplex::default()),
    ] {
        assert_eq!(request(scenario).check(&Limits::default()), Ok(()));
    }
}

#[test]
fn names_the_flag_of_a_value_that_is_out_of_bounds() {
    let large = |sizes| {
        RequestedScenario::LargeArray(LargeArray {
            sizes,
            ..LargeArray::default()
        })
    };
    assert!(error(large(vec![Size(0)])).starts_with("--large-bytes is 0: choose a size from 1 to 4Gi"));
    assert!(error(large(vec![Size(5 << 30)])).starts_with("--large-bytes is 5Gi: choose"));
    assert!(error(large(vec![])).starts_with("--large-bytes has 0 sizes"));
    let small = SmallMessages {
        batches: u32::MAX,
        ..SmallMessages::default()
    };
    assert!(error(RequestedScenario::SmallMessages(small)).starts_with("--small-iterations is 4294967295"));
    let small = SmallMessages {
        concurrency: 0,
        ..SmallMessages::default()
    };
    assert!(error(RequestedScenario::SmallMessages(small)).starts_with("--small-concurrency is 0"));
    let flag = PingpongFlag {
        iterations: 0,
        warmup: 0,
    };
    assert!(error(RequestedScenario::PingpongFlag(flag)).starts_with("--flag-iterations is 0"));
    let duplex = StreamingDuplex {
        window: 0,
        ..StreamingDuplex::default()
    };
    assert!(error(RequestedScenario::StreamingDuplex(duplex)).starts_with("--stream-window is 0"));
}

#[test]
fn rejects_a_transport_that_the_server_does_not_accept() {
    let mut limits = Limits {
        transport: Some(RequestedTransport::Libfabric {
            provider: LibfabricProvider::Tcp,
            rails: 1,
        }),
        ..Limits::default()
    };
    let request = request(RequestedScenario::PingpongFlag(PingpongFlag::default()));
    let message = request.check(&limits).unwrap_err().to_string();
    assert!(
        message.contains("`--tls tcp`") && message.contains("`--provider tcp`"),
        "{message}"
    );
    let mut request = request;
    let two = |transports| RequestedTransport::Ucx { transports, rails: 2 };
    limits.transport = Some(two(vec![UcxTransport::Sm, UcxTransport::Tcp]));
    assert!(request.check(&limits).is_err());
    request.transport = two(vec![UcxTransport::Tcp, UcxTransport::Sm]);
    assert_eq!(request.check(&limits), Ok(()));
}

#[test]
fn rejects_duplicate_scenarios_and_invalid_run_identifiers() {
    let mut twice = request(RequestedScenario::PingpongFlag(PingpongFlag::default()));
    twice.scenarios.push(twice.scenarios[0].clone());
    let message = twice.check(&Limits::default()).unwrap_err().to_string();
    assert_eq!(
        message,
        "--scenarios contains pingpong-flag twice: specify it once"
    );
    twice.run_id = "../etc".into();
    assert!(twice.check(&Limits::default()).is_err());
}

#[test]
fn a_request_cannot_contain_a_path_or_a_setting() {
    let valid =
        serde_json::to_value(request(RequestedScenario::PingpongFlag(PingpongFlag::default()))).unwrap();
    assert!(serde_json::from_value::<Request>(valid.clone()).is_ok());
    for (pointer, name) in [("", "library"), ("/transport/ucx", "settings"), ("", "env")] {
        let mut changed = valid.clone();
        let object = changed.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
        object.insert(name.into(), serde_json::json!("x"));
        let error = serde_json::from_value::<Request>(changed)
            .unwrap_err()
            .to_string();
        assert!(error.contains(name), "{error}");
    }
}
