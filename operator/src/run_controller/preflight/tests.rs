//! Tests for node eligibility and for the messages about nodes that do not meet the requirements.

use k8s_openapi::api::core::v1::Node;

use super::*;

const P5: &str = "
metadata:
  name: NAME
  labels:
    node.kubernetes.io/instance-type: p5.48xlarge
    topology.kubernetes.io/zone: us-east-1a
spec:
  taints:
  - {key: nvidia.com/gpu, effect: NoSchedule}
  - {key: soft, effect: PreferNoSchedule}
status:
  allocatable: {cpu: 191450m, memory: 2063773468Ki, hugepages-2Mi: 10Gi, nvidia.com/gpu: '8', vpc.amazonaws.com/efa: '32'}
  conditions:
  - {type: MemoryPressure, status: 'False'}
  - {type: Ready, status: 'True'}
";

fn p5(name: &str) -> NodeState {
    let node: Node = serde_yaml::from_str(&P5.replace("NAME", name)).unwrap();
    NodeState::from_node(&node)
}

fn placement() -> Placement {
    Placement {
        node_selector: [(
            "node.kubernetes.io/instance-type".to_owned(),
            "p5.48xlarge".to_owned(),
        )]
        .into(),
        tolerations: vec![Toleration {
            key: Some("nvidia.com/gpu".to_owned()),
            operator: Some("Exists".to_owned()),
            ..Toleration::default()
        }],
        ..Placement::default()
    }
}

const RESOURCES: WorkerResources = WorkerResources {
    cpus: 16,
    memory: 64 << 30,
    efas: 32,
    gpus: 8,
    extended: BTreeMap::new(),
    huge_pages: 5 << 30,
    shared_memory: 1 << 30,
};

fn check(placement: &Placement, nodes: &[NodeState]) -> Result<Candidates, String> {
    let requirements = Requirements {
        placement,
        resources: RESOURCES,
        nodes: &[],
    };
    preflight(&requirements, nodes).map_err(|error| error.to_string())
}

#[test]
fn accepts_nodes_in_one_zone() {
    let fit = check(&placement(), &[p5("a"), p5("b"), p5("c")]).unwrap();
    assert_eq!((fit.nodes.len(), fit.zoned), (3, true));
}

#[test]
fn message_contains_the_node_and_the_insufficient_amount() {
    let mut small = p5("ip-10-0-0-2");
    small.allocatable.gpus = 7;
    let error = check(&placement(), &[p5("ip-10-0-0-1"), small.clone()]).unwrap_err();
    assert_eq!(
        error,
        "2 nodes are needed, but only 1 of 2 meet the requirements: ip-10-0-0-2: 7 of 8 GPUs"
    );
    type Change = fn(&mut NodeState);
    let changes: [(Change, &str); 7] = [
        (|node| node.allocatable.efas = 31, "31 of 32 EFA devices"),
        (
            |node| node.allocatable.huge_pages = 2 << 20,
            "2Mi of 5Gi of huge pages (2 MiB)",
        ),
        (|node| node.allocatable.cpu_millis = 15_500, "15.500 of 16 CPUs"),
        (|node| node.allocatable.memory = 1 << 30, "1Gi of 64Gi of memory"),
        (|node| node.ready = false, "not ready"),
        (|node| node.unschedulable = true, "cordoned"),
        (
            |node| {
                node.taints.push(Taint {
                    key: "team".to_owned(),
                    value: "blue".to_owned(),
                    effect: "NoExecute".to_owned(),
                })
            },
            "has the taint team=blue:NoExecute, which is not tolerated",
        ),
    ];
    for (change, reason) in changes {
        let mut node = p5("b");
        change(&mut node);
        let error = check(&placement(), &[p5("a"), node]).unwrap_err();
        assert_eq!(
            error,
            format!("2 nodes are needed, but only 1 of 2 meet the requirements: b: {reason}")
        );
    }
}

#[test]
fn message_names_a_missing_extended_resource() {
    const HCA: &str = "rdma/hca_shared_devices_a";
    let check = |nodes: &[NodeState]| {
        let requirements = Requirements {
            placement: &placement(),
            resources: WorkerResources {
                extended: [(HCA.to_owned(), 1)].into(),
                ..RESOURCES
            },
            nodes: &[],
        };
        preflight(&requirements, nodes).map_err(|error| error.to_string())
    };
    let with_hca = |name: &str| {
        let node = P5
            .replace("NAME", name)
            .replace("cpu: 191450m", &format!("{HCA}: 1k, cpu: 191450m"));
        NodeState::from_node(&serde_yaml::from_str(&node).unwrap())
    };
    check(&[with_hca("a"), with_hca("b")]).unwrap();
    let error = check(&[with_hca("a"), p5("b")]).unwrap_err();
    assert!(error.ends_with(&format!("b: 0 of 1 {HCA}")), "{error}");
}

