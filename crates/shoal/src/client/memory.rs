//! What a client remembers from one call to the next: the last good answers, and which values it
//! wrote itself, so that it never takes one of them for the site's static list.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Use;
use super::choose::Candidate;
use plimsoll_net::url::is_host;

/// The file's content.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    found: BTreeMap<String, KnownCaches>,
    /// What was last written into the file of settings, and before that: one of both is there
    /// whenever a client is killed.
    written: Vec<String>,
    /// What stood there before anything was written.
    fixed: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct KnownCaches {
    unix_s: f64,
    caches: Vec<Remembered>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
struct Remembered {
    host: String,
    port: u16,
    band: Option<u32>,
}

impl Memory {
    /// From a file's text; what is damaged is as good as absent.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> String {
        // A value of such a type has a JSON text always.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// The caches that last delivered, believed no more than an answer is, and when that was in
    /// seconds since 1970.
    #[must_use]
    pub fn found(&self, purpose: Use) -> (Vec<Candidate>, f64) {
        let Some(found) = self.found.get(purpose.path()) else { return (Vec::new(), 0.0) };
        let fine = found.caches.iter().filter(|cache| is_host(&cache.host) && cache.port > 0);
        let caches = fine.map(|cache| Candidate {
            host: cache.host.clone(),
            port: cache.port,
            band: cache.band,
        });
        (caches.collect(), found.unix_s)
    }

    /// Remembers what delivered at a time.
    pub fn keep_found(&mut self, purpose: Use, caches: &[Candidate], unix_s: f64) {
        let caches = caches.iter().map(|cache| Remembered {
            host: cache.host.clone(),
            port: cache.port,
            band: cache.band,
        });
        let found = KnownCaches { unix_s, caches: caches.collect() };
        self.found.insert(purpose.path().to_owned(), found);
    }

    /// The static list, where a file of settings has this value: the value itself unless it is one
    /// of ours, and then what stood there before.
    #[must_use]
    pub fn fixed(&self, value: Option<String>) -> Option<String> {
        match value {
            Some(value) if self.written.contains(&value) => self.fixed.clone(),
            None if !self.written.is_empty() => self.fixed.clone(),
            value => value,
        }
    }

    /// Remembers what is about to be written over a value.
    pub fn keep_written(&mut self, value: &str, fixed: Option<&str>) {
        self.fixed = fixed.map(str::to_owned);
        if self.written.first().is_none_or(|first| first != value) {
            self.written.insert(0, value.to_owned());
            self.written.truncate(2);
        }
    }
}
