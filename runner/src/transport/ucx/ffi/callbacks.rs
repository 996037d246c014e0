//! Functions that the library calls during `ucp_worker_progress`. Each function adds an event or an active message to a
//! queue, and frees the completed request or copies the payload, if any.
//!
//! A panic in one of these functions would abort the process, because it cannot unwind into C code.

use std::ffi::c_void;
use std::ptr::NonNull;
use ucx_sys::bindings::{
    UCP_AM_RECV_ATTR_FLAG_DATA, UCP_AM_RECV_ATTR_FLAG_RNDV, UCS_ERR_UNSUPPORTED, UCS_INPROGRESS, UCS_OK,
    ucp_am_recv_param_t, ucp_ep_h, ucp_tag_recv_info_t, ucs_status_t,
};

use super::events::{ArrivedMessage, Event, Events, Source};
use super::payload::{Descriptor, Payload};
use super::stable::StableBox;

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
    let (tag, length) = unsafe { info.as_ref() }.map_or((0, 0), read_separately);
    // SAFETY: this is a library callback.
    unsafe { origin.report(status, tag, length) };
    // SAFETY: the request has completed.
    unsafe { origin.free(request) };
}

/// Reads the tag and the length of a message, which the library has just written in two stores. A compiler combines two
/// ordinary reads into a single load, to which a CPU cannot forward two stores: the load would wait until these stores
/// and all earlier ones, among them the copy of the payload, have reached the cache.
#[inline]
fn read_separately(info: &ucp_tag_recv_info_t) -> (u64, usize) {
    // SAFETY: the reference guarantees that the field is valid.
    let length = unsafe { (&raw const info.length).read_volatile() };
    (info.sender_tag, length)
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

/// Called when an active message with a payload arrives. Copies the payload to the oldest posted receive, or keeps the
/// message until it can be matched with a receive.
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
    // SAFETY: this is a library callback.
    let events = unsafe { origin.events() };
    if has(UCP_AM_RECV_ATTR_FLAG_RNDV) {
        let Some(data) = NonNull::new(data) else {
            // The library always passes a descriptor.
            return UCS_ERR_UNSUPPORTED;
        };
        // SAFETY: the flag indicates that this is a descriptor, and this function returns UCS_INPROGRESS.
        let payload = Payload::Rendezvous(unsafe { Descriptor::new(data, length) });
        // SAFETY: the library calls callbacks on the thread that uses the worker.
        unsafe { events.push_message(ArrivedMessage { immediate, payload }) };
        return UCS_INPROGRESS;
    }
    // SAFETY: the payload of a message that is not a rendezvous is in host memory, and valid during the callback.
    let bytes = unsafe { bytes_at(data, length) };
    // SAFETY: the library calls callbacks on the thread that uses the worker.
    if let Some(receive) = unsafe { events.take_receive(bytes.len()) } {
        // SAFETY: the contract of `push_receive` guarantees that the receive is valid, and it is at least as long as
        // the payload. They do not overlap, because the library does not keep payloads in regions.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), receive.pointer, bytes.len()) };
        // SAFETY: as above.
        unsafe { events.push_received(receive.token, immediate, bytes.len()) };
        return UCS_OK;
    }
    match NonNull::new(data) {
        Some(data) if has(UCP_AM_RECV_ATTR_FLAG_DATA) => {
            // SAFETY: the flag indicates that the library keeps `length` bytes if this function returns UCS_INPROGRESS.
            let payload = Payload::Kept(unsafe { Descriptor::new(data, length) });
            // SAFETY: as above.
            unsafe { events.push_message(ArrivedMessage { immediate, payload }) };
            UCS_INPROGRESS
        }
        _ => {
            // SAFETY: as above.
            unsafe { events.push_copy(immediate, bytes) };
            UCS_OK
        }
    }
}

