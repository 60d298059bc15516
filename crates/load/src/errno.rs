//! What an error of a socket says: the name that manuals have for it, and its words.

use rustix::io::Errno;
use std::io;

/// Names of the errors that sockets give (errno(3)).
const NAMES: [(Errno, &str); 26] = [
    (Errno::ACCESS, "EACCES"),
    (Errno::ADDRINUSE, "EADDRINUSE"),
    (Errno::ADDRNOTAVAIL, "EADDRNOTAVAIL"),
    (Errno::AFNOSUPPORT, "EAFNOSUPPORT"),
    (Errno::AGAIN, "EAGAIN"),
    (Errno::CONNABORTED, "ECONNABORTED"),
    (Errno::CONNREFUSED, "ECONNREFUSED"),
    (Errno::CONNRESET, "ECONNRESET"),
    (Errno::HOSTDOWN, "EHOSTDOWN"),
    (Errno::HOSTUNREACH, "EHOSTUNREACH"),
    (Errno::INVAL, "EINVAL"),
    (Errno::IO, "EIO"),
    (Errno::MFILE, "EMFILE"),
    (Errno::MSGSIZE, "EMSGSIZE"),
    (Errno::NETDOWN, "ENETDOWN"),
    (Errno::NETRESET, "ENETRESET"),
    (Errno::NETUNREACH, "ENETUNREACH"),
    (Errno::NFILE, "ENFILE"),
    (Errno::NOBUFS, "ENOBUFS"),
    (Errno::NOENT, "ENOENT"),
    (Errno::NOMEM, "ENOMEM"),
    (Errno::NOTCONN, "ENOTCONN"),
    (Errno::PERM, "EPERM"),
    (Errno::PIPE, "EPIPE"),
    (Errno::PROTO, "EPROTO"),
    (Errno::TIMEDOUT, "ETIMEDOUT"),
];

/// An error in one line: `ECONNREFUSED: Connection refused`, `TLS alert: certificate required`.
#[must_use]
pub fn describe(error: &io::Error) -> String {
    if let Some(errno) = Errno::from_io_error(error) {
        let name = NAMES.iter().find(|(known, _)| *known == errno).map(|(_, name)| *name);
        let text = error.to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        return match name {
            Some(name) => format!("{name}: {text}"),
            None => format!("error {} of the system: {text}", errno.raw_os_error()),
        };
    }
    let inner = error.get_ref();
    if let Some(tls) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return match tls {
            rustls::Error::AlertReceived(alert) => format!("TLS alert: {}", spelled(alert)),
            other => format!("TLS: {other}"),
        };
    }
    match (error.kind(), inner) {
        (io::ErrorKind::UnexpectedEof, None) => "the peer closed the connection".to_owned(),
        _ => error.to_string(),
    }
}

/// `CertificateRequired` as words.
fn spelled(alert: &rustls::AlertDescription) -> String {
    let name = format!("{alert:?}");
    let mut words = String::new();
    let mut before_is_lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && before_is_lower {
            words.push(' ');
        }
        before_is_lower = c.is_ascii_lowercase();
        words.push(c.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_named_as_manuals_name_them() {
        for (errno, name) in NAMES {
            let text = describe(&errno.into());
            assert!(text.starts_with(name) && text[name.len()..].starts_with(": "), "{text}");
            assert!(!text.contains("os error"), "{text}");
        }
        assert_eq!(describe(&Errno::CONNREFUSED.into()), "ECONNREFUSED: Connection refused");
        assert!(describe(&Errno::XDEV.into()).starts_with("error 18 of the system: "));
    }

    #[test]
    fn alerts_are_words() {
        let tls = |error| describe(&io::Error::new(io::ErrorKind::InvalidData, error));
        let alert = rustls::AlertDescription::CertificateRequired;
        let text = tls(rustls::Error::AlertReceived(alert));
        assert_eq!(text, "TLS alert: certificate required");
        let text = tls(rustls::Error::AlertReceived(rustls::AlertDescription::UnknownCA));
        assert_eq!(text, "TLS alert: unknown ca");
        assert!(tls(rustls::Error::DecryptError).starts_with("TLS: "));
    }
}
