//! How a connection to MySQL or MariaDB begins: the server's handshake, what we answer to it, and
//! the two methods by which a password is proved without being sent.
//!
//! - `mysql_native_password`: SHA1(p) ⊕ SHA1(nonce + SHA1(SHA1(p))).
//! - `caching_sha2_password`: SHA256(p) ⊕ SHA256(SHA256(SHA256(p)) + nonce). Where the server
//!   does not have the user's digest in its cache it asks for the password itself, which goes
//!   over TLS or a Unix socket only: nobody else may read it.
//!
//! TLS begins behind the server's handshake: it is asked for by the head of an answer, and the
//! whole answer follows in TLS (`SSLRequest`).
//!
//! Source: MySQL Client/Server Protocol, "Connection Phase Packets" (`HandshakeV10`,
//! `HandshakeResponse41`, `AuthSwitchRequest`, `AuthMoreData`) and "Authentication methods".

use super::packet::push_string;
use crate::store::bytes::{Reader, push_text};
use crate::store::frames::Malformed;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// The length of a nonce.
pub(super) const NONCE: usize = 20;

/// What a client can do (`CLIENT_…`), of which we do these: long passwords, matched rows in place
/// of changed ones, long flags, 4.1's protocol, transactions, 4.1's authentication, methods by
/// name.
const CAPABILITIES: u32 = 1 | 1 << 1 | 1 << 2 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 19;
/// `CLIENT_CONNECT_WITH_DB`.
const WITH_DATABASE: u32 = 1 << 3;
/// `CLIENT_SSL`: it speaks TLS.
const TLS: u32 = 1 << 11;
/// What a server has to be able to do: 4.1's protocol and authentication.
const NEEDED: u32 = 1 << 9 | 1 << 15;
/// `CLIENT_PLUGIN_AUTH`: it names its method.
const NAMES_METHOD: u32 = 1 << 19;
/// Our longest packet, as we tell the server.
const MAX_PACKET: u32 = 1 << 24;
/// `utf8mb4_general_ci`, which MySQL and MariaDB both have.
const CHARACTERS: u8 = 45;

/// How a password is proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Native,
    CachingSha2,
}

impl Method {
    /// The method of a name.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"mysql_native_password" => Some(Self::Native),
            b"caching_sha2_password" => Some(Self::CachingSha2),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
        }
    }

    /// What proves the password to who has chosen this nonce; nothing for an empty one.
    pub(super) fn proof(self, password: &[u8], nonce: &[u8; NONCE]) -> Vec<u8> {
        if password.is_empty() {
            return Vec::new();
        }
        match self {
            Self::Native => {
                let once = Sha1::digest(password);
                let mask = Sha1::new().chain_update(nonce).chain_update(Sha1::digest(once));
                once.iter().zip(mask.finalize()).map(|(a, b)| a ^ b).collect()
            }
            Self::CachingSha2 => {
                let once = Sha256::digest(password);
                let twice = Sha256::digest(once);
                let mask = Sha256::new().chain_update(twice).chain_update(nonce).finalize();
                once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
            }
        }
    }
}

/// What the server begins with.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Handshake {
    pub(super) nonce: [u8; NONCE],
    /// Its method; where we do not know that, it will ask for the user's own.
    pub(super) method: Method,
    /// Whether it speaks TLS.
    pub(super) has_tls: bool,
}

