//! Functions that the library calls during `ucp_worker_progress`. Each function adds an event or an active message to a
//! queue, and frees the completed request, if any.
//!
//! A panic in one of these functions would abort the process, because it cannot unwind into C code.

use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::NonNull;
use ucx_sys::bindings::{
    UCP_AM_RECV_ATTR_FLAG_DATA, UCP_AM_RECV_ATTR_FLAG_RNDV, UCS_ERR_UNSUPPORTED, UCS_INPROGRESS, UCS_OK,
    ucp_am_recv_param_t, ucp_ep_h, ucp_tag_recv_info_t, ucs_status_t,
};

use super::payload::Payload;
use super::stable::StableBox;

/// Subject of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The post with this token.
    Post(u32),
    /// The receive with this token.
    Receive(u32),
    /// The flush in this slot.
    Flush(u32),
    /// A notification from a peer that a write has arrived.
    Notification,
    /// An active message from a peer whose payload the library did not keep.
    LostMessage,
    /// The endpoint to this peer.
    Endpoint(u32),
}

/// Event that the library reported.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    pub source: Source,
    pub status: ucs_status_t,
    /// Tag of a tagged message, or header of a notification.
    pub immediate: u64,
    /// Length of a tagged message or of a fetched payload, in bytes.
    pub length: usize,
}

/// Active message that has arrived.
#[derive(Debug)]
pub(super) struct ArrivedMessage {
    /// Header.
    pub immediate: u64,
    /// Payload; `None` if the message has none.
    pub payload: Option<Payload>,
}

/// Function that releases a request.
pub(super) type RequestFree = unsafe extern "C" fn(*mut c_void);

/// Queues of events and of active messages, which the callbacks fill.
pub(super) struct Events {
    events: UnsafeCell<VecDeque<Event>>,
    messages: UnsafeCell<VecDeque<ArrivedMessage>>,
    request_free: RequestFree,
}

impl Events {
    /// Creates queues that do not allocate until they contain more than `event_capacity` events or more than
    /// `message_capacity` messages.
    pub(super) fn new(
        request_free: RequestFree,
        event_capacity: usize,
        message_capacity: usize,
    ) -> StableBox<Self> {
        StableBox::from(Box::new(Self {
            events: UnsafeCell::new(VecDeque::with_capacity(event_capacity)),
            messages: UnsafeCell::new(VecDeque::with_capacity(message_capacity)),
            request_free,
        }))
    }

    /// Takes the oldest event.
    ///
    /// # Safety
    ///
    /// Only the thread that uses the worker may call this function, and not from a callback.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Option<Event> {
        // SAFETY: no other reference to the queue exists: callbacks run only during calls to the library, on this
        // thread, and drop their reference before they return.
        let events = unsafe { &mut *self.events.get() };
        events.pop_front()
    }

    /// Takes the oldest message.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`].
    #[inline]
    pub(super) unsafe fn pop_message(&self) -> Option<ArrivedMessage> {
        // SAFETY: as in `pop`.
        let messages = unsafe { &mut *self.messages.get() };
        messages.pop_front()
    }

    /// Adds an event.
    ///
    /// # Safety
    ///
    /// Same as [`Self::pop`], but callbacks may call this function.
    #[inline]
    unsafe fn push(&self, event: Event) {
        // SAFETY: as in `pop`; callbacks do not interrupt each other.
        let events = unsafe { &mut *self.events.get() };
        events.push_back(event);
    }

    /// Adds a message.
    ///
    /// # Safety
    ///
    /// Same as [`Self::push`].
    #[inline]
    unsafe fn push_message(&self, message: ArrivedMessage) {
        // SAFETY: as in `push`.
        let messages = unsafe { &mut *self.messages.get() };
        messages.push_back(message);
    }
}

/// User data of a callback. The library holds the address of an origin, so every origin that is passed to the library
/// is stored in a [`StableBox`].
pub(super) struct Origin {
    events: NonNull<Events>,
    source: Source,
}

impl Origin {
    /// Creates the user data for callbacks about `source`, which report to `events`. The callbacks require that `events`
    /// exists.
    pub(super) fn new(events: &StableBox<Events>, source: Source) -> Self {
        Self {
            events: events.as_ptr(),
            source,
        }
    }

