//! Eviction policies: which object leaves when a cache is full. One file each, named after its
//! paper or product; [`KINDS`] lists them.
//!
//! A replay asks a policy twice at most: is the object of this request in ([`Eviction::hit`]), and
//! where it is not and an admission filter lets it in, take it ([`Eviction::insert`]). Both are
//! generic, not dynamic, so that the loop around them is compiled for each policy.

use plimsoll_units::parameter::Parameter;

mod cost;
mod heap;
mod indices;
mod kind;
mod node;
mod queues;
mod ring;
mod segments;
mod settings;
mod sketch;

#[cfg(test)]
mod tests;

pub use kind::{Kind, Policy};
pub use node::Node;
pub use settings::{SettingError, Settings};

/// Declares the file of each policy, and lists what is in it.
macro_rules! policies {
    ($($file:ident: $($policy:ident $(<$of:ident>)?),+;)+) => {
        $(mod $file;)+

        /// All policies, by name.
        pub const KINDS: &[Kind] = &[$($(Kind::of::<$file::$policy$(<$file::$of>)?>(),)+)+];
    };
}

// A new policy is a file and a line here.
policies! {
    fifo: Fifo;
    random: Random;
    lru: Lru;
    sieve: Sieve;
    s3fifo: S3Fifo;
    gdsf: Gdsf;
    clock: Clock;
    slru: Slru;
    size: Size;
    lfu: Lfu;
    arc: Arc;
    belady: Belady;
    two_q: TwoQ;
    lirs: Lirs;
    wtinylfu: WTinyLfu;
    lfuda: Lfuda;
    gds: Gds;
    lru_k: LruK;
    squid_lru: SquidLru;
    squid_heap: SquidHeap<Lru>, SquidHeap<Lfuda>, SquidHeap<Gdsf>;
}

/// One policy, with the state of one cache.
///
/// *Units*: what an object takes is `input.size(object)`: bytes, or 1 where objects are counted.
/// The objects inside never take more than the capacity together, once [`Eviction::insert`] is
/// back. An object that alone takes more is never inside.
///
/// *Determinism*: the same input gives the same decisions. A policy that draws takes a seed from
/// its settings.
pub trait Eviction: Sized {
    /// What users write.
    const NAME: &'static str;
    /// One line for users: the idea and its source.
    const ABOUT: &'static str;
    /// What can be set of it.
    const PARAMETERS: &'static [Parameter] = &[];
    /// What [`Input`] must have beside requests and sizes.
    const NEEDS: Needs = Needs { next: false, seconds: false };

    /// An empty cache.
    ///
    /// *Errors*: a setting that the policy does not have, or of a value that it cannot take.
    fn new(room: &Room<'_>) -> Result<Self, SettingError>;

    /// Whether the object of request `at` is inside; what the policy notes of a hit, it notes now.
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool;

    /// Takes the object of request `at`, which was just found not to be inside, and tells `gone`
    /// of each object that leaves for it. A policy may refuse the object: it is then not inside.
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone);

    /// Tells `gone` of what has left because of hits. Where a policy has several parts and sizes
    /// differ, an object that moves from one to another may crowd others out. They are not inside
    /// from then on; [`Eviction::insert`] tells of them too, before anything else.
    fn settle(&mut self, _gone: &mut impl Gone) {}

    /// Whether an object is inside, without being noted.
    fn contains(&self, object: u32) -> bool;

    /// Has memory fetch what a request to `object` will read first.
    fn prefetch(&self, _object: u32) {}

    /// Bytes of memory that the policy's state takes.
    fn memory_bytes(&self) -> usize;
}

/// An empty cache of a policy, which knows each of its settings.
pub(crate) fn made<P: Eviction>(room: &Room<'_>) -> Result<P, SettingError> {
    room.settings.only(P::PARAMETERS)?;
    P::new(room)
}

/// What a policy must be told beside requests and sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// The next use of each request's object: policies that know the future.
    pub next: bool,
    /// Seconds: policies whose clock has a resolution.
    pub seconds: bool,
}

/// What a cache is made for.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// Objects have numbers below this.
    pub objects: usize,
    /// Bytes, or objects.
    pub capacity: u64,
    /// What the user set: `k=2`, `cost=size`.
    pub settings: &'a Settings,
}

/// What is replayed. `next` and `seconds` are empty where the policy does not need them.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a, S> {
    /// The object of each request.
    pub requests: &'a [u32],
    /// What objects take.
    pub sizes: S,
    /// For each request the index of the next one to its object, or [`crate::trace::NEVER`].
    pub next: &'a [u32],
    /// Seconds since the first request, for each.
    pub seconds: &'a [u32],
}

impl<S: Sizes> Input<'_, S> {
    /// What an object takes: bytes, or 1.
    #[inline(always)]
    pub fn size(&self, object: u32) -> u64 {
        self.sizes.of(object)
    }
}

/// What objects take of a capacity.
pub trait Sizes: Copy {
    /// Whether it is one for each object.
    const ALL_ONE: bool = false;

    /// Bytes, or 1.
    fn of(self, object: u32) -> u64;

    /// Has memory fetch it.
    fn prefetch(self, _object: u32) {}
}

/// Every object takes one: capacities are numbers of objects.
#[derive(Debug, Clone, Copy)]
pub struct One;

impl Sizes for One {
    const ALL_ONE: bool = true;

    #[inline(always)]
    fn of(self, _object: u32) -> u64 {
        1
    }
}

/// Objects take their bytes, each less than 4 GiB.
#[derive(Debug, Clone, Copy)]
pub struct Narrow<'a>(pub &'a [u32]);

impl Sizes for Narrow<'_> {
    #[inline(always)]
    fn of(self, object: u32) -> u64 {
        u64::from(self.0[object as usize])
    }

    #[inline(always)]
    fn prefetch(self, object: u32) {
        crate::prefetch::fetch(self.0, object);
    }
}

/// Objects take their bytes.
#[derive(Debug, Clone, Copy)]
pub struct Wide<'a>(pub &'a [u64]);

impl Sizes for Wide<'_> {
    #[inline(always)]
    fn of(self, object: u32) -> u64 {
        self.0[object as usize]
    }

    #[inline(always)]
    fn prefetch(self, object: u32) {
        crate::prefetch::fetch(self.0, object);
    }
}

/// Hears of what leaves a cache.
pub trait Gone {
    /// This object has left.
    fn gone(&mut self, object: u32);
}

/// Counts what leaves.
impl Gone for u64 {
    #[inline(always)]
    fn gone(&mut self, _object: u32) {
        *self += 1;
    }
}

/// Keeps what leaves, in order.
impl Gone for Vec<u32> {
    fn gone(&mut self, object: u32) {
        self.push(object);
    }
}

/// The index of a request, as policies keep it.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "a trace has fewer than 2^32 - 1 requests")]
fn index(at: usize) -> u32 {
    at as u32
}