impl Handshake {
    /// Reads version 10 of it.
    pub(super) fn read(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(body);
        if reader.little_endian(1)? != 10 {
            return Err(Malformed);
        }
        reader.text()?; // the server's version
        reader.bytes(4)?; // the connection's number
        let first = reader.bytes(8)?;
        reader.bytes(1)?;
        let low = reader.little_endian(2)?;
        reader.bytes(3)?; // characters, status
        let high = reader.little_endian(2)?;
        let capabilities = low | high << 16;
        if capabilities & u64::from(NEEDED) != u64::from(NEEDED) {
            return Err(Malformed);
        }
        let len = usize::try_from(reader.little_endian(1)?).map_err(|_| Malformed)?;
        reader.bytes(10)?;
        let second = reader.bytes(len.saturating_sub(8).max(13))?;
        let mut nonce = [0; NONCE];
        nonce[..8].copy_from_slice(first);
        nonce[8..].copy_from_slice(&second[..12]);
        let names = capabilities & u64::from(NAMES_METHOD) != 0;
        // Some servers forget the zero behind the name.
        let name = if names { reader.0.split(|byte| *byte == 0).next() } else { None };
        let method = name.and_then(Method::named).unwrap_or(Method::Native);
        Ok(Self { nonce, method, has_tls: capabilities & u64::from(TLS) != 0 })
    }
}

/// Our answer to a handshake.
pub(super) struct Answer<'a> {
    /// Whether it goes over TLS.
    pub(super) over_tls: bool,
    pub(super) user: &'a [u8],
    pub(super) method: Method,
    /// What proves the password: at most 32 bytes.
    pub(super) proof: Vec<u8>,
    /// Empty where there is none.
    pub(super) database: &'a str,
}

impl Answer<'_> {
    /// Appends its head, which alone asks for TLS. Servers go by the capabilities of that, and do
    /// not look at those that follow within TLS.
    pub(super) fn append_head(&self, out: &mut Vec<u8>) {
        let with_tls = if self.over_tls { TLS } else { 0 };
        let with_database = if self.database.is_empty() { 0 } else { WITH_DATABASE };
        out.extend_from_slice(&(CAPABILITIES | with_tls | with_database).to_le_bytes());
        out.extend_from_slice(&MAX_PACKET.to_le_bytes());
        out.push(CHARACTERS);
        out.extend_from_slice(&[0; 23]);
    }

    /// Appends the whole of it.
    pub(super) fn append(&self, out: &mut Vec<u8>) {
        self.append_head(out);
        push_text(self.user, out);
        push_string(&self.proof, out);
        if !self.database.is_empty() {
            push_text(self.database.as_bytes(), out);
        }
        push_text(self.method.name().as_bytes(), out);
    }
}

/// Another method that the server asks for, with a nonce of its own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Switch<'a> {
    pub(super) name: &'a [u8],
    pub(super) nonce: Option<[u8; NONCE]>,
}

