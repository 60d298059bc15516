//! Generators of the best fractions 2^(k−p): for every k up to 15 and every p.
//!
//! Best means *least aberration* (Fries & Hunter, "Minimum aberration 2^(k−p) designs",
//! *Technometrics* 22, 1980): the highest resolution, and of all with that the fewest defining
//! words of the shortest length, then of the next, and so on.
//!
//! Where the usual tables have a fraction, it has their generators, in their order (Box, Hunter &
//! Hunter, *Statistics for Experimenters*, 1978, table 12.15). The others were searched for: among
//! all sets of products for up to 32 runs, and among all codes of the words for p up to 4, so these
//! are the best there are. For the twelve with p of 5 and more and 64 runs and more, a local
//! search over sets of products found no better ones in thousands of starts; their resolution is
//! the highest there is, but that no other has fewer words of that length is not proven.

use super::Word;

/// The products that generate the last `generated` of `factors` factors, in their order. There are
/// none where so few runs cannot tell the factors apart.
pub(super) fn products(factors: usize, generated: usize) -> impl Iterator<Item = Word> {
    let fraction = FRACTIONS.iter().find(|(k, p, _)| (*k, *p) == (factors, generated));
    let texts = fraction.map_or("", |(_, _, texts)| texts).split_whitespace();
    texts.filter_map(|text| Word::read(text).ok())
}

/// How many factors, how many of them are generated, and the products that generate them.
const FRACTIONS: [(usize, usize, &str); 71] = [
    (3, 1, "AB"),
    (4, 1, "ABC"),
    (5, 1, "ABCD"),
    (5, 2, "AB AC"),
    (6, 1, "ABCDE"),
    (6, 2, "ABC BCD"),
    (6, 3, "AB AC BC"),
    (7, 1, "ABCDEF"),
    (7, 2, "ABCD ABDE"),
    (7, 3, "ABC BCD ACD"),
    (7, 4, "AB AC BC ABC"),
    (8, 1, "ABCDEFG"),
    (8, 2, "ABCD ABEF"),
    (8, 3, "ABC ABD BCDE"),
    (8, 4, "BCD ACD ABC ABD"),
    (9, 1, "ABCDEFGH"),
    (9, 2, "ABCDE ABCFG"),
    (9, 3, "ABC ABDE ACDF"),
    (9, 4, "ABC ABD ABE ACDE"),
    (9, 5, "ABC BCD ACD ABD ABCD"),
    (10, 1, "ABCDEFGHJ"),
    (10, 2, "ABCDE ABCFGH"),
    (10, 3, "ABCD ABEF ACEG"),
    (10, 4, "ABC ABDE ABDF ACEF"),
    (10, 5, "ABC ABD ABE ACDE BCDE"),
    (10, 6, "AB AC AD BC BCD ABCD"),
    (11, 1, "ABCDEFGHJK"),
    (11, 2, "ABCDEF ABCGHJ"),
    (11, 3, "ABCDE ABCFG ABDFH"),
    (11, 4, "ABCD ABEF ACEG BDFG"),
    (11, 5, "ABC ABD ABEF ACDE ACDF"),
    (11, 6, "ABC ABD ABE ACD ACE ADE"),
    (11, 7, "ABC BCD ACD ABD ABCD AB AC"),
    (12, 1, "ABCDEFGHJKL"),
    (12, 2, "ABCDEFG ABCDHJK"),
    (12, 3, "ABCDE ABFGH ACDFGJ"),
    (12, 4, "ABCDE ABCFG ABDFH ACEGH"),
    (12, 5, "ABC ADEF BDEG CDFG ABCEFG"),
    (12, 6, "ABC ABD ABEF ACDE ACDF BCDEF"),
    (12, 7, "ABC ABD ABE ACD ACE ADE BCD"),
    (12, 8, "AB AC AD BC BD ACD BCD ABCD"),
    (13, 1, "ABCDEFGHJKLM"),
    (13, 2, "ABCDEFG ABCDHJKL"),
    (13, 3, "ABCDEF ABCGHJ ADEGHK"),
    (13, 4, "ABDEH ACEFG ABCFHJ CDEGHJ"),
    (13, 5, "ABDFH ACEFH BDEGH CDFGH ABCEGH"),
    (13, 6, "BCE ACEF ACEG ADFG ABCDF ABDEG"),
    (13, 7, "ABC ACF ADE BCD BDE ABEF BCEF"),
    (13, 8, "ABC ABD ABE ACD ACE ADE BCD BCE"),
    (13, 9, "AB AC AD BC BD CD ABC ABD ACD"),
    (14, 1, "ABCDEFGHJKLMN"),
    (14, 2, "ABCDEFGH ABCDJKLM"),
    (14, 3, "ABCEGHJ BCDFGHK BEFHJKL"),
    (14, 4, "ABDEGK ACEFHK ABCGHJK ADEFGHJ"),
    (14, 5, "ACDEJ BCDGH ABCEFH CEFGHJ ABCDFGJ"),
    (14, 6, "ABFH BCDH ABCGH ACDEH ACEFG CDEFGH"),
    (14, 7, "ACEG AEFG BCDF BDEG ABCEF ABCFG CDEFG"),
    (14, 8, "BCF ABCD ABCE ABDF ABEF ACDE BCDE ABCDEF"),
    (14, 9, "ABC ABD ABE ACD ACE ADE BCD BCE BDE"),
    (14, 10, "AB AC AD BC BD CD ABC ABD ACD BCD"),
    (15, 1, "ABCDEFGHJKLMNO"),
    (15, 2, "ABCDEFGHJ ABCDEKLMN"),
    (15, 3, "ABDEGLM ACDEFGK BCDFGHJL"),
    (15, 4, "ABCFGJL ADGHJKL BCDEGHJ CEFGHKL"),
    (15, 5, "ABDHJK ABEFGH CDFGHK ACDEGHJ BCEFHJK"),
    (15, 6, "ABCEG ABDEH ACEFH ADFGJ BCGHJ DEFHJ"),
    (15, 7, "ABCF ADFG BDFH ACDEF BCDEH ABDEGH BCDEFG"),
    (15, 8, "ADF CFG ABFG ACDE BCDF BCEG BDEF ACEFG"),
    (15, 9, "AEF BEF CDF DEF ABCE ABCF ABDE ACDEF BCDEF"),
    (15, 10, "ABC ABD ABE ACD ACE ADE BCD BCE BDE CDE"),
    (15, 11, "AB AC AD BC BD CD ABC ABD ACD BCD ABCD"),
];

