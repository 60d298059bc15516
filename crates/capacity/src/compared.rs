//! Groups of searches side by side: instance types, places, providers.

use crate::cost::Cost;
use crate::series::{SeriesRun, SeriesSummary};
use plimsoll_stats::outliers::{FEWEST, UNUSUAL, modified_z};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// One search, with what it was of.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// What the load was put on.
    pub target: String,
    /// What the plan calls it; may be empty.
    pub name: String,
    /// The SLO.
    pub slo: String,
    /// The search, with its number in its series.
    pub run: SeriesRun,
}

/// What makes a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The series.
    Series,
    /// The plan's name; the series where it has none.
    Name,
    /// What the load was put on.
    Target,
}

impl By {
    /// The name on the command line and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Series => "series",
            Self::Name => "name",
            Self::Target => "target",
        }
    }

    /// What is so called.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Series, Self::Name, Self::Target].into_iter().find(|by| by.name() == name)
    }
}

/// Searches of one group, before they are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouped {
    /// What the group is called: for series, the plan's name where no other group has it.
    pub group: String,
    /// What makes it.
    pub key: String,
    /// Its searches, each once.
    pub searches: Vec<Search>,
    /// The price of its servers per hour.
    pub price_per_hour: Option<f64>,
}

/// Groups searches, each given with the id of its series, in the order in which groups appear.
#[must_use]
pub fn group(by: By, searches: Vec<(String, Search)>) -> Vec<Grouped> {
    let mut groups: Vec<Grouped> = Vec::new();
    for (series, search) in searches {
        let key = match by {
            By::Name if !search.name.is_empty() => search.name.clone(),
            By::Series | By::Name => series,
            By::Target => search.target.clone(),
        };
        match groups.iter_mut().find(|group| group.key == key) {
            // A series and one of its runs may both have been named.
            Some(group) if group.searches.iter().any(|known| is_same(known, &search)) => {}
            Some(group) => group.searches.push(search),
            None => {
                let named = by == By::Series && !search.name.is_empty();
                let group = if named { search.name.clone() } else { key.clone() };
                let searches = vec![search];
                groups.push(Grouped { group, key, searches, price_per_hour: None });
            }
        }
    }
    let names: Vec<String> = groups.iter().map(|group| group.group.clone()).collect();
    for group in &mut groups {
        if names.iter().filter(|name| **name == group.group).count() > 1 {
            group.group = format!("{} {}", group.group, group.key);
        }
    }
    groups
}

/// Whether two are one search: of one run, or the same gap.
fn is_same(a: &Search, b: &Search) -> bool {
    if a.run.run.is_some() { a.run.run == b.run.run } else { a == b }
}

/// Groups side by side, as `plimsoll capacity compare --json` tells of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The version of the format.
    pub schema: u32,
    /// What a reader has to know, one sentence each.
    pub warnings: Vec<String>,
    /// What makes a group: `series`, `name` or `target`.
    pub by: String,
    /// The groups, in the order in which they were named.
    pub groups: Vec<Group>,
    /// The groups whose median is unusually low among those of all groups.
    pub poor: Vec<String>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// What it is called.
    pub group: String,
    /// What its searches were of; one where all is well.
    pub targets: Vec<String>,
    /// Their SLOs.
    pub slos: Vec<String>,
    /// Its searches in the order of time.
    pub runs: Vec<SeriesRun>,
    /// What they say together.
    #[serde(flatten)]
    pub summary: SeriesSummary,
    /// The modified z-score of its median among those of all groups; `None` for fewer than
    /// five groups.
    pub score: Option<f64>,
}

impl Group {
    /// Whether its median is unusually low among those of the other groups.
    #[must_use]
    pub fn is_poor(&self) -> bool {
        self.score.is_some_and(|score| score < -UNUSUAL)
    }

    fn of(grouped: Grouped) -> Self {
        let Grouped { group, mut searches, price_per_hour, .. } = grouped;
        searches.sort_by_key(|search| (search.run.started_unix_us, search.run.number));
        let distinct = |of: fn(&Search) -> &String| {
            let all: BTreeSet<&String> = searches.iter().map(of).collect();
            all.into_iter().cloned().collect()
        };
        let (targets, slos) = (distinct(|search| &search.target), distinct(|search| &search.slo));
        let runs: Vec<SeriesRun> = searches.into_iter().map(|search| search.run).collect();
        let summary = SeriesSummary::of(&runs, price_per_hour);
        Self { group, targets, slos, runs, summary, score: None }
    }

    /// The median of its estimates.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        self.summary.estimate_per_s.as_ref().map(|described| described.spread.median)
    }

    /// The cost of its requests.
    #[must_use]
    pub fn cost(&self) -> Option<&Cost> {
        self.summary.cost.as_ref()
    }
}

/// Puts groups side by side, each with the price per hour of its servers.
///
/// *Cost:* for each group that of the tests for changes.
#[must_use]
pub fn compare(by: By, groups: Vec<Grouped>) -> Compared {
    let mut groups: Vec<Group> = groups.into_iter().map(Group::of).collect();
    let medians: Vec<f64> = groups.iter().filter_map(Group::median).collect();
    if let Some(scores) = modified_z(&medians) {
        let known = groups.iter_mut().filter(|group| group.summary.found > 0);
        known.zip(scores).for_each(|(group, score)| group.score = Some(score));
    }
    let poor = groups.iter().filter(|group| group.is_poor()).map(|group| group.group.clone());
    let poor = poor.collect();
    let warnings = warnings(&groups);
    Compared { schema: SCHEMA, warnings, by: by.name().to_owned(), groups, poor }
}

