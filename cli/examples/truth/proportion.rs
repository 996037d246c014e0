//! Proportions with their confidence intervals.

/// Formats a proportion with its 95 percent interval.
pub fn format_proportion(successes: u32, trials: u32) -> String {
    let (low, high) = wilson_interval(successes, trials);
    let fraction_percent = 100.0 * f64::from(successes) / f64::from(trials.max(1));
    format!(
        "{fraction_percent:.1} % [{:.1}, {:.1}]",
        100.0 * low,
        100.0 * high
    )
}

/// Computes the 95 percent Wilson score interval of a proportion (E. B. Wilson, 1927).
pub fn wilson_interval(successes: u32, trials: u32) -> (f64, f64) {
    if trials == 0 {
        return (0.0, 1.0);
    }
    let (n, p, z) = (f64::from(trials), f64::from(successes) / f64::from(trials), 1.96);
    let center = p + z * z / (2.0 * n);
    let spread = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    (
        ((center - spread) / scale).max(0.0),
        ((center + spread) / scale).min(1.0),
    )
}
