//! From samples of series to samples of figures.
//!
//! All sources are read once a period. A *round* has one sample of each series; it ends where one
//! comes that it has already. Of a round each formula has one value for each of its members, where
//! all of its series have one. A rate is over the time since the series' last sample, by its own
//! times; of a counter that fell, as its source began anew, there is none in that round.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::families::{FAMILIES, FORMULAS, Family, Member, SeriesOwner};
use super::formula::{Formula, Selector};

/// The labels of a series, by name.
type Labels = BTreeMap<String, String>;

/// Samples of one series that are closer than this are of one period: half of the shortest.
const LEAST_PERIOD_NS: u64 = 50_000_000;
/// The label of the series of an instance.
const INSTANCE: &str = "instance";
/// How the names of series begin that a run writes of its own host.
const OF_RUNS: &str = "host_";

/// The figures of a round.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Round {
    /// When the last of its samples was taken, nanoseconds.
    pub at_ns: u64,
    /// Figures with their values, sorted by name.
    pub figures: BTreeMap<String, f64>,
}

/// Takes samples of series, and makes rounds of them.
#[derive(Debug, Default)]
pub struct Rounds {
    series: BTreeMap<String, BTreeMap<Labels, Track>>,
    /// Series of collectors that are figures by their own names, beside the application's own.
    asked: BTreeSet<String>,
    round: u64,
    at_ns: u64,
    is_open: bool,
}

/// A series' last samples.
#[derive(Debug, Clone, Copy)]
struct Track {
    before: Option<(u64, f64)>,
    last: (u64, f64),
    /// The round of the last one.
    round: u64,
}

impl Track {
    /// What it rises by a second.
    fn rate(&self) -> Option<f64> {
        let ((from_ns, from), (to_ns, to)) = (self.before?, self.last);
        let seconds = to_ns.checked_sub(from_ns).filter(|ns| *ns > 0)? as f64 / 1e9;
        (to >= from).then(|| (to - from) / seconds)
    }
}

