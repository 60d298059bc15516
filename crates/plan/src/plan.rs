//! The plan as a whole: read from a text, from flags, or from both; written as a complete text.

use std::path::{Path, PathBuf};

use crate::caches;
use crate::elastic::Elastic;
use crate::error::PlanErrors;
use crate::key::{SectionKeys, key};
use crate::load::{LOAD, Load};
use crate::measure::{MEASURE, Measure};
use crate::policies::CheckPolicy;
use crate::search::{SEARCH, Search};
use crate::section::{Reading, Section};
use crate::setting::{Setting, lay_over, write_out};
use crate::source::Source;
use crate::store::{STORE, Store};
use crate::target::{TARGET, Target};
use crate::target_reader::file;
use crate::tree::{Table, read};
use crate::write::Writer;

/// The keys above any section, and the sections.
pub(crate) static TOP: SectionKeys = SectionKeys::plain(
    "",
    &[
        key("name", "text", "–", r#""before the cache""#, "What reports call the run."),
        key("seed", "count", "1", "7", "Where all randomness of the run comes from."),
        key("repeat", "count", "1", "5", "How many times the plan is run."),
        key(
            "folder",
            "folder",
            "the plan's",
            r#""/home/me/plans""#,
            "Where the files that the plan names are.",
        ),
        key("target", "table", "–", "", "What is asked: the section `[target]`."),
        key("store", "table", "{}", "", "What a store is asked for: the section `[store]`."),
        key("load", "table", "–", "", "How much is asked, and when: the section `[load]`."),
        key("search", "table", "–", "", "How a capacity is searched for: the section `[search]`."),
        key("measure", "table", "{}", "", "What the run is judged by: the section `[measure]`."),
        key("pool", "table", "–", "", "How many instances there may be: the section `[pool]`."),
        key("instance", "table", "–", "", "What one of them can do: the section `[instance]`."),
        key("balancer", "table", "–", "", "Which one takes a request: the section `[balancer]`."),
        key("billing", "table", "–", "", "What they cost: the section `[billing]`."),
        key("policy", "table", "–", "", "Who decides how many there are: `[policy.LABEL]`."),
        key("trace", "table", "–", "", "What caches are asked for: the section `[trace]`."),
        key("workload", "table", "–", "", "What is made up for them: the section `[workload]`."),
        key("latency", "table", "{}", "", "What each way costs: the section `[latency]`."),
        key("cluster", "table", "–", "", "Clusters of caches: `[cluster]` and `[cluster.LABEL]`."),
    ],
);

/// A text that is TOML, with the flags over it, before anything is understood of it.
pub(crate) struct Opened {
    pub(crate) reading: Reading,
    pub(crate) root: Table,
    /// The folder of the file.
    pub(crate) folder: PathBuf,
}

impl Opened {
    pub(crate) fn file(text: &str, origin: &str, settings: &[Setting]) -> Result<Self, PlanErrors> {
        Self::source(Source::file(origin, text), settings)
    }

    fn source(mut file: Source, settings: &[Setting]) -> Result<Self, PlanErrors> {
        let folder = Path::new(&file.origin).parent().unwrap_or(Path::new("")).to_path_buf();
        let root = read(&mut file);
        let mut reading = Reading::new(file);
        let mut root = match root {
            Ok(root) => root,
            Err(fault) => {
                reading.note(*fault);
                return Err(reading.into_errors());
            }
        };
        write_out(&mut root);
        for fault in lay_over(&mut root, &mut reading.sources, settings) {
            reading.note(fault);
        }
        Ok(Self { reading, root, folder })
    }
}

/// A complete plan: every value typed and checked, defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What reports call the run.
    pub name: Option<String>,
    /// Where all randomness of the run comes from.
    pub seed: u64,
    /// How many times the plan is run; at least 1.
    pub repeat: u32,
    /// What is asked, of whom.
    pub target: Target,
    /// What a store is asked for; `None` where the target is none.
    pub store: Option<Store>,
    /// How much is asked, and when.
    pub load: Load,
    /// How a capacity is searched for; `None` where the plan is of no search. The load is the
    /// search's own then.
    pub search: Option<Search>,
    /// What the run is judged by.
    pub measure: Measure,
    /// A pool of instances and its policies; `None` where the plan is of none.
    pub elastic: Option<Elastic>,
}

impl Plan {
    /// Reads a plan. `origin` is the name of its file: errors show it, and the files that the plan
    /// names are looked for in its folder. No file is opened.
    ///
    /// # Errors
    /// All that is wrong with it, up to twenty faults, each with its place.
    pub fn parse(text: &str, origin: &str) -> Result<Self, PlanErrors> {
        Self::parse_with(text, origin, &[])
    }

    /// Reads a plan with flags laid over it. A flag wins over the same key of the text, and over
    /// the keys that exclude it there; the files it names are in the working folder.
    ///
    /// # Errors
    /// As for [`Plan::parse`]; faults of a flag name the flag.
    pub fn parse_with(text: &str, origin: &str, settings: &[Setting]) -> Result<Self, PlanErrors> {
        Self::read_from(Source::file(origin, text), settings, None)
    }

