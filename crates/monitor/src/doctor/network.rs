//! Ports, queues, and what the kernel keeps of connections.

use super::{Facts, Finding, Fit, Wants, sysctl};
use plimsoll_units::{show_count, show_share};

/// The share of the ports that connections of one address may take.
const PORTS: f64 = 0.9;
/// The share of the ports that may wait in TIME_WAIT.
const WAITING: f64 = 0.5;
/// A backlog below which a burst of connections is lost, whatever the plan.
const LEAST_BACKLOG: u64 = 4096;
/// The time that a handshake may take, seconds.
const HANDSHAKE_S: f64 = 0.3;
/// The least queue of handshakes.
const LEAST_SYN: u64 = 512;
/// The share of the memory of TCP above which the kernel begins to save.
const PRESSURE: f64 = 0.7;

/// A number of connections, from so many a second in so many seconds.
fn within(per_s: f64, seconds: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
    let count = (per_s * seconds).clamp(0.0, 1e15).ceil() as u64;
    count
}

/// How many ports a connection may leave from: the range without those that are reserved.
fn ports(facts: &Facts<'_>) -> Option<u64> {
    let (low, high) = match facts.setting("net.ipv4.ip_local_port_range")?[..] {
        [low, high] if low <= high => (low, high),
        _ => return None,
    };
    let reserved = facts.text("proc/sys/net/ipv4/ip_local_reserved_ports").unwrap_or_default();
    let taken = |range: &str| -> Option<u64> {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u64, u64) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        Some((to.min(high) + 1).saturating_sub(from.max(low)))
    };
    let reserved: u64 = reserved.split(',').filter_map(taken).sum();
    Some((high - low + 1).saturating_sub(reserved))
}

pub(super) fn ports_and_queues(facts: &Facts<'_>, wants: Wants) -> Vec<Finding> {
    let range = Finding::new(
        "ports",
        "each connection to one address and port leaves from a port of its own",
        format_args!("{} within {}", show_count(wants.connections), show_share(PORTS)),
    );
    let range = match ports(facts) {
        Some(count) => range.found(show_count(count)).unless(
            wants.connections as f64 <= count as f64 * PORTS,
            Fit::Unfit,
            sysctl("net.ipv4.ip_local_port_range", "1024 65535"),
        ),
        None => range,
    };
    let backlog = LEAST_BACKLOG.max(within(wants.opened_per_s, 1.0));
    let accept = at_least(
        facts,
        ("accept queue", "net.core.somaxconn", backlog),
        "it bounds what waits for accept(2): what is beyond is lost for 1, 3, 7 seconds. The \
         backlog of a server is a bound too",
    );
    let handshakes = LEAST_SYN.max(within(wants.opened_per_s, 2.0 * HANDSHAKE_S));
    let syn = at_least(
        facts,
        ("SYN queue", "net.ipv4.tcp_max_syn_backlog", handshakes),
        "handshakes under way; beyond them cookies take over, which cost options of TCP",
    );
    let lost = Finding::new(
        "overflows",
        "connections that a full queue lost since the start: each is a peak of seconds",
        "none",
    );
    let counters = (facts.counter("ListenOverflows"), facts.counter("ListenDrops"));
    let lost = match counters {
        (Some(full), Some(dropped)) => lost
            .found(format_args!("{} full, {} dropped", show_count(full), show_count(dropped)))
            .unless(full == 0 && dropped == 0, Fit::Doubtful, ""),
        _ => lost,
    };
    vec![range, accept, syn, lost, time_wait(facts), reuse(facts, wants)]
}

