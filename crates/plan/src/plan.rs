//! The plan as a whole: read from a text, from flags, or from both; written as a complete text.

use std::path::{Path, PathBuf};

use crate::caches;
use crate::key::SectionKeys;
use crate::kind::{self, PlanKind};
use crate::opened::{Written, plan_of};
use crate::reading::error::PlanErrors;
use crate::reading::secret::REDACTED;
use crate::reading::standing::Places;
use crate::reading::tree::Table;
use crate::reading::{Reading, Unfilled};
use crate::section::Section;
use crate::sections::collect::Collect;
use crate::sections::elastic::Elastic;
use crate::sections::ever;
use crate::sections::experiment::{
    Experiment, FactorPlan, check_apart, check_between, check_constraints, read_factors,
    write_factors,
};
use crate::sections::fleet::Fleet;
use crate::sections::hosts::check_hosts;
use crate::sections::link::{Link, read_links, write_links};
use crate::sections::load::Load;
use crate::sections::measure::Measure;
use crate::sections::own_factors::{POLICY, TYPE, add_of_pool, compares_types, only};
use crate::sections::search::Search;
use crate::sections::store::Store;
use crate::sections::target::Target;
use crate::sections::testbed::{Role, Testbed, read_roles, write_roles};
use crate::sections::top::Top;
use crate::sections::tune::Tune;
use crate::sections::watch::{Watch, read_watches, write_watches};
use crate::varied::Varied;
use crate::vocabulary::Vocabulary;
use crate::write::Writer;

/// A complete plan: every value typed and checked, defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What reports call the run.
    pub name: Option<String>,
    /// Where all randomness of the run comes from.
    pub seed: u64,
    /// How many times the plan is run; at least 1.
    pub repeat: u32,
    /// How many seconds of a pool's life pass in one of the clock; `None` where the plan does not
    /// say.
    pub speed: Option<f64>,
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
    /// What is varied, and how; `None` where the plan does not say.
    pub experiment: Option<Experiment>,
    /// The levels of each factor.
    pub factors: Vec<FactorPlan>,
    /// Which processes offer the load together; `None` where this one does alone.
    pub fleet: Option<Fleet>,
    /// Where the servers under test stand; `None` where the plan starts none.
    pub testbed: Option<Testbed>,
    /// The servers under test by the names of their roles, in the order in which they are started.
    pub roles: Vec<(String, Role)>,
    /// How far their instances are from each other, by name.
    pub links: Vec<(String, Link)>,
    /// What is watched.
    pub collect: Collect,
    /// What is told while a load goes on, by name.
    pub watches: Vec<(String, Watch)>,
    /// Which parameters of a policy are looked for; `None` where the plan is of no such search.
    pub tune: Option<Tune>,
    /// The folder that the files of the plan, and recipes of its own, are told from.
    pub folder: PathBuf,
    /// Keys that were filled in from the environment, as they were written.
    pub unfilled: Unfilled,
    /// Where its roles stand, where that is known: scenarios name them too.
    pub places: Places,
}

impl Plan {
    /// Reads a plan. A flag wins over the same key of the text, and over the keys that exclude it
    /// there. The files that the text names are in the folder of its file, those of a flag in the
    /// working folder. No file is opened.
    ///
    /// # Errors
    /// All that is wrong with it, up to twenty faults, each with its place; those of a flag name
    /// the flag, and what is missing of flags alone is missing from the `command line`.
    pub fn read(of: &Written<'_>, vocabulary: &'static Vocabulary) -> Result<Self, PlanErrors> {
        plan_of(of, vocabulary, Self::of)
    }

