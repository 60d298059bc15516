//! `plimsoll shoal import`: a list of caches that run no agent, from a site list.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use plimsoll_net::resolve::resolve;
use plimsoll_shoal::client::apply::replace;
use plimsoll_shoal::client::import::{Fault, MOST_BYTES, StaticCache, parse};
use plimsoll_shoal::fixed::{LeftOut, List};

use super::wrong;
use crate::exit::Exit;
use crate::shoal_args::ShoalImport;
use crate::terminal::error::{Result, UsageError};
use crate::terminal::{print, say};

/// Names that are looked up at a time: a resolver that is away takes seconds for each.
const AT_A_TIME: usize = 16;
/// Things left out that are named one by one, of each kind.
const MOST_NAMED: usize = 10;

/// Runs the command.
pub(crate) fn run(args: &ShoalImport) -> Result<Exit> {
    let name = args.list.display().to_string();
    let text = text(&args.list).map_err(|error| wrong(&name, error))?;
    let found = parse(&text).map_err(|error| wrong(&name, error))?;
    let known = look_up(&found.caches);
    let (list, left_out) = List::resolve(&found.caches, |host| known.get(host).copied().flatten());
    say_what_is_left_out(&found.faults, &left_out);
    if list.caches.is_empty() {
        return Err(UsageError(format!("{name}: none of its caches can be listed")).into());
    }
    match &args.out {
        Some(out) => {
            let shown = out.display().to_string();
            replace(out, &list.to_json()).map_err(|error| wrong(&shown, error))?;
            say(&format!("{} caches written to {shown}", list.caches.len()));
        }
        None if args.json => print(&list.to_json())?,
        None => print(&table(&list))?,
    }
    if args.out.is_some() && args.json {
        print(&list.to_json())?;
    }
    Ok(Exit::Held)
}

/// The list's text, not more of it than is read.
fn text(path: &Path) -> io::Result<Vec<u8>> {
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path)?)
    };
    let mut text = Vec::new();
    input.take(MOST_BYTES as u64 + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// The address of each host: IPv4 before IPv6, because most clients can reach that.
fn look_up(found: &[StaticCache]) -> BTreeMap<String, Option<IpAddr>> {
    let hosts: BTreeMap<&str, u16> = found.iter().map(|one| (&*one.host, one.port)).collect();
    let waiting = Mutex::new(hosts.into_iter());
    let known = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((host, port)) = next else { return };
                    let address = address_of(host, port);
                    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                    known.insert(host.to_owned(), address);
                }
            });
        }
    });
    known.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn address_of(host: &str, port: u16) -> Option<IpAddr> {
    if let Ok(address) = host.parse() {
        return Some(address);
    }
    let all = resolve(host, port).ok()?;
    all.into_iter().map(|address| address.ip()).min_by_key(IpAddr::is_ipv6)
}

/// Names what is left out: of what is not understood, and of caches that cannot be listed, the
/// first few each.
fn say_what_is_left_out(faults: &[Fault], left_out: &[(StaticCache, LeftOut)]) {
    let caches = left_out.iter().map(|(cache, why)| {
        let StaticCache { host, port, .. } = cache;
        let (site, destination) = (cache.site.escape_debug(), cache.destination.escape_debug());
        format!("{host}:{port} of {site} ({destination}): {why}")
    });
    for all in [faults.iter().map(Fault::to_string).collect::<Vec<_>>(), caches.collect()] {
        for one in all.iter().take(MOST_NAMED) {
            say(&format!("left out: {one}"));
        }
        if let Some(more) = all.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
            say(&format!("left out: {more} more"));
        }
    }
}

/// A cache a line; columns are apart by two blanks.
fn table(list: &List) -> String {
    let networks = |count: usize| if count == 0 { "all".to_owned() } else { count.to_string() };
    let mut rows = vec![["SITE", "HOST", "PORT", "ADDRESS", "FOR", "NETWORKS"].map(str::to_owned)];
    rows.extend(list.caches.iter().map(|cache| {
        [
            cache.site.clone(),
            cache.host.clone(),
            cache.port.to_string(),
            cache.address.to_string(),
            cache.upstream.name().to_owned(),
            networks(cache.networks.len()),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths = [0, 1, 2, 3, 4, 5].map(|column| width(column).unwrap_or(0));
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (text, width) in row.iter().zip(widths) {
            let _ = write!(line, "{text:<width$}  ");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
