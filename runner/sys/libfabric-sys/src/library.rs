//! Opens `libfabric.so.1` and says which one it is. Loads code into the process, so it runs the
//! library's constructors; provider initialization waits until the first `fi_getinfo`.

mod error;
mod functions;
mod identity;
mod providers;
mod search;
mod version;

pub use error::OpenError;
pub use providers::Provider;
pub use search::Source;
pub use version::Version;

use crate::bindings::{fi_fabric_attr, fi_info, fid_fabric};
use error::TooOldSnafu;
use functions::Functions;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::PathBuf;

/// The release whose headers the bindings come from; an older library is refused.
const OLDEST: Version = Version::new(1, 17);

/// The newest API whose meaning was read; a newer library is asked for this one.
const NEWEST_API: Version = Version::new(2, 6);

/// Which library was loaded. Every result records it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The file, with links resolved.
    pub path: PathBuf,
    /// The name that the file gives itself.
    pub soname: Option<String>,
    /// `build-id:...` where the linker wrote one, else `sha256:...` of the file.
    pub build: String,
    /// What `fi_version` says.
    pub version: Version,
    /// The API version that is asked for: the newest that both sides know.
    pub api: Version,
    /// The symbol version of `fi_getinfo` that is called.
    pub symbols: String,
}

/// An open libfabric. It may be shared among threads: it holds code addresses and facts, nothing else.
#[derive(Debug)]
pub struct Library {
    functions: Functions,
    identity: Identity,
}

impl Library {
    /// Opens the library, refuses one that these bindings do not fit, and says which it is.
    ///
    /// # Errors
    ///
    /// Every [`OpenError`]: not found, built for another processor or for musl, refused by the loader,
    /// a function missing, or older than 1.17.
    pub fn open(source: &Source) -> Result<Self, OpenError> {
        let opened = search::open(source)?;
        // SAFETY: the handle is fresh from dlopen, and nothing here closes it.
        let functions = unsafe { Functions::find(opened.handle, &opened.name) }?;
        let path = search::path_of(functions.getinfo as *const c_void, &opened.name)?;
        let facts = identity::read_elf(&path)?;
        // SAFETY: fi_version takes nothing and returns a constant of the library.
        let version = Version::from_packed(unsafe { (functions.version)() });
        if version < OLDEST {
            return TooOldSnafu {
                path,
                found: version,
                wanted: OLDEST,
            }
            .fail();
        }
        let identity = Identity {
            path,
            soname: facts.soname,
            build: facts.build,
            version,
            api: version.min(NEWEST_API),
            symbols: functions.info_version.to_string_lossy().into_owned(),
        };
        Ok(Self { functions, identity })
    }

    /// Which library this is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// libfabric's own text for an error number (either sign).
    pub fn error_text(&self, number: c_int) -> String {
        // SAFETY: fi_strerror takes any number and returns a string that lives as long as the library.
        let text = unsafe { (self.functions.strerror)(number.saturating_abs()) };
        if text.is_null() {
            return format!("error {number}");
        }
        // SAFETY: not null, and a C string by its contract.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// A fresh `fi_info` with all attributes attached and zero, of the library's own size. Null where it
    /// has no memory. To be given back by [`Self::free_info`].
    pub fn empty_info(&self) -> *mut fi_info {
        // SAFETY: fi_dupinfo(NULL) is how libfabric allocates one (fi_getinfo(3)).
        unsafe { (self.functions.dupinfo)(std::ptr::null()) }
    }

    /// `fi_dupinfo`: a copy without what follows it in its list. Null where there is no memory.
    ///
    /// # Safety
    ///
    /// `info` is null or came from this library and was not freed.
    pub unsafe fn duplicate_info(&self, info: *const fi_info) -> *mut fi_info {
        // SAFETY: the caller's promise.
        unsafe { (self.functions.dupinfo)(info) }
    }

    /// `fi_freeinfo`: frees the whole list.
    ///
    /// # Safety
    ///
    /// `info` is null or came from this library, was not freed, and nobody uses it any more. Strings and
    /// addresses stored in it are freed with C's `free`.
    pub unsafe fn free_info(&self, info: *mut fi_info) {
        if !info.is_null() {
            // SAFETY: the caller's promise.
            unsafe { (self.functions.freeinfo)(info) };
        }
    }

    /// `fi_getinfo` at the API version of [`Identity::api`]. Returns 0 or a negative error number.
    ///
    /// # Safety
    ///
    /// `node` and `service` are null or C strings; `hints` is null or from [`Self::empty_info`] or
    /// [`Self::duplicate_info`], so that it has the size that this library reads.
    pub unsafe fn get_info(
        &self,
        node: *const c_char,
        service: *const c_char,
        flags: u64,
        hints: *const fi_info,
        found: &mut *mut fi_info,
    ) -> c_int {
        // SAFETY: the caller's promise; `found` is a place for one pointer.
        unsafe { (self.functions.getinfo)(self.identity.api.packed(), node, service, flags, hints, found) }
    }

    /// `fi_fabric`. Returns 0 or a negative error number.
    ///
    /// # Safety
    ///
    /// `attr` belongs to an `fi_info` of this library.
    pub unsafe fn open_fabric(&self, attr: *mut fi_fabric_attr, fabric: &mut *mut fid_fabric) -> c_int {
        // SAFETY: the caller's promise; `fabric` is a place for one pointer.
        unsafe { (self.functions.fabric)(attr, fabric, std::ptr::null_mut()) }
    }
}
