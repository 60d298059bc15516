//! Members by kind and upstream, a tree for each of the six pairs that has any.

use std::sync::Arc;

use super::tree::Tree;
use crate::geo::Point;
use crate::heartbeat::{Kind, Upstream};
use crate::order::Menu;
use crate::registry::Cache;

/// Trees of the pairs of kind and upstream that have members.
#[derive(Debug, Default)]
pub(crate) struct Forest {
    trees: Vec<(Kind, Upstream, Tree)>,
}

/// Those that can be located, and those that cannot.
type Group = (Vec<(Point, u32)>, Vec<u32>);

/// The most trees of a forest.
pub(crate) const GROUPS: usize = 6;

impl Forest {
    /// Of these members, by their positions.
    pub(crate) fn new(caches: &[Arc<Cache>], members: impl Iterator<Item = u32>) -> Self {
        let mut groups: [Group; GROUPS] = Default::default();
        for member in members {
            let cache = &caches[member as usize];
            let (located, unlocated) = &mut groups[group(cache.kind, cache.upstream)];
            match point(cache) {
                Some(point) => located.push((point, member)),
                None => unlocated.push(member),
            }
        }
        let mut trees = Vec::new();
        for (at, (located, unlocated)) in groups.into_iter().enumerate() {
            if !(located.is_empty() && unlocated.is_empty()) {
                let (kind, upstream) = pair(at);
                trees.push((kind, upstream, Tree::new(caches, located, &unlocated)));
            }
        }
        Self { trees }
    }

    /// Lets go of so many members at most; false if there were none.
    pub(crate) fn let_go(&mut self, most: usize) -> bool {
        self.trees.iter_mut().any(|(_, _, tree)| tree.let_go(most))
    }

    /// The trees of a menu.
    pub(crate) fn of(&self, menu: Menu) -> impl Iterator<Item = &Tree> {
        let wanted =
            move |&&(kind, upstream, _): &&(Kind, Upstream, Tree)| menu.has(kind, upstream);
        self.trees.iter().filter(wanted).map(|(_, _, tree)| tree)
    }
}

/// A cache whose place is no place on the globe counts as one that cannot be located.
fn point(cache: &Cache) -> Option<Point> {
    let (latitude, longitude) = cache.coordinates()?;
    let sound = latitude.abs() <= 90.0 && longitude.is_finite();
    sound.then(|| Point::new(latitude, longitude))
}

const KINDS: [Kind; 2] = [Kind::Squid, Kind::Varnish];
const UPSTREAMS: [Upstream; 3] = [Upstream::Both, Upstream::Cvmfs, Upstream::Frontier];

fn group(kind: Kind, upstream: Upstream) -> usize {
    kind as usize * UPSTREAMS.len() + upstream as usize
}

fn pair(group: usize) -> (Kind, Upstream) {
    (KINDS[group / UPSTREAMS.len()], UPSTREAMS[group % UPSTREAMS.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pair_has_its_group() {
        for at in 0..GROUPS {
            let (kind, upstream) = pair(at);
            assert_eq!(group(kind, upstream), at);
        }
    }
}
