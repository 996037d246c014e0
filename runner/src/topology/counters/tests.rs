//! Tests with the counters of a simulated machine and of the network namespace of this process.

use super::super::fixture::Tree;
use super::*;

const NET_DEV: &str = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
  eth0: 1000      10    0    0    0     0          0         0     2000      20    0    0    0     0       0          0
 eth00:7777       10    0    0    0     0          0         0     8888      20    0    0    0     0       0          0";

fn rail(interface: Option<&str>, line: Option<u64>) -> RailFacts {
    RailFacts {
        interface: interface.map(str::to_owned),
        line_bits_per_second: line,
        ..RailFacts::default()
    }
}

/// Returns the difference between a reading of the files in `first` and a later reading of the files in `second`.
fn counter_difference(
    rails: &[RailFacts],
    first: &[(&str, &str)],
    second: &[(&str, &str)],
) -> Vec<InterfaceDelta> {
    let tree = Tree::new();
    let readings = [first, second].map(|files| {
        for (path, text) in files {
            tree.file(path, text);
        }
        CounterReading::take(rails, &tree.roots())
    });
    delta(&readings[0], &readings[1], rails)
}

fn bytes_of(deltas: &[InterfaceDelta]) -> Vec<(&str, u64, u64)> {
    deltas
        .iter()
        .map(|delta| (delta.name.as_str(), delta.tx_bytes, delta.rx_bytes))
        .collect()
}

#[test]
fn counts_the_interface_of_this_network_namespace() {
    let later = NET_DEV
        .replace("1000 ", "1500 ")
        .replace("2000 ", "2700 ")
        .replace(" 20    0", " 25    0");
    let deltas = counter_difference(
        &[
            rail(Some("eth0"), Some(5)),
            rail(None, None),
            rail(Some("eth0"), Some(5)),
        ],
        &[
            ("proc/self/net/dev", NET_DEV),
            ("sys/class/net/eth0/statistics/tx_bytes", "1"),
        ],
        &[("proc/self/net/dev", &later)],
    );
    assert_eq!(bytes_of(&deltas), [("eth0", 700, 500)]);
    assert_eq!((deltas[0].tx_packets, deltas[0].rx_packets), (Some(5), Some(0)));
    assert_eq!(deltas[0].rails, [0, 2]);
    assert_eq!(
        (deltas[0].line_bits_per_second, deltas[0].retransmits),
        (Some(5), None)
    );
}

#[test]
fn falls_back_to_sysfs_without_proc() {
    let statistics = "sys/class/net/eth1/statistics";
    let (sent, received) = (format!("{statistics}/tx_bytes"), format!("{statistics}/rx_bytes"));
    let deltas = counter_difference(
        &[rail(Some("eth1"), None)],
        &[(&sent, "10"), (&received, "20")],
        &[(&sent, "15"), (&received, "26")],
    );
    assert_eq!(bytes_of(&deltas), [("eth1", 5, 6)]);
}

