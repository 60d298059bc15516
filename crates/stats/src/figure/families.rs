//! Figures of what is watched: a line for each, with the formula by which it is made of series.
//!
//! A name with `NAME` in it is a family: `instance.NAME.cpu` has a member for each instance. A
//! member is a figure as any other, found by [`super::named`].

use std::sync::LazyLock;

use super::formula::Formula;
use super::{Better, Figure, Unit, members};

/// What a figure of series is of, and so which series it is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesOwner {
    /// The host; or another one that an agent watches, or the network that an instance has of its
    /// own, as `instance.NAME.` before the name says.
    Host,
    /// A part of the host, or of another one, by the label that tells parts apart.
    Part(&'static str),
    /// An instance.
    Instance,
    /// A service: all of its instances together, or one of them, as `instance.NAME.` before the
    /// name says.
    Service,
    /// A series by its own name.
    Series,
}

/// The figures of one formula.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// What its members are of.
    pub of: SeriesOwner,
    /// A member, with `NAME` for what tells it from others.
    pub figure: Figure,
    /// How a value is made of series.
    pub formula: &'static str,
}

/// What tells a member of a family from others; empty where nothing has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Member<'a> {
    /// The instance.
    pub instance: &'a str,
    /// The part of a host, or the series.
    pub part: &'a str,
}

/// Stands in names and labels for what tells members apart.
const NAME: &str = "NAME";
/// Before the name of a figure of a service or a host, for one of its instances.
const INSTANCE: &str = "instance.";
/// The command that prints them.
const COMMANDS: &str = "run";

/// Makes the list.
macro_rules! families {
    ($($of:expr, $name:literal, $label:literal, $unit:ident, $better:ident, $formula:literal,
        $about:literal;)*) => {
        /// All families, in the order of the manual's table.
        pub const FAMILIES: &[Family] = &[$(Family {
            of: $of,
            figure: Figure {
                name: $name,
                label: $label,
                unit: Unit::$unit,
                better: Better::$better,
                about: $about,
                commands: COMMANDS,
            },
            formula: $formula,
        }),*];
    };
}

use SeriesOwner::{Host, Instance, Part, Series, Service};

