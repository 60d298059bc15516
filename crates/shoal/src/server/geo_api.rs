//! CVMFS's geo-API: which of some servers is nearest.
//!
//! Names are looked up by the host's resolver, for at most a second, a hundred at once; what was
//! found (or not) is remembered for five minutes, as CVMFS's own server does.

use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use indexmap::IndexMap;
use tokio::sync::Semaphore;

use super::Shared;
use super::reply::Reply;
use super::shared::lock;
use crate::answer::TEXT;
use crate::answer::geo_api::{
    ERROR_MAX_AGE_S, Fault, MAX_AGE_S, answer as order, may_be_looked_up, question,
};
use crate::geo::{Locate, Spot};

/// Look-ups of names at once, in all threads together.
const AT_ONCE: usize = 100;
/// How long the names of one question may take, together.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long an address is remembered.
const REMEMBER_NS: u64 = 300_000_000_000;
/// Names remembered; all are forgotten when there are more.
const MOST_NAMES: usize = 100_000;

/// Addresses of names.
#[derive(Debug)]
pub(super) struct Names {
    at_once: Semaphore,
    known: Mutex<IndexMap<Box<str>, Known>>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    address: Option<IpAddr>,
    until_ns: u64,
}

impl Default for Names {
    fn default() -> Self {
        Self { at_once: Semaphore::new(AT_ONCE), known: Mutex::default() }
    }
}

/// Answers one question.
pub(super) async fn answer(shared: &Shared, client: IpAddr, asked: &str) -> Reply {
    match tell(shared, client, asked).await {
        Ok(body) => Reply::new(TEXT, body).max_age(MAX_AGE_S),
        Err(fault) => Reply::new(TEXT, fault.body()).status(400).max_age(ERROR_MAX_AGE_S),
    }
}

async fn tell(shared: &Shared, client: IpAddr, asked: &str) -> Result<String, Fault> {
    let question = question(asked)?;
    let proxy = Some(question.caching).filter(|name| may_be_looked_up(name));
    let names: Vec<Option<&str>> = std::iter::once(proxy).chain(question.names()).collect();
    let mut spots = spots(shared, &names).await;
    // The first is the client's proxy, if that has a position; else it is the client.
    let origin = spots.remove(0).or_else(|| shared.geography.spot(client));
    order(&question, origin, &spots)
}

/// Where names are; those that are not known in time have no position.
async fn spots(shared: &Shared, names: &[Option<&str>]) -> Vec<Option<Spot>> {
    let mut spots = vec![None; names.len()];
    let found = async {
        for (name, spot) in names.iter().zip(&mut spots) {
            let Some(name) = name else { continue };
            let address = address(shared, name).await;
            *spot = address.and_then(|address| shared.geography.spot(address));
        }
    };
    // What was found until then counts.
    let _ = tokio::time::timeout(PATIENCE, found).await;
    spots
}

/// The address of a name, its IPv4 one first.
async fn address(shared: &Shared, name: &str) -> Option<IpAddr> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Some(address);
    }
    // An address with a port, or half of one, is no name.
    if name.contains(':') {
        return None;
    }
    let names = &shared.names;
    let now_ns = shared.clock.now().elapsed_ns;
    let known = lock(&names.known).get(name).copied();
    if let Some(known) = known.filter(|known| known.until_ns > now_ns) {
        return known.address;
    }
    let _permit = names.at_once.acquire().await.ok()?;
    let mut found: Vec<IpAddr> = match tokio::net::lookup_host((name, 0)).await {
        Ok(found) => found.map(|address| address.ip()).collect(),
        Err(_) => Vec::new(),
    };
    found.sort_by_key(IpAddr::is_ipv6);
    let address = found.first().copied();
    let mut known = lock(&names.known);
    if known.len() >= MOST_NAMES {
        known.clear();
    }
    known.insert(name.into(), Known { address, until_ns: now_ns + REMEMBER_NS });
    address
}
