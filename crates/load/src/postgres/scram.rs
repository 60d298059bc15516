//! SCRAM-SHA-256, by which both sides prove that they know the password, and neither sends it.
//!
//! *Sources*: RFC 5802 (the exchange; section 3 has the formulas), RFC 7677 (with SHA-256), RFC
//! 4013 (SASLprep), RFC 8018, section 5.2 (PBKDF2, of which one block is needed).
//!
//! There is no channel binding: where TLS is spoken, that checks whom it speaks with. PostgreSQL
//! takes the user's name from the startup message, so that it is empty here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;

/// The method's name.
pub(super) const NAME: &[u8] = b"SCRAM-SHA-256";
/// The most rounds of hashing that are done for a server: more would hold up everything else.
const MAX_ROUNDS: u32 = 1_000_000;
/// What a message begins with that says: no channel binding, no other identity.
const HEADER: &str = "n,,";
/// Bytes of our nonce, before they are written as text.
const NONCE: usize = 18;

type Key = [u8; 32];

/// What a server's message lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not of the form that stands in RFC 5802, or its nonce is not made of ours.
    Malformed,
    /// The server's signature is not that of the password.
    Signature,
    /// The server does not take our proof.
    Refused,
}

/// An exchange that has begun: the password in its prepared form, and our nonce.
pub(super) struct Begun {
    password: Vec<u8>,
    nonce: String,
}

/// An exchange in which we have proved to know the password, and the server has not.
pub(super) struct Proved {
    server_key: Key,
    /// All that both have said.
    said: String,
}

impl Begun {
    /// Begins, with a nonce of the kernel's.
    pub(super) fn new(password: &[u8]) -> std::io::Result<Self> {
        let mut random = [0; NONCE];
        let mut left = &mut random[..];
        while !left.is_empty() {
            let flags = rustix::rand::GetRandomFlags::empty();
            match rustix::rand::getrandom(&mut *left, flags) {
                Ok(n) => left = &mut left[n..],
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self::with_nonce(password, STANDARD.encode(random)))
    }

    fn with_nonce(password: &[u8], nonce: String) -> Self {
        Self { password: prepared(password).into_owned(), nonce }
    }

    /// The first message, without the header.
    fn bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// The first message.
    pub(super) fn first(&self) -> String {
        format!("{HEADER}{}", self.bare())
    }

    /// Answers the server's challenge, `r=NONCE,s=SALT,i=ROUNDS`, with the last message.
    pub(super) fn prove(self, challenge: &[u8]) -> Result<(String, Proved), Fault> {
        let challenge = std::str::from_utf8(challenge).map_err(|_| Fault::Malformed)?;
        let mut attributes = challenge.split(',');
        let mut next = |name| attributes.next().and_then(|text: &str| text.strip_prefix(name));
        let (nonce, salt, rounds) = (next("r="), next("s="), next("i="));
        let is_longer = |text: &&str| text.len() > self.nonce.len();
        let nonce = nonce.filter(|text| text.starts_with(&self.nonce)).filter(is_longer);
        let salt = salt.and_then(|text| STANDARD.decode(text).ok());
        let rounds = rounds.and_then(|digits| digits.parse().ok());
        let rounds = rounds.filter(|rounds| (1..=MAX_ROUNDS).contains(rounds));
        let (Some(nonce), Some(salt), Some(rounds)) = (nonce, salt, rounds) else {
            return Err(Fault::Malformed);
        };
        let salted = salted(&self.password, &salt, rounds);
        let without_proof = format!("c={},r={nonce}", STANDARD.encode(HEADER));
        let said = format!("{},{challenge},{without_proof}", self.bare());
        let client_key = sign(&salted, b"Client Key");
        let mut proof = sign(&Sha256::digest(client_key), said.as_bytes());
        proof.iter_mut().zip(client_key).for_each(|(byte, key)| *byte ^= key);
        let last = format!("{without_proof},p={}", STANDARD.encode(proof));
        Ok((last, Proved { server_key: sign(&salted, b"Server Key"), said }))
    }
}

impl Proved {
    /// Checks what the server says last: `v=SIGNATURE`, or `e=` and why it does not let us in.
    pub(super) fn check(&self, last: &[u8]) -> Result<(), Fault> {
        if last.starts_with(b"e=") {
            return Err(Fault::Refused);
        }
        let signature = last.split(|byte| *byte == b',').next().unwrap_or_default();
        let signature = signature.strip_prefix(b"v=").ok_or(Fault::Malformed)?;
        let signature = STANDARD.decode(signature).map_err(|_| Fault::Malformed)?;
        let signed = keyed(&self.server_key).chain_update(&self.said);
        signed.verify_slice(&signature).map_err(|_| Fault::Signature)
    }
}

/// A password as it is hashed: by SASLprep, where it is text that may be so prepared; else as it
/// is, as PostgreSQL does.
fn prepared(password: &[u8]) -> Cow<'_, [u8]> {
    let prepared = std::str::from_utf8(password).ok().and_then(|it| stringprep::saslprep(it).ok());
    match prepared {
        Some(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        _ => Cow::Borrowed(password),
    }
}

/// HMAC-SHA-256 under a key, before its message.
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    Hmac::new_from_slice(key).expect("a key of any length is taken")
}

