//! Look-ups: what is asked, in the order that this server keeps, as a body.

use std::net::IpAddr;

use hyper::header::HeaderValue;
use plimsoll_workload::random::Stream;

use super::reply::Reply;
use super::{Order, Shared};
use crate::answer::old::{OldEntry, entries, old_distance};
use crate::answer::pac::{COUNT, proxy_pac, wpad};
use crate::answer::query::Query;
use crate::answer::{PAC, v1};
use crate::geo::{Locate, Spot};
use crate::order::{
    Looker, MOST, Menu, Pick, Question, Weighed, Weighing, distance_order, shoal_order,
};
use crate::registry::{Cache, Snapshot};

/// Looks up, and reuses its memory.
#[derive(Debug)]
pub(super) struct Lookup {
    looker: Looker,
    random: Stream,
    /// Bytes of the last answer: as many are reserved for the next.
    usual: usize,
}

impl Lookup {
    pub(super) fn new(random: Stream) -> Self {
        Self { looker: Looker::default(), random, usual: 0 }
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
            let snapshot = shared.shelf.load();
            let picks = self.pick(shared, &snapshot, client, None, menu, count);
            entries(
                &mut body,
                picks.iter().map(|pick| OldEntry {
                    cache: pick.cache,
                    local: pick.local,
                    distance: Some(old_distance(pick.distance_km, pick.cache.load().value())),
                }),
            );
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
        let host = |cache: &Cache| (Box::from(cache.hostname()), cache.port);
        let hosts: Vec<(Box<str>, u16)> = if shared.order == Order::Shoal {
            let weighed = shoal(shared, client, Menu::Squid, COUNT);
            weighed.iter().map(|weighed| host(&weighed.cache)).collect()
        } else {
            let snapshot = shared.shelf.load();
            let picks = self.pick(shared, &snapshot, client, None, Menu::Squid, COUNT);
            picks.iter().map(|pick| host(pick.cache)).collect()
        };
        let hosts = hosts.iter().map(|(name, port)| (&**name, *port));
        if correct {
            proxy_pac(&mut body, hosts);
        } else {
            wpad(&mut body, hosts);
        }
        Reply::new(PAC, body)
    }

    /// `/v1/nearest`.
    pub(super) fn nearest(&mut self, shared: &Shared, client: IpAddr, path: &str) -> Reply {
        let asked = match Query::parse(path) {
            Ok(asked) => asked,
            Err(fault) => return Reply::problem(400, "range", &fault.to_string()),
        };
        let snapshot = shared.shelf.load();
        snapshot.base.index.fetch(client.to_canonical());
        let spot = shared.geography.spot(asked.ip.unwrap_or(client));
        let mut body = Vec::with_capacity(self.usual);
        let sites = shared.sites.load();
        let picks = self.look(
            shared.order,
            &snapshot,
            Question {
                client,
                spot,
                count: asked.n,
                menu: asked.menu,
                cloud: asked.cloud.as_deref(),
                verified_only: shared.verified_only,
                sites: Some(&sites),
            },
        );
        let whom = v1::Client { ip: asked.ip.unwrap_or(client), spot };
        v1::nearest(&mut body, whom, snapshot.generation, &picks, shared.clock.now());
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

    fn pick<'a>(
        &mut self,
        shared: &Shared,
        snapshot: &'a Snapshot,
        client: IpAddr,
        cloud: Option<&str>,
        menu: Menu,
        count: usize,
    ) -> Vec<Pick<'a>> {
        snapshot.base.index.fetch(client.to_canonical());
        let spot: Option<Spot> = shared.geography.spot(client);
        let sites = shared.sites.load();
        let (verified_only, sites) = (shared.verified_only, Some(&**sites));
        let question = Question { client, spot, count, menu, cloud, verified_only, sites };
        self.look(shared.order, snapshot, question)
    }

    fn look<'a>(
        &mut self,
        order: Order,
        snapshot: &'a Snapshot,
        question: Question<'_>,
    ) -> Vec<Pick<'a>> {
        if order == Order::Distance {
            return distance_order(snapshot.caches(), &question);
        }
        let mut picks = Vec::with_capacity(question.count.min(MOST));
        self.looker.nearest(snapshot, &question, &mut self.random, &mut picks);
        picks
    }
}

/// The caches in the original's order; a client that cannot be located gets none.
fn shoal(shared: &Shared, client: IpAddr, menu: Menu, count: usize) -> Vec<Weighed> {
    let Some(spot) = shared.geography.spot(client) else { return Vec::new() };
    let snapshot = shared.shelf.load();
    let sites = shared.sites.load();
    let own = |cache: &Cache| sites.has(client, cache);
    shoal_order(snapshot.caches(), spot, menu, count, &Weighing::default(), own)
}

pub(super) fn is_known(header: Option<&HeaderValue>, etag: &str) -> bool {
    let header = header.and_then(|value| value.to_str().ok());
    header.is_some_and(|header| v1::none_match(header, etag))
}
