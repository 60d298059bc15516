//! What factors are called where a person reads them: by the last word of their keys, where that
//! tells them apart.

use crate::document::Analysis;

/// The factors' keys, each as short as it can be told from the others: `users` of `load.users`.
#[must_use]
pub fn short<'a>(keys: &[&'a str]) -> Vec<&'a str> {
    let last = |key: &'a str, parts: usize| {
        let mut starts = key.rmatch_indices('.').map(|(at, _)| at + 1);
        starts.nth(parts - 1).map_or(key, |start| &key[start..])
    };
    let one = |key: &&'a str| {
        let most = key.split('.').count();
        let is_own = |parts: &usize| {
            let mut like = keys.iter().filter(|other| last(other, *parts) == last(key, *parts));
            like.nth(1).is_none()
        };
        last(key, (1..=most).find(is_own).unwrap_or(most))
    };
    keys.iter().map(one).collect()
}

impl Analysis {
    /// What a factor is called: `users` of `load.users`, where no other one ends so.
    #[must_use]
    pub fn short<'a>(&'a self, factor: &'a str) -> &'a str {
        let keys: Vec<&str> = self.experiment.factors.iter().map(|of| of.factor.as_str()).collect();
        let place = keys.iter().position(|key| *key == factor);
        place.map_or(factor, |place| short(&keys)[place])
    }

    /// What several factors are called together: `users × timeout`.
    #[must_use]
    pub fn short_of_all(&self, factors: &[String]) -> String {
        let all: Vec<&str> = factors.iter().map(|of| self.short(of)).collect();
        all.join(" × ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_short_as_they_can_be_told_apart() {
        assert_eq!(short(&["load.users", "load.timeout"]), ["users", "timeout"]);
        assert_eq!(
            short(&["role.web.cpu", "role.db.cpu", "policy"]),
            ["web.cpu", "db.cpu", "policy"]
        );
        assert_eq!(short(&["cpu", "role.cpu"]), ["cpu", "role.cpu"]);
        assert!(short(&[]).is_empty());
    }
}
