//! The figures that a plan of an experiment names: there is one of each name, and a cell can state
//! it.

use plimsoll_plan::{Experiment, LoadShape, Plan};
use plimsoll_runs::Kind;
use plimsoll_stats::figure::{self, Figure};
use plimsoll_units::show_count;

use crate::error::ExperimentError;
use crate::prepare::{Prepared, rates};

/// A percentile is stated where so many requests at least lie beyond it.
const BEYOND: f64 = 10.0;

/// The words for figures, each with its key.
fn words(of: &Experiment) -> Vec<(&'static str, &str)> {
    let respond = of.respond.iter().flatten().map(|word| ("respond", word.as_str()));
    let until = of.until.iter().map(|until| ("until", until.figure.as_str()));
    let goal = of.goal.iter().filter_map(|goal| Some(("goal", goal.split_once(' ')?.1.trim())));
    respond.chain(until).chain(goal).collect()
}

/// Refuses words that no figure is called by: no cell would ever have one. Only cells of a load
/// have figures of a name, a label, of users or WebSockets.
///
/// # Errors
/// The first of them, with the nearest word that means one.
pub(super) fn check(asked: Option<&Experiment>, kind: Kind) -> Result<(), ExperimentError> {
    let Some(asked) = asked else { return Ok(()) };
    let all = words(asked);
    let of_loads = |word: &str| figure::called(word, |of| is_of_users(of) && kind != Kind::Load);
    if let Some((key, word)) = all.iter().find(|(_, word)| of_loads(word).is_some()) {
        return Err(ExperimentError::Conflict(format!(
            "take `{word}` for `{key}`: only loads have figures by name, by label, of users and of \
             WebSockets"
        )));
    }
    let Some((key, word)) = all.iter().find(|(_, word)| figure::called(word, |_| true).is_none())
    else {
        return Ok(());
    };
    let short = figure::ALL.iter().filter_map(|of| of.name.strip_prefix("response_us."));
    let near = plimsoll_units::nearest(word, short).map(str::to_owned);
    let near = near.or_else(|| figure::nearest(word));
    let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    Err(ExperimentError::Conflict(format!(
        "take `{word}` for `{key}`: no figure is called so{hint}"
    )))
}

fn is_of_users(figure: &Figure) -> bool {
    figure::subject_of(figure).is_some() || figure::counted(figure.name).is_some()
}

/// The figures of names and labels that an experiment takes: a load keeps no others of them.
pub(super) fn of_subjects(asked: Option<&Experiment>) -> Vec<&'static Figure> {
    let words = asked.map(words).unwrap_or_default().into_iter();
    words
        .filter_map(|(_, word)| figure::called(word, |of| figure::subject_of(of).is_some()))
        .collect()
}

/// Words for figures of names, labels, users or WebSockets, each with what a load says that has
/// none of it; `None` once one has it.
pub(super) struct ByLoads<'a> {
    words: Vec<(&'static Figure, &'a str, Option<ExperimentError>)>,
}

impl<'a> ByLoads<'a> {
    /// Those of an experiment.
    ///
    /// # Errors
    /// Any, where its loads are simulated: they have none of them.
    pub(super) fn of(
        asked: Option<&'a Experiment>,
        is_simulated: bool,
    ) -> Result<Self, ExperimentError> {
        let conflict = |text: String| Some(ExperimentError::Conflict(text));
        let mut all = Vec::new();
        for (key, word) in asked.map(words).unwrap_or_default() {
            let Some(figure) = figure::called(word, is_of_users) else { continue };
            if is_simulated {
                return Err(ExperimentError::Conflict(format!(
                    "take `{word}` for `{key}` of simulated loads: all requests of a simulated \
                     server are alike, and it has no users"
                )));
            }
            all.push((
                figure,
                word,
                conflict(format!("take `{word}` for `{key}`: no load is run")),
            ));
        }
        Ok(Self { words: all })
    }

    /// Looks at a load.
    pub(super) fn look(&mut self, load: &Prepared) {
        let callers = load.callers();
        for (figure, word, lacks) in self.words.iter_mut().filter(|(.., lacks)| lacks.is_some()) {
            let has = match figure::subject_of(figure) {
                Some((subject, _)) => callers.know(&subject),
                None => callers.counts(figure, word),
            };
            *lacks = has.err();
        }
    }

    /// Refuses the first word for what no load has.
    pub(super) fn end(self) -> Result<(), ExperimentError> {
        self.words.into_iter().find_map(|(.., lacks)| lacks).map_or(Ok(()), Err)
    }
}

/// How many requests a load has; `None` where its answers decide that, or whoever ends it.
fn requests(plan: &Plan) -> Option<u64> {
    let LoadShape::Open { source, .. } = &plan.load.shape else { return None };
    if plan.load.shape.is_for_ever() {
        return None;
    }
    Some(rates(source, plan.seed, &mut Vec::new()).ok()?.schedule.total())
}

/// How many requests a percentile needs.
fn needed(quantile: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above zero")]
    let needed = (BEYOND / (1.0 - quantile) - 1e-6).ceil() as u64;
    needed
}

