//! Version of libfabric or its API, in the packed form that `FI_VERSION` produces.

use std::fmt;

/// Major and minor version numbers, packed the way libfabric packs them, so that versions compare as integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(u32);

impl Version {
    /// Creates a version from its major and minor numbers.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self(((major as u32) << 16) | minor as u32)
    }

    /// Creates a version from the packed form that functions such as `fi_version()` return.
    pub const fn from_packed(packed: u32) -> Self {
        Self(packed)
    }

    /// Packed form, which `fi_getinfo` takes.
    pub const fn packed(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 >> 16, self.0 & 0xffff)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_and_orders_like_libfabric() {
        assert_eq!(Version::new(1, 17).packed(), 0x0001_0011);
        assert!(Version::new(1, 9) < Version::new(1, 17));
        assert!(Version::new(1, 22) < Version::new(2, 0));
        assert_eq!(Version::new(2, 5).to_string(), "2.5");
    }
}
