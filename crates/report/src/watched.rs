//! What was watched beside the load: the host, the instances and the services, as the values of
//! lines. A chart is an entry of [`CHARTS`].

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_draw::chart::unit::Unit;
use plimsoll_runs::{Run, RunError};

use crate::others::{self, Others};
use crate::stored::{INSTANCE, Stored, Value};

/// A chart of watched series.
pub(crate) struct Watched {
    /// Unique in the page; a letter first.
    pub(crate) id: &'static str,
    /// What it shows.
    pub(crate) title: &'static str,
    /// What the vertical axis counts.
    pub(crate) measure: &'static str,
    /// What the values are.
    pub(crate) unit: Unit,
    /// Its lines.
    pub(crate) lines: &'static [Line],
}

/// A line of a chart: one for each instance that has the series.
pub(crate) struct Line {
    /// What it is; empty where the instance says it all.
    pub(crate) name: &'static str,
    /// How its values are made.
    pub(crate) of: SeriesValue,
}

/// How the values of a line are made of series. A counter's value is what it rose by since the
/// sample before.
pub(crate) enum SeriesValue {
    /// A gauge as it stood.
    Gauge(&'static str),
    /// A counter, per second.
    Rate(Part),
    /// The share of some counters in others, of what both rose by.
    Share(&'static [Part], &'static [Part]),
    /// Processor time over that which the quota grants; over one core where there is no quota.
    Quota,
}

/// The series of a name that have these labels. Those of one instance that differ in other labels
/// are added up.
pub(crate) type Part = (&'static str, &'static [(&'static str, &'static str)]);

const CPU: &str = "node_cpu_seconds_total";
const HITS: &str = "redis_keyspace_hits_total";
const MISSES: &str = "redis_keyspace_misses_total";
const COMMANDS: &str = "memcached_commands_total";
const RECEIVED: &str = "rabbitmq_global_messages_received_total";
const DELIVERED: &str = "rabbitmq_global_messages_delivered_total";
const ANSWERED: &str = "plimsoll_target_responses_total";
const USED: &str = "container_cpu_usage_seconds_total";
const QUOTA: &str = "container_spec_cpu_quota";
const PERIOD: &str = "container_spec_cpu_period";

/// The charts, in the order of the page.
pub(crate) const CHARTS: &[Watched] = &[
    Watched {
        id: "host-cpu",
        title: "Processors of the host",
        measure: "share of the time of all cores",
        unit: Unit::Share,
        lines: &[
            Line {
                name: "busy",
                of: SeriesValue::Share(
                    &[
                        (CPU, &[("mode", "user")]),
                        (CPU, &[("mode", "nice")]),
                        (CPU, &[("mode", "system")]),
                        (CPU, &[("mode", "irq")]),
                        (CPU, &[("mode", "softirq")]),
                    ],
                    &[(CPU, &[])],
                ),
            },
            Line {
                name: "waiting for a disk",
                of: SeriesValue::Share(&[(CPU, &[("mode", "iowait")])], &[(CPU, &[])]),
            },
            Line {
                name: "stolen",
                of: SeriesValue::Share(&[(CPU, &[("mode", "steal")])], &[(CPU, &[])]),
            },
        ],
    },
    Watched {
        id: "instance-cpu",
        title: "Processor time of the instances",
        measure: "share of the limit; of one core where there is none",
        unit: Unit::Share,
        lines: &[Line { name: "", of: SeriesValue::Quota }],
    },
    Watched {
        id: "instance-throttled",
        title: "Throttled periods of the instances",
        measure: "share of the periods in which the limit was used up",
        unit: Unit::Share,
        lines: &[Line {
            name: "",
            of: SeriesValue::Share(
                &[("container_cpu_cfs_throttled_periods_total", &[])],
                &[("container_cpu_cfs_periods_total", &[])],
            ),
        }],
    },
    Watched {
        id: "instance-memory",
        title: "Memory of the instances",
        measure: "bytes, without cached files",
        unit: Unit::Bytes,
        lines: &[Line { name: "", of: SeriesValue::Gauge("container_memory_rss") }],
    },
    Watched {
        id: "nginx",
        title: "Requests of nginx",
        measure: "requests per second, as it counts them",
        unit: Unit::PerSecond,
        lines: &[Line { name: "", of: SeriesValue::Rate(("nginx_http_requests_total", &[])) }],
    },
    Watched {
        id: "nginx-connections",
        title: "Connections of nginx",
        measure: "connections",
        unit: Unit::Count,
        lines: &[
            Line { name: "active", of: SeriesValue::Gauge("nginx_connections_active") },
            Line { name: "writing", of: SeriesValue::Gauge("nginx_connections_writing") },
            Line { name: "idle", of: SeriesValue::Gauge("nginx_connections_waiting") },
        ],
    },
    Watched {
        id: "redis",
        title: "Commands of Redis",
        measure: "commands per second, as it counts them",
        unit: Unit::PerSecond,
        lines: &[Line { name: "", of: SeriesValue::Rate(("redis_commands_processed_total", &[])) }],
    },
    Watched {
        id: "redis-hits",
        title: "Hit ratio of Redis",
        measure: "share of look-ups that found a key",
        unit: Unit::Share,
        lines: &[Line {
            name: "",
            of: SeriesValue::Share(&[(HITS, &[])], &[(HITS, &[]), (MISSES, &[])]),
        }],
    },
    Watched {
        id: "redis-memory",
        title: "Memory of Redis",
        measure: "bytes that it allocated",
        unit: Unit::Bytes,
        lines: &[Line { name: "", of: SeriesValue::Gauge("redis_memory_used_bytes") }],
    },
    Watched {
        id: "memcached",
        title: "Commands of memcached",
        measure: "commands per second, as it counts them",
        unit: Unit::PerSecond,
        lines: &[
            Line { name: "get", of: SeriesValue::Rate((COMMANDS, &[("command", "get")])) },
            Line { name: "set", of: SeriesValue::Rate((COMMANDS, &[("command", "set")])) },
        ],
    },
    Watched {
        id: "memcached-hits",
        title: "Hit ratio of memcached",
        measure: "share of gets that found an item",
        unit: Unit::Share,
        lines: &[Line {
            name: "",
            of: SeriesValue::Share(
                &[(COMMANDS, &[("command", "get"), ("status", "hit")])],
                &[(COMMANDS, &[("command", "get")])],
            ),
        }],
    },
    Watched {
        id: "memcached-items",
        title: "Items of memcached",
        measure: "items that it holds",
        unit: Unit::Count,
        lines: &[Line { name: "", of: SeriesValue::Gauge("memcached_current_items") }],
    },
    Watched {
        id: "rabbitmq",
        title: "Messages of RabbitMQ",
        measure: "messages per second, as it counts them",
        unit: Unit::PerSecond,
        lines: &[
            Line { name: "received", of: SeriesValue::Rate((RECEIVED, &[])) },
            Line { name: "delivered", of: SeriesValue::Rate((DELIVERED, &[])) },
        ],
    },
    Watched {
        id: "rabbitmq-queues",
        title: "Queues of RabbitMQ",
        measure: "messages",
        unit: Unit::Count,
        lines: &[
            Line { name: "waiting", of: SeriesValue::Gauge("rabbitmq_queue_messages_ready") },
            Line {
                name: "not acknowledged",
                of: SeriesValue::Gauge("rabbitmq_queue_messages_unacked"),
            },
        ],
    },
    Watched {
        id: "rabbitmq-memory",
        title: "Memory of RabbitMQ",
        measure: "its resident memory",
        unit: Unit::Bytes,
        lines: &[Line {
            name: "",
            of: SeriesValue::Gauge("rabbitmq_process_resident_memory_bytes"),
        }],
    },
    Watched {
        id: "target",
        title: "Requests of the target",
        measure: "requests per second, as it counts them",
        unit: Unit::PerSecond,
        lines: &[
            Line { name: "read", of: SeriesValue::Rate(("plimsoll_target_requests_total", &[])) },
            Line { name: "answered", of: SeriesValue::Rate((ANSWERED, &[])) },
            Line { name: "refused", of: SeriesValue::Rate((ANSWERED, &[("code", "503")])) },
        ],
    },
    Watched {
        id: "target-at-hand",
        title: "What the target has at hand",
        measure: "requests",
        unit: Unit::Count,
        lines: &[
            Line { name: "in work", of: SeriesValue::Gauge("plimsoll_target_in_work") },
            Line { name: "waiting", of: SeriesValue::Gauge("plimsoll_target_waiting") },
        ],
    },
    Watched {
        id: "host-network",
        title: "Network of the host",
        measure: "bytes per second, all interfaces together",
        unit: Unit::BytesPerSecond,
        lines: &[
            Line {
                name: "received",
                of: SeriesValue::Rate(("node_network_receive_bytes_total", &[])),
            },
            Line {
                name: "sent",
                of: SeriesValue::Rate(("node_network_transmit_bytes_total", &[])),
            },
        ],
    },
    Watched {
        id: "host-disk",
        title: "Disks of the host",
        measure: "bytes per second, all disks together",
        unit: Unit::BytesPerSecond,
        lines: &[
            Line { name: "read", of: SeriesValue::Rate(("node_disk_read_bytes_total", &[])) },
            Line { name: "written", of: SeriesValue::Rate(("node_disk_written_bytes_total", &[])) },
        ],
    },
    Watched {
        id: "host-tcp",
        title: "TCP of the host",
        measure: "per second",
        unit: Unit::PerSecond,
        lines: &[
            Line {
                name: "segments sent again",
                of: SeriesValue::Rate(("node_netstat_Tcp_RetransSegs", &[])),
            },
            Line {
                name: "dropped at a listener",
                of: SeriesValue::Rate(("node_netstat_TcpExt_ListenDrops", &[])),
            },
            Line { name: "resets sent", of: SeriesValue::Rate(("node_netstat_Tcp_OutRsts", &[])) },
        ],
    },
];

impl SeriesValue {
    /// The names of the series that it is made of.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        match self {
            Self::Gauge(name) | Self::Rate((name, _)) => vec![name],
            Self::Share(part, all) => part.iter().chain(*all).map(|(name, _)| *name).collect(),
            Self::Quota => vec![USED, QUOTA, PERIOD],
        }
    }
}

