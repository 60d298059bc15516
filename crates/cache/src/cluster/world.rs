//! The course of a request through a cluster, and of a trace.

use crate::size_class::{SizeClasses, Tally};
use crate::trace::{SizeTable, Trace};

use super::counts::{Counts, NodeCounts, Source};
use super::course::{Full, Part, Recorder, Totals};
use super::life::Version;
use super::locate::{Finder, Route};
use super::member::{Held, Member, Moment};
use super::spread::Spreading;
use super::{Architecture, Cluster, ClusterError, MOST_MEMBERS, Protocol};

/// Replays a trace through a cluster.
///
/// `step` is asked from time to time whether to go on; `None` where it said no.
///
/// *Errors*: see [`ClusterError`]; nothing is replayed then.
///
/// *Cost*: a request that its node holds costs what it costs a single cache; a miss looks at every
/// member that is asked. Digests look at every object at each making.
pub fn simulate(
    trace: &Trace,
    cluster: &Cluster,
    step: &dyn Fn() -> bool,
) -> Result<Option<Counts>, ClusterError> {
    check(trace, cluster)?;
    let classes = if cluster.by_size { SizeClasses::new(trace) } else { None };
    let mut world = World::new(trace, cluster, classes.as_ref().map(Tally::new))?;
    let parts = cluster.parts.max(1);
    let mut recorder = Recorder::new(world.members.len());
    let mut from = 0;
    for part in 1..=parts {
        // In 128 bits: requests times parts may be more than 64 hold.
        let to = trace.len() as u128 * part as u128 / parts as u128;
        let to = usize::try_from(to).unwrap_or(trace.len());
        for at in from..to {
            world.serve(at);
        }
        from = to;
        recorder.end_part(world.parts());
        if !step() {
            return Ok(None);
        }
    }
    Ok(Some(world.finish(recorder)))
}

fn check(trace: &Trace, cluster: &Cluster) -> Result<(), ClusterError> {
    let parents = match cluster.architecture {
        Architecture::Mesh => None,
        Architecture::Hierarchy { parents, .. } => Some(parents),
    };
    if cluster.nodes == 0 {
        return Err(ClusterError::None("node"));
    }
    if parents == Some(0) {
        return Err(ClusterError::None("parent"));
    }
    let members = cluster.nodes.saturating_add(parents.unwrap_or(0));
    if members > MOST_MEMBERS {
        return Err(ClusterError::TooMany(members));
    }
    if let Some(admission) = cluster.admission {
        admission.check(trace)?;
    }
    let policies = [Some(&cluster.policy), cluster.parent.as_ref().map(|(policy, _)| policy)];
    if let Some(policy) = policies.into_iter().flatten().find(|policy| policy.kind.needs.next) {
        return Err(ClusterError::Future(policy.text.clone()));
    }
    let needs_seconds = |policy: &&crate::eviction::Policy| policy.kind.needs.seconds;
    let needs = match cluster.protocol {
        Protocol::Digest { .. } => Some("digests"),
        _ if cluster.life.is_some() => Some("objects that change"),
        _ if policies.into_iter().flatten().any(|policy| needs_seconds(&policy)) => {
            Some("a policy with a clock")
        }
        _ => None,
    };
    match needs {
        Some(what) if trace.seconds().is_none() => Err(ClusterError::NoTimes(what)),
        _ => cluster.life.as_ref().map_or(Ok(()), |life| life.check(trace)),
    }
}

struct World<'a> {
    trace: &'a Trace,
    cluster: &'a Cluster,
    spreading: Spreading<'a>,
    finder: Finder<'a>,
    /// Nodes, then parents.
    members: Vec<Member<'a>>,
    /// How many of them have not been full yet.
    filling: usize,
    counts: Counts,
    tally: Option<Tally<'a>>,
}

/// What came back for a request: from where, after how long, and which version.
struct Answer {
    source: Source,
    ns: u64,
    copy: (u32, Version),
    keep: bool,
}

/// What became of the copy that a member held.
enum Freshened {
    /// It may be served as it stands, after what asking for it took, nanoseconds.
    Kept { ns: u64 },
    /// A new version came in its place.
    Replaced { source: Source, ns: u64 },
}

