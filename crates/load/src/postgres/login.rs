//! How a connection to PostgreSQL begins: who asks for which database, and the proof of the
//! password where the server wants one.
//!
//! Nothing (`trust`, `peer`), MD5 of password, user and salt (`md5`), or SCRAM-SHA-256 (RFC 5802,
//! RFC 7677), whose 4,096 rounds of hashing cost a few milliseconds of processor time on each
//! connection. A password itself is sent over TLS or a Unix socket only.
//!
//! TLS is asked for by a message of its own, before all others (`SSLRequest`).
//!
//! Source: PostgreSQL documentation, "Frontend/Backend Protocol", "Message Flow", "SASL
//! Authentication".

use super::message::{push, text_or_rest};
use super::scram::{self, Fault};
use crate::store::Login;
use crate::store::bytes::{Reader, push_text, push_value};
use crate::store::frames::Malformed;
use md5::{Digest as _, Md5};

/// Version 3.0 of the protocol.
const VERSION: u32 = 3 << 16;

/// The number that asks for TLS, in the place of a version.
const TLS: u32 = 80_877_103;

/// Kinds of requests for authentication.
const GRANTED: u32 = 0;
const CLEAR: u32 = 3;
const MD5: u32 = 5;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;

/// How far a login has come.
#[derive(Default)]
pub(super) enum Proof {
    /// Nothing was asked for yet.
    #[default]
    None,
    /// SCRAM has begun.
    Scram(scram::Begun),
    /// We have proved by SCRAM to know the password, and the server is to do so.
    Proved(scram::Proved),
    /// All is proved that was asked for; that of SCRAM by both sides.
    Given,
    /// We are let in.
    Granted,
}

/// Why a login cannot go on.
pub(super) enum Halt {
    Malformed,
    /// What is asked for is nothing that we do.
    Objection(String),
}

impl From<Malformed> for Halt {
    fn from(_: Malformed) -> Self {
        Self::Malformed
    }
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Self {
        let text = match fault {
            Fault::Malformed => return Self::Malformed,
            Fault::Signature => {
                "its signature is wrong: it does not know the password, and is not the server that \
                 it should be"
            }
            Fault::Refused => "it refuses the proof of the password",
        };
        Self::Objection(text.to_owned())
    }
}

/// Appends what asks for TLS.
pub(super) fn ask_for_tls(out: &mut Vec<u8>) {
    push(None, out, |out| out.extend_from_slice(&TLS.to_be_bytes()));
}

/// Appends what a connection begins with.
pub(super) fn begin(login: &Login, out: &mut Vec<u8>) {
    push(None, out, |out| {
        out.extend_from_slice(&VERSION.to_be_bytes());
        let database = login.database.as_bytes();
        for (name, value) in [
            ("user", login.user().0),
            ("database", database),
            ("application_name", b"plimsoll"),
            ("client_encoding", b"UTF8"),
        ] {
            push_text(name.as_bytes(), out);
            push_text(value, out);
        }
        out.push(0);
    });
}

