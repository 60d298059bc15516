//! Two-level fractions against reference tables, of which some rows stand here too.
//!
//! The reference tables are those of pyDOE3 1.6.2 with the generators of Box, Hunter & Hunter,
//! *Statistics for Experimenters* (1978), table 12.15; their resolution was computed from the runs.

use plimsoll_stats::design::{Design, Fraction, Word};
use std::collections::BTreeSet;

use crate::reference::vectors;

/// Design, generators in the letters of the basic factors, resolution, the first of the shortest
/// defining words, how many of these there are: rows of the reference index.
const ROWS: [(&str, &str, usize, &str, usize); 6] = [
    ("2^(4-1) IV", "a b c abc", 4, "+ABCD", 1),
    ("2^(5-1) V", "a b c d abcd", 5, "+ABCDE", 1),
    ("2^(7-2) IV", "a b c d e abcd abde", 4, "+CEFG", 1),
    ("2^(7-4) III", "a b c ab ac bc abc", 3, "+ABD +ACE +AFG +BCF +BEG +CDG +DEF", 7),
    ("2^(8-2) V", "a b c d e f abcd abef", 5, "+ABCDG +ABEFH", 2),
    ("2^(9-5) III", "a b c d abc bcd acd abd abcd", 3, "+AFJ +BGJ +CHJ +DEJ", 4),
];

/// The runs of 2^(5-2), from the reference table.
const QUARTER: [[i8; 5]; 8] = [
    [-1, -1, -1, 1, 1],
    [-1, -1, 1, 1, -1],
    [-1, 1, -1, -1, 1],
    [-1, 1, 1, -1, -1],
    [1, -1, -1, -1, -1],
    [1, -1, 1, -1, 1],
    [1, 1, -1, 1, -1],
    [1, 1, 1, 1, 1],
];

fn fraction(text: &str) -> Fraction {
    match Design::parse(text) {
        Ok(Design::Fractional(fraction)) => fraction,
        other => panic!("{text}: {other:?}"),
    }
}

/// Checks the best fraction of a row's size, and the one with the row's generators.
fn check(name: &str, generators: &str, resolution: usize, shortest: &str, n: usize) {
    let (size, roman) = name.split_once(' ').unwrap();
    let best = fraction(&format!("fractional {size}"));
    let letters: Vec<char> = "ABCDEFGHJKLMNOP".chars().collect();
    let chosen: Vec<String> = generators
        .split(' ')
        .enumerate()
        .filter(|(_, product)| product.len() > 1)
        .map(|(factor, product)| format!("{}={}", letters[factor], product.to_uppercase()))
        .collect();
    assert_eq!(best, fraction(&format!("fractional {size} {}", chosen.join(" "))), "{name}");
    assert_eq!((best.resolution(), best.roman_resolution()), (Some(resolution), roman), "{name}");
    let words = best.words();
    let words: Vec<&Word> = words.iter().filter(|word| word.order() == resolution).collect();
    assert_eq!(words.len(), n, "{name}");
    // The index has the first twelve.
    let first: Vec<String> = words.iter().take(12).map(|word| format!("+{word}")).collect();
    assert_eq!(first.join(" "), shortest, "{name}");
}

#[test]
fn fractions_are_those_of_the_tables() {
    for (name, generators, resolution, shortest, n) in ROWS {
        check(name, generators, resolution, shortest, n);
    }
    assert_eq!(fraction("fractional 2^(5-2)").runs(), QUARTER);
}

#[test]
fn fractions_are_the_references() {
    for row in vectors("fractions_are_the_references", "ff_index.csv") {
        let number = |cell: &str| cell.parse::<usize>().unwrap();
        check(&row[0], &row[1], number(&row[4]), &row[5], number(&row[6]));
        let size = row[0].split(' ').next().unwrap();
        let found = fraction(&format!("fractional {size}"));
        assert_eq!((found.runs().len(), found.factors()), (number(&row[2]), number(&row[3])));
        let table = format!("ff_{}.csv", size.replace(['^', '(', ')'], ""));
        let level = |cell: &String| cell.parse::<i8>().unwrap();
        let wanted: BTreeSet<Vec<i8>> = vectors("fractions_are_the_references", &table)
            .iter()
            .map(|row| row.iter().map(level).collect())
            .collect();
        assert_eq!(found.runs().into_iter().collect::<BTreeSet<_>>(), wanted, "{size}");
    }
}