#[cfg(test)]
mod tests {
    use super::super::fraction::most_generated;
    use super::super::{Fraction, MOST_FACTORS};
    use super::*;

    /// How many defining words have 0, 1, … letters.
    fn lengths(fraction: &Fraction) -> [u32; MOST_FACTORS + 1] {
        let mut lengths = [0; MOST_FACTORS + 1];
        fraction.words().iter().for_each(|word| lengths[word.order()] += 1);
        lengths
    }

    #[test]
    fn every_fraction_that_tells_its_factors_apart_is_there() {
        let mut wanted = 0;
        for factors in 1..=MOST_FACTORS {
            for generated in 1..=most_generated(factors) {
                wanted += 1;
                let fraction = Fraction::best(factors, generated).unwrap();
                assert_eq!(fraction.generators().len(), generated, "2^({factors}-{generated})");
                assert!(fraction.resolution() >= Some(3), "2^({factors}-{generated})");
            }
        }
        assert_eq!(FRACTIONS.len(), wanted);
    }

    /// The resolution of a fraction is the least distance of the linear code of its defining words,
    /// here as great as that of the best codes (A. E. Brouwer, "Bounds on the size of linear
    /// codes", in *Handbook of Coding Theory*, 1998).
    #[test]
    fn resolutions_are_those_of_the_best_codes() {
        // The k-th row: p = 1, 2, ….
        for (factors, best) in [
            (3, &[3][..]),
            (4, &[4]),
            (5, &[5, 3]),
            (6, &[6, 4, 3]),
            (7, &[7, 4, 4, 3]),
            (8, &[8, 5, 4, 4]),
            (9, &[9, 6, 4, 4, 3]),
            (10, &[10, 6, 5, 4, 4, 3]),
            (11, &[11, 7, 6, 5, 4, 4, 3]),
            (12, &[12, 8, 6, 6, 4, 4, 4, 3]),
            (13, &[13, 8, 7, 6, 5, 4, 4, 4, 3]),
            (14, &[14, 9, 8, 7, 6, 5, 4, 4, 4, 3]),
            (15, &[15, 10, 8, 8, 7, 6, 5, 4, 4, 4, 3]),
        ] {
            for (generated, wanted) in (1..).zip(best) {
                let found = Fraction::best(factors, generated).unwrap().resolution();
                assert_eq!(found, Some(*wanted), "2^({factors}-{generated})");
            }
        }
    }

    /// Of up to 16 runs, no set of products has fewer short words.
    #[test]
    fn small_fractions_have_the_least_aberration() {
        for (factors, generated, _) in FRACTIONS {
            let basic = factors - generated;
            if basic > 4 {
                continue;
            }
            let products: Vec<Word> = (1..1_u16 << basic)
                .map(|letters| Word { letters, negative: false })
                .filter(|word| word.order() > 1)
                .collect();
            let best = lengths(&Fraction::best(factors, generated).unwrap());
            for chosen in 0..1_u32 << products.len() {
                if chosen.count_ones() as usize != generated {
                    continue;
                }
                let generators: Vec<_> = (0..products.len())
                    .filter(|place| chosen >> place & 1 == 1)
                    .zip(basic..)
                    .map(|(place, factor)| super::super::Generator {
                        factor,
                        product: products[place],
                    })
                    .collect();
                let other = Fraction::of(factors, &generators).unwrap();
                assert!(best <= lengths(&other), "2^({factors}-{generated}): {generators:?}");
            }
        }
    }
}
