//! Experiments that are made up, in a folder of their own: written as a command writes them, so
//! that pages read what was stored.

use std::collections::BTreeMap;

use plimsoll_analysis::{Analysis, analyse};
use plimsoll_report::{Document, ReportError, Source, document};
use plimsoll_runs::experiment::{Cell, Experiment, ExperimentMeta, Journal, State};
use plimsoll_runs::{
    Class, End, Ended, Event, FigureRow, Kind, LoadMeta, Names, RunMeta, RunWriter, World,
};

/// A cell that is done.
pub(crate) struct Kept<'a> {
    pub(crate) factors: Vec<(&'a str, String)>,
    pub(crate) replication: u32,
    pub(crate) figures: Vec<FigureRow>,
    /// Writes what is only in its run; without it there is none.
    pub(crate) run: Option<&'a dyn Fn(&mut RunWriter)>,
}

/// What all cells have in common.
#[derive(Debug, Clone)]
pub(crate) struct CellDefaults {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    pub(crate) subject: String,
    pub(crate) about: String,
    pub(crate) plan: String,
    pub(crate) warnings: Vec<String>,
    /// What was found over all cells, each by its kind.
    pub(crate) results: Vec<(String, String)>,
}

impl CellDefaults {
    pub(crate) fn kind(kind: Kind) -> Self {
        let text = String::new;
        let (warnings, results) = (Vec::new(), Vec::new());
        let subject = "something".to_owned();
        Self { kind, name: text(), subject, about: text(), plan: text(), warnings, results }
    }

    /// The page of an experiment of such cells.
    pub(crate) fn document(&self, cells: &[Kept<'_>]) -> Document {
        self.titled(cells, None)
    }

    pub(crate) fn titled(&self, cells: &[Kept<'_>], title: Option<&str>) -> Document {
        let root = tempfile::tempdir().unwrap();
        let experiment = self.write(root.path(), cells);
        let analysis = analyse(&experiment).unwrap();
        document(Source::Experiment(&experiment, &analysis), title.map(str::to_owned)).unwrap()
    }

    /// The page of an experiment whose analysis is changed before: of what cells do not come to
    /// here.
    pub(crate) fn changed(&self, cells: &[Kept<'_>], change: impl Fn(&mut Analysis)) -> Document {
        let root = tempfile::tempdir().unwrap();
        let experiment = self.write(root.path(), cells);
        let mut analysis = analyse(&experiment).unwrap();
        change(&mut analysis);
        document(Source::Experiment(&experiment, &analysis), None).unwrap()
    }

    /// The page of two experiments: what was measured, and what was predicted.
    pub(crate) fn worlds(
        &self,
        live: &[Kept<'_>],
        simulated: &[Kept<'_>],
    ) -> Result<Document, ReportError> {
        let roots = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let one = self.write(roots[0].path(), live);
        let other = self.write(roots[1].path(), simulated);
        let of = [analyse(&one).unwrap(), analyse(&other).unwrap()];
        document(Source::Worlds { live: (&one, &of[0]), simulated: (&other, &of[1]) }, None)
    }

    fn write(&self, root: &std::path::Path, kept: &[Kept<'_>]) -> Experiment {
        let meta = ExperimentMeta {
            id: "20261026T120000-a1b2".to_owned(),
            name: self.name.clone(),
            kind: self.kind,
            subject: self.subject.clone(),
            about: self.about.clone(),
            started_unix_ns: 1_790_000_000_000_000_000,
            version: "0.1.0".to_owned(),
            plan_text: self.plan.clone(),
            plan_file: String::new(),
            tags: [].into(),
        };
        let mut journal = Journal::create(root, &meta).unwrap();
        let cells: Vec<Cell> = (1..).zip(kept).map(|(number, of)| cell(number, of)).collect();
        journal.plan(&cells).unwrap();
        for (cell, of) in cells.iter().zip(kept) {
            journal.begin(cell, 0).unwrap();
            if let Some(write) = of.run {
                let meta = self.run_meta(&meta.id, cell);
                let mut writer = RunWriter::create_cell(journal.folder(), &meta).unwrap();
                write(&mut writer);
                writer.figures(&of.figures).unwrap();
                writer.finish(End::new(Ended::Complete)).unwrap();
            }
            journal.figures(cell.number, &of.figures).unwrap();
            journal.end(cell.number, State::Done, "", 1).unwrap();
        }
        let warnings = self.warnings.iter().map(|text| ("warning", text.as_str()));
        let results = self.results.iter().map(|(kind, text)| (kind.as_str(), text.as_str()));
        for (kind, text) in warnings.chain(results) {
            let (kind, text) = (kind.to_owned(), text.to_owned());
            let event = Event { at_ns: 0, class: Class::Run, kind, text };
            journal.event(None, &event).unwrap();
        }
        journal.finish(&Ended::Complete, 1).unwrap()
    }

    fn run_meta(&self, experiment: &str, cell: &Cell) -> RunMeta {
        RunMeta {
            id: format!("{experiment}/{:04}", cell.number),
            kind: self.kind,
            cell: cell.number,
            name: self.name.clone(),
            subject: self.subject.clone(),
            about: self.about.clone(),
            factors: cell.factors.clone(),
            tags: [].into(),
            started_unix_ns: 1_790_000_000_000_000_000,
            version: "0.1.0".to_owned(),
            seed: cell.seed,
            plan_text: self.plan.clone(),
            plan_sha256: String::new(),
            inputs_sha256: None,
            warmup_ns: 0,
            duration_ns: 0,
            slo: None,
            load: matches!(self.kind, Kind::Load | Kind::Search).then(load),
            world: World::Simulated,
            host: Vec::new(),
        }
    }
}

fn load() -> LoadMeta {
    LoadMeta {
        workload: None,
        threads: 1,
        pacing: "precise".to_owned(),
        patience_ns: 1_000_000_000,
        samples: false,
        names: Names::default(),
    }
}

fn cell(number: u32, of: &Kept<'_>) -> Cell {
    let factors: BTreeMap<String, String> =
        of.factors.iter().map(|(factor, level)| ((*factor).to_owned(), level.clone())).collect();
    Cell {
        number,
        place: number,
        factors,
        replication: of.replication,
        block: 0,
        seed: u64::from(of.replication) + 1,
        world: World::Simulated,
        hash: number.to_string(),
    }
}
