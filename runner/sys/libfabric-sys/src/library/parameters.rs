//! The environment variables that the library and its providers define. `fi_getparams` initializes the providers.

use super::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// Environment variable of the library, from `fi_getparams`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Name of the variable.
    pub name: String,
    /// Type of its value.
    pub kind: ParameterKind,
    /// Description, which states the default of many variables. The description of a provider's variable starts with
    /// the name of the provider and a colon.
    pub help: String,
    /// Value that is set; `None` if the default applies.
    pub value: Option<String>,
}

/// Type of a variable's value (`enum fi_param_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterKind {
    /// `FI_PARAM_BOOL`.
    Boolean,
    /// `FI_PARAM_INT` and `FI_PARAM_SIZE_T`.
    Number,
    /// `FI_PARAM_STRING`, and types of later releases.
    Text,
}

/// `struct fi_param`, as `rdma/fabric.h` declares it since 1.0.
#[repr(C)]
struct RawParameter {
    name: *const c_char,
    kind: c_uint,
    help: *const c_char,
    value: *const c_char,
}

type GetParameters = unsafe extern "C" fn(*mut *mut RawParameter, *mut c_int) -> c_int;
type FreeParameters = unsafe extern "C" fn(*mut RawParameter);

/// The two functions that list the variables.
#[derive(Debug, Clone, Copy)]
pub(super) struct Functions {
    get: GetParameters,
    free: FreeParameters,
}

impl Functions {
    /// Creates the functions from the addresses of `fi_getparams` and `fi_freeparams`.
    ///
    /// # Safety
    ///
    /// The addresses must be those of these functions in one library that is never unloaded.
    pub(super) unsafe fn new(get: *mut c_void, free: *mut c_void) -> Self {
        Self {
            // SAFETY: the caller guarantees that this is `fi_getparams`, which rdma/fabric.h declares with this type.
            get: unsafe { std::mem::transmute::<*mut c_void, GetParameters>(get) },
            // SAFETY: as above, for `fi_freeparams`.
            free: unsafe { std::mem::transmute::<*mut c_void, FreeParameters>(free) },
        }
    }
}

impl Library {
    /// Environment variables of the library and of the providers that could be initialized. Empty if the library fails
    /// to list them.
    pub fn parameters(&self) -> Vec<Parameter> {
        let Functions { get, free } = self.functions.parameters;
        let mut list: *mut RawParameter = std::ptr::null_mut();
        let mut count: c_int = 0;
        // SAFETY: both pointers have room for the results.
        let status = unsafe { get(&mut list, &mut count) };
        let length = usize::try_from(count).unwrap_or(0);
        if status != 0 || list.is_null() {
            return Vec::new();
        }
        // SAFETY: the call succeeded, so `list` points to `count` entries, which live until they are freed below.
        let entries = unsafe { std::slice::from_raw_parts(list, length) };
        let parameters = entries.iter().map(Parameter::from).collect();
        // SAFETY: the library allocated the list, and it is freed only here.
        unsafe { free(list) };
        parameters
    }
}

impl From<&RawParameter> for Parameter {
    fn from(raw: &RawParameter) -> Self {
        Self {
            name: text(raw.name).unwrap_or_default(),
            kind: match raw.kind {
                1 | 3 => ParameterKind::Number,
                2 => ParameterKind::Boolean,
                _ => ParameterKind::Text,
            },
            help: text(raw.help).unwrap_or_default(),
            value: text(raw.value),
        }
    }
}

/// Copies a string of an entry that `fi_getparams` returned; `None` for a null pointer.
fn text(string: *const c_char) -> Option<String> {
    // SAFETY: the caller passes a field of a live entry, which is null or a C string.
    let string = (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) })?;
    Some(string.to_string_lossy().into_owned())
}
