//! How a node finds who holds what it does not: by asking, by digests, by a hash, or not at all;
//! and what that costs in messages and time.

use std::ops::Range;

use crate::mix::hash;
use crate::protocol::carp::Carp;
use crate::protocol::digest::{Digest, Key};
use crate::protocol::sizes;
use crate::trace::{Names, Trace};

use super::counts::Counts;
use super::life::Life;
use super::member::{Member, Moment};
use super::{Architecture, Cluster, ClusterError, Latency, Protocol};

/// Where a node fetches what it does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// From this sibling, which holds it.
    Sibling(usize),
    /// From this parent, by its place among all members.
    Parent(usize),
    /// From the origin.
    Origin,
}

/// Finds routes.
pub(super) struct Finder<'a> {
    trace: &'a Trace,
    nodes: usize,
    members: usize,
    siblings: bool,
    latency: Latency,
    how: How,
    url: Vec<u8>,
}

enum How {
    Blind,
    Ask { htcp: bool },
    Digests(Digests),
    Carp(Carp),
}

/// Headers of an HTCP hit: an age, and two dates. Squid 5.7 sends 95 bytes of them for an object
/// with `Expires` and `Last-Modified`.
const HTCP_HEADER_BYTES: u64 = 95;

impl<'a> Finder<'a> {
    pub(super) fn new(cluster: &Cluster, trace: &'a Trace) -> Result<Self, ClusterError> {
        let (parents, siblings) = match cluster.architecture {
            Architecture::Mesh => (0, true),
            Architecture::Hierarchy { parents, siblings } => (parents, siblings),
        };
        let how = match cluster.protocol {
            Protocol::None => How::Blind,
            Protocol::Icp => How::Ask { htcp: false },
            Protocol::Htcp => How::Ask { htcp: true },
            Protocol::Digest { bits_per_entry, every_s } => {
                How::Digests(Digests::new(bits_per_entry, every_s, trace)?)
            }
            Protocol::Carp(_) if parents == 0 => return Err(ClusterError::CarpInMesh),
            Protocol::Carp(variant) => {
                let names: Vec<String> = (1..=parents).map(|n| format!("parent{n}")).collect();
                let all: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
                How::Carp(Carp::new(&all, variant).map_err(|_| ClusterError::None("parent"))?)
            }
        };
        let (nodes, members) = (cluster.nodes, cluster.nodes + parents);
        let latency = cluster.latency;
        Ok(Self { trace, nodes, members, siblings, latency, how, url: Vec::new() })
    }

