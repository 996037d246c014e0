//! Posts transfers, messages and receives. Allocates only if a request has not been prepared. The library itself
//! allocates in several calls.

use super::call;
use super::rail::{InFlightPost, PostRequest, PostedReceive, Rail};
use super::region::RegisteredRange;
use super::requests::{DeviceLocation, Transfer};
use crate::measure::clock;
use crate::transport::nixl::rules::notification::{MAX_PAYLOAD_BYTES, Notification};
use crate::transport::nixl::rules::steps::Kind;
use crate::transport::{CompletionKind, Peer, PostError};
use crds::v1alpha1::NixlRequests;
use nixl_sys::{ERROR_NOT_FOUND, IN_PROGRESS, Operation, READ, Request, SUCCESS, Status};

/// Location in a peer's imported region.
#[derive(Clone, Copy)]
pub(in crate::transport::nixl) struct RemoteTarget {
    pub peer: Peer,
    /// Handle of the imported region.
    pub key: u64,
    pub offset: u64,
}

/// Result of finding or creating a request.
struct AcquiredRequest {
    handle: Request,
    request: PostRequest,
    creation_nanos: u64,
}

impl Rail {
    /// Posts a transfer. If `immediate` is set, the peer is notified after the data has arrived.
    #[inline]
    pub(in crate::transport::nixl) fn transfer(
        &mut self,
        operation: Operation,
        range: RegisteredRange<'_>,
        target: RemoteTarget,
        immediate: Option<u64>,
        token: u32,
    ) -> Result<(), PostError> {
        let transfer = self.build_transfer(operation, range, target)?;
        self.check_token(token)?;
        let acquired = self.acquire(&transfer, target.peer)?;
        let objects = &self.objects;
        let arguments = match immediate {
            None => objects.arguments,
            Some(immediate) => {
                let notification = Notification::Write { immediate }.encode();
                let bytes = notification.as_bytes();
                let status = call!(
                    objects.library,
                    opt_args_set_notif_msg(objects.notifying, bytes.as_ptr().cast(), bytes.len())
                );
                if status != SUCCESS {
                    self.discard(acquired.request);
                    return Err(post_error(status));
                }
                objects.notifying
            }
        };
        let measures = self.steps.is_some();
        let start = if measures { clock::now() } else { 0 };
        let status = call!(
            objects.library,
            post_xfer_req(objects.agent, acquired.handle, arguments)
        );
        if status != IN_PROGRESS && status != SUCCESS {
            self.discard(acquired.request);
            return Err(post_error(status));
        }
        let posted = if measures { clock::now() } else { 0 };
        let flight = InFlightPost {
            token,
            peer: target.peer,
            handle: acquired.handle,
            request: acquired.request,
            kind: Kind {
                is_read: operation == READ,
                length: transfer.length,
            },
            creation_nanos: acquired.creation_nanos,
            post_nanos: posted - start,
            posted,
        };
        self.in_flight[token as usize] = true;
        if status == SUCCESS {
            self.complete(flight);
        } else {
            self.in_flight_posts.push(flight);
        }
        Ok(())
    }

    /// If the spec enables prepared requests, prepares `at_once` requests for a transfer. Also queries which backend
    /// serves the requests.
    ///
    /// # Errors
    ///
    /// Returns a message if the library rejects a request. If a different backend than the requested one serves the
    /// requests, `Ok` contains its name.
    pub(in crate::transport::nixl) fn prepare(
        &mut self,
        operation: Operation,
        range: RegisteredRange<'_>,
        target: RemoteTarget,
        at_once: u32,
    ) -> Result<Option<String>, String> {
        let transfer = self
            .build_transfer(operation, range, target)
            .map_err(|_| "a transfer is not within the registered memory of both sides".to_owned())?;
        let peer = self.peers.get(target.peer).ok_or("the peer is not connected")?;
        let served_by = match self.mode {
            NixlRequests::Prepared => {
                let mut newest = None;
                while self.requests.idle(&transfer) < at_once as usize {
                    if !self.requests.has_room(&transfer) {
                        return Err(self.requests.too_many_message());
                    }
                    let prepared = self.requests.prepare(&self.objects, &transfer, &peer.name);
                    let (index, handle) = prepared.map_err(|error| error.to_string())?;
                    self.requests.put_back(index);
                    newest = Some(handle);
                }
                newest.map(|handle| self.backend_of(handle))
            }
            NixlRequests::Created if self.served_by.is_none() => {
                let created = self.requests.create(&self.objects, &transfer, &peer.name);
                let handle = created.map_err(|error| error.to_string())?;
                let served_by = self.backend_of(handle);
                self.objects.release_request(handle);
                Some(served_by)
            }
            NixlRequests::Created => None,
        };
        let Some(served_by) = served_by else {
            return Ok(None);
        };
        let served_by = served_by.map_err(|error| error.to_string())?;
        let other = (served_by != self.backend.name()).then(|| served_by.clone());
        self.served_by = Some(served_by);
        Ok(other)
    }

