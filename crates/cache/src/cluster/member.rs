//! One cache of a cluster: what it holds, what of that is in memory, and how old its copies are.

use crate::capacity::{Capacity, Size};
use crate::eviction::{Node, Policy};
use crate::trace::Trace;

use super::ClusterError;
use super::counts::NodeCounts;
use super::life::{Life, Version};

/// A node or a parent.
pub(super) struct Member<'a> {
    cache: Box<dyn Node + 'a>,
    memory: Option<Box<dyn Node + 'a>>,
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
    pub(super) fn new(
        trace: &'a Trace,
        policy: &Policy,
        size: &Size,
        memory: Option<&Size>,
        life: bool,
    ) -> Result<Self, ClusterError> {
        let capacity = size.of(trace)?;
        let node = |policy: &Policy, capacity: Capacity| policy.node(trace, capacity);
        let memory = memory.map(|size| Ok::<_, ClusterError>((Policy::lru(), size.of(trace)?)));
        let memory = match memory.transpose()? {
            Some((lru, capacity)) => Some(node(&lru, capacity)?),
            None => None,
        };
        let copies = if life { vec![(0, 0); trace.distinct() as usize] } else { Vec::new() };
        let counts = NodeCounts::default();
        Ok(Self { cache: node(policy, capacity)?, memory, copies, gone: Vec::new(), counts })
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
        if life.is_fresh(from, moment.second) {
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

    /// Takes what has come, of the version that the origin has or a sibling gave.
    pub(super) fn store(&mut self, moment: &Moment, version: Version, from: u32) {
        self.gone.clear();
        self.cache.insert(moment.at, &mut self.gone);
        self.counts.evictions += self.gone.len() as u64;
        self.note(moment.object, version, from);
        // What has just come through is in memory.
        self.is_in_memory(moment.at);
    }

    /// After the last request: what left at hits is counted.
    pub(super) fn settle(&mut self) {
        self.gone.clear();
        self.cache.settle(&mut self.gone);
        self.counts.evictions += self.gone.len() as u64;
    }

    /// Notes that the copy was confirmed or replaced where it stands.
    pub(super) fn confirm(&mut self, moment: &Moment) {
        self.note(moment.object, moment.version, moment.second);
    }

    fn note(&mut self, object: u32, version: Version, from: u32) {
        if let Some(copy) = self.copies.get_mut(object as usize) {
            *copy = (from, version);
        }
    }

    /// Since when its copy is fresh, and which version it is.
    pub(super) fn copy(&self, object: u32) -> (u32, Version) {
        self.copies.get(object as usize).copied().unwrap_or((0, 0))
    }
}
