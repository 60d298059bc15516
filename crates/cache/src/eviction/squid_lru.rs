//! Squid's `lru` (5.7, src/repl/lru/store_repl_lru.cc): a list; what is added or referenced goes to
//! its tail, and a purge takes from its head. With objects that no client holds while a purge runs,
//! that is [`Lru`]; the list needs no clock.
//!
//! Not modelled: objects that are locked while they are delivered, the bound of a purge on how many
//! it looks at, and purges once per second between two water marks. Here a purge runs at each
//! insertion, for as much as it needs.

use super::lru::Lru;
use super::{Eviction, Gone, Input, Room, SettingError, Sizes};

#[derive(Debug)]
pub(super) struct SquidLru(Lru);

impl Eviction for SquidLru {
    const NAME: &'static str = "squid-lru";
    const ABOUT: &'static str = "Squid's list: lru, with purges at insertion";

    fn new(room: &Room<'_>) -> Result<Self, SettingError> {
        Lru::new(room).map(Self)
    }

    #[inline(always)]
    fn hit<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize) -> bool {
        self.0.hit(input, at)
    }

    #[inline(always)]
    fn insert<S: Sizes>(&mut self, input: &Input<'_, S>, at: usize, gone: &mut impl Gone) {
        self.0.insert(input, at, gone);
    }

    fn contains(&self, object: u32) -> bool {
        self.0.contains(object)
    }

    #[inline(always)]
    fn prefetch(&self, object: u32) {
        self.0.prefetch(object);
    }

    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }
}
