//! One cache of a cluster: what it holds, what of that is in memory, and how old its copies are.

use crate::admission::{Filter, Working};
use crate::capacity::{Capacity, Size};
use crate::eviction::{Node, Policy};
use crate::trace::{SizeTable, Trace};

use super::counts::NodeCounts;
use super::course::is_full;
use super::life::{Life, Version};
use super::{Cluster, ClusterError};

/// A node or a parent.
pub(super) struct Member<'a> {
    cache: Box<dyn Node + 'a>,
    capacity: u64,
    memory: Option<Box<dyn Node + 'a>>,
    filter: Option<Working>,
    /// What the filter is told of objects: their bytes, whatever the capacity is counted in.
    sizes: Option<&'a SizeTable>,
    /// When each object's copy came or was confirmed, and which version it is; empty without a
    /// life.
    copies: Vec<(u32, Version)>,
    gone: Vec<u32>,
    pub(super) counts: NodeCounts,
}

/// What a member has of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// A copy that is taken to be fresh; whether it is an old version all the same.
    Fresh { stale: bool },
    /// A copy that has to be confirmed.
    Expired(Version),
    /// Nothing.
    Absent,
}

/// The moment of a request, with what the origin has then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) at: usize,
    pub(super) object: u32,
    pub(super) second: u32,
    pub(super) version: Version,
}

impl<'a> Member<'a> {
    /// A member of a cluster with a policy and a size, which may be those of a parent.
    pub(super) fn new(
        trace: &'a Trace,
        cluster: &Cluster,
        (policy, size): (&Policy, &Size),
    ) -> Result<Self, ClusterError> {
        let capacity = size.of(trace)?;
        let objects = trace.distinct() as usize;
        let node = |policy: &Policy, capacity: Capacity| policy.node(trace, capacity);
        let memory = cluster
            .memory
            .as_ref()
            .map(|size| Ok::<_, ClusterError>((Policy::lru(), size.of(trace)?)));
        let memory = match memory.transpose()? {
            Some((lru, capacity)) => Some(node(&lru, capacity)?),
            None => None,
        };
        let filter = cluster.admission.map(|admission| Working::new(admission, objects));
        let sizes = trace.sizes();
        let copies = if cluster.life.is_some() { vec![(0, 0); objects] } else { Vec::new() };
        let (gone, counts) = (Vec::new(), NodeCounts::default());
        let cache = node(policy, capacity)?;
        let capacity = capacity.amount;
        Ok(Self { cache, capacity, memory, filter, sizes, copies, gone, counts })
    }

    /// What it has for a request that reaches it, which its policy notes.
    pub(super) fn look(&mut self, moment: &Moment, life: Option<&Life>) -> Held {
        if self.cache.hit(moment.at) { self.held(moment, life) } else { Held::Absent }
    }

    /// Whether it would answer a query with a hit: it holds a copy that is fresh.
    pub(super) fn offers(&self, moment: &Moment, life: Option<&Life>) -> bool {
        self.cache.contains(moment.object) && matches!(self.held(moment, life), Held::Fresh { .. })
    }

    fn held(&self, moment: &Moment, life: Option<&Life>) -> Held {
        let Some(life) = life else { return Held::Fresh { stale: false } };
        let (from, version) = self.copies[moment.object as usize];
        if life.is_fresh(moment.object, from, moment.second) {
            Held::Fresh { stale: version != moment.version }
        } else {
            Held::Expired(version)
        }
    }

    /// Whether it holds a copy at all.
    pub(super) fn contains(&self, object: u32) -> bool {
        self.cache.contains(object)
    }

    /// Whether the object is in memory, which is noted; it is from now on.
    pub(super) fn is_in_memory(&mut self, at: usize) -> bool {
        let Some(memory) = &mut self.memory else { return false };
        let inside = memory.hit(at);
        if !inside {
            self.gone.clear();
            memory.insert(at, &mut self.gone);
        }
        inside
    }

    /// Takes what has come, of the version that the origin has or a sibling gave, unless its filter
    /// refuses it.
    pub(super) fn store(&mut self, moment: &Moment, version: Version, from: u32) {
        if let Some(filter) = &mut self.filter {
            let size = self.sizes.map_or(1, |sizes| sizes.of(moment.object));
            if !filter.admits(moment.object, size, moment.at) {
                self.counts.refused += 1;
                return;
            }
        }
        self.gone.clear();
        self.cache.insert(moment.at, &mut self.gone);
        self.counts.evictions += self.gone.len() as u64;
        self.renew(moment.object, version, from);
        // What has just come through is in memory.
        self.is_in_memory(moment.at);
    }

    /// Whether its spool is as good as full.
    pub(super) fn is_full(&self) -> bool {
        is_full(self.cache.used(), self.capacity)
    }

    /// After the last request: what left at hits is counted.
    pub(super) fn settle(&mut self) {
        self.gone.clear();
        self.cache.settle(&mut self.gone);
        self.counts.evictions += self.gone.len() as u64;
    }

    /// Notes which version the copy is, and since when it is fresh: it came, or was confirmed.
    pub(super) fn renew(&mut self, object: u32, version: Version, from: u32) {
        if let Some(copy) = self.copies.get_mut(object as usize) {
            *copy = (from, version);
        }
    }

    /// Since when its copy is fresh, and which version it is.
    pub(super) fn copy(&self, object: u32) -> (u32, Version) {
        self.copies.get(object as usize).copied().unwrap_or((0, 0))
    }
}
