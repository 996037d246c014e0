//! The line rate of the links between workers. No correct measurement exceeds it.

use std::collections::BTreeMap;

use super::FabricFacts;

/// Fraction by which a payload rate may exceed the line rate. A library may report completions for data that is still
/// in its buffers, so the reported payload can exceed the transmitted payload by at most the size of these buffers.
pub const LINE_RATE_TOLERANCE: f64 = 0.01;

impl FabricFacts {
    /// Returns the line rate of the links of all rails, in bits per second. `None` unless it is known for every rail.
    pub fn line_rate(&self) -> Option<u64> {
        self.line_rate_of(0..self.rails.len())
    }

    /// Returns the line rate of the links of the rails that carried bytes, in bits per second. `None` unless at least
    /// one rail carried bytes and the line rate is known for every such rail.
    pub fn line_rate_of_used_rails(&self, bytes_per_rail: &[u64]) -> Option<u64> {
        let used = bytes_per_rail.iter().enumerate().filter(|(_, bytes)| **bytes > 0);
        self.line_rate_of(used.map(|(rail, _)| rail))
    }

    /// Returns the sum of the line rates of the links that `rails` use; `None` unless the rate is known for each of
    /// these rails. Rails on the same interface share its link, whose rate is taken from the first of them. The rate
    /// that a virtual interface reports is not a limit, so the rate of a rail without a PCI device counts as unknown.
    fn line_rate_of(&self, rails: impl Iterator<Item = usize>) -> Option<u64> {
        let links = rails.map(|rail| {
            let rail = self.rails.get(rail)?;
            rail.pci.as_ref()?;
            Some((rail.interface.as_deref()?, rail.line_bits_per_second?))
        });
        let mut rates: BTreeMap<&str, u64> = BTreeMap::new();
        for link in links {
            let (interface, rate) = link?;
            rates.entry(interface).or_insert(rate);
        }
        Some(rates.into_values().fold(0, u64::saturating_add)).filter(|sum| *sum > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RailFacts;

    fn rail(interface: &str, pci: Option<&str>, gigabits: Option<u64>) -> RailFacts {
        RailFacts {
            interface: Some(interface.to_owned()),
            pci: pci.map(str::to_owned),
            line_bits_per_second: gigabits.map(|rate| rate * 1_000_000_000),
            ..RailFacts::default()
        }
    }

    fn facts(rails: Vec<RailFacts>) -> FabricFacts {
        FabricFacts {
            rails,
            ..FabricFacts::default()
        }
    }

    const PCI: Option<&str> = Some("0000:53:00.0");

    #[test]
    fn each_interface_counts_once_and_all_rates_must_be_known() {
        let two = vec![
            rail("a", PCI, Some(100)),
            rail("a", PCI, Some(100)),
            rail("b", PCI, Some(200)),
        ];
        assert_eq!(facts(two).line_rate(), Some(300_000_000_000));
        let unknown = vec![rail("a", PCI, Some(100)), rail("b", PCI, None)];
        assert_eq!(facts(unknown).line_rate(), None);
        assert_eq!(facts(vec![rail("eth0", None, Some(10))]).line_rate(), None);
        assert_eq!(facts(Vec::new()).line_rate(), None);
        let different = vec![rail("a", PCI, Some(100)), rail("a", PCI, Some(200))];
        assert_eq!(facts(different).line_rate(), Some(100_000_000_000));
    }

    #[test]
    fn only_rails_that_carried_bytes_count() {
        let facts = facts(vec![rail("a", PCI, Some(100)), rail("b", PCI, None)]);
        assert_eq!(facts.line_rate_of_used_rails(&[1, 0]), Some(100_000_000_000));
        assert_eq!(facts.line_rate_of_used_rails(&[1, 1]), None);
        assert_eq!(facts.line_rate_of_used_rails(&[0, 0]), None);
        // The worker reports bytes on rail 2, but has only rails 0 and 1.
        assert_eq!(facts.line_rate_of_used_rails(&[1, 0, 1]), None);
    }
}
