//! Rail sources of each rank, for runs whose workers are all on this machine. Reads the list of RDMA devices in sysfs.

use std::fs;
use std::net::Ipv6Addr;
use std::path::Path;

use crds::v1alpha1::{Libfabric, LibfabricProvider, TransportSpec};

/// Directory where the kernel lists the RDMA devices.
pub(super) const RDMA_DEVICES: &str = "/sys/class/infiniband";
/// Maximum number of entries that are read from a GID table.
const MAX_GIDS: u32 = 256;

/// An RDMA device whose port 1 is active.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RdmaDevice {
    name: String,
    /// IPv4 address of its interface.
    address: Option<String>,
}

/// Returns the rail sources of each rank, or an empty list if the workers choose them.
///
/// If a transport uses RDMA devices and there are enough of them, every rail of every rank uses a different device,
/// because a device that communicates with itself may not send the data over its link. Otherwise, rails over IP get loopback
/// addresses: rail `i` has the address 127.0.0.`i+1`, so the rails of a rank have different addresses on one interface. All
/// ranks use the same addresses, because their endpoints have different ports.
pub(super) fn rail_sources(transports: &[&TransportSpec], workers: u32, devices: &Path) -> Vec<Vec<String>> {
    let rdma = transports.iter().find(|transport| transport.uses_rdma_devices());
    if let Some(transport) = rdma {
        // Without an address, libfabric 1.17 does not find a verbs device.
        let by_address = transports.iter().any(|transport| uses_libfabric_verbs(transport));
        let of_ranks = assign_devices(&active_devices(devices), by_address, workers, transport.rails());
        if let Some(of_ranks) = of_ranks {
            return of_ranks;
        }
    }
    let ip = transports.iter().find(|transport| transport.uses_ip());
    let addresses = ip.map(|transport| {
        let rails = 1..=transport.rails();
        rails.map(|rail| format!("127.0.0.{rail}")).collect::<Vec<_>>()
    });
    addresses
        .map(|addresses| vec![addresses; workers as usize])
        .unwrap_or_default()
}

fn uses_libfabric_verbs(transport: &TransportSpec) -> bool {
    matches!(
        transport,
        TransportSpec::Libfabric(Libfabric {
            provider: LibfabricProvider::Verbs,
            ..
        })
    )
}

/// Assigns a different device to each of `rails` rails on each of `workers` ranks; `None` if there are not enough devices.
fn assign_devices(
    devices: &[RdmaDevice],
    by_address: bool,
    workers: u32,
    rails: u32,
) -> Option<Vec<Vec<String>>> {
    let source = |device: &RdmaDevice| match by_address {
        true => device.address.clone(),
        false => Some(device.name.clone()),
    };
    let sources: Vec<String> = devices.iter().filter_map(source).collect();
    let needed = workers as usize * rails as usize;
    let of_ranks = sources.get(..needed)?.chunks(rails as usize);
    Some(of_ranks.map(<[String]>::to_vec).collect())
}

/// Returns the RDMA devices in the `devices` directory whose port 1 is active, sorted by name.
fn active_devices(devices: &Path) -> Vec<RdmaDevice> {
    let Ok(entries) = fs::read_dir(devices) else {
        return Vec::new();
    };
    let mut found: Vec<RdmaDevice> = entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name().into_string().ok()?;
            let port = devices.join(&name).join("ports/1");
            let state = fs::read_to_string(port.join("state")).ok()?;
            let is_active = state.contains("ACTIVE");
            let gid = |index: u32| {
                let text = fs::read_to_string(port.join("gids").join(index.to_string())).ok()?;
                let address = text.trim().parse::<Ipv6Addr>().ok()?.to_ipv4_mapped()?;
                Some(address.to_string())
            };
            is_active.then(|| RdmaDevice {
                name,
                address: (0..MAX_GIDS).find_map(gid),
            })
        })
        .collect();
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    found
}

#[cfg(test)]
mod tests {
    use crds::v1alpha1::Verbs;

    use super::*;

    fn libfabric(provider: LibfabricProvider, rails: u32) -> TransportSpec {
        TransportSpec::Libfabric(Libfabric { provider, rails })
    }

    fn sources(transports: &[TransportSpec], devices: &Path) -> Vec<Vec<String>> {
        let transports: Vec<_> = transports.iter().collect();
        rail_sources(&transports, 2, devices)
    }

    /// Creates a directory with devices that have the addresses 10.0.0.1, 10.0.0.2 and so on, and with one device that is
    /// not active.
    fn machine_with_devices(active: u32) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..=active {
            let port = directory.path().join(format!("rxe{number}/ports/1"));
            fs::create_dir_all(port.join("gids")).unwrap();
            let state = if number < active {
                "4: ACTIVE\n"
            } else {
                "1: DOWN\n"
            };
            fs::write(port.join("state"), state).unwrap();
            let gid = format!("0000:0000:0000:0000:0000:ffff:0a00:000{}\n", number + 1);
            fs::write(port.join("gids/0"), "fe80:0000:0000:0000:0000:0000:0000:0001\n").unwrap();
            fs::write(port.join("gids/1"), gid).unwrap();
        }
        directory
    }

    #[test]
    fn each_ip_rail_has_its_own_loopback_address() {
        let found = sources(&[libfabric(LibfabricProvider::Tcp, 3)], Path::new("/nonexistent"));
        assert_eq!(found[0], ["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
        assert_eq!(found[1], found[0]);
    }

    #[test]
    fn ranks_have_different_rdma_devices() {
        let machine = machine_with_devices(4);
        let verbs = TransportSpec::Verbs(Verbs::new(2));
        let found = sources(&[verbs], machine.path());
        assert_eq!(found, [["rxe0", "rxe1"], ["rxe2", "rxe3"]]);
    }

    #[test]
    fn libfabric_finds_verbs_devices_by_address() {
        let machine = machine_with_devices(2);
        let arms = [
            TransportSpec::Verbs(Verbs::new(1)),
            libfabric(LibfabricProvider::Verbs, 1),
        ];
        assert_eq!(sources(&arms, machine.path()), [["10.0.0.1"], ["10.0.0.2"]]);
    }

    #[test]
    fn workers_choose_the_devices_if_there_are_not_enough() {
        let machine = machine_with_devices(1);
        assert!(sources(&[TransportSpec::Verbs(Verbs::new(1))], machine.path()).is_empty());
        assert!(sources(&[libfabric(LibfabricProvider::Shm, 1)], machine.path()).is_empty());
    }
}
