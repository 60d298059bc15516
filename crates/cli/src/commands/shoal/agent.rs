//! `plimsoll shoal agent`: announces the cache of this host.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_net::url::{Url, is_host};
use plimsoll_shoal::address::may_be_public;
use plimsoll_shoal::agent::addresses::{Addresses, way_out};
use plimsoll_shoal::agent::announce::{Announce, Http, Sign};
use plimsoll_shoal::agent::{self, Event, Health, Options, Probe, World};
use plimsoll_shoal::auth::Keys;
use plimsoll_shoal::heartbeat::is_cloud_name;
use plimsoll_shoal::server::Clock;
use plimsoll_units::duration;

use super::{amqp, url, wrong};
use crate::dial::dial;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::shoal_args::ShoalAgent;
use crate::terminal::error::{Result, UsageError, read};
use crate::terminal::say;

/// Runs the command until it is interrupted.
pub(crate) fn run(args: &ShoalAgent) -> Result<Exit> {
    let servers = args.server.iter().map(|text| url("--server", text));
    let servers: Vec<Url> = servers.collect::<Result<_>>()?;
    if let Some(cloud) = args.cloud.as_deref().filter(|cloud| !is_cloud_name(cloud)) {
        return Err(bad_name("--cloud", cloud, "_", 64));
    }
    if let Some(name) = args.hostname.as_deref().filter(|name| !is_host(name)) {
        return Err(bad_name("--hostname", name, "", 253));
    }
    if let Some(address) = args.external_ip.filter(|address| !may_be_public(*address)) {
        return Err(UsageError(format!("--external-ip: others cannot reach {address}")).into());
    }
    let options = options(args, servers.first())?;
    let dial = dial("--ca", args.ca.as_deref(), &servers)?;
    let mut registries: Vec<Box<dyn Announce>> = Vec::new();
    for server in &servers {
        let sign = args.key.as_deref().map(signer).transpose()?;
        registries.push(Box::new(Http::new(server, Arc::clone(&dial), sign)));
    }
    for broker in &args.amqp {
        let sign = args.key.as_deref().map(signer).transpose()?;
        let cloud = options.cloud.as_deref();
        let speaks = amqp::publisher(broker, &args.way, cloud, options.interval, sign)?;
        registries.push(speaks);
    }
    let clock = Clock::start();
    let stop = Interrupts::flag()?;
    let mut uuid = || agent::uuid().unwrap_or_default();
    let world = World {
        root: PathBuf::from("/"),
        now: &|| clock.now(),
        stop: &stop,
        seed: agent::random_seed()?,
        uuid: &mut uuid,
        way_out: &way_out,
        registries,
        dial,
    };
    let can_ask = args.external_ip.is_some() || !servers.is_empty();
    let external = args.external_ip;
    let mut log = Log { quiet: args.quiet, can_ask, external, ..Log::default() };
    agent::run(options, world, &mut |event| log.take(&event))?;
    Ok(Exit::Held)
}

fn options(args: &ShoalAgent, first: Option<&Url>) -> Result<Options> {
    let defaults = Options::default();
    let probe_url = args.probe_url.as_deref().map(|text| url("--probe-url", text)).transpose()?;
    Ok(Options {
        port: args.port,
        cache_address: args.cache_address,
        upstream: args.upstream.into(),
        interval: read("--interval", &args.interval, duration)?,
        probe: Probe { url: probe_url, ..defaults.probe },
        external_ip: args.external_ip,
        outside: first.cloned(),
        hostname: args.hostname.clone(),
        cloud: args.cloud.clone(),
        interface: args.interface.clone(),
        max_load: args.max_load,
        coordinates: args.latitude.zip(args.longitude),
        ..defaults
    })
}

/// A name that no registry would take, with what is wrong with it.
fn bad_name(option: &str, name: &str, more: &str, most: usize) -> crate::terminal::error::Error {
    let may_stand =
        |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-') || more.contains(*c);
    let why = match name.chars().find(|c| !may_stand(c)) {
        Some(odd) => format!("{odd:?} may not stand in it"),
        None => format!("1 to {most} bytes, and a name"),
    };
    UsageError(format!("{option} {name}: {why}")).into()
}