    /// Sends a message, which is complete for the sender when the call returns: the library reports no completion.
    pub(in crate::transport::nixl) fn send(
        &mut self,
        range: RegisteredRange<'_>,
        peer: Peer,
        immediate: u64,
        token: u32,
    ) -> Result<(), PostError> {
        let length = usize::try_from(range.length).unwrap_or(usize::MAX);
        if length > MAX_PAYLOAD_BYTES {
            return Err(PostError::Refused(libc::EMSGSIZE));
        }
        self.check_token(token)?;
        let peer = self.peers.get(peer).ok_or(PostError::Refused(libc::EINVAL))?;
        let mut payload = [0; MAX_PAYLOAD_BYTES];
        let offset = usize::try_from(range.offset).unwrap_or(usize::MAX);
        range
            .region
            .memory()
            .read_into(offset, &mut payload[..length])
            .map_err(|_| PostError::Refused(libc::EINVAL))?;
        let message = Notification::Message {
            immediate,
            payload,
            length,
        }
        .encode();
        let bytes = message.as_bytes();
        let objects = &self.objects;
        let status = call!(
            objects.library,
            gen_notif(
                objects.agent,
                peer.name.as_ptr(),
                bytes.as_ptr().cast(),
                bytes.len(),
                objects.arguments
            )
        );
        if status != SUCCESS {
            return Err(post_error(status));
        }
        self.ready.push_back(CompletionKind::Posted { token });
        Ok(())
    }

    /// Posts a receive for one message.
    pub(in crate::transport::nixl) fn post_receive(
        &mut self,
        range: RegisteredRange<'_>,
        token: u32,
    ) -> Result<(), PostError> {
        if !range.region.belongs_to(&self.objects) {
            return Err(PostError::Refused(libc::EINVAL));
        }
        match self.receiving.get(token as usize) {
            None => return Err(PostError::Refused(libc::EINVAL)),
            Some(true) => return Err(PostError::Refused(libc::EBUSY)),
            Some(false) => self.receiving[token as usize] = true,
        }
        self.receives.push_back(PostedReceive {
            token,
            memory: std::sync::Arc::clone(range.region.memory()),
            offset: range.offset,
            length: range.length,
        });
        self.deliver();
        Ok(())
    }

    #[inline]
    fn check_token(&self, token: u32) -> Result<(), PostError> {
        match self.in_flight.get(token as usize) {
            None => Err(PostError::Refused(libc::EINVAL)),
            Some(true) => Err(PostError::Refused(libc::EBUSY)),
            Some(false) => Ok(()),
        }
    }

    #[inline]
    fn build_transfer(
        &self,
        operation: Operation,
        range: RegisteredRange<'_>,
        target: RemoteTarget,
    ) -> Result<Transfer, PostError> {
        let invalid = PostError::Refused(libc::EINVAL);
        let key = usize::try_from(target.key).map_err(|_| invalid)?;
        let remote = self.imported.get(key).ok_or(invalid)?;
        let end = target.offset.checked_add(range.length).ok_or(invalid)?;
        if remote.peer != target.peer || end > remote.length || !range.region.belongs_to(&self.objects) {
            return Err(invalid);
        }
        Ok(Transfer {
            operation,
            peer: u32::try_from(target.peer).map_err(|_| invalid)?,
            local: range.address(),
            local_device: DeviceLocation::from(range.region.location()),
            remote: remote.address + target.offset,
            remote_device: DeviceLocation::from(remote.location),
            length: range.length,
        })
    }

    /// Takes a prepared request, or prepares or creates one.
    #[inline]
    fn acquire(&mut self, transfer: &Transfer, peer: Peer) -> Result<AcquiredRequest, PostError> {
        if let Some((index, handle)) = self.requests.take(transfer) {
            return Ok(AcquiredRequest {
                handle,
                request: PostRequest::Prepared(index),
                creation_nanos: 0,
            });
        }
        let start = if self.steps.is_some() { clock::now() } else { 0 };
        let peer = self.peers.get(peer).ok_or(PostError::Refused(libc::EINVAL))?;
        let prepares = self.mode == NixlRequests::Prepared && self.requests.has_room(transfer);
        let (handle, request) = if prepares {
            let prepared = self.requests.prepare(&self.objects, transfer, &peer.name);
            let (index, handle) = prepared.map_err(|error| post_error(error.status))?;
            (handle, PostRequest::Prepared(index))
        } else {
            let created = self.requests.create(&self.objects, transfer, &peer.name);
            let handle = created.map_err(|error| post_error(error.status))?;
            (handle, PostRequest::Created(handle))
        };
        let creation_nanos = match self.steps {
            Some(_) => clock::now() - start,
            None => 0,
        };
        Ok(AcquiredRequest {
            handle,
            request,
            creation_nanos,
        })
    }

    /// Discards a request that could not be posted.
    fn discard(&mut self, request: PostRequest) {
        match request {
            PostRequest::Prepared(index) => self.requests.set_broken(index),
            PostRequest::Created(handle) => self.objects.release_request(handle),
        }
    }
}

/// Returns the error for a post that the library refused. The agent drops a peer's metadata when the connection to it
/// is lost.
fn post_error(status: Status) -> PostError {
    PostError::Failed(match status {
        ERROR_NOT_FOUND => libc::ECONNRESET,
        _ => libc::EIO,
    })
}