    /// Before a request: digests are made where it is time.
    pub(super) fn tick(&mut self, second: u32, members: &[Member<'_>], counts: &mut Counts) {
        let siblings = if self.siblings { self.nodes - 1 } else { 0 };
        let (nodes, all) = (self.nodes, self.members);
        if let How::Digests(digests) = &mut self.how {
            // A node's digest goes to its siblings, a parent's to every node.
            let readers = |member| if member < nodes { siblings } else { nodes };
            digests.tick(second, &members[..all], counts, readers);
        }
    }

    /// The route for what `home` does not hold, and the time that finding it takes, nanoseconds.
    pub(super) fn route(
        &mut self,
        home: usize,
        moment: &Moment,
        with: (&[Member<'_>], Option<&Life>),
        counts: &mut Counts,
    ) -> (Route, u64) {
        let siblings = if self.siblings { 0..self.nodes } else { 0..0 };
        self.route_over(siblings, home, moment, with, counts)
    }

    /// As [`Finder::route`], for a copy of `home` that has to be confirmed: over parents only.
    pub(super) fn route_to_confirm(
        &mut self,
        home: usize,
        moment: &Moment,
        with: (&[Member<'_>], Option<&Life>),
        counts: &mut Counts,
    ) -> (Route, u64) {
        self.route_over(0..0, home, moment, with, counts)
    }

    /// The route over these siblings and all parents.
    fn route_over(
        &mut self,
        siblings: Range<usize>,
        home: usize,
        moment: &Moment,
        (members, life): (&[Member<'_>], Option<&Life>),
        counts: &mut Counts,
    ) -> (Route, u64) {
        write_url(self.trace.names(), moment.object, &mut self.url);
        let asked = siblings.filter(|&node| node != home).chain(self.nodes..self.members);
        let offers = |&member: &usize| members[member].offers(moment, life);
        let turn = moment.at;
        match &self.how {
            How::Blind => (self.farther(turn), 0),
            How::Carp(carp) => (Route::Parent(self.nodes + carp.choose(&self.url)), 0),
            How::Ask { htcp } => {
                let asked: Vec<usize> = asked.collect();
                let holders: Vec<usize> = asked.iter().copied().filter(offers).collect();
                self.charge(*htcp, asked.len() as u64, holders.len() as u64, counts);
                match self.nearest(&holders, moment) {
                    Some(holder) => (self.to(holder), self.first_ns(holder)),
                    // Only when all have said no is it known that none has it.
                    None => {
                        let wait = asked.iter().map(|&member| self.first_ns(member)).max();
                        (self.farther(turn), wait.unwrap_or(0))
                    }
                }
            }
            How::Digests(digests) => {
                let key = digests.keys[moment.object as usize];
                let asked: Vec<usize> = asked.collect();
                let said = asked.iter().copied().filter(|&member| digests.says(member, key));
                let said: Vec<usize> = said.collect();
                match self.nearest(&said, moment) {
                    Some(holder) if offers(&holder) => (self.to(holder), 0),
                    Some(wrong) => {
                        counts.false_hits += 1;
                        match self.to(wrong) {
                            // A parent fetches what it has not.
                            Route::Parent(parent) => (Route::Parent(parent), 0),
                            _ => (self.farther(turn), self.first_ns(wrong)),
                        }
                    }
                    None => {
                        counts.missed_chances += u64::from(asked.iter().any(offers));
                        (self.farther(turn), 0)
                    }
                }
            }
        }
    }

    fn to(&self, member: usize) -> Route {
        if member < self.nodes { Route::Sibling(member) } else { Route::Parent(member) }
    }

    /// Where none is known to hold it: the parents in turn, or the origin.
    fn farther(&self, turn: usize) -> Route {
        match self.members - self.nodes {
            0 => Route::Origin,
            parents => Route::Parent(self.nodes + turn % parents),
        }
    }

    fn first_ns(&self, member: usize) -> u64 {
        let leg = if member < self.nodes { self.latency.sibling } else { self.latency.parent };
        leg.first_ns
    }

    /// The nearest of some; among several as near, one by the request.
    fn nearest(&self, members: &[usize], moment: &Moment) -> Option<usize> {
        let least = members.iter().map(|&member| self.first_ns(member)).min()?;
        let near: Vec<usize> =
            members.iter().copied().filter(|&member| self.first_ns(member) == least).collect();
        let drawn = hash(moment.at as u64 + 1) % near.len() as u64;
        usize::try_from(drawn).ok().and_then(|drawn| near.get(drawn).copied())
    }

    fn charge(&self, htcp: bool, asked: u64, hits: u64, counts: &mut Counts) {
        let url = self.url.len() as u64;
        let (query, hit, miss) = if htcp {
            let query = sizes::htcp_query(3, url, 3, 0);
            (query, sizes::htcp_hit(HTCP_HEADER_BYTES), sizes::htcp_miss())
        } else {
            (sizes::icp_query(url), sizes::icp_answer(url), sizes::icp_answer(url))
        };
        counts.messages.queries += asked;
        counts.messages.answers += asked;
        counts.messages.bytes += asked * query + hits * hit + (asked - hits) * miss;
    }
}

/// Digests of all members as they were when they were last made.
struct Digests {
    bits_per_entry: u8,
    every_s: u32,
    made_s: Option<u32>,
    of: Vec<Option<Digest>>,
    keys: Vec<Key>,
}

impl Digests {
    fn new(bits_per_entry: u8, every_s: u32, trace: &Trace) -> Result<Self, ClusterError> {
        if !(1..=64).contains(&bits_per_entry) || every_s == 0 {
            let found = format!("{bits_per_entry} bits every {every_s} s");
            return Err(ClusterError::Digest(found));
        }
        let mut url = Vec::new();
        let key = |object| {
            write_url(trace.names(), object, &mut url);
            Key::of(&url)
        };
        let keys = (0..trace.distinct()).map(key).collect();
        Ok(Self { bits_per_entry, every_s, made_s: None, of: Vec::new(), keys })
    }

    fn says(&self, member: usize, key: Key) -> bool {
        let digest = self.of.get(member).and_then(Option::as_ref);
        digest.is_some_and(|digest| digest.contains(key))
    }

    /// Makes the digests where the interval is over; each goes to its readers.
    fn tick(
        &mut self,
        second: u32,
        members: &[Member<'_>],
        counts: &mut Counts,
        readers: impl Fn(usize) -> usize,
    ) {
        if self.made_s.is_some_and(|made| second.saturating_sub(made) < self.every_s) {
            return;
        }
        self.made_s = Some(second);
        self.of.clear();
        for (number, member) in members.iter().enumerate() {
            let readers = readers(number) as u64;
            let digest = if readers > 0 { self.digest(member) } else { None };
            if let Some(digest) = &digest {
                let bytes = sizes::digest_document(digest.capacity(), self.bits_per_entry);
                counts.messages.digests += readers;
                counts.messages.bytes += readers * bytes;
            }
            self.of.push(digest);
        }
    }

    /// Sized for what the member holds, as Squid does, and at least for one entry.
    fn digest(&self, member: &Member<'_>) -> Option<Digest> {
        let held = || (0u32..).zip(&self.keys).filter(|(object, _)| member.contains(*object));
        let capacity = u32::try_from(held().count().max(1)).ok()?;
        let mut digest = Digest::new(capacity, self.bits_per_entry).ok()?;
        held().for_each(|(_, &key)| digest.insert(key));
        Some(digest)
    }
}

/// The URL of an object: its name, or one made of its number.
pub(super) fn write_url(names: &Names, object: u32, url: &mut Vec<u8>) {
    url.clear();
    match names {
        Names::Numbers(numbers) => {
            url.extend_from_slice(b"http://origin/");
            url.extend_from_slice(numbers[object as usize].to_string().as_bytes());
        }
        Names::Text { .. } => url.extend_from_slice(names.text(object).unwrap_or_default()),
    }
}