impl Proof {
    /// Deals with a request for authentication. Where it `is_private` nobody on the way can hear
    /// what we answer.
    pub(super) fn go_on(
        &mut self,
        login: &Login,
        is_private: bool,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Halt> {
        let mut reader = Reader(body);
        let kind = reader.big_endian(4)?;
        let (user, password) = login.user();
        let before = std::mem::take(self);
        *self = match (kind, before) {
            // A server that has not proved to know the password lets nobody in.
            (GRANTED, Self::None | Self::Given) => Self::Granted,
            (GRANTED, Self::Scram(_) | Self::Proved(_)) => {
                return Err(Halt::Objection(
                    "it lets us in before it has proved to know the password: it is not the server \
                     that it should be"
                        .to_owned(),
                ));
            }
            (MD5, Self::None) => {
                let hash = md5_proof(user, password, reader.bytes(4)?);
                push(Some(b'p'), out, |out| push_text(hash.as_bytes(), out));
                Self::Given
            }
            (SASL, Self::None) => Self::Scram(first(reader, password, out)?),
            (SASL_CONTINUE, Self::Scram(begun)) => {
                let (last, proved) = begun.prove(reader.0)?;
                push(Some(b'p'), out, |out| out.extend_from_slice(last.as_bytes()));
                Self::Proved(proved)
            }
            (SASL_FINAL, Self::Proved(proved)) => {
                proved.check(reader.0)?;
                Self::Given
            }
            (CLEAR, Self::None) if is_private => {
                push(Some(b'p'), out, |out| push_text(password, out));
                Self::Given
            }
            (CLEAR, Self::None) => {
                return Err(Halt::Objection(
                    "it asks for the password itself, which is not sent without TLS; write \
                     postgresqls://, or have it ask for scram-sha-256 (pg_hba.conf)"
                        .to_owned(),
                ));
            }
            (GRANTED | CLEAR | MD5 | SASL..=SASL_FINAL, _) => return Err(Halt::Malformed),
            (other, _) => {
                return Err(Halt::Objection(format!(
                    "it asks for the authentication method {other}, which is not spoken here; have \
                     it ask for scram-sha-256, md5 or trust (pg_hba.conf)"
                )));
            }
        };
        Ok(())
    }

    pub(super) fn is_granted(&self) -> bool {
        matches!(self, Self::Granted)
    }
}

/// Appends the first message of SCRAM, where it is one of the methods that are offered.
fn first(
    mut offered: Reader<'_>,
    password: &[u8],
    out: &mut Vec<u8>,
) -> Result<scram::Begun, Halt> {
    let mut is_offered = false;
    loop {
        match text_or_rest(&mut offered) {
            b"" => break,
            name => is_offered |= name == scram::NAME,
        }
    }
    if !is_offered {
        let text = "it offers no SCRAM-SHA-256, the only method of SASL that is spoken here; have \
                    it ask for scram-sha-256 (pg_hba.conf)";
        return Err(Halt::Objection(text.to_owned()));
    }
    let begun = scram::Begun::new(password)
        .map_err(|error| Halt::Objection(format!("the kernel has no random numbers: {error}")))?;
    push(Some(b'p'), out, |out| {
        push_text(scram::NAME, out);
        push_value(begun.first().as_bytes(), out);
    });
    Ok(begun)
}

/// `md5`, and in hexadecimal digits the MD5 of these digits of password and user, and the salt.
fn md5_proof(user: &[u8], password: &[u8], salt: &[u8]) -> String {
    let hex = |parts: [&[u8]; 2]| {
        let digest = Md5::new().chain_update(parts[0]).chain_update(parts[1]).finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    format!("md5{}", hex([hex([password, user]).as_bytes(), salt]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login() -> Login {
        let credentials = Some((b"ann".to_vec(), b"secret".to_vec()));
        Login { credentials, database: "shop".to_owned() }
    }

    fn asked(proof: &mut Proof, body: &[u8]) -> Result<Vec<u8>, Halt> {
        let mut out = Vec::new();
        proof.go_on(&login(), false, body, &mut out).map(|()| out)
    }

    #[test]
    fn a_connection_says_who_asks() {
        let mut out = Vec::new();
        begin(&login(), &mut out);
        let words = b"user\0ann\0database\0shop\0application_name\0plimsoll\0\
                      client_encoding\0UTF8\0\0";
        let len = u32::try_from(8 + words.len()).unwrap().to_be_bytes();
        assert_eq!(&out[..8], [&len[..], &[0, 3, 0, 0]].concat());
        assert_eq!(&out[8..], words);
    }

    #[test]
    fn a_password_is_sent_where_nobody_can_hear_it() {
        let mut out = Vec::new();
        let asked = Proof::None.go_on(&login(), true, b"\0\0\0\x03", &mut out);
        assert!(asked.is_ok());
        assert_eq!(out, b"p\0\0\0\x0bsecret\0");
        // Nor in the middle of SCRAM, where it would give away what that hides.
        let mut proof = Proof::None;
        assert!(proof.go_on(&login(), true, b"\0\0\0\x0aSCRAM-SHA-256\0\0", &mut out).is_ok());
        let halted = proof.go_on(&login(), true, b"\0\0\0\x03", &mut out);
        assert!(matches!(halted, Err(Halt::Malformed)));
    }

    #[test]
    fn md5_hides_the_password() {
        let mut proof = Proof::None;
        let out = asked(&mut proof, b"\0\0\0\x05salt").ok().unwrap();
        // md5(md5("secretann") + "salt"), by Python's hashlib.
        assert_eq!(out, b"p\0\0\0\x28md5b8f5ba9f485dba302ec0963f7ee9ba8f\0");
        assert!(asked(&mut proof, &[0; 4]).is_ok() && proof.is_granted());
    }

    #[test]
    fn scram_needs_both_sides() {
        let mut proof = Proof::None;
        let out = asked(&mut proof, b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0").ok();
        let out = out.unwrap();
        let words = &out[5..];
        assert!(words.starts_with(b"SCRAM-SHA-256\0\0\0\0"), "{}", out.escape_ascii());
        assert!(words[18..].starts_with(b"n,,n=,r="), "{}", out.escape_ascii());
        let nonce = String::from_utf8(words[26..].to_vec()).unwrap();
        for rounds in ["0", "4294967295", "1000001", "", "x"] {
            let more = format!("\0\0\0\x0br={nonce}x,s=c2FsdA==,i={rounds}");
            let mut proof = Proof::None;
            asked(&mut proof, b"\0\0\0\x0aSCRAM-SHA-256\0\0").ok().unwrap();
            assert!(matches!(asked(&mut proof, more.as_bytes()), Err(Halt::Malformed)));
        }
        let more = format!("\0\0\0\x0br={nonce}x,s=c2FsdA==,i=4096");
        let out = asked(&mut proof, more.as_bytes()).ok().unwrap();
        assert!(out[5..].starts_with(b"c=biws,r="), "{}", out.escape_ascii());
        // It has not proved to know the password, whatever it says.
        let Err(Halt::Objection(why)) = asked(&mut proof, &[0; 4]) else { panic!() };
        assert!(why.contains("before it has proved"), "{why}");
    }

    #[test]
    fn what_is_not_done_is_said() {
        for (body, wanted) in [
            (&b"\0\0\0\x03"[..], "the password itself"),
            (b"\0\0\0\x07", "the authentication method 7"),
            (b"\0\0\0\x0aOTHER\0\0", "no SCRAM-SHA-256"),
        ] {
            let Err(Halt::Objection(why)) = asked(&mut Proof::None, body) else { panic!() };
            assert!(why.contains(wanted), "{why}");
        }
        for body in [&b""[..], b"\0\0\0", b"\0\0\0\x05sal", b"\0\0\0\x0b", b"\0\0\0\x0c"] {
            assert!(matches!(asked(&mut Proof::None, body), Err(Halt::Malformed)));
        }
    }
}
