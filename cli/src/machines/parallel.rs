//! The same task for several machines at the same time.

use std::thread;

/// Calls `task` for each of `items` in a thread of its own. Returns the results in the order of the items.
pub(super) fn in_parallel<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    task: impl Fn(T) -> Result<R, String> + Sync,
) -> Vec<Result<R, String>> {
    let task = &task;
    thread::scope(|scope| {
        let items = items.into_iter();
        let started: Vec<_> = items.map(|item| scope.spawn(move || task(item))).collect();
        let results = started.into_iter().map(|thread| {
            let failed = |_| Err("a thread of this command failed".to_owned());
            thread.join().unwrap_or_else(failed)
        });
        results.collect()
    })
}

/// Returns all values, or all errors if there are any.
pub(super) fn all<T>(results: impl IntoIterator<Item = Result<T, String>>) -> Result<Vec<T>, Vec<String>> {
    let (mut values, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(error) => errors.push(error),
        }
    }
    match errors.is_empty() {
        true => Ok(values),
        false => Err(errors),
    }
}
