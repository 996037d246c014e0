//! Checks that the library returned the requested provider and used no protocol that the spec excludes.

use crds::protocols;
use crds::record::FabricFacts;
use crds::v1alpha1::{FabricProof, LibfabricProvider, TransportSpec, Ucx, unrequested_lane};

use crate::collect::Case;
use crate::plan::Plan;
use crate::summarize::validity::case_check::CaseProof;
use crate::summarize::workers::endpoints::EndpointIndex;

/// Returns a `Contradicted` proof if the library returned a provider other than the requested one, or used a protocol
/// that the spec excludes.
pub(super) fn contradiction(plan: &Plan, case: &Case, endpoints: &EndpointIndex<'_>) -> Option<CaseProof> {
    let mut ranks = [case.initiator, case.target].into_iter();
    let returned = ranks.find_map(|rank| {
        let facts = endpoints.facts_of_case(case, rank)?;
        let transport = plan.transport_of(plan.arms.get(case.arm)?);
        let requested = requested_if_different(transport, facts)?;
        Some(format!("requested {requested}, but {}", describe_returned(facts)))
    });
    let reason = returned.or_else(|| match plan.transport_of(plan.arms.get(case.arm)?) {
        TransportSpec::Ucx(ucx) => protocols::excluded(&endpoints.protocols(case.arm)?.uses, ucx),
        TransportSpec::Nixl(nixl) => {
            protocols::other_backend(&endpoints.protocols(case.arm)?.uses, nixl.backend)
        }
        _ => None,
    })?;
    Some(CaseProof {
        proof: FabricProof::Contradicted,
        reason,
    })
}

/// Describes what the library returned.
fn describe_returned(facts: &FabricFacts) -> String {
    let lanes: Vec<_> = facts.rails.iter().flat_map(|rail| &rail.lanes).cloned().collect();
    if lanes.is_empty() {
        format!(
            "the library returned provider {}, fabric {}",
            facts.provider, facts.fabric
        )
    } else {
        format!("the library used the lanes {}", lanes.join(", "))
    }
}

/// Whether all lanes of a rail, recorded as `transport/device`, use transports of the spec.
fn are_lanes_of(ucx: &Ucx, lanes: &[String]) -> bool {
    let names: Vec<_> = lanes.iter().filter_map(|lane| lane.split('/').next()).collect();
    unrequested_lane(&ucx.transports, &names).is_none()
}

/// Returns the requested provider if `facts` differ from it.
fn requested_if_different(transport: &TransportSpec, facts: &FabricFacts) -> Option<String> {
    let provider = facts.provider.as_str();
    let (requested, is_requested) = match transport {
        TransportSpec::Loopback(_) => ("loopback".to_owned(), facts.library.is_none()),
        TransportSpec::Libfabric(libfabric) => {
            let is_requested = match libfabric.provider {
                // Before libfabric 1.18, the native TCP provider was called `net`.
                LibfabricProvider::Tcp => matches!(provider, "tcp" | "net"),
                LibfabricProvider::Net => provider == "net",
                LibfabricProvider::TcpRxm => provider == "tcp;ofi_rxm",
                LibfabricProvider::Shm => provider == "shm",
                LibfabricProvider::Verbs => provider == "verbs;ofi_rxm",
                LibfabricProvider::Efa => provider == "efa" && facts.fabric != "efa-direct",
                LibfabricProvider::EfaDirect => provider == "efa" && facts.fabric == "efa-direct",
            };
            (format!("provider {}", libfabric.provider.name()), is_requested)
        }
        TransportSpec::Ucx(ucx) => {
            let is_requested = facts.library.as_ref().is_some_and(|found| found.name == "ucx")
                && facts.rails.iter().all(|rail| are_lanes_of(ucx, &rail.lanes));
            let names: Vec<_> = ucx.transports.iter().map(|transport| transport.name()).collect();
            (format!("ucx over {}", names.join(", ")), is_requested)
        }
        // The library chooses its own devices; byte counters show whether a NIC carried the bytes.
        TransportSpec::Nixl(nixl) => {
            let backend = nixl.backend.name();
            let is_nixl = facts.library.as_ref().is_some_and(|found| found.name == "nixl");
            (
                format!("nixl with the backend {backend}"),
                is_nixl && provider == backend,
            )
        }
        TransportSpec::Verbs(_) => (
            "verbs".to_owned(),
            facts
                .library
                .as_ref()
                .is_some_and(|found| found.name == "libibverbs"),
        ),
    };
    (!is_requested).then_some(requested)
}

