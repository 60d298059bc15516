//! Regular fractions 2^(k−p): their runs, defining words, resolution and aliases.

use std::fmt;

use super::catalogue;
use super::word::{MOST_FACTORS, Word, letter};

/// A regular fraction of the combinations of factors with two levels; without generators it is
/// all of them.
///
/// # Example
/// ```
/// use plimsoll_stats::design::Fraction;
/// let half = Fraction::best(5, 1)?;
/// assert_eq!((half.runs().len(), half.resolution()), (16, Some(5)));
/// assert_eq!(half.words()[0].to_string(), "ABCDE");
/// # Ok::<(), plimsoll_stats::design::DesignError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fraction {
    factors: usize,
    generators: Vec<Generator>,
}

/// A factor that is the product of others, in every run: `E=ABCD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generator {
    /// The factor's number, from 0.
    pub factor: usize,
    /// The product, of factors that have no generator themselves.
    pub product: Word,
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", letter(self.factor), self.product)
    }
}

/// Why there is no such fraction. Generators are told by their number in what was given, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DesignError {
    /// No factor, or too many.
    #[error("expected 1 to {MOST_FACTORS} factors, found {found}: leave some out")]
    Factors {
        /// How many.
        found: usize,
    },
    /// So few runs that factors would always change together.
    #[error(
        "expected at most {most} generated factors among {factors}, found {found}: with fewer \
         runs than factors and one more, some factors always change together"
    )]
    TooFewRuns {
        /// How many factors there are.
        factors: usize,
        /// How many of them may be generated.
        most: usize,
        /// How many are.
        found: usize,
    },
    /// A generator of a factor that the design does not have.
    #[error("expected a factor up to {}, found {}: the design has no more", letter(factors - 1),
            letter(*factor))]
    UnknownFactor {
        /// Which generator.
        generator: usize,
        /// How many factors the design has.
        factors: usize,
        /// The factor.
        factor: usize,
    },
    /// Two generators of one factor.
    #[error("expected one generator of {}, found two: leave one out", letter(*factor))]
    Twice {
        /// The second one.
        generator: usize,
        /// The factor.
        factor: usize,
    },
    /// A generator of generated factors.
    #[error(
        "expected a product of factors without a generator, found {} in it: write what {} is the \
         product of", letter(*factor), letter(*factor)
    )]
    Generated {
        /// Which generator.
        generator: usize,
        /// The factor that is generated.
        factor: usize,
    },
    /// A defining word of one or two factors.
    #[error(
        "expected factors that change independently of each other, found {word} the same in \
         every run: choose another product"
    )]
    Confounded {
        /// The generator that makes it so.
        generator: usize,
        /// The word.
        word: Word,
    },
}

impl DesignError {
    /// The number of the generator that it is about, from 0.
    #[must_use]
    pub fn generator(&self) -> Option<usize> {
        match *self {
            Self::Factors { .. } | Self::TooFewRuns { .. } => None,
            Self::UnknownFactor { generator, .. }
            | Self::Twice { generator, .. }
            | Self::Generated { generator, .. }
            | Self::Confounded { generator, .. } => Some(generator),
        }
    }
}

impl Fraction {
    /// The fraction of `factors` factors of which `generated` are generated, by generators with
    /// the highest resolution, and of these with the fewest words of that length, then of the next.
    ///
    /// # Errors
    /// No factor or more than [`MOST_FACTORS`]; fewer runs than factors and one more.
    pub fn best(factors: usize, generated: usize) -> Result<Self, DesignError> {
        check_size(factors, generated)?;
        let basic = factors - generated;
        let products = catalogue::products(factors, generated);
        let generators =
            products.zip(basic..).map(|(product, factor)| Generator { factor, product });
        Self::of(factors, &generators.collect::<Vec<_>>())
    }

    /// The fraction with these generators.
    ///
    /// # Errors
    /// As [`Self::best`]; a generator of a factor that has one already, of factors that are not
    /// there or are generated themselves; a defining word of one or two factors, by which these
    /// factors could not be told apart.
    pub fn of(factors: usize, generators: &[Generator]) -> Result<Self, DesignError> {
        check_size(factors, generators.len())?;
        for (number, generator) in generators.iter().enumerate() {
            let unknown = generator.product.factors().find(|&factor| factor >= factors);
            let unknown = Some(generator.factor).filter(|&factor| factor >= factors).or(unknown);
            if let Some(factor) = unknown {
                return Err(DesignError::UnknownFactor { generator: number, factors, factor });
            }
            let factor = generator.factor;
            if generators[..number].iter().any(|earlier| earlier.factor == factor) {
                return Err(DesignError::Twice { generator: number, factor });
            }
            let generated = |factor: &usize| generators.iter().any(|g| g.factor == *factor);
            if let Some(factor) = generator.product.factors().find(generated) {
                return Err(DesignError::Generated { generator: number, factor });
            }
        }
        let mut words = vec![];
        for (number, generator) in generators.iter().enumerate() {
            let more = products_with(&words, generator.word());
            if let Some(&word) = more.iter().filter(|word| word.order() < 3).min() {
                return Err(DesignError::Confounded { generator: number, word });
            }
            words.extend(more);
        }
        let mut generators = generators.to_vec();
        generators.sort_by_key(|generator| generator.factor);
        Ok(Self { factors, generators })
    }

