//! Plans are read, and checked by what only the floors above their language know: the grammar of a
//! policy's parameters and of a cache's sizes, and what goes with what.

use crate::VOCABULARY;
use crate::world::caches::check as check_cluster;
use crate::world::pool::check as check_policy;
use crate::world::pool::wish::Wish;
use plimsoll_cache::admission::Admission;
use plimsoll_cache::capacity::Size;
use plimsoll_cache::eviction::Policy;
use plimsoll_plan::{
    Cache, CacheComparison, CachePlan, KeyFault, KeyFaultKind, Plan, PlanErrors, Tune, Written,
};
use plimsoll_stats::figure;
use plimsoll_units::{ParseError, count, share};

/// A plan of a load, a search or a pool.
///
/// # Errors
/// All that is wrong with it, each with its place.
pub fn read(of: &Written<'_>) -> Result<Plan, PlanErrors> {
    let plan = Plan::read(of, &VOCABULARY)?;
    let pool = plan.elastic.iter();
    let policies = pool.flat_map(|pool| pool.policies.iter().map(move |of| (pool, of)));
    let faults = policies.flat_map(|(pool, of)| check_policy(of, pool));
    let faults: Vec<KeyFault> = faults.chain(plan.tune.iter().filter_map(check_tune)).collect();
    of.told(&faults)?;
    Ok(plan)
}

/// The same of a plan that is simulated: it has a length.
///
/// # Errors
/// As for [`read`].
pub fn read_simulated(of: &Written<'_>) -> Result<Plan, PlanErrors> {
    let plan = read(of)?;
    if plan.load.shape.is_for_ever() {
        let message = "`ever` does not go with what is simulated".to_owned();
        let hint = Some("give a length: for = \"30m\"".to_owned());
        let path = vec!["load".to_owned(), "for".to_owned()];
        of.told(&[KeyFault { path, value: 0, what: KeyFaultKind::Value(message, hint) }])?;
    }
    Ok(plan)
}

/// Whether the text of a plan, as a run or an experiment keeps it, is of a load that goes on until
/// it is asked to end.
#[must_use]
pub fn is_for_ever(kept: &str) -> bool {
    let plan = Plan::read(&Written::text(kept, "plan.toml", &[]).stored(), &VOCABULARY);
    plan.is_ok_and(|plan| plan.load.shape.is_for_ever())
}

/// The words by which the text of a plan, as it is kept, starts workers; none where it does not.
#[must_use]
pub fn start_of(kept: &str) -> Vec<String> {
    let plan = Plan::read(&Written::text(kept, "plan.toml", &[]).stored(), &VOCABULARY);
    plan.ok().and_then(|plan| plan.fleet).map(|fleet| fleet.start).unwrap_or_default()
}

/// A plan of single caches.
///
/// # Errors
/// As for [`read`].
pub fn read_caches(of: &Written<'_>) -> Result<CacheComparison, PlanErrors> {
    let plan = CacheComparison::read(of, &VOCABULARY)?;
    of.told(&check_caches(&plan.cache))?;
    Ok(plan)
}

/// A plan of clusters of caches.
///
/// # Errors
/// As for [`read`].
pub fn read_clusters(of: &Written<'_>) -> Result<CachePlan, PlanErrors> {
    let plan = CachePlan::read(of, &VOCABULARY)?;
    let faults: Vec<KeyFault> = plan.clusters.iter().flat_map(check_cluster).collect();
    of.told(&faults)?;
    Ok(plan)
}

fn check_tune(of: &Tune) -> Option<KeyFault> {
    let bounds = of.subject_to.as_deref()?;
    KeyFault::of_text(&["tune", "subject_to"], 0, Wish::new(figure::COST, false, bounds))
}

