//! One key, and what a message signed with it may do.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use ipnet::IpNet;
use sha2::{Digest, Sha256};

use super::Signature;
use crate::heartbeat::{Heartbeat, Refusal};
use crate::registry::Cache;

/// The shortest secret, in bytes: what 128 bits need.
pub const MIN_SECRET_BYTES: usize = 16;

/// A secret that agents and servers share, with what it is good for.
#[derive(Clone)]
pub struct Key {
    pub(super) id: Box<str>,
    /// The code of an empty text under the secret: the secret itself is not kept.
    code: Hmac<Sha256>,
    /// All if empty.
    pub(super) clouds: Vec<Box<str>>,
    /// All if empty.
    pub(super) networks: Vec<IpNet>,
    /// It may decide about caches, too.
    pub(super) operator: bool,
}

impl Key {
    /// A key for every cloud and network. A secret of any length makes one: that it is of
    /// [`MIN_SECRET_BYTES`] at least is for [`super::Keys::read`] to see to.
    pub(super) fn new(id: &str, secret: &[u8]) -> Self {
        // A block of the digest, filled with zeros: RFC 2104, section 2.
        let mut block = [0; 64];
        match block.get_mut(..secret.len()) {
            Some(start) => start.copy_from_slice(secret),
            None => block[..32].copy_from_slice(&Sha256::digest(secret)),
        }
        let code = Hmac::new(&block.into());
        Self { id: id.into(), code, clouds: Vec::new(), networks: Vec::new(), operator: false }
    }

    /// By what it is called: no secret.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The signature of a body at a time, milliseconds since 1970.
    #[must_use]
    pub fn sign(&self, body: &[u8], unix_ms: i64) -> Signature {
        let mac = self.code(&self.id, body, unix_ms).finalize().into_bytes().into();
        Signature { key_id: self.id.clone(), unix_ms, mac }
    }

    /// Whether this key made that code, for a message that names the key so. Takes as long for a
    /// code that is wrong in its first byte as in its last.
    pub(super) fn made(&self, signature: &Signature, body: &[u8]) -> bool {
        let code = self.code(&signature.key_id, body, signature.unix_ms);
        code.verify_slice(&signature.mac).is_ok()
    }

    fn code(&self, id: &str, body: &[u8], unix_ms: i64) -> Hmac<Sha256> {
        let mut code = self.code.clone();
        code.update(id.as_bytes());
        code.update(format!("\n{unix_ms}\n").as_bytes());
        code.update(body);
        code
    }
}

/// Without the secret.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("id", &self.id)
            .field("clouds", &self.clouds)
            .field("networks", &self.networks)
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}

/// A message was signed with this key, at this time.
#[derive(Debug, Clone)]
pub struct KeyUse {
    /// The key.
    pub key: Arc<Key>,
    /// When, milliseconds since 1970.
    pub unix_ms: i64,
}

impl KeyUse {
    /// Whether the key may decide about that cache: it is an operator's, and the cache is of its
    /// clouds and networks.
    ///
    /// # Errors
    ///
    /// [`Refusal::KeyScope`].
    pub fn may_decide(&self, cache: &Cache) -> Result<(), Refusal> {
        if !self.key.operator {
            return Err(Refusal::KeyScope(
                "decisions; the word `operator` in its line makes it so",
            ));
        }
        let addresses = [cache.public_ip, cache.external_ip, cache.private_ip];
        self.is_for(cache.cloud.as_deref(), addresses)
    }

    /// Whether the key may announce that cache: its cloud is one of the key's, and its public and
    /// external addresses (if it has neither, its private one) are in the key's networks.
    ///
    /// # Errors
    ///
    /// [`Refusal::KeyScope`].
    pub fn may_announce(&self, beat: &Heartbeat) -> Result<(), Refusal> {
        let addresses = [beat.public_ip, beat.external_ip, beat.private_ip];
        self.is_for(beat.cloud.as_deref(), addresses)
    }

    /// Of a public, an external and a private address the last counts where there is no other.
    fn is_for(&self, cloud: Option<&str>, addresses: [Option<IpAddr>; 3]) -> Result<(), Refusal> {
        let Key { clouds, networks, .. } = &*self.key;
        if !clouds.is_empty() && !clouds.iter().any(|mine| Some(&**mine) == cloud) {
            return Err(Refusal::KeyScope("this cloud"));
        }
        let [public, external, private] = addresses;
        let private = private.filter(|_| public.or(external).is_none());
        let mut addresses = [public, external, private].into_iter().flatten();
        let is_ours = |address: IpAddr| networks.iter().any(|net| net.contains(&address));
        if !networks.is_empty() && !addresses.all(is_ours) {
            return Err(Refusal::KeyScope("this network"));
        }
        Ok(())
    }
}