    /// How many factors it has.
    #[must_use]
    pub fn factors(&self) -> usize {
        self.factors
    }

    /// Its generators, in the order of the generated factors.
    #[must_use]
    pub fn generators(&self) -> &[Generator] {
        &self.generators
    }

    /// The level of each factor in each run, as −1 and +1. Factors without a generator run through
    /// all combinations, the last fastest.
    ///
    /// *Cost:* at most 2^15 runs, where nothing is generated.
    #[must_use]
    pub fn runs(&self) -> Vec<Vec<i8>> {
        let basic = self.basic();
        (0..1_usize << basic.len()).map(|number| self.run(&basic, number)).collect()
    }

    fn run(&self, basic: &[usize], number: usize) -> Vec<i8> {
        let mut run = vec![-1; self.factors];
        for (place, &factor) in basic.iter().rev().enumerate() {
            run[factor] = if number >> place & 1 == 1 { 1 } else { -1 };
        }
        for generator in &self.generators {
            run[generator.factor] = generator.product.value(&run);
        }
        run
    }

    /// The factors without a generator.
    fn basic(&self) -> Vec<usize> {
        let generated = |factor: &usize| self.generators.iter().any(|g| g.factor == *factor);
        (0..self.factors).filter(|factor| !generated(factor)).collect()
    }

    /// The defining words, the shortest first: the products that are +1 in every run. There are
    /// 2^p − 1 of them.
    #[must_use]
    pub fn words(&self) -> Vec<Word> {
        let mut words = vec![];
        for generator in &self.generators {
            words.extend(products_with(&words, generator.word()));
        }
        words.sort_unstable();
        words
    }

    /// The length of the shortest defining word; `None` where all combinations are run.
    #[must_use]
    pub fn resolution(&self) -> Option<usize> {
        self.words().first().map(|word| word.order())
    }

    /// The resolution as it is written, in Roman numerals: `V`. Empty where all combinations are
    /// run.
    #[must_use]
    pub fn roman_resolution(&self) -> &'static str {
        const NUMERALS: [&str; MOST_FACTORS + 1] = [
            "", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII",
            "XIV", "XV",
        ];
        NUMERALS.get(self.resolution().unwrap_or(0)).copied().unwrap_or_default()
    }

    /// The main effects and interactions of two factors, in groups that cannot be told apart. Each
    /// stands in one group, the shortest word of a group first, with the sign plus; a sign minus
    /// says that an effect enters with the opposite sign. Groups are in the order of their first.
    #[must_use]
    pub fn aliases(&self) -> Vec<Vec<Word>> {
        self.groups(2)
    }

    /// As [`Self::aliases`], with interactions of up to `order` factors. Defining words, which are
    /// the same in every run, are no effects and stand in no group.
    pub(crate) fn groups(&self, order: usize) -> Vec<Vec<Word>> {
        let mut terms: Vec<Word> = (1..1_u32 << self.factors)
            .filter(|letters| letters.count_ones() as usize <= order)
            .filter_map(|letters| u16::try_from(letters).ok())
            .map(|letters| Word { letters, negative: false })
            .collect();
        terms.sort_unstable();
        let mut groups: Vec<Vec<Word>> = vec![];
        // The group of each product of factors without a generator, and the sign of its first.
        let mut found = vec![None; 1 << self.factors];
        for term in terms {
            let reduced = self.reduced(term);
            if reduced.letters == 0 {
                continue;
            }
            match found[usize::from(reduced.letters)] {
                Some((group, negative)) => {
                    let group: &mut Vec<Word> = &mut groups[group];
                    group.push(Word { negative: reduced.negative != negative, ..term });
                }
                None => {
                    found[usize::from(reduced.letters)] = Some((groups.len(), reduced.negative));
                    groups.push(vec![term]);
                }
            }
        }
        groups
    }

    /// The same column of signs as a product of factors without a generator.
    fn reduced(&self, term: Word) -> Word {
        let generated = self.generators.iter().filter(|g| term.contains(g.factor));
        generated.fold(term, |product, generator| product * generator.word())
    }
}

impl Generator {
    /// The defining word that it makes: the factor times its product.
    fn word(&self) -> Word {
        Word::bit(self.factor) * self.product
    }
}

/// A word and its products with others.
fn products_with(words: &[Word], word: Word) -> Vec<Word> {
    std::iter::once(word).chain(words.iter().map(|&other| other * word)).collect()
}

fn check_size(factors: usize, generated: usize) -> Result<(), DesignError> {
    if factors == 0 || factors > MOST_FACTORS {
        return Err(DesignError::Factors { found: factors });
    }
    let most = most_generated(factors);
    if generated > most {
        return Err(DesignError::TooFewRuns { factors, most, found: generated });
    }
    Ok(())
}