// What it is of, name, label, unit, which way it is better, formula, and what it is.
families! {
    Host, "host.cpu", "host CPU", Share, Neither,
        "1 - (rate(node_cpu_seconds_total{mode=\"idle\"}) \
         + rate(node_cpu_seconds_total{mode=\"iowait\"})) / rate(node_cpu_seconds_total)",
        "share of all cores' time in which they worked";
    Host, "host.steal", "host steal", Share, Lower,
        "rate(node_cpu_seconds_total{mode=\"steal\"}) / rate(node_cpu_seconds_total)",
        "share of all cores' time that the hypervisor gave to others";
    Host, "host.iowait", "host iowait", Share, Lower,
        "rate(node_cpu_seconds_total{mode=\"iowait\"}) / rate(node_cpu_seconds_total)",
        "share of all cores' time in which they waited for a disk";
    Host, "host.load", "host load", Number, Neither, "node_load1",
        "threads that run or wait, over 1 min";
    Host, "host.runnable", "host runnable", Number, Neither, "node_procs_running",
        "threads running or ready to run";
    Host, "host.memory", "host memory", Share, Neither,
        "1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes",
        "share of the memory that no program could get";
    Host, "host.swap", "host swap", Share, Lower,
        "1 - node_memory_SwapFree_bytes / node_memory_SwapTotal_bytes",
        "share of the swap space in use; none of a host without swap";
    Host, "host.swapped", "host swapped", PerSecond, Lower,
        "rate(node_vmstat_pswpin) + rate(node_vmstat_pswpout)",
        "pages read from and written to swap";
    Host, "host.open_files", "host open files", Count, Neither, "node_filefd_allocated",
        "open files";
    Host, "host.processes", "host processes", Count, Neither, "node_processes_pids",
        "processes";
    Host, "host.cpu_pressure", "host CPU pressure", Share, Lower,
        "rate(node_pressure_cpu_waiting_seconds_total)",
        "share of the time in which a thread waited for a processor";
    Host, "host.io_pressure", "host I/O pressure", Share, Lower,
        "rate(node_pressure_io_waiting_seconds_total)",
        "share of the time in which a thread waited for a disk";
    Host, "host.memory_pressure", "host memory pressure", Share, Lower,
        "rate(node_pressure_memory_waiting_seconds_total)",
        "share of the time in which a thread waited for memory";
    Host, "host.tcp.established", "host TCP connections", Count, Neither,
        "node_netstat_Tcp_CurrEstab",
        "TCP connections that stand";
    Host, "host.tcp.time_wait", "host TIME_WAIT", Count, Neither, "node_sockstat_TCP_tw",
        "TCP sockets in TIME_WAIT";
    Host, "host.tcp.accepted", "host accepted", PerSecond, Neither,
        "rate(node_netstat_Tcp_PassiveOpens)",
        "TCP connections accepted";
    Host, "host.tcp.retransmits", "host retransmits", PerSecond, Lower,
        "rate(node_netstat_Tcp_RetransSegs)",
        "TCP segments sent again";
    Host, "host.tcp.retransmit_share", "host retransmit share", Share, Lower,
        "rate(node_netstat_Tcp_RetransSegs) / rate(node_netstat_Tcp_OutSegs)",
        "share of the TCP segments sent that were sent again";
    Host, "host.tcp.timeouts", "host TCP time-outs", PerSecond, Lower,
        "rate(node_netstat_TcpExt_TCPTimeouts)",
        "time-outs of retransmission";
    Host, "host.tcp.listen_drops", "host listen drops", PerSecond, Lower,
        "rate(node_netstat_TcpExt_ListenDrops)",
        "connections dropped at a listener";
    Host, "host.tcp.listen_overflows", "host listen overflows", PerSecond, Lower,
        "rate(node_netstat_TcpExt_ListenOverflows)",
        "connections refused by a full backlog";
    Part("device"), "host.disk.NAME.busy", "NAME busy", Share, Neither,
        "rate(node_disk_io_time_seconds_total)",
        "share of the time with an operation of the disk in progress";
    Part("device"), "host.disk.NAME.read", "NAME read", BytesPerSecond, Neither,
        "rate(node_disk_read_bytes_total)",
        "bytes read from the disk";
    Part("device"), "host.disk.NAME.written", "NAME written", BytesPerSecond, Neither,
        "rate(node_disk_written_bytes_total)",
        "bytes written to the disk";
    Part("device"), "host.disk.NAME.operations", "NAME operations", PerSecond, Neither,
        "rate(node_disk_reads_completed_total) + rate(node_disk_writes_completed_total)",
        "reads and writes of the disk that ended";
    Part("device"), "host.network.NAME.received", "NAME received", BytesPerSecond, Neither,
        "rate(node_network_receive_bytes_total)",
        "bytes received on the interface";
    Part("device"), "host.network.NAME.sent", "NAME sent", BytesPerSecond, Neither,
        "rate(node_network_transmit_bytes_total)",
        "bytes sent on the interface";
    Part("device"), "host.network.NAME.dropped", "NAME dropped", PerSecond, Lower,
        "rate(node_network_receive_drop_total) + rate(node_network_transmit_drop_total)",
        "packets of the interface that were dropped";
    Part("name"), "host.processes.NAME", "NAME processes", Count, Neither, "plimsoll_processes",
        "processes of this name";
    Instance, "instance.NAME.cpu", "NAME CPU", Share, Neither,
        "rate(container_cpu_usage_seconds_total) \
         / (container_spec_cpu_quota / container_spec_cpu_period)",
        "processor time of the instance over its limit; none without a limit";
    Instance, "instance.NAME.cores", "NAME cores", Number, Neither,
        "rate(container_cpu_usage_seconds_total)",
        "cores that the instance used";
    Instance, "instance.NAME.throttled", "NAME throttled", Share, Lower,
        "rate(container_cpu_cfs_throttled_periods_total) / rate(container_cpu_cfs_periods_total)",
        "share of the periods of the quota in which it was used up";
    Instance, "instance.NAME.memory", "NAME memory", Bytes, Neither,
        "container_memory_usage_bytes",
        "memory of the instance, with cached files";
    Instance, "instance.NAME.memory_share", "NAME memory share", Share, Neither,
        "container_memory_usage_bytes / container_spec_memory_limit_bytes",
        "that over its limit; none without a limit";
    Instance, "instance.NAME.program_memory", "NAME program memory", Bytes, Neither,
        "container_memory_rss",
        "memory of the instance's programs that is of no file";
    Instance, "instance.NAME.oom_kills", "NAME OOM kills", PerSecond, Lower,
        "rate(container_oom_events_total)",
        "processes of the instance killed for want of memory";
    Instance, "instance.NAME.threads", "NAME threads", Count, Neither, "container_threads",
        "threads of the instance";
    Instance, "instance.NAME.received", "NAME received", BytesPerSecond, Neither,
        "rate(node_network_receive_bytes_total{device=\"eth0\"})",
        "bytes received by the instance, in a network of its own";
    Instance, "instance.NAME.sent", "NAME sent", BytesPerSecond, Neither,
        "rate(node_network_transmit_bytes_total{device=\"eth0\"})",
        "bytes sent by the instance, in a network of its own";
    Instance, "instance.NAME.received_share", "NAME received share", Share, Neither,
        "rate(node_network_receive_bytes_total{device=\"eth0\"}) \
         / node_network_speed_bytes{device=\"eth0\"}",
        "that of the received over its rate; none without a rate";
    Instance, "instance.NAME.sent_share", "NAME sent share", Share, Neither,
        "rate(node_network_transmit_bytes_total{device=\"eth0\"}) \
         / node_network_speed_bytes{device=\"eth0\"}",
        "that of the sent over its rate; none without a rate";
    Service, "nginx.requests", "nginx requests", PerSecond, Neither,
        "rate(nginx_http_requests_total)",
        "requests";
    Service, "nginx.connections", "nginx connections", Count, Neither,
        "nginx_connections_active",
        "connections, those that wait too";
    Service, "nginx.accepted", "nginx accepted", PerSecond, Neither,
        "rate(nginx_connections_accepted)",
        "connections accepted";
    Service, "nginx.dropped", "nginx dropped", PerSecond, Lower,
        "rate(nginx_connections_accepted) - rate(nginx_connections_handled)",
        "connections dropped at a limit";
    Service, "redis.requests", "Redis requests", PerSecond, Neither,
        "rate(redis_commands_processed_total)",
        "commands";
    Service, "redis.hit_ratio", "Redis hit ratio", Share, Higher,
        "rate(redis_keyspace_hits_total) \
         / (rate(redis_keyspace_hits_total) + rate(redis_keyspace_misses_total))",
        "share of the look-ups that found a key; none of a period without look-ups";
    Service, "redis.memory", "Redis memory", Bytes, Neither, "redis_memory_used_bytes",
        "memory that it allocated";
    Service, "redis.keys", "Redis keys", Count, Neither, "redis_db_keys",
        "keys";
    Service, "redis.evictions", "Redis evictions", PerSecond, Neither,
        "rate(redis_evicted_keys_total)",
        "keys given up for memory";
    Service, "redis.connections", "Redis connections", Count, Neither, "redis_connected_clients",
        "connections";
    Service, "redis.cores", "Redis cores", Number, Neither,
        "rate(redis_cpu_user_seconds_total) + rate(redis_cpu_sys_seconds_total)",
        "cores that it used";
    Service, "memcached.requests", "memcached requests", PerSecond, Neither,
        "rate(memcached_commands_total)",
        "commands";
    Service, "memcached.hit_ratio", "memcached hit ratio", Share, Higher,
        "rate(memcached_commands_total{command=\"get\",status=\"hit\"}) \
         / (rate(memcached_commands_total{command=\"get\",status=\"hit\"}) \
         + rate(memcached_commands_total{command=\"get\",status=\"miss\"}))",
        "share of the gets that found an item; none of a period without gets";
    Service, "memcached.items", "memcached items", Count, Neither, "memcached_current_items",
        "items that it holds";
    Service, "memcached.memory", "memcached memory", Bytes, Neither, "memcached_current_bytes",
        "memory of the items";
    Service, "memcached.evictions", "memcached evictions", PerSecond, Neither,
        "rate(memcached_items_evicted_total)",
        "items given up for memory";
    Service, "memcached.connections", "memcached connections", Count, Neither,
        "memcached_current_connections",
        "connections";
    Service, "memcached.cores", "memcached cores", Number, Neither,
        "rate(memcached_process_user_cpu_seconds_total) \
         + rate(memcached_process_system_cpu_seconds_total)",
        "cores that it used";
    Service, "mariadb.queries", "MariaDB queries", PerSecond, Neither,
        "rate(mysql_global_status_questions)",
        "statements of clients";
    Service, "mariadb.running", "MariaDB running", Count, Neither,
        "mysql_global_status_threads_running",
        "threads that work";
    Service, "mariadb.connections", "MariaDB connections", Count, Neither,
        "mysql_global_status_threads_connected",
        "connections";
    Service, "mariadb.hit_ratio", "MariaDB hit ratio", Share, Higher,
        "1 - rate(mysql_global_status_innodb_buffer_pool_reads) \
         / rate(mysql_global_status_innodb_buffer_pool_read_requests)",
        "share of InnoDB's pages that were in memory; none of a period in which it looked for none";
    Service, "mariadb.lock_waits", "MariaDB lock waits", PerSecond, Lower,
        "rate(mysql_global_status_innodb_row_lock_waits)",
        "times that a row's lock was waited for";
    Service, "phpfpm.requests", "php-fpm requests", PerSecond, Neither,
        "rate(phpfpm_accepted_connections)",
        "requests that a process took";
    Service, "phpfpm.busy", "php-fpm busy", Share, Neither,
        "phpfpm_active_processes / phpfpm_total_processes",
        "share of its processes that make an answer";
    Service, "phpfpm.waiting", "php-fpm waiting", Count, Lower, "phpfpm_listen_queue",
        "requests that wait for a process";
    Service, "rabbitmq.received", "RabbitMQ received", PerSecond, Neither,
        "rate(rabbitmq_global_messages_received_total)",
        "messages that publishers sent";
    Service, "rabbitmq.delivered", "RabbitMQ delivered", PerSecond, Neither,
        "rate(rabbitmq_global_messages_delivered_total)",
        "messages given to consumers";
    Service, "rabbitmq.waiting", "RabbitMQ waiting", Count, Lower,
        "rabbitmq_queue_messages_ready",
        "messages that wait for a consumer";
    Service, "rabbitmq.connections", "RabbitMQ connections", Count, Neither,
        "rabbitmq_connections",
        "connections";
    Service, "rabbitmq.memory", "RabbitMQ memory", Bytes, Neither,
        "rabbitmq_process_resident_memory_bytes",
        "its resident memory";
    Service, "rabbitmq.cores", "RabbitMQ cores", Number, Neither,
        "rate(rabbitmq_cpu_seconds_total)",
        "cores that it used";
    Service, "target.requests", "target requests", PerSecond, Neither,
        "rate(plimsoll_target_requests_total)",
        "requests read by the built-in target";
    Service, "target.answered", "target answered", PerSecond, Neither,
        "rate(plimsoll_target_responses_total)",
        "answers that it sent, of any status";
    Service, "target.errors", "target errors", PerSecond, Lower,
        "rate(plimsoll_target_responses_total{code=\"500\"})",
        "answers of status 500 that it sent";
    Service, "target.refused", "target refused", PerSecond, Lower,
        "rate(plimsoll_target_responses_total{code=\"503\"})",
        "requests that it refused, as its queue was full";
    Service, "target.busy", "target busy", Share, Neither,
        "rate(plimsoll_target_work_seconds_total) / plimsoll_target_workers",
        "share of the time of its workers in which they worked";
    Service, "target.in_work", "target in work", Count, Neither, "plimsoll_target_in_work",
        "requests that its workers work on";
    Service, "target.waiting", "target waiting", Count, Lower, "plimsoll_target_waiting",
        "requests that wait for a worker";
    Service, "target.connections", "target connections", Count, Neither,
        "plimsoll_target_connections",
        "open connections";
    Service, "target.cores", "target cores", Number, Neither,
        "rate(plimsoll_target_cpu_seconds_total)",
        "cores that it used";
    Series, "series.NAME", "NAME", Number, Neither, "",
        "a series by its own name, summed over its labels: what it rises by a second where its \
         name ends in `_total`, else its value";
}

