use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Flags {
    #[command(flatten)]
    transport: TransportFlags,
    #[command(flatten)]
    scenarios: ScenarioFlags,
}

fn parse(arguments: &str) -> Flags {
    let arguments = ["runner"].into_iter().chain(arguments.split_whitespace());
    Flags::try_parse_from(arguments).unwrap()
}

fn transport(arguments: &str, variable: Option<(&str, &str)>) -> Result<String, String> {
    let get = |name: &str| {
        variable
            .filter(|(set, _)| *set == name)
            .map(|(_, value)| value.to_owned())
    };
    let default = TransportSpec::Ucx(Ucx::new(vec![UcxTransport::All], 1));
    let found = parse(arguments).transport.transport_or(default, get);
    found.map(|found| flag(&found)).map_err(|error| error.to_string())
}

#[test]
fn flags_take_precedence_over_variables() {
    let tls = Some((UCX_TLS, "sm,self"));
    assert_eq!(transport("--tls rc,sm", tls).unwrap(), "--tls rc,sm");
    assert_eq!(transport("", tls).unwrap(), "--tls sm");
    assert_eq!(transport("--provider shm", tls).unwrap(), "--provider shm");
    let provider = Some((FI_PROVIDER, "verbs"));
    assert_eq!(
        transport("--library libfabric", provider).unwrap(),
        "--provider verbs;ofi_rxm"
    );
    let replaced = parse("--tls tcp")
        .transport
        .replaced_variables(|_| Some("sm".into()));
    assert_eq!(replaced[UCX_TLS], "tcp,self");
    assert!(
        parse("--tls tcp")
            .transport
            .replaced_variables(|_| None)
            .is_empty()
    );
}

#[test]
fn suggests_a_name_if_the_transport_is_unknown_and_has_a_default() {
    assert_eq!(transport("", None).unwrap(), "--tls all");
    assert_eq!(
        transport("--tls posix,rc_mlx5,self", None).unwrap(),
        "--tls posix,rc_x"
    );
    assert!(
        transport("--library libfabric", None)
            .unwrap_err()
            .contains("--provider tcp")
    );
    let error = transport("--tls tpc", None).unwrap_err();
    assert!(
        error.contains("\"tpc\"") && error.contains("use all,tcp,sm,posix"),
        "{error}"
    );
    let error = transport("--provider udp", None).unwrap_err();
    assert!(
        error.contains("\"udp\"") && error.contains("efa-direct"),
        "{error}"
    );
    let error = transport("--tls self", None).unwrap_err();
    assert!(
        error.contains("only self") && error.contains("sm or tcp"),
        "{error}"
    );
    assert!(transport("--library libfabric --tls tcp", None).is_err());
    assert!(transport("--library ucx --provider tcp", None).is_err());
}

#[test]
fn a_number_out_of_range_is_reported_with_the_numbers_that_the_request_accepts() {
    for (line, range) in [
        ("--concurrency abc", "from 1 to 256"),
        ("--iterations 0", "from 1 to 1000000"),
        ("--flag-warmup -1", "from 0 to 1000000"),
        ("--rails 65", "from 1 to 64"),
        ("--case-timeout 0", "from 1 to 3600"),
    ] {
        let arguments = ["runner"].into_iter().chain(line.split_whitespace());
        let error = Flags::try_parse_from(arguments).unwrap_err().to_string();
        assert!(error.contains(&format!("use a whole number {range}")), "{error}");
    }
}

#[test]
fn scenarios_form_a_list_and_unset_settings_are_omitted() {
    let flags = parse("--scenarios pingpong-flag large-array --large-bytes 512Mi --concurrency 8").scenarios;
    let expected = json!([
        {"name": "pingpong-flag", "memory": "Heap", "integrity": true, "pingpongFlag": {}},
        {"name": "large-array", "memory": "Heap", "integrity": true, "largeArray": {"sizes": ["512Mi"]}},
    ]);
    assert_eq!(json!(flags.scenarios().unwrap()), expected);
    assert_eq!(flags.small_concurrency, Some(8));
    assert_eq!(parse("--iterations 32").scenarios.stream_iterations, Some(32));
    let all = parse("--no-integrity --memory cuda --small-iterations 7")
        .scenarios
        .scenarios()
        .unwrap();
    let names: Vec<_> = all
        .iter()
        .map(|scenario| scenario["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "large-array",
            "small-messages",
            "pingpong-flag",
            "streaming-duplex"
        ]
    );
    let expected = json!({"name": "small-messages", "memory": "Cuda", "integrity": false, "smallMessages": {"batches": 7}});
    assert_eq!(all[1], expected);
    // Every scenario is one of a run.
    let parsed: Vec<crds::v1alpha1::Scenario> = serde_json::from_value(json!(all)).unwrap();
    assert_eq!(
        parsed[3].streaming_duplex,
        Some(crds::v1alpha1::StreamingDuplex::default())
    );
}

#[test]
fn rejects_a_scenario_that_is_named_twice_or_has_too_many_messages() {
    let error = |line| parse(line).scenarios.scenarios().unwrap_err().to_string();
    assert!(error("--scenarios all large-array").contains("contains large-array twice"));
    assert!(error("--concurrency 256 --small-iterations 30000").contains("choose at most 1000000"));
}
