//! What the page shows of the clusters: which of them, by what letter, and which share a plot.

use std::fs::File;
use std::io::Read;

use plimsoll_cache::about::{About, CLUSTER, ClusterFile};
use plimsoll_cache::cluster::Counts;
use plimsoll_runs::{Phase, Run, RunError, Tag};

use crate::cells::{Cells, Row};
use crate::document::{Block, Cell, chart, letter};
use crate::error::ReportError;
use crate::pages::tones::tone;
use plimsoll_draw::chart::plot::Plot;

/// Most clusters of a page.
const MOST: usize = 200;
/// Most lines of a plot.
const MOST_LINES: usize = 8;
/// Most plots of a section that are open.
const MOST_OPEN: usize = 6;

/// The most bytes of a file that are read.
const MAX_BYTES: u64 = 64 << 20;

/// A cluster, with what its run keeps of it.
pub(super) struct Cluster<'a> {
    /// Its figures.
    pub(super) row: &'a Row,
    /// What was counted in its first replication.
    pub(super) file: ClusterFile,
}

/// Those clusters that kept what is drawn of them.
pub(super) fn clusters(cells: &Cells) -> Result<Vec<Cluster<'_>>, ReportError> {
    let mut all = Vec::new();
    for row in &cells.rows {
        let Some(run) = &row.run else { continue };
        let file = read(run).map_err(ReportError::of(run))?;
        all.extend(file.map(|file| Cluster { row, file }));
    }
    Ok(all)
}

/// What a run keeps of its cluster; `None` where there is nothing that can be understood.
fn read(run: &Run) -> Result<Option<ClusterFile>, RunError> {
    let mut text = Vec::new();
    let opened = File::open(run.path().join(CLUSTER));
    let Ok(file) = opened else { return Ok(None) };
    if file.take(MAX_BYTES).read_to_end(&mut text).is_err() {
        return Ok(None);
    }
    let Ok(mut file) = serde_json::from_slice::<ClusterFile>(&text) else { return Ok(None) };
    file.counts.response_ns = run.histogram(Phase::Measured, Tag::Response)?;
    Ok(Some(file))
}

/// The clusters of a page.
pub(super) struct Shown<'a> {
    /// What they were asked for.
    pub(super) about: &'a About,
    /// How many were simulated.
    pub(super) of: usize,
    /// Those that are shown, in their order; each with its letter.
    pub(super) all: Vec<(String, &'a Cluster<'a>)>,
    /// Which of them share a plot.
    pub(super) groups: Vec<Group>,
}

/// Clusters of one plot, by their numbers.
pub(super) struct Group {
    /// Their label; empty where all are in one plot.
    pub(super) label: String,
    /// All of them.
    pub(super) all: Vec<usize>,
    /// Those with a line, which are those with the fewest misses.
    pub(super) lines: Vec<usize>,
}

impl<'a> Shown<'a> {
    /// All clusters; of very many, those with the lowest miss ratios.
    pub(super) fn of(about: &'a About, clusters: &'a [Cluster<'a>], of: usize) -> Self {
        let counts: Vec<&Counts> = clusters.iter().map(|of| &of.file.counts).collect();
        let kept = fewest_misses(&counts, (0..counts.len()).collect(), MOST);
        let cell = |number: usize| (letter(number), &clusters[number]);
        let all: Vec<_> = kept.into_iter().map(cell).collect();
        Self { about, of, groups: groups(&all), all }
    }

    /// The counts of one.
    pub(super) fn counts(&self, number: usize) -> &'a Counts {
        &self.all[number].1.file.counts
    }

    /// The name of one, after its letter.
    pub(super) fn name(&self, number: usize) -> String {
        let (letter, cell) = &self.all[number];
        format!("{letter} {}", cell.file.name)
    }

    /// The head of a row of one.
    pub(super) fn cell(&self, number: usize) -> Cell {
        let (letter, cell) = &self.all[number];
        Cell::lettered(letter, &cell.file.name)
    }

    /// The numbers of all.
    pub(super) fn numbers(&self) -> Vec<usize> {
        (0..self.all.len()).collect()
    }

    /// A chart a group; those of many groups are folded away.
    pub(super) fn by_group(&self, draw: impl Fn(usize, &Group) -> Plot) -> Vec<Block> {
        let block = |(place, group): (usize, &Group)| {
            let block = Block::Charts(vec![chart(draw(place, group))]);
            match place < MOST_OPEN {
                true => block,
                false => Block::Folded(group.label.clone(), vec![block]),
            }
        };
        self.groups.iter().enumerate().map(block).collect()
    }

    /// Whether bytes are known.
    pub(super) fn is_sized(&self) -> bool {
        self.about.is_sized()
    }

    /// Whether something was counted in any of them.
    pub(super) fn any(&self, count: impl Fn(&Counts) -> u64) -> bool {
        self.all.iter().any(|(_, cell)| count(&cell.file.counts) > 0)
    }

    /// So many of them at most, those with the fewest misses, in their order.
    pub(super) fn best(&self, most: usize) -> Vec<usize> {
        best(&self.all, (0..self.all.len()).collect(), most)
    }
}

impl Group {
    /// The classes of the line of a cluster; none where it has no line.
    pub(super) fn tone(&self, number: usize) -> String {
        let place = self.lines.iter().position(|&line| line == number);
        place.map_or_else(String::new, tone)
    }

    /// What a reader has to know of lines that are not there, and which table has them; empty where
    /// all are.
    pub(super) fn note(&self, table: &str) -> String {
        if self.lines.len() == self.all.len() {
            return String::new();
        }
        format!(
            " Drawn are the {} with the lowest miss ratios of {}; {table} has all.",
            self.lines.len(),
            self.all.len()
        )
    }
}

/// All in one where their lines fit, else by their labels.
fn groups(all: &[(String, &Cluster<'_>)]) -> Vec<Group> {
    let group = |label: &str, numbers: Vec<usize>| Group {
        label: label.to_owned(),
        lines: best(all, numbers.clone(), MOST_LINES),
        all: numbers,
    };
    if all.len() <= MOST_LINES {
        return vec![group("", (0..all.len()).collect())];
    }
    let mut labels: Vec<&str> = Vec::new();
    for (_, cell) in all {
        if !labels.contains(&cell.file.label.as_str()) {
            labels.push(&cell.file.label);
        }
    }
    let of = |label: &&str| {
        let numbers = (0..all.len()).filter(|&number| all[number].1.file.label == *label);
        group(label, numbers.collect())
    };
    labels.iter().map(of).collect()
}

fn best(all: &[(String, &Cluster<'_>)], numbers: Vec<usize>, most: usize) -> Vec<usize> {
    let counts: Vec<&Counts> = all.iter().map(|(_, cell)| &cell.file.counts).collect();
    fewest_misses(&counts, numbers, most)
}

/// So many of some at most, those with the lowest miss ratios; of equal ones the first. In the
/// order in which they were given.
fn fewest_misses(counts: &[&Counts], numbers: Vec<usize>, most: usize) -> Vec<usize> {
    if numbers.len() <= most {
        return numbers;
    }
    let mut ranked = numbers;
    ranked.sort_by(|&a, &b| {
        counts[a].miss_ratio().total_cmp(&counts[b].miss_ratio()).then(a.cmp(&b))
    });
    ranked.truncate(most);
    ranked.sort_unstable();
    ranked
}
