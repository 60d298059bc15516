//! Which places of a line of places have become void, and how many of them lie behind a place.

use crate::prefetch::fetch;

use super::sums::Sums;

/// Places of one word.
const WORD: u32 = u64::BITS;

/// A bit for each place, and counts above the words.
#[derive(Debug)]
pub(super) struct Holes {
    words: Vec<u64>,
    above: Sums<u32>,
}

impl Holes {
    /// So many places, none of them void.
    pub(super) fn new(places: u32) -> Self {
        let words = places.div_ceil(WORD).max(1) as usize;
        Self { words: vec![0; words], above: Sums::new(words) }
    }

    /// Makes a place void that is not, and returns how many void ones lie behind it.
    #[inline(always)]
    pub(super) fn dig(&mut self, place: u32) -> u32 {
        let word = &mut self.words[(place / WORD) as usize];
        let within = (*word >> (place % WORD)).count_ones();
        *word |= 1 << (place % WORD);
        within + self.above.add((place / WORD) as usize, 1)
    }

    /// How many void places lie behind this one, which is not void.
    #[inline(always)]
    pub(super) fn behind(&self, place: u32) -> u32 {
        let within = (self.words[(place / WORD) as usize] >> (place % WORD)).count_ones();
        within + self.above.behind((place / WORD) as usize)
    }

    /// Has memory fetch what a question about a place will read.
    #[inline(always)]
    pub(super) fn prefetch(&self, place: u32) {
        fetch(&self.words, place / WORD);
        self.above.prefetch(place / WORD);
    }

    /// No void place any more.
    pub(super) fn clear(&mut self) {
        self.words.fill(0);
        self.above.clear();
    }
}
