//! A map that follows one kind of object. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The objects of one kind, by key. Several watches, one a scope, may feed it.
#[derive(Debug)]
pub(in crate::run_controller) struct Mirror<K, V> {
    state: Mutex<State<K, V>>,
}

#[derive(Debug)]
struct State<K, V> {
    objects: BTreeMap<K, (usize, V)>,
    /// What a list that is not complete yet has named, by scope.
    listing: BTreeMap<usize, BTreeSet<K>>,
}

impl<K: Clone + Ord, V: Clone> Mirror<K, V> {
    pub(in crate::run_controller) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                objects: BTreeMap::new(),
                listing: BTreeMap::new(),
            }),
        }
    }

    pub(in crate::run_controller) fn get(&self, key: &K) -> Option<V> {
        self.lock().objects.get(key).map(|(_, value)| value.clone())
    }

    /// The objects from the key `from` on, as long as `belongs` holds for theirs.
    pub(in crate::run_controller) fn from(&self, from: &K, belongs: impl Fn(&K) -> bool) -> Vec<V> {
        let state = self.lock();
        let range = state.objects.range(from..);
        let belonging = range.take_while(|(key, _)| belongs(key));
        belonging.map(|(_, (_, value))| value.clone()).collect()
    }

    /// Every object.
    pub(in crate::run_controller) fn all(&self) -> Vec<V> {
        self.lock()
            .objects
            .values()
            .map(|(_, value)| value.clone())
            .collect()
    }

    /// Keys of those for which `wanted` holds.
    pub(in crate::run_controller) fn keys(&self, wanted: impl Fn(&V) -> bool) -> Vec<K> {
        let state = self.lock();
        let found = state.objects.iter().filter(|(_, (_, value))| wanted(value));
        found.map(|(key, _)| key.clone()).collect()
    }

    /// The object was seen outside of a watch; what the watch showed is newer. A list that has begun may not name it.
    pub(in crate::run_controller) fn put_new(&self, scope: usize, key: K, value: V) {
        let mut state = self.lock();
        if let Some(listing) = state.listing.get_mut(&scope) {
            listing.insert(key.clone());
        }
        state.objects.entry(key).or_insert((scope, value));
    }

    /// A new list of `scope` begins.
    pub(super) fn begin(&self, scope: usize) {
        self.lock().listing.insert(scope, BTreeSet::new());
    }

    /// The object is there, and as it is now. Gives what it was before.
    pub(super) fn put(&self, scope: usize, key: K, value: V) -> Option<V> {
        let mut state = self.lock();
        if let Some(listing) = state.listing.get_mut(&scope) {
            listing.insert(key.clone());
        }
        state
            .objects
            .insert(key, (scope, value))
            .map(|(_, before)| before)
    }

    pub(super) fn remove(&self, key: &K) -> Option<V> {
        self.lock().objects.remove(key).map(|(_, value)| value)
    }

    /// The list of `scope` is complete; what it did not name is gone, and is given back.
    pub(super) fn complete(&self, scope: usize) -> Vec<(K, V)> {
        let mut state = self.lock();
        let Some(listed) = state.listing.remove(&scope) else {
            return Vec::new();
        };
        let gone = |(key, (of, _)): &(&K, &(usize, V))| *of == scope && !listed.contains(*key);
        let gone: Vec<K> = state
            .objects
            .iter()
            .filter(gone)
            .map(|(key, _)| key.clone())
            .collect();
        let removed = gone.into_iter().filter_map(|key| {
            let (_, value) = state.objects.remove(&key)?;
            Some((key, value))
        });
        removed.collect()
    }

    fn lock(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_removes_what_it_does_not_name_and_only_in_its_scope() {
        let mirror = Mirror::new();
        mirror.put(0, "a", 1);
        mirror.put(0, "b", 2);
        mirror.put(1, "c", 3);
        mirror.begin(0);
        mirror.put(0, "b", 4);
        assert_eq!(
            mirror.get(&"a"),
            Some(1),
            "nothing is gone before the list is complete"
        );
        assert_eq!(mirror.complete(0), [("a", 1)]);
        assert_eq!(
            (mirror.get(&"a"), mirror.get(&"b"), mirror.get(&"c")),
            (None, Some(4), Some(3))
        );
        assert_eq!(mirror.complete(0), [], "no list was begun");
    }

    #[test]
    fn what_was_created_while_a_list_was_read_is_not_gone() {
        let mirror = Mirror::new();
        mirror.begin(0);
        mirror.put_new(0, "a", 1);
        assert_eq!(mirror.complete(0), []);
        assert_eq!(mirror.get(&"a"), Some(1));
    }
}