fn sign(key: &[u8], message: &[u8]) -> Key {
    keyed(key).chain_update(message).finalize().into_bytes().into()
}

/// PBKDF2 of a password: as many rounds of HMAC as the server wants.
fn salted(password: &[u8], salt: &[u8], rounds: u32) -> Key {
    let keyed = keyed(password);
    let first = keyed.clone().chain_update(salt).chain_update(1_u32.to_be_bytes());
    let mut last: Key = first.finalize().into_bytes().into();
    let mut sum = last;
    for _ in 1..rounds {
        last = keyed.clone().chain_update(last).finalize().into_bytes().into();
        sum.iter_mut().zip(last).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3, whose client names its user in the message.
    #[test]
    fn the_formulas_give_the_published_values() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
        let salted = salted(b"pencil", &salt, 4096);
        let said = "n=user,r=rOprNGfwEbeRWgbNEkqO,\
                    r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                    s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
                    c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let proved = Proved { server_key: sign(&salted, b"Server Key"), said: said.to_owned() };
        assert_eq!(proved.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
        assert_eq!(
            proved.check(b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="),
            Err(Fault::Signature)
        );
        assert_eq!(proved.check(b"v=6rri"), Err(Fault::Signature));
        assert_eq!(proved.check(b"e=invalid-proof"), Err(Fault::Refused));
        assert_eq!(proved.check(b"v=6"), Err(Fault::Malformed));
        assert_eq!(proved.check(b""), Err(Fault::Malformed));
        let client_key = sign(&salted, b"Client Key");
        let mut proof = sign(&Sha256::digest(client_key), said.as_bytes());
        proof.iter_mut().zip(client_key).for_each(|(byte, key)| *byte ^= key);
        assert_eq!(STANDARD.encode(proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    }

    #[test]
    fn a_challenge_must_be_made_of_our_nonce_and_few_rounds() {
        let begun = || Begun::with_nonce(b"secret", "ours".to_owned());
        assert_eq!(begun().first(), "n,,n=,r=ours");
        let (last, _) = begun().prove(b"r=ours+theirs,s=c2FsdA==,i=1").ok().unwrap();
        assert!(last.starts_with("c=biws,r=ours+theirs,p="), "{last}");
        for wrong in [
            "",
            "r=ours,s=c2FsdA==,i=1",
            "r=other+theirs,s=c2FsdA==,i=1",
            "s=c2FsdA==,r=ours+theirs,i=1",
            "r=ours+theirs,s=?,i=1",
            "r=ours+theirs,s=c2FsdA==",
            "r=ours+theirs,s=c2FsdA==,i=0",
            "r=ours+theirs,s=c2FsdA==,i=1000001",
            "r=ours+theirs,s=c2FsdA==,i=4294967296",
            "m=ext,r=ours+theirs,s=c2FsdA==,i=1",
        ] {
            let fault = begun().prove(wrong.as_bytes()).err();
            assert_eq!(fault, Some(Fault::Malformed), "{wrong}");
        }
    }

    /// The examples of RFC 4013, section 3; what may not be prepared stays as it is.
    #[test]
    fn passwords_are_prepared() {
        for (text, wanted) in [
            ("I\u{ad}X", "IX"),
            ("user", "user"),
            ("USER", "USER"),
            ("\u{aa}", "a"),
            ("\u{2168}", "IX"),
            ("a\u{a0}b", "a b"),
            ("\u{7}", "\u{7}"),
            ("\u{627}1", "\u{627}1"),
        ] {
            assert_eq!(prepared(text.as_bytes()), wanted.as_bytes(), "{text:?}");
        }
        assert_eq!(prepared(b"\xff\xfe"), &b"\xff\xfe"[..]);
    }

    #[test]
    fn nonces_differ() {
        let nonce = || Begun::new(b"").unwrap().nonce;
        let one = nonce();
        assert!(one.len() == 24 && one.bytes().all(|byte| byte.is_ascii_graphic() && byte != b','));
        assert_ne!(one, nonce());
    }
}