impl<'a> World<'a> {
    fn new(
        trace: &'a Trace,
        cluster: &'a Cluster,
        tally: Option<Tally<'a>>,
    ) -> Result<Self, ClusterError> {
        let parents = match cluster.architecture {
            Architecture::Mesh => 0,
            Architecture::Hierarchy { parents, .. } => parents,
        };
        let mut members = Vec::with_capacity(cluster.nodes + parents);
        let own = (&cluster.policy, &cluster.size);
        for _ in 0..cluster.nodes {
            members.push(Member::new(trace, cluster, own)?);
        }
        let of_parents = cluster.parent.as_ref().map_or(own, |(policy, size)| (policy, size));
        for _ in 0..parents {
            members.push(Member::new(trace, cluster, of_parents)?);
        }
        Ok(Self {
            trace,
            cluster,
            spreading: Spreading::new(cluster.spread, cluster.nodes, trace)?,
            finder: Finder::new(cluster, trace)?,
            filling: members.len(),
            members,
            counts: Counts::default(),
            tally,
        })
    }

    fn bytes(&self, object: u32) -> u64 {
        self.trace.sizes().map_or(1, |sizes: &SizeTable| sizes.of(object))
    }

    /// One request of a client.
    fn serve(&mut self, at: usize) {
        let object = self.trace.requests()[at];
        let second = self.trace.seconds().map_or(0, |seconds| seconds[at]);
        let version = self.cluster.life.as_ref().map_or(0, |life| life.version(object, second));
        let moment = Moment { at, object, second, version };
        self.finder.tick(second, &self.members, &mut self.counts);
        let home = self.spreading.node(at, object);
        let bytes = self.bytes(object);
        let (source, ns) = match self.own(home, &moment, bytes) {
            Some(answer) => answer,
            None => self.fetch(home, &moment, bytes),
        };
        self.counts.answered(source, bytes);
        self.counts.response_ns.record(ns);
        self.count_origin(home, source, bytes);
        if let (Source::Origin, Some(tally)) = (source, &mut self.tally) {
            tally.missed(object);
        }
        if self.filling == 0 && self.counts.full.is_none() {
            self.become_steady(&moment);
        }
    }

    fn count_origin(&mut self, number: usize, source: Source, bytes: u64) {
        if source == Source::Origin {
            let counts = &mut self.members[number].counts;
            counts.origin += 1;
            counts.origin_bytes += bytes;
        }
    }

    /// A member keeps what has come, and may be full by it.
    fn store(&mut self, number: usize, moment: &Moment, (from, version): (u32, Version)) {
        let member = &mut self.members[number];
        member.store(moment, version, from);
        if member.counts.full.is_none() && member.is_full() {
            member.counts.full = Some(full(self.trace, moment));
            self.filling -= 1;
        }
    }

    /// All members have been full: what follows is counted apart. Until the end, `steady` is what
    /// was before it.
    fn become_steady(&mut self, moment: &Moment) {
        self.counts.full = Some(full(self.trace, moment));
        self.counts.steady = Some(Totals::of(&self.counts));
        for member in &mut self.members {
            member.counts.steady = Some(Part::of_member(&member.counts));
        }
    }

    /// What the cluster and each member have done until now.
    fn parts(&self) -> impl Iterator<Item = Part> {
        let members = self.members.iter().map(|member| Part::of_member(&member.counts));
        std::iter::once(Part::of_cluster(&self.counts)).chain(members)
    }

    /// What a member answers from what it holds, and its time; `None` where it holds nothing.
    fn own(&mut self, number: usize, moment: &Moment, bytes: u64) -> Option<(Source, u64)> {
        Some(match self.freshened(number, moment, bytes)? {
            Freshened::Kept { ns } => {
                let (source, reading_ns) = self.read(number, moment, bytes);
                (source, ns + reading_ns)
            }
            Freshened::Replaced { source, ns } => (source, ns),
        })
    }

