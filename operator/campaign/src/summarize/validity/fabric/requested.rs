//! The data path that a transport requests, and whether the log lines of a command agree with it. Performs no I/O.

use std::collections::BTreeSet;

use command_output::log::{PathClass, class_of};
use crds::record::{LogLine, LogLineKind};
use crds::v1alpha1::{Libfabric, LibfabricProvider, TransportSpec, UcxEmulation, UcxTransport};

/// How a log line relates to the requested path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// The line agrees with the request, or does not show a path.
    Agrees,
    /// The line must be reported as a warning.
    Warns,
    /// The line contradicts the request.
    Contradicts,
}

/// Parts of the UCX lanes and NCCL networks in records of earlier runners that denote kernel sockets.
const SOCKET_LANES: [&str; 3] = ["tcp/", "NET/Socket", "network Socket"];

/// Classes of paths that a transport requests. `None` if the transport requests no path for a command: UCX chooses one
/// itself if it may use all transports.
fn requested_classes(transport: &TransportSpec) -> Option<Vec<PathClass>> {
    match transport {
        TransportSpec::Loopback(_) => None,
        TransportSpec::Ucx(ucx) if ucx.uses_all() => None,
        TransportSpec::Libfabric(libfabric) => Some(vec![class_of(libfabric.provider.name())]),
        TransportSpec::Ucx(ucx) => {
            let classes = ucx.transports.iter().map(|transport| class_of(transport.name()));
            Some(classes.collect())
        }
        TransportSpec::Nixl(_) | TransportSpec::Verbs(_) => Some(vec![PathClass::Rdma]),
    }
}

/// Whether a transport requests RDMA devices.
fn requests_rdma(transport: &TransportSpec) -> bool {
    requested_classes(transport).is_some_and(|classes| classes.contains(&PathClass::Rdma))
}

/// The first of the `lanes` that an earlier runner recorded, if all of them are sockets although the transport requests
/// RDMA devices.
pub(super) fn contradicting_lane<'a>(lanes: &'a [String], transport: &TransportSpec) -> Option<&'a str> {
    let is_socket = |lane: &String| SOCKET_LANES.iter().any(|word| lane.contains(word));
    let first = lanes.first()?;
    (requests_rdma(transport) && lanes.iter().all(is_socket)).then_some(first.as_str())
}

/// Names of the data paths in the lines of one case.
pub(super) type UsedNames<'a> = BTreeSet<&'a str>;

/// Collects the names of the data paths in `lines`.
pub(super) fn used_names<'a>(lines: impl Iterator<Item = &'a LogLine>) -> UsedNames<'a> {
    let paths = lines.filter(|line| line.kind == LogLineKind::Path);
    paths.flat_map(|line| &line.names).map(String::as_str).collect()
}

/// Judges `line`. `used` are the names of the data paths in all lines of the same case.
pub(super) fn judge(line: &LogLine, transport: &TransportSpec, used: &UsedNames<'_>) -> Judgement {
    let is_rdma = requests_rdma(transport);
    let names_rdma = used.iter().any(|name| class_of(name) == PathClass::Rdma);
    match line.kind {
        LogLineKind::Path => judge_path(line, requested_classes(transport).as_deref(), names_rdma),
        LogLineKind::Emulation => judge_emulation(transport, is_rdma),
        LogLineKind::Refusal => {
            let is_local = |name: &String| {
                matches!(
                    class_of(name),
                    PathClass::Local | PathClass::Memory | PathClass::Sockets
                )
            };
            let may_be_rdma = line.names.is_empty() || !line.names.iter().all(is_local);
            let is_requested = line.names.iter().any(|name| {
                is_requested_name(transport, name)
                    && !another_lane_is_used(transport, &line.names, name, used)
            });
            if !names_rdma && (is_requested || (is_rdma && may_be_rdma)) {
                Judgement::Contradicts
            } else {
                Judgement::Warns
            }
        }
        LogLineKind::Staging | LogLineKind::Time | LogLineKind::Error | LogLineKind::Unknown => {
            Judgement::Warns
        }
    }
}

fn judge_path(line: &LogLine, requested: Option<&[PathClass]>, names_rdma: bool) -> Judgement {
    let Some(requested) = requested else {
        return Judgement::Agrees;
    };
    let named = classes(line);
    let mut others = named.iter().filter(|class| !requested.contains(class)).peekable();
    if others.peek().is_none() {
        return Judgement::Agrees;
    }
    if !requested.contains(&PathClass::Rdma) || named.contains(&PathClass::Rdma) {
        return Judgement::Warns;
    }
    // Processes on one host use shared memory, in addition to the devices that carry the bytes between hosts.
    match named.contains(&PathClass::Sockets) {
        false if names_rdma => Judgement::Agrees,
        _ => Judgement::Contradicts,
    }
}

