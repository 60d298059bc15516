//! A static tree over places on the unit sphere, in one array.
//!
//! A balanced k-d tree (J. L. Bentley, "Multidimensional binary search trees used for associative
//! searching", CACM 18(9), 1975) without pointers: the nodes of depth d cut the array into 2^d
//! ranges of equal length, so that whatever lies within a node is one range, to be counted and
//! drawn from without being looked at. Equal places cannot unbalance it, for the cut is by rank.
//! Nodes know the box around their members, children side by side in one cache line.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::band::Ends;
use crate::geo::Point;
use crate::prefetch::fetch;
use crate::registry::Cache;
use crate::registry::glance::Seat;

/// The most members of a leaf.
pub(crate) const LEAF: usize = 16;

/// Members of one kind and upstream.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Members; those that cannot be located come last.
    lots: Vec<Lot>,
    /// How many can be located.
    located: usize,
    /// Boxes of the children of the inner nodes, by depth and then by place in it.
    boxes: Box<[Pair]>,
    /// Of the leaves.
    depth: u32,
    /// Members found to be dead, which none that died ceases to be: a look-up passes over 64 of
    /// them at once, until a tree without them is built.
    gone: Box<[AtomicU64]>,
}

/// Coordinates of a member, if it can be located, its seat, and the member itself: side by side,
/// for a draw asks for these and for nothing else, and what it asks is cold.
#[derive(Debug)]
#[repr(align(32))]
struct Lot {
    xyz: [f32; 3],
    seat: Seat,
    cache: Arc<Cache>,
}

/// A node: the `place`th of its depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) depth: u32,
    pub(crate) place: u32,
}

/// The boxes of two children: along each axis, what is lowest and highest of the one and the other.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Pair {
    low: [[f32; 2]; 3],
    high: [[f32; 2]; 3],
}

impl Pair {
    fn new([one, other]: [Bounds; 2]) -> Self {
        let both = |one: [f32; 3], other: [f32; 3]| [0, 1, 2].map(|axis| [one[axis], other[axis]]);
        Self { low: both(one.low, other.low), high: both(one.high, other.high) }
    }

    /// The bands of the nearest points of both boxes, then of the furthest.
    ///
    /// Apart, so that all of it is done in vectors of four: among other code the compiler takes
    /// them to pieces.
    #[inline(never)]
    fn bands(&self, from: Point, ends: &Ends) -> [u32; 4] {
        ends.bands(self.squares(from))
    }

    /// Square distances of the nearest points of both boxes, then of the furthest.
    ///
    /// Which of two numbers is more is asked as machines compare them; none is NaN.
    #[inline]
    fn squares(&self, from: Point) -> [f32; 4] {
        let mut squares = [0.0; 4];
        for axis in 0..3 {
            for side in 0..2 {
                let below = self.low[axis][side] - from.xyz[axis];
                let above = from.xyz[axis] - self.high[axis][side];
                let out = if below > above { below } else { above };
                let out = if out > 0.0 { out } else { 0.0 };
                // The further side is out of sight of the nearer one: it is as far as the lesser
                // of the two says, which is negative then.
                let across = if below < above { below } else { above };
                squares[side] += out * out;
                squares[2 + side] += across * across;
            }
        }
        squares
    }
}

/// The box around some members.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    low: [f32; 3],
    high: [f32; 3],
}

impl Bounds {
    fn of(points: &[(Point, u32)]) -> Self {
        let mut bounds = Self { low: [0.0; 3], high: [0.0; 3] };
        for axis in 0..3 {
            let along = points.iter().map(|(point, _)| point.xyz[axis]);
            bounds.low[axis] = along.clone().fold(f32::INFINITY, f32::min);
            bounds.high[axis] = along.fold(f32::NEG_INFINITY, f32::max);
        }
        bounds
    }

    fn widest(self) -> usize {
        let width = |axis: usize| self.high[axis] - self.low[axis];
        (0..3).max_by(|&a, &b| width(a).total_cmp(&width(b))).unwrap_or(0)
    }
}

impl Lot {
    #[inline]
    fn square(&self, from: Point) -> f32 {
        let [x, y, z] = self.xyz;
        let (dx, dy, dz) = (x - from.xyz[0], y - from.xyz[1], z - from.xyz[2]);
        dx * dx + dy * dy + dz * dz
    }
}

