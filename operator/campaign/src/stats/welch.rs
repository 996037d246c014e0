//! Welch's interval for the difference between the means of two independent samples. Performs no I/O.
//!
//! The samples may have different spreads and sizes. The interval is exact in the limit of large samples, and close to
//! exact for normal values; outliers widen it.
//!
//! Source: Welch, Biometrika 34 (1947) 28, with the degrees of freedom of Satterthwaite, Biometrics Bulletin 2 (1946)
//! 110.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Lower and upper bounds of the mean of `second` minus the mean of `first` (all values finite) at the two-sided
/// `level`. `None` if a sample has fewer than two values.
pub(super) fn bounds(first: &[f64], second: &[f64], level: f64) -> Option<(f64, f64)> {
    let (first, second) = (SampleMean::new(first)?, SampleMean::new(second)?);
    let difference = second.mean - first.mean;
    let variance = first.variance + second.variance;
    if variance == 0.0 {
        return Some((difference, difference));
    }
    let per_freedom = |mean: &SampleMean| mean.variance.powi(2) / (mean.count - 1.0);
    let freedom = variance.powi(2) / (per_freedom(&first) + per_freedom(&second));
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let reach = distribution.inverse_cdf(1.0 - level / 2.0) * variance.sqrt();
    Some((difference - reach, difference + reach))
}

/// Mean of a sample, and the variance of the mean.
struct SampleMean {
    count: f64,
    mean: f64,
    variance: f64,
}

impl SampleMean {
    fn new(values: &[f64]) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self {
            count,
            mean,
            variance: squares / (count - 1.0) / count,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_numerical_integration() {
        // 5.3175 degrees of freedom; integrating the t density numerically gives the quantile 2.525093.
        let first = [5.1, 4.9, 6.2, 5.8];
        let second = [7.0, 9.5, 8.1, 6.4, 10.2];
        let (lower, upper) = bounds(&first, &second, 0.05).unwrap();
        assert!(
            (lower - 0.767_408).abs() < 1e-6 && (upper - 4.712_592).abs() < 1e-6,
            "[{lower}, {upper}]"
        );
    }

    #[test]
    fn constant_samples_have_an_exact_difference() {
        assert_eq!(bounds(&[1.0, 1.0], &[3.0, 3.0, 3.0], 0.01), Some((2.0, 2.0)));
        assert_eq!(bounds(&[1.0], &[3.0, 3.0], 0.01), None);
    }
}