    /// Looks for a member's copy, and has it confirmed where it is no longer fresh; `None` where
    /// the member holds nothing.
    fn freshened(&mut self, number: usize, moment: &Moment, bytes: u64) -> Option<Freshened> {
        let member = &mut self.members[number];
        member.counts.requests += 1;
        member.counts.requested_bytes += bytes;
        let freshened = match member.look(moment, self.cluster.life.as_ref()) {
            Held::Absent => return None,
            Held::Fresh { stale } => {
                self.counts.stale_hits += u64::from(stale);
                Freshened::Kept { ns: 0 }
            }
            Held::Expired(version) => self.confirm(number, version, moment, bytes),
        };
        if let Freshened::Kept { .. } = freshened {
            let counts = &mut self.members[number].counts;
            counts.hits += 1;
            counts.hit_bytes += bytes;
        }
        Some(freshened)
    }

    /// A copy that is no longer fresh is asked for with a condition, on the way that a miss takes:
    /// of a node through a parent, where there is one, else at the origin. Siblings are not asked,
    /// as Squid does not ask them for what it refreshes.
    fn confirm(&mut self, number: usize, held: Version, moment: &Moment, bytes: u64) -> Freshened {
        let is_node = number < self.cluster.nodes;
        let (answer, finding_ns) = if is_node && self.members.len() > self.cluster.nodes {
            let with = (self.members.as_slice(), self.cluster.life.as_ref());
            match self.finder.route_to_confirm(number, moment, with, &mut self.counts) {
                (Route::Parent(parent), ns) => {
                    (self.confirm_at_parent(parent, held, moment, bytes), ns)
                }
                (_, ns) => (self.confirm_at_origin(held, moment, bytes), ns),
            }
        } else {
            (self.confirm_at_origin(held, moment, bytes), 0)
        };
        let (from, version) = answer.copy;
        self.members[number].renew(moment.object, version, from);
        let ns = finding_ns + answer.ns;
        if version == held {
            self.counts.confirmed += 1;
            return Freshened::Kept { ns };
        }
        self.counts.changed += 1;
        self.members[number].is_in_memory(moment.at);
        Freshened::Replaced { source: answer.source, ns }
    }

    /// The origin says that a version is still its own, or sends the new one.
    fn confirm_at_origin(&self, held: Version, moment: &Moment, bytes: u64) -> Answer {
        let answer = self.ask_origin(moment, bytes);
        if held == moment.version {
            return Answer { ns: self.cluster.latency.origin.first_ns, ..answer };
        }
        answer
    }

    /// A parent says that a version is no older than its own, which it first has confirmed itself
    /// where that is not fresh; or it sends its own. What it does not hold it asks the origin for,
    /// and keeps what comes; where nothing but a confirmation comes, it holds nothing still.
    fn confirm_at_parent(
        &mut self,
        parent: usize,
        held: Version,
        moment: &Moment,
        bytes: u64,
    ) -> Answer {
        let way = self.cluster.latency.parent;
        let Some(freshened) = self.freshened(parent, moment, bytes) else {
            let answer = self.confirm_at_origin(held, moment, bytes);
            if answer.copy.1 == held {
                self.count_origin(parent, Source::Origin, 0);
                return Answer { ns: answer.ns + way.first_ns, ..answer };
            }
            self.count_origin(parent, Source::Origin, bytes);
            self.store(parent, moment, answer.copy);
            return Answer { ns: answer.ns + way.ns(bytes), ..answer };
        };
        let (from, version) = self.members[parent].copy(moment.object);
        let (source, ns) = match freshened {
            Freshened::Kept { ns } => (Source::Parent, ns),
            Freshened::Replaced { source, ns } => {
                self.count_origin(parent, source, bytes);
                (source, ns)
            }
        };
        if version <= held {
            return Answer { source, ns: ns + way.first_ns, copy: (from, held), keep: true };
        }
        let reading_ns = match source {
            Source::Parent => self.read(parent, moment, bytes).1,
            _ => 0,
        };
        let ns = ns + reading_ns + way.ns(bytes);
        Answer { source, ns, copy: (from, version), keep: true }
    }

    /// The time of reading from a member's own memory or disk.
    fn read(&mut self, number: usize, moment: &Moment, bytes: u64) -> (Source, u64) {
        let latency = &self.cluster.latency;
        if self.members[number].is_in_memory(moment.at) {
            (Source::Memory, latency.memory.ns(bytes))
        } else {
            (Source::Disk, latency.disk.ns(bytes))
        }
    }

