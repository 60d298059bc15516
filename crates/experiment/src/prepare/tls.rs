//! TLS: which certificates are trusted, which one we show, which name is asked for, which protocol
//! is agreed on (ALPN, RFC 7301), whether sessions are resumed.

use crate::error::ExperimentError;
use plimsoll_load::session::speaks_no_tls;
use plimsoll_load::way::Proxies;
use plimsoll_load::{Endpoint, Protocol, Tls, tunnel_answered};
use plimsoll_net::tls::{CertificateEnd, Roots, Settled, TlsError, Verifier, identified};
use plimsoll_plan::{Http, Plan, Target};
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

/// Where the target is asked which protocol it speaks.
#[derive(Clone, Copy)]
pub(super) struct To<'a> {
    /// Where it, or a proxy, is.
    pub(super) endpoint: &'a Endpoint,
    /// The proxies on the way.
    pub(super) proxies: Option<&'a Proxies>,
}

/// The TLS settings of a plan's target and what is spoken with it: a store's protocol, which goes
/// with its scheme as TLS does, or as [`choose`] has it.
pub(super) fn spoken(
    plan: &Plan,
    url: &Url,
    to: To<'_>,
    ask: bool,
    end: &CertificateEnd,
) -> Result<(Option<Tls>, Protocol), ExperimentError> {
    let (target, resumes) = (&plan.target, plan.load.resumes_tls());
    match Protocol::of(url.scheme) {
        Some(protocol) if !url.scheme.is_secure => Ok((None, protocol)),
        Some(protocol) => {
            let name = server_name(target, url)?;
            let config = Arc::new(config(target, resumes, end.clone())?);
            Ok((Some(Tls { config, name }), protocol))
        }
        None => choose(target, resumes, url, to, ask, end),
    }
}

/// The name that is asked for and checked.
fn server_name(target: &Target, url: &Url) -> Result<ServerName<'static>, ExperimentError> {
    let name = target.sni.clone().unwrap_or_else(|| url.host.clone());
    ServerName::try_from(name.clone())
        .map_err(|error| ExperimentError::Tls(format!("use `{name}` as a server name: {error}")))
}

/// The TLS settings of a target and the driver to speak with; with `ask`, `http = "auto"` is
/// settled by one handshake, otherwise HTTP/1.1 is assumed. `end` hears of the server's
/// certificate.
pub(super) fn choose(
    target: &Target,
    resumes: bool,
    url: &Url,
    to: To<'_>,
    ask: bool,
    end: &CertificateEnd,
) -> Result<(Option<Tls>, Protocol), ExperimentError> {
    // A WebSocket is opened over HTTP/1.1.
    let http = match target.http {
        Http::Auto if url.scheme.is_websocket() => Http::One,
        http => http,
    };
    if !url.scheme.is_secure {
        let protocol = if http == Http::Two { Protocol::Http2 } else { Protocol::Http1 };
        return Ok((None, protocol));
    }
    let offered: &[&[u8]] = match http {
        Http::One => &[b"http/1.1"],
        Http::Two => &[b"h2"],
        Http::Auto if ask => &[b"h2", b"http/1.1"],
        Http::Auto => &[b"http/1.1"],
    };
    let name = server_name(target, url)?;
    let mut config = config(target, resumes, end.clone())?;
    config.alpn_protocols = offered.iter().map(|protocol| protocol.to_vec()).collect();
    let protocol = match http {
        Http::One => Protocol::Http1,
        Http::Two => Protocol::Http2,
        Http::Auto if ask => {
            let agreed = agree(to, Arc::new(config.clone()), name.clone())?;
            config.alpn_protocols = vec![agreed.clone()];
            if agreed == b"h2" { Protocol::Http2 } else { Protocol::Http1 }
        }
        Http::Auto => Protocol::Http1,
    };
    Ok((Some(Tls { config: Arc::new(config), name }), protocol))
}

/// How who walks through a scenario connects to a target, by the same settings as a load:
/// encrypted where a URL says so, for these protocols (ALPN).
///
/// # Errors
/// Certificates that cannot be read or used.
pub fn dialled(target: &Target, offered: &[&[u8]]) -> Result<Settled, ExperimentError> {
    let mut config = config(target, false, CertificateEnd::default())?;
    config.alpn_protocols = offered.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(Settled { config: Arc::new(config), name: target.sni.clone() })
}

fn config(
    target: &Target,
    resumes: bool,
    end: CertificateEnd,
) -> Result<ClientConfig, ExperimentError> {
    let tls = |error: rustls::Error| ExperimentError::Tls(error.to_string());
    let provider = plimsoll_net::tls::provider();
    let verifier = verifier(target, provider.clone(), end)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(tls)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let identity = target.cert.as_deref().zip(target.key.as_deref());
    let mut config =
        identified(builder, identity).map_err(|error| ExperimentError::Tls(chain(&error)))?;
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
    to: To<'_>,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
) -> Result<Vec<u8>, ExperimentError> {
    let failed = |why: String| ExperimentError::Protocol { endpoint: to.endpoint.to_string(), why };
    let io = |error: std::io::Error| match speaks_no_tls(&error) {
        true => failed("it speaks no TLS: try http:// in place of https://".to_owned()),
        false => failed(error.to_string()),
    };
    match to.endpoint {
        Endpoint::Tcp(address) => {
            let mut socket = TcpStream::connect_timeout(address, PATIENCE).map_err(io)?;
            socket.set_read_timeout(Some(PATIENCE)).map_err(io)?;
            if let Some(proxies) = to.proxies {
                tunnel(&mut socket, proxies).map_err(io)?;
            }
            shake_hands(socket, config, name).map_err(io)
        }
        Endpoint::Unix(path) => {
            let socket = UnixStream::connect(path).map_err(io)?;
            socket.set_read_timeout(Some(PATIENCE)).map_err(io)?;
            shake_hands(socket, config, name).map_err(io)
        }
    }
}

/// Asks a proxy for a tunnel.
fn tunnel(socket: &mut TcpStream, proxies: &Proxies) -> std::io::Result<()> {
    socket.write_all(&proxies.connect())?;
    let mut answer = Vec::new();
    loop {
        let mut byte = [0];
        // What follows the answer is TLS, and not ours to take.
        socket.read_exact(&mut byte)?;
        answer.push(byte[0]);
        if tunnel_answered(&answer).map_err(std::io::Error::other)? {
            return Ok(());
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
