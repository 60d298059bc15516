//! Every combination of factors' levels.

/// Every combination of one level of each factor; the last factor changes fastest.
pub fn full<'a, K: Clone, V: Clone>(
    factors: &'a [(K, &'a [V])],
) -> impl Iterator<Item = Vec<(K, V)>> + 'a {
    (0..size(factors)).map(|number| {
        let mut rest = number;
        let level = |(factor, levels): &(K, &[V])| {
            let level = levels[rest % levels.len()].clone();
            rest /= levels.len();
            (factor.clone(), level)
        };
        let mut levels: Vec<(K, V)> = factors.iter().rev().map(level).collect();
        levels.reverse();
        levels
    })
}

/// How many combinations there are: none where a factor has no level.
pub fn size<K, V>(factors: &[(K, &[V])]) -> usize {
    factors.iter().map(|(_, levels)| levels.len()).fold(1, usize::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_factor_changes_fastest() {
        let (letters, numbers) = (['a', 'b'], ['1', '2', '3']);
        let factors: [(&str, &[char]); 2] = [("letter", &letters), ("number", &numbers)];
        let all: Vec<String> =
            full(&factors).map(|of| of.iter().map(|(_, level)| level).collect()).collect();
        assert_eq!(all, ["a1", "a2", "a3", "b1", "b2", "b3"]);
        assert_eq!(full::<&str, char>(&[]).collect::<Vec<_>>(), [vec![]]);
        let none: [(&str, &[char]); 2] = [("letter", &letters), ("number", &[])];
        assert_eq!(full(&none).count(), 0);
    }
}
