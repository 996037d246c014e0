//! Bindings to libfabric, opened at run time, so that one program uses the library of whatever image
//! it runs in: `libfabric.so.1` of 1.17 and of every later release that keeps that name.
//!
//! Three rules keep one build safe with libraries older and newer than its headers:
//!
//! 1. [`bindings`] are those of the 1.17 headers, and an older library is refused. Later releases only
//!    append fields, so what the bindings name lies at the same place in all of them.
//! 2. What the library measures by its own, larger layout is allocated by the library: `fi_info` comes
//!    from [`Library::empty_info`] and `fi_getinfo`, never from here. What the caller must allocate (an
//!    attribute, an error entry) goes into [`Grown`], which has zeroed room behind the known fields.
//! 3. The symbol and the API version are the newest that both sides know ([`Library::open`]). Asking
//!    for an old API would forbid calls that newer releases make only for callers who know of them
//!    (CUDA since 1.18, dmabuf since 1.20).
//!
//! [`calls`] are the functions that C has as `static inline` ones: each goes through the table of the
//! object it is given. Constants younger than the headers are in [`newer`].
//!
//! A library that was opened stays loaded to the end of the process: providers keep threads and exit
//! handlers that must not lose their code.

#[rustfmt::skip]
#[allow(missing_docs, non_camel_case_types, clippy::pub_underscore_fields)]
pub mod bindings;
pub mod calls;
mod grown;
mod library;
pub mod newer;

pub use grown::Grown;
pub use library::{Identity, Library, OpenError, Provider, Source, Version};