fn warnings(groups: &[Group]) -> Vec<String> {
    let mut warnings = Vec::new();
    let slos: BTreeSet<&String> = groups.iter().flat_map(|group| &group.slos).collect();
    if slos.len() > 1 {
        let slos: Vec<&str> = slos.into_iter().map(String::as_str).collect();
        warnings.push(format!(
            "The searches are for different SLOs ({}): their estimates do not compare.",
            slos.join("; ")
        ));
    }
    for group in groups {
        let (name, of) = (&group.group, &group.summary);
        if of.found < of.searches {
            let gaps = of.searches - of.found;
            let are = if gaps == 1 { "is" } else { "are" };
            warnings.push(format!(
                "Of the {} searches of {name}, {gaps} found no estimate and {are} in no figure.",
                of.searches
            ));
        }
        if let Some(text) = of.warn_of_bounds() {
            warnings.push(format!("{name}: {text}"));
        }
        if of.is_too_long() {
            warnings.push(format!("{name} is too long to be searched for changes."));
        }
    }
    let priced = groups.iter().filter(|group| group.cost().is_some()).count();
    if priced > 0 && priced < groups.len() {
        warnings.push("Not every group has a price.".to_owned());
    }
    if (2..FEWEST).contains(&groups.len()) {
        warnings
            .push(format!("Fewer than {FEWEST} groups: none can be told to be unusually poor."));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(name: &str, at: u32, estimate: Option<f64>) -> Search {
        Search {
            target: format!("http://{name}/"),
            name: String::new(),
            slo: "p90<150ms".to_owned(),
            run: SeriesRun {
                number: at,
                run: Some(format!("{name}-{at}")),
                started: String::new(),
                started_unix_us: u64::from(at),
                late_s: 0.0,
                ended: "found".to_owned(),
                estimate_per_s: estimate,
                bound: None,
                ci95: None,
                why: None,
                restarted: false,
            },
        }
    }

    fn grouped(name: &str, searches: Vec<Search>) -> Grouped {
        let (group, key) = (name.to_owned(), name.to_owned());
        Grouped { group, key, searches, price_per_hour: None }
    }

    fn three(name: &str, level: f64) -> Grouped {
        // The order in which they are named is not that of time.
        let searches = (1..=3).rev().map(|at| search(name, at, Some(level + f64::from(at))));
        grouped(name, searches.collect())
    }

    #[test]
    fn searches_are_grouped_and_named() {
        let named = |series: &str, name: &str| {
            let search = Search { name: name.to_owned(), ..search(series, 1, Some(1.0)) };
            (series.to_owned(), search)
        };
        let all = vec![named("s1", "small"), named("s2", ""), named("s3", "small")];
        // Those read from their own folders do not know how late they were.
        let mut again = all.clone();
        again.iter_mut().for_each(|(_, search)| search.run.late_s = 1.0);
        let all = [all, again].concat();
        let names = |by| -> Vec<(String, usize)> {
            let groups = group(by, all.clone());
            groups.into_iter().map(|group| (group.group, group.searches.len())).collect()
        };
        let expected = [("small s1", 1), ("s2", 1), ("small s3", 1)];
        assert_eq!(names(By::Series), expected.map(|(name, n)| (name.to_owned(), n)));
        assert_eq!(names(By::Name), [("small".to_owned(), 2), ("s2".to_owned(), 1)]);
        assert_eq!(names(By::Target)[2].0, "http://s3/");
    }

    #[test]
    fn a_target_that_is_unusually_poor_is_named() {
        let levels = [("a", 28.0), ("b", 27.0), ("c", 29.0), ("d", 28.5), ("e", 27.5), ("f", 9.0)];
        let compared = compare(By::Series, levels.map(|(name, level)| three(name, level)).into());
        assert_eq!(compared.poor, ["f"]);
        assert!(compared.groups[5].is_poor() && !compared.groups[0].is_poor());
        let numbers: Vec<u32> = compared.groups[0].runs.iter().map(|run| run.number).collect();
        assert_eq!(numbers, [1, 2, 3]);
        assert_eq!(compared.warnings, [""; 0]);
    }

    #[test]
    fn a_group_without_an_estimate_has_no_score_and_shifts_none() {
        let levels = [("a", 28.0), ("b", 27.0), ("c", 29.0), ("d", 28.5), ("f", 9.0)];
        let mut groups: Vec<_> = levels.map(|(name, level)| three(name, level)).into();
        groups.insert(1, grouped("gone", vec![search("gone", 1, None)]));
        let compared = compare(By::Target, groups);
        assert_eq!(compared.poor, ["f"]);
        assert_eq!(compared.groups[1].score, None);
        assert!(compared.warnings[0].starts_with("Of the 1 searches of gone, 1 found no estimate"));
    }

    #[test]
    fn what_does_not_compare_is_told() {
        let mut groups = vec![three("a", 1.0), three("b", 2.0)];
        groups[1].searches[0].slo = "p99<1s".to_owned();
        groups[0].price_per_hour = Some(0.17);
        let compared = compare(By::Series, groups);
        assert_eq!(compared.warnings.len(), 3, "{:?}", compared.warnings);
        assert!(compared.warnings[0].contains("different SLOs (p90<150ms; p99<1s)"));
        assert!(compared.warnings[1].contains("Not every group has a price"));
        assert!(compared.groups[0].cost().is_some() && compared.poor.is_empty());
    }
}
