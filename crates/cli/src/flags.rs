//! The flags that are keys of a plan: one row says which flag sets which key. What it means is the
//! plan's own sentence of the key, where the command line has no better one; its value is read by
//! the plan's own reader, so that both say the same of the same mistake.

mod rows;

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};
use plimsoll_plan::{Key, LoadShape, Plan, RateSource, Setting, key_at};
use rows::{ASKED, COLD, CURVE, LOADS, MEASURED, POOLS, SEARCHED, SENT, SHAPES, STORED};
use std::marker::PhantomData;

/// A flag that sets a key of a plan.
pub(crate) struct Flag {
    long: &'static str,
    short: Option<char>,
    /// The path of the key; one of a curve begins with [`CURVE`].
    key: &'static str,
    /// What its value is called; empty for a switch.
    value: &'static str,
    /// What it means, where the plan's sentence does not fit.
    help: Option<&'static str>,
    /// Whether a value may begin with a hyphen.
    may_be_hyphened: bool,
}

/// Flags that stand under one heading of the help.
pub(crate) type Group = (&'static str, &'static [Flag]);

/// Which flags a command has.
pub(crate) trait Groups: Clone + Send + Sync + 'static {
    /// The groups, in the order of the help.
    const GROUPS: &'static [Group];
}

/// Flags as they were typed.
#[derive(Clone)]
pub(crate) struct Flags<T> {
    given: Vec<(&'static Flag, String)>,
    of: PhantomData<T>,
}

/// The flags of a load.
pub(crate) type LoadFlags = Flags<OfLoad>;
/// The flags that say what is asked and how it is sent, whatever the load.
pub(crate) type RequestFlags = Flags<OfRequests>;
/// The flags of a simulated pool.
pub(crate) type PoolFlags = Flags<OfPool>;
/// The flags that say how a capacity is searched for.
pub(crate) type SearchFlags = Flags<OfSearch>;

/// See [`LoadFlags`].
#[derive(Clone)]
pub(crate) struct OfLoad;

impl Groups for OfLoad {
    const GROUPS: &'static [Group] = &[SHAPES, LOADS, COLD, ASKED, STORED, SENT, MEASURED];
}

/// See [`RequestFlags`].
#[derive(Clone)]
pub(crate) struct OfRequests;

impl Groups for OfRequests {
    const GROUPS: &'static [Group] = &[ASKED, STORED, SENT, MEASURED];
}

/// See [`PoolFlags`].
#[derive(Clone)]
pub(crate) struct OfPool;

impl Groups for OfPool {
    const GROUPS: &'static [Group] = &[SHAPES, POOLS];
}

/// See [`SearchFlags`].
#[derive(Clone)]
pub(crate) struct OfSearch;

impl Groups for OfSearch {
    const GROUPS: &'static [Group] = &[SEARCHED];
}

impl Flag {
    fn arg(&self, heading: &'static str) -> Arg {
        let key = self
            .key
            .strip_prefix(CURVE)
            .map_or(self.key.to_owned(), |key| format!("load.trace.{key}"));
        let key = key_at(&key);
        let about = key.map_or("", Key::about).trim_end_matches('.').replace('`', "");
        let may_repeat = key.is_some_and(Key::may_repeat);
        let arg = Arg::new(self.long).long(self.long).short(self.short).help_heading(heading);
        let arg = arg.help(self.help.map_or(about, str::to_owned));
        match (self.value, may_repeat) {
            ("", _) => arg.action(ArgAction::SetTrue),
            (value, true) => arg.value_name(value).action(ArgAction::Append),
            (value, false) => arg.value_name(value).action(ArgAction::Set),
        }
        .allow_hyphen_values(self.may_be_hyphened)
    }