    /// Pointer to pass to the library.
    #[inline]
    pub(super) fn as_user_data(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Adds an event about this origin's subject.
    ///
    /// # Safety
    ///
    /// Must be called from a library callback, while the queues exist.
    unsafe fn report(&self, status: ucs_status_t, immediate: u64, length: usize) {
        let event = Event {
            source: self.source,
            status,
            immediate,
            length,
        };
        // SAFETY: the caller fulfills the contract.
        let events = unsafe { self.events() };
        // SAFETY: the library calls callbacks on the thread that uses the worker.
        unsafe { events.push(event) };
    }

    /// # Safety
    ///
    /// `request` must be the request that was passed to a completion callback. The library does not use it afterwards.
    unsafe fn free(&self, request: *mut c_void) {
        // SAFETY: the queues exist as long as the worker does, including during a callback.
        let free = unsafe { self.events() }.request_free;
        // SAFETY: the caller guarantees that the request has completed, and nothing else frees it.
        unsafe { free(request) };
    }

    /// # Safety
    ///
    /// The queues must exist.
    #[inline]
    unsafe fn events(&self) -> &Events {
        // SAFETY: the caller fulfills the contract.
        unsafe { self.events.as_ref() }
    }
}

/// Converts user data back to an origin.
///
/// # Safety
///
/// `user_data` must come from [`Origin::as_user_data`], and the origin must still exist.
unsafe fn origin<'a>(user_data: *mut c_void) -> &'a Origin {
    // SAFETY: the caller guarantees that the pointer denotes a live origin, which is never modified.
    unsafe { &*user_data.cast::<Origin>() }
}

/// Called when a send, put, get or flush completes.
///
/// # Safety
///
/// Only the library may call this function, with the user data of a rail whose worker exists.
pub(super) unsafe extern "C" fn on_completion(
    request: *mut c_void,
    status: ucs_status_t,
    user_data: *mut c_void,
) {
    // SAFETY: the contract above; origins live longer than the worker.
    let origin = unsafe { origin(user_data) };
    // SAFETY: this is a library callback.
    unsafe { origin.report(status, 0, 0) };
    // SAFETY: the request has completed.
    unsafe { origin.free(request) };
}

/// Called when a receive completes.
///
/// # Safety
/// Same as [`on_completion`].
pub(super) unsafe extern "C" fn on_receive(
    request: *mut c_void,
    status: ucs_status_t,
    info: *const ucp_tag_recv_info_t,
    user_data: *mut c_void,
) {
    // SAFETY: the contract above; origins live longer than the worker.
    let origin = unsafe { origin(user_data) };
    // SAFETY: the pointer is null or valid during the callback.
    let (tag, length) = unsafe { info.as_ref() }.map_or((0, 0), |info| (info.sender_tag, info.length));
    // SAFETY: this is a library callback.
    unsafe { origin.report(status, tag, length) };
    // SAFETY: the request has completed.
    unsafe { origin.free(request) };
}

/// Called when a peer notifies this side that a write has arrived. The header of the notification is the immediate
/// data.
///
/// # Safety
///
/// Only the library may call this function, with the user data of a rail whose worker exists.
pub(super) unsafe extern "C" fn on_notification(
    user_data: *mut c_void,
    header: *const c_void,
    header_length: usize,
    _data: *mut c_void,
    _length: usize,
    _param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: the contract above; origins live longer than the worker.
    let origin = unsafe { origin(user_data) };
    // SAFETY: this is a library callback.
    if let Some(immediate) = unsafe { immediate_in(header, header_length) } {
        // SAFETY: as above.
        unsafe { origin.report(UCS_OK, immediate, 0) };
    }
    UCS_OK
}

/// Immediate data in the header of an active message.
///
/// # Safety
///
/// `header` must be null or have `length` bytes.
unsafe fn immediate_in(header: *const c_void, length: usize) -> Option<u64> {
    if length != size_of::<u64>() || header.is_null() {
        return None;
    }
    // SAFETY: the header is not null and has eight bytes; it may be unaligned.
    Some(u64::from_le(unsafe { header.cast::<u64>().read_unaligned() }))
}

/// Called when an active message with a payload arrives. The library keeps the payload, because the handler is
/// registered with `UCP_AM_FLAG_PERSISTENT_DATA`.
///
/// # Safety
/// Same as [`on_notification`].
pub(super) unsafe extern "C" fn on_message(
    user_data: *mut c_void,
    header: *const c_void,
    header_length: usize,
    data: *mut c_void,
    length: usize,
    param: *const ucp_am_recv_param_t,
) -> ucs_status_t {
    // SAFETY: the contract above; origins live longer than the worker.
    let origin = unsafe { origin(user_data) };
    // SAFETY: this is a library callback.
    let Some(immediate) = (unsafe { immediate_in(header, header_length) }) else {
        return UCS_OK;
    };
    // SAFETY: the pointer is null or valid during the callback.
    let attributes = unsafe { param.as_ref() }.map_or(0, |param| param.recv_attr);
    let has = |flag| attributes & u64::from(flag) != 0;
    let payload = NonNull::new(data).and_then(|data| match () {
        // SAFETY: the flag indicates that this is a descriptor, and this function returns UCS_INPROGRESS.
        () if has(UCP_AM_RECV_ATTR_FLAG_RNDV) => Some(unsafe { Payload::rendezvous(data, length) }),
        // SAFETY: the flag indicates that the library keeps `length` bytes if this function returns UCS_INPROGRESS.
        () if has(UCP_AM_RECV_ATTR_FLAG_DATA) => Some(unsafe { Payload::eager(data, length) }),
        () => None,
    });
    // SAFETY: this is a library callback.
    let events = unsafe { origin.events() };
    if payload.is_none() && length > 0 {
        let lost = Event {
            source: Source::LostMessage,
            status: UCS_ERR_UNSUPPORTED,
            immediate,
            length,
        };
        // SAFETY: the library calls callbacks on the thread that uses the worker.
        unsafe { events.push(lost) };
        return UCS_OK;
    }
    // If this function returns UCS_INPROGRESS, the library keeps the payload until it is received or released.
    let result = if payload.is_some() { UCS_INPROGRESS } else { UCS_OK };
    // SAFETY: the library calls callbacks on the thread that uses the worker.
    unsafe { events.push_message(ArrivedMessage { immediate, payload }) };
    result
}

/// Called when the payload of an active message has been fetched.
///
/// # Safety
/// Same as [`on_completion`].
pub(super) unsafe extern "C" fn on_payload_fetched(
    request: *mut c_void,
    status: ucs_status_t,
    length: usize,
    user_data: *mut c_void,
) {
    // SAFETY: the contract above; origins live longer than the worker.
    let origin = unsafe { origin(user_data) };
    // SAFETY: this is a library callback.
    unsafe { origin.report(status, 0, length) };
    // SAFETY: the request has completed.
    unsafe { origin.free(request) };
}

/// Called when an endpoint fails.
///
/// # Safety
/// Same as [`on_notification`].
pub(super) unsafe extern "C" fn on_endpoint_failure(
    user_data: *mut c_void,
    _endpoint: ucp_ep_h,
    status: ucs_status_t,
) {
    // SAFETY: the contract above; origins live longer than the worker.
    let origin = unsafe { origin(user_data) };
    // SAFETY: this is a library callback.
    unsafe { origin.report(status, 0, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn count_free(request: *mut c_void) {
        // SAFETY: the test passes the address of a counter as the request.
        unsafe { *request.cast::<u32>() += 1 };
    }

    /// The library holds the address of an origin while its owner is moved. Miri checks the accesses.
    #[test]
    fn a_completion_reports_to_the_queue_and_frees_its_request() {
        let events = Events::new(count_free, 4, 4);
        let origins: Box<[Origin]> = [0, 1]
            .map(|token| Origin::new(&events, Source::Post(token)))
            .into();
        let origins = StableBox::from(origins);
        let user_data = origins[1].as_user_data();
        let moved = Some((events, origins));
        let mut freed = 0_u32;
        let request = std::ptr::from_mut(&mut freed).cast();
        for status in [UCS_OK, UCS_ERR_UNSUPPORTED] {
            // SAFETY: the origin and the queue exist, and the request is a counter.
            unsafe { on_completion(request, status, user_data) };
        }
        let (events, _origins) = moved.as_ref().unwrap();
        for status in [UCS_OK, UCS_ERR_UNSUPPORTED] {
            // SAFETY: this is the only thread, and not a callback.
            let event = unsafe { events.pop() }.unwrap();
            assert_eq!((event.source, event.status), (Source::Post(1), status));
        }
        // SAFETY: as above.
        assert!(unsafe { events.pop() }.is_none());
        assert_eq!(freed, 2);
    }

    #[test]
    fn messages_are_taken_in_order() {
        let events = Events::new(count_free, 4, 2);
        let origin = Origin::new(&events, Source::Notification);
        for immediate in [10_u64, 20, 30] {
            let header = immediate.to_le_bytes();
            // SAFETY: the origin and the queues exist, and the header has eight bytes.
            let result = unsafe {
                on_message(
                    origin.as_user_data(),
                    header.as_ptr().cast(),
                    header.len(),
                    std::ptr::null_mut(),
                    0,
                    std::ptr::null(),
                )
            };
            assert_eq!(result, UCS_OK);
        }
        // SAFETY: this is the only thread, and not a callback.
        let taken = std::iter::from_fn(|| unsafe { events.pop_message() });
        let immediates: Vec<u64> = taken.map(|message| message.immediate).collect();
        assert_eq!(immediates, [10, 20, 30]);
        // SAFETY: as above.
        assert!(unsafe { events.pop() }.is_none());
    }

    #[test]
    fn a_payload_that_the_library_does_not_keep_is_an_error() {
        let events = Events::new(count_free, 4, 2);
        let origin = Origin::new(&events, Source::Notification);
        let header = 10_u64.to_le_bytes();
        // SAFETY: the origin and the queues exist, the header has eight bytes, and the payload is not read.
        let result = unsafe {
            on_message(
                origin.as_user_data(),
                header.as_ptr().cast(),
                header.len(),
                std::ptr::null_mut(),
                64,
                std::ptr::null(),
            )
        };
        assert_eq!(result, UCS_OK);
        // SAFETY: this is the only thread, and not a callback.
        let event = unsafe { events.pop() }.unwrap();
        assert_eq!(
            (event.source, event.status),
            (Source::LostMessage, UCS_ERR_UNSUPPORTED)
        );
        // SAFETY: as above.
        assert!(unsafe { events.pop_message() }.is_none());
    }
}
