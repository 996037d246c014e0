//! Conversions between percentages and logarithms of ratios.

/// Converts `log_ratio` (natural logarithm of the ratio of arm to baseline) into a percentage change from the baseline:
/// `ln 2` is 100, `ln 0.5` is -50.
pub fn percent_change(log_ratio: f64) -> f64 {
    log_ratio.exp_m1() * 100.0
}

/// Logarithm of the ratio for an increase of `percent` (0 or more) over the baseline.
pub(super) fn log_ratio_of_increase(percent: f64) -> f64 {
    (percent / 100.0).ln_1p()
}

/// Logarithm of the ratio for a decrease of `percent` (0 or more, below 100) from the baseline. The result is 0 or
/// less.
pub(super) fn log_ratio_of_decrease(percent: f64) -> f64 {
    (-percent / 100.0).ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_round_trip_through_the_logarithm() {
        for percent in [0.0, 2.0, 10.0, 99.0] {
            assert!((percent_change(log_ratio_of_increase(percent)) - percent).abs() < 1e-12);
            assert!((percent_change(log_ratio_of_decrease(percent)) + percent).abs() < 1e-12);
        }
    }
}
