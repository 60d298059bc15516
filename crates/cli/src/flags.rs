//! The flags that are keys of a plan. Each stands with its key in `plan`, which says what it means;
//! its value is read by the plan's own reader, so that both say the same of the same mistake.

use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches};
use plimsoll_plan::{Flag, Group, Key, LoadShape, Plan, RateSource, Setting, all_keys, key_at};
use std::marker::PhantomData;

/// A flag, and the key that it sets.
#[derive(Clone)]
struct Row {
    heading: &'static str,
    flag: Flag,
    path: String,
    key: &'static Key,
}

/// Which flags a command has.
pub(crate) trait Groups: Clone + Send + Sync + 'static {
    /// The groups, in the order of the help.
    const GROUPS: &'static [Group];
    /// Headings, and the flags that stand under them before all others, as nothing goes without
    /// them.
    const FIRST: &'static [(&'static str, &'static [&'static str])] = &[];
    /// A heading, and single flags of other groups that stand under it.
    const SINGLE: (&'static str, &'static [&'static str]) = ("", &[]);
    /// Flags of the groups that the command has not.
    const WITHOUT: &'static [&'static str] = &[];
}

/// Flags as they were typed.
#[derive(Clone)]
pub(crate) struct Flags<T> {
    given: Vec<(Row, String)>,
    of: PhantomData<T>,
}

/// Declares which groups of flags a command has.
macro_rules! flags {
    ($($(#[$about:meta])* $name:ident = $of:ident $(first $($top:literal $first:expr),+;)?
        [$($group:ident),*] $(, $heading:literal $single:expr)? $(, without $without:expr)?;)+
    ) => {$(
        $(#[$about])*
        pub(crate) type $name = Flags<$of>;

        #[doc = concat!("See [`", stringify!($name), "`].")]
        #[derive(Clone)]
        pub(crate) struct $of;

        impl Groups for $of {
            const GROUPS: &'static [Group] = &[$(Group::$group),*];
            $(const FIRST: &'static [(&'static str, &'static [&'static str])] =
                &[$(($top, &$first)),+];)?
            $(const SINGLE: (&'static str, &'static [&'static str]) = ($heading, &$single);)?
            $(const WITHOUT: &'static [&'static str] = &$without;)?
        }
    )+};
}

flags! {
    /// The flags of a load.
    LoadFlags = OfLoad first "How much" ["rate", "users", "for", "requests", "schedule"],
        "What must hold" ["slo"]; [Shape, Load, Asked, Measured, Sent, Fleet, Cold, Store];
    /// The flags that say what is asked and how it is sent, whatever the load.
    RequestFlags = OfRequests [Asked, Sent, Measured, Store];
    /// The same of a search, whose SLO is one of its own flags.
    SearchedFlags = OfSearched [Asked, Sent, Measured, Store], without ["slo"];
    /// The flags of TLS, where nothing else is said of how requests are sent.
    TlsFlags = OfTls [], "TLS" ["insecure", "ca", "cert", "key", "sni"];
    /// The flags of a simulated pool.
    PoolFlags = OfPool [Shape], "What is simulated" ["seed", "slo"];
    /// The flags that say how a capacity is searched for.
    SearchFlags = OfSearch first "What must hold" ["slo"]; [Search, Fleet];
    /// The flags of a series of searches.
    EveryFlags = OfSeries [Series];
    /// The flags of a search for parameters of a policy.
    TuneFlags = OfTune [Tune];
    /// The flags of single caches.
    CacheFlags = OfCaches [Cache];
}

/// The flags of a command with their keys, in the order of the help.
fn rows<T: Groups>() -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut take = |heading: &'static str, is_meant: &dyn Fn(&Flag) -> bool| {
        for (path, key) in all_keys() {
            // What a trace and a profile have in common is one flag.
            let is_new = |flag: &Flag| {
                let is_left_out = T::WITHOUT.contains(&flag.long);
                !is_left_out && rows.iter().all(|row| row.flag.long != flag.long)
            };
            if let Some(flag) = key.flag.filter(|flag| is_meant(flag) && is_new(flag)) {
                rows.push(Row { heading, flag, path, key });
            }
        }
    };
    for (heading, first) in T::FIRST {
        first.iter().for_each(|long| take(heading, &|flag| flag.long == *long));
    }
    for group in T::GROUPS {
        take(group.heading(), &|flag| flag.group == *group);
    }
    let (heading, single) = T::SINGLE;
    take(heading, &|flag| single.contains(&flag.long));
    rows
}

