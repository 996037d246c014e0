//! Bindings to UCX (UCP). The library is opened at run time, so that a binary uses the library in the container where
//! it runs: `libucp.so.0` from release 1.13 or any later release with this file name.
//!
//! The bindings were generated from the headers of one release. Three rules make them safe to use with other releases
//! of the library:
//!
//! 1. [`bindings`] are generated from the 1.13 headers, and an older library is rejected. Later releases only append
//!    fields, so the fields of the bindings have the same offsets in all accepted releases.
//! 2. Every struct that the caller passes has a mask that specifies which fields are set. The library reads no field whose
//!    bit is not set, so it does not read the fields that a newer release appended.
//! 3. The context is created with API version 1.13 ([`Library::init`]).
//!
//! One enum changed: `UCS_MEMORY_TYPE_UNKNOWN` is 5 in 1.13 and larger in later releases, because memory types were
//! inserted before it. It must never be passed; the host (0) and CUDA (1) types are stable.
//!
//! [`newer`] contains declarations that are newer than the headers.
//!
//! An opened library stays loaded until the process exits, because it runs a thread and installs memory hooks whose
//! code must stay mapped.

#[rustfmt::skip]
#[allow(missing_docs, non_camel_case_types, non_snake_case, clippy::pub_underscore_fields, clippy::missing_safety_doc)]
pub mod bindings;
mod library;
pub mod newer;
mod status;

pub use library::{Functions, Identity, Library, SettingsFunctions, Version};
pub use shared_library::{OpenError, Source};
pub use status::{RequestState, request_state};
