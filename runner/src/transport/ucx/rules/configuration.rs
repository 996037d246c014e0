//! The effective configuration, in a form that can be compared between processes.

/// Settings whose default UCX 1.22 derives from the speed of the clock that it measures in each process.
const MEASURED: [&str; 1] = ["UCX_DYNAMIC_TL_PROGRESS_FACTOR"];

/// Returns `printed`, the output of `ucp_config_print`, without the lines that differ between processes with the same
/// configuration.
pub(in crate::transport::ucx) fn comparable(printed: &str) -> String {
    let is_measured = |line: &&str| {
        let name = line.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| MEASURED.contains(&name))
    };
    let kept = printed.split_inclusive('\n').filter(|line| !is_measured(line));
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_defaults_are_left_out() {
        let printed =
            |factor: &str| format!("UCX_TLS=tcp\nUCX_DYNAMIC_TL_PROGRESS_FACTOR={factor}\nUCX_A=1\n");
        assert_eq!(comparable(&printed("663096.08us")), "UCX_TLS=tcp\nUCX_A=1\n");
        assert_eq!(comparable(&printed("1us")), comparable(&printed("2us")));
    }
}
