//! CVMFS's geo-API: which of some servers is nearest.
//!
//! Names are looked up by the host's resolver, for at most a second, a hundred at once; what was
//! found (or not) is remembered for five minutes, as CVMFS's own server does. The resolver cannot
//! be told to give up: a look-up that nobody waits for any more still counts among the hundred,
//! and what it finds is remembered.

use plimsoll_net::resolve::resolve;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indexmap::IndexMap;
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, spawn_blocking};

use super::Shared;
use super::reply::Reply;
use super::shared::lock;
use crate::answer::TEXT;
use crate::answer::geo_api::{
    ERROR_MAX_AGE_S, Fault, MAX_AGE_S, answer as order, bare, decoded, may_be_looked_up, question,
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
    at_once: Arc<Semaphore>,
    known: Arc<Mutex<IndexMap<Box<str>, Known>>>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    address: Option<IpAddr>,
    until_ns: u64,
}

impl Default for Names {
    fn default() -> Self {
        Self { at_once: Arc::new(Semaphore::new(AT_ONCE)), known: Arc::default() }
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
    let asked = decoded(asked);
    let question = question(&asked)?;
    let proxy = bare(question.caching);
    let proxy = may_be_looked_up(proxy).then_some(proxy);
    let names: Vec<Option<&str>> = std::iter::once(proxy).chain(question.names()).collect();
    let mut spots = spots(shared, &names).await;
    // The first is the client's proxy, if that has a position; else it is the client.
    let origin = spots.remove(0).or_else(|| shared.geography.spot(client));
    order(&question, origin, &spots)
}

/// Where names are; those that are not known in time have no position.
async fn spots(shared: &Shared, names: &[Option<&str>]) -> Vec<Option<Spot>> {
    let spot = |address: Option<IpAddr>| address.and_then(|address| shared.geography.spot(address));
    let now_ns = shared.clock.now().elapsed_ns;
    let mut spots = vec![None; names.len()];
    // What still waits for its turn when the set is dropped is not begun.
    let mut asked = JoinSet::new();
    for (place, name) in names.iter().enumerate() {
        let Some(name) = name else { continue };
        match known(&shared.names, name, now_ns) {
            Some(address) => spots[place] = spot(address),
            None => {
                let found = found(&shared.names, name, now_ns);
                asked.spawn_local(async move { (place, found.await) });
            }
        }
    }
    let all = async {
        while let Some(one) = asked.join_next().await {
            if let Ok((place, address)) = one {
                spots[place] = spot(address);
            }
        }
    };
    // What was found until then counts.
    let _ = tokio::time::timeout(PATIENCE, all).await;
    spots
}

/// The address of a name, or that it has none; `None` if it is to be looked up.
#[expect(clippy::option_option, reason = "not known, and known to have none")]
fn known(names: &Names, name: &str, now_ns: u64) -> Option<Option<IpAddr>> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Some(Some(address));
    }
    // An address with a port, or half of one, is no name.
    if name.contains(':') {
        return Some(None);
    }
    let known = lock(&names.known).get(name).copied();
    known.filter(|known| known.until_ns > now_ns).map(|known| known.address)
}

/// Looks a name up when it is its turn, and remembers what was found.
fn found(names: &Names, name: &str, now_ns: u64) -> impl Future<Output = Option<IpAddr>> + 'static {
    let (at_once, table) = (Arc::clone(&names.at_once), Arc::clone(&names.known));
    let name = name.to_owned();
    async move {
        let permit = at_once.acquire_owned().await.ok()?;
        let look = move || {
            let address = look_up(&name);
            remember(&mut lock(&table), &name, Known { address, until_ns: now_ns + REMEMBER_NS });
            drop(permit);
            address
        };
        spawn_blocking(look).await.ok().flatten()
    }
}

/// The address of a name, its IPv4 one first.
fn look_up(name: &str) -> Option<IpAddr> {
    let mut found: Vec<IpAddr> = resolve(name, 0).ok()?.into_iter().map(|at| at.ip()).collect();
    found.sort_by_key(IpAddr::is_ipv6);
    found.first().copied()
}

fn remember(known: &mut IndexMap<Box<str>, Known>, name: &str, found: Known) {
    if known.len() >= MOST_NAMES {
        known.clear();
    }
    known.insert(name.into(), found);
}
