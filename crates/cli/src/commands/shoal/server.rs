//! `plimsoll shoal server`: the registry.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use ipnet::IpNet;
use plimsoll_net::resolve::resolve;
use plimsoll_net::url::Url;
use plimsoll_shoal::address::{may_be_public, normal};
use plimsoll_shoal::auth::Keys;
use plimsoll_shoal::geo::Geography;
use plimsoll_shoal::order::Sites;
use plimsoll_shoal::registry::{Kept, Settings};
use plimsoll_shoal::server::{Auth, Certificate, Folder, Options, Server, random_key};
use plimsoll_shoal::verify::{Allowed, Object, Settings as Verification};
use plimsoll_units::duration;

use super::{amqp, url, wrong};
use crate::dial::dial;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::shoal_args::{ShoalServer, Verify};
use crate::terminal::error::{Result, UsageError, read};
use crate::terminal::{print, say};

/// How often it is looked whether to end.
const LOOK: Duration = Duration::from_millis(50);

/// An agent's interval where it does not say: after it, every living cache was heard.
const INTERVAL: Duration = Duration::from_secs(30);

/// A geographic database that locates a smaller part of its networks is not what it should be.
const FEW: f64 = 0.5;

/// The shortest time between two questions of verification to one network.
const SHORTEST: Duration = Duration::from_secs(1);

/// Runs the command until it is interrupted.
pub(crate) fn run(args: &ShoalServer) -> Result<Exit> {
    let run_for = args.run_for.as_ref().map(|text| read("--for", text, duration)).transpose()?;
    let options = options(args)?;
    if options.auth != Auth::Off && args.keys.is_none() {
        let text = "--auth required and --auth optional need --keys: without keys nobody can sign";
        return Err(UsageError(text.to_owned()).into());
    }
    if options.auth == Auth::Off && args.keys.is_some() {
        say("note: --keys says nothing without --auth optional or --auth required");
    }
    if args.verified_only && args.verify.verify.is_none() {
        say("note: without --verify only what a trusted source calls verified is given");
    }
    for net in args.trust.iter().filter(|net| covers_loopback(net)) {
        say(&format!(
            "warning: --trust {net}: whoever reaches this host's loopback, through a proxy or a \
             tunnel on it, may announce any address and decide about caches"
        ));
    }
    for peer in args.peer.iter().filter(|peer| is_open(peer)) {
        say(&format!(
            "warning: --peer {peer}: whoever is on the way there can list, drain and ban caches \
             here; https:// keeps them out"
        ));
    }
    if let Some(fault) = options.tls.as_ref().and_then(Certificate::fault) {
        say(&format!("warning: --tls-cert: {fault}"));
    }
    let broker = amqp::broker(&args.amqp)?;
    let hang_up = hang_up()?;
    let stop = Interrupts::to_end()?;
    let server = Server::start(options)?;
    let consumer = broker.map(|broker| broker.hear(&server)).transpose()?;
    let scheme = if args.tls_cert.is_some() { "https" } else { "http" };
    print(&format!("listening on {scheme}://{}\n", server.local_addr()))?;
    let mut waited = Duration::ZERO;
    while !stop.load(Relaxed) && run_for.is_none_or(|time| waited < time) {
        if hang_up.swap(false, Relaxed) {
            say("hung up: the access log is opened again, and all files are read again");
            server.shared().reread();
        }
        std::thread::park_timeout(LOOK);
        waited += LOOK;
    }
    let (counts, living) = {
        let registry = server.shared().registry();
        (registry.counts().clone(), registry.len())
    };
    server.stop();
    if let Some(consumer) = consumer {
        consumer.join();
    }
    let refused: u64 = counts.refused.values().sum();
    say(&format!(
        "{living} caches at the end; {} joined, {} expired, {} said goodbye; {} heartbeats \
         renewed, {refused} announcements refused",
        counts.joined, counts.expired, counts.goodbyes, counts.renewed
    ));
    Ok(Exit::Held)
}

/// Set by each SIGHUP, which ends nothing: it is for who rotates logs and renews files.
fn hang_up() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&flag))?;
    Ok(flag)
}

/// Whether a peer is asked in the open, over a network.
fn is_open(peer: &str) -> bool {
    let Ok(peer) = Url::parse(peer) else { return false };
    let is_here = peer.host == "localhost"
        || peer.host.parse::<IpAddr>().is_ok_and(|address| normal(address).is_loopback());
    !peer.secure && !is_here
}

