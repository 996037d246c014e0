//! A measured value with the bounds of the true value. Performs no I/O.

/// A value, and the bounds between which the true value lies. All three have the same unit.
///
/// A value that the runner measures is exact in this sense: its bounds are the value itself. A value that a tool prints
/// is known to its last digit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoundedValue {
    /// The value as measured or printed; 0 if the tool printed 0.
    pub value: f64,
    /// Least true value, at most `value`.
    pub least: f64,
    /// Greatest true value, at least `value`.
    pub most: f64,
}

impl BoundedValue {
    /// Creates a value whose bounds are the value itself.
    pub fn exact(value: f64) -> Self {
        Self {
            value,
            least: value,
            most: value,
        }
    }

    /// Whether the true value may be 0, so that no ratio to it has bounds.
    pub fn is_below_resolution(&self) -> bool {
        self.value <= 0.0 || self.least <= 0.0
    }

    /// Whether the bounds are the value itself.
    pub fn is_exact(&self) -> bool {
        self.least == self.value && self.most == self.value
    }
}
