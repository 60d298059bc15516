//! The nearest known word to a mistyped one, for hints.
//!
//! Distance: optimal string alignment (Damerau's insertion, deletion, substitution and exchange of
//! neighbours, no part edited twice), by the usual three-row recursion.

/// Longer words are nobody's typing error.
const MAX_CHARS: usize = 40;

/// The known word with the least edit distance to `word`, ignoring case.
///
/// `None` when the least distance is above a third of the longer word's length (at least one edit
/// is allowed from three characters on). Of equals, the first.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = lower(word)?;
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let Some(other) = lower(candidate) else { continue };
        let longer = word.len().max(other.len());
        let distance = distance(&word, &other);
        if distance * 3 <= longer && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn lower(word: &str) -> Option<Vec<char>> {
    let chars: Vec<char> =
        word.chars().take(MAX_CHARS + 1).map(|c| c.to_ascii_lowercase()).collect();
    (chars.len() <= MAX_CHARS).then_some(chars)
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let substitution = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = substitution.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_intended_word_or_none() {
        let known = ["mean", "max", "errors", "lost", "availability", "rate"];
        assert_eq!(nearest("erors", known), Some("errors"));
        assert_eq!(nearest("Errors", known), Some("errors"));
        assert_eq!(nearest("maen", known), Some("mean"));
        assert_eq!(nearest("availabilty", known), Some("availability"));
        assert_eq!(nearest("mux", known), Some("max"));
        assert_eq!(nearest("throughput", known), None);
        assert_eq!(nearest("moot", known), None, "two edits of four letters are too many");
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }

    #[test]
    fn counts_edits_as_damerau() {
        let d = |a: &str, b: &str| distance(&lower(a).unwrap(), &lower(b).unwrap());
        assert_eq!(d("", "abc"), 3);
        assert_eq!(d("kitten", "sitting"), 3);
        assert_eq!(d("ab", "ba"), 1);
        assert_eq!(d("ca", "abc"), 3);
    }
}