fn options(args: &ShoalServer) -> Result<Options> {
    let geography = match &args.geo {
        Some(path) => Geography::open(path.clone()).map_err(|error| wrong("--geo", error))?,
        None => Geography::none(),
    };
    let share = geography.database().and_then(|database| database.share());
    if let Some(share) = share.filter(|share| *share < FEW) {
        let percent = 100.0 * share;
        say(&format!("warning: --geo: only {percent:.1}% of its networks can be located"));
    }
    let (folder, secret, kept) = match &args.state {
        Some(path) => {
            let (folder, secret, kept) = Folder::open(path)?;
            (Some(folder), secret, kept)
        }
        None => (None, random_key()?, Kept::default()),
    };
    let peers: Vec<Url> =
        args.peer.iter().map(|peer| url("--peer", peer)).collect::<Result<_>>()?;
    // Looked at now: the list is copied later, where nobody reads of mistakes.
    dial("--peer-ca", args.peer_ca.as_deref(), &peers)?;
    let ttl = read("--ttl", &args.ttl, duration)?;
    Ok(Options {
        listen: listen(&args.listen)?,
        tls: certificate(args)?,
        threads: args.threads.unwrap_or_else(cores).max(1),
        settings: Settings {
            ttl_ns: u64::try_from(ttl.as_nanos()).unwrap_or(u64::MAX),
            most_entries: args.most_caches,
            ..Settings::default()
        },
        secret,
        kept,
        folder,
        geography: Arc::new(geography),
        sites: table(args.sites.as_deref(), Sites::parse)?,
        sites_file: args.sites.clone(),
        fixed: args.fixed.clone(),
        order: args.order.into(),
        verified_only: args.verified_only,
        verify: verification(&args.verify)?,
        trust: args.trust.clone(),
        trusted_proxies: args.trusted_proxy.clone(),
        operator_socket: args.operator_socket.clone(),
        external_ips: external(&args.external_ip)?,
        auth: args.auth.into(),
        keys: keys(args.keys.as_deref())?,
        keys_file: args.keys.clone(),
        rate: args.announce_rate,
        peers: args.peer.clone(),
        peer_ca: args.peer_ca.clone(),
        access_log: args.access_log.clone(),
        say,
        settle: INTERVAL,
    })
}

/// Where to listen: an address or a name with a port; without a host, every address.
fn listen(text: &str) -> Result<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let wrong = |why: &str| UsageError(format!("--listen {text}: {why}"));
    let (host, port) = text.rsplit_once(':').ok_or_else(|| wrong("not HOST:PORT"))?;
    let port: u16 = port.parse().map_err(|_| wrong("not a port"))?;
    if host.is_empty() {
        // Where there is no IPv6, or it does not carry IPv4, IPv4 alone.
        let every = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
        let both = std::net::TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok();
        return Ok(if both { every } else { SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)) });
    }
    let found = resolve(host, port).map_err(|error| wrong(&error.to_string()))?;
    // IPv4 first, as those who ask `localhost` do who know no other.
    let first = found.into_iter().min_by_key(SocketAddr::is_ipv6);
    Ok(first.ok_or_else(|| wrong("the name has no address"))?)
}

/// The addresses of this host that others see.
fn external(addresses: &[IpAddr]) -> Result<Vec<IpAddr>> {
    let addresses: Vec<IpAddr> = addresses.iter().copied().map(normal).collect();
    match addresses.iter().find(|address| !may_be_public(**address)) {
        Some(address) => {
            Err(UsageError(format!("--external-ip: others cannot reach {address}")).into())
        }
        None => Ok(addresses),
    }
}

fn covers_loopback(net: &IpNet) -> bool {
    match net {
        IpNet::V4(net) => net.addr().is_loopback() || net.contains(&Ipv4Addr::LOCALHOST),
        IpNet::V6(net) => net.contains(&Ipv6Addr::LOCALHOST),
    }
}

/// By which connections are encrypted, if they are.
fn certificate(args: &ShoalServer) -> Result<Option<Certificate>> {
    let files = args.tls_cert.as_deref().zip(args.tls_key.as_deref());
    let certificate = files.map(|(chain, key)| Certificate::open(chain, key)).transpose();
    certificate.map_err(|error| wrong("--tls-cert, --tls-key", error))
}

/// What is fetched through the caches, if anything.
fn verification(args: &Verify) -> Result<Option<Verification>> {
    let Some(object) = &args.verify else { return Ok(None) };
    let object = Object::new(url("--verify", object)?, args.verify_text.clone());
    let object = object.map_err(|error| wrong("--verify", error))?;
    let allowed = Allowed::new(args.verify_private.clone(), args.verify_ports.clone());
    let allowed = allowed.map_err(|error| wrong("--verify-private, --verify-ports", error))?;
    let every = read("--verify-every", &args.verify_every, duration)?;
    if every < SHORTEST {
        return Err(UsageError("--verify-every: at least 1s".to_owned()).into());
    }
    Ok(Some(Verification { object, allowed, every }))
}

/// What a file of lines says; nothing without a file.
fn keys(path: Option<&Path>) -> Result<Keys> {
    let keys = table(path, Keys::read)?;
    match path {
        Some(path) if keys.iter().next().is_none() => {
            let text = "--keys PATH: it holds no key: an empty list would lock every agent out";
            Err(UsageError(text.replace("PATH", &path.display().to_string())).into())
        }
        _ => Ok(keys),
    }
}

fn table<T, E>(path: Option<&Path>, parse: impl Fn(&str) -> Result<T, E>) -> Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let text = path.map_or_else(|| Ok(String::new()), std::fs::read_to_string);
    let name = path.map_or_else(String::new, |path| path.display().to_string());
    let text = text.map_err(|error| wrong(&name, error))?;
    parse(&text).map_err(|error| wrong(&name, error))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