/// Says by which figure effects of loads are computed where the plan does not: the highest of the
/// p99, p90 and p50 for which each cell has requests enough, by the plan alone. `None` where the
/// plan says it, or answers decide how many requests there are.
pub(super) fn by_requests(
    asked: Option<&mut Experiment>,
    plans: &[Plan],
) -> Option<&'static Figure> {
    let asked = asked.filter(|of| of.respond.is_none())?;
    let fewest = plans.iter().map(requests).collect::<Option<Vec<u64>>>()?.into_iter().min()?;
    let found = match fewest {
        _ if fewest >= needed(0.99) => &figure::RESPONSE_US_P99,
        _ if fewest >= needed(0.9) => &figure::RESPONSE_US_P90,
        _ => &figure::RESPONSE_US_P50,
    };
    asked.respond = Some(vec![found.name.to_owned()]);
    Some(found)
}

/// What is said of percentiles for which no cell of these loads has requests enough.
pub(super) fn too_few(asked: Option<&Experiment>, plans: &[Plan]) -> Vec<String> {
    let most = plans.iter().map(requests).collect::<Option<Vec<u64>>>();
    let (Some(asked), Some(total)) = (asked, most.and_then(|all| all.into_iter().max())) else {
        return Vec::new();
    };
    let note = |(key, word): (&'static str, &str)| {
        let of = figure::called(word, |of| of.name.contains("_us."))?;
        let (_, digits) = of.name.split_once("_us.p")?;
        let quantile: f64 = format!("0.{digits}").parse().ok()?;
        let needed = needed(quantile);
        (total < needed).then(|| {
            format!(
                "`{key}`: {word} needs {} requests, and no cell of this plan has more than {}: \
                 none can state it",
                show_count(needed),
                show_count(total)
            )
        })
    };
    words(asked).into_iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::Written;

    fn plan(experiment: &str, rate: &str) -> Plan {
        let text = format!(
            "[experiment]\n{experiment}\n[factor]\n'load.timeout' = ['1s', '2s']\n[target]\nurl = \
             'http://127.0.0.1:1/'\n[load]\nrate = '{rate}'\nfor = '10s'\n"
        );
        crate::plans::read(&Written::text(&text, "plan.toml", &[])).unwrap()
    }

    #[test]
    fn a_word_that_means_no_figure_is_refused_with_one_that_does() {
        for (experiment, word, near) in [
            (
                "until = 'reponse_us.p90 within 5%'",
                "`reponse_us.p90` for `until`",
                "response_us.p90",
            ),
            ("respond = ['rate', 'p9O']", "`p9O` for `respond`", "p90"),
            ("goal = 'min latncy'", "`latncy` for `goal`", ""),
        ] {
            let refused = check(plan(experiment, "40/s").experiment.as_ref(), Kind::Load);
            let ExperimentError::Conflict(told) = refused.unwrap_err() else { panic!() };
            assert!(told.contains(word) && told.contains(near), "{told}");
        }
        for experiment in [
            "respond = ['p99', 'rate', 'errors', 'response_us.mean', 'response mean']",
            "respond = ['instance.web1.cpu', 'host.cpu']",
            "goal = 'max rate'\nuntil = 'p50 within 5%'",
            "",
        ] {
            check(plan(experiment, "40/s").experiment.as_ref(), Kind::Load).unwrap();
        }
    }

    #[test]
    fn effects_are_of_the_highest_percentile_that_every_cell_has_requests_for() {
        let chosen = |rates: &[&str], experiment: &str| {
            let plans: Vec<Plan> = rates.iter().map(|rate| plan(experiment, rate)).collect();
            let mut asked = plans[0].experiment.clone();
            let found = by_requests(asked.as_mut(), &plans).map(|of| of.name);
            assert!(found.is_none() || asked.unwrap().respond.unwrap() == [found.unwrap()]);
            found
        };
        assert_eq!(chosen(&["100/s", "400/s"], ""), Some("response_us.p99"));
        assert_eq!(chosen(&["400/s", "99.9/s"], ""), Some("response_us.p90"));
        assert_eq!(chosen(&["10/s"], ""), Some("response_us.p90"));
        assert_eq!(chosen(&["10/s", "9/s"], ""), Some("response_us.p50"));
        assert_eq!(chosen(&["1/s"], ""), Some("response_us.p50"));
        assert_eq!(chosen(&["10/s"], "respond = ['rate']"), None);
    }

    #[test]
    fn a_percentile_that_no_cell_can_state_is_told_with_the_number_that_it_needs() {
        let told = |experiment: &str, rate: &str| {
            let plan = plan(experiment, rate);
            too_few(plan.experiment.clone().as_ref(), &[plan]).join("; ")
        };
        assert!(told("until = 'p99 within 5%'", "99/s").contains("1,000 requests"));
        assert_eq!(told("until = 'p99 within 5%'", "100/s"), "");
        assert!(told("respond = ['p999', 'rate']", "100/s").contains("needs 10,000"));
        assert_eq!(told("respond = ['p50', 'response_us.mean']", "2/s"), "");
        assert!(told("respond = ['p50']", "1/s").contains("needs 20"));
    }
}