    /// The values that were typed.
    fn typed(&self, matches: &ArgMatches) -> Vec<String> {
        if self.value.is_empty() {
            return matches.get_flag(self.long).then(|| "true".to_owned()).into_iter().collect();
        }
        matches.get_many(self.long).into_iter().flatten().cloned().collect()
    }
}

impl<T: Groups> clap::Args for Flags<T> {
    fn augment_args(command: Command) -> Command {
        let args = T::GROUPS
            .iter()
            .flat_map(|(heading, flags)| flags.iter().map(move |flag| flag.arg(heading)));
        command.args(args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Groups> FromArgMatches for Flags<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let flags = T::GROUPS.iter().flat_map(|(_, flags)| flags.iter());
        let given = flags.flat_map(|flag| flag.typed(matches).into_iter().map(move |v| (flag, v)));
        Ok(Self { given: given.collect(), of: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The key that a curve's options belong to, and that of the speed.
type Curve = (&'static str, &'static str);

const TRACE: Curve = ("load.trace.", "load.trace.speed");
const PROFILE: Curve = ("load.profile.", "load.profile.speed");
const REPLAY: Curve = ("load.trace.", "target.replay.speed");

impl<T> Flags<T> {
    fn has(&self, long: &str) -> bool {
        self.given.iter().any(|(flag, _)| flag.long == long)
    }

    /// What the options of a curve belong to: a trace, a profile or a replay that the flags name,
    /// else what the plan has.
    fn curve(&self, plan: Option<&Plan>) -> Curve {
        match plan.map(|plan| &plan.load.shape) {
            _ if self.has("profile") => PROFILE,
            _ if self.has("trace") => TRACE,
            _ if self.has("replay") => REPLAY,
            Some(LoadShape::Open { source: RateSource::Profile(_), .. }) => PROFILE,
            Some(LoadShape::Replay) => REPLAY,
            _ => TRACE,
        }
    }

    /// The settings that the flags mean, beside a plan where there is one.
    fn beside(&self, plan: Option<&Plan>) -> Vec<Setting> {
        let (curve, speed) = self.curve(plan);
        let setting = |(flag, value): &(&Flag, String)| {
            let key = match flag.key.strip_prefix(CURVE) {
                Some("speed") => speed.to_owned(),
                Some(key) => format!("{curve}{key}"),
                None => flag.key.to_owned(),
            };
            Setting::new(key, value, format!("--{}", flag.long))
        };
        self.given.iter().map(setting).collect()
    }
}

impl LoadFlags {
    /// The settings that the flags mean, beside a plan where there is one.
    pub(crate) fn settings(&self, plan: Option<&Plan>) -> Vec<Setting> {
        self.beside(plan)
    }
}

impl PoolFlags {
    /// The settings that the flags mean, beside a plan.
    pub(crate) fn settings(&self, plan: Option<&Plan>) -> Vec<Setting> {
        self.beside(plan)
    }
}

impl RequestFlags {
    /// The settings that the flags mean.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        self.beside(None)
    }
}

impl SearchFlags {
    /// The settings that the flags mean.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        self.beside(None)
    }
}

impl<T> Default for Flags<T> {
    fn default() -> Self {
        Self { given: Vec::new(), of: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(typed: &[&str]) -> LoadFlags {
        let command = <LoadFlags as clap::Args>::augment_args(Command::new("load"));
        let matches = command.try_get_matches_from([&["load"], typed].concat()).unwrap();
        LoadFlags::from_arg_matches(&matches).unwrap()
    }

    fn speed_key(flags: &LoadFlags, load: &str) -> String {
        let text = format!("[target]\nurl = \"http://127.0.0.1:1/\"\n[load]\n{load}\n");
        let plan = Plan::parse(&text, "plan.toml").expect("the plan is whole");
        let settings = flags.settings(Some(&plan));
        let with = Plan::parse_with(&text, "plan.toml", &settings).expect("the flags fit the plan");
        with.to_toml().lines().find(|line| line.contains("speed = 60")).unwrap_or("none").to_owned()
    }

    #[test]
    fn a_speed_belongs_to_what_the_plan_has_unless_a_flag_names_another() {
        let fast = flags(&["--speed", "60"]);
        let profile = "profile = \"clarknet-day\"";
        assert!(speed_key(&fast, profile).starts_with("profile = "));
        assert!(speed_key(&fast, "trace = \"day.csv\"").starts_with("trace = "));
        let traced = flags(&["--speed", "60", "--trace", "day.csv"]);
        assert!(speed_key(&traced, profile).starts_with("trace = "));
        let profiled = flags(&["--speed", "60", "--profile", "clarknet-day"]);
        assert!(speed_key(&profiled, "rate = \"5/s\"\nfor = \"1s\"").starts_with("profile = "));
    }

    #[test]
    fn every_flag_sets_a_key_of_plans_and_says_what_it_means() {
        for (heading, flags) in OfLoad::GROUPS.iter().chain(OfPool::GROUPS) {
            for flag in *flags {
                let arg = flag.arg(heading);
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty() && help.chars().count() <= 100, "--{}: {help}", flag.long);
                let key = flag.key.replace(CURVE, "load.trace.");
                assert!(key_at(&key).is_some(), "--{}: {key}", flag.long);
            }
        }
    }
}