impl Tree {
    /// Of members by their place and those without one, all by their position.
    pub(crate) fn new(
        caches: &[Arc<Cache>],
        mut located: Vec<(Point, u32)>,
        unlocated: &[u32],
    ) -> Self {
        let mut depth = 0;
        while located.len() > LEAF << depth {
            depth += 1;
        }
        let mut boxes = vec![Pair::default(); (1 << depth) - 1];
        let whole = located.len();
        if depth > 0 {
            let bounds = Bounds::of(&located);
            split(&mut located, whole, Node { depth: 0, place: 0 }, depth, bounds, &mut boxes);
        }
        let order = located.iter().map(|&(_, member)| member).chain(unlocated.iter().copied());
        let places = located.iter().map(|(point, _)| point.xyz).chain(std::iter::repeat([0.0; 3]));
        let lot = |(xyz, member): ([f32; 3], u32)| {
            let cache = Arc::clone(&caches[member as usize]);
            Lot { xyz, seat: cache.seat(), cache }
        };
        let lots: Vec<Lot> = places.zip(order).map(lot).collect();
        let gone = (0..lots.len().div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { lots, located: located.len(), boxes: boxes.into(), depth, gone }
    }

    /// Members, located or not.
    pub(crate) fn len(&self) -> usize {
        self.lots.len()
    }

    /// Members that can be located: the first of all.
    pub(crate) fn located(&self) -> usize {
        self.located
    }

    /// The `at`th member of this tree.
    #[inline]
    pub(crate) fn cache(&self, at: usize) -> &Arc<Cache> {
        &self.lots[at].cache
    }

    /// Lets go of so many members at most; false if there were none. It is of no use after that.
    pub(crate) fn let_go(&mut self, most: usize) -> bool {
        let had_some = !self.lots.is_empty();
        self.lots.truncate(self.lots.len().saturating_sub(most));
        had_some
    }

    /// The seat of the `at`th of this tree.
    #[inline]
    pub(crate) fn seat(&self, at: usize) -> Seat {
        self.lots[at].seat
    }

    /// Where the members of a node are.
    #[inline]
    pub(crate) fn range(&self, node: Node) -> (usize, usize) {
        ends_of(self.located(), node)
    }

    pub(crate) fn is_leaf(&self, node: Node) -> bool {
        node.depth == self.depth
    }

    /// The children of an inner node, each with the nearest and the furthest band of its members.
    #[inline]
    pub(crate) fn children(&self, node: Node, from: Point, ends: &Ends) -> [(Node, u32, u32); 2] {
        let pair = &self.boxes[(1 << node.depth) - 1 + node.place as usize];
        let [left_near, right_near, left_far, right_far] = pair.bands(from, ends);
        let left = Node { depth: node.depth + 1, place: 2 * node.place };
        let right = Node { place: left.place + 1, ..left };
        [(left, left_near, left_far), (right, right_near, right_far)]
    }

    /// Has what is known of a node's children fetched, where it has some.
    #[inline]
    pub(crate) fn fetch_children(&self, node: Node) {
        self.boxes.get((1 << node.depth) - 1 + node.place as usize).into_iter().for_each(fetch);
    }

    /// Has what is asked of the `at`th member fetched.
    #[inline]
    pub(crate) fn fetch(&self, at: usize) {
        fetch(&self.lots[at]);
    }

    /// The square chord from a point to the `at`th located member.
    #[inline]
    pub(crate) fn square(&self, at: usize, from: Point) -> f32 {
        self.lots[at].square(from)
    }

    /// Square chords from a point to the members of a leaf, which begins at `start`.
    #[inline]
    pub(crate) fn squares(&self, start: usize, end: usize, from: Point, out: &mut [f32; LEAF]) {
        for (out, lot) in out.iter_mut().zip(&self.lots[start..end]) {
            *out = lot.square(from);
        }
    }

    /// Notes that a member is dead, for good.
    pub(crate) fn bury(&self, at: usize) {
        self.gone[at / 64].fetch_or(1 << (at % 64), Relaxed);
    }

    /// Whether a member is known to be dead.
    #[inline]
    pub(crate) fn is_gone(&self, at: usize) -> bool {
        self.gone[at / 64].load(Relaxed) >> (at % 64) & 1 == 1
    }

    /// Calls for each of `start..end` that is not known to be dead.
    pub(crate) fn each_present(&self, start: usize, end: usize, mut each: impl FnMut(usize)) {
        let mut at = start;
        while at < end {
            let word = at / 64;
            let next = ((word + 1) * 64).min(end);
            let mut present = !self.gone[word].load(Relaxed) >> (at % 64);
            if next - at < 64 {
                present &= (1 << (next - at)) - 1;
            }
            while present != 0 {
                each(at + present.trailing_zeros() as usize);
                present &= present - 1;
            }
            at = next;
        }
    }
}

/// Where the members of a node are, of so many in all.
#[inline]
fn ends_of(whole: usize, node: Node) -> (usize, usize) {
    let place = node.place as usize;
    ((whole * place) >> node.depth, (whole * (place + 1)) >> node.depth)
}

/// Orders the members of an inner node by its children and tells the boxes below it.
fn split(
    points: &mut [(Point, u32)],
    whole: usize,
    node: Node,
    leaves: u32,
    bounds: Bounds,
    boxes: &mut [Pair],
) {
    let sides = [0, 1].map(|side| Node { depth: node.depth + 1, place: 2 * node.place + side });
    let axis = bounds.widest();
    let (start, middle) = ends_of(whole, sides[0]);
    points.select_nth_unstable_by(middle - start, |a, b| a.0.xyz[axis].total_cmp(&b.0.xyz[axis]));
    let (left, right) = points.split_at_mut(middle - start);
    let halves = [Bounds::of(left), Bounds::of(right)];
    boxes[(1 << node.depth) - 1 + node.place as usize] = Pair::new(halves);
    if node.depth + 1 < leaves {
        split(left, whole, sides[0], leaves, halves[0], boxes);
        split(right, whole, sides[1], leaves, halves[1], boxes);
    }
}
