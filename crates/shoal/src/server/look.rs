//! Look-ups: what is asked, in the order that this server keeps, as a body.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::HeaderValue;
use plimsoll_workload::random::Stream;

use super::reply::Reply;
use super::{Order, Shared};
use crate::answer::old::{OldEntry, entries, old_distance};
use crate::answer::pac::{COUNT, proxy_pac, wpad};
use crate::answer::{PAC, v1};
use crate::geo::{Locate, Spot};
use crate::order::{Looker, Menu, Pick, Question, Weighed, Weighing, shoal_order};
use crate::registry::{Cache, Snapshot};

/// Looks up, and reuses its memory.
#[derive(Debug)]
pub(super) struct Lookup {
    looker: Looker,
    random: Stream,
    picks: Vec<Pick>,
    /// Bytes of the last answer: as many are reserved for the next.
    usual: usize,
}

/// Caches given by `/v1/nearest` where the question has no `n`.
const USUAL_COUNT: usize = 5;
/// The most it gives.
const MOST_V1: usize = 100;

impl Lookup {
    pub(super) fn new(random: Stream) -> Self {
        Self { looker: Looker::default(), random, picks: Vec::new(), usual: 0 }
    }

    /// `/nearest` and its like.
    pub(super) fn old_nearest(
        &mut self,
        shared: &Shared,
        client: IpAddr,
        menu: Menu,
        count: usize,
    ) -> Reply {
        let mut body = Vec::with_capacity(self.usual);
        if shared.order == Order::Shoal {
            let weighed = shoal(shared, client, menu, count);
            entries(
                &mut body,
                weighed.iter().map(|Weighed { cache, cost, local }| OldEntry {
                    cache,
                    local: *local,
                    distance: Some(*cost),
                }),
            );
        } else {
            self.pick(shared, &shared.shelf.load(), client, None, menu, count);
            entries(
                &mut body,
                self.picks.iter().map(|pick| OldEntry {
                    cache: &pick.cache,
                    local: pick.local,
                    distance: Some(old_distance(pick.distance_km, pick.cache.load().value())),
                }),
            );
            self.picks.clear();
        }
        self.usual = body.len();
        Reply::json(body)
    }

    /// `/all`: every living cache, also one that is not served.
    pub(super) fn all(&mut self, shared: &Shared) -> Reply {
        let snapshot = shared.shelf.load();
        let mut body = Vec::new();
        let every = snapshot.caches();
        entries(&mut body, every.map(|cache| OldEntry { cache, local: false, distance: None }));
        Reply::json(body)
    }

    /// A script of proxy auto-configuration: a correct one, or as the original writes it.
    pub(super) fn script(&mut self, shared: &Shared, client: IpAddr, correct: bool) -> Reply {
        let mut body = Vec::new();
        let host = |cache: &'_ Arc<Cache>| (cache.hostname.clone(), cache.port.value);
        let hosts: Vec<_> = if shared.order == Order::Shoal {
            let weighed = shoal(shared, client, Menu::Squid, COUNT);
            weighed.iter().map(|weighed| host(&weighed.cache)).collect()
        } else {
            self.pick(shared, &shared.shelf.load(), client, None, Menu::Squid, COUNT);
            self.picks.drain(..).map(|pick| host(&pick.cache)).collect()
        };
        let hosts = hosts.iter().map(|(name, port)| (&**name, *port));
        if correct {
            proxy_pac(&mut body, hosts)
        } else {
            wpad(&mut body, hosts)
        }
        Reply::new(PAC, body)
    }

    /// `/v1/nearest`.
    pub(super) fn nearest(&mut self, shared: &Shared, client: IpAddr, query: &str) -> Reply {
        let asked = match Asked::read(query) {
            Ok(asked) => asked,
            Err(fault) => return Reply::problem(400, fault.reason, &fault.detail),
        };
        let snapshot = shared.shelf.load();
        let spot = shared.geography.spot(asked.ip.unwrap_or(client));
        let mut body = Vec::with_capacity(self.usual);
        self.look(
            &snapshot,
            Question {
                client,
                spot,
                count: asked.count,
                menu: asked.menu,
                cloud: asked.cloud.as_deref(),
                verified_only: shared.verified_only,
                sites: Some(&shared.sites),
            },
        );
        let whom = v1::Client { ip: asked.ip.unwrap_or(client), spot };
        v1::nearest(&mut body, whom, snapshot.generation, &self.picks, shared.clock.now());
        self.picks.clear();
        self.usual = body.len();
        Reply::json(body).no_store()
    }

    /// `/v1/caches`.
    pub(super) fn caches(&mut self, shared: &Shared, known: Option<&HeaderValue>) -> Reply {
        let snapshot = shared.shelf.load();
        let etag = v1::etag(snapshot.generation, snapshot.caches());
        if is_known(known, &etag) {
            return Reply::empty(304).tagged(&etag);
        }
        let mut body = Vec::new();
        v1::caches(&mut body, snapshot.generation, snapshot.caches(), shared.clock.now());
        Reply::json(body).tagged(&etag)
    }

