//! Plans of clusters of caches: they read back what they print, survive any text, and what is
//! wrong with a level is said in its place.
//!
//! The printed plans are made anew by `PLIMSOLL_BLESS=1 cargo test -p plimsoll-plan caches`.

use std::path::{Path, PathBuf};

use plimsoll_plan::{CacheComparison, CachePlan, PlanErrors, Setting, Written, compares_caches};
use plimsoll_workload::random::Stream;

use crate::VOCABULARY;
use crate::mutation::mutate;

const SEEDS: u64 = 2_000;

/// Reads a plan of clusters, or of single caches, and gives it as it is printed.
pub(crate) fn printed(text: &str, origin: &str) -> Result<String, PlanErrors> {
    if compares_caches(text) {
        let plan = CacheComparison::read(&Written::text(text, origin, &[]), &VOCABULARY);
        return plan.map(|plan| plan.to_toml());
    }
    read(text, origin, &[]).map(|plan| plan.to_toml())
}

/// Reads a plan as the golden tests do.
pub(crate) fn read(
    text: &str,
    origin: &str,
    settings: &[Setting],
) -> Result<CachePlan, PlanErrors> {
    CachePlan::read(&Written::text(text, origin, settings), &VOCABULARY)
}

fn plans() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/caches");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut plans: Vec<_> = files.filter(|p| p.extension().is_some_and(|e| e == "toml")).collect();
    plans.sort();
    plans
}

#[test]
fn printed_plans_of_caches_read_back() {
    let bless = std::env::var_os("PLIMSOLL_BLESS").is_some();
    assert!(plans().len() >= 2);
    for path in plans() {
        let text = std::fs::read_to_string(&path).unwrap();
        let plan = read(&text, "plan.toml", &[]).unwrap_or_else(|errors| panic!("{errors}"));
        let printed = plan.to_toml();
        assert_eq!(read(&printed, "again.toml", &[]).unwrap(), plan, "{printed}");
        let golden = path.with_extension("printed");
        if bless {
            std::fs::write(&golden, &printed).unwrap();
        } else {
            assert_eq!(std::fs::read_to_string(&golden).unwrap(), printed, "{golden:?}");
        }
    }
}

#[test]
fn any_text_is_a_plan_of_caches_or_refused() {
    let texts: Vec<_> = plans().iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let mut right = 0;
    for seed in 0..SEEDS {
        let text = mutate(&texts, &mut Stream::named(seed, "caches mutation"));
        match read(&text, "mutant.toml", &[]) {
            Ok(plan) => {
                right += 1;
                let printed = plan.to_toml();
                let again = read(&printed, "again.toml", &[]);
                assert_eq!(again.as_ref(), Ok(&plan), "seed {seed}:\n{text}\n{printed}");
            }
            Err(errors) => assert!(!errors.errors.is_empty(), "seed {seed}"),
        }
    }
    assert!(right > SEEDS / 50, "only {right} mutants were right: the test has lost its bite");
}

#[test]
fn a_flag_lists_levels_and_wins() {
    let text = "[trace]\nfile = 't'\n[cluster]\nsize = '1GB'\nnodes = [1, 2]\n[cluster.a]\n";
    let set = |key: &str, value: &str| Setting::new(key, value, format!("--set {key}"));
    let of = |settings: &[Setting]| {
        let plan = read(text, "plan.toml", settings).unwrap();
        let nodes = plan.clusters[0].factors.iter().find(|factor| factor.key == "nodes").unwrap();
        let combinations: usize =
            plan.clusters[0].factors.iter().map(|factor| factor.levels.len()).product();
        (combinations, nodes.levels.clone())
    };
    assert_eq!(of(&[]), (2, vec!["1".to_owned(), "2".to_owned()]));
    let three = ["3", "4", "5"].map(str::to_owned).to_vec();
    assert_eq!(of(&[set("cluster.nodes", "3, 4,5")]), (3, three.clone()));
    assert_eq!(of(&[set("cluster.a.nodes", "3,4,5")]), (3, three));
    let both = [set("cluster.a.size", "1GB,2GB"), set("cluster.a.nodes", "9")];
    assert_eq!(of(&both).0, 2);
    let errors = read(text, "plan.toml", &[set("cluster.a.protocol", "icp,wrong")]).unwrap_err();
    let said = errors.to_string();
    assert!(said.contains("| icp,wrong\n   |     ^^^^^"), "{said}");
}

#[test]
fn combinations_are_bounded() {
    let many: Vec<_> = (1..=250).map(|n| format!("{n}")).collect();
    let text = format!(
        "[trace]\nfile = 't'\n[cluster]\nsize = '1GB'\nnodes = [{0}]\nparents = [{0}]\n",
        many.join(", ")
    );
    let said = read(&text, "plan.toml", &[]).unwrap_err().to_string();
    assert!(said.contains("at most 10000 combinations, found 62500"), "{said}");
}
