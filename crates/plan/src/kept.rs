//! What was asked for beside a plan, written beside what came of it: the comparison of caches on
//! one trace, and the search for a policy's parameters. Both are kept so that a reader knows what
//! was done; no command reads them back yet.

use crate::cache_trace::CacheTrace;
use crate::takes::{Switch, Whole};
use crate::write::Writer;

/// Caches that are compared on one trace: every policy at every size.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheComparison {
    /// What they are asked for.
    pub trace: CacheTrace,
    /// The eviction policies, as they were written.
    pub policies: Vec<String>,
    /// The sizes, as they were written.
    pub sizes: Vec<String>,
    /// Which missed objects come in; all without one.
    pub admit: Option<String>,
    /// So many requests, or such a share, after which is counted apart as well.
    pub skip: Option<String>,
    /// Whether it is told what no policy undercuts.
    pub bound: bool,
    /// Whether misses are told by the size of objects.
    pub by_size: bool,
}

impl CacheComparison {
    /// The text of it, complete.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = Writer::default();
        self.trace.write(&mut out);
        out.section("cache");
        out.list("policy", self.policies.iter().cloned());
        out.list("size", self.sizes.iter().cloned());
        self.admit.iter().for_each(|admit| out.text("admit", admit));
        self.skip.iter().for_each(|skip| out.text("skip", skip));
        out.put("bound", &Switch, &self.bound);
        out.put("by_size", &Switch, &self.by_size);
        out.finish()
    }
}

/// A search for the parameters of a policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Tuning {
    /// The label of the policy.
    pub policy: String,
    /// The parameters that are varied, each with its values.
    pub vary: Vec<(String, Vec<String>)>,
    /// What is wished for: `least cost with lost < 0.1%`.
    pub wish: String,
    /// Fresh replications by which the best is told.
    pub replications: u64,
}

impl Tuning {
    /// The text of it, complete, to stand after a plan.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = Writer::default();
        out.section("tune");
        out.text("policy", &self.policy);
        out.text("wish", &self.wish);
        out.put("replications", &Whole(0..=u64::MAX), &self.replications);
        out.section("tune.vary");
        for (name, values) in &self.vary {
            out.list(name, values.iter().cloned());
        }
        out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_toml() {
        let comparison = CacheComparison {
            trace: CacheTrace {
                file: "/traces/day \"one\".csv".into(),
                format: Some("csv".to_owned()),
                columns: None,
                changes: None,
                fresh: std::time::Duration::from_secs(3600),
            },
            policies: vec!["lru".to_owned(), "slru:segments=2".to_owned()],
            sizes: vec!["10%".to_owned()],
            admit: Some("max:1MB".to_owned()),
            skip: None,
            bound: false,
            by_size: true,
        };
        let read: toml_edit::DocumentMut = comparison.to_toml().parse().unwrap();
        assert_eq!(read["trace"]["file"].as_str(), Some("/traces/day \"one\".csv"));
        assert_eq!(read["cache"]["policy"][1].as_str(), Some("slru:segments=2"));
        assert_eq!(read["cache"]["admit"].as_str(), Some("max:1MB"));
        assert!(read["cache"].get("skip").is_none());
        let tuning = Tuning {
            policy: "calm".to_owned(),
            vary: vec![("upper".to_owned(), vec!["60".to_owned(), "70".to_owned()])],
            wish: "least cost with lost < 1%".to_owned(),
            replications: 10,
        };
        let read: toml_edit::DocumentMut = tuning.to_toml().parse().unwrap();
        assert_eq!(read["tune"]["vary"]["upper"][1].as_str(), Some("70"));
        assert_eq!(read["tune"]["replications"].as_integer(), Some(10));
    }
}
