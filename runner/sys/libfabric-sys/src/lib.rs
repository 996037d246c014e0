//! Bindings to libfabric. The library is opened at run time, so that a binary uses the library in the container where
//! it runs: `libfabric.so.1` from release 1.17 or any later release with this file name.
//!
//! The bindings were generated from the headers of one release. Three rules make them safe to use with other releases
//! of the library:
//!
//! 1. [`bindings`] are generated from the 1.17 headers, and an older library is rejected. Later releases only append
//!    fields, so the fields of the bindings have the same offsets in all accepted releases.
//! 2. If a struct may be larger in the library than in the bindings, the library allocates it: `fi_info` always comes
//!    from [`Library::allocate_info`] or `fi_getinfo`. Structs that the caller must allocate (an attribute, an error
//!    entry) are wrapped in [`Padded`], which appends zeroed bytes.
//! 3. The symbol version and the API version are the newest that both the library and this crate support
//!    ([`Library::open`]). If a caller requests an old API version, newer releases disable features that require a
//!    caller written for them (CUDA calls since 1.18, dmabuf since 1.20).
//!
//! [`calls`] contains the functions that the C headers define as `static inline`. Each calls an entry in its object's
//! function table. Constants that are newer than the headers are in [`newer_constants`].
//!
//! An opened library stays loaded until the process exits, because providers run threads and register exit handlers
//! whose code must stay mapped.

#[rustfmt::skip]
#[allow(missing_docs, non_camel_case_types, clippy::pub_underscore_fields)]
pub mod bindings;
pub mod calls;
mod library;
pub mod newer_constants;
mod padded;

pub use library::{Identity, Library, Parameter, ParameterKind, Provider, Version};
pub use padded::Padded;
pub use shared_library::{OpenError, Source};
