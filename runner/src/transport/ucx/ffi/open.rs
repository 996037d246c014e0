//! Opens one rail: context, worker and the worker's address.

use super::callbacks::{Origin, on_message, on_notification};
use super::config::Config;
use super::events::{Events, Source};
use super::lanes::resources;
use super::objects::{Context, Objects, Worker};
use super::rail::{MAX_FLUSHES, MESSAGE_ID, NOTIFICATION_ID, Rail, RailConfig};
use super::{CallError, check};
use crate::transport::ucx::rules::lanes::Lane;
use std::cell::UnsafeCell;
use std::ffi::{c_uint, c_void};
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex};
use ucx_sys::Library;
use ucx_sys::bindings::{
    UCP_AM_HANDLER_PARAM_FIELD_ARG, UCP_AM_HANDLER_PARAM_FIELD_CB, UCP_AM_HANDLER_PARAM_FIELD_ID,
    UCP_FEATURE_AM, UCP_FEATURE_RMA, UCP_FEATURE_TAG, UCP_FEATURE_WAKEUP, UCP_PARAM_FIELD_ESTIMATED_NUM_EPS,
    UCP_PARAM_FIELD_FEATURES, UCP_WORKER_PARAM_FIELD_THREAD_MODE, UCS_THREAD_MODE_SERIALIZED,
    ucp_am_handler_param_t, ucp_am_recv_param_t, ucp_params_t, ucp_worker_params_t, ucs_status_t,
};

/// Number of events, active messages and receives that the queues hold without allocating, in addition to one for each
/// operation in flight. This side does not control the rate at which notifications and messages from peers arrive.
const SPARE_ENTRIES: usize = 1024;

/// Callback for active messages.
type MessageCallback = unsafe extern "C" fn(
    *mut c_void,
    *const c_void,
    usize,
    *mut c_void,
    usize,
    *const ucp_am_recv_param_t,
) -> ucs_status_t;

impl Rail {
    /// Creates the context and the worker of a rail. Also returns the resources that the context may use.
    ///
    /// # Errors
    ///
    /// Returns the failed call. Objects that had already been created are destroyed.
    pub(in crate::transport::ucx) fn open(
        library: &Arc<Library>,
        config: &Config,
        rail_config: RailConfig,
    ) -> Result<(Self, Vec<Lane>), CallError> {
        // Locals are dropped in reverse order, so an early return destroys children before parents.
        let context = create_context(library, config, rail_config)?;
        let resources = resources(&context);
        let depth = rail_config.depth;
        let request_free = library.functions().ucp_request_free;
        let events = Events::new(request_free, 3 * depth + SPARE_ENTRIES, depth + SPARE_ENTRIES);
        let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let origins = (0..depth)
            .map(|token| Source::Post(number(token)))
            .chain((0..depth).map(|token| Source::Receive(number(token))))
            .chain((0..MAX_FLUSHES).map(|slot| Source::Flush(number(slot))))
            .chain([Source::Notification])
            .map(|source| Origin::new(&events, source));
        let origins: Box<[Origin]> = origins.collect();
        let headers: Box<[UnsafeCell<u64>]> = (0..depth).map(|_| UnsafeCell::new(0)).collect();
        let worker = create_worker(library, &context)?;
        let mut objects = Objects {
            worker,
            origins: origins.into(),
            endpoint_origins: Mutex::new(Vec::with_capacity(rail_config.peers)),
            headers: headers.into(),
            events,
            regions: Mutex::new(Vec::new()),
            context,
        };
        // SAFETY: the callbacks require only the user data of an origin.
        unsafe { set_handler(&mut objects, NOTIFICATION_ID, on_notification) }?;
        // SAFETY: as above.
        unsafe { set_handler(&mut objects, MESSAGE_ID, on_message) }?;
        Ok((Self::new(objects, rail_config)?, resources))
    }
}

fn create_context(
    library: &Arc<Library>,
    config: &Config,
    rail_config: RailConfig,
) -> Result<Context, CallError> {
    // SAFETY: the struct consists of integers, pointers and optional functions, for which zero is valid.
    let mut params: ucp_params_t = unsafe { MaybeUninit::zeroed().assume_init() };
    params.field_mask = u64::from(UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS);
    let mut features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | UCP_FEATURE_AM;
    if rail_config.uses_wait {
        features |= UCP_FEATURE_WAKEUP;
    }
    params.features = u64::from(features);
    params.estimated_num_eps = rail_config.peers;
    let mut handle = std::ptr::null_mut();
    // SAFETY: the parameters are valid, and the configuration comes from this library.
    let status = unsafe { library.init(&params, config.as_ptr(), &mut handle) };
    check(library, "ucp_init", status)?;
    // SAFETY: the context was just created; `Objects` destroys its children first.
    Ok(unsafe { Context::new(Arc::clone(library), handle) })
}

fn create_worker(library: &Arc<Library>, context: &Context) -> Result<Worker, CallError> {
    // SAFETY: the struct consists of integers, pointers and a bit set, for which zero is valid.
    let mut params: ucp_worker_params_t = unsafe { MaybeUninit::zeroed().assume_init() };
    params.field_mask = u64::from(UCP_WORKER_PARAM_FIELD_THREAD_MODE);
    // The thread that opens a rail is not the thread that uses it, but only one thread at a time uses the rail.
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    let mut handle = std::ptr::null_mut();
    // SAFETY: the context is open, and the parameters are valid.
    let status = unsafe { (library.functions().ucp_worker_create)(context.handle(), &params, &mut handle) };
    check(library, "ucp_worker_create", status)?;
    // SAFETY: the worker was just created; `Objects` drops it before the context and the user data.
    Ok(unsafe { Worker::new(Arc::clone(library), handle) })
}

/// Registers the callback for active messages with this identifier. Its user data is the last origin.
///
/// # Safety
///
/// The contract of `callback` must hold when the library calls it with an origin of this worker, while the worker
/// exists.
unsafe fn set_handler(objects: &mut Objects, id: c_uint, callback: MessageCallback) -> Result<(), CallError> {
    // SAFETY: the struct consists of integers, a pointer and an optional function, for which zero is valid.
    let mut param: ucp_am_handler_param_t = unsafe { MaybeUninit::zeroed().assume_init() };
    param.field_mask = u64::from(
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
    );
    param.id = id;
    param.cb = Some(callback);
    param.arg = objects
        .origins
        .last()
        .map_or(std::ptr::null_mut(), Origin::as_user_data);
    let library = objects.library();
    // SAFETY: the worker exists, the exclusive reference guarantees that no other thread uses it, the origin in `arg`
    // lives longer than the worker, and the caller fulfills the contract of the callback.
    let status =
        unsafe { (library.functions().ucp_worker_set_am_recv_handler)(objects.worker.handle(), &param) };
    check(library, "ucp_worker_set_am_recv_handler", status)
}
