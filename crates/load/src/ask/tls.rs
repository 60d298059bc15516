//! What to do where TLS cannot be agreed on with a store.

use plimsoll_workload::request::Scheme;
use rustls::{AlertDescription as Alert, CertificateError, Error as Tls, InvalidMessage};
use std::io;

/// What to do, in one clause. `plain` is the store's scheme without TLS.
pub(super) fn hint(error: &io::Error, plain: &Scheme) -> String {
    let failed = error.get_ref().and_then(|inner| inner.downcast_ref::<Tls>());
    let hint = match failed {
        Some(Tls::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => "name by --sni whom the certificate is for, or accept any by --insecure",
        Some(Tls::InvalidCertificate(CertificateError::UnknownIssuer)) => {
            "name the certificates to trust by --ca FILE, or accept any by --insecure"
        }
        Some(Tls::InvalidCertificate(_)) => {
            "see what is wrong with its certificate, or accept any by --insecure"
        }
        Some(Tls::AlertReceived(Alert::CertificateRequired)) => {
            "show it a certificate by --cert FILE and --key FILE"
        }
        Some(Tls::AlertReceived(
            Alert::BadCertificate
            | Alert::CertificateExpired
            | Alert::CertificateRevoked
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::UnsupportedCertificate,
        )) => "it refuses our certificate: check --cert, and whom it trusts",
        Some(Tls::AlertReceived(Alert::HandshakeFailure | Alert::ProtocolVersion)) => {
            "it has to speak TLS 1.2 or 1.3, and may want a certificate (--cert, --key)"
        }
        Some(Tls::InvalidMessage(InvalidMessage::InvalidContentType)) | None => {
            return format!(
                "where it speaks no TLS, write {}://; else check the URL's port",
                plain.name
            );
        }
        Some(_) => "see what it says of it in its own log",
    };
    hint.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_done_hangs_on_what_has_failed() {
        let of = |error: Tls| hint(&io::Error::new(io::ErrorKind::InvalidData, error), &REDIS);
        const REDIS: Scheme = Scheme::plain("redis", 6379, None);
        assert!(of(CertificateError::UnknownIssuer.into()).contains("--ca"));
        assert!(of(CertificateError::NotValidForName.into()).contains("--sni"));
        assert!(of(CertificateError::Expired.into()).contains("--insecure"));
        assert!(of(Tls::AlertReceived(Alert::CertificateRequired)).contains("--cert FILE"));
        assert!(of(Tls::AlertReceived(Alert::UnknownCA)).contains("check --cert"));
        assert!(of(Tls::AlertReceived(Alert::ProtocolVersion)).contains("TLS 1.2 or 1.3"));
        assert!(of(Tls::DecryptError).contains("its own log"));
        let other = of(Tls::InvalidMessage(InvalidMessage::InvalidContentType));
        assert!(other.contains("write redis://"), "{other}");
        assert_eq!(hint(&io::ErrorKind::UnexpectedEof.into(), &REDIS), other);
    }
}