#[test]
fn uses_the_larger_of_the_efa_wire_and_operation_counters() {
    let at = |name: &str| format!("sys/class/infiniband/rdmap0s6/ports/1/hw_counters/{name}");
    let files = |values: [(&str, &'static str); 9]| values.map(|(name, value)| (at(name), value));
    let names = [
        "tx_bytes",
        "rx_bytes",
        "send_bytes",
        "recv_bytes",
        "rdma_write_bytes",
        "rdma_write_recv_bytes",
        "rdma_read_resp_bytes",
        "rdma_read_bytes",
        "retrans_pkts",
    ];
    let zero = files(names.map(|name| (name, "0")));
    let values = ["100", "5000", "10", "1", "200", "2", "3000", "3", "7"];
    let mut pairs = names.map(|name| (name, "0"));
    for (pair, value) in pairs.iter_mut().zip(values) {
        pair.1 = value;
    }
    let later = files(pairs);
    fn borrow_contents<'a>(files: &'a [(String, &'a str)]) -> Vec<(&'a str, &'a str)> {
        files.iter().map(|(path, text)| (path.as_str(), *text)).collect()
    }
    let deltas = counter_difference(
        &[rail(Some("rdmap0s6"), None)],
        &borrow_contents(&zero),
        &borrow_contents(&later),
    );
    assert_eq!(bytes_of(&deltas), [("rdmap0s6", 3210, 5000)]);
    assert_eq!(deltas[0].retransmits, Some(7));
}

#[test]
fn converts_infiniband_counters_from_words_to_bytes() {
    let at = |name: &str| format!("sys/class/infiniband/mlx5_0/ports/1/counters/{name}");
    let (sent, received) = (at("port_xmit_data"), at("port_rcv_data"));
    let deltas = counter_difference(
        &[rail(Some("mlx5_0"), None)],
        &[(&sent, "100"), (&received, "100")],
        &[(&sent, "150"), (&received, "101")],
    );
    assert_eq!(bytes_of(&deltas), [("mlx5_0", 200, 4)]);
    assert_eq!((deltas[0].tx_packets, deltas[0].rx_packets), (None, None));
}

#[test]
fn slowest_port_determines_the_refresh_interval() {
    let tree = Tree::new();
    let rails = [
        rail(Some("rdmap0s6"), None),
        rail(Some("rdmap1s0"), None),
        rail(Some("eth0"), None),
    ];
    let interval = || refresh_interval(&rails, &tree.roots());
    assert_eq!(interval(), Duration::ZERO);
    let counters = |device: &str, file: &str, text: &str| {
        tree.file(
            &format!("sys/class/infiniband/{device}/ports/1/hw_counters/{file}"),
            text,
        );
    };
    counters("rdmap0s6", "tx_bytes", "0");
    assert_eq!(interval(), Duration::from_millis(DEFAULT_LIFESPAN_MILLIS) + TICKS);
    counters("rdmap0s6", "lifespan", "0");
    assert_eq!(interval(), TICKS);
    counters("rdmap1s0", "tx_bytes", "0");
    counters("rdmap1s0", "lifespan", "99999");
    assert_eq!(interval(), Duration::from_millis(MAX_LIFESPAN_MILLIS) + TICKS);
}

#[test]
fn omits_ports_without_byte_counters() {
    let path = "sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts";
    assert_eq!(
        counter_difference(&[rail(Some("rxe0"), None)], &[(path, "1")], &[(path, "2")]),
        []
    );
}

#[test]
fn reports_zero_for_counters_that_were_reset() {
    let before = NET_DEV;
    let after = NET_DEV.replace("1000 ", "1 ").replace("2000 ", "2 ");
    let deltas = counter_difference(
        &[rail(Some("eth0"), None)],
        &[("proc/self/net/dev", before)],
        &[("proc/self/net/dev", &after)],
    );
    assert_eq!(bytes_of(&deltas), [("eth0", 0, 0)]);
}

#[test]
fn counts_traffic_over_the_loopback_interface() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut rails = [RailFacts {
        address: listener.local_addr().unwrap().to_string(),
        ..RailFacts::default()
    }];
    let roots = SystemRoots::default();
    super::super::complete_rail_facts(&mut rails, None, &roots);
    let before = CounterReading::take(&rails, &roots);
    let mut sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    std::io::Write::write_all(&mut sender, &[7; 50_000]).unwrap();
    drop(sender);
    std::io::copy(&mut receiver, &mut std::io::sink()).unwrap();
    let after = CounterReading::take(&rails, &roots);
    let deltas = delta(&before, &after, &rails);
    assert_eq!(deltas.len(), 1);
    assert!(
        deltas[0].tx_bytes >= 50_000 && deltas[0].rx_bytes >= 50_000,
        "{deltas:?}"
    );
    assert!(deltas[0].interval_nanos > 0);
}

/// Files of a soft-RoCE device on interface `veth0`. `packets` contains its numbers of sent and received packets.
fn soft_roce(packets: (u64, u64)) -> Vec<(String, String)> {
    let counter = |name: &str| format!("sys/class/infiniband/rxe0/ports/1/hw_counters/{name}");
    vec![
        ("sys/class/infiniband/rxe0/parent".to_owned(), "veth0".to_owned()),
        ("sys/class/net/veth0/mtu".to_owned(), "9000".to_owned()),
        (counter(SENT_PACKETS), packets.0.to_string()),
        (counter(RECEIVED_PACKETS), packets.1.to_string()),
    ]
}

#[test]
fn a_software_device_counts_packets_and_uses_the_bytes_of_its_interface() {
    let rails = [rail(Some("rxe0"), None)];
    let line =
        |received: u64, sent: u64| format!("a\nb\n veth0: {received} 0 0 0 0 0 0 0 {sent} 0 0 0 0 0 0 0");
    let tree = Tree::new();
    let readings = [((3, 5), line(1000, 2000)), ((13, 25), line(81_000, 42_000))].map(|(packets, bytes)| {
        for (path, text) in soft_roce(packets) {
            tree.file(&path, &text);
        }
        tree.file("proc/self/net/dev", &bytes);
        CounterReading::take(&rails, &tree.roots())
    });
    let deltas = delta(&readings[0], &readings[1], &rails);
    assert_eq!(bytes_of(&deltas), [("rxe0", 40_000, 80_000)]);
    let expected = SoftwareDevice {
        interface: "veth0".to_owned(),
        packet_bytes: 9000,
        tx_packets: 10,
        rx_packets: 20,
    };
    assert_eq!(deltas[0].software, Some(expected));
    // The kernel caches its packet counters.
    assert!(refresh_interval(&rails, &tree.roots()) > TICKS);
}

#[test]
fn a_software_device_without_an_interface_has_no_counters() {
    let rails = [rail(Some("rxe0"), None)];
    let tree = Tree::new();
    for (path, text) in soft_roce((0, 0)) {
        tree.file(&path, &text);
    }
    tree.file("sys/class/infiniband/rxe0/parent", "../veth0");
    assert!(CounterReading::take(&rails, &tree.roots()).interfaces.is_empty());
}
