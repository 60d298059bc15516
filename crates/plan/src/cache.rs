//! `[cache]`: caches that are compared on one trace, every policy at every size.

use crate::cache_trace::CacheTrace;
use crate::error::PlanErrors;
use crate::plan::{NAME, Opened, TOP};
use crate::section::{Reading, Section};
use crate::setting::Setting;
use crate::source::Source;
use crate::takes::{List, Switch};
use crate::tree::Table;
use crate::vocabulary::{Known, Meant, Vocabulary};
use crate::write::Writer;

section! {
    /// Caches that are compared on one trace, every policy at every size.
    ["cache"; read, write, default]
    pub struct Cache {
        /// The eviction policies, with their settings.
        policy: Vec<String> { List(Known(Meant::Eviction, "policy"), "list of policies"),
            or vec!["lru".to_owned()], r#"["lru", "slru:segments=2"]"# }
        /// The sizes: bytes, objects, or a share of what the trace asks for.
        size: Vec<String> { List(Known(Meant::CacheSize, "size"), "list of sizes"),
            or ["0.1%", "1%", "10%"].map(str::to_owned).to_vec(), r#"["10MB", "962obj", "10%"]"# }
        /// Which missed objects come in: max:SIZE, second or random:SHARE; all without it.
        admit: Option<String> { Known(Meant::Admission, "filter"), "max:1MB" }
        /// What follows so many requests, or such a share of them, is counted apart as well.
        skip: Option<String> { Known(Meant::Skip, "count or share"), "10%" }
        /// Tells for each size what no policy undercuts.
        bound: bool { Switch, or false, "true" }
        /// Tells misses by the size of objects too, in powers of ten.
        by_size: bool { Switch, or false, "true" }
    }
}

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
    /// Reads a plan with flags laid over it; `origin` is the name of its file. No file is opened.
    ///
    /// # Errors
    /// All that is wrong with it, each with its place.
    pub fn parse(
        text: &str,
        origin: &str,
        settings: &[Setting],
        vocabulary: &'static Vocabulary,
    ) -> Result<Self, PlanErrors> {
        Self::read_from(Source::file(origin, text), settings, vocabulary)
    }

    /// A plan of flags alone.
    ///
    /// # Errors
    /// As for [`CacheComparison::parse`]; what is missing is missing from the `command line`.
    pub fn assemble(
        settings: &[Setting],
        vocabulary: &'static Vocabulary,
    ) -> Result<Self, PlanErrors> {
        Self::read_from(Source::flag("command line", ""), settings, vocabulary)
    }

    fn read_from(
        source: Source,
        settings: &[Setting],
        vocabulary: &'static Vocabulary,
    ) -> Result<Self, PlanErrors> {
        let Opened { reading, root } = Opened::source(source, settings, Some(vocabulary))?;
        match Self::read(&reading, &root) {
            Some(plan) if !reading.is_faulty() => Ok(plan),
            _ => Err(reading.into_errors()),
        }
    }

    fn read(reading: &Reading, root: &Table) -> Option<Self> {
        let top = Section::over(reading, root, &TOP);
        let own = ["name", "folder", CacheTrace::SECTION.path, Cache::SECTION.path];
        for key in TOP.keys().map(|key| key.name).filter(|key| top.has(key) && !own.contains(key)) {
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
        Some(Self { name: top.get("name", &NAME), trace: trace?, cache: cache? })
    }

    /// The plan as a complete text, which reads back the same from the working folder.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = Writer::default();
        self.name.iter().for_each(|name| out.put("name", &NAME, name));
        self.trace.write(&mut out);
        self.cache.write(&mut out);
        out.finish()
    }
}