/// The series of a run that charts are made of, by their names.
#[derive(Default)]
pub(crate) struct Sampled {
    /// Those of the charts that are known beforehand.
    known: BTreeMap<String, Vec<Stored>>,
    /// The application's own, and all else that no collector knows.
    pub(crate) others: Others,
}

impl Sampled {
    /// Reads the series of a run that any chart is made of.
    pub(crate) fn read(run: &Run) -> Result<Self, RunError> {
        let lines = CHARTS.iter().flat_map(|chart| chart.lines);
        let has = run.series_names()?;
        let mut wanted: BTreeSet<&str> = lines.flat_map(|line| line.of.names()).collect();
        wanted.retain(|name| has.iter().any(|has| has.as_str() == *name));
        let (others, beyond) = others::chosen(&has);
        wanted.extend(others);
        let mut found: BTreeMap<String, Vec<Stored>> = BTreeMap::new();
        if wanted.is_empty() {
            return Ok(Self::default());
        }
        run.for_each_sample(|name, row| {
            let (true, Some(value)) = (wanted.contains(name), row.value) else { return Ok(()) };
            let all = found.entry(name.to_owned()).or_default();
            match all.iter_mut().find(|of| of.labels == row.labels) {
                Some(of) => of.samples.push((row.at_ns, value)),
                None => {
                    let (labels, samples) = (row.labels, vec![(row.at_ns, value)]);
                    all.push(Stored { labels, samples });
                }
            }
            Ok(())
        })?;
        found.values_mut().flatten().for_each(|of| of.samples.sort_by_key(|(at, _)| *at));
        let (known, others) = found.into_iter().partition(|(name, _)| !others::is_other(name));
        Ok(Self { known, others: Others::of(others, beyond) })
    }

