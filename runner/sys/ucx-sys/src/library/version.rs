//! UCX release number.

use std::fmt;

/// UCX release: major, minor and patch numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// Creates a version from its numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Major, minor and patch numbers.
    pub const fn numbers(self) -> [u32; 3] {
        [self.major, self.minor, self.patch]
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_number() {
        assert!(Version::new(1, 9, 0) < Version::new(1, 13, 0));
        assert!(Version::new(1, 22, 0) > Version::new(1, 21, 1));
        assert_eq!(Version::new(1, 13, 1).to_string(), "1.13.1");
    }
}
