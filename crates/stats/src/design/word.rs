//! Words: products of factors, as defining words, effects and interactions are.

use std::cmp::Ordering;
use std::fmt;

/// No design here has more factors.
pub const MOST_FACTORS: usize = 15;

/// The factors' letters. I stands for the product of no factor and is left out.
const LETTERS: &str = "ABCDEFGHJKLMNOP";

/// The letter of a factor by its number from 0; `?` from [`MOST_FACTORS`] on.
#[must_use]
pub fn letter(factor: usize) -> char {
    LETTERS.chars().nth(factor).unwrap_or('?')
}

/// A product of different factors with a sign: `ABCE`, `-AB`; `I` is the product of none.
///
/// Words are ordered by how many factors they have, then by their letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// Bit n is factor n.
    pub(super) letters: u16,
    pub(super) negative: bool,
}

impl Word {
    /// The product of no factor.
    pub const IDENTITY: Self = Self { letters: 0, negative: false };

    /// The product of these factors, by their numbers from 0; of one that stands there twice the
    /// square, which is 1. `None` where a number is [`MOST_FACTORS`] or more.
    pub fn of(factors: impl IntoIterator<Item = usize>) -> Option<Self> {
        let product =
            |word: Self, factor| (factor < MOST_FACTORS).then(|| word * Self::bit(factor));
        factors.into_iter().try_fold(Self::IDENTITY, product)
    }

    /// Reads letters with a sign before them or none. `Err` has the byte of what is no letter of a
    /// factor, or stands there for the second time.
    pub(super) fn read(text: &str) -> Result<Self, usize> {
        let mut word = Self { letters: 0, negative: text.starts_with(['-', '−']) };
        for (at, c) in text.char_indices() {
            if at == 0 && matches!(c, '-' | '−' | '+') {
                continue;
            }
            let factor = LETTERS.find(c.to_ascii_uppercase()).ok_or(at)?;
            if word.contains(factor) {
                return Err(at);
            }
            word.letters |= 1 << factor;
        }
        Ok(word)
    }

    pub(super) fn bit(factor: usize) -> Self {
        Self { letters: 1 << factor, negative: false }
    }

    /// How many factors it has: 1 for a main effect, 2 for an interaction of two factors.
    #[must_use]
    pub fn order(self) -> usize {
        self.letters.count_ones() as usize
    }

    /// Whether a factor, by its number from 0, is in it.
    #[must_use]
    pub fn contains(self, factor: usize) -> bool {
        factor < MOST_FACTORS && self.letters >> factor & 1 == 1
    }

    /// The numbers of its factors, from 0, ascending.
    pub fn factors(self) -> impl Iterator<Item = usize> {
        (0..MOST_FACTORS).filter(move |&factor| self.contains(factor))
    }

    /// Whether its sign is minus.
    #[must_use]
    pub fn is_negative(self) -> bool {
        self.negative
    }

    /// The same factors with the sign plus.
    #[must_use]
    pub fn unsigned(self) -> Self {
        Self { negative: false, ..self }
    }

    /// The same factors with the other sign.
    #[must_use]
    pub fn opposite(self) -> Self {
        Self { negative: !self.negative, ..self }
    }

    /// Its value in a run, which has the level of each factor as −1 or +1.
    #[must_use]
    pub fn value(self, run: &[i8]) -> i8 {
        let lows = run.iter().enumerate().filter(|&(n, level)| *level < 0 && self.contains(n));
        if (lows.count() % 2 == 1) == self.negative { 1 } else { -1 }
    }
}

/// The product of two words: a factor that is in both is squared, and its square is 1.
impl std::ops::Mul for Word {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self { letters: self.letters ^ other.letters, negative: self.negative != other.negative }
    }
}

impl Ord for Word {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of two words of one length, the one with the first letter that the other lacks.
        let differ = (self.letters ^ other.letters).trailing_zeros();
        let first = |word: &Self| u32::from(word.letters).checked_shr(differ).unwrap_or(0) & 1;
        let by_letters = first(other).cmp(&first(self));
        let by_order = self.order().cmp(&other.order());
        by_order.then(by_letters).then(self.negative.cmp(&other.negative))
    }
}

impl PartialOrd for Word {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.negative { "-" } else { "" };
        let letters: String = self.factors().map(letter).collect();
        write!(f, "{sign}{}", if letters.is_empty() { "I" } else { &letters })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Word {
        Word::read(text).unwrap()
    }

    #[test]
    fn words_multiply_and_have_a_value_in_a_run() {
        assert_eq!(word("ABC") * word("-BCD"), word("-AD"));
        assert_eq!(word("AB") * word("AB"), Word::IDENTITY);
        assert_eq!((word("AB").value(&[-1, 1, -1]), word("-AB").value(&[-1, 1, -1])), (-1, 1));
        assert_eq!(Word::IDENTITY.value(&[-1]), 1);
        assert_eq!(Word::of([0, 3, 8]).unwrap().to_string(), "ADJ");
        assert_eq!(Word::of([15]), None);
        assert_eq!(Word::IDENTITY.to_string(), "I");
    }

    #[test]
    fn words_are_ordered_by_length_then_letters() {
        let mut words = ["BCD", "AE", "P", "ABC", "-AB", "AB"].map(word);
        words.sort();
        assert_eq!(words.map(|word| word.to_string()), ["P", "AB", "-AB", "AE", "ABC", "BCD"]);
    }

    #[test]
    fn what_is_no_factor_has_a_place() {
        assert_eq!(Word::read("AIB"), Err(1));
        assert_eq!(Word::read("-ABA"), Err(3));
        assert_eq!(Word::read("A-B"), Err(1));
        assert_eq!(word("adj"), word("ADJ"));
    }
}
