//! Formats lists of ranks for messages. Performs no I/O.

/// Formats `ranks`, such as `rank 1`, `ranks 0 and 1` or `ranks 0, 1 and 2`.
pub fn rank_list(ranks: &[u32]) -> String {
    let numbers: Vec<_> = ranks.iter().map(u32::to_string).collect();
    match numbers.as_slice() {
        [one] => format!("rank {one}"),
        [rest @ .., last] => format!("ranks {} and {last}", rest.join(", ")),
        [] => "no ranks".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_lists_of_any_length() {
        assert_eq!(rank_list(&[]), "no ranks");
        assert_eq!(rank_list(&[1]), "rank 1");
        assert_eq!(rank_list(&[0, 3]), "ranks 0 and 3");
        assert_eq!(rank_list(&[0, 1, 2]), "ranks 0, 1 and 2");
    }
}
