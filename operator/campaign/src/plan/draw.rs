//! Draws random orders from a seed.
//!
//! Each item gets a key derived from the seed, the order's subject and the item's name, and the items are sorted by
//! key. Adding or removing an item therefore does not change the order of the other items, and plans do not depend on
//! the version of a random number crate. SHA-256 serves as the pseudorandom function.

use sha2::{Digest, Sha256};

/// Source of random orders derived from one seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw {
    seed: u64,
}

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Draws an order of `items`. Orders for different subjects are independent. The names of the items must be unique.
    pub(super) fn order<T>(
        self,
        subject: &str,
        items: impl IntoIterator<Item = T>,
        name: impl Fn(&T) -> String,
    ) -> Vec<T> {
        let mut keyed: Vec<_> = items
            .into_iter()
            .map(|item| {
                let name = name(&item);
                (self.key(subject, &name), name, item)
            })
            .collect();
        keyed.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        keyed.into_iter().map(|(_, _, item)| item).collect()
    }

    fn key(self, subject: &str, name: &str) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(self.seed.to_be_bytes());
        hasher.update((subject.len() as u64).to_be_bytes());
        hasher.update(subject.as_bytes());
        hasher.update(name.as_bytes());
        hasher.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seed: u64, subject: &str, names: &[&'static str]) -> Vec<&'static str> {
        Draw::new(seed).order(subject, names.iter().copied(), |name| (*name).to_owned())
    }

    #[test]
    fn added_item_does_not_change_the_order_of_the_others() {
        let few = order(42, "round 1", &["a", "b", "c", "d"]);
        let mut more = order(42, "round 1", &["a", "b", "new", "c", "d"]);
        more.retain(|name| *name != "new");
        assert_eq!(few, more);
    }

    #[test]
    fn order_depends_on_seed_and_subject() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        assert_ne!(order(1, "x", &names), order(2, "x", &names));
        assert_ne!(order(1, "x", &names), order(1, "y", &names));
        assert_eq!(order(1, "x", &names), order(1, "x", &names));
    }

    #[test]
    fn every_order_is_equally_likely() {
        let names = ["a", "b", "c"];
        let mut counts = std::collections::BTreeMap::new();
        for round in 0..6000 {
            *counts
                .entry(order(7, &round.to_string(), &names))
                .or_insert(0_u32) += 1;
        }
        // Each of the 6 orders is expected 1000 times, with a standard deviation of 29.
        assert_eq!(counts.len(), 6);
        assert!(
            counts.values().all(|count| (880..=1120).contains(count)),
            "{counts:?}"
        );
    }
}
