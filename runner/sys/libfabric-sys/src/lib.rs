//! Bindings to libfabric, opened at run time, so that one binary uses the library of the image that it
//! runs in: `libfabric.so.1` of 1.17 and of every later release that keeps that name.
//!
//! Three rules keep one build safe with libraries that are older or newer than its headers:
//!
//! 1. [`bindings`] are generated from the 1.17 headers, and an older library is rejected. Later releases
//!    only append fields, so the fields that the bindings name have the same offset in all of them.
//! 2. Structs whose size the library takes from its own, possibly larger layout are allocated by the
//!    library: `fi_info` always comes from [`Library::allocate_info`] or `fi_getinfo`. Structs that the caller
//!    has to allocate (an attribute, an error entry) are wrapped in [`Padded`], which appends zeroed bytes.
//! 3. The symbol version and the API version are the newest that both sides support ([`Library::open`]).
//!    With an old API version, newer releases disable features that they offer only to callers that know
//!    about them (CUDA calls since 1.18, dmabuf since 1.20).
//!
//! [`calls`] are the functions that the C headers define as `static inline`: each calls through the function
//! table of its object. Constants that are newer than the headers are in [`newer_constants`].
//!
//! An opened library stays loaded until the process exits, because providers run threads and register exit
//! handlers whose code must stay mapped.

#[rustfmt::skip]
#[allow(missing_docs, non_camel_case_types, clippy::pub_underscore_fields)]
pub mod bindings;
pub mod calls;
mod library;
pub mod newer_constants;
mod padded;

pub use library::{Identity, Library, OpenError, Provider, Source, Version};
pub use padded::Padded;
