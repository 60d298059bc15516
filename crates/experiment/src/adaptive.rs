//! Cells that follow from those before: replications until a figure is known well enough, and the
//! runs of a screening.
//!
//! What follows is a function of what is stored of the cells so far. So an experiment that was
//! killed comes to the same cells as one that was not.

use std::collections::BTreeSet;

use plimsoll_analysis::CellResult;
use plimsoll_analysis::screening::Screening;
use plimsoll_plan::Varied;
use plimsoll_runs::Kind;
use plimsoll_runs::experiment::{Cell, UNTIL};
use plimsoll_stats::screening::{Next as Asks, Run, Stage};

use crate::control::{Control, News};
use crate::error::ExperimentError;
use crate::factors;
use crate::record::{CellPlan, Record};
use crate::until::{Next, Until};

/// Executes cells.
pub(crate) type Go<'a> = &'a dyn Fn(&[Cell]) -> Result<(), ExperimentError>;

/// The screening of a plan; `None` where its design is another one.
///
/// # Errors
/// Factors that cannot be screened, and what does not go with a screening.
pub(crate) fn screening(varied: &Varied, kind: Kind) -> Result<Option<Screening>, ExperimentError> {
    let Some(asked) = &varied.experiment else { return Ok(None) };
    let conflict = |text: String| ExperimentError::Conflict(text);
    let found = Screening::of(asked, (&varied.factors, &varied.common), kind)
        .map_err(|error| conflict(format!("screen the combinations: {error}")))?;
    let refused = [("until", asked.until.is_some()), ("repeat", varied.repeat > 1)];
    match refused.iter().find(|(_, is_said)| found.is_some() && *is_said) {
        Some((key, _)) => Err(conflict(format!(
            "run the design `screening` with `{key}`: how often it runs a combination follows from \
             what it finds, within half of the runs of `replications`"
        ))),
        None => Ok(found),
    }
}

/// The cells that are known before the first one is executed: all, or the first ones of a
/// screening.
///
/// # Errors
/// As for [`screening`] and [`factors::cells`].
pub(crate) fn first(varied: &Varied, kind: Kind) -> Result<Vec<CellPlan>, ExperimentError> {
    match screening(varied, kind)? {
        None => factors::cells(varied),
        Some(screening) => match screening.next(&[]) {
            Asks::Run { runs, .. } => planned(varied, &runs),
            Asks::Done(_) => Ok(Vec::new()),
        },
    }
}

/// How many cells a plan has at most, of which so many are known before the first.
///
/// # Errors
/// As for [`screening`].
pub(crate) fn most(varied: &Varied, kind: Kind, known: usize) -> Result<u64, ExperimentError> {
    if let Some(screening) = screening(varied, kind)? {
        return Ok(screening.budget() as u64);
    }
    let (least, most) = (factors::replications(varied), factors::most_replications(varied));
    Ok(known as u64 / u64::from(least.max(1)) * u64::from(most))
}

/// The cells of some runs of a screening. Each has the number that it would have if every
/// combination were executed, so the numbers have gaps.
fn planned(varied: &Varied, runs: &[Run]) -> Result<Vec<CellPlan>, ExperimentError> {
    let all = factors::combinations(varied)?;
    let wanted: BTreeSet<u32> = runs.iter().map(|run| run.replication).collect();
    let is_wanted = |cell: &CellPlan| {
        let is_of = |run: &&Run| {
            run.replication == cell.replication
                && all[run.combination].iter().all(|(key, of)| cell.factors.get(key) == Some(of))
        };
        runs.iter().any(|run| is_of(&run))
    };
    let cells = wanted.into_iter().flat_map(|number| factors::replication(varied, &all, number));
    Ok(cells.filter(is_wanted).collect())
}

/// Executes what follows from the cells that were executed, until nothing does, the user ends it,
/// or the experiment ends early.
///
/// # Errors
/// Those of `go`, and where the record cannot be read or written.
pub(crate) fn go_on(
    varied: &Varied,
    kind: Kind,
    (record, control): (&Record<'_>, &dyn Control),
    go: Go<'_>,
) -> Result<(), ExperimentError> {
    let why = match (screening(varied, kind)?, Until::of(varied)) {
        (Some(screening), _) => screened(varied, &screening, (record, control), go)?,
        (None, Some(until)) => replicated(varied, &until, (record, control), go)?,
        (None, None) => None,
    };
    if let Some(why) = why {
        control.tell(News::Says(&why));
        record.found(None, UNTIL, &why)?;
    }
    Ok(())
}

fn goes_on(record: &Record<'_>, control: &dyn Control) -> bool {
    control.goes_on() && record.goes_on()
}

/// Adds replications until what is known is enough. Returns why it is; `None` where it ended
/// before.
fn replicated(
    varied: &Varied,
    until: &Until,
    (record, control): (&Record<'_>, &dyn Control),
    go: Go<'_>,
) -> Result<Option<String>, ExperimentError> {
    let all = factors::combinations(varied)?;
    for number in factors::replications(varied).. {
        if !goes_on(record, control) {
            break;
        }
        match until.next(&record.outcomes()?, number) {
            Next::Enough(why) => return Ok(Some(why)),
            Next::Replication => {
                let cells = factors::replication(varied, &all, number).into_iter();
                go(&record.plan(cells)?)?;
            }
        }
    }
    Ok(None)
}

/// Executes the runs that a screening asks for. Returns what it ended with; `None` where it was
/// ended before.
fn screened(
    varied: &Varied,
    screening: &Screening,
    (record, control): (&Record<'_>, &dyn Control),
    go: Go<'_>,
) -> Result<Option<String>, ExperimentError> {
    // What failed in a session before is tried anew, as cells of every other design are.
    go(&record.plan(left(varied, &record.outcomes()?)?.into_iter())?)?;
    while goes_on(record, control) {
        match screening.next(&record.outcomes()?) {
            Asks::Done(found) => return Ok(Some(screening.told(&found))),
            Asks::Run { stage, runs } => {
                control.tell(News::Says(&stage_told(stage, runs.len())));
                go(&record.plan(planned(varied, &runs)?.into_iter())?)?;
            }
        }
    }
    Ok(None)
}

/// The cells that are there and not done.
fn left(varied: &Varied, cells: &[CellResult]) -> Result<Vec<CellPlan>, ExperimentError> {
    let numbers: BTreeSet<u32> =
        cells.iter().filter(|cell| !cell.is_done()).map(|cell| cell.id).collect();
    let replications: BTreeSet<u32> = cells.iter().map(|cell| cell.replication).collect();
    let all = factors::combinations(varied)?;
    let of = replications.into_iter().flat_map(|number| factors::replication(varied, &all, number));
    Ok(of.filter(|cell| numbers.contains(&cell.number)).collect())
}

fn stage_told(stage: Stage, runs: usize) -> String {
    let what = match stage {
        Stage::Screen => "looks at",
        Stage::Refine => "looks at those that are predicted to be good:",
        Stage::Replicate => "runs again what looked best:",
        Stage::Confirm => "confirms the leader:",
    };
    format!("screening: {what} {runs} combinations")
}
