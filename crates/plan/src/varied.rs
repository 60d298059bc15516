//! What a plan of any kind varies, and its SLO, read by themselves: for those who explain what came
//! of an experiment and need nothing else of its plan.

use crate::opened::{Written, open};
use crate::section::Section;
use crate::sections::experiment::{Experiment, FactorPlan, read_factors};
use crate::sections::measure::Measure;
use crate::sections::top::Top;

/// What a plan varies, from where its randomness comes, and by what its runs are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Varied {
    /// The seed of the plan.
    pub seed: u64,
    /// Its section `[experiment]`; `None` where it has none.
    pub experiment: Option<Experiment>,
    /// Its factors, in the order of the plan.
    pub factors: Vec<FactorPlan>,
    /// Its SLO, as text; `None` where it has none.
    pub slo: Option<String>,
}

impl Varied {
    /// Reads these sections of a plan that was checked when it was executed: the rest of the text
    /// is not looked at. `None` where the text is no TOML, or these sections have a fault.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let (reading, root) = open(&Written::text(text, "plan.toml", &[]).stored()).ok()?;
        let seed = Top::read_keys(&Section::within(&reading, &root, Top::SECTION))?.seed;
        let section = root.get(Experiment::SECTION.path).is_some();
        let section = section.then(|| Section::open(&reading, &root, Experiment::SECTION));
        let experiment = section.and_then(|of| Experiment::read(&of));
        let factors = read_factors(&reading, &root);
        if reading.is_faulty() {
            return None;
        }
        let measure = Measure::read(&Section::open(&reading, &root, Measure::SECTION));
        let slo = measure.and_then(|of| of.slo).map(|slo| slo.to_string());
        Some(Self { seed, experiment, factors, slo })
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
            assert_eq!(varied.experiment.unwrap().respond, ["rate"]);
            assert_eq!(varied.slo.is_some(), rest.contains("slo"));
        }
        let plain = Varied::of("[load]\nrate = '1/s'\n").unwrap();
        assert_eq!((plain.experiment, plain.factors), (None, Vec::new()));
        assert_eq!(Varied::of("[experiment\n"), None);
        assert_eq!(Varied::of("[experiment]\nreplications = 0\n"), None);
    }
}