/// Signs with the first key of a file.
fn signer(path: &Path) -> Result<Sign> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&name, error))?;
    let keys = Keys::read(&text).map_err(|error| wrong(&name, error))?;
    let key = keys.iter().next().cloned();
    let key = key.ok_or_else(|| UsageError(format!("{name}: there is no key in it")))?;
    Ok(Box::new(move |body, unix_ms| {
        let headers = key.sign(body, unix_ms).headers();
        headers.map(|(name, value)| (name.to_owned(), value)).into()
    }))
}

/// Says what changes, not each heartbeat, and not each attempt to reach who is away.
#[derive(Default)]
struct Log {
    quiet: bool,
    /// Whether this host's outer address is known, or can be asked for.
    can_ask: bool,
    /// As others see this host, by what was said.
    external: Option<IpAddr>,
    /// What every registry that did not take the last message said last.
    failures: Vec<(String, String)>,
    /// Registries that took the last heartbeat.
    announced: Vec<String>,
}

impl Log {
    fn take(&mut self, event: &Event) {
        let text = match event {
            Event::Failed(registry, why) => {
                self.announced.retain(|known| known != registry);
                let failure = (registry.clone(), why.clone());
                if !self.failures.contains(&failure) {
                    say(&format!("{registry}: {why}"));
                    self.failures.retain(|(known, _)| known != registry);
                    self.failures.push(failure);
                }
                return;
            }
            Event::Probe(why) => {
                say(&format!("the cache does not answer: {why}"));
                return;
            }
            Event::Hidden(address, cache) => {
                let (port, kind) = (cache.port, cache.kind.name());
                say(&format!(
                    "warning: the cache listens on loopback only: nobody reaches it at {}, which \
                     is announced; let {kind} listen at port {port} of every address",
                    SocketAddr::new(*address, port)
                ));
                return;
            }
            Event::Announced(registry) if self.announced.contains(registry) => return,
            Event::Announced(registry) => {
                self.announced.push(registry.clone());
                self.failures.retain(|(known, _)| known != registry);
                format!("announced to {registry}")
            }
            Event::Left(registry) => {
                self.announced.retain(|known| known != registry);
                format!("took leave of {registry}")
            }
            Event::Cache(cache) => {
                let at = SocketAddr::new(cache.address, cache.port);
                if cache.others > 0 {
                    say(&format!(
                        "{} more of its kind listen on this host: --port says which is meant",
                        cache.others
                    ));
                }
                format!("the cache is {} at {at}", cache.kind.name())
            }
            Event::Health(Health::Alive) => "the cache answers".to_owned(),
            Event::Health(Health::Dead) => "the cache is taken off the list".to_owned(),
            Event::Network(addresses)
                if !self.can_ask && !addresses.is_empty() && addresses.announced().is_none() =>
            {
                say("no registry lists a cache without a public address: say --external-ip, or \
                     name a registry by --server, which is then asked");
                return;
            }
            Event::Network(addresses) => {
                self.unused(addresses);
                told(addresses)
            }
            Event::Metadata(metadata) => format!(
                "the cloud says: public address {}, zone {}",
                shown(metadata.public_ip),
                metadata.zone.as_deref().unwrap_or("none")
            ),
            _ => return,
        };
        if !self.quiet {
            say(&text);
        }
    }

    /// Says that an interface's own public address stands above what was said.
    fn unused(&self, addresses: &Addresses) {
        if let (Some(external), Some(public)) = (self.external, addresses.public)
            && external != public
        {
            say(&format!(
                "note: --external-ip {external} is not used: an interface has the public address \
                 {public}"
            ));
        }
    }
}

fn told(addresses: &Addresses) -> String {
    if addresses.is_empty() {
        return "no interface has an address".to_owned();
    }
    let Addresses { public, private, external } = *addresses;
    format!(
        "addresses: public {}, private {}, as others see it {}",
        shown(public),
        shown(private),
        shown(external)
    )
}

fn shown(address: Option<IpAddr>) -> String {
    address.map_or_else(|| "none".to_owned(), |address| address.to_string())
}
