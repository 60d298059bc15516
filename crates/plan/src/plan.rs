//! The plan as a whole: read from a text, from flags, or from both; written as a complete text.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::caches;
use crate::elastic::Elastic;
use crate::error::PlanErrors;
use crate::key::SectionKeys;
use crate::load::Load;
use crate::measure::Measure;
use crate::search::Search;
use crate::section::{Reading, Section};
use crate::setting::{Setting, lay_over, write_out};
use crate::source::Source;
use crate::store::Store;
use crate::takes::{Count, Describe, File, Line, Nested, Small, Whole};
use crate::target::Target;
use crate::tree::{Table, read};
use crate::tune::Tune;
use crate::vocabulary::Vocabulary;
use crate::write::Writer;

/// What reports call a run.
pub(crate) const NAME: Line = Line("text");
/// A seed, or any other number.
pub(crate) const SEED: Whole = Count(0..=u64::MAX);
const REPEAT: Small = Count(1..=1_000_000_u32);

/// The keys above any section, and the sections.
pub(crate) static TOP: SectionKeys = SectionKeys {
    path: "",
    about: "A plan: what is asked of whom, how much and when, and by what a run is judged.",
    groups: &[&[
        key!("name": NAME, "before the cache", "What reports call the run."),
        key!("seed": SEED, or 1, "7", "Where all randomness of the run comes from."),
        key!("repeat": REPEAT, or 1, "5", "How many times the plan is run."),
        key!("folder": Folder, said "the plan's", "/home/me/plans",
            "Where the files that the plan names are."),
        key!("target": Nested("table"), "", "What is asked: the section `[target]`."),
        key!("store": Nested("table"), said "{}", "",
            "What a store is asked for: the section `[store]`."),
        key!("load": Nested("table"), "", "How much is asked, and when: the section `[load]`."),
        key!("search": Nested("table"), "",
            "How a capacity is searched for: the section `[search]`."),
        key!("measure": Nested("table"), said "{}", "",
            "What the run is judged by: the section `[measure]`."),
        key!("pool": Nested("table"), "",
            "How many instances there may be: the section `[pool]`."),
        key!("instance": Nested("table"), "",
            "What one of them can do: the section `[instance]`."),
        key!("balancer": Nested("table"), "",
            "Which one takes a request: the section `[balancer]`."),
        key!("billing": Nested("table"), "", "What they cost: the section `[billing]`."),
        key!("policy": Nested("table"), "",
            "Who decides how many there are: `[policy.LABEL]`."),
        key!("tune": Nested("table"), "",
            "Which parameters of a policy are looked for: the section `[tune]`."),
        key!("trace": Nested("table"), "",
            "What caches are asked for: the section `[trace]`."),
        key!("workload": Nested("table"), "",
            "What is made up for them: the section `[workload]`."),
        key!("latency": Nested("table"), said "{}", "",
            "What each way costs: the section `[latency]`."),
        key!("cluster": Nested("table"), "",
            "Clusters of caches: `[cluster]` and `[cluster.LABEL]`."),
        key!("cache": Nested("table"), "",
            "Single caches that are compared on a trace: the section `[cache]`."),
    ]],
    shorthand: None,
    choices: &[],
};

/// A folder: of a plan's key from the plan's own, of a flag from the working folder.
pub(crate) struct Folder;

impl Describe for Folder {
    fn takes(&self) -> String {
        "folder".to_owned()
    }

    fn schema(&self) -> Json {
        File.schema()
    }
}

/// A text that is TOML, with the flags over it, before anything is understood of it.
pub(crate) struct Opened {
    pub(crate) reading: Reading,
    pub(crate) root: Table,
}

impl Opened {
    pub(crate) fn file(
        text: &str,
        origin: &str,
        settings: &[Setting],
        vocabulary: Option<&'static Vocabulary>,
    ) -> Result<Self, PlanErrors> {
        Self::source(Source::file(origin, text), settings, vocabulary)
    }

    pub(crate) fn source(
        mut file: Source,
        settings: &[Setting],
        vocabulary: Option<&'static Vocabulary>,
    ) -> Result<Self, PlanErrors> {
        let folder = Path::new(&file.origin).parent().unwrap_or(Path::new("")).to_path_buf();
        let root = read(&mut file);
        let mut reading = Reading::new(file);
        reading.vocabulary = vocabulary;
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
        // A plan that is kept elsewhere says where its files are.
        let given = root.get("folder").and_then(|entry| {
            let name = reading.line(&entry.node)?;
            let is_flag = reading.is_flag(entry.node.place);
            Some(if is_flag { PathBuf::from(name) } else { folder.join(name) })
        });
        reading.set_folder(given.unwrap_or(folder));
        Ok(Self { reading, root })
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
    /// Which parameters of a policy are looked for; `None` where the plan is of no such search.
    pub tune: Option<Tune>,
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

    /// As [`Plan::parse_with`], with what higher floors know of policies and figures.
    ///
    /// # Errors
    /// As for [`Plan::parse_with`], and names and parameters that are none.
    pub fn parse_checked(
        text: &str,
        origin: &str,
        settings: &[Setting],
        vocabulary: &'static Vocabulary,
    ) -> Result<Self, PlanErrors> {
        Self::read_from(Source::file(origin, text), settings, Some(vocabulary))
    }

    fn read_from(
        file: Source,
        settings: &[Setting],
        vocabulary: Option<&'static Vocabulary>,
    ) -> Result<Self, PlanErrors> {
        let Opened { reading, root } = Opened::source(file, settings, vocabulary)?;
        match Self::read(&reading, &root) {
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

    fn read(reading: &Reading, root: &Table) -> Option<Self> {
        let top = Section::over(reading, root, &TOP);
        let name = top.get("name", &NAME);
        let seed = top.get("seed", &SEED).unwrap_or(1);
        for section in caches::SECTIONS.into_iter().filter(|section| top.has(section)) {
            let message = format!("[{section}] goes with clusters of caches, not with a load");
            top.fault(section, message, Some("`plimsoll cache simulate PLAN` reads such plans"));
        }
        let elastic = Elastic::read(reading, root);
        // What is simulated needs no server.
        let is_simulated = Elastic::is_in(root);
        let open = |keys| Section::open(reading, root, keys);
        let target = Target::read(&open(Target::SECTION), is_simulated)?;
        let store = Store::read(&open(Store::SECTION), &target);
        let search = top.has(Search::SECTION.path).then(|| Search::read(&open(Search::SECTION)));
        let search = search.flatten();
        let load = Load::read(&open(Load::SECTION), &target, search.as_ref());
        let repeat = read_repeat(&top, search.as_ref());
        let measure = Measure::read(&open(Measure::SECTION));
        let tune = top.has(Tune::SECTION.path).then(|| Tune::read(&open(Tune::SECTION))).flatten();
        if tune.is_some() && elastic.is_none() {
            let hint = "give [pool], [instance] and [policy.LABEL] too";
            top.fault(Tune::SECTION.path, "`tune` goes with a pool", Some(hint));
        }
        Some(Self {
            name,
            seed,
            repeat,
            target,
            store,
            load: load?,
            search,
            measure: measure?,
            elastic,
            tune,
        })
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
            out.put("name", &NAME, name);
        }
        out.put("seed", &SEED, &self.seed);
        out.put("repeat", &REPEAT, &self.repeat);
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
        self.tune.iter().for_each(|tune| tune.write(&mut out));
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
    let repeat = top.get("repeat", &REPEAT);
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
