//! Opens the system's UCX. The transport tests open the newer UCX in a separate process, because the loader would
//! combine it with the libraries of the system's UCX.

use ucx_sys::{Library, Source, Version};

#[test]
fn identifies_the_system_library() {
    let library = Library::open(&Source::Search).unwrap();
    let identity = library.identity();
    assert!(identity.path.is_absolute(), "{identity:?}");
    assert_eq!(identity.soname.as_deref(), Some("libucp.so.0"));
    assert!(identity.version >= Version::new(1, 13, 0), "{identity:?}");
    assert_eq!(library.status_message(-14), "No such device");
}