    /// `/v1/caches/{id}`.
    pub(super) fn cache(&mut self, shared: &Shared, id: u64, known: Option<&HeaderValue>) -> Reply {
        let found = shared.registry().find(id).cloned();
        let Some(cache) = found else {
            return Reply::problem(404, "not_found", "no such cache");
        };
        let etag = v1::etag(0, std::iter::once(&cache));
        if is_known(known, &etag) {
            return Reply::empty(304).tagged(&etag);
        }
        let mut body = Vec::new();
        v1::cache(&mut body, &cache, shared.clock.now());
        Reply::json(body).tagged(&etag)
    }

    fn pick(
        &mut self,
        shared: &Shared,
        snapshot: &Snapshot,
        client: IpAddr,
        cloud: Option<&str>,
        menu: Menu,
        count: usize,
    ) {
        let spot: Option<Spot> = shared.geography.spot(client);
        let (verified_only, sites) = (shared.verified_only, Some(&shared.sites));
        let question = Question { client, spot, count, menu, cloud, verified_only, sites };
        self.look(snapshot, question);
    }

    fn look(&mut self, snapshot: &Snapshot, question: Question<'_>) {
        self.looker.nearest(snapshot, &question, &mut self.random, &mut self.picks);
    }
}

/// The caches in the original's order; a client that cannot be located gets none.
fn shoal(shared: &Shared, client: IpAddr, menu: Menu, count: usize) -> Vec<Weighed> {
    let Some(spot) = shared.geography.spot(client) else { return Vec::new() };
    let snapshot = shared.shelf.load();
    let own = |cache: &Cache| shared.sites.has(client, cache);
    shoal_order(snapshot.caches(), spot, menu, count, &Weighing::default(), own)
}

fn is_known(header: Option<&HeaderValue>, etag: &str) -> bool {
    let header = header.and_then(|value| value.to_str().ok());
    header.is_some_and(|header| v1::none_match(header, etag))
}

/// The parameters of `/v1/nearest`.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    count: usize,
    ip: Option<IpAddr>,
    cloud: Option<String>,
    menu: Menu,
}

/// What is wrong with a query.
#[derive(Debug, PartialEq, Eq)]
struct Fault {
    reason: &'static str,
    detail: String,
}

impl Asked {
    /// Reads a query. Parameters that are not known are left alone, as the standards advise; one
    /// that is given twice is a fault.
    fn read(query: &str) -> Result<Self, Fault> {
        let mut asked = Self { count: USUAL_COUNT, ip: None, cloud: None, menu: Menu::All };
        let mut seen = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let fault = |reason, what: &str| Fault { reason, detail: format!("`{name}` {what}") };
            if !matches!(name, "n" | "ip" | "cloud" | "type") {
                continue;
            }
            if seen.contains(&name) {
                return Err(fault("malformed", "is given twice"));
            }
            seen.push(name);
            let value = unescape(value).ok_or_else(|| fault("malformed", "is not UTF-8"))?;
            match name {
                "n" => {
                    let count = value.parse().map_err(|_| fault("type", "is no number"))?;
                    if !(1..=MOST_V1).contains(&count) {
                        return Err(fault("range", "is not 1 to 100"));
                    }
                    asked.count = count;
                }
                "ip" => {
                    let ip: IpAddr = value.parse().map_err(|_| fault("type", "is no address"))?;
                    asked.ip = Some(crate::address::normal(ip));
                }
                "cloud" => {
                    let named = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
                    if value.is_empty() || value.len() > 64 || !value.chars().all(named) {
                        return Err(fault("range", "is not 1 to 64 of A-Z a-z 0-9 . _ -"));
                    }
                    asked.cloud = Some(value);
                }
                _ => {
                    asked.menu = match &*value {
                        "squid" => Menu::Squid,
                        "varnish" => Menu::Varnish,
                        _ => return Err(fault("range", "is neither squid nor varnish")),
                    }
                }
            }
        }
        Ok(asked)
    }
}

/// Takes the escapes out of a value (RFC 3986, section 2.1); `+` is a blank.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                let (high, low) = (digit(rest.next())?, digit(rest.next())?);
                u8::try_from(16 * high + low).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::{Asked, unescape};
    use crate::order::Menu;

    #[test]
    fn a_query_is_read_within_its_bounds() {
        let asked = Asked::read("n=7&ip=2001%3Adb8%3A%3A1&cloud=a.b&type=varnish&x=1").unwrap();
        assert_eq!((asked.count, asked.menu), (7, Menu::Varnish));
        assert_eq!(asked.ip, Some("2001:db8::1".parse().unwrap()));
        assert_eq!(asked.cloud.as_deref(), Some("a.b"));
        for (query, reason) in [
            ("n=0", "range"),
            ("n=101", "range"),
            ("n=five", "type"),
            ("n=1&n=2", "malformed"),
            ("ip=nowhere", "type"),
            ("ip=%zz", "malformed"),
            ("cloud=", "range"),
            ("cloud=a%20b", "range"),
            ("type=cow", "range"),
        ] {
            assert_eq!(Asked::read(query).unwrap_err().reason, reason, "{query}");
        }
    }

    #[test]
    fn escapes_are_taken_out() {
        assert_eq!(unescape("a%2Fb+c").as_deref(), Some("a/b c"));
        assert_eq!(unescape("%F"), None);
        assert_eq!(unescape("%ff"), None);
    }
}