impl Row {
    fn arg(&self) -> Arg {
        let Flag { long, short, value, help, may_be_hyphened, .. } = self.flag;
        let about = self.key.about().trim_end_matches('.').replace('`', "");
        let arg = Arg::new(long).long(long).short(short).help_heading(self.heading);
        let arg = arg.help(help.map_or(about, str::to_owned));
        match (value, self.key.may_repeat()) {
            ("", _) => arg.action(ArgAction::SetTrue),
            (value, true) => arg.value_name(value).action(ArgAction::Append),
            (value, false) => arg.value_name(value).action(ArgAction::Set),
        }
        .allow_hyphen_values(may_be_hyphened)
    }

    /// The values that were typed.
    fn typed(&self, matches: &ArgMatches) -> Vec<String> {
        let long = self.flag.long;
        if self.flag.value.is_empty() {
            return matches.get_flag(long).then(|| "true".to_owned()).into_iter().collect();
        }
        matches.get_many(long).into_iter().flatten().cloned().collect()
    }
}

impl<T: Groups> clap::Args for Flags<T> {
    fn augment_args(command: Command) -> Command {
        command.args(rows::<T>().iter().map(Row::arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: Groups> FromArgMatches for Flags<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = |row: Row| {
            let values = row.typed(matches);
            values.into_iter().map(move |value| (row.clone(), value))
        };
        Ok(Self { given: rows::<T>().into_iter().flat_map(typed).collect(), of: PhantomData })
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
    /// Whether a flag was typed.
    pub(crate) fn has(&self, long: &str) -> bool {
        self.given.iter().any(|(row, _)| row.flag.long == long)
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

    /// The settings that the flags mean.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        self.settings_beside(None)
    }

    /// The settings that the flags mean, beside a plan where there is one.
    pub(crate) fn settings_beside(&self, plan: Option<&Plan>) -> Vec<Setting> {
        let (curve, speed) = self.curve(plan);
        let setting = |(row, value): &(Row, String)| {
            // What a profile has too belongs to the one that there is.
            let common = row.path.strip_prefix(TRACE.0);
            let common = common.filter(|key| key_at(&format!("{}{key}", PROFILE.0)).is_some());
            let key = match common {
                // A replay has a log of its own.
                _ if row.flag.long == "log-format" && speed == REPLAY.1 => {
                    "target.replay.format".to_owned()
                }
                Some("speed") => speed.to_owned(),
                Some(key) => format!("{curve}{key}"),
                None => row.path.clone(),
            };
            Setting::new(key, value, format!("--{}", row.flag.long))
        };
        self.given.iter().map(setting).collect()
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
    use plimsoll_experiment::plans::read;
    use plimsoll_plan::Written;

    fn flags(typed: &[&str]) -> LoadFlags {
        let command = <LoadFlags as clap::Args>::augment_args(Command::new("load"));
        let matches = command.try_get_matches_from([&["load"], typed].concat()).unwrap();
        LoadFlags::from_arg_matches(&matches).unwrap()
    }

    fn speed_key(flags: &LoadFlags, load: &str) -> String {
        let text = format!("[target]\nurl = \"http://127.0.0.1:1/\"\n[load]\n{load}\n");
        let plan = read(&Written::text(&text, "plan.toml", &[])).expect("the plan is whole");
        let settings = flags.settings_beside(Some(&plan));
        let with = read(&Written::text(&text, "plan.toml", &settings)).expect("the flags fit");
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
    fn what_nothing_goes_without_stands_first_and_what_stores_are_asked_last() {
        let longs = |rows: Vec<Row>| rows.iter().map(|row| row.flag.long).collect::<Vec<_>>();
        let load = longs(rows::<OfLoad>());
        assert_eq!(load[..6], ["rate", "users", "for", "requests", "schedule", "slo"]);
        let headings: Vec<&str> = rows::<OfLoad>().iter().map(|row| row.heading).collect();
        assert_eq!(headings.last(), Some(&"What a store is asked"));
        assert_eq!(longs(rows::<OfSearch>())[0], "slo");
        assert!(!longs(rows::<OfSearched>()).contains(&"slo"), "it is among the search's own");
    }

    #[test]
    fn every_flag_says_what_it_means_in_a_line() {
        let several = [rows::<OfLoad>(), rows::<OfPool>(), rows::<OfSearch>(), rows::<OfTune>()];
        for row in several.iter().flatten().chain(&rows::<OfCaches>()) {
            let long = row.flag.long;
            let help = row.arg().get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!help.is_empty() && help.chars().count() <= 100, "--{long}: {help}");
        }
    }

    #[test]
    fn every_flag_of_a_key_is_one_of_a_command() {
        let several = [rows::<OfLoad>(), rows::<OfPool>(), rows::<OfSearch>(), rows::<OfTune>()];
        let known = [several.concat(), rows::<OfCaches>(), rows::<OfSeries>()].concat();
        for (path, key) in all_keys() {
            let Some(flag) = key.flag else { continue };
            assert!(
                known.iter().any(|row| row.flag.long == flag.long),
                "--{} of {path}",
                flag.long
            );
        }
    }
}
