//! From the server's handshake to its word that we are let in, through TLS where that is spoken.

use super::login::{Answer, Handshake, Method, Switch};
use super::packet::push;
use super::{Connection, END, MORE, Mysql, OK, Own, Phase};
use crate::store::frames::Malformed;
use crate::store::{Reply, Transport};

/// What a server says of `caching_sha2_password`.
const KNOWN_BY_DIGEST: u8 = 3;
const WANTS_PASSWORD: u8 = 4;

impl Mysql {
    /// Deals with the handshake.
    pub(super) fn shake(
        &self,
        state: &mut Connection,
        out: &mut Vec<u8>,
    ) -> Result<Option<Reply>, Malformed> {
        let handshake = Handshake::read(state.packets.body())?;
        (state.own.nonce, state.own.method) = (handshake.nonce, handshake.method);
        match self.transport {
            Transport::Tcp | Transport::Unix => self.log_in(state, out),
            Transport::Tls if handshake.has_tls => {
                push(state.own.sequence, out, |out| self.answer(&state.own).append_head(out));
                state.go_on(Phase::Encryption);
            }
            Transport::Tls => {
                return Ok(Some(state.object(
                    "it speaks no TLS; give it a certificate and a key (ssl_cert and ssl_key), or \
                     write mysql:// to go without"
                        .to_owned(),
                )));
            }
        }
        Ok(None)
    }

    /// Our answer to the handshake.
    fn answer(&self, own: &Own) -> Answer<'_> {
        let (user, password) = self.opening.login.user();
        Answer {
            over_tls: self.transport == Transport::Tls,
            user,
            method: own.method,
            proof: own.method.proof(password, &own.nonce),
            database: &self.opening.login.database,
        }
    }

    /// Answers the handshake.
    pub(super) fn log_in(&self, state: &mut Connection, out: &mut Vec<u8>) {
        push(state.own.sequence, out, |out| self.answer(&state.own).append(out));
        state.go_on(Phase::Login);
    }

    /// Deals with what the server makes of our answer.
    pub(super) fn login(
        &self,
        state: &mut Connection,
        out: &mut Vec<u8>,
    ) -> Result<Option<Reply>, Malformed> {
        let (first, rest) = state.packets.body().split_first().ok_or(Malformed)?;
        match (*first, rest) {
            (OK, _) => {
                Self::begin(state, out);
                Ok(None)
            }
            (END, rest) => {
                let Switch { name, nonce } = Switch::read(rest)?;
                let Some((method, nonce)) = Method::named(name).zip(nonce) else {
                    let name = crate::store::shown(name);
                    return Ok(Some(state.object(format!(
                        "it asks for the method `{name}`, which is not spoken here; give the user \
                         a password by mysql_native_password or caching_sha2_password"
                    ))));
                };
                (state.own.method, state.own.nonce) = (method, nonce);
                let proof = method.proof(self.opening.login.user().1, &nonce);
                push(state.own.sequence, out, |out| out.extend_from_slice(&proof));
                state.go_on(Phase::Login);
                Ok(None)
            }
            (MORE, [KNOWN_BY_DIGEST]) if state.own.method == Method::CachingSha2 => Ok(None),
            (MORE, [WANTS_PASSWORD]) if state.own.method == Method::CachingSha2 => {
                if !self.transport.is_private() {
                    return Ok(Some(state.object(
                        "it asks for the password itself (caching_sha2_password), which is sent \
                         over TLS or a Unix socket only; use mysqls:// or mysql+unix://, or log in \
                         once with the server's own client, so that it has the password's digest \
                         in its cache"
                            .to_owned(),
                    )));
                }
                push(state.own.sequence, out, |out| {
                    out.extend_from_slice(self.opening.login.user().1);
                    out.push(0);
                });
                state.go_on(Phase::Login);
                Ok(None)
            }
            _ => Err(Malformed),
        }
    }
}