/// A setting of the kernel that should be no less.
fn at_least(
    facts: &Facts<'_>,
    (name, setting, least): (&'static str, &str, u64),
    why: &'static str,
) -> Finding {
    let finding = Finding::new(name, why, format_args!("{setting} of {}", show_count(least)));
    match facts.number(setting) {
        Some(value) => finding.found(show_count(value)).unless(
            value >= least,
            Fit::Doubtful,
            sysctl(setting, least),
        ),
        None => finding,
    }
}

fn time_wait(facts: &Facts<'_>) -> Finding {
    let finding = Finding::new(
        "TIME_WAIT",
        "a port that waits is not free for a connection to the same address",
        format_args!("less than {} of the ports", show_share(WAITING)),
    );
    match (facts.sockets("TCP", "tw"), ports(facts)) {
        (Some(waiting), Some(ports)) => finding.found(show_count(waiting)).unless(
            waiting as f64 <= ports as f64 * WAITING,
            Fit::Doubtful,
            "sleep 60",
        ),
        _ => finding,
    }
}

fn reuse(facts: &Facts<'_>, wants: Wants) -> Finding {
    let finding = Finding::new(
        "reuse of TIME_WAIT",
        "a new connection may take a port that waits, where time stamps tell the two apart",
        "1, or 2 (loopback alone)",
    );
    let opens_many = |ports| within(wants.opened_per_s, 60.0) > ports;
    match (facts.number("net.ipv4.tcp_tw_reuse"), ports(facts).unwrap_or(28_232)) {
        (Some(mode), ports) => finding.found(mode).unless(
            mode > 0 || !opens_many(ports),
            Fit::Doubtful,
            sysctl("net.ipv4.tcp_tw_reuse", 1),
        ),
        (None, _) => finding,
    }
}

pub(super) fn memory_and_time(facts: &Facts<'_>, wants: Wants) -> Vec<Finding> {
    let memory = Finding::new(
        "TCP memory",
        "above the pressure the kernel makes windows small and drops what it cannot keep",
        format_args!("below {} of the pressure of net.ipv4.tcp_mem", show_share(PRESSURE)),
    );
    let pressures = facts.counter("TCPMemoryPressures").unwrap_or(0);
    let memory = match (facts.sockets("TCP", "mem"), facts.setting("net.ipv4.tcp_mem").as_deref()) {
        (Some(used), Some([_, pressure, most])) => {
            let is_below = used as f64 <= *pressure as f64 * PRESSURE && pressures == 0;
            let raised = format!("{} {} {}", pressure, 2 * pressure, (4 * pressure).max(*most));
            memory
                .found(format_args!(
                    "{} of {} pages, {} times pressed",
                    show_count(used),
                    show_count(*pressure),
                    show_count(pressures)
                ))
                .unless(is_below, Fit::Doubtful, sysctl("net.ipv4.tcp_mem", raised))
        }
        _ => memory,
    };
    let orphans = at_least(
        facts,
        ("orphans", "net.ipv4.tcp_max_orphans", wants.connections),
        "connections that their process has closed; beyond the bound they are reset",
    );
    let idle = Finding::new(
        "slow start after idle",
        "a connection that was idle begins anew with 10 segments: answers above 14 kB take longer",
        "0",
    );
    let idle = match facts.number("net.ipv4.tcp_slow_start_after_idle") {
        Some(mode) => idle.found(mode).unless(
            mode == 0,
            Fit::Doubtful,
            sysctl("net.ipv4.tcp_slow_start_after_idle", 0),
        ),
        None => idle,
    };
    let control = Finding::new(
        "congestion control",
        "results of hosts with different ones differ",
        "the same on all hosts",
    );
    let control = match facts.text("proc/sys/net/ipv4/tcp_congestion_control") {
        Some(name) => control.found(name),
        None => control,
    };
    vec![memory, orphans, idle, control, tracking(facts, wants), dropped(facts)]
}

fn tracking(facts: &Facts<'_>, wants: Wants) -> Finding {
    let name = "net.netfilter.nf_conntrack_max";
    let finding = Finding::new(
        "connection tracking",
        "a full table drops SYNs and says so in the kernel's log alone",
        format_args!("room for {} more", show_count(wants.connections)),
    );
    match (facts.number(name), facts.number("net.netfilter.nf_conntrack_count")) {
        (Some(most), Some(count)) => {
            let need = count + wants.connections + wants.connections / 5;
            finding.found(format_args!("{} of {}", show_count(count), show_count(most))).unless(
                most >= need,
                Fit::Unfit,
                sysctl(name, 2 * need),
            )
        }
        // Without the module nothing is tracked; a host without any /proc says nothing at all.
        (None, _) if facts.text("proc/net/sockstat").is_some() => finding.found("not loaded"),
        _ => finding,
    }
}

fn dropped(facts: &Facts<'_>) -> Finding {
    let finding = Finding::new(
        "dropped packets",
        "packets that a processor's queue lost since the start, on loopback too",
        "none",
    );
    // proc_net(5): a row a processor, in hexadecimal; the second column counts drops.
    let column = |line: &str| u64::from_str_radix(line.split_whitespace().nth(1)?, 16).ok();
    let text = facts.text("proc/net/softnet_stat");
    let drops = text.and_then(|text| text.lines().map(column).sum::<Option<u64>>());
    match drops {
        Some(drops) => finding.found(show_count(drops)).unless(
            drops == 0,
            Fit::Doubtful,
            sysctl("net.core.netdev_max_backlog", 65_536),
        ),
        None => finding,
    }
}
