//! Which device each rail is on, where every rail is a NIC of its own.

use super::offer::Offer;

/// The offer that each rail takes, by index. Named rails take their device; without names rails take the devices in
/// the order of the domains' names, so that rail numbers mean the same in every process and release.
///
/// # Errors
///
/// In words, where there are fewer devices than rails, a device is not there, or one is named twice.
pub(in crate::transport::libfabric) fn choose(
    offers: &[Offer],
    names: &[String],
    rails: usize,
) -> Result<Vec<usize>, String> {
    let devices = by_device(offers);
    let there: Vec<_> = devices
        .iter()
        .map(|&index| offers[index].domain.as_str())
        .collect();
    let there = there.join(", ");
    if names.is_empty() {
        if devices.len() < rails {
            return Err(format!(
                "{rails} rails wanted and {} devices there ({there}): every rail is a NIC of its own",
                devices.len()
            ));
        }
        return Ok(devices[..rails].to_vec());
    }
    let mut chosen = Vec::with_capacity(names.len());
    for name in names {
        let index = devices.iter().copied().find(|&index| offers[index].is_on(name));
        let index = index.ok_or_else(|| format!("no device {name}; there are: {there}"))?;
        if chosen.contains(&index) {
            return Err(format!("device {name} is named for two rails"));
        }
        chosen.push(index);
    }
    Ok(chosen)
}

/// One offer of each device, by the domains' names.
fn by_device(offers: &[Offer]) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..offers.len()).collect();
    indexes.sort_by(|&a, &b| offers[a].domain.cmp(&offers[b].domain));
    indexes.dedup_by(|a, b| offers[*a].domain == offers[*b].domain);
    indexes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three offers of two devices, out of order, as an instance with two EFAs gives them.
    fn offers() -> Vec<Offer> {
        let offer = |domain: &str| Offer {
            domain: domain.to_owned(),
            ..Offer::default()
        };
        vec![
            offer("rdmap1s0-rdm"),
            offer("rdmap0s6-rdm"),
            offer("rdmap1s0-rdm"),
        ]
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn devices_are_counted_once_and_in_order() {
        assert_eq!(choose(&offers(), &[], 2), Ok(vec![1, 0]));
        assert_eq!(choose(&offers(), &[], 1), Ok(vec![1]));
    }

    #[test]
    fn more_rails_than_devices_are_refused_with_both_numbers() {
        let message = choose(&offers(), &[], 3).unwrap_err();
        assert!(
            message.starts_with("3 rails wanted and 2 devices there (rdmap0s6-rdm, rdmap1s0-rdm)"),
            "{message}"
        );
    }

    #[test]
    fn rails_go_to_the_devices_that_are_named() {
        assert_eq!(
            choose(&offers(), &names(&["rdmap1s0", "rdmap0s6"]), 2),
            Ok(vec![0, 1])
        );
        assert!(
            choose(&offers(), &names(&["mlx5_0"]), 1)
                .unwrap_err()
                .contains("no device mlx5_0; there are: rdmap0s6")
        );
        assert!(
            choose(&offers(), &names(&["rdmap0s6", "rdmap0s6-rdm"]), 2)
                .unwrap_err()
                .contains("two rails")
        );
    }
}
