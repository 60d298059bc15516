//! Requests of a log that nothing is asked again for, each under its reason.

use std::collections::BTreeMap;

use plimsoll_units::show_count;

use super::entry::Entry;
use super::reading::excerpt;

/// How many methods are counted by name.
const MAX_METHODS: usize = 20;

/// How much of a method's name is shown, in bytes.
const METHOD_BYTES: usize = 20;

/// Requests that are left out, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut {
    methods: BTreeMap<String, u64>,
    /// Requests of methods beyond the first twenty.
    pub other_methods: u64,
    /// Requests whose line says what was asked for, but by no method.
    pub without_method: u64,
    /// Requests of what is no URL to ask for: `-`, `*`, `host:port`, garbage.
    pub without_url: u64,
    /// Requests of URLs beyond the most that are kept, or beyond the room for their text.
    pub beyond: u64,
}

impl LeftOut {
    /// Requests left out in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        let named: u64 = self.methods.values().sum();
        named + self.other_methods + self.without_method + self.without_url + self.beyond
    }

    /// Requests left out for their method, by its name.
    pub fn methods(&self) -> impl Iterator<Item = (&str, u64)> + '_ {
        self.methods.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// A text for each reason, with its count: `3 of POST`, `1 without a URL`.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let named = self.methods().map(|(name, count)| (count, format!("of {name}")));
        let others = [
            (self.other_methods, "of other methods"),
            (self.without_method, "without a method"),
            (self.without_url, "without a URL"),
            (self.beyond, "of URLs beyond the most that are kept"),
        ];
        let others = others.into_iter().map(|(count, reason)| (count, reason.to_owned()));
        let all = named.chain(others).filter(|(count, _)| *count > 0);
        all.map(|(count, reason)| format!("{} {reason}", show_count(count))).collect()
    }

    /// Counts a request whose method is not asked for.
    pub(super) fn method(&mut self, entry: &Entry<'_>) {
        if entry.method.is_empty() {
            let reason = if entry.target.is_empty() {
                &mut self.without_url
            } else {
                &mut self.without_method
            };
            *reason += 1;
            return;
        }
        let name = excerpt(entry.method, METHOD_BYTES);
        if let Some(count) = self.methods.get_mut(&name) {
            *count += 1;
        } else if self.methods.len() < MAX_METHODS {
            self.methods.insert(name, 1);
        } else {
            self.other_methods += 1;
        }
    }
}