/// The formulas of the families, in their order; none of series by their own names.
pub(super) static FORMULAS: LazyLock<Vec<Option<Formula>>> =
    LazyLock::new(|| FAMILIES.iter().map(|of| Formula::parse(of.formula).ok()).collect());

impl Family {
    /// The name of a member.
    #[must_use]
    pub fn name_of(&self, member: Member<'_>) -> String {
        let Member { instance, part } = member;
        let is_instance = self.of == SeriesOwner::Instance;
        let own = self.figure.name.replace(NAME, if is_instance { instance } else { part });
        if is_instance || instance.is_empty() { own } else { format!("{INSTANCE}{instance}.{own}") }
    }

    /// The member of a name; `None` where it is no member's.
    #[must_use]
    pub fn member<'a>(&self, word: &'a str) -> Option<Member<'a>> {
        let is_name = |text: &&str| {
            let may_be = |c: char| c.is_ascii_alphanumeric() || "-_.:*".contains(c);
            !text.is_empty() && text.chars().all(may_be)
        };
        let of_instance = match self.of {
            SeriesOwner::Host | SeriesOwner::Part(_) | SeriesOwner::Service => {
                word.strip_prefix(INSTANCE)
            }
            SeriesOwner::Instance | SeriesOwner::Series => None,
        };
        let (instance, own) = match of_instance {
            Some(rest) => rest.split_once('.').filter(|(instance, _)| is_name(instance))?,
            None => ("", word),
        };
        let Some((before, after)) = self.figure.name.split_once(NAME) else {
            return (own == self.figure.name).then_some(Member { instance, part: "" });
        };
        let part = own.strip_prefix(before)?.strip_suffix(after).filter(is_name)?;
        match self.of {
            SeriesOwner::Series if part.contains(['*', '.']) => None,
            SeriesOwner::Instance if part.contains('.') => None,
            SeriesOwner::Instance => Some(Member { instance: part, part: "" }),
            _ => Some(Member { instance, part }),
        }
    }

    /// The member with a name of its own, which is kept from then on.
    fn figure_of(&'static self, word: &str) -> Option<&'static Figure> {
        let member = self.member(word).filter(|_| !word.contains('*'))?;
        if word == self.figure.name {
            return Some(&self.figure);
        }
        let Member { instance, part } = member;
        let label = match self.of {
            SeriesOwner::Instance => self.figure.label.replace(NAME, instance),
            _ => format!("{instance} {}", self.figure.label.replace(NAME, part)),
        };
        members::like(&self.figure, word, label.trim_start())
    }
}