#[test]
fn exclusive_worker_must_request_all_devices() {
    let larger = |name: &str| {
        let mut node = p5(name);
        node.allocatable.gpus = 16;
        node
    };
    let nodes = [larger("a"), larger("b")];
    let error = check(&placement(), &nodes).unwrap_err();
    assert!(
        error.contains("a: has 16 GPUs but a worker requests 8"),
        "{error}"
    );
    assert!(error.contains("set spec.resources.gpus to 16, or spec.placement.exclusive to false"));
    let shared = Placement {
        exclusive: false,
        ..placement()
    };
    check(&shared, &nodes).unwrap();
}

#[test]
fn rejects_nodes_in_several_zones() {
    let mut far = p5("b");
    far.labels
        .insert("topology.kubernetes.io/zone".to_owned(), "us-east-1b".to_owned());
    let nodes = [p5("a"), far];
    let error = check(&placement(), &nodes).unwrap_err();
    assert!(
        error.ends_with("the eligible nodes are in several zones: 1 in us-east-1a; 1 in us-east-1b"),
        "{error}"
    );
    let anywhere = Placement {
        single_zone: false,
        ..placement()
    };
    check(&anywhere, &nodes).unwrap();
    let mut nodes = nodes;
    for node in &mut nodes {
        node.labels.remove("topology.kubernetes.io/zone");
    }
    assert!(!check(&placement(), &nodes).unwrap().zoned);
}

#[test]
fn message_contains_the_labels_if_no_node_matches() {
    let mut other = p5("a");
    other.labels.clear();
    let error = check(&placement(), &[other]).unwrap_err();
    assert_eq!(
        error,
        "none of the 1 nodes has the labels node.kubernetes.io/instance-type=p5.48xlarge (spec.placement.nodeSelector)"
    );
}

#[test]
fn later_attempts_require_the_nodes_of_the_first() {
    let placement = placement();
    let earlier = ["a".to_owned(), "b".to_owned()];
    let requirements = Requirements {
        placement: &placement,
        resources: RESOURCES,
        nodes: &earlier,
    };
    let fit = preflight(&requirements, &[p5("a"), p5("b"), p5("c")]).unwrap();
    assert_eq!(fit.nodes, earlier.iter().cloned().collect());
    let error = preflight(&requirements, &[p5("a"), p5("c")]).unwrap_err();
    assert!(error.to_string().starts_with("node b is gone"));
}

#[test]
fn limits_the_length_of_the_message() {
    let nodes: Vec<_> = (0..500)
        .map(|index| NodeState {
            allocatable: Amounts::default(),
            ..p5(&format!("ip-10-0-0-{index}"))
        })
        .collect();
    let error = check(&placement(), &nodes).unwrap_err();
    assert!(error.ends_with("; 492 more") && error.len() < 500, "{error}");
}

#[test]
fn matches_tolerations_like_the_scheduler() {
    let taint = Taint {
        key: "k".to_owned(),
        value: "v".to_owned(),
        effect: "NoSchedule".to_owned(),
    };
    let matches = |key: Option<&str>, operator: Option<&str>, value: Option<&str>, effect: Option<&str>| {
        let owned = |value: Option<&str>| value.map(str::to_owned);
        let toleration = Toleration {
            key: owned(key),
            operator: owned(operator),
            value: owned(value),
            effect: owned(effect),
            toleration_seconds: None,
        };
        tolerates(&toleration, &taint)
    };
    assert!(matches(None, Some("Exists"), None, None));
    assert!(matches(Some("k"), None, Some("v"), Some("NoSchedule")));
    assert!(matches(Some("k"), Some("Exists"), None, None));
    assert!(!matches(Some("k"), None, None, None));
    assert!(!matches(Some("k"), Some("Exists"), None, Some("NoExecute")));
    assert!(!matches(None, None, Some("v"), None));
}

#[test]
fn run_waits_for_nodes_unless_the_cluster_may_grow() {
    let mode = |placement: &Placement, earlier: &[String], nodes: &[NodeState]| {
        let requirements = Requirements {
            placement,
            resources: RESOURCES,
            nodes: earlier,
        };
        preflight(&requirements, nodes).unwrap_err().mode(&requirements)
    };
    let (one, queued) = (
        [p5("a")],
        Placement {
            queue_name: Some("queue".to_owned()),
            ..placement()
        },
    );
    let fixed = |preflight| Placement {
        preflight: Some(preflight),
        ..placement()
    };
    // The pool has no nodes yet, but an autoscaler may add some for pending pods.
    assert_eq!(mode(&placement(), &[], &[]), PreflightMode::Warn);
    assert_eq!(mode(&placement(), &[], &one), PreflightMode::Wait);
    assert_eq!(mode(&queued, &[], &one), PreflightMode::Warn);
    assert_eq!(mode(&fixed(PreflightMode::Wait), &[], &[]), PreflightMode::Wait);
    assert_eq!(mode(&fixed(PreflightMode::Warn), &[], &one), PreflightMode::Warn);
    // Later attempts are bound to the nodes of the first one.
    let earlier = ["gone".to_owned()];
    assert_eq!(
        mode(&fixed(PreflightMode::Warn), &earlier, &one),
        PreflightMode::Wait
    );
}