fn judge_emulation(transport: &TransportSpec, is_rdma: bool) -> Judgement {
    let contradicts = match transport {
        TransportSpec::Ucx(ucx) => ucx.emulation == UcxEmulation::Deny,
        _ => is_rdma,
    };
    if contradicts {
        Judgement::Contradicts
    } else {
        Judgement::Warns
    }
}

/// Classes of the paths between processes that `line` names.
fn classes(line: &LogLine) -> Vec<PathClass> {
    let classes = line.names.iter().map(|name| class_of(name));
    classes
        .filter(|class| !matches!(class, PathClass::Local | PathClass::Unknown))
        .collect()
}

/// Whether each requested transport of UCX that `name` belongs to is an alias, one of whose lanes in `used` is not among those
/// that were `refused`. UCX chooses one of the lanes of an alias.
fn another_lane_is_used(
    transport: &TransportSpec,
    refused: &[String],
    name: &str,
    used: &UsedNames<'_>,
) -> bool {
    let TransportSpec::Ucx(ucx) = transport else {
        return false;
    };
    let mut requested = ucx.transports.iter().filter(|one| **one != UcxTransport::All);
    requested.all(|alias| {
        let is_other = |lane: &&str| alias.serves(lane) && !refused.iter().any(|name| name == lane);
        alias.name() != name && (!alias.serves(name) || used.iter().any(is_other))
    })
}

