//! A screening, as the cells of an experiment tell it: which runs come next, and what it ended
//! with. Both the experiment that goes on with it and the page that tells of it read it here, so
//! that they cannot come to different ends.

use plimsoll_plan::{Experiment, FactorPlan};
use plimsoll_runs::Kind;
use plimsoll_runs::experiment::LeftOut;
use plimsoll_stats::design::{Design, full};
use plimsoll_stats::figure::{self, Better, Figure};
use plimsoll_stats::screening::{self, Next, Outcome, Outcomes, Run, ScreeningEnd, ScreeningError};
use plimsoll_units::show_count;

use crate::Study;
use crate::document::{Best, CellResult, Levels, state};
use crate::ranking::{combinations, compared};
use crate::respond::{asked_goal, by_default, figure_of};

/// The screening of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Screening {
    combinations: Vec<Levels>,
    /// The word for the figure of its goal.
    goal: String,
    procedure: screening::Screening,
}

impl Screening {
    /// That of a plan; `None` where its design is another one.
    ///
    /// # Errors
    /// Factors that cannot be screened; a goal of which neither more nor less is better.
    pub fn of(
        asked: &Experiment,
        (factors, common): (&[FactorPlan], &[(String, String)]),
        kind: Kind,
    ) -> Result<Option<Self>, ScreeningError> {
        if asked.design != Design::Screening {
            return Ok(None);
        }
        let (goal, way) = asked_goal(asked, by_default(kind));
        let better = match way {
            Some(better) => better,
            None => usual(goal, kind).map_or(Better::Neither, |figure| figure.better),
        };
        let levels: Vec<(String, Vec<usize>)> =
            factors.iter().map(|of| (of.key.clone(), (0..of.levels.len()).collect())).collect();
        let levels: Vec<(String, &[usize])> =
            levels.iter().map(|(key, of)| (key.clone(), &of[..])).collect();
        let text = |at: usize, level: usize| factors[at].levels[level].clone();
        let (mut combinations, mut places) = (Vec::new(), Vec::new());
        for one in full(&levels) {
            let named: Vec<(String, String)> = one
                .iter()
                .enumerate()
                .map(|(at, (key, of))| (key.clone(), text(at, *of)))
                .collect();
            if asked.refusing(&named).is_none() {
                combinations.push(named.iter().chain(common).cloned().collect());
                places.push(one.into_iter().map(|(_, level)| level).collect());
            }
        }
        let procedure = screening::Screening::new(places, asked.replications, better)?;
        Ok(Some(Self { combinations, goal: goal.to_owned(), procedure }))
    }

    /// The most runs that it takes.
    #[must_use]
    pub fn budget(&self) -> usize {
        self.procedure.budget()
    }

    /// The levels of a combination, by its place.
    #[must_use]
    pub fn levels(&self, place: usize) -> &Levels {
        &self.combinations[place]
    }

    /// What follows from the cells so far. Cells that are still to be executed have no outcome, and
    /// are asked for; those that failed have none either, and are not asked for again.
    #[must_use]
    pub fn next(&self, cells: &[CellResult]) -> Next {
        let figure = figure_of(&self.goal, cells);
        let outcome = |cell: &CellResult| {
            let combination = self.combinations.iter().position(|of| *of == cell.factors)?;
            let run = Run { replication: cell.replication, combination };
            Some((run, outcome(cell, figure)?))
        };
        let outcomes: Outcomes = cells.iter().filter_map(outcome).collect();
        self.procedure.next(&outcomes)
    }

    /// What it ended with; `None` where it goes on.
    pub(crate) fn end(&self, cells: &[CellResult]) -> Option<ScreeningEnd> {
        match self.next(cells) {
            Next::Done(found) => Some(*found),
            Next::Run { .. } => None,
        }
    }

    /// What it ended with, in a sentence.
    #[must_use]
    pub fn told(&self, found: &ScreeningEnd) -> String {
        let runs = format!(
            "the screening ended after {} of at most {} runs",
            show_count(found.runs as u64),
            show_count(self.budget() as u64)
        );
        match &found.best {
            Some(best) => {
                format!("{runs}: the best is {}", levels_told(self.levels(best.combination)))
            }
            None => format!("{runs}: no combination holds the SLO"),
        }
    }

    /// The best combination with the next best beside it, and what has to be said of the others.
    pub(crate) fn best(
        &self,
        study: &Study<'_>,
        found: &ScreeningEnd,
        warnings: &mut Vec<String>,
    ) -> Option<Best> {
        let (figure, _) = study.goal?;
        let best = found.best.as_ref()?;
        let factors = self.levels(best.combination);
        let named = |places: &[usize]| -> String {
            let told = places.iter().map(|place| levels_told(self.levels(*place)));
            told.collect::<Vec<_>>().join("; ")
        };
        if !best.ties.is_empty() {
            warnings.push(format!("not told apart from the best: {}", named(&best.ties)));
        }
        if !best.left_out.is_empty() {
            warnings.push(format!(
                "{} combinations ran once, looked worse than others, and are not significantly \
                 worse than the best: more replications in the plan look at more of them again",
                best.left_out.len()
            ));
        }
        if best.never_run > 0 {
            warnings.push(format!(
                "{} combinations never ran, as the others tell that they are worse",
                best.never_run
            ));
        }
        // What it was chosen by is not what is told of it.
        let later: Vec<CellResult> =
            study.cells.iter().filter(|cell| cell.replication > 0).cloned().collect();
        let study = study.of_cells(&later);
        let all = combinations(&study);
        let of = |levels: &Levels| all.iter().find(|of| of.factors == *levels);
        let next = best.second.as_ref().and_then(|second| of(self.levels(second.combination)));
        let pair = of(factors).zip(next);
        Some(Best {
            factors: factors.clone(),
            figure: figure.name,
            value: best.value,
            ci95: best.estimate.map(|of| [of.low, of.high]),
            against: pair
                .and_then(|pair| compared(&study, figure, pair, "next"))
                .into_iter()
                .collect(),
        })
    }
}

fn levels_told(of: &Levels) -> String {
    let levels = of.iter().map(|(key, level)| format!("{key} {level}"));
    levels.collect::<Vec<_>>().join(", ")
}

/// What a cell tells; `None` while it is not executed.
fn outcome(cell: &CellResult, figure: Option<&Figure>) -> Option<Outcome> {
    if cell.state == state::FAILED {
        return Some(Outcome::Missing);
    }
    match cell.why_left_out() {
        Some(LeftOut::NotDone) => return None,
        Some(LeftOut::ServerEnded | LeftOut::Unavailable) => return Some(Outcome::Broken),
        _ if cell.slo == Some(false) => return Some(Outcome::Broken),
        // It says nothing for or against its combination, and no more does a verdict that is none.
        Some(LeftOut::NotValid) => return Some(Outcome::Missing),
        None if cell.has_slo && cell.slo.is_none() => return Some(Outcome::Missing),
        None => {}
    }
    let value = figure.and_then(|figure| cell.figures.get(figure.name));
    Some(value.map_or(Outcome::Missing, |value| Outcome::Held(*value)))
}

/// The figure that a word means before there are cells.
fn usual(word: &str, kind: Kind) -> Option<&'static Figure> {
    let is_usual = |of: &Figure| kind.figures().iter().any(|figure| figure.name == of.name);
    figure::called(word, is_usual).or_else(|| figure::called(word, |_| true))
}
