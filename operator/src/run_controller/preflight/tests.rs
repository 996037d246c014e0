//! Nodes that fit, and words for those that do not.

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
    NodeState::of(&node)
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

const WANTED: WorkerResources = WorkerResources {
    cpus: 16,
    memory: 64 << 30,
    efas: 32,
    gpus: 8,
    huge_pages: 5 << 30,
    shared_memory: 1 << 30,
};

fn check(placement: &Placement, nodes: &[NodeState]) -> Result<Candidates, String> {
    let wanted = Wanted {
        placement,
        resources: WANTED,
        nodes: &[],
    };
    preflight(&wanted, nodes).map_err(|unfit| unfit.to_string())
}

#[test]
fn whole_nodes_of_one_zone_fit() {
    let fit = check(&placement(), &[p5("a"), p5("b"), p5("c")]).unwrap();
    assert_eq!((fit.nodes.len(), fit.zoned), (3, true));
}

#[test]
fn a_node_with_less_is_named_with_its_number() {
    let mut lame = p5("ip-10-0-0-2");
    lame.allocatable.gpus = 7;
    let refused = check(&placement(), &[p5("ip-10-0-0-1"), lame.clone()]).unwrap_err();
    assert_eq!(
        refused,
        "1 of 2 nodes fit and 2 are needed: ip-10-0-0-2: 7 of 8 GPUs"
    );
    type Change = fn(&mut NodeState);
    let changes: [(Change, &str); 7] = [
        (|node| node.allocatable.efas = 31, "31 of 32 EFA devices"),
        (
            |node| node.allocatable.huge_pages = 2 << 20,
            "2Mi of 5Gi of huge pages (2 MiB)",
        ),
        (
            |node| node.allocatable.cpu_millis = 15_500,
            "15.500 of 16 processors",
        ),
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
    for (change, words) in changes {
        let mut node = p5("b");
        change(&mut node);
        let refused = check(&placement(), &[p5("a"), node]).unwrap_err();
        assert_eq!(refused, format!("1 of 2 nodes fit and 2 are needed: b: {words}"));
    }
}

#[test]
fn an_exclusive_worker_asks_for_everything() {
    let larger = |name: &str| {
        let mut node = p5(name);
        node.allocatable.gpus = 16;
        node
    };
    let nodes = [larger("a"), larger("b")];
    let refused = check(&placement(), &nodes).unwrap_err();
    assert!(
        refused.contains("a: has 16 GPUs of which a worker asks for 8"),
        "{refused}"
    );
    assert!(refused.contains("set spec.resources.gpus to 16, or spec.placement.exclusive to false"));
    let shared = Placement {
        exclusive: false,
        ..placement()
    };
    check(&shared, &nodes).unwrap();
}

#[test]
fn nodes_of_several_zones_are_not_one_zone() {
    let mut far = p5("b");
    far.labels
        .insert("topology.kubernetes.io/zone".to_owned(), "us-east-1b".to_owned());
    let nodes = [p5("a"), far];
    let refused = check(&placement(), &nodes).unwrap_err();
    assert!(
        refused.ends_with("those that fit are spread: us-east-1a 1; us-east-1b 1"),
        "{refused}"
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
fn without_a_node_that_is_meant_the_labels_are_named() {
    let mut other = p5("a");
    other.labels.clear();
    let refused = check(&placement(), &[other]).unwrap_err();
    assert_eq!(
        refused,
        "none of 1 nodes has the labels node.kubernetes.io/instance-type=p5.48xlarge (spec.placement.nodeSelector)"
    );
}

#[test]
fn later_attempts_need_the_nodes_of_the_first() {
    let placement = placement();
    let before = ["a".to_owned(), "b".to_owned()];
    let wanted = Wanted {
        placement: &placement,
        resources: WANTED,
        nodes: &before,
    };
    let fit = preflight(&wanted, &[p5("a"), p5("b"), p5("c")]).unwrap();
    assert_eq!(fit.nodes, before.iter().cloned().collect());
    let refused = preflight(&wanted, &[p5("a"), p5("c")]).unwrap_err();
    assert!(refused.to_string().starts_with("node b is gone"));
}

#[test]
fn a_message_stays_short() {
    let nodes: Vec<_> = (0..500)
        .map(|index| NodeState {
            allocatable: Amounts::default(),
            ..p5(&format!("ip-10-0-0-{index}"))
        })
        .collect();
    let refused = check(&placement(), &nodes).unwrap_err();
    assert!(
        refused.ends_with("; 492 more") && refused.len() < 500,
        "{refused}"
    );
}

#[test]
fn tolerations_match_as_the_schedulers_do() {
    let taint = Taint {
        key: "k".to_owned(),
        value: "v".to_owned(),
        effect: "NoSchedule".to_owned(),
    };
    let given = |key: Option<&str>, operator: Option<&str>, value: Option<&str>, effect: Option<&str>| {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let toleration = Toleration {
            key: text(key),
            operator: text(operator),
            value: text(value),
            effect: text(effect),
            toleration_seconds: None,
        };
        tolerates(&toleration, &taint)
    };
    assert!(given(None, Some("Exists"), None, None));
    assert!(given(Some("k"), None, Some("v"), Some("NoSchedule")));
    assert!(given(Some("k"), Some("Exists"), None, None));
    assert!(!given(Some("k"), None, None, None));
    assert!(!given(Some("k"), Some("Exists"), None, Some("NoExecute")));
    assert!(!given(None, None, Some("v"), None));
}
