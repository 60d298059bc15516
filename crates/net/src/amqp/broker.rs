//! Where a broker is: `amqp[s]://[USER@]HOST[:PORT][/VHOST]`.
//!
//! Source: RabbitMQ's URI specification, without queries and without passwords: what stands in
//! arguments is seen by everybody on the host.

use std::fmt;
use std::net::Ipv6Addr;

use crate::url::{bracketed, is_host};

/// A broker and who we are there.
#[derive(Clone, PartialEq, Eq)]
pub struct Broker {
    /// By TLS: `amqps`.
    pub secure: bool,
    /// A name or an address, without the brackets of IPv6.
    pub host: String,
    /// 5672, or 5671 with TLS, where nothing is said.
    pub port: u16,
    /// `/` where nothing is said.
    pub vhost: String,
    /// `guest` where nothing is said.
    pub user: String,
    /// `guest` where nothing is said.
    pub password: String,
}

/// Why a text is no broker's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BrokerError {
    /// Of another form.
    #[error("not of the form amqp[s]://[USER@]HOST[:PORT][/VHOST]")]
    Form,
    /// More than one slash.
    #[error("after the first `/` comes the virtual host, in which a `/` is written %2f")]
    Slash,
    /// A password, which is not repeated.
    #[error("a password in a URL is seen by everybody on the host")]
    Password,
}

impl Broker {
    /// Takes a URL apart. User and virtual host may be percent-encoded (`/%2f` is the virtual host
    /// `/`).
    ///
    /// # Errors
    ///
    /// See [`BrokerError`].
    pub fn parse(url: &str) -> Result<Self, BrokerError> {
        let (secure, rest) = match url.split_once("://") {
            Some(("amqp", rest)) => (false, rest),
            Some(("amqps", rest)) => (true, rest),
            _ => return Err(BrokerError::Form),
        };
        let (authority, vhost) = match rest.split_once('/') {
            Some((authority, vhost)) => (authority, Some(vhost)),
            None => (rest, None),
        };
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(BrokerError::Password),
            Some((user, place)) => (decoded(user)?, place),
            None => ("guest".to_owned(), authority),
        };
        let (host, port) = place_of(place).ok_or(BrokerError::Form)?;
        let port = match port {
            None => 5672 - u16::from(secure),
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                digits.parse().ok().filter(|port| *port > 0).ok_or(BrokerError::Form)?
            }
            Some(_) => return Err(BrokerError::Form),
        };
        let vhost = match vhost {
            None | Some("") => "/".to_owned(),
            Some(vhost) if vhost.contains('/') => return Err(BrokerError::Slash),
            Some(vhost) if vhost.contains(['?', '#']) => return Err(BrokerError::Form),
            Some(vhost) => decoded(vhost)?,
        };
        let lengths = 1..=usize::from(u8::MAX);
        if !lengths.contains(&user.len()) || !lengths.contains(&vhost.len()) {
            return Err(BrokerError::Form);
        }
        let password = "guest".to_owned();
        Ok(Self { secure, host: host.to_owned(), port, vhost, user, password })
    }
}

/// Host and port, told apart at the colon after the brackets of IPv6.
fn place_of(place: &str) -> Option<(&str, Option<&str>)> {
    if let Some(inner) = place.strip_prefix('[') {
        let (host, after) = inner.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        return match after.strip_prefix(':') {
            None if !after.is_empty() => None,
            port => Some((host, port)),
        };
    }
    let (host, port) = match place.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (place, None),
    };
    is_host(host).then_some((host, port))
}

fn decoded(text: &str) -> Result<String, BrokerError> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let value = digit(bytes.next()).zip(digit(bytes.next()));
        let (high, low) = value.ok_or(BrokerError::Form)?;
        out.push(u8::try_from(16 * high + low).map_err(|_| BrokerError::Form)?);
    }
    let text = String::from_utf8(out).map_err(|_| BrokerError::Form)?;
    // A zero byte would end the user's name, and a control character a line of a log.
    if text.chars().any(char::is_control) { Err(BrokerError::Form) } else { Ok(text) }
}

/// Host and port.
impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", bracketed(&self.host), self.port)
    }
}

/// Without the password.
impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker")
            .field("secure", &self.secure)
            .field("host", &self.host)
            .field("port", &self.port)
            .field("vhost", &self.vhost)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Broker, BrokerError};

    fn read(url: &str) -> (bool, String, u16, String, String) {
        let Broker { secure, host, port, vhost, user, .. } = Broker::parse(url).unwrap();
        (secure, host, port, vhost, user)
    }

    #[test]
    fn urls_known() {
        let wanted = |secure, host: &str, port, vhost: &str, user: &str| {
            (secure, host.to_owned(), port, vhost.to_owned(), user.to_owned())
        };
        assert_eq!(read("amqp://broker"), wanted(false, "broker", 5672, "/", "guest"));
        assert_eq!(read("amqps://broker/"), wanted(true, "broker", 5671, "/", "guest"));
        assert_eq!(read("amqp://me@b:1/%2f"), wanted(false, "b", 1, "/", "me"));
        assert_eq!(read("amqp://a%40b@b/v%20h"), wanted(false, "b", 5672, "v h", "a@b"));
        assert_eq!(read("amqps://[::1]:7/v"), wanted(true, "::1", 7, "v", "guest"));
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        for url in ["amqp://me:secret@broker", "amqp://:secret@broker/v", "amqp://me:@broker"] {
            let error = Broker::parse(url).unwrap_err();
            assert_eq!(error, BrokerError::Password);
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for url in [
            "",
            "broker",
            "http://broker",
            "amqp://",
            "amqp://b:",
            "amqp://b:0",
            "amqp://b:65536",
            "amqp://b:+1",
            "amqp://b/v?heartbeat=1",
            "amqp://b/%",
            "amqp://b/%g0",
            "amqp://b/%00",
            "amqp://b/%ff",
            "amqp://[::1",
            "amqp://[::1]x",
            "amqp://[b]:1",
            "amqp://a b",
            "amqp://@b",
        ] {
            assert_eq!(Broker::parse(url), Err(BrokerError::Form), "{url}");
        }
    }

    #[test]
    fn a_slash_in_a_virtual_host_is_told_of() {
        for url in ["amqp://b//", "amqp://b/a/b", "amqp://b//v"] {
            assert_eq!(Broker::parse(url), Err(BrokerError::Slash), "{url}");
        }
    }

    #[test]
    fn a_password_is_in_no_log() {
        let broker = Broker { password: "secret".into(), ..Broker::parse("amqp://b").unwrap() };
        assert!(!format!("{broker:?} {broker}").contains("secret"));
    }
}
