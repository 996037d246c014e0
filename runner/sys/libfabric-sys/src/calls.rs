//! The functions that C has as `static inline`: each calls through the table of the object it is given.
//!
//! # Safety
//!
//! One contract for all of them, that of the man page of the same name:
//!
//! * every object pointer came from the same loaded library and was not closed;
//! * every attribute, message and string pointer is good for the length of the call, and what the
//!   library may write past 1.17 fields is a [`crate::Grown`];
//! * a buffer that is posted, and its context, stay where they are until its completion was read (an
//!   injected buffer only until the call returns), and its descriptor belongs to a region that covers it;
//! * calls on one object keep to the threading level that its domain was opened with.
//!
//! All return libfabric's own codes: 0 or more for success, a negative error number otherwise;
//! `-FI_ENOSYS` where the object has no such function.

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

/// Declares functions that look up one table of their first argument and call one entry of it.
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
            // SAFETY: an open object, whose table pointer was set when it was created.
            let table = unsafe { (*$object).$table };
            // SAFETY: null or a table that lives as long as the object; its 1.17 entries exist in every
            // library that is accepted.
            match unsafe { table.as_ref() }.and_then(|table| table.$entry) {
                // SAFETY: the caller keeps the contract of this function.
                Some(call) => unsafe { call($object.cast() $(, $argument)*) },
                None => (crate::bindings::FI_ENOSYS as $code).wrapping_neg(),
            }
        }
    )+};
}
use through_table;