    /// As [`Plan::parse_with`], with a check of its policies, whose faults are shown in place.
    ///
    /// # Errors
    /// As for [`Plan::parse_with`], and what the check finds.
    pub fn parse_checked(
        text: &str,
        origin: &str,
        settings: &[Setting],
        check: CheckPolicy<'_>,
    ) -> Result<Self, PlanErrors> {
        Self::read_from(Source::file(origin, text), settings, Some(check))
    }

    fn read_from(
        file: Source,
        settings: &[Setting],
        check: Option<CheckPolicy<'_>>,
    ) -> Result<Self, PlanErrors> {
        let Opened { reading, root, folder } = Opened::source(file, settings)?;
        match Self::read(&reading, &root, &folder, check) {
            Some(plan) if !reading.is_faulty() => Ok(plan),
            _ => Err(reading.into_errors()),
        }
    }

    /// A plan of flags alone.
    ///
    /// # Errors
    /// As for [`Plan::parse_with`]; what is missing is missing from the `command line`.
    pub fn assemble(settings: &[Setting]) -> Result<Self, PlanErrors> {
        Self::read_from(Source::flag("command line", ""), settings, None)
    }

    fn read(
        reading: &Reading,
        root: &Table,
        origin_folder: &Path,
        check: Option<CheckPolicy<'_>>,
    ) -> Option<Self> {
        let top = Section::over(reading, root, &TOP);
        let folder = file(&top, "folder", origin_folder);
        let folder = folder.unwrap_or_else(|| origin_folder.to_path_buf());
        let name = top.line("name").map(str::to_owned);
        let seed = top.whole("seed", 0..=u64::MAX).unwrap_or(1);
        for section in caches::SECTIONS.into_iter().filter(|section| top.has(section)) {
            let message = format!("[{section}] goes with clusters of caches, not with a load");
            top.fault(section, message, Some("`plimsoll cache simulate PLAN` reads such plans"));
        }
        let elastic = Elastic::read(reading, root, &folder, check);
        // What is simulated needs no server.
        let is_simulated = Elastic::is_in(root);
        let target = Target::read(&Section::open(reading, root, &TARGET), &folder, is_simulated);
        let store = Store::read(&Section::open(reading, root, &STORE), &target);
        let search = top.has(SEARCH.path).then(|| Section::open(reading, root, &SEARCH));
        let search = search.map(|section| Search::read(&section));
        let load = Section::open(reading, root, &LOAD);
        let load = Load::read(&load, &folder, &target, search.as_ref());
        let repeat = read_repeat(&top, search.as_ref());
        let measure = Measure::read(&Section::open(reading, root, &MEASURE));
        Some(Self { name, seed, repeat, target, store, load: load?, search, measure, elastic })
    }

    /// The plan as a complete text: defaults filled in, secrets left out. Read again from the
    /// working folder it gives the same plan, but for the secrets.
    #[must_use]
    pub fn to_toml(&self) -> String {
        self.write(None)
    }

    /// As [`Plan::to_toml`], for a copy that is kept elsewhere: `working_folder`, absolute, says
    /// where its files are.
    #[must_use]
    pub fn to_toml_from(&self, working_folder: &Path) -> String {
        self.write(Some(working_folder))
    }

    fn write(&self, folder: Option<&Path>) -> String {
        let mut out = Writer::default();
        if let Some(name) = &self.name {
            out.text("name", name);
        }
        out.whole("seed", self.seed);
        out.whole("repeat", u64::from(self.repeat));
        if let Some(folder) = folder {
            out.text("folder", folder.display());
        }
        self.target.write(&mut out);
        if let Some(store) = &self.store {
            store.write(&mut out);
        }
        self.load.write(&mut out, &self.target, self.search.is_some());
        self.search.iter().for_each(|search| search.write(&mut out));
        self.measure.write(&mut out);
        if let Some(elastic) = &self.elastic {
            elastic.write(&mut out);
        }
        out.finish()
    }

    /// The keys whose secrets were left out when the plan was printed. Who executes a plan refuses
    /// where there are any.
    #[must_use]
    pub fn redacted(&self) -> Vec<String> {
        self.target.redacted()
    }

    /// The files that the plan names.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let elastic = self.elastic.iter().flat_map(Elastic::files);
        self.target.files().chain(self.load.files()).chain(elastic).cloned().collect()
    }
}

/// How many times the plan is run: once more than a search has restarts, where it has some.
fn read_repeat(top: &Section<'_>, search: Option<&Search>) -> u32 {
    let repeat = top.small("repeat", 1..=1_000_000);
    let Some(restarts) = search.and_then(|search| search.restarts) else {
        return repeat.unwrap_or(1);
    };
    if repeat.is_some_and(|repeat| repeat != restarts + 1) {
        let message = format!(
            "expected `repeat` one more than the `restarts` of [search], {}, found {}",
            restarts + 1,
            repeat.unwrap_or(1)
        );
        top.fault("repeat", message, Some("keep one of them"));
    }
    restarts + 1
}
