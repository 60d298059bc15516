//! What plans may say that only the registries of higher floors know, put together once.

use crate::world::caches::check as check_cluster;
use crate::world::pool::check as check_policy;
use crate::world::pool::wish::{Wish, figure_of, figures};
use plimsoll_cache::admission::Admission;
use plimsoll_cache::capacity::Size;
use plimsoll_cache::eviction::{self, Policy};
use plimsoll_elastic::policy;
use plimsoll_plan::{Meant, Named, Parameter, Vocabulary};
use plimsoll_stats::figure;
use plimsoll_units::{ParseError, count, share};
use std::sync::LazyLock;

/// The vocabulary of this program.
pub static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| Vocabulary {
    policies: policy::KINDS.iter().map(|kind| policy_of(kind)).collect(),
    evictions: eviction::KINDS.iter().map(|kind| plain(kind.name, kind.about)).collect(),
    figures: figures().map(|(word, figure)| plain(word, figure.label)).collect(),
    check_text,
    check_policy,
    check_cluster,
});

fn plain(name: &'static str, about: &'static str) -> Named {
    Named { name, about, parameters: Vec::new() }
}

fn policy_of(kind: &policy::Kind) -> Named {
    let parameter = |of: &policy::Parameter| Parameter {
        name: of.name,
        takes: of.takes,
        default: (of.default != "–").then_some(of.default),
        about: of.about,
    };
    Named {
        name: kind.name,
        about: kind.about,
        parameters: kind.parameters.iter().map(parameter).collect(),
    }
}

fn check_text(meant: Meant, text: &str) -> Result<(), ParseError> {
    match meant {
        Meant::Eviction => text.parse::<Policy>().map(drop),
        Meant::CacheSize => text.parse::<Size>().map(drop),
        Meant::Admission => text.parse::<Admission>().map(drop),
        // What has a percent sign or a point is a share.
        Meant::Skip if text.contains(['%', '.']) => share(text).map(drop),
        Meant::Skip => count(text).map(drop),
        Meant::Figure => figure_of(text).map(drop),
        Meant::Bounds => Wish::new(figure::COST, false, text).map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_plan::{CacheComparison, CachePlan, Plan};

    /// A pool with a policy, and what is looked for of it.
    fn tuned(tune: &str) -> Result<Plan, String> {
        let text = format!(
            "[load]\nrate = '5/s'\nfor = '1h'\n[instance]\nservice = 'exp:70ms'\n\
             [policy.calm]\nkind = 'threshold'\n[tune]\n{tune}\n"
        );
        let plan = Plan::parse_checked(&text, "plan.toml", &[], &VOCABULARY);
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
        let said = Plan::parse_checked(pool, "plan.toml", &[], &VOCABULARY).unwrap_err();
        assert!(said.to_string().contains("did you mean threshold?"), "{said}");
        let cluster = "[trace]\nfile = 't'\n[cluster]\nsize = '1GB'\npolicy = 'lur'\n";
        let said = CachePlan::parse(cluster, "plan.toml", &[], &VOCABULARY).unwrap_err();
        assert!(said.to_string().contains("did you mean lru?"), "{said}");
        for (cache, says) in [
            ("policy = ['lru', 'lur']", "4:19"),
            ("size = '0.001'", "expected"),
            ("admit = 'first'", "an admission filter"),
            ("skip = 'ten'", "a whole number"),
        ] {
            let text = format!("[trace]\nfile = 't'\n[cache]\n{cache}\n");
            let said = CacheComparison::parse(&text, "plan.toml", &[], &VOCABULARY).unwrap_err();
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
            let plan = CacheComparison::parse(&text, "plan.toml", &[], &VOCABULARY).unwrap();
            let printed = plan.to_toml();
            let again = CacheComparison::parse(&printed, "plan.toml", &[], &VOCABULARY).unwrap();
            assert_eq!((&again, again.to_toml()), (&plan, printed));
        }
        for tune in [
            "",
            "policy = 'calm'\nmaximise = 'net'\nvary = { upper = '60..70/5', lower = [20, 'x'] }",
        ] {
            let plan = tuned(tune).unwrap();
            let printed = plan.to_toml();
            let again = Plan::parse_checked(&printed, "plan.toml", &[], &VOCABULARY).unwrap();
            assert_eq!((&again, again.to_toml()), (&plan, printed));
        }
        let varied = tuned("vary = { upper = '60..70/5' }").unwrap().tune.unwrap().vary;
        assert_eq!(varied[0].values, ["60", "65", "70"]);
    }

    #[test]
    fn every_name_is_one_that_is_read() {
        for figure in &VOCABULARY.figures {
            assert!(check_text(Meant::Figure, figure.name).is_ok(), "{}", figure.name);
        }
        for eviction in &VOCABULARY.evictions {
            assert!(check_text(Meant::Eviction, eviction.name).is_ok(), "{}", eviction.name);
        }
        assert!(VOCABULARY.policies.iter().any(|kind| !kind.parameters.is_empty()));
    }
}
