//! A plan of single caches that are compared on a recorded trace.

use crate::opened::{Written, plan_of};
use crate::reading::Reading;
use crate::reading::error::PlanErrors;
use crate::reading::tree::Table;
use crate::section::Section;
use crate::sections::cache::Cache;
use crate::sections::cache_trace::CacheTrace;
use crate::sections::top::Top;
use crate::vocabulary::Vocabulary;
use crate::write::Writer;

/// A plan of single caches: every policy at every size, on a recorded trace.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheComparison {
    /// What reports call it.
    pub name: Option<String>,
    /// What they are asked for.
    pub trace: CacheTrace,
    /// The caches.
    pub cache: Cache,
}

impl CacheComparison {
    /// Reads a plan, as [`crate::Plan::read`] does.
    ///
    /// # Errors
    /// All that is wrong with it, each with its place.
    pub fn read(of: &Written<'_>, vocabulary: &'static Vocabulary) -> Result<Self, PlanErrors> {
        plan_of(of, vocabulary, Self::of)
    }

    fn of(reading: &Reading, root: &Table) -> Option<Self> {
        let top = Section::over(reading, root, Top::SECTION);
        reading.refuse_environment();
        let own = ["name", "folder", CacheTrace::SECTION.path, Cache::SECTION.path];
        for key in
            Top::SECTION.keys().map(|key| key.name).filter(|key| top.has(key) && !own.contains(key))
        {
            let message = format!("`{key}` does not go with [cache]");
            top.fault(key, message, Some("a [cache] is compared on a recorded [trace] alone"));
        }
        let trace = Section::open(reading, root, CacheTrace::SECTION);
        if trace.has("changes") {
            let hint = "clusters have copies that grow old: give [cluster], or leave it out";
            trace.fault("changes", "`changes` does not go with [cache]", Some(hint));
        }
        let trace = CacheTrace::read(&trace);
        let cache = Cache::read(&Section::open(reading, root, Cache::SECTION));
        Some(Self { name: Top::read_keys(&top)?.name, trace: trace?, cache: cache? })
    }

    /// The plan as a complete text, which reads back the same from the working folder.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = Writer::default();
        self.name.iter().for_each(|name| out.text("name", name));
        self.trace.write(&mut out);
        self.cache.write(&mut out);
        out.finish()
    }
}