#[cfg(test)]
mod tests {
    use crds::record::{LibraryFacts, RailFacts};
    use crds::v1alpha1::{Libfabric, Nixl, NixlBackend, UcxTransport};

    use super::*;

    fn facts(provider: &str, fabric: &str) -> FabricFacts {
        FabricFacts {
            provider: provider.into(),
            fabric: fabric.into(),
            ..FabricFacts::default()
        }
    }

    #[test]
    fn reports_a_lane_that_was_not_requested() {
        let requested = TransportSpec::Ucx(Ucx::new(vec![UcxTransport::Tcp], 1));
        let with_lanes = |lanes: &[&str]| FabricFacts {
            library: Some(LibraryFacts {
                name: "ucx".to_owned(),
                ..LibraryFacts::default()
            }),
            rails: vec![RailFacts {
                lanes: lanes.iter().map(|&lane| lane.to_owned()).collect(),
                ..RailFacts::default()
            }],
            ..FabricFacts::default()
        };
        // A library that does not report its lanes is not a contradiction.
        for lanes in [&["tcp/lo"][..], &[]] {
            assert_eq!(
                requested_if_different(&requested, &with_lanes(lanes)),
                None,
                "{lanes:?}"
            );
        }
        let other = with_lanes(&["tcp/lo", "cma/memory"]);
        assert_eq!(
            requested_if_different(&requested, &other),
            Some("ucx over tcp".to_owned())
        );
        assert_eq!(
            describe_returned(&other),
            "the library used the lanes tcp/lo, cma/memory"
        );

        let rc = TransportSpec::Ucx(Ucx::new(vec![UcxTransport::Rc], 1));
        let setup = with_lanes(&["rc_mlx5/mlx5_0:1", "ud_mlx5/mlx5_0:1"]);
        assert_eq!(requested_if_different(&rc, &setup), None);
        assert!(requested_if_different(&rc, &with_lanes(&["ud_mlx5/mlx5_0:1"])).is_some());
    }

    #[test]
    fn reports_a_backend_that_was_not_requested() {
        let requested = TransportSpec::Nixl(Nixl::new(NixlBackend::Ucx, 1));
        let with = |library: &str, provider| FabricFacts {
            library: Some(LibraryFacts {
                name: library.to_owned(),
                ..LibraryFacts::default()
            }),
            ..facts(provider, "nixl")
        };
        assert_eq!(requested_if_different(&requested, &with("nixl", "UCX")), None);
        for other in [with("nixl", "LIBFABRIC"), with("ucx", "UCX")] {
            assert!(requested_if_different(&requested, &other).is_some(), "{other:?}");
        }
    }

    #[test]
    fn reports_a_provider_mismatch() {
        let requested = |provider| TransportSpec::Libfabric(Libfabric { provider, rails: 1 });
        assert_eq!(
            requested_if_different(&requested(LibfabricProvider::Tcp), &facts("net", "a")),
            None
        );
        assert_eq!(
            requested_if_different(&requested(LibfabricProvider::Efa), &facts("efa", "efa")),
            None
        );
        for (provider, found) in [
            (LibfabricProvider::Efa, facts("shm", "shm")),
            (LibfabricProvider::Efa, facts("efa", "efa-direct")),
            (LibfabricProvider::EfaDirect, facts("efa", "efa")),
            (LibfabricProvider::Tcp, facts("tcp;ofi_rxm", "a")),
        ] {
            assert!(
                requested_if_different(&requested(provider), &found).is_some(),
                "{provider:?}"
            );
        }
    }
}
