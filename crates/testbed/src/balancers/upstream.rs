//! The file of nginx's servers: written, and read again by who adopts them.

use std::fmt::Write as _;
use std::net::SocketAddr;

use plimsoll_workload::balancer::Rule;
use plimsoll_workload::pool::Choice;

use super::Settings;

/// The upstream's name: what its log says where no server has a place.
pub(super) const UPSTREAM: &str = "pool";
/// What is written for a weight of 1. By address nginx has 160 points for each, which are sorted
/// anew with each reload.
const WEIGHTS: (f64, f64) = (100.0, 10.0);
/// The greatest weight that is written.
const MOST_WEIGHT: f64 = 1e6;

/// A server of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) address: SocketAddr,
    pub(super) weight: f64,
    /// Whether it has not answered its health check.
    pub(super) is_out: bool,
}

/// The file of servers.
pub(super) fn upstream(servers: &[Server], settings: &Settings) -> String {
    let rule = match settings.rule {
        Rule::ByClient => "hash $remote_addr consistent;",
        Rule::Pool(Choice::Random) => "random;",
        Rule::Pool(Choice::TwoChoices) => "random two least_conn;",
        Rule::Pool(Choice::Fair(_) | Choice::LeastConnections(_)) => "least_conn;",
        Rule::Pool(Choice::RoundRobin | Choice::Weighted) => "",
    };
    let mut text = format!("upstream {UPSTREAM} {{\n    zone {UPSTREAM} 1m;\n");
    if !rule.is_empty() {
        let _ = writeln!(text, "    {rule}");
    }
    for Server { name, address, weight, is_out } in servers {
        let _ = write!(text, "    server {address} max_fails=1 fail_timeout=2s");
        if settings.rule.has_weights() {
            let of_one = if settings.rule == Rule::ByClient { WEIGHTS.1 } else { WEIGHTS.0 };
            let _ = write!(text, " weight={:.0}", (of_one * weight).clamp(1.0, MOST_WEIGHT));
        }
        if let Some(limit) = settings.limit {
            let _ = write!(text, " max_conns={limit}");
        }
        let down = if *is_out { " down" } else { "" };
        let _ = writeln!(text, "{down}; # {name}");
    }
    if servers.is_empty() {
        // An upstream without a server is refused.
        text.push_str("    server 127.0.0.1:9 down;\n");
    }
    text.push_str("    keepalive 256;\n}\n");
    text
}

/// Reads the servers of such a file. What is no line of one is left out.
pub(super) fn servers_of(text: &str, settings: &Settings) -> Vec<Server> {
    let of_one = if settings.rule == Rule::ByClient { WEIGHTS.1 } else { WEIGHTS.0 };
    let server = |line: &str| {
        let (words, name) = line.trim().strip_prefix("server ")?.split_once("; # ")?;
        let mut words = words.split_whitespace();
        let address = words.next()?.parse().ok()?;
        let (mut weight, mut is_out) = (1.0, false);
        for word in words {
            is_out |= word == "down";
            if let Some(written) = word.strip_prefix("weight=") {
                weight = written.parse::<f64>().ok()? / of_one;
            }
        }
        Some(Server { name: name.to_owned(), address, weight, is_out })
    };
    text.lines().filter_map(server).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_workload::balancer::Kind;
    use plimsoll_workload::pool::Ties;

    fn settings(rule: Rule, limit: Option<u32>) -> Settings {
        Settings {
            kind: Kind::Nginx,
            rule,
            limit,
            queue: 0,
            queue_timeout: None,
            check: None,
            count: 1,
        }
    }

    #[test]
    fn servers_are_written_with_their_rule_limit_and_weight() {
        let server = |n: u16, weight| Server {
            name: format!("web-{n}"),
            address: ([127, 0, 0, 1], n).into(),
            weight,
            is_out: false,
        };
        let servers = [server(1, 1.0), server(2, 0.625)];
        let text = upstream(&servers, &settings(Rule::Pool(Choice::Weighted), Some(10)));
        assert!(text.contains("127.0.0.1:2 max_fails=1 fail_timeout=2s weight=62 max_conns=10;"));
        let weighted = settings(Rule::Pool(Choice::Weighted), Some(10));
        let mut read = servers_of(&upstream(&servers, &weighted), &weighted);
        assert!((read[1].weight - 0.62).abs() < 1e-9, "{read:?}");
        read[1].weight = 0.625;
        assert_eq!(read, servers);
        assert!(servers_of(&upstream(&[], &weighted), &weighted).is_empty());
        let least = Rule::Pool(Choice::LeastConnections(Ties::Next));
        let text = upstream(&servers, &settings(least, None));
        assert!(text.contains("least_conn;") && !text.contains("weight="), "{text}");
        assert!(upstream(&[], &settings(Rule::ByClient, None)).contains("down;"));
    }
}