    fn of(reading: &Reading, root: &Table) -> Option<Self> {
        let top = Section::over(reading, root, Top::SECTION);
        let Top { name, seed, repeat, speed, .. } = Top::read_keys(&top)?;
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
        let given = |keys: &'static SectionKeys| top.has(keys.path).then(|| open(keys));
        let search = given(Search::SECTION).and_then(|of| Search::read(&of));
        let load = Load::read(&open(Load::SECTION), &target, search.as_ref());
        let repeat = check_repeat(&top, repeat, search.as_ref());
        let measure = Measure::read(&open(Measure::SECTION));
        let experiment = given(Experiment::SECTION).and_then(|of| Experiment::read(&of));
        let fleet = given(Fleet::SECTION).and_then(|of| Fleet::read_beside(&of, &top));
        let mut factors = read_factors(reading, root);
        let is_pool = search.is_none() && !top.has(Tune::SECTION.path);
        if is_pool && (experiment.is_some() || !factors.is_empty() || compares_types(root)) {
            add_of_pool(reading, root, &mut factors);
        }
        check_types(&top, root, is_pool);
        let varied = (repeat, experiment.as_ref(), &factors[..]);
        let of_load = (&open(Load::SECTION), load.as_ref());
        ever::check(of_load, varied, is_of_model(root, elastic.as_ref()));
        let asks = is_simulated && elastic.as_ref().is_none_or(|of| of.pool.asks_cloud());
        let testbed = given(Testbed::SECTION).and_then(|of| Testbed::read(&of, asks));
        if let Some(of) = &experiment {
            let can_restart = testbed.is_some() || target.restart.is_some();
            check_between(&open(Experiment::SECTION), of, can_restart);
            check_apart(&open(Experiment::SECTION), of, &factors);
            check_constraints(&open(Experiment::SECTION), &of.constraints, &factors);
        }
        let roles = read_roles(reading, root, testbed.as_ref());
        if let Some(testbed) = &testbed {
            check_hosts(reading, root, &open(Testbed::SECTION), testbed, &roles);
        }
        let links = read_links(reading, root, testbed.as_ref(), &roles);
        let collect = Collect::read(&open(Collect::SECTION));
        let tune = top.has(Tune::SECTION.path).then(|| Tune::read(&open(Tune::SECTION))).flatten();
        check_tuned(&top, tune.is_some() && elastic.is_none());
        Some(Self {
            name,
            seed,
            repeat,
            speed,
            target,
            store,
            load: load?,
            search,
            measure: measure?,
            elastic,
            experiment,
            factors,
            fleet,
            testbed,
            roles,
            links,
            collect: collect?,
            watches: read_watches(reading, root),
            tune,
            folder: reading.folder().to_owned(),
            unfilled: reading.unfilled.clone(),
            places: reading.places.clone(),
        })
    }