impl Rounds {
    /// Makes rounds in which these series too are figures by their own names.
    pub fn with<'a>(asked: impl IntoIterator<Item = &'a str>) -> Self {
        Self { asked: asked.into_iter().map(str::to_owned).collect(), ..Self::default() }
    }

    /// Takes a sample. Returns the round before it, where it is the first of another one.
    pub fn take<'a>(
        &mut self,
        name: &str,
        labels: impl IntoIterator<Item = (&'a str, &'a str)>,
        at_ns: u64,
        value: f64,
    ) -> Option<Round> {
        if !value.is_finite() || !(is_used(name) || self.is_own(name)) {
            return None;
        }
        let labels: Labels =
            labels.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let known = self.series.get(name).and_then(|all| all.get(&labels));
        let ended = match known.filter(|track| track.round == self.round && self.is_open) {
            // Two sources have the same series: it is the first's.
            Some(track) if at_ns < track.last.0.saturating_add(LEAST_PERIOD_NS) => return None,
            Some(_) => self.close(),
            None => None,
        };
        let before = self.series.get(name).and_then(|all| all.get(&labels)).map(|of| of.last);
        let track = Track { before, last: (at_ns, value), round: self.round };
        match self.series.get_mut(name) {
            Some(all) => drop(all.insert(labels, track)),
            None => drop(self.series.insert(name.to_owned(), [(labels, track)].into())),
        }
        (self.at_ns, self.is_open) = (self.at_ns.max(at_ns), true);
        ended
    }

    /// Ends the round: all of its samples were taken. `None` where there was none.
    pub fn close(&mut self) -> Option<Round> {
        if !std::mem::take(&mut self.is_open) {
            return None;
        }
        let mut figures = BTreeMap::new();
        for (family, formula) in FAMILIES.iter().zip(FORMULAS.iter()) {
            let Some(formula) = formula else { continue };
            for member in self.members(family, formula) {
                let value = self.value(family, formula, member);
                figures.extend(value.map(|value| (family.name_of(member), value)));
            }
        }
        for name in self.series.keys().filter(|name| self.is_own(name)) {
            let of = Selector { name: name.clone(), labels: Vec::new() };
            let is_any = |_: &Labels| true;
            if let Some(value) = self.sum(&of, name.ends_with("_total"), &is_any) {
                figures.insert(format!("series.{name}"), value);
            }
        }
        self.round += 1;
        Some(Round { at_ns: self.at_ns, figures })
    }

    /// Whether a series is a figure by its own name.
    fn is_own(&self, name: &str) -> bool {
        self.asked.contains(name) || !is_of_collectors(name)
    }

    /// The members of a family in this round.
    fn members(&self, family: &Family, formula: &Formula) -> BTreeSet<Member<'_>> {
        let of_all =
            matches!(family.of, SeriesOwner::Service | SeriesOwner::Host | SeriesOwner::Series);
        let all = of_all.then(Member::default);
        let name = formula.selectors().first().map(|of| of.name.as_str()).unwrap_or_default();
        let tracks = self.series.get(name).into_iter().flatten();
        let here = tracks.filter(|(_, track)| track.round == self.round);
        let members = here.filter_map(|(labels, _)| {
            let label = |name: &str| labels.get(name).map(String::as_str);
            let instance = label(INSTANCE);
            match family.of {
                SeriesOwner::Series => None,
                SeriesOwner::Part(name) => {
                    Some(Member { instance: instance.unwrap_or_default(), part: label(name)? })
                }
                SeriesOwner::Instance | SeriesOwner::Service | SeriesOwner::Host => {
                    Some(Member { instance: instance?, part: "" })
                }
            }
        });
        members.chain(all).collect()
    }

    fn value(&self, family: &Family, formula: &Formula, member: Member<'_>) -> Option<f64> {
        let Member { instance, part } = member;
        let label = |labels: &Labels, name: &str, text: &str| {
            labels.get(name).map(String::as_str).unwrap_or_default() == text
        };
        let is_of = |labels: &Labels| match family.of {
            SeriesOwner::Part(name) => {
                label(labels, INSTANCE, instance) && label(labels, name, part)
            }
            SeriesOwner::Instance | SeriesOwner::Host => label(labels, INSTANCE, instance),
            SeriesOwner::Service => instance.is_empty() || label(labels, INSTANCE, instance),
            SeriesOwner::Series => true,
        };
        formula.value(&|of, is_rate| self.sum(of, is_rate, &is_of))
    }

    /// The sum of a series over its labels; `None` where one that had a sample in the round before
    /// has none in this one: the sum of the others would be something else.
    fn sum(&self, of: &Selector, is_rate: bool, is_of: &impl Fn(&Labels) -> bool) -> Option<f64> {
        let (mut sum, mut any) = (0.0, false);
        for (labels, track) in self.series.get(&of.name)? {
            let has = |(name, text): &(String, String)| labels.get(name) == Some(text);
            if !of.labels.iter().all(has) || !is_of(labels) {
                continue;
            }
            match self.round - track.round {
                0 => {}
                1 => return None,
                _ => continue,
            }
            sum += if is_rate { track.rate()? } else { track.last.1 };
            any = true;
        }
        any.then_some(sum)
    }
}

/// Whether a series is one that collectors know, by the first word of its name: as those have of
/// which figures are made, and what a run writes of its own host. Others are the application's own.
#[must_use]
pub fn is_of_collectors(name: &str) -> bool {
    static KNOWN: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
        let used = FORMULAS.iter().flatten().flat_map(Formula::selectors);
        used.map(|of| first_word(&of.name)).chain([OF_RUNS]).collect()
    });
    KNOWN.contains(first_word(name))
}

/// The name of a series up to its first `_`, with it; all of a name without one.
fn first_word(name: &str) -> &str {
    name.find('_').map_or(name, |at| &name[..=at])
}