    /// The instances that have a series of a name, sorted.
    pub(crate) fn instances(&self, name: &str) -> BTreeSet<&str> {
        let all = self.known.get(name).into_iter().flatten();
        all.map(|of| of.labels.get(INSTANCE).map_or("", String::as_str)).collect()
    }

    /// The sum of those series of an instance that parts name, sample by sample; without the
    /// moments at which one of them has no sample.
    fn sum(&self, parts: &[Part], instance: &str) -> BTreeMap<u64, f64> {
        let mut sums: BTreeMap<u64, (f64, usize)> = BTreeMap::new();
        for (name, labels) in parts {
            let is = |of: &&Stored| {
                of.labels.get(INSTANCE).map_or("", String::as_str) == instance
                    && labels
                        .iter()
                        .all(|(key, value)| of.labels.get(*key).is_some_and(|found| found == value))
            };
            for of in self.known.get(*name).into_iter().flatten().filter(is) {
                for (at, value) in &of.samples {
                    let sum = sums.entry(*at).or_insert((0.0, 0));
                    *sum = (sum.0 + value, sum.1 + 1);
                }
            }
        }
        let most = sums.values().map(|(_, n)| *n).max().unwrap_or(0);
        sums.into_iter().filter(|(_, (_, n))| *n == most).map(|(at, (sum, _))| (at, sum)).collect()
    }

    /// What some counters rose by from each sample to the next: the stretch between the two, and by
    /// how much. A counter that fell started anew, and says nothing of that stretch.
    fn rises(&self, parts: &[Part], instance: &str) -> Vec<(u64, u64, f64)> {
        let sums: Vec<(u64, f64)> = self.sum(parts, instance).into_iter().collect();
        let rise = |two: &[(u64, f64)]| (two[0].0, two[1].0, two[1].1 - two[0].1);
        sums.windows(2).map(rise).filter(|(_, _, by)| *by >= 0.0).collect()
    }

