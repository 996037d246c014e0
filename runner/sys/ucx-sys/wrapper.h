/* Input to bindgen for src/bindings.rs: the public headers of UCX 1.13. */
#include <ucp/api/ucp.h>
#include <ucp/api/ucp_version.h>
