//! The median. Performs no I/O.

/// Sorts `values` and returns their median: the middle value, or the mean of the two middle values if the count is
/// even. Returns `None` if there are no values.
pub fn median_of(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    median_of_sorted(values)
}

/// Returns the median of `sorted`, which must be in ascending order.
pub(super) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let high = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(high);
    }
    Some(0.5 * sorted[sorted.len() / 2 - 1] + 0.5 * high)
}
