//! What a worker makes of what it is told: a plan, made ready on this host.

use std::io::Write;
use std::net::IpAddr;
use std::path::Path;

use plimsoll_fleet::message::{CellsJob, Job};
use plimsoll_fleet::worker::{CellSession, CellsEnd, Made, Make, Refusal};
use plimsoll_load::Pacing;
use plimsoll_load::run::Offer;
use plimsoll_plan::Written;
use plimsoll_runs::experiment::INPUTS;
use plimsoll_units::own::OwnFolder;
use rustix::fs::OFlags;

use super::folder::WorkerFolder;
use super::rules::Rules;
use crate::again::{again, lacking};
use crate::error::ExperimentError;
use crate::plans;
use crate::prepare::division::{asked, is_never_asked, protocol_of};
use crate::prepare::{Place, prepare};
use crate::world::search::of_search;

/// The most that a worker is given, bytes.
const MOST_GIVEN: u64 = 2 << 30;
/// The most files that it is given.
const MOST_FILES: usize = 1000;

/// A worker, as it makes ready what it is told.
pub struct Worker<'a> {
    place: Place<'a>,
    /// What it does for strangers; `None` where its controller is whoever started it.
    rules: Option<&'a Rules>,
    given: Option<GivenFiles>,
}

/// The files that it was given, in a folder of its own.
pub(super) struct GivenFiles {
    folder: WorkerFolder,
    files: OwnFolder,
    names: Vec<String>,
    bytes: u64,
    /// The most that they may have in all, bytes.
    most_bytes: u64,
}

impl<'a> Worker<'a> {
    /// One at a place.
    #[must_use]
    pub fn new(place: Place<'a>) -> Self {
        Self { place, rules: None, given: None }
    }

    /// One that serves strangers, at a place whose reach is that of the rules.
    #[must_use]
    pub fn of_strangers(place: Place<'a>, rules: &'a Rules) -> Self {
        Self { place, rules: Some(rules), given: None }
    }

    /// The folder of the files that it is given.
    fn given(&mut self) -> Result<&mut GivenFiles, Refusal> {
        if self.given.is_none() {
            let [word, ..] = (self.place.key)();
            let folder = WorkerFolder::new(word, self.place.is_alone);
            let folder = folder.map_err(|error| Refusal::of(&error))?;
            let files = folder.make_inner(INPUTS).map_err(|error| Refusal::of(&error))?;
            let most_bytes = self.rules.and_then(|of| of.most_disk_bytes).unwrap_or(MOST_GIVEN);
            let (names, bytes) = (Vec::new(), 0);
            self.given = Some(GivenFiles { folder, files, names, bytes, most_bytes });
        }
        self.given.as_mut().ok_or_else(|| refusal("it has no folder".to_owned()))
    }
}

impl GivenFiles {
    fn take(&mut self, name: &str, piece: &[u8]) -> Result<(), Refusal> {
        if Path::new(name).file_name() != Some(name.as_ref()) || name.len() > 255 {
            return Err(refusal(format!("a file cannot be called `{name}`")));
        }
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        let is_new = !self.names.iter().any(|of| of == name);
        if self.bytes > self.most_bytes || (is_new && self.names.len() >= MOST_FILES) {
            return Err(refusal(format!("`{name}`, and what was before, is more than it takes")));
        }
        let mut flags = OFlags::WRONLY | OFlags::APPEND;
        if is_new {
            self.names.push(name.to_owned());
            flags |= OFlags::CREATE | OFlags::EXCL;
        }
        let file = self.files.file(name.as_ref(), flags);
        let mut file = file.map_err(|error| Refusal::of(&error))?;
        file.write_all(piece).map_err(|error| refusal(format!("write `{name}`: {error}")))
    }

    /// A plan that reads what was given in the place of the files that it names.
    pub(super) fn moved(&self, plan: &str) -> Result<String, Refusal> {
        let beside = self.folder.path().join("plan.toml");
        match lacking(&beside) {
            Some(path) => {
                let path = path.display();
                Err(refusal(format!("{path} has changed while it was given to workers")))
            }
            None => Ok(again(&beside, plan).text),
        }
    }
}

pub(super) fn refusal(why: String) -> Refusal {
    Refusal { why, hint: None, is_usage: false }
}

impl Make for Worker<'_> {
    fn take(&mut self, name: &str, piece: &[u8]) -> Result<(), Refusal> {
        self.given()?.take(name, piece)
    }

    fn make(&mut self, job: &Job) -> Result<Made, Refusal> {
        // They are gone when the plan is ready: it has read them.
        let given = self.given.take();
        let text = match &given {
            Some(given) => given.moved(&job.plan)?,
            None => job.plan.clone(),
        };
        made(job, &text, &self.place, self.rules)
    }

    fn cells(&mut self, job: &CellsJob, session: &CellSession<'_>) -> Result<(), CellsEnd> {
        if let Some(rules) = self.rules {
            rules.simulates()?;
        }
        // Cells may read them, each anew.
        let given = self.given.take();
        let text = match &given {
            Some(given) => given.moved(&job.plan)?,
            None => job.plan.clone(),
        };
        super::cells::execute(job, &text, &self.place, session)
    }
}

/// Makes ready what a worker is told to do.
fn made(job: &Job, text: &str, place: &Place<'_>, rules: Option<&Rules>) -> Result<Made, Refusal> {
    let refused = |error: &ExperimentError| Refusal::of(error);
    if rules.is_some() {
        Rules::is_of_load(text)?;
    }
    let written = Written::text(text, "the plan of the controller", &[]);
    let plan = plans::read(&written.within(place.environment));
    let plan = plan.map_err(|error| refused(&error.into()))?;
    if let Some(rules) = rules {
        rules.may_prepare(&plan)?;
    }
    let prepared = prepare(&plan, place, true).map_err(|error| refused(&error))?;
    let mut config = prepared.config;
    let may_ask = |address: &IpAddr| job.may_ask.contains(address) && !is_never_asked(address);
    if let Some(address) = asked(&config).into_iter().find(|address| !may_ask(address)) {
        return Err(refusal(format!("it may not ask {address}")));
    }
    let protocol = protocol_of(&config);
    if protocol != job.protocol {
        let wanted = &job.protocol;
        let why = format!("the target speaks {protocol} with it, and {wanted} with others");
        return Err(refusal(why));
    }
    config.part = job.part.into();
    config.threads = job.threads;
    if let Some(is_precise) = job.is_precise {
        config.pacing = if is_precise { Pacing::Precise } else { Pacing::Thrifty };
    }
    if job.is_search {
        let offer = Offer::Open { parts: Vec::new(), limit: None };
        let config = of_search(&config);
        let most_rate_per_s = rules.and_then(|rules| rules.most_of_all(job));
        rules.iter().try_for_each(|rules| rules.keeps_connections(&config))?;
        return Ok(Made { config, offer, most_rate_per_s });
    }
    let most_rate_per_s = rules.and_then(|rules| rules.most_of_all(job));
    if let Some(rules) = rules {
        rules.keeps_connections(&config)?;
        rules.keeps_rate(&prepared.offer, most_rate_per_s)?;
    }
    Ok(Made { config, offer: prepared.offer, most_rate_per_s })
}