    /// The values of a line for one instance.
    pub(crate) fn values(&self, of: &SeriesValue, instance: &str) -> Vec<Value> {
        let per_second = |(from, to, by): (u64, u64, f64)| {
            (from, to, by / (to.saturating_sub(from).max(1) as f64 / 1e9))
        };
        let found: Vec<(u64, u64, f64)> = match of {
            SeriesValue::Gauge(name) => {
                let samples: Vec<(u64, f64)> =
                    self.sum(&[(name, &[])], instance).into_iter().collect();
                let before = |at: usize| samples[at.saturating_sub(1)].0;
                samples.iter().enumerate().map(|(at, (to, of))| (before(at), *to, *of)).collect()
            }
            SeriesValue::Rate(part) => {
                self.rises(&[*part], instance).into_iter().map(per_second).collect()
            }
            SeriesValue::Share(part, all) => {
                let part = self.rises(part, instance);
                let all = self.rises(all, instance);
                let of = |from: u64, to: u64| part.iter().find(|of| (of.0, of.1) == (from, to));
                let share =
                    |(from, to, by): (u64, u64, f64)| Some((from, to, of(from, to)?.2 / by));
                all.into_iter().filter(|(_, _, by)| *by > 0.0).filter_map(share).collect()
            }
            SeriesValue::Quota => {
                let at = |name| self.sum(&[(name, &[])], instance);
                let (quota, period) = (at(QUOTA), at(PERIOD));
                let cores = |to: u64| {
                    let cores = quota.get(&to)? / period.get(&to)?;
                    (cores > 0.0).then_some(cores)
                };
                let used = self.rises(&[(USED, &[])], instance).into_iter().map(per_second);
                used.map(|(from, to, used)| (from, to, used / cores(to).unwrap_or(1.0))).collect()
            }
        };
        found.into_iter().map(Value::of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(labels: &[(&str, &str)], values: &[f64]) -> Stored {
        let label = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let samples = (0..).step_by(1_000_000_000).zip(values.iter().copied());
        Stored { labels: labels.iter().map(label).collect(), samples: samples.collect() }
    }

    fn sampled<const N: usize>(known: [(String, Vec<Stored>); N]) -> Sampled {
        Sampled { known: known.into(), ..Sampled::default() }
    }

    fn shown(of: &Sampled, line: &SeriesValue, instance: &str) -> Vec<f64> {
        of.values(line, instance).iter().map(|of| (of.value * 1e6).round() / 1e6).collect()
    }

    #[test]
    fn counters_are_what_they_rose_by_and_shares_are_of_what_all_rose_by() {
        let cpu = vec![
            stored(&[("cpu", "0"), ("mode", "user")], &[5.0, 5.5, 6.0]),
            stored(&[("cpu", "1"), ("mode", "user")], &[1.0, 1.0, 2.0]),
            stored(&[("cpu", "0"), ("mode", "idle")], &[9.0, 9.5, 10.0]),
            stored(&[("cpu", "1"), ("mode", "idle")], &[7.0, 8.0, 8.0]),
        ];
        let sampled = sampled([(CPU.to_owned(), cpu)]);
        let busy = &CHARTS[0].lines[0].of;
        assert_eq!(shown(&sampled, busy, ""), [0.25, 0.75]);
        assert!(shown(&sampled, busy, "web-1").is_empty());
    }

    #[test]
    fn processor_time_is_of_the_quota_and_a_counter_that_fell_says_nothing() {
        let web = [("instance", "web-1")];
        let of = |name: &str, values: &[f64]| (name.to_owned(), vec![stored(&web, values)]);
        let all = sampled([
            of(USED, &[1.0, 1.1, 0.2, 0.4]),
            of(QUOTA, &[4000.0; 4]),
            of(PERIOD, &[10_000.0; 4]),
        ]);
        assert_eq!(shown(&all, &SeriesValue::Quota, "web-1"), [0.25, 0.5]);
        assert_eq!(shown(&all, &SeriesValue::Rate((USED, &[])), "web-1"), [0.1, 0.2]);
        assert_eq!(shown(&all, &SeriesValue::Gauge(QUOTA), "web-1"), [4000.0; 4]);
        let without = sampled([of(USED, &[1.0, 1.1])]);
        assert_eq!(shown(&without, &SeriesValue::Quota, "web-1"), [0.1], "of one core");
    }

    #[test]
    fn charts_have_ids_of_their_own() {
        let ids: BTreeSet<&str> = CHARTS.iter().map(|chart| chart.id).collect();
        assert_eq!(ids.len(), CHARTS.len());
    }
}
