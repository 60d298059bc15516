//! Whether the runs that are compared had the same load: what their plans say of it.

use plimsoll_experiment::plans;
use plimsoll_plan::{FactorPlan, Varied, Written, differences};
use plimsoll_runs::Run;
use std::collections::BTreeSet;

/// Sections of a plan that say what is offered and asked.
const SECTIONS: [&str; 2] = ["[load", "[store"];
/// The most settings that are named.
const MOST_NAMED: usize = 4;

/// A plan as it is kept, with every value spelt out: so that equal loads are equal, however they
/// were written. One that cannot be read stays as it is.
fn spelt_out(plan: &str) -> String {
    let read = plans::read(&Written::text(plan, "plan.toml", &[]).stored());
    read.map_or_else(|_| plan.to_owned(), |plan| plan.to_toml())
}

/// What a plan says of its load, a line a setting with its section.
fn settings(plan: &str) -> BTreeSet<String> {
    let plan = spelt_out(plan);
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in plan.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if !line.is_empty()
            && !line.starts_with('#')
            && SECTIONS.iter().any(|known| section.starts_with(known))
        {
            let name = section.trim_matches(['[', ']']);
            found.insert(format!("{name}.{line}"));
        }
    }
    found
}

/// A sentence for each side whose load is not that of A's first run.
pub(super) fn of_runs(a: &[Run], b: &[Run]) -> Vec<String> {
    let Some(first) = a.first() else { return Vec::new() };
    of_sides(&first.plan_text(), &[("A", a), ("B", b)])
}

/// A sentence where the load of B is not that of a plan, which is A's.
pub(super) fn of_plan(plan: &str, b: &[Run]) -> Vec<String> {
    of_sides(plan, &[("B", b)])
}

fn of_sides(plan: &str, sides: &[(&str, &[Run])]) -> Vec<String> {
    let wanted = settings(plan);
    let of_side = |side: &str, runs: &[Run]| {
        let other = runs.iter().map(|run| settings(&run.plan_text())).find(|own| *own != wanted)?;
        let list = |settings: Vec<&String>| match settings.len() {
            0 => "nothing more".to_owned(),
            n => {
                let named = settings.iter().take(MOST_NAMED).map(|text| text.as_str());
                let rest = if n > MOST_NAMED { ", …" } else { "" };
                format!("{}{rest}", named.collect::<Vec<_>>().join(", "))
            }
        };
        let (mine, theirs) = (wanted.difference(&other), other.difference(&wanted));
        let (mine, theirs) = (list(mine.collect()), list(theirs.collect()));
        Some(format!("the loads differ: the first of A has {mine}; one of {side} has {theirs}"))
    };
    sides.iter().filter_map(|(side, runs)| of_side(side, runs)).collect()
}

/// What of the loads of two experiments differs, by their plans: of what the cells of both are
/// offered and asked. What a factor sets is compared level by level, so which levels there are
/// makes no difference.
pub(crate) fn others(a: &str, b: &str) -> Vec<String> {
    let (of_a, of_b) = (Varied::of(a), Varied::of(b));
    let factors = |of: &Option<Varied>| of.as_ref().map_or(Vec::new(), |of| of.factors.clone());
    let (of_a, of_b) = (factors(&of_a), factors(&of_b));
    let is_of_load = |key: &str| SECTIONS.iter().any(|section| key.starts_with(&section[1..]));
    let is_set = |key: &str, by: &[FactorPlan]| {
        by.iter().any(|factor| {
            factor.key == key || factor.sets.iter().flatten().any(|(set, _)| set == key)
        })
    };
    let mut found: Vec<String> = differences(&spelt_out(a), &spelt_out(b))
        .into_iter()
        .filter(|line| {
            let key = line.split_once(": ").map_or(line.as_str(), |(key, _)| key);
            is_of_load(key) && !(is_set(key, &of_a) && is_set(key, &of_b))
        })
        .collect();
    for factor in &of_a {
        let Some(other) = of_b.iter().find(|other| other.key == factor.key) else { continue };
        for level in factor.levels.iter().filter(|level| other.levels.contains(level)) {
            let of_load = |of: &FactorPlan| -> Vec<(String, String)> {
                of.settings(level).into_iter().filter(|(key, _)| is_of_load(key)).collect()
            };
            let (was, is) = (of_load(factor), of_load(other));
            found.extend(is.iter().filter(|set| !was.contains(set)).map(|(key, value)| {
                format!("{} = {level} sets {key} to {value} in B alone", factor.key)
            }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_of_experiments_differ_by_what_their_cells_are_offered() {
        let plan = |load: &str, factors: &str| {
            format!(
                "seed = 1\n[experiment]\nrespond = ['p90']\n[factor]\n{factors}\n[target]\n\
                 url = 'http://a/'\n[load]\n{load}\n[instance]\nservice = 'exp:3ms'\n"
            )
        };
        let rates = "\"load.rate\" = ['50/s', '100/s']";
        let a = plan("rate = '50/s'\nfor = '20s'", rates);
        assert!(others(&a, &a).is_empty());
        let shorter = others(&a, &plan("rate = '50/s'\nfor = '2s'", rates));
        assert_eq!(shorter, ["load.for: 2s, was 20s"]);
        let more = others(&a, &plan("rate = '50/s'\nfor = '20s'\nwarm_up = '1s'", rates));
        assert_eq!(more, ["load.warm_up: 1s, was 0s"]);
        // A key that every level replaces, other levels, and what is no load.
        let fewer = plan("rate = '70/s'\nfor = '20s'", "\"load.rate\" = ['50/s', '70/s']");
        assert!(others(&a, &fewer).is_empty());
        assert!(
            others(&a, &a.replace("exp:3ms", "exp:9ms").replace("seed = 1", "seed = 2")).is_empty()
        );
        let crowd = |users: u32| {
            let levels = "small = { \"load.users\" = 2 }\nlarge = { \"load.users\" = N }";
            plan("users = 2\nfor = '1s'", "").replace(
                "[factor]\n",
                &format!("[factor.crowd]\n{}", levels.replace('N', &users.to_string())),
            )
        };
        assert!(others(&crowd(16), &crowd(16)).is_empty());
        let sets = others(&crowd(16), &crowd(32));
        assert_eq!(sets, ["crowd = large sets load.users to 32 in B alone"]);
    }

    #[test]
    fn settings_of_the_load_are_those_that_count() {
        let plan = "seed = 7\n[target]\nurl = \"http://a/\"\n\n[load]\nrate = \"40/s\"\n# no\n[measure]\nslo = \"p99<1s\"\n";
        let found: Vec<String> = settings(plan).into_iter().collect();
        assert_eq!(found, ["load.rate = \"40/s\""]);
    }
}
