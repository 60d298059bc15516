//! What a comparison comes to, as cases: one for each figure that is judged.

use super::{Case, Checks, Standing, Suite};
use plimsoll_analysis::compared::{Compared, Row};
use plimsoll_stats::interval::Verdict;

impl Checks {
    /// Adds a comparison: a suite for each combination of levels, under names that stay the same
    /// from one pipeline to the next. What could not be told is skipped: the command ends with 0.
    pub fn add_compared(&mut self, of: &Compared) {
        let [(a, n), (b, m)] = &of.sides;
        let mut suites: Vec<Suite> = Vec::new();
        for row in of.rows.iter().filter(|row| row.is_judged) {
            let name = match row.factors.is_empty() {
                true => of.title(),
                false => format!("{}, {}", of.title(), row.group),
            };
            let place = suites.iter().position(|suite| suite.name == name);
            let place = place.unwrap_or_else(|| {
                suites.push(Suite { name, ..Suite::default() });
                suites.len() - 1
            });
            let name = format!("{}: not worse", row.figure.label);
            suites[place].cases.push(Case::new(name, standing(of, row), says(of, row)));
            suites[place].figures.push((row.figure.label.to_owned(), values(row)));
        }
        if suites.is_empty() {
            let cases = vec![Case::new("the figures are not worse", Standing::Open, of.says())];
            let name = of.title();
            suites.push(Suite { name, cases, ..Suite::default() });
        }
        for (side, names) in ["A", "B"].into_iter().zip(&of.alone) {
            for name in names {
                let case = Case::new(name, Standing::Open, format!("it stands in {side} alone"));
                suites[0].cases.push(case);
            }
        }
        let sides = format!("{}. A: {a}, replications: {n}. B: {b}, replications: {m}", of.says());
        suites[0].warnings = std::iter::once(sides).chain(of.remarks.iter().cloned()).collect();
        self.suites.extend(suites);
    }
}

fn standing(of: &Compared, row: &Row) -> Standing {
    match row.verdict() {
        _ if of.untold.is_some() => Standing::Open,
        Some(Verdict::Worse) => Standing::Broken,
        Some(Verdict::Better | Verdict::NotWorse) => Standing::Held,
        Some(Verdict::Undecided) | None => Standing::Open,
    }
}

fn says(of: &Compared, row: &Row) -> String {
    match &of.untold {
        Some(why) => why.clone(),
        None => format!("{}, 95% {}: {}", row.changed(), row.interval(), row.judged()),
    }
}

/// What it was and is.
fn values(row: &Row) -> String {
    let show = |value: f64| row.figure.unit.show(value);
    format!("{} → {}", show(row.means.0), show(row.means.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_analysis::compared::{Change, Group, One, Side, With, compared};
    use plimsoll_stats::figure;
    use std::collections::BTreeMap;

    fn side(p99: &[f64], noise: &[String]) -> Side {
        let one = |(at, value): (usize, &f64)| One {
            id: at.to_string(),
            seed: at as u64 + p99[0].to_bits(),
            noise: noise.to_vec(),
            figures: BTreeMap::from([("response_us.p99".to_owned(), *value)]),
        };
        let ones = p99.iter().enumerate().map(one).collect();
        let (id, name) = ("side".to_owned(), "shop".to_owned());
        Side { id, name, groups: vec![Group { ones, ..Group::default() }] }
    }

    fn junit(b: &Side) -> String {
        let judged = [figure::RESPONSE_US_P99];
        let change = Change::Ratio;
        let with = With { tolerance: 0.05, shown: &judged, judged: &judged, change, least: 2 };
        let of = compared(&side(&[10.0, 10.1, 9.9], &[]), b, &with);
        let mut checks = Checks::default();
        checks.add_compared(&of);
        checks.settle(if of.is_worse() { 3 } else { 0 });
        assert_eq!(checks.markdown().contains("cannot be told"), checks.count(Standing::Open) > 0);
        checks.junit()
    }

    #[test]
    fn what_is_worse_fails_what_is_not_passes_and_what_cannot_be_told_is_skipped() {
        let slow = [30.0, 30.1, 29.9];
        let of = |failures: u32, skipped: u32| {
            format!("tests=\"1\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"")
        };
        assert!(junit(&side(&slow, &[])).contains(&of(1, 0)));
        assert!(junit(&side(&[10.0, 10.05, 9.95], &[])).contains(&of(0, 0)));
        assert!(junit(&side(&slow[..1], &[])).contains(&of(0, 1)));
        let noisy = junit(&side(&slow, &["the host was noisy: it was".to_owned()]));
        assert!(noisy.contains(&of(0, 1)) && noisy.contains("the host of B was noisy"), "{noisy}");
    }
}
