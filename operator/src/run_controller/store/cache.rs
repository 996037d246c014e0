//! Cache of objects of one kind. Performs no I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Cache of objects of one kind, by key. Several watches with disjoint scopes may update the cache.
#[derive(Debug)]
pub(in crate::run_controller) struct Cache<K, V> {
    contents: Mutex<Contents<K, V>>,
}

#[derive(Debug)]
struct Contents<K, V> {
    objects: BTreeMap<K, (usize, V)>,
    /// Keys received so far from the list in progress, by scope.
    listing: BTreeMap<usize, BTreeSet<K>>,
}

impl<K: Clone + Ord, V: Clone> Cache<K, V> {
    pub(in crate::run_controller) fn new() -> Self {
        Self {
            contents: Mutex::new(Contents {
                objects: BTreeMap::new(),
                listing: BTreeMap::new(),
            }),
        }
    }

    pub(in crate::run_controller) fn get(&self, key: &K) -> Option<V> {
        self.lock().objects.get(key).map(|(_, value)| value.clone())
    }

    /// Returns the objects with consecutive keys, from `first` up to the first key for which `belongs` is false.
    pub(in crate::run_controller) fn range_from(&self, first: &K, belongs: impl Fn(&K) -> bool) -> Vec<V> {
        let contents = self.lock();
        let range = contents.objects.range(first..);
        let belonging = range.take_while(|(key, _)| belongs(key));
        belonging.map(|(_, (_, value))| value.clone()).collect()
    }

    /// Returns all objects.
    pub(in crate::run_controller) fn all(&self) -> Vec<V> {
        self.lock()
            .objects
            .values()
            .map(|(_, value)| value.clone())
            .collect()
    }

    /// Returns the keys of the objects for which `matches` is true.
    pub(in crate::run_controller) fn keys(&self, matches: impl Fn(&V) -> bool) -> Vec<K> {
        let contents = self.lock();
        let found = contents.objects.iter().filter(|(_, (_, value))| matches(value));
        found.map(|(key, _)| key.clone()).collect()
    }

    /// Inserts an object that was not received from the watch, unless the watch has already reported it. The end of a
    /// list in progress does not remove the object, because the list may have started before the object was created.
    pub(in crate::run_controller) fn insert_if_absent(&self, scope: usize, key: K, value: V) {
        let mut contents = self.lock();
        if let Some(listing) = contents.listing.get_mut(&scope) {
            listing.insert(key.clone());
        }
        contents.objects.entry(key).or_insert((scope, value));
    }

    /// Starts a new list of `scope`.
    pub(super) fn start_list(&self, scope: usize) {
        self.lock().listing.insert(scope, BTreeSet::new());
    }

    /// Inserts or replaces an object. Returns the previous value.
    pub(super) fn insert(&self, scope: usize, key: K, value: V) -> Option<V> {
        let mut contents = self.lock();
        if let Some(listing) = contents.listing.get_mut(&scope) {
            listing.insert(key.clone());
        }
        contents
            .objects
            .insert(key, (scope, value))
            .map(|(_, before)| before)
    }

    pub(super) fn remove(&self, key: &K) -> Option<V> {
        self.lock().objects.remove(key).map(|(_, value)| value)
    }

    /// Ends the list of `scope`. Removes and returns the objects of `scope` that the list did not contain.
    pub(super) fn finish_list(&self, scope: usize) -> Vec<(K, V)> {
        let mut contents = self.lock();
        let Some(listed) = contents.listing.remove(&scope) else {
            return Vec::new();
        };
        let is_gone = |(key, (owner, _)): &(&K, &(usize, V))| *owner == scope && !listed.contains(*key);
        let gone: Vec<K> = contents
            .objects
            .iter()
            .filter(is_gone)
            .map(|(key, _)| key.clone())
            .collect();
        let removed = gone.into_iter().filter_map(|key| {
            let (_, value) = contents.objects.remove(&key)?;
            Some((key, value))
        });
        removed.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Contents<K, V>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_removes_missing_objects_only_in_its_scope() {
        let cache = Cache::new();
        cache.insert(0, "a", 1);
        cache.insert(0, "b", 2);
        cache.insert(1, "c", 3);
        cache.start_list(0);
        cache.insert(0, "b", 4);
        assert_eq!(
            cache.get(&"a"),
            Some(1),
            "objects must remain until the list is complete"
        );
        assert_eq!(cache.finish_list(0), [("a", 1)]);
        assert_eq!(
            (cache.get(&"a"), cache.get(&"b"), cache.get(&"c")),
            (None, Some(4), Some(3))
        );
        assert_eq!(cache.finish_list(0), [], "no list is in progress");
    }

    #[test]
    fn list_keeps_an_object_that_was_created_during_the_list() {
        let cache = Cache::new();
        cache.start_list(0);
        cache.insert_if_absent(0, "a", 1);
        assert_eq!(cache.finish_list(0), []);
        assert_eq!(cache.get(&"a"), Some(1));
    }
}