impl<'a> Switch<'a> {
    /// Reads what stands behind its mark.
    pub(super) fn read(body: &'a [u8]) -> Result<Self, Malformed> {
        if body.is_empty() {
            // From before 4.1.
            return Ok(Self { name: b"mysql_old_password", nonce: None });
        }
        let mut reader = Reader(body);
        let name = reader.text()?;
        let nonce = reader.bytes(NONCE).ok().and_then(|bytes| bytes.try_into().ok());
        Ok(Self { name, nonce })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn proofs_are_those_of_the_servers_own_clients() {
        let nonce: [u8; NONCE] = *b"abcdefghijklmnopqrst";
        // By the formulas above, in Python's hashlib.
        let native = Method::Native.proof(b"secret", &nonce);
        assert_eq!(hex(&native), "8817c50fa779daef010ee7577825b0847df9842e");
        let sha2 = Method::CachingSha2.proof(b"secret", &nonce);
        assert_eq!(hex(&sha2), "c76e2898612a4cf042c77fa8c4702c4c64c0c2c557c53c4d75595aaa6abae809");
        // And by Go's client (go-sql-driver/mysql, TestScrambleSHA256Pass).
        let nonce =
            [10, 47, 74, 111, 75, 73, 34, 48, 88, 76, 114, 74, 37, 13, 3, 80, 82, 2, 23, 21];
        let sha2 = Method::CachingSha2.proof(b"secret", &nonce);
        assert_eq!(hex(&sha2), "f490e76f66d9d86665ce54d98c78d0acfe2fb0b08b423da807144873d30b312c");
        assert!(Method::Native.proof(b"", &nonce).is_empty());
        assert!(Method::CachingSha2.proof(b"", &nonce).is_empty());
    }

    /// The beginning of MariaDB 10.11, as it sends it.
    fn mariadb() -> Vec<u8> {
        let mut body = b"\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0abcdefgh\0".to_vec();
        body.extend_from_slice(b"\xfe\xff\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0");
        body.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
        body
    }

    #[test]
    fn handshakes_are_read() {
        let (nonce, method) = (*b"abcdefghijklmnopqrst", Method::Native);
        let body = mariadb();
        assert_eq!(Handshake::read(&body), Ok(Handshake { nonce, method, has_tls: true }));
        let mut without = body.clone();
        // The second byte of what it can do stands behind the first part of the nonce, and a zero.
        let nonce_at = body.windows(8).position(|part| part == b"abcdefgh").unwrap();
        without[nonce_at + 10] &= !0x08;
        assert_eq!(Handshake::read(&without), Ok(Handshake { nonce, method, has_tls: false }));
        for len in 0..body.len() - b"mysql_native_password\0".len() {
            assert_eq!(Handshake::read(&body[..len]), Err(Malformed), "cut at {len}");
        }
        let other = String::from_utf8_lossy(&body).replace("mysql_native", "caching_sha2");
        // The marks beyond ASCII have suffered, the name has not.
        assert!(other.contains("caching_sha2_password"));
        let name = body.len() - b"mysql_native_password\0".len();
        let other = [&body[..name], b"caching_sha2_password\0"].concat();
        assert_eq!(Handshake::read(&other).unwrap().method, Method::CachingSha2);
        let other = [&body[..name], b"client_ed25519"].concat();
        assert_eq!(Handshake::read(&other).unwrap().method, Method::Native);
    }

    #[test]
    fn the_answer_names_user_and_database() {
        let answer = |proof: &[u8], database| {
            let (over_tls, user, method) = (false, &b"ann"[..], Method::Native);
            let mut out = Vec::new();
            Answer { over_tls, user, method, proof: proof.to_vec(), database }.append(&mut out);
            out
        };
        let out = answer(b"", "shop");
        let head = [0x0f, 0xa2, 0x08, 0, 0, 0, 0, 1, 45];
        assert_eq!(out[..9], head);
        assert_eq!(out[9..32], [0; 23]);
        assert_eq!(&out[32..], b"ann\0\0shop\0mysql_native_password\0");
        let out = answer(&[7; 20], "");
        assert_eq!(out[0], 0x07, "without a database");
        assert_eq!(out[36..57], [&[20][..], &[7; 20]].concat(), "the proof and its length");
    }

    #[test]
    fn the_head_of_an_answer_asks_for_tls() {
        let (user, method, proof) = (&b"ann"[..], Method::Native, Vec::new());
        for (database, first) in [("", 0x07), ("shop", 0x0f)] {
            let proof = proof.clone();
            let answer = Answer { over_tls: true, user, method, proof, database };
            let (mut head, mut whole) = (Vec::new(), Vec::new());
            answer.append_head(&mut head);
            answer.append(&mut whole);
            assert_eq!(head, whole[..32]);
            assert_eq!(head[..2], [first, 0xaa], "CLIENT_SSL");
        }
    }

    #[test]
    fn switches_are_read() {
        let nonce = *b"abcdefghijklmnopqrst";
        let body = [b"caching_sha2_password\0", &nonce[..], b"\0"].concat();
        let wanted = Switch { name: b"caching_sha2_password", nonce: Some(nonce) };
        assert_eq!(Switch::read(&body), Ok(wanted));
        assert_eq!(Switch::read(b"").unwrap().name, b"mysql_old_password");
        assert_eq!(Switch::read(b"dialog\0short").unwrap().nonce, None);
        assert_eq!(Switch::read(b"dialog"), Err(Malformed));
    }
}