/// Whether any formula is made of the series of a name.
fn is_used(name: &str) -> bool {
    static USED: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
        let formulas = FORMULAS.iter().flatten();
        formulas.flat_map(Formula::selectors).map(|of| of.name.clone()).collect()
    });
    USED.contains(name)
}

/// Figures summed up over rounds, for their means.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Means {
    sums: BTreeMap<String, (f64, u64)>,
}

impl Means {
    /// Adds a round.
    pub fn add(&mut self, round: &Round) {
        for (name, value) in &round.figures {
            match self.sums.get_mut(name) {
                Some((sum, count)) => (*sum, *count) = (*sum + value, *count + 1),
                None => drop(self.sums.insert(name.clone(), (*value, 1))),
            }
        }
    }

    /// The mean of each figure over the rounds in which it had a value.
    #[must_use]
    pub fn means(&self) -> BTreeMap<String, f64> {
        let mean =
            |(name, (sum, count)): (&String, &(f64, u64))| (name.clone(), sum / *count as f64);
        self.sums.iter().map(mean).filter(|(_, value)| value.is_finite()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn cpu(rounds: &mut Rounds, at_s: u64, of: &str, used_s: f64) -> Option<Round> {
        let at_ns = at_s * S;
        let first =
            rounds.take("container_cpu_usage_seconds_total", [("instance", of)], at_ns, used_s);
        rounds.take("container_spec_cpu_quota", [("instance", of)], at_ns, 2_000.0);
        rounds.take("container_spec_cpu_period", [("instance", of)], at_ns, 10_000.0);
        first
    }

    #[test]
    fn series_of_collectors_are_told_by_their_first_word_and_others_are_the_applications_own() {
        let words = "node container nginx redis memcached mysql phpfpm plimsoll host";
        for word in words.split(' ') {
            assert!(is_of_collectors(&format!("{word}_any_total")), "{word}");
            assert!(!is_of_collectors(&format!("{word}js_any_total")), "{word}");
        }
        assert!(
            ["up", "", "_", "node", "http_requests_total"].iter().all(|own| !is_of_collectors(own))
        );
    }

    #[test]
    fn an_instance_has_its_share_of_its_limit() {
        let mut rounds = Rounds::default();
        assert_eq!(cpu(&mut rounds, 1, "web-1", 10.0), None);
        assert_eq!(cpu(&mut rounds, 1, "web-2", 0.0), None);
        // The first round has no rate yet.
        assert_eq!(cpu(&mut rounds, 2, "web-1", 10.1).unwrap().figures, BTreeMap::new());
        assert_eq!(cpu(&mut rounds, 3, "web-2", 0.1), None);
        let round = rounds.close().unwrap();
        assert_eq!(round.at_ns, 3 * S);
        let near = |name: &str, wanted: f64| {
            assert!((round.figures[name] - wanted).abs() < 1e-9, "{name}: {:?}", round.figures);
        };
        near("instance.web-1.cpu", 0.5);
        near("instance.web-1.cores", 0.1);
        // Its samples are two seconds apart.
        near("instance.web-2.cpu", 0.25);
        assert_eq!(rounds.close(), None, "a round without a sample is none");
    }

    #[test]
    fn a_ratio_is_over_one_period_and_none_without_events() {
        let mut rounds = Rounds::default();
        let mut redis = |at_s: u64, hits: f64, misses: f64| {
            let of = [("instance", "db-1")];
            rounds.take("redis_keyspace_hits_total", of, at_s * S, hits);
            rounds.take("redis_keyspace_misses_total", of, at_s * S, misses);
            rounds.close().unwrap().figures.get("redis.hit_ratio").copied()
        };
        assert_eq!(redis(1, 1_000.0, 1_000.0), None);
        assert_eq!(redis(2, 1_030.0, 1_010.0), Some(0.75));
        assert_eq!(redis(3, 1_030.0, 1_010.0), None, "nothing was looked up");
        assert_eq!(redis(4, 5.0, 5.0), None, "it began anew");
        assert_eq!(redis(5, 6.0, 5.0), Some(1.0));
    }

    #[test]
    fn a_service_is_all_of_its_instances_and_each() {
        let mut rounds = Rounds::default();
        let mut nginx = |at_s: u64, first: Option<f64>, second: f64| {
            for (of, value) in [("web-1", first), ("web-2", Some(second))] {
                let name = "nginx_http_requests_total";
                value.map(|value| rounds.take(name, [("instance", of)], at_s * S, value));
            }
            let figures = rounds.close().unwrap().figures;
            ["nginx.requests", "instance.web-1.nginx.requests", "instance.web-2.nginx.requests"]
                .map(|name| figures.get(name).copied())
        };
        assert_eq!(nginx(1, Some(0.0), 0.0), [None; 3]);
        assert_eq!(nginx(2, Some(5.0), 7.0), [Some(12.0), Some(5.0), Some(7.0)]);
        assert_eq!(nginx(3, None, 8.0), [None, None, Some(1.0)], "one of them is away");
        assert_eq!(nginx(4, None, 9.0), [Some(1.0), None, Some(1.0)], "it is gone");
    }

    #[test]
    fn the_host_is_not_an_instance_and_its_parts_are_told_apart() {
        let mut rounds = Rounds::default();
        let mut net = |at_s: u64, bytes: f64| {
            let name = "node_network_receive_bytes_total";
            rounds.take(name, [("device", "eth0")], at_s * S, bytes);
            rounds.take(name, [("device", "eth0"), ("instance", "web-1")], at_s * S, 2.0 * bytes);
            rounds.close().unwrap().figures
        };
        net(1, 0.0);
        let figures = net(2, 100.0);
        let wanted = [
            ("host.network.eth0.received", 100.0),
            ("instance.web-1.host.network.eth0.received", 200.0),
            ("instance.web-1.received", 200.0),
        ];
        assert_eq!(figures, wanted.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn a_host_that_an_agent_watches_is_told_apart_from_this_one() {
        let mut rounds = Rounds::default();
        rounds.take("node_load1", [], S, 1.0);
        rounds.take("node_load1", [("instance", "web7")], S, 3.0);
        let figures = rounds.close().unwrap().figures;
        let wanted = [("host.load", 1.0), ("instance.web7.host.load", 3.0)];
        assert_eq!(figures, wanted.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn series_of_the_application_are_figures_and_others_where_they_are_asked_for() {
        let mut rounds = Rounds::with(["node_forks_total"]);
        let mut take = |at_s: u64, jobs: f64| {
            rounds.take("jobs_total", [("kind", "a")], at_s * S, jobs);
            rounds.take("jobs_total", [("kind", "b")], at_s * S, jobs);
            rounds.take("queue", [], at_s * S, 3.0);
            rounds.take("node_forks_total", [], at_s * S, jobs);
            rounds.take("node_load5", [], at_s * S, 3.0);
            rounds.close().unwrap().figures
        };
        take(1, 10.0);
        let wanted =
            [("series.jobs_total", 4.0), ("series.node_forks_total", 2.0), ("series.queue", 3.0)];
        assert_eq!(take(2, 12.0), wanted.map(|(name, value)| (name.to_owned(), value)).into());
    }

    #[test]
    fn a_series_that_two_sources_have_is_the_firsts() {
        let mut rounds = Rounds::default();
        assert_eq!(rounds.take("node_load1", [], S, 3.0), None);
        assert_eq!(rounds.take("node_load1", [], S + 1_000_000, 4.0), None);
        let round = rounds.take("node_load1", [], 2 * S, 5.0).unwrap();
        assert!((round.figures["host.load"] - 3.0).abs() < 1e-12);
    }

    #[test]
    fn means_are_over_the_rounds_that_have_a_value() {
        let mut means = Means::default();
        for value in [Some(1.0), None, Some(3.0)] {
            let figures = value.map(|value| ("host.load".to_owned(), value)).into_iter().collect();
            means.add(&Round { at_ns: 0, figures });
        }
        assert_eq!(means.means(), [("host.load".to_owned(), 2.0)].into());
    }
}