    /// The plan as a complete text: defaults filled in, secrets left out. Read again from the
    /// working folder it gives the same plan, but for the secrets and the folder that it lies in.
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
        let mut out = Writer::with(&self.unfilled);
        let folder = folder.map(|folder| folder.display().to_string());
        let (name, repeat) = (self.name.clone(), Some(self.repeat));
        Top { name, seed: self.seed, repeat, speed: self.speed, folder }.write_keys(&mut out, &[]);
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
        self.experiment.iter().for_each(|of| of.write(&mut out));
        write_factors(&self.factors, &mut out);
        self.fleet.iter().for_each(|of| of.write(&mut out));
        self.testbed.iter().for_each(|of| of.write(&mut out));
        write_roles(&self.roles, &mut out);
        write_links(&self.links, &mut out);
        if self.collect != Collect::default() {
            self.collect.write(&mut out);
        }
        write_watches(&self.watches, &mut out);
        self.tune.iter().for_each(|tune| tune.write(&mut out));
        out.finish()
    }

    /// What it varies. The policies and the instance types of a pool are factors of its experiment;
    /// a single one is a level that all cells have.
    #[must_use]
    pub fn varied(&self) -> Varied {
        let is_pool = self.search.is_none() && self.tune.is_none();
        let pool = || self.elastic.iter().filter(|_| is_pool);
        let policies: Vec<&str> = pool().flat_map(|of| &of.policies).map(|of| &*of.label).collect();
        let types: Vec<&str> = pool().flat_map(|of| &of.types).map(|of| &*of.label).collect();
        Varied {
            seed: self.seed,
            repeat: self.repeat,
            experiment: self.experiment.clone(),
            factors: self.factors.clone(),
            common: [only(TYPE, &types), only(POLICY, &policies)].concat(),
            slo: self.measure.slo.as_ref().map(ToString::to_string),
        }
    }

    /// Whether it is an experiment of more than the policies and the instance types that stand in
    /// it: `plimsoll run` executes such plans.
    #[must_use]
    pub fn is_designed(&self) -> bool {
        self.experiment.is_some() || self.factors.iter().any(|of| !of.is_own())
    }

    /// The labels of the instance types that are compared, in their order; none where the plan has
    /// no types.
    #[must_use]
    pub fn types(&self) -> Vec<String> {
        let factor = self.factors.iter().find(|of| of.key == TYPE && of.is_own());
        let all = || self.elastic.iter().flat_map(|of| &of.types).map(|of| of.label.clone());
        factor.map_or_else(|| all().collect(), |of| of.levels.clone())
    }

    /// Leaves those of its policies that are among some labels, and of its instance types; of a
    /// kind that none of them names all stay.
    pub fn keep(&mut self, labels: &[String]) {
        let Some(elastic) = &mut self.elastic else { return };
        let is_named = |of: &str| labels.iter().any(|label| label == of);
        if elastic.policies.iter().any(|of| is_named(&of.label)) {
            elastic.policies.retain(|of| is_named(&of.label));
        }
        if elastic.types.iter().any(|of| is_named(&of.label)) {
            elastic.types.retain(|of| is_named(&of.label));
        }
        elastic.instance =
            elastic.types.first().map_or(elastic.instance.clone(), |of| of.instance.clone());
        let policies: Vec<&str> = elastic.policies.iter().map(|of| &*of.label).collect();
        let types: Vec<&str> = elastic.types.iter().map(|of| &*of.label).collect();
        for factor in self.factors.iter_mut().filter(|of| of.is_own()) {
            let known = if factor.key == TYPE { &types } else { &policies };
            factor.levels.retain(|level| known.contains(&&**level));
            factor.sets.truncate(factor.levels.len());
        }
        self.factors.retain(|of| of.levels.len() > 1);
    }

    /// The plan with nothing but the policies that are compared, in their order, and one of its
    /// instance types, where it has some.
    #[must_use]
    pub fn chosen(mut self, instance_type: Option<&str>) -> Self {
        let factor = self.factors.iter().find(|of| of.key == POLICY && of.is_own());
        let levels = factor.map(|of| of.levels.clone());
        let Some(elastic) = &mut self.elastic else { return self };
        if let Some(levels) = levels {
            let place = |label: &String| levels.iter().position(|level| level == label);
            elastic.policies.retain(|of| place(&of.label).is_some());
            elastic.policies.sort_by_key(|of| place(&of.label));
        }
        if let Some(label) = instance_type {
            elastic.types.retain(|of| of.label == label);
            elastic.instance = elastic
                .types
                .first()
                .map_or_else(|| elastic.instance.clone(), |of| of.instance.clone());
        }
        self
    }

    /// The role whose instances somebody else starts and ends: that of a pool that follows.
    #[must_use]
    pub fn followed(&self) -> Option<&str> {
        let pool = &self.elastic.as_ref()?.pool;
        pool.follow.as_ref()?;
        pool.role.as_deref()
    }

    /// Whether somebody else starts and ends the instances of a role.
    #[must_use]
    pub fn is_followed(&self, role: &str) -> bool {
        self.followed() == Some(role)
    }

    /// Whether it is an experiment: what it varies, or how often, is its own to say.
    #[must_use]
    pub fn is_experiment(&self) -> bool {
        self.experiment.is_some() || !self.factors.is_empty()
    }

    /// The keys whose secrets are left out where the plan is written: they stand in it.
    #[must_use]
    pub fn hides(&self) -> Vec<String> {
        let text = self.to_toml();
        // In a URL the mark is encoded.
        let is_hidden = |line: &&str| line.contains(REDACTED) || line.contains("redacted%E2%80%A6");
        let keys = text.lines().filter(is_hidden).filter_map(|line| line.split_once('='));
        keys.map(|(key, _)| key.trim().to_owned()).collect()
    }

    /// The keys whose secrets were left out when the plan was printed. Who executes a plan refuses
    /// where there are any.
    #[must_use]
    pub fn redacted(&self) -> Vec<String> {
        let of_roles = self.roles.iter().flat_map(|(role, of)| {
            of.redacted().map(move |name| format!("the value `{name}` of role.{role}"))
        });
        self.target.redacted().into_iter().chain(of_roles).collect()
    }

    /// The files that the plan names, but for those that are secret.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let elastic = self.elastic.iter().flat_map(Elastic::files);
        let copied = self.roles.iter().flat_map(|(_, role)| role.files.values());
        let copied = copied.filter(|of| !of.is_secret).map(|of| &of.from);
        let of_all = self.testbed.iter().filter_map(|of| of.user_data.as_ref());
        let rented = self.roles.iter().filter_map(|(_, role)| role.user_data.as_ref());
        let own = self.target.files().chain(self.load.files());
        own.chain(elastic).chain(copied).chain(of_all).chain(rented).cloned().collect()
    }
}

/// Refuses several instance types where nothing compares them.
fn check_types(top: &Section<'_>, root: &Table, is_pool: bool) {
    if compares_types(root) && (!is_pool || !top.has("policy")) {
        let message = "several instance types are compared in a pool, under its policies";
        let hint = "leave all but one [instance.LABEL] out, or give a [policy.LABEL]";
        top.fault("instance", message, Some(hint));
    }
}

/// Whether a plan is of a pool that has no servers, so that it can only be simulated.
fn is_of_model(root: &Table, elastic: Option<&Elastic>) -> bool {
    let has_servers = elastic.is_some_and(|of| of.pool.role.is_some());
    kind::of(root) == PlanKind::Pool && !has_servers
}

/// Notes a search for parameters of a pool that there is not.
fn check_tuned(top: &Section<'_>, lacks_pool: bool) {
    if lacks_pool {
        let hint = "give [pool], [instance] and [policy.LABEL] too";
        top.fault(Tune::SECTION.path, "`tune` goes with a pool", Some(hint));
    }
}

/// How many times the plan is run: once more than a search has restarts, where it has some.
fn check_repeat(top: &Section<'_>, repeat: Option<u32>, search: Option<&Search>) -> u32 {
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
