//! TLS: which certificates are trusted, which name is asked for, which protocol is agreed on (ALPN,
//! RFC 7301), whether sessions are resumed.

use crate::error::ExperimentError;
use plimsoll_load::{Endpoint, Protocol, Tls};
use plimsoll_net::tls::{CertificateEnd, Roots, TlsError, Verifier};
use plimsoll_plan::{Http, Target};
use plimsoll_units::failure::chain;
use plimsoll_workload::request::Url;
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::ServerName;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

/// How long the target may take to agree on a protocol.
const PATIENCE: Duration = Duration::from_secs(10);

/// The TLS settings of a target and the driver to speak with; with `ask`, `http = "auto"` is
/// settled by one handshake, otherwise HTTP/1.1 is assumed. `end` hears of the server's
/// certificate.
pub(super) fn choose(
    target: &Target,
    resumes: bool,
    url: &Url,
    endpoint: &Endpoint,
    ask: bool,
    end: &CertificateEnd,
) -> Result<(Option<Tls>, Protocol), ExperimentError> {
    if !url.scheme.is_secure {
        let protocol = if target.http == Http::Two { Protocol::Http2 } else { Protocol::Http1 };
        return Ok((None, protocol));
    }
    let offered: &[&[u8]] = match target.http {
        Http::One => &[b"http/1.1"],
        Http::Two => &[b"h2"],
        Http::Auto if ask => &[b"h2", b"http/1.1"],
        Http::Auto => &[b"http/1.1"],
    };
    let name = target.sni.clone().unwrap_or_else(|| url.host.clone());
    let name = ServerName::try_from(name.clone())
        .map_err(|error| ExperimentError::Tls(format!("use `{name}` as a server name: {error}")))?;
    let mut config = config(target, resumes, end.clone())?;
    config.alpn_protocols = offered.iter().map(|protocol| protocol.to_vec()).collect();
    let protocol = match target.http {
        Http::One => Protocol::Http1,
        Http::Two => Protocol::Http2,
        Http::Auto if ask => {
            let agreed = agree(endpoint, Arc::new(config.clone()), name.clone())?;
            config.alpn_protocols = vec![agreed.clone()];
            if agreed == b"h2" { Protocol::Http2 } else { Protocol::Http1 }
        }
        Http::Auto => Protocol::Http1,
    };
    Ok((Some(Tls { config: Arc::new(config), name }), protocol))
}

fn config(
    target: &Target,
    resumes: bool,
    end: CertificateEnd,
) -> Result<ClientConfig, ExperimentError> {
    let tls = |error: rustls::Error| ExperimentError::Tls(error.to_string());
    let provider = plimsoll_net::tls::provider();
    let verifier = verifier(target, provider.clone(), end)?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(tls)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    if !resumes {
        config.resumption = Resumption::disabled();
    }
    Ok(config)
}

fn verifier(
    target: &Target,
    provider: Arc<CryptoProvider>,
    end: CertificateEnd,
) -> Result<Verifier, ExperimentError> {
    if target.insecure {
        return Ok(Verifier::of_any(provider, end));
    }
    let roots = Roots::read(target.ca.as_deref()).map_err(|error| {
        let hint = match error {
            TlsError::NoRoots => "; name yours by `target.ca`, or accept any by `target.insecure`",
            _ => "",
        };
        ExperimentError::Tls(chain(&error) + hint)
    })?;
    Verifier::of_roots(roots, provider, end)
        .map_err(|error| ExperimentError::Tls(error.to_string()))
}

/// Makes one handshake and returns the protocol that was agreed on: HTTP/1.1 where none was.
fn agree(
    endpoint: &Endpoint,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
) -> Result<Vec<u8>, ExperimentError> {
    let failed = |why: String| ExperimentError::Protocol { endpoint: endpoint.to_string(), why };
    let io = |error: std::io::Error| failed(error.to_string());
    match endpoint {
        Endpoint::Tcp(address) => {
            let socket = TcpStream::connect_timeout(address, PATIENCE).map_err(io)?;
            socket.set_read_timeout(Some(PATIENCE)).map_err(io)?;
            shake_hands(socket, config, name).map_err(io)
        }
        Endpoint::Unix(path) => {
            let socket = UnixStream::connect(path).map_err(io)?;
            socket.set_read_timeout(Some(PATIENCE)).map_err(io)?;
            shake_hands(socket, config, name).map_err(io)
        }
    }
}

fn shake_hands(
    mut socket: impl Read + Write,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
) -> std::io::Result<Vec<u8>> {
    let mut client = rustls::ClientConnection::new(config, name).map_err(std::io::Error::other)?;
    while client.is_handshaking() {
        client.complete_io(&mut socket)?;
    }
    let agreed = client.alpn_protocol().unwrap_or(b"http/1.1").to_vec();
    client.send_close_notify();
    // The answer is known; how the connection ends does not matter.
    let _ = client.complete_io(&mut socket);
    Ok(agreed)
}