/// Whether `name` is exactly a transport or provider that the spec requests.
fn is_requested_name(transport: &TransportSpec, name: &str) -> bool {
    match transport {
        TransportSpec::Libfabric(Libfabric { provider, .. }) => {
            let core = provider.name().split(';').next().unwrap_or_default();
            name == provider.name()
                || name == core
                || (*provider == LibfabricProvider::EfaDirect && name == "efa")
        }
        TransportSpec::Ucx(ucx) => {
            // `all` requests none of its transports in particular.
            let mut transports = ucx.transports.iter().filter(|one| **one != UcxTransport::All);
            transports.any(|transport: &UcxTransport| transport.name() == name || transport.serves(name))
        }
        TransportSpec::Nixl(nixl) => name == nixl.backend.name(),
        TransportSpec::Loopback(_) | TransportSpec::Verbs(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use crds::record::CommandLog;
    use crds::v1alpha1::{Loopback, Nixl, NixlBackend, Ucx};

    use super::*;

    fn libfabric(provider: LibfabricProvider) -> TransportSpec {
        TransportSpec::Libfabric(Libfabric { provider, rails: 1 })
    }

    fn ucx(transports: &[UcxTransport]) -> TransportSpec {
        TransportSpec::Ucx(Ucx::new(transports.to_vec(), 1))
    }

    fn line(kind: LogLineKind, names: &[&str]) -> LogLine {
        LogLine {
            rule: None,
            kind,
            names: names.iter().map(|&name| name.to_owned()).collect(),
            from_bytes: None,
            to_bytes: None,
            text: String::new(),
            program: None,
            stream: None,
            line: 1,
        }
    }

    #[test]
    fn another_path_contradicts_only_a_request_for_rdma() {
        use Judgement::{Agrees, Contradicts, Warns};
        let rdma = [
            libfabric(LibfabricProvider::Efa),
            libfabric(LibfabricProvider::Verbs),
            ucx(&[UcxTransport::Rc]),
            TransportSpec::Nixl(Nixl::new(NixlBackend::Ucx, 1)),
        ];
        let path = |names: &[&str]| line(LogLineKind::Path, names);
        for transport in &rdma {
            for (names, with_rdma, without) in [
                (&["Socket"][..], Contradicts, Contradicts),
                (&["tcp"], Contradicts, Contradicts),
                (&["sysv", "cma"], Agrees, Contradicts),
                (&["rc_mlx5", "tcp"], Warns, Warns),
                (&["efa"], Agrees, Agrees),
                (&["self"], Agrees, Agrees),
                (&["Libfabric"], Agrees, Agrees),
            ] {
                assert_eq!(
                    judge(&path(names), transport, &UsedNames::from(["efa"])),
                    with_rdma,
                    "{transport:?} {names:?}"
                );
                assert_eq!(
                    judge(&path(names), transport, &UsedNames::new()),
                    without,
                    "{transport:?} {names:?}"
                );
            }
        }
        let tcp = libfabric(LibfabricProvider::Tcp);
        for (names, expected) in [(&["tcp"][..], Agrees), (&["efa"], Warns), (&["sysv"], Warns)] {
            assert_eq!(
                judge(&path(names), &tcp, &UsedNames::new()),
                expected,
                "{names:?}"
            );
        }
        let both = ucx(&[UcxTransport::Rc, UcxTransport::Tcp]);
        assert_eq!(judge(&path(&["tcp"]), &both, &UsedNames::new()), Agrees);
        let loopback = TransportSpec::Loopback(Loopback { rails: 1 });
        for any in [loopback, ucx(&[UcxTransport::All])] {
            for names in [&["tcp"][..], &["rc_mlx5"], &["posix", "cma"]] {
                assert_eq!(
                    judge(&path(names), &any, &UsedNames::new()),
                    Agrees,
                    "{any:?} {names:?}"
                );
            }
        }
    }

    #[test]
    fn lanes_of_earlier_records_contradict_if_all_are_sockets() {
        let recorded: CommandLog =
            serde_json::from_str(r#"{"lanes": ["tag(tcp/eth0)", "NET/Socket/0"]}"#).unwrap();
        let efa = libfabric(LibfabricProvider::Efa);
        assert_eq!(contradicting_lane(&recorded.lanes, &efa), Some("tag(tcp/eth0)"));
        let tcp = libfabric(LibfabricProvider::Tcp);
        assert_eq!(contradicting_lane(&recorded.lanes, &tcp), None);
        let mixed = ["tag(tcp/eth0 rc_mlx5/mlx5_0:1)", "tag(rc_mlx5/mlx5_0:1)"].map(str::to_owned);
        assert_eq!(contradicting_lane(&mixed, &efa), None);
        assert_eq!(contradicting_lane(&[], &efa), None);
    }

    #[test]
    fn refusals_contradict_a_request_for_what_was_refused() {
        use Judgement::{Contradicts, Warns};
        let refusal = |names: &[&str]| line(LogLineKind::Refusal, names);
        let efa = libfabric(LibfabricProvider::Efa);
        for (names, expected) in [
            (&["libnccl-net-ofi.so"][..], Contradicts),
            (&[], Contradicts),
            (&["cuda_copy", "rc_mlx5"], Contradicts),
            (&["cuda_copy", "sysv"], Warns),
        ] {
            assert_eq!(
                judge(&refusal(names), &efa, &UsedNames::new()),
                expected,
                "{names:?}"
            );
            assert_eq!(
                judge(&refusal(names), &efa, &UsedNames::from(["efa"])),
                Warns,
                "{names:?}"
            );
        }
        let tcp = libfabric(LibfabricProvider::Tcp);
        assert_eq!(judge(&refusal(&["rc_mlx5"]), &tcp, &UsedNames::new()), Warns);
        assert_eq!(judge(&refusal(&["tcp"]), &tcp, &UsedNames::new()), Contradicts);
        assert_eq!(
            judge(&refusal(&["posix"]), &ucx(&[UcxTransport::Sm]), &UsedNames::new()),
            Contradicts
        );
        // UCX uses another lane of the alias.
        let sm = ucx(&[UcxTransport::Tcp, UcxTransport::Sm]);
        for (refused, used, expected) in [
            (&["knem"][..], &["posix"][..], Warns),
            (&["cma"], &["sysv", "cma"], Warns),
            (&["knem", "cma", "xpmem"], &["sysv"], Warns),
            (&["knem"], &["tcp"], Contradicts),
            (&["posix", "cma"], &["posix", "cma"], Contradicts),
            (&["sm"], &["posix"], Contradicts),
            (&["tcp"], &["posix"], Contradicts),
        ] {
            let used = used.iter().copied().collect();
            assert_eq!(judge(&refusal(refused), &sm, &used), expected, "{refused:?}");
        }
        let named = ucx(&[UcxTransport::Sm, UcxTransport::Knem]);
        assert_eq!(
            judge(&refusal(&["knem"]), &named, &UsedNames::from(["posix"])),
            Contradicts
        );
        // UCX uses another one of all transports.
        assert_eq!(
            judge(&refusal(&["knem"]), &ucx(&[UcxTransport::All]), &UsedNames::new()),
            Warns
        );
    }

    #[test]
    fn emulation_contradicts_unless_the_spec_allows_it() {
        use Judgement::{Contradicts, Warns};
        let emulation = line(LogLineKind::Emulation, &["tcp"]);
        let mut allowed = Ucx::new(vec![UcxTransport::Tcp], 1);
        assert_eq!(
            judge(
                &emulation,
                &TransportSpec::Ucx(allowed.clone()),
                &UsedNames::new()
            ),
            Contradicts
        );
        allowed.emulation = UcxEmulation::Allow;
        assert_eq!(
            judge(&emulation, &TransportSpec::Ucx(allowed), &UsedNames::new()),
            Warns
        );
        assert_eq!(
            judge(&emulation, &libfabric(LibfabricProvider::Efa), &UsedNames::new()),
            Contradicts
        );
        assert_eq!(
            judge(&emulation, &libfabric(LibfabricProvider::Tcp), &UsedNames::new()),
            Warns
        );
    }

    #[test]
    fn other_lines_never_contradict() {
        for kind in [
            LogLineKind::Staging,
            LogLineKind::Time,
            LogLineKind::Error,
            LogLineKind::Unknown,
        ] {
            let found = judge(
                &line(kind, &["tcp"]),
                &libfabric(LibfabricProvider::Efa),
                &UsedNames::new(),
            );
            assert_eq!(found, Judgement::Warns, "{kind:?}");
        }
    }
}
