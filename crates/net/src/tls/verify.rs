//! Which server certificates are accepted, and until when the one that was seen is valid.

use super::certificate::{Certificate, Validity};
use super::pem::Roots;
use plimsoll_units::civil::iso8601;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Until when the server's certificate is valid, as far as one has been seen.
#[derive(Debug, Clone)]
pub struct CertificateEnd(Arc<AtomicI64>);

impl Default for CertificateEnd {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(i64::MAX)))
    }
}

impl CertificateEnd {
    /// Seconds since 1970; `None` where no certificate was seen.
    #[must_use]
    pub fn unix_s(&self) -> Option<i64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|&end| end < i64::MAX)
    }

    /// What is to be said of a certificate that had ended when a run from then to then was over. A
    /// resumed handshake does not look at it, nor does one that accepts any.
    #[must_use]
    pub fn ended(&self, run_unix_ns: Range<u64>) -> Option<String> {
        let end_ns = u64::try_from(self.unix_s()?).unwrap_or(0).saturating_mul(1_000_000_000);
        let when = if end_ns < run_unix_ns.start { "before the run" } else { "in mid-run" };
        (end_ns < run_unix_ns.end).then(|| {
            format!(
                "the server's certificate ended {when}, at {}: new visitors are turned away by it",
                iso8601(end_ns)
            )
        })
    }
}

/// Checks a server's certificate.
#[derive(Debug)]
pub struct Verifier {
    /// By chain and name; `None`: any certificate is accepted. Signatures are checked all the same.
    chain: Option<Arc<WebPkiServerVerifier>>,
    /// Certificates that are trusted themselves, as well as what they have signed.
    trusted: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
    end: CertificateEnd,
}

impl Verifier {
    /// Accepts any certificate.
    pub fn of_any(provider: Arc<CryptoProvider>, end: CertificateEnd) -> Self {
        Self { chain: None, trusted: Vec::new(), provider, end }
    }

    /// Accepts what these roots have signed, and these certificates.
    pub fn of_roots(
        roots: Roots,
        provider: Arc<CryptoProvider>,
        end: CertificateEnd,
    ) -> Result<Self, rustls::client::VerifierBuilderError> {
        let Roots { store, named } = roots;
        let chain = WebPkiServerVerifier::builder_with_provider(store.into(), provider.clone());
        Ok(Self { chain: Some(chain.build()?), trusted: named, provider, end })
    }

    /// A certificate that is trusted itself needs no chain (a self-signed one that may sign others
    /// is refused as a server's by the rules of chains), but its time and its names hold for it
    /// too.
    fn check_trusted(
        certificate: &CertificateDer<'_>,
        validity: Validity,
        name: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let since_1970 = std::time::Duration::from_secs(now.as_secs());
        if !validity.holds(since_1970) {
            let early = i64::try_from(now.as_secs()).is_ok_and(|now| now < validity.from);
            let why = if early { CertificateError::NotValidYet } else { CertificateError::Expired };
            return Err(why.into());
        }
        verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
        Ok(ServerCertVerified::assertion())
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let validity = Certificate::read(certificate).map(|certificate| certificate.validity);
        if let Some(validity) = validity {
            self.end.0.store(validity.to, Ordering::Relaxed);
        }
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match validity.filter(|_| self.trusted.contains(certificate)) {
            Some(validity) => Self::check_trusted(certificate, validity, name, now),
            None => chain.verify_server_cert(certificate, intermediates, name, ocsp, now),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
    use rustls::RootCertStore;

    /// A self-signed certificate for `localhost`, from 2020 to the end of a year.
    fn self_signed(may_sign: bool, until: i32) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec!["localhost".into()]).expect("names");
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(until, 12, 31);
        if may_sign {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().clone()
    }

    fn verifier(roots: &[CertificateDer<'static>]) -> Verifier {
        let provider = crate::tls::provider();
        let mut store = RootCertStore::empty();
        for root in roots {
            store.add(root.clone()).expect("a root");
        }
        let roots = Roots { store, named: roots.to_vec() };
        Verifier::of_roots(roots, provider, CertificateEnd::default()).expect("a verifier")
    }

    /// What is said of a certificate at the beginning of 2026.
    fn check(by: &Verifier, one: &CertificateDer<'_>, name: &str) -> Result<(), Error> {
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_767_225_600));
        let name = ServerName::try_from(name.to_owned()).expect("a name");
        by.verify_server_cert(one, &[], &name, &[], now).map(|_| ())
    }

    #[test]
    fn a_certificate_that_is_trusted_itself_is_a_servers() {
        for may_sign in [false, true] {
            let (own, other) = (self_signed(may_sign, 2030), self_signed(may_sign, 2030));
            let verifier = verifier(std::slice::from_ref(&own));
            assert_eq!(check(&verifier, &own, "localhost"), Ok(()));
            let named = check(&verifier, &own, "elsewhere.example").expect_err("another name");
            assert!(named.to_string().contains("elsewhere.example"), "{named}");
            let other = check(&verifier, &other, "localhost");
            assert!(matches!(other, Err(Error::InvalidCertificate(_))), "{other:?}");
            // 2030-12-31T00:00:00Z.
            assert_eq!(verifier.end.unix_s(), Some(1_924_905_600));
        }
        let old = self_signed(true, 2025);
        let expired = check(&verifier(std::slice::from_ref(&old)), &old, "localhost");
        assert_eq!(expired, Err(CertificateError::Expired.into()));
    }

    #[test]
    fn whoever_accepts_any_certificate_learns_its_end_all_the_same() {
        let provider = crate::tls::provider();
        let any = Verifier::of_any(provider, CertificateEnd::default());
        assert_eq!(check(&any, &self_signed(false, 2025), "elsewhere.example"), Ok(()));
        assert_eq!(any.end.unix_s(), Some(1_767_139_200));
        assert_eq!(check(&any, &b"no certificate"[..].into(), "localhost"), Ok(()));
    }

    #[test]
    fn a_certificate_that_ended_is_told() {
        const S: u64 = 1_000_000_000;
        let end = CertificateEnd::default();
        assert_eq!(end.ended(0..u64::MAX), None, "none was seen");
        end.0.store(1_800_000_000, Ordering::Relaxed);
        let run = |from: u64, to: u64| end.ended(from * S..to * S);
        assert_eq!(run(1_799_999_000, 1_799_999_060), None);
        let mid_run = run(1_799_999_990, 1_800_000_050).expect("it ended");
        assert!(mid_run.contains("in mid-run, at 2027-01-15T08:00:00.000Z"), "{mid_run}");
        let before = run(1_800_000_001, 1_800_000_050).expect("it ended");
        assert!(before.contains("before the run"), "{before}");
    }
}
