//! Requirements and restrictions of ibverbs. Performs no I/O.

pub(super) mod address;
pub(super) mod depths;
pub(super) mod gid;
pub(super) mod rails;
pub(super) mod request_id;
pub(super) mod send_queue;
