//! From a command line to plans: one, or one for each combination of the values that `--set` lists
//! and of the instance types of the plan.

use crate::flags::PoolFlags;
use crate::place::environment;
use crate::simulate_args::Simulate;
use crate::terminal::error::{FlagError, Result, UsageError};
use plimsoll_experiment::plans;
use plimsoll_plan::{Plan, PlanErrors, Setting, TYPE, Written};
use plimsoll_stats::design::{full, size};
use plimsoll_units::ParseError;

/// The most combinations.
const MOST_CASES: usize = 1000;

/// A plan, and what distinguishes it from the others.
pub(crate) struct Case {
    /// The plan with all its instance types.
    pub(crate) whole: Plan,
    /// The plan with one of them, and the policies that are compared.
    pub(crate) plan: Plan,
    /// The values that differ, by their keys: `const:60s` of `instance.boot`.
    pub(crate) differs: Vec<(String, String)>,
}

impl Case {
    /// Adds what differs to a label.
    pub(crate) fn name(&self, label: &mut String) {
        let is_only = self.whole.types().len() < 2;
        for (key, value) in &self.differs {
            match key.as_str() {
                TYPE if is_only => {}
                TYPE => label.push_str(&format!(" · {value}")),
                _ => label.push_str(&format!(" · {key}={value}")),
            }
        }
    }
}

/// Reads a plan with settings over it, its policies checked.
pub(crate) fn read_plan(path: &str, flags: &PoolFlags, set: &[Setting]) -> Result<Plan> {
    let text = crate::files::plan(path)?;
    Ok(parse(&text, path, flags, set)?)
}

fn parse(text: &str, path: &str, flags: &PoolFlags, set: &[Setting]) -> Result<Plan, PlanErrors> {
    // A plan that is whole only with the flags says nothing of its own trace.
    let plan = plans::read(&Written::text(text, path, &[]).within(environment)).ok();
    let settings = [flags.settings_beside(plan.as_ref()), set.to_vec()].concat();
    plans::read_simulated(&Written::text(text, path, &settings).within(environment))
}

/// The plans that a command line means.
pub(super) fn cases(path: &str, args: &Simulate) -> Result<Vec<Case>> {
    let text = crate::files::plan(path)?;
    let mut settings = super::starter::settings(args);
    for policy in &args.policy {
        settings.extend(policy_settings(policy)?);
    }
    let replications = args.replications.as_ref();
    settings.extend(replications.map(|n| Setting::new("repeat", n, "--replications")));
    let read = |more: &[Setting]| {
        parse(&text, path, &args.flags, &[settings.clone(), more.to_vec()].concat())
    };
    let mut sets = Vec::new();
    for pair in &args.set {
        let setting =
            Setting::from_pair(pair).map_err(|error| FlagError::new("--set", pair, error))?;
        let values = values(&setting, &|one| read(std::slice::from_ref(one)));
        sets.push((setting, values));
    }
    let factors: Vec<(&Setting, &[String])> =
        sets.iter().map(|(setting, values)| (setting, &values[..])).collect();
    let combinations = size(&factors);
    if combinations > MOST_CASES {
        let text = format!("simulate {combinations} combinations: {MOST_CASES} are the most");
        return Err(UsageError(text).into());
    }
    let varies = |key: &str| sets.iter().any(|(of, values)| of.key == key && values.len() > 1);
    let mut all = Vec::with_capacity(combinations);
    for levels in full(&factors) {
        let set =
            levels.iter().map(|(of, value)| Setting { value: value.clone(), ..(*of).clone() });
        let set: Vec<Setting> = set.collect();
        let mut plan = read(&set)?;
        only(&mut plan, &args.only)?;
        let differs = set.into_iter().filter(|of| varies(&of.key));
        let differs: Vec<(String, String)> = differs.map(|of| (of.key, of.value)).collect();
        let of_type = |label: Option<String>| Case {
            plan: plan.clone().chosen(label.as_deref()),
            whole: plan.clone(),
            differs: [label.map(|of| (TYPE.to_owned(), of)).into_iter().collect(), differs.clone()]
                .concat(),
        };
        let types = plan.types();
        match types.is_empty() {
            true => all.push(of_type(None)),
            false => all.extend(types.into_iter().map(Some).map(of_type)),
        }
    }
    Ok(all)
}

/// The values of a setting: the whole text where it can be read as one, else its parts.
fn values(setting: &Setting, read: &dyn Fn(&Setting) -> Result<Plan, PlanErrors>) -> Vec<String> {
    if !setting.value.contains(',') || read(setting).is_ok() {
        return vec![setting.value.clone()];
    }
    setting.value.split(',').map(|part| part.trim().to_owned()).collect()
}

/// Leaves the policies, and the instance types, that are wanted.
fn only(plan: &mut Plan, labels: &[String]) -> Result<()> {
    let Some(elastic) = plan.elastic.as_ref().filter(|_| !labels.is_empty()) else { return Ok(()) };
    let policies = elastic.policies.iter().map(|of| of.label.as_str());
    let known: Vec<&str> =
        policies.chain(elastic.types.iter().map(|of| of.label.as_str())).collect();
    for label in labels {
        if !known.contains(&label.as_str()) {
            let list = known.join(", ");
            let near = plimsoll_units::nearest(label, known.iter().copied());
            let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            let text = format!("find the policy `{label}` in the plan: it has {list}{hint}");
            return Err(UsageError(text).into());
        }
    }
    plan.keep(labels);
    Ok(())
}

/// Reads `calm: threshold upper=60 lower=40` as settings of a policy of the plan.
pub(crate) fn policy_settings(text: &str) -> Result<Vec<Setting>, FlagError> {
    let wrong = |wanted: &str, part: &str| {
        let at = part.as_ptr() as usize - text.as_ptr() as usize;
        FlagError::new("--policy", text, ParseError::new(wanted, part, at, part.len()))
    };
    let (label, rest) = match text.split_once(": ") {
        Some((label, rest)) => (Some(label.trim()), rest),
        None => (None, text),
    };
    let mut words = rest.split_whitespace();
    let Some(kind) = words.next() else {
        return Err(wrong("a policy such as 'threshold upper=60'", rest));
    };
    let label = label.unwrap_or(rest.trim()).replace('.', "_");
    let origin = "--policy";
    let mut settings = vec![Setting::new(format!("policy.{label}.kind"), kind, origin)];
    for word in words {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(wrong("a parameter such as upper=60", word));
        };
        settings.push(Setting::new(format!("policy.{label}.{name}"), value, origin));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_read_as_settings() {
        let settings = policy_settings("calm: threshold upper=60 lower=40").unwrap();
        let pairs: Vec<(&str, &str)> =
            settings.iter().map(|of| (of.key.as_str(), of.value.as_str())).collect();
        let wanted = [
            ("policy.calm.kind", "threshold"),
            ("policy.calm.upper", "60"),
            ("policy.calm.lower", "40"),
        ];
        assert_eq!(pairs, wanted);
        let bare = policy_settings("revenue").unwrap();
        assert_eq!(bare[0].key, "policy.revenue.kind");
        assert!(policy_settings("threshold upper").is_err());
        assert!(policy_settings("").is_err());
    }
}
