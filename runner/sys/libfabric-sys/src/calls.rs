//! Functions that the C headers define as `static inline`. Each calls an entry in its object's function table.
//!
//! # Safety
//!
//! All functions have the same contract, in addition to the contract in the function's man page:
//!
//! * every object pointer comes from the same loaded library, and the object is not closed;
//! * every attribute, message and string pointer is valid for the duration of the call, and a struct that the library
//!   may access beyond its 1.17 fields is a [`crate::Padded`];
//! * a posted buffer and its context stay valid until the completion of the post has been read (an injected buffer only
//!   until the call returns), and its descriptor belongs to a region that covers it;
//! * calls on one object respect the threading level that its domain was opened with.
//!
//! All functions return libfabric's own codes: 0 or a positive number for success, a negative error number for
//! failure, and `-FI_ENOSYS` if the object has no such function.

mod domain;
mod endpoint;
mod memory;
mod message;
mod object;
mod queue;
mod rma;

pub use domain::*;
pub use endpoint::*;
pub use memory::*;
pub use message::*;
pub use object::*;
pub use queue::*;
pub use rma::*;

/// Declares functions, each of which calls one entry in a function table of its first argument.
macro_rules! through_table {
    ($($(#[$doc:meta])+ fn $name:ident($object:ident: *mut $kind:ty $(, $argument:ident: $type:ty)* $(,)?)
        -> $code:ty = $table:ident.$entry:ident;)+) => {$(
        $(#[$doc])+
        ///
        /// # Safety
        ///
        /// The contract of [`crate::calls`].
        #[inline]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name($object: *mut $kind $(, $argument: $type)*) -> $code {
            // SAFETY: the object is open, and its table pointer was set when it was created.
            let table = unsafe { (*$object).$table };
            // SAFETY: the pointer is null or a table that lives as long as the object; its 1.17 entries exist
            // in every accepted library.
            match unsafe { table.as_ref() }.and_then(|table| table.$entry) {
                // SAFETY: the caller fulfills the contract of this function.
                Some(call) => unsafe { call($object.cast() $(, $argument)*) },
                None => (crate::bindings::FI_ENOSYS as $code).wrapping_neg(),
            }
        }
    )+};
}
use through_table;