/// The family of a member, by its name, in which `*` may stand for any part of what tells it from
/// others.
#[must_use]
pub fn family(word: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.member(word).is_some())
}

/// The figure that is a member of that name.
pub(super) fn member(word: &str) -> Option<&'static Figure> {
    family(word)?.figure_of(word)
}

/// Whether a name fits a pattern, in which each `*` stands for any text.
#[must_use]
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

/// The names that a mistyped one may have been meant to be.
pub(crate) fn candidates(word: &str) -> Vec<String> {
    // What stands between the first two points, or the second two, is what tells members apart;
    // behind an instance, what stands between the fourth and the fifth.
    let words: Vec<&str> = word.split('.').collect();
    let at = |place: usize| words.get(place).copied().unwrap_or(NAME);
    let of = |instance, part| {
        let member = Member { instance, part };
        FAMILIES.iter().map(move |family| family.name_of(member))
    };
    let alone = FAMILIES.iter().map(|family| family.figure.name.to_owned());
    let of_host = of("", at(1)).chain(of("", at(2)));
    alone.chain(of_host).chain(of(at(1), at(4))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_formula_is_one_and_only_series_have_none() {
        for (family, formula) in FAMILIES.iter().zip(FORMULAS.iter()) {
            assert_eq!(
                formula.is_none(),
                family.of == SeriesOwner::Series,
                "{}",
                family.figure.name
            );
        }
    }

    #[test]
    fn members_are_found_by_their_names() {
        for (word, family_name, instance, part) in [
            ("host.cpu", "host.cpu", "", ""),
            ("host.disk.sda1.busy", "host.disk.NAME.busy", "", "sda1"),
            ("host.network.eth0.100.sent", "host.network.NAME.sent", "", "eth0.100"),
            ("host.processes", "host.processes", "", ""),
            ("host.processes.php-fpm", "host.processes.NAME", "", "php-fpm"),
            ("instance.web-1.cpu", "instance.NAME.cpu", "web-1", ""),
            ("instance.web*.cpu", "instance.NAME.cpu", "web*", ""),
            ("instance.web-1.memory", "instance.NAME.memory", "web-1", ""),
            ("instance.web-1.redis.memory", "redis.memory", "web-1", ""),
            ("nginx.requests", "nginx.requests", "", ""),
            ("instance.web-1.nginx.requests", "nginx.requests", "web-1", ""),
            ("instance.web7.host.cpu", "host.cpu", "web7", ""),
            ("instance.*.host.tcp.time_wait", "host.tcp.time_wait", "*", ""),
            ("instance.w.host.network.eth0.100.sent", "host.network.NAME.sent", "w", "eth0.100"),
            ("instance.w.host.disk.*.busy", "host.disk.NAME.busy", "w", "*"),
            ("instance.w.host.processes.php-fpm", "host.processes.NAME", "w", "php-fpm"),
            ("series.jobs_total", "series.NAME", "", "jobs_total"),
        ] {
            let found = family(word).unwrap_or_else(|| panic!("{word}"));
            let member = Member { instance, part };
            assert_eq!((found.figure.name, found.member(word)), (family_name, Some(member)));
            if !word.contains('*') {
                assert_eq!(found.name_of(member), word);
                let figure = super::super::named(word).unwrap();
                assert_eq!((figure.name, figure.unit), (word, found.figure.unit));
            }
        }
        for word in [
            "host.cpux",
            "instance..cpu",
            "instance.web 1.cpu",
            "web-1.nginx.requests",
            "instance.w.host.network.sent",
            "instance..host.disk.sda.busy",
        ] {
            assert_eq!(family(word), None, "{word}");
        }
        let label = super::super::named("instance.w.host.disk.sda.busy").unwrap().label;
        assert_eq!(label, "w sda busy");
        assert_eq!(super::super::named("instance.web*.cpu"), None, "a pattern is no figure");
        assert_eq!(super::super::named("instance.web-1.cpu").unwrap().label, "web-1 CPU");
    }

    #[test]
    fn patterns_mean_each_name_that_fits() {
        for (pattern, name, wanted) in [
            ("instance.web*.cpu", "instance.web-1.cpu", true),
            ("instance.web*.cpu", "instance.web.cpu", true),
            ("instance.web*.cpu", "instance.db-1.cpu", false),
            ("instance.*-1.cpu", "instance.web-1.cpu", true),
            ("instance.*-1.cpu", "instance.web-2.cpu", false),
            ("instance.*.cpu", "instance.web-1.cpu", true),
            ("host.cpu", "host.cpu", true),
            ("host.cpu", "host.cpus", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn a_mistyped_member_is_near_to_the_right_one() {
        let nearest = |word: &str| {
            let known = candidates(word);
            plimsoll_units::nearest(word, known.iter().map(String::as_str)).map(str::to_owned)
        };
        assert_eq!(nearest("instance.web-1.cup").as_deref(), Some("instance.web-1.cpu"));
        assert_eq!(nearest("memcached.hit_ration").as_deref(), Some("memcached.hit_ratio"));
        assert_eq!(nearest("host.disk.sda.busi").as_deref(), Some("host.disk.sda.busy"));
        let of_agent = nearest("instance.w.host.disk.sda.busi");
        assert_eq!(of_agent.as_deref(), Some("instance.w.host.disk.sda.busy"));
    }
}
