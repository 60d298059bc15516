//! The keys of a file, and what they say of a message.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use super::key::{Key, KeyUse, MIN_SECRET_BYTES};
use super::signature::is_key_id;
use super::{Signature, WINDOW_MS, hex};
use crate::heartbeat::Refusal;

/// The keys that a server believes, or the one that an agent signs with.
#[derive(Debug, Clone)]
pub struct Keys {
    keys: BTreeMap<Box<str>, Arc<Key>>,
    /// What a key that is not known is tried with, so that it takes as long as one that is.
    nobody: Key,
}

/// A text of keys is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct KeysError {
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    pub fault: LineFault,
}

/// What is wrong with a key's line. The secret is never repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// A name of other characters, or too long.
    #[error("a key's name is 1 to 64 letters, digits, `.`, `_` and `-`")]
    Name,
    /// Only a name.
    #[error("no secret after the name")]
    NoSecret,
    /// Too short to be one.
    #[error("a secret of {0} bytes; at least 16 are needed")]
    ShortSecret(usize),
    /// A name that is there already.
    #[error("key `{0}` is there twice")]
    Twice(Box<str>),
    /// None of `clouds=`, `networks=` and `operator`, or one of them twice.
    #[error("after the secret, only `clouds=`, `networks=` and `operator` may follow, once each")]
    Scope,
    /// An empty list, or a cloud's name of other characters.
    #[error("`{0}` is not a cloud's name")]
    Cloud(Box<str>),
    /// Not an address with a prefix length.
    #[error("`{0}` is not a network such as 192.0.2.0/24")]
    Network(Box<str>),
}

impl Keys {
    /// Reads keys, one a line: `NAME SECRET [clouds=A,B] [networks=192.0.2.0/24,2001:db8::/32]
    /// [operator]`, separated by blanks; empty lines and those that begin with `#` say nothing.
    ///
    /// A secret of hexadecimal digits only, an even number of them, stands for their bytes; any
    /// other for the bytes of its text.
    ///
    /// # Errors
    ///
    /// The first line at fault.
    pub fn read(text: &str) -> Result<Self, KeysError> {
        let mut keys = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let at = |fault| KeysError { line: number + 1, fault };
            let mut words = line.split_ascii_whitespace();
            let Some(name) = words.next().filter(|name| !name.starts_with('#')) else { continue };
            let key = read_key(name, words).map_err(at)?;
            if keys.insert(name.into(), Arc::new(key)).is_some() {
                return Err(at(LineFault::Twice(name.into())));
            }
        }
        Ok(Self { keys, nobody: Key::new("", &[0; 32]) })
    }

    /// The key of that name.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Arc<Key>> {
        self.keys.get(id)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Key>> {
        self.keys.values()
    }

    /// Whether a body was signed so, with a key of these, within [`WINDOW_MS`] of now.
    ///
    /// Whether it is new is for [`super::LastSeen`] to say, and what the key is good for is for
    /// [`KeyUse::may_announce`].
    ///
    /// # Errors
    ///
    /// [`Refusal::Signature`]. Which of the key's name and the code is wrong is not told, nor in
    /// the time it takes.
    pub fn verify(
        &self,
        signature: &Signature,
        body: &[u8],
        now_unix_ms: i64,
    ) -> Result<KeyUse, Refusal> {
        let key = self.keys.get(&signature.key_id);
        let made = key.map_or(&self.nobody, |key| key).made(signature, body);
        let Some(key) = key.filter(|_| made) else {
            return Err(Refusal::Signature("not made by a key known here"));
        };
        if now_unix_ms.abs_diff(signature.unix_ms) > WINDOW_MS {
            return Err(Refusal::Signature("made more than 120 s from now"));
        }
        Ok(KeyUse { key: Arc::clone(key), unix_ms: signature.unix_ms })
    }
}

fn read_key<'a>(name: &str, mut words: impl Iterator<Item = &'a str>) -> Result<Key, LineFault> {
    if !is_key_id(name) {
        return Err(LineFault::Name);
    }
    let secret = words.next().ok_or(LineFault::NoSecret)?;
    let secret = hex::bytes(secret).unwrap_or_else(|| secret.as_bytes().to_vec());
    if secret.len() < MIN_SECRET_BYTES {
        return Err(LineFault::ShortSecret(secret.len()));
    }
    let mut key = Key::new(name, &secret);
    for word in words {
        match word.split_once('=') {
            Some(("clouds", list)) if key.clouds.is_empty() => {
                key.clouds = list.split(',').map(cloud).collect::<Result<_, _>>()?;
            }
            Some(("networks", list)) if key.networks.is_empty() => {
                key.networks = list.split(',').map(network).collect::<Result<_, _>>()?;
            }
            None if word == "operator" && !key.operator => key.operator = true,
            _ => return Err(LineFault::Scope),
        }
    }
    Ok(key)
}

/// A cloud's name is of the characters of a key's.
fn cloud(text: &str) -> Result<Box<str>, LineFault> {
    if is_key_id(text) { Ok(text.into()) } else { Err(LineFault::Cloud(text.into())) }
}

/// A network, or an address for a network of its own.
fn network(text: &str) -> Result<IpNet, LineFault> {
    let net = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    net.map_err(|_| LineFault::Network(text.into()))
}