/// # Safety
///
/// `data` must be null or have `length` bytes, which nothing changes while the result is used.
unsafe fn bytes_at<'a>(data: *const c_void, length: usize) -> &'a [u8] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: the caller fulfills the contract.
    unsafe { std::slice::from_raw_parts(data.cast(), length) }
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
    use crate::transport::ucx::ffi::events::PostedReceive;

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

    /// Delivers an active message as the library does. Returns the result of the callback.
    fn deliver(events: &StableBox<Events>, immediate: u64, payload: &[u8], attributes: u32) -> ucs_status_t {
        let origin = Origin::new(events, Source::Notification);
        let header = immediate.to_le_bytes();
        // SAFETY: the struct consists of integers and a pointer, for which zero is valid.
        let mut param: ucp_am_recv_param_t = unsafe { std::mem::MaybeUninit::zeroed().assume_init() };
        param.recv_attr = u64::from(attributes);
        // SAFETY: the origin and the queues exist, the header has eight bytes, and the payload its length.
        unsafe {
            on_message(
                origin.as_user_data(),
                header.as_ptr().cast(),
                header.len(),
                payload.as_ptr().cast_mut().cast(),
                payload.len(),
                &param,
            )
        }
    }

    fn receive(token: u32, memory: &mut [u8]) -> PostedReceive {
        PostedReceive {
            token,
            pointer: memory.as_mut_ptr(),
            length: memory.len(),
            handle: std::ptr::null_mut(),
        }
    }

    #[test]
    fn a_message_is_copied_to_the_oldest_receive() {
        let events = Events::new(count_free, 4, 2);
        let (mut first, mut second) = ([0_u8; 4], [0_u8; 4]);
        for receive in [receive(7, &mut first), receive(8, &mut second)] {
            // SAFETY: this is the only thread, and not a callback.
            unsafe { events.push_receive(receive) };
        }
        assert_eq!(
            deliver(&events, 10, &[1, 2, 3], UCP_AM_RECV_ATTR_FLAG_DATA),
            UCS_OK
        );
        assert_eq!(deliver(&events, 20, &[], 0), UCS_OK);
        // SAFETY: as above.
        let received = std::iter::from_fn(|| unsafe { events.pop() });
        let received: Vec<_> = received
            .map(|event| (event.source, event.status, event.immediate, event.length))
            .collect();
        let expected = [
            (Source::Receive(7), UCS_OK, 10, 3),
            (Source::Receive(8), UCS_OK, 20, 0),
        ];
        assert_eq!(received, expected);
        assert_eq!((first, second), ([1, 2, 3, 0], [0; 4]));
        // SAFETY: as above.
        assert!(unsafe { events.next_match() }.is_none());
    }

    #[test]
    fn messages_without_a_suitable_receive_are_kept_in_order() {
        let events = Events::new(count_free, 4, 2);
        assert_eq!(deliver(&events, 10, &[1, 2, 3], 0), UCS_OK);
        assert_eq!(
            deliver(&events, 20, &[4], UCP_AM_RECV_ATTR_FLAG_DATA),
            UCS_INPROGRESS
        );
        assert_eq!(
            deliver(&events, 30, &[5], UCP_AM_RECV_ATTR_FLAG_RNDV),
            UCS_INPROGRESS
        );
        let mut memory = [0_u8; 4];
        for token in 0..4 {
            // SAFETY: this is the only thread, and not a callback.
            unsafe { events.push_receive(receive(token, &mut memory)) };
        }
        // This message must not overtake the ones that wait, although there is a receive for it.
        assert_eq!(deliver(&events, 40, &[6], 0), UCS_OK);
        // SAFETY: as above.
        let matches: Vec<_> = std::iter::from_fn(|| unsafe { events.next_match() }).collect();
        let [first, second, third, fourth] = &matches[..] else {
            panic!("{} matches", matches.len());
        };
        for (index, (receive, message)) in matches.iter().enumerate() {
            assert_eq!(
                (receive.token, message.immediate),
                (index as u32, 10 * (index as u64 + 1))
            );
        }
        assert!(matches!(&first.1.payload, Payload::Copied(3)));
        assert!(matches!(&second.1.payload, Payload::Kept(kept) if kept.length() == 1));
        assert!(matches!(&third.1.payload, Payload::Rendezvous(descriptor) if descriptor.length() == 1));
        assert!(matches!(&fourth.1.payload, Payload::Copied(1)));
        let mut copies = Vec::new();
        for length in [3, 1] {
            // SAFETY: as above.
            unsafe { events.take_copy(length, |part| copies.extend_from_slice(part)) };
        }
        assert_eq!(copies, [1, 2, 3, 6]);
        // SAFETY: as above.
        assert!(unsafe { events.pop() }.is_none());
        assert_eq!(memory, [0; 4]);
    }

    #[test]
    fn a_message_longer_than_the_receive_is_neither_copied_nor_overtaken() {
        let events = Events::new(count_free, 4, 2);
        let mut memory = [0_u8; 2];
        // SAFETY: this is the only thread, and not a callback.
        unsafe { events.push_receive(receive(0, &mut memory)) };
        for (immediate, payload) in [(10, &[1, 2, 3][..]), (20, &[4])] {
            assert_eq!(deliver(&events, immediate, payload, 0), UCS_OK);
        }
        // SAFETY: as above.
        let (receive, message) = unsafe { events.next_match() }.unwrap();
        assert_eq!((receive.length, message.payload.length()), (2, 3));
        assert_eq!(message.immediate, 10);
        assert_eq!(memory, [0; 2]);
    }
}
