//! Content of the notifications that agents exchange. Performs no I/O.

use crds::assignment::memory::CONTROL_BYTES;

/// Maximum length of a message payload, in bytes: the length of a control message. A longer payload would measure the
/// backend's message path instead of its transfers.
pub(in crate::transport::nixl) const MAX_PAYLOAD_BYTES: usize = CONTROL_BYTES as usize;
/// Length of the kind and the immediate data, in bytes.
const HEADER_BYTES: usize = 1 + 8;
/// Kind of a message with a payload.
const MESSAGE: u8 = b'm';
/// Kind of a write notification.
const WRITE: u8 = b'w';

/// Notification that one agent sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::transport::nixl) enum Notification {
    /// Message to a posted receive.
    Message {
        immediate: u64,
        /// Payload, of which the first `length` bytes are used.
        payload: [u8; MAX_PAYLOAD_BYTES],
        length: usize,
    },
    /// A write with immediate data has arrived.
    Write { immediate: u64 },
}

/// Encoded notification.
#[derive(Clone, Copy, Debug)]
pub(in crate::transport::nixl) struct EncodedNotification {
    bytes: [u8; HEADER_BYTES + MAX_PAYLOAD_BYTES],
    length: usize,
}

impl EncodedNotification {
    pub(in crate::transport::nixl) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Notification {
    pub(in crate::transport::nixl) fn encode(&self) -> EncodedNotification {
        let mut bytes = [0; HEADER_BYTES + MAX_PAYLOAD_BYTES];
        let (kind, immediate, payload) = match self {
            Self::Message {
                immediate,
                payload,
                length,
            } => (MESSAGE, immediate, &payload[..(*length).min(MAX_PAYLOAD_BYTES)]),
            Self::Write { immediate } => (WRITE, immediate, [].as_slice()),
        };
        bytes[0] = kind;
        bytes[1..HEADER_BYTES].copy_from_slice(&immediate.to_le_bytes());
        bytes[HEADER_BYTES..][..payload.len()].copy_from_slice(payload);
        EncodedNotification {
            bytes,
            length: HEADER_BYTES + payload.len(),
        }
    }

    /// Decodes a notification; `None` if another application sent it.
    pub(in crate::transport::nixl) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let (immediate, content) = rest.split_first_chunk::<8>()?;
        let immediate = u64::from_le_bytes(*immediate);
        match kind {
            MESSAGE => {
                let mut payload = [0; MAX_PAYLOAD_BYTES];
                payload.get_mut(..content.len())?.copy_from_slice(content);
                Some(Self::Message {
                    immediate,
                    payload,
                    length: content.len(),
                })
            }
            WRITE if content.is_empty() => Some(Self::Write { immediate }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_only_encoded_notifications() {
        let message = Notification::Message {
            immediate: 0xdead_beef,
            payload: [7; MAX_PAYLOAD_BYTES],
            length: MAX_PAYLOAD_BYTES,
        };
        for notification in [message, Notification::Write { immediate: u64::MAX }] {
            let encoded = notification.encode();
            assert_eq!(Notification::decode(encoded.as_bytes()), Some(notification));
            let mut longer = encoded.as_bytes().to_vec();
            longer.push(0);
            assert_eq!(Notification::decode(&longer), None);
            assert_eq!(Notification::decode(&encoded.as_bytes()[..8]), None);
        }
        assert_eq!(Notification::decode(b""), None);
        assert_eq!(Notification::decode(b"another application"), None);
    }
}
