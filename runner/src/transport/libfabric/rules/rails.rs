//! Assigns a NIC to each rail, for providers that need one NIC per rail. Performs no I/O.

use super::attributes::Attributes;

/// Returns the index of the candidate that is assigned to each rail.
///
/// If `names` is empty, devices are assigned in the order in which `nearest` names them, followed by the remaining
/// devices in domain name order, so that a rail number refers to the same device in every process and with every
/// libfabric release. Otherwise, each rail is assigned the device that `names` lists for the rail.
///
/// # Errors
///
/// Returns a message if there are fewer devices than rails, a named device does not exist, or a device is named twice.
pub(in crate::transport::libfabric) fn assign_devices(
    candidates: &[Attributes],
    names: &[String],
    nearest: &[String],
    rails: usize,
) -> Result<Vec<usize>, String> {
    let mut devices = unique_devices(candidates);
    devices.sort_by_key(|&index| {
        let position = nearest
            .iter()
            .position(|name| candidates[index].matches_device(name));
        position.unwrap_or(usize::MAX)
    });
    let available: Vec<_> = devices
        .iter()
        .map(|&index| candidates[index].domain.as_str())
        .collect();
    let available = available.join(", ");
    if names.is_empty() {
        if devices.len() < rails {
            return Err(format!(
                "{rails} rails requested, but only {} devices available ({available}): each rail needs its own NIC",
                devices.len()
            ));
        }
        return Ok(devices[..rails].to_vec());
    }
    let mut assigned = Vec::with_capacity(names.len());
    for name in names {
        let index = devices
            .iter()
            .copied()
            .find(|&index| candidates[index].matches_device(name));
        let index =
            index.ok_or_else(|| format!("device {name} not found; available devices: {available}"))?;
        if assigned.contains(&index) {
            return Err(format!("device {name} is assigned to two rails"));
        }
        assigned.push(index);
    }
    Ok(assigned)
}

/// Indexes of the candidates, one per device, sorted by domain name.
fn unique_devices(candidates: &[Attributes]) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..candidates.len()).collect();
    indexes.sort_by(|&a, &b| candidates[a].domain.cmp(&candidates[b].domain));
    indexes.dedup_by(|a, b| candidates[*a].domain == candidates[*b].domain);
    indexes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three unsorted candidates for two devices, as libfabric returns them on an instance with two EFAs.
    fn candidates() -> Vec<Attributes> {
        let candidate = |domain: &str| Attributes {
            domain: domain.to_owned(),
            ..Attributes::default()
        };
        vec![
            candidate("rdmap1s0-rdm"),
            candidate("rdmap0s6-rdm"),
            candidate("rdmap1s0-rdm"),
        ]
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn uses_each_device_once_in_name_order() {
        assert_eq!(assign_devices(&candidates(), &[], &[], 2), Ok(vec![1, 0]));
        assert_eq!(assign_devices(&candidates(), &[], &[], 1), Ok(vec![1]));
    }

    #[test]
    fn nearest_devices_come_first() {
        let nearest = names(&["rdmap1s0", "rdmap7s0", "rdmap0s6"]);
        assert_eq!(assign_devices(&candidates(), &[], &nearest, 2), Ok(vec![0, 1]));
        assert_eq!(
            assign_devices(&candidates(), &[], &names(&["rdmap1s0"]), 2),
            Ok(vec![0, 1])
        );
    }

    #[test]
    fn reports_both_numbers_if_rails_outnumber_devices() {
        let message = assign_devices(&candidates(), &[], &[], 3).unwrap_err();
        assert!(
            message
                .starts_with("3 rails requested, but only 2 devices available (rdmap0s6-rdm, rdmap1s0-rdm)"),
            "{message}"
        );
    }

    #[test]
    fn assigns_rails_to_named_devices() {
        assert_eq!(
            assign_devices(&candidates(), &names(&["rdmap1s0", "rdmap0s6"]), &[], 2),
            Ok(vec![0, 1])
        );
        assert!(
            assign_devices(&candidates(), &names(&["mlx5_0"]), &[], 1)
                .unwrap_err()
                .contains("device mlx5_0 not found; available devices: rdmap0s6")
        );
        assert!(
            assign_devices(&candidates(), &names(&["rdmap0s6", "rdmap0s6-rdm"]), &[], 2)
                .unwrap_err()
                .contains("two rails")
        );
    }
}