    /// What a node does not hold comes from where the protocol says, and is kept.
    fn fetch(&mut self, home: usize, moment: &Moment, bytes: u64) -> (Source, u64) {
        let with = (self.members.as_slice(), self.cluster.life.as_ref());
        let (route, finding_ns) = self.finder.route(home, moment, with, &mut self.counts);
        let answer = match route {
            Route::Sibling(sibling) => self.ask_sibling(sibling, moment, bytes),
            Route::Parent(parent) => self.ask_parent(parent, moment, bytes),
            Route::Origin => self.ask_origin(moment, bytes),
        };
        if answer.keep {
            self.store(home, moment, answer.copy);
        }
        (answer.source, finding_ns + answer.ns)
    }

    fn ask_origin(&self, moment: &Moment, bytes: u64) -> Answer {
        let ns = self.cluster.latency.origin.ns(bytes);
        let copy = (moment.second, moment.version);
        Answer { source: Source::Origin, ns, copy, keep: true }
    }

    /// A sibling holds it: that was asked just now, or a digest said so and it was true.
    fn ask_sibling(&mut self, sibling: usize, moment: &Moment, bytes: u64) -> Answer {
        let member = &mut self.members[sibling];
        if let Held::Fresh { stale: true } = member.look(moment, self.cluster.life.as_ref()) {
            self.counts.stale_hits += 1;
        }
        member.counts.given += 1;
        let copy = member.copy(moment.object);
        let (_, reading_ns) = self.read(sibling, moment, bytes);
        let ns = self.cluster.latency.sibling.ns(bytes) + reading_ns;
        Answer { source: Source::Sibling, ns, copy, keep: self.cluster.keeps_siblings }
    }

    /// A parent gives what it holds, and fetches the rest from the origin.
    fn ask_parent(&mut self, parent: usize, moment: &Moment, bytes: u64) -> Answer {
        let way_ns = self.cluster.latency.parent.ns(bytes);
        if let Some((source, ns)) = self.own(parent, moment, bytes) {
            self.count_origin(parent, source, bytes);
            let source = if source == Source::Origin { source } else { Source::Parent };
            let copy = self.members[parent].copy(moment.object);
            return Answer { source, ns: way_ns + ns, copy, keep: true };
        }
        let answer = self.ask_origin(moment, bytes);
        self.count_origin(parent, answer.source, bytes);
        self.store(parent, moment, answer.copy);
        Answer { ns: way_ns + answer.ns, ..answer }
    }

    /// What is held at the end, and how often more than once; and what came since all were full.
    fn finish(mut self, recorder: Recorder) -> Counts {
        let nodes = self.cluster.nodes;
        self.members.iter_mut().for_each(Member::settle);
        for object in 0..self.trace.distinct() {
            let mut copies = 0u64;
            for (number, member) in self.members.iter_mut().enumerate() {
                let held = member.contains(object);
                member.counts.held += u64::from(held);
                copies += u64::from(held && number < nodes);
            }
            let beyond = copies.saturating_sub(1);
            self.counts.duplicates += beyond;
            self.counts.duplicate_bytes += beyond * self.bytes(object);
        }
        let steady = |counts: NodeCounts| {
            counts.steady.map(|before| Part::of_member(&counts).since(&before))
        };
        let counts = self.members.iter().map(|member| member.counts);
        let all: Vec<_> = counts.map(|of| NodeCounts { steady: steady(of), ..of }).collect();
        self.counts.nodes = all[..nodes].to_vec();
        self.counts.parents = all[nodes..].to_vec();
        self.counts.by_size = self.tally.map_or_else(Vec::new, Tally::into_classes);
        let totals = Totals::of(&self.counts);
        self.counts.steady = self.counts.steady.map(|before| totals.since(&before));
        self.counts.courses = recorder.courses(nodes);
        let course = self.counts.courses.cluster.iter().map(|part| (part.requests, part.origin));
        self.counts.course = course.collect();
        self.counts
    }
}

fn full(trace: &Trace, moment: &Moment) -> Full {
    Full { request: moment.at, second: trace.seconds().map(|_| moment.second) }
}