/// How many of so many factors may be generated, that there are runs enough to tell them apart.
pub(super) fn most_generated(factors: usize) -> usize {
    (0..factors).rev().find(|&p| (1_usize << (factors - p)) > factors).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn generator(text: &str) -> Generator {
        let (factor, product) = text.split_once('=').unwrap();
        let factor = Word::read(factor).unwrap().factors().next().unwrap();
        Generator { factor, product: Word::read(product).unwrap() }
    }

    fn with(factors: usize, generators: &str) -> Result<Fraction, DesignError> {
        let all: Vec<Generator> = generators.split(' ').map(generator).collect();
        Fraction::of(factors, &all)
    }

    fn texts(words: &[Word]) -> String {
        words.iter().map(Word::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_quarter_of_five_factors_as_published() {
        // Box, Hunter & Hunter, table 12.15 and NIST/SEMATECH, 5.3.3.4.7: D = AB, E = AC.
        let design = Fraction::best(5, 2).unwrap();
        assert_eq!(texts(&design.words()), "ABD ACE BCDE");
        assert_eq!((design.resolution(), design.roman_resolution()), (Some(3), "III"));
        assert_eq!(design.runs()[0], [-1, -1, -1, 1, 1]);
        assert_eq!(design.runs()[6], [1, 1, -1, 1, -1]);
        let groups: Vec<String> = design.aliases().iter().map(|group| texts(group)).collect();
        assert_eq!(groups, ["A BD CE", "B AD", "C AE", "D AB", "E AC", "BC DE", "BE CD"]);
    }

    #[test]
    fn a_sign_turns_the_other_half() {
        let design = with(3, "C=-AB").unwrap();
        assert_eq!(texts(&design.words()), "-ABC");
        let groups: Vec<String> = design.aliases().iter().map(|group| texts(group)).collect();
        assert_eq!(groups, ["A -BC", "B -AC", "C -AB"]);
        assert_eq!(design.runs(), [[-1, -1, -1], [-1, 1, 1], [1, -1, 1], [1, 1, -1]]);
    }

    #[test]
    fn nothing_generated_is_all() {
        let design = Fraction::best(3, 0).unwrap();
        assert_eq!((design.runs().len(), design.resolution()), (8, None));
        assert_eq!(design.roman_resolution(), "");
        assert!(design.aliases().iter().all(|group| group.len() == 1));
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        use DesignError::{Confounded, Factors, Generated, Twice, UnknownFactor};
        let word = |text| Word::read(text).unwrap();
        assert_eq!(Fraction::best(16, 1), Err(Factors { found: 16 }));
        assert_eq!(Fraction::best(0, 0), Err(Factors { found: 0 }));
        let few = DesignError::TooFewRuns { factors: 5, most: 2, found: 3 };
        assert_eq!(Fraction::best(5, 3), Err(few));
        assert_eq!(with(5, "E=A"), Err(Confounded { generator: 0, word: word("AE") }));
        let two = with(6, "E=ABC F=-ABC");
        assert_eq!(two, Err(Confounded { generator: 1, word: word("-EF") }));
        assert_eq!(with(6, "E=ABC E=ABD"), Err(Twice { generator: 1, factor: 4 }));
        assert_eq!(with(6, "E=ABC F=BCE"), Err(Generated { generator: 1, factor: 4 }));
        assert_eq!(with(4, "D=ABCD"), Err(Generated { generator: 0, factor: 3 }));
        let unknown = UnknownFactor { generator: 0, factors: 4, factor: 4 };
        assert_eq!(with(4, "D=ABE"), Err(unknown));
        assert_eq!(
            unknown.to_string(),
            "expected a factor up to D, found E: the design has no more"
        );
    }

    proptest! {
        /// Whatever the size: words are +1 and aliases alike in every run, columns are balanced
        /// and orthogonal, and each effect stands in one group.
        #[test]
        fn runs_words_and_aliases_agree(factors in 2_usize..=15, number in 0_usize..1000) {
            let most = most_generated(factors);
            let generated = number % (most + 1);
            // Larger ones would take seconds.
            prop_assume!(factors - generated <= 9);
            let design = Fraction::best(factors, generated).unwrap();
            let runs = design.runs();
            prop_assert_eq!(runs.len(), 1 << (factors - generated));
            let words = design.words();
            prop_assert_eq!(words.len(), (1 << generated) - 1);
            for word in words.iter().take(50) {
                prop_assert!(runs.iter().all(|run| word.value(run) == 1), "{word}");
            }
            let sum = |word: Word| runs.iter().map(|run| i32::from(word.value(run))).sum::<i32>();
            for a in 0..factors {
                prop_assert_eq!(sum(Word::bit(a)), 0);
                for b in 0..a {
                    prop_assert_eq!(sum(Word::bit(a) * Word::bit(b)), 0);
                }
            }
            let groups = design.aliases();
            let terms: usize = groups.iter().map(Vec::len).sum();
            prop_assert_eq!(terms, factors + factors * (factors - 1) / 2);
            for group in &groups {
                for alias in group {
                    let same = |run: &Vec<i8>| alias.value(run) == group[0].value(run);
                    prop_assert!(runs.iter().all(same));
                }
            }
        }
    }
}
