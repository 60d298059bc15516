//! What a plan of any kind varies, and its SLO, read by themselves: for those who explain what came
//! of an experiment and need nothing else of its plan.

use crate::opened::{Written, open};
use crate::section::Section;
use crate::sections::cluster;
use crate::sections::experiment::{Experiment, FactorPlan, read_factors};
use crate::sections::measure::Measure;
use crate::sections::own_factors::{
    CLUSTERS, add_clusters, add_needs, add_of_pool, common_of_pool, compares_types, only,
};
use crate::sections::search::Search;
use crate::sections::top::Top;
use crate::sections::tune::Tune;

/// What a plan varies, from where its randomness comes, and by what its runs are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Varied {
    /// The seed of the plan.
    pub seed: u64,
    /// How often the plan is run.
    pub repeat: u32,
    /// Its section `[experiment]`, with what its clusters need among the constraints; `None` where
    /// it has none.
    pub experiment: Option<Experiment>,
    /// Its factors, in the order of the plan: those of `[factor]`, then those of its own sections.
    pub factors: Vec<FactorPlan>,
    /// The levels that all cells have: of the only policy and the only type of a pool, of the only
    /// cluster.
    pub common: Vec<(String, String)>,
    /// Its SLO, as text; `None` where it has none.
    pub slo: Option<String>,
}

impl Varied {
    /// Reads these sections of a plan that was checked when it was executed: the rest of the text
    /// is not looked at. `None` where the text is no TOML, or these sections have a fault.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let (reading, root) = open(&Written::text(text, "plan.toml", &[]).stored()).ok()?;
        let top = Top::read_keys(&Section::within(&reading, &root, Top::SECTION))?;
        let has = |section: &str| root.get(section).is_some();
        let section = has(Experiment::SECTION.path);
        let section = section.then(|| Section::open(&reading, &root, Experiment::SECTION));
        let mut experiment = section.and_then(|of| Experiment::read(&of));
        let mut factors = read_factors(&reading, &root);
        let mut common = Vec::new();
        let is_pool = !has(Search::SECTION.path) && !has(Tune::SECTION.path);
        if experiment.is_some() || !factors.is_empty() || is_pool && compares_types(&root) {
            if has(CLUSTERS) {
                let clusters = cluster::read(&reading, &root).unwrap_or_default();
                add_clusters(&reading, &root, &clusters, &mut factors);
                add_needs(&mut experiment, &clusters, &factors);
                let labels: Vec<&str> = clusters.iter().map(|of| of.label.as_str()).collect();
                common = only(CLUSTERS, &labels);
            } else if is_pool {
                add_of_pool(&reading, &root, &mut factors);
                common = common_of_pool(&root);
            }
        }
        if reading.is_faulty() {
            return None;
        }
        let measure = Measure::read(&Section::open(&reading, &root, Measure::SECTION));
        let slo = measure.and_then(|of| of.slo).map(|slo| slo.to_string());
        let (seed, repeat) = (top.seed, top.repeat.unwrap_or(1));
        Some(Self { seed, repeat, experiment, factors, common, slo })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_any_kind_says_what_it_varies() {
        for rest in [
            "[target]\nurl = 'http://h/'\n[load]\nusers = 1\nfor = '1s'\n[measure]\nslo = 'p99<1s'\n",
            "[trace]\nfile = 't'\n[cluster]\nsize = '1GB'\n",
            "[weather]\nrain = 'much'\n",
        ] {
            let text = format!(
                "seed = 9\n[experiment]\nrespond = ['rate']\n[factor]\n\"load.users\" = \
                 [2, 1]\n{rest}"
            );
            let varied = Varied::of(&text).unwrap();
            assert_eq!((varied.seed, varied.factors.len()), (9, 1), "{rest}");
            assert_eq!(varied.factors[0].levels, ["2", "1"]);
            assert_eq!(varied.experiment.unwrap().respond.unwrap(), ["rate"]);
            assert_eq!(varied.slo.is_some(), rest.contains("slo"));
        }
        let plain = Varied::of("[load]\nrate = '1/s'\n").unwrap();
        assert_eq!((plain.experiment, plain.factors), (None, Vec::new()));
        assert_eq!(Varied::of("[experiment\n"), None);
        assert_eq!(Varied::of("[experiment]\nreplications = 0\n"), None);
    }

