//! Removes duplicates from short lists.

/// Distinct values, in the order of their first occurrence.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for value in values {
        if !once.contains(&value) {
            once.push(value);
        }
    }
    once
}
