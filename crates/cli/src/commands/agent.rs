//! `plimsoll agent`: the collectors of this host as a service.

use crate::args::Agent as Args;
use crate::exit::Exit;
use crate::files;
use crate::interrupt::Interrupts;
use crate::place::unix_ns;
use crate::terminal::error::{Context, FlagError, Result, UsageError, read};
use crate::terminal::{print, say};
use ipnet::IpNet;
use plimsoll_monitor::agent::{Access, Agent};
use plimsoll_monitor::announce::{Announcement, Announcer};
use plimsoll_monitor::{Source, Watched};
use plimsoll_net::url::Url;
use plimsoll_units::{ParseError, duration};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The collectors that need nothing but a host.
const COLLECTORS: [&str; 1] = ["host"];
/// How often the program looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<Exit> {
    let address: SocketAddr = read("--listen", &args.listen, address)?;
    let period = read("--every", &args.every, duration)?;
    let access = access(args)?;
    if !address.ip().is_loopback() && !access.lets_others_in() {
        let text = format!(
            "listen on {address} for anybody: say who may ask, by --allow NETWORK or --token-file"
        );
        return Err(UsageError(text).into());
    }
    let source = Source { processes: args.processes.clone(), ..Source::default() };
    let of_host = COLLECTORS.into_iter().filter(|_| !args.no_host);
    let of_host = of_host.map(|name| Watched::open(name, &source));
    let mut watched: Vec<Watched> = of_host.collect::<Result<_, _>>()?;
    watched.extend(args.cgroups.iter().map(|prefix| Watched::groups(&source.root, prefix)));
    let stop = Interrupts::to_end()?;
    let listener = TcpListener::bind(address)
        .with_context(|| format!("listen on {address}; choose another --listen"))?;
    let clock: plimsoll_monitor::sampler::Clock = Arc::new(unix_ns);
    let agent = Agent::start(listener, watched, (period, unix_ns()), access, &clock)?;
    print(&format!("listening on {}\n", agent.address()))?;
    let announcer = announcement(args, period)?.map(|of| Announcer::start(of, say));
    let announcer = announcer.transpose().with_context(|| "announce this host".to_owned())?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(LOOK);
    }
    drop((announcer, agent));
    Ok(Exit::Held)
}

/// An address to listen on; a port alone is one of this host's loopback.
pub(super) fn address(text: &str) -> Result<SocketAddr, ParseError> {
    let port = || text.parse().ok().map(|port: u16| SocketAddr::from(([127, 0, 0, 1], port)));
    let wrong = || ParseError::new("an address such as 127.0.0.1:5555", text, 0, text.len());
    text.parse().ok().or_else(port).ok_or_else(wrong)
}

/// What is announced of this host, and to whom.
fn announcement(args: &Args, every: Duration) -> Result<Option<Announcement>> {
    let (Some(to), Some(name), Some(at)) = (&args.announce, &args.name, &args.serves) else {
        return Ok(None);
    };
    let to = read("--announce", to, Url::parse)?;
    let is_port = |text: &str| text.parse::<u16>().is_ok_and(|port| port > 0);
    if !is_port(at) && at.parse::<SocketAddr>().is_err() {
        let wanted = "a port such as 8080, or an address such as 10.0.0.7:8080";
        let error = ParseError::new(wanted, at, 0, at.len());
        return Err(FlagError::new("--serves", at, error).into());
    }
    let token = args.token_file.as_deref().map(files::token).transpose()?;
    if to.secure {
        let text = "announce this host over https, which no pool hears; say http://";
        return Err(UsageError(text.to_owned()).into());
    }
    let (name, at) = (name.clone(), at.clone());
    Ok(Some(Announcement { to, name, at, every, token }))
}

/// Who may ask.
fn access(args: &Args) -> Result<Access> {
    let network = |text: &String| {
        let alone = || text.parse::<IpAddr>().ok().map(IpNet::from);
        text.parse().ok().or_else(alone).ok_or_else(|| {
            let wanted = "a network such as 10.0.0.0/8, or an address";
            FlagError::new("--allow", text, ParseError::new(wanted, text, 0, text.len()))
        })
    };
    Ok(Access {
        networks: args.allow.iter().map(network).collect::<Result<_, _>>()?,
        token: args.token_file.as_deref().map(files::token).transpose()?,
        name: args.name.clone(),
    })
}