fn check_caches(of: &Cache) -> Vec<KeyFault> {
    let texts = |key: &'static str, of: &[String], check: fn(&str) -> Result<(), ParseError>| {
        let each = of.iter().enumerate();
        let faults =
            each.filter_map(|(at, text)| KeyFault::of_text(&["cache", key], at, check(text)));
        faults.collect::<Vec<_>>()
    };
    [
        texts("policy", &of.policy, |text| text.parse::<Policy>().map(drop)),
        texts("size", &of.size, |text| text.parse::<Size>().map(drop)),
        texts("admit", of.admit.as_slice(), |text| text.parse::<Admission>().map(drop)),
        texts("skip", of.skip.as_slice(), |text| match text.contains(['%', '.']) {
            // What has a percent sign or a point is a share.
            true => share(text).map(drop),
            false => count(text).map(drop),
        }),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool with a policy, and what is looked for of it.
    fn tuned(tune: &str) -> Result<Plan, String> {
        let text = format!(
            "[load]\nrate = '5/s'\nfor = '1h'\n[instance]\nservice = 'exp:70ms'\n\
             [policy.calm]\nkind = 'threshold'\n[tune]\n{tune}\n"
        );
        let plan = read(&Written::text(&text, "plan.toml", &[]));
        plan.map_err(|errors| errors.to_string())
    }

    #[test]
    fn names_that_are_none_are_told_in_their_place() {
        for (tune, says) in [
            ("minimise = 'cots'", "did you mean cost?"),
            ("subject_to = 'lost<1'", "plan.toml:9:20"),
            ("replications = 1", "from 2 to 100000"),
            ("minimise = 'cost'\nmaximise = 'net'", "exclude each other"),
            ("vary = { upper = '9..3/1' }", "the lesser number first"),
        ] {
            let said = tuned(tune).unwrap_err();
            assert!(said.contains(says), "{tune}:\n{said}");
        }
        assert!(tuned("maximise = 'net'\nsubject_to = 'lost<1%,p99<1s'").is_ok());
        let pool = "[load]\nrate = '5/s'\nfor = '1h'\n[instance]\nservice = 'exp:70ms'\n\
                    [policy.calm]\nkind = 'treshold'\n";
        let said = read(&Written::text(pool, "plan.toml", &[])).unwrap_err();
        assert!(said.to_string().contains("did you mean threshold?"), "{said}");
        let several = "seed = 'x'\n[instance]\nservice = 'exp:70ms'\n\
                       [load]\nrate = '5/s'\nfor = '1h'\n\
                       [policy.calm]\nkind = 'threshold'\nuper = 3\nadd = 'two'\n";
        let said = read(&Written::text(several, "plan.toml", &[])).unwrap_err().to_string();
        for part in ["plan.toml:1:9", "plan.toml:9:1", "did you mean upper?", "plan.toml:10:7"] {
            assert!(said.contains(part), "{part}:\n{said}");
        }
        assert!(said.contains("`add`: expected a whole number from 0 to 10000"), "{said}");
        let cluster = "[trace]\nfile = 't'\n[cluster]\nsize = '1GB'\npolicy = 'lur'\n";
        let said = read_clusters(&Written::text(cluster, "plan.toml", &[])).unwrap_err();
        assert!(said.to_string().contains("did you mean lru?"), "{said}");
        for (cache, says) in [
            ("policy = ['lru', 'lur']", "4:19"),
            ("size = '0.001'", "expected"),
            ("admit = 'first'", "an admission filter"),
            ("skip = 'ten'", "a whole number"),
        ] {
            let text = format!("[trace]\nfile = 't'\n[cache]\n{cache}\n");
            let said = read_caches(&Written::text(&text, "plan.toml", &[])).unwrap_err();
            assert!(said.to_string().contains(says), "{cache}:\n{said}");
        }
    }

    #[test]
    fn comparisons_and_searches_read_back_the_same() {
        for cache in [
            "",
            "policy = 'slru:segments=2'\nsize = [\"10%\", 1000, '3obj']\nadmit = 'max:1MB'",
            "skip = 0.5\nbound = true\nby_size = true",
        ] {
            let text =
                format!("name = 'a'\n[trace]\nfile = 'a\"b'\nformat = 'csv'\n[cache]\n{cache}\n");
            let plan = read_caches(&Written::text(&text, "plan.toml", &[])).unwrap();
            let printed = plan.to_toml();
            let again = read_caches(&Written::text(&printed, "plan.toml", &[])).unwrap();
            assert_eq!((&again, again.to_toml()), (&plan, printed));
        }
        for tune in [
            "",
            "policy = 'calm'\nmaximise = 'net'\nvary = { upper = '60..70/5', lower = [20, 'x'] }",
        ] {
            let plan = tuned(tune).unwrap();
            let printed = plan.to_toml();
            let again = read(&Written::text(&printed, "plan.toml", &[])).unwrap();
            assert_eq!((&again, again.to_toml()), (&plan, printed));
        }
        let varied = tuned("vary = { upper = '60..70/5' }").unwrap().tune.unwrap().vary;
        assert_eq!(varied[0].values, ["60", "65", "70"]);
    }
}
