//! What comes with a signed message.

use super::hex;
use crate::heartbeat::Refusal;

/// Which key signed.
pub const KEY_HEADER: &str = "x-shoal-key";
/// When, milliseconds since 1970, in decimal digits.
pub const TIME_HEADER: &str = "x-shoal-time";
/// The code, 64 hexadecimal digits.
pub const SIGNATURE_HEADER: &str = "x-shoal-signature";
/// All of them, in the order of [`Signature::from_values`].
pub const HEADERS: [&str; 3] = [KEY_HEADER, TIME_HEADER, SIGNATURE_HEADER];

/// What the [`HEADERS`] of a signed message say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Which key signed: `[A-Za-z0-9._-]{1,64}`.
    pub key_id: Box<str>,
    /// When, milliseconds since 1970.
    pub unix_ms: i64,
    /// HMAC-SHA-256 of both and the body.
    pub mac: [u8; 32],
}

impl Signature {
    /// Of the values of the [`HEADERS`], those that are there; `None` if none is: not signed.
    ///
    /// # Errors
    ///
    /// [`Refusal::Signature`] if only some are there, or one is not of its form.
    pub fn from_values(
        key_id: Option<&str>,
        unix_ms: Option<&str>,
        mac: Option<&str>,
    ) -> Result<Option<Self>, Refusal> {
        let (key_id, unix_ms, mac) = match (key_id, unix_ms, mac) {
            (None, None, None) => return Ok(None),
            (Some(key_id), Some(unix_ms), Some(mac)) => (key_id, unix_ms, mac),
            _ => return Err(Refusal::Signature("of its three headers one is missing")),
        };
        if !is_key_id(key_id) {
            return Err(Refusal::Signature("not a key's name"));
        }
        // Digits only: `parse` would take a sign.
        let is_time = unix_ms.bytes().all(|byte| byte.is_ascii_digit());
        let Some(unix_ms) = unix_ms.parse().ok().filter(|_| is_time) else {
            return Err(Refusal::Signature("its time is not in milliseconds"));
        };
        let Some(mac) = hex::bytes(mac).and_then(|mac| mac.try_into().ok()) else {
            return Err(Refusal::Signature("not 64 hexadecimal digits"));
        };
        Ok(Some(Self { key_id: key_id.into(), unix_ms, mac }))
    }

    /// The [`HEADERS`] with their values.
    #[must_use]
    pub fn headers(&self) -> [(&'static str, String); 3] {
        [
            (KEY_HEADER, self.key_id.to_string()),
            (TIME_HEADER, self.unix_ms.to_string()),
            (SIGNATURE_HEADER, hex::text(&self.mac)),
        ]
    }
}

pub(super) fn is_key_id(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(allowed)
}
