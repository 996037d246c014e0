//! Constants that [`crate::bindings`] does not contain, for example because they are newer than the 1.17 headers or
//! contain casts, which bindgen cannot translate. The documentation of each option names the release that introduced
//! it. A constant must not be used with a library older than its release: option numbers are plain integers, and an old
//! provider may interpret the number as a different option.
//!
//! Source: `include/rdma/{fabric,fi_domain,fi_endpoint,fi_ext}.h` of the named releases.

use crate::library::Version;
use std::ffi::c_int;

/// `fi_addr_t` for an unspecified peer.
///
/// A receive with this source accepts messages from any peer. Available in every release.
pub const FI_ADDR_UNSPEC: u64 = u64::MAX;

/// Whether GPU memory is transferred by peer-to-peer access from the device or through host memory, `int`
/// ([`FI_HMEM_P2P_REQUIRED`]).
pub const FI_OPT_FI_HMEM_P2P: EndpointOption = EndpointOption::new(8, 1, 14);
/// Value of [`FI_OPT_FI_HMEM_P2P`]: the provider must use peer-to-peer access, or fail.
pub const FI_HMEM_P2P_REQUIRED: c_int = 1;
/// Whether the provider may call CUDA for this endpoint, `bool`.
pub const FI_OPT_CUDA_API_PERMITTED: EndpointOption = EndpointOption::new(10, 1, 18);
/// Whether the provider may use shared memory for peers on the same host, `bool`.
pub const FI_OPT_SHARED_MEMORY_PERMITTED: EndpointOption = EndpointOption::new(11, 1, 21);
/// Maximum length of an untagged message in bytes, `size_t`.
pub const FI_OPT_MAX_MSG_SIZE: EndpointOption = EndpointOption::new(12, 1, 22);
/// Maximum length of a tagged message in bytes, `size_t`.
pub const FI_OPT_MAX_TAGGED_SIZE: EndpointOption = EndpointOption::new(13, 1, 22);
/// Maximum length of an RMA transfer in bytes, `size_t`.
pub const FI_OPT_MAX_RMA_SIZE: EndpointOption = EndpointOption::new(14, 1, 22);
/// Maximum length of an atomic transfer in bytes, `size_t`.
pub const FI_OPT_MAX_ATOMIC_SIZE: EndpointOption = EndpointOption::new(15, 1, 22);
/// Maximum length for `fi_inject` and `fi_injectdata` in bytes, `size_t`.
pub const FI_OPT_INJECT_MSG_SIZE: EndpointOption = EndpointOption::new(16, 1, 22);
/// Maximum length for `fi_tinject` in bytes, `size_t`.
pub const FI_OPT_INJECT_TAGGED_SIZE: EndpointOption = EndpointOption::new(17, 1, 22);
/// Maximum length for `fi_inject_write` in bytes, `size_t`.
pub const FI_OPT_INJECT_RMA_SIZE: EndpointOption = EndpointOption::new(18, 1, 22);
/// Maximum length for `fi_inject_atomic` in bytes, `size_t`.
pub const FI_OPT_INJECT_ATOMIC_SIZE: EndpointOption = EndpointOption::new(19, 1, 22);

/// Base for the option numbers of the efa provider: the negated `FI_PROV_SPECIFIC_EFA`.
const EFA: c_int = -(0xefa << 16);
/// Whether RMA reads are emulated with messages, `bool`, read-only.
pub const FI_OPT_EFA_EMULATED_READ: EndpointOption = EndpointOption::new(EFA + 1, 1, 18);
/// Whether RMA writes are emulated with messages, `bool`, read-only.
pub const FI_OPT_EFA_EMULATED_WRITE: EndpointOption = EndpointOption::new(EFA + 2, 1, 18);
/// Whether atomics are emulated with messages, `bool`, read-only.
pub const FI_OPT_EFA_EMULATED_ATOMICS: EndpointOption = EndpointOption::new(EFA + 3, 1, 18);
/// Whether the endpoint may use the device's RDMA support, `bool`.
pub const FI_OPT_EFA_USE_DEVICE_RDMA: EndpointOption = EndpointOption::new(EFA + 4, 1, 18);
/// Whether sends and receives are ordered within aligned blocks of 128 bytes, `bool`.
pub const FI_OPT_EFA_SENDRECV_IN_ORDER_ALIGNED_128_BYTES: EndpointOption =
    EndpointOption::new(EFA + 5, 1, 18);
/// Whether RDMA writes are ordered within aligned blocks of 128 bytes, `bool`.
pub const FI_OPT_EFA_WRITE_IN_ORDER_ALIGNED_128_BYTES: EndpointOption = EndpointOption::new(EFA + 6, 1, 18);
/// Whether all peers have the same configuration, `bool`.
pub const FI_OPT_EFA_HOMOGENEOUS_PEERS: EndpointOption = EndpointOption::new(EFA + 7, 2, 2);

/// Option for `fi_getopt` and `fi_setopt` at the `FI_OPT_ENDPOINT` level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointOption {
    /// Option number in the library.
    pub number: c_int,
    /// First release that has the option.
    pub since: Version,
}

impl EndpointOption {
    const fn new(number: c_int, major: u16, minor: u16) -> Self {
        Self {
            number,
            since: Version::new(major, minor),
        }
    }
}