    fn keys(of: &Varied) -> Vec<(&str, Vec<&str>)> {
        fn pair(of: &FactorPlan) -> (&str, Vec<&str>) {
            (of.key.as_str(), of.levels.iter().map(String::as_str).collect())
        }
        of.factors.iter().map(pair).collect()
    }

    #[test]
    fn policies_are_a_factor_of_an_experiment_of_a_pool() {
        let pool = "[experiment]\n[factor]\n\"pool.max\" = [4, 8]\n[load]\nrate = '1/s'\n\
                    [instance]\nservice = 'exp:1ms'\n[policy.eager]\nkind = 'threshold'\n";
        let one = Varied::of(pool).unwrap();
        assert_eq!(keys(&one), [("pool.max", vec!["4", "8"])]);
        assert_eq!(one.common, [("policy".to_owned(), "eager".to_owned())]);
        let two = format!("{pool}[policy.always]\nkind = 'fixed'\n");
        let of = Varied::of(&two).unwrap();
        let wanted = [("pool.max", vec!["4", "8"]), ("policy", vec!["eager", "always"])];
        assert_eq!((keys(&of), &of.common[..]), (wanted.to_vec(), &[][..]));
        assert!(of.factors[1].is_own() && of.factors[1].settings("always").is_empty());
        // Which of them are compared, and with which first, is the plan's to say.
        let chosen = two.replace("[load]", "policy = ['always', 'eager']\n[load]");
        assert_eq!(keys(&Varied::of(&chosen).unwrap())[1].1, ["always", "eager"]);
        for (wrong, key) in [("['always', 'eagre']", "policy"), ("[1, 2]", "policy")] {
            let text = two.replace("[load]", &format!("{key} = {wrong}\n[load]"));
            assert_eq!(Varied::of(&text), None, "{text}");
        }
        // Without an experiment they are no factor of one; nor in a search for parameters.
        let plain = two.replace("[experiment]\n[factor]\n\"pool.max\" = [4, 8]\n", "");
        assert_eq!(Varied::of(&plain).unwrap().factors, []);
        assert_eq!(keys(&Varied::of(&format!("{two}[tune]\n")).unwrap()).len(), 1);
    }

    #[test]
    fn clusters_are_factors_and_each_needs_its_own_levels() {
        let text = "[factor]\n\"workload.objects\" = [2, 3]\n[workload]\nobjects = 2\n\
                    [cluster]\nsize = '10%'\n[cluster.mesh]\nprotocol = ['none', 'icp']\n\
                    [cluster.tree]\nparents = [1, 2]\nparent_size = ['1%', '2%']\n\
                    protocol = 'icp'\n";
        let of = Varied::of(text).unwrap();
        let wanted = [
            ("workload.objects", vec!["2", "3"]),
            ("cluster", vec!["mesh", "tree"]),
            ("parents", vec!["0", "1", "2"]),
            ("protocol", vec!["none", "icp"]),
            ("parent_size", vec!["–", "1%", "2%"]),
        ];
        assert_eq!(keys(&of), wanted);
        let experiment = of.experiment.unwrap();
        let needs: Vec<String> = experiment.constraints.iter().map(ToString::to_string).collect();
        assert_eq!(
            needs,
            [
                "cluster = mesh needs parents = 0",
                "cluster = tree needs parents = 1, 2",
                "cluster = tree needs protocol = icp",
                "cluster = mesh needs parent_size = –",
                "cluster = tree needs parent_size = 1%, 2%",
            ]
        );
        assert_eq!(experiment.respond, None, "it is by the kind of plan");
    }
}
