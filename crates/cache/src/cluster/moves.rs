//! How many objects move to another member when one joins or leaves: what a cluster loses by it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::protocol::carp::{Carp, CarpError, Variant};
use crate::trace::Trace;

use super::locate::write_url;
use super::spread::by_hash;
use super::{Architecture, Cluster, Protocol, Spread};

/// Shares of a trace's objects whose member changes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moves {
    /// One joins at the end of the list.
    pub joins_last: f64,
    /// One joins at its beginning.
    pub joins_first: f64,
    /// The last leaves.
    pub last_leaves: f64,
    /// The first leaves.
    pub first_leaves: f64,
}

impl Moves {
    /// What moves among the nodes of a cluster, and among its parents: `None` where objects are not
    /// spread over them by their names, or where there are not two.
    #[must_use]
    pub fn of(trace: &Trace, cluster: &Cluster) -> [Option<Self>; 2] {
        let by_object = cluster.spread == Spread::Hash && cluster.nodes > 1;
        let nodes = by_object.then(|| Self::by_hash(trace, cluster.nodes));
        let parents = match (cluster.protocol, cluster.architecture) {
            (Protocol::Carp(variant), Architecture::Hierarchy { parents, .. }) => {
                Self::by_carp(trace, parents, variant).ok()
            }
            _ => None,
        };
        [nodes, parents]
    }

    /// What moves among so many parents chosen by CARP, all of one weight.
    ///
    /// *Errors*: fewer than two members.
    pub fn by_carp(trace: &Trace, members: usize, variant: Variant) -> Result<Self, CarpError> {
        let names: Vec<String> = (0..=members + 1).map(|n| format!("parent{n}")).collect();
        let array = |range: Range<usize>| {
            let members: Vec<(&str, u32)> = names[range].iter().map(|n| (n.as_str(), 1)).collect();
            Carp::new(&members, variant)
        };
        let mut arrays = Vec::with_capacity(5);
        for range in around(members) {
            arrays.push((range.start, array(range)?));
        }
        let mut url = Vec::new();
        Ok(Self::count(trace, |object, member_of| {
            write_url(trace.names(), object, &mut url);
            for ((first, carp), member) in arrays.iter().zip(member_of) {
                *member = first + carp.choose(&url);
            }
        }))
    }

    /// What moves among so many nodes, at least two, each object's by its hash modulo their number.
    #[must_use]
    pub fn by_hash(trace: &Trace, members: usize) -> Self {
        let ranges = around(members);
        Self::count(trace, |object, member_of| {
            for (range, member) in ranges.iter().zip(member_of) {
                *member = range.start + by_hash(object, range.len());
            }
        })
    }

    /// Counts over all objects; `choose` says each one's member in every array of [`around`].
    fn count(trace: &Trace, mut choose: impl FnMut(u32, &mut [usize; 5])) -> Self {
        let mut moved = [0u64; 4];
        let mut member_of = [0; 5];
        for object in 0..trace.distinct() {
            choose(object, &mut member_of);
            let [stays, after @ ..] = member_of;
            for (moved, after) in moved.iter_mut().zip(after) {
                *moved += u64::from(after != stays);
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "objects are below 2^32")]
        let share = |moved: u64| moved as f64 / f64::from(trace.distinct().max(1));
        let [joins_last, joins_first, last_leaves, first_leaves] = moved.map(share);
        Self { joins_last, joins_first, last_leaves, first_leaves }
    }
}

/// The members there are, as numbers from 1, and those after each change of [`Moves`], in order.
fn around(members: usize) -> [Range<usize>; 5] {
    [1..members + 1, 1..members + 2, 0..members + 1, 1..members, 2..members + 1]
}
