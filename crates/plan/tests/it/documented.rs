//! `docs/plans.md` has a row for every key, saying what the reader's own list says, and an example
//! that is right.
//!
//! The tables are made anew by `PLIMSOLL_BLESS=1 cargo test -p plimsoll-plan documented`.

use std::fmt::Write as _;

use plimsoll_plan::{Key, PlanErrors, SectionKeys, sections};

use crate::caches;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/plans.md");

/// Plans of one key a line. Each key's example is right in at least one of them, in the place of
/// its own line or as one more of its section.
const PLANS: &[&str] = &[
    "[target]\nurl = 'http://h/'\nscenario = 'checkout.toml'\n[load]\nusers = 3\nfor = '1s'\n",
    "[target]\nurl = 'http://h/'\nthrough = 'http://127.0.0.1:3128'\n[load]\nusers = 3\nfor = '1s'\n",
    "[target]\nurl = 'http://h/'\n[load]\nrate = '500/s'\nfor = '30s'\n\
     [testbed]\nprovider = 'ec2'\nmax = 2\nbudget = '1 USD'\n[role.LABEL]\nrecipe = 'nginx'\n",
    "[target]\nurl = 'http://h/'\n[load]\nrate = '500/s'\nfor = '30s'\n[measure]\n",
    "[target]\nurl = 'http://h/'\nhttp = '2'\n[load]\nschedule = '500/s for 30s'\n[measure]\n",
    "[target]\nurl = 'http://h/'\nurls = 'urls.csv'\n[load]\nusers = 3\nfor = '1s'\n[measure]\n",
    "[target]\nurl = 'http://h/'\n[load]\n[load.trace]\nfile = 'day.csv'\n",
    "[target]\nurl = 'http://h/'\n[load]\n[load.profile]\nname = 'clarknet-day'\n",
    "[target]\nurl = 'http://h/'\n[target.replay]\nfile = 'access.log'\n",
    "[target]\nurl = 'http://h/'\n[load]\n[measure]\n",
    "[target]\nurl = 'http://h/'\n[load]\nrate = '500/s'\nfor = 'ever'\n",
    "[target]\nurl = 'https://h/'\ncert = 'a.pem'\nkey = 'a.key'\nthrough = 'h:1'\n\
     [load]\nusers = 3\nfor = '1s'\n",
    "[target]\nurl = 'http://h/'\n[search]\n",
    "[target]\nurl = 'http://h/'\n[search]\nmethod = 'ladder'\n",
    "[target]\nurl = 'redis://h/'\n[store]\n[load]\nusers = 3\nfor = '1s'\n",
    "[load]\nrate = '500/s'\nfor = '30m'\n[pool]\n[instance]\nservice = 'exp:70ms'\nmttf = '2h'\n\
     mttr = '5m'\n[balancer]\nqueue = 9\n[billing]\n[policy.LABEL]\nkind = 'fixed'\n",
    "[load]\nrate = '500/s'\nfor = '30m'\n[pool]\n[instance]\nmodel = 'server.json'\n",
    "[target]\nurl = 'cassandra://h/shop'\nrestart = 'sh again'\n[store]\n[load]\nusers = 3\nfor = '1s'\n",
    "[workload]\nobjects = 9\n[workload.class.LABEL]\n[workload.class.other]\n\
     [load]\nrate = '500/s'\nfor = '30s'\n\
     [cluster]\nsize = '1GB'\n",
    "[workload]\nrecurrence = '50%'\n[load]\nrate = '500/s'\nfor = '30s'\n[cluster]\n\
     size = '1GB'\n",
    "[target]\nurl = 'http://h/'\n[load]\nusers = 3\nfor = '1s'\n[fleet]\n",
    "[target]\nurl = 'http://h/'\n[load]\nusers = 3\nfor = '1s'\n[fleet]\nhosts = 'gen1'\n",
    "[target]\nurl = 'http://h/'\n[load]\nusers = 3\nfor = '1s'\n\
     [fleet]\nbus = 'amqp://h'\nkey = 'k'\nknown = 'w'\n",
    "[load]\nusers = 3\nfor = '1s'\n[campaign]\nfrom = { gen1 = { region = 'eu' } }\n\
     [campaign.target.LABEL]\nurl = 'http://h/'\nlabels = { region = 'eu' }\n\
     [fleet]\nhosts = { gen1 = '10.0.0.5' }\n",
    "[trace]\nfile = 'day.csv'\n[cache]\n",
    "[load]\nrate = '500/s'\nfor = '30m'\n[instance]\nservice = 'exp:70ms'\n[policy.calm]\n\
     kind = 'fixed'\n[tune]\n",
    "[target]\nurl = 'http://{{role.LABEL.address}}/'\n[load]\nusers = 3\nfor = '1s'\n[experiment]\n\
     [factor]\n\"load.users\" = [4, 16]\n\"load.timeout\" = ['1s', '2s']\n\
     [testbed]\n[role.LABEL]\nrecipe = 'nginx'\n[collect]\n\
     [watch.LABEL]\nwhen = 'host.cpu>90% for 10s'\n",
    "[target]\nurl = 'http://{{role.LABEL.address}}/'\n[load]\nusers = 3\nfor = '1s'\n\
     [testbed]\nprovider = 'ssh'\nhosts = { web1 = { address = '10.0.0.5', tags = ['fast'] }, \
     web2 = '10.0.0.6' }\n[role.LABEL]\nrecipe = 'nginx'\n",
    "[target]\nurl = 'http://h/'\n[load]\nusers = 3\nfor = '1s'\n\
     [testbed]\nprovider = 'namespace'\n[role.web]\nrecipe = 'nginx'\n[role.db]\nrecipe = 'redis'\n\
     [link.LABEL]\nrole = 'db'\nrtt = '5ms'\n",
    "[trace]\nfile = 'day.csv'\nchanges = '1m..1h'\n[latency]\n[cluster]\nsize = '1GB'\n",
];

/// Reads a plan of a load, or of clusters of caches; gives it as it is printed.
fn read(text: &str, origin: &str) -> Result<String, PlanErrors> {
    if text.contains("[cluster") || text.contains("[cache]") {
        caches::printed(text, origin)
    } else {
        crate::parse(text, origin).map(|plan| plan.to_toml())
    }
}

fn table(section: &SectionKeys) -> String {
    let mut out =
        String::from("| key | takes | default | example | |\n| --- | --- | --- | --- | --- |\n");
    for key in section.keys() {
        let (name, takes, about) = (key.name, key.takes(), key.about());
        let example = match key.example() {
            none if none.is_empty() => none,
            example => format!("`{example}`"),
        };
        let default = match key.default() {
            None => "–".into(),
            Some(words) if words.contains(' ') => words,
            Some(value) => format!("`{}`", value.trim_matches('`')),
        };
        writeln!(out, "| `{name}` | {takes} | {default} | {example} | {about} |").unwrap();
    }
    out
}

fn marks(section: &SectionKeys) -> (String, String) {
    let path = if section.path.is_empty() { "above the sections" } else { section.path };
    (format!("<!-- keys: {path} -->\n"), format!("<!-- end: {path} -->\n"))
}

#[test]
fn documented_keys_are_the_keys() {
    let mut page = std::fs::read_to_string(PAGE).unwrap();
    let bless = std::env::var_os("PLIMSOLL_BLESS").is_some();
    for section in sections() {
        let (start, end) = marks(section);
        let from = page.find(&start).unwrap_or_else(|| panic!("docs/plans.md lacks {start}"))
            + start.len();
        let to =
            from + page[from..].find(&end).unwrap_or_else(|| panic!("docs/plans.md lacks {end}"));
        if bless {
            page.replace_range(from..to, &table(section));
        } else {
            let hint = "PLIMSOLL_BLESS=1 cargo test -p plimsoll-plan documented writes it anew";
            assert_eq!(page[from..to], table(section), "{hint}");
        }
    }
    if bless {
        std::fs::write(PAGE, page).unwrap();
    }
}

/// The plan with the key set to a value, in a section of its own order.
fn with_value(plan: &str, section: &SectionKeys, key: &Key, value: &str) -> Option<String> {
    let line = format!("{} = {value}\n", key.name);
    if section.path.is_empty() {
        return Some(format!("{line}{plan}"));
    }
    let header = format!("[{}]\n", section.path);
    let start = plan.find(&header)? + header.len();
    let end = plan[start..].find("\n[").map_or(plan.len(), |length| start + length + 1);
    let end = end.max(start);
    let own = format!("{} = ", key.name);
    let kept: String = plan[start..end]
        .lines()
        .filter(|line| !line.starts_with(&own))
        .flat_map(|line| [line, "\n"])
        .collect();
    Some(format!("{}{line}{kept}{}", &plan[..start], &plan[end..]))
}

#[test]
fn documented_examples_are_right() {
    for section in sections() {
        for key in section.keys().filter(|key| !key.example().is_empty()) {
            let tried: Vec<_> = PLANS
                .iter()
                .filter_map(|plan| with_value(plan, section, key, &key.example()))
                .collect();
            let right = tried.iter().any(|text| read(text, "example.toml").is_ok());
            let said = || {
                let errors = tried.iter().map(|text| read(text, "example.toml").unwrap_err());
                errors.map(|error| format!("{error}\n---\n")).collect::<String>()
            };
            assert!(right, "{} of [{}]:\n{}", key.name, section.path, said());
        }
    }
}

#[test]
fn a_bare_one_is_no_share_of_any_key() {
    let keys = || sections().flat_map(|of| of.keys().map(move |key| (of, key)));
    let shares = || keys().filter(|(_, key)| key.takes() == "share");
    assert!(shares().count() >= 5, "{:?}", shares().map(|(_, key)| key.name).collect::<Vec<_>>());
    for (section, key) in shares() {
        for value in ["1", "1.0", "\"1\"", "'1.0'"] {
            let tried: Vec<_> =
                PLANS.iter().filter_map(|plan| with_value(plan, section, key, value)).collect();
            let errors: Vec<String> =
                tried.iter().map(|text| read(text, "bare.toml").unwrap_err().to_string()).collect();
            let hint = "write 1%, or 100% if it is a share of 1";
            let said = errors.iter().any(|error| error.contains(hint));
            assert!(said, "{} = {value}:\n{}", key.name, errors.join("\n---\n"));
        }
    }
}

#[test]
fn shares_are_printed_as_they_are_read() {
    let mut seen = 0;
    for section in sections() {
        for key in section.keys().filter(|key| key.takes().starts_with("share")) {
            for value in ["\"100%\"", "\"19.5%\"", "0.25"] {
                let plans = PLANS.iter().filter_map(|plan| with_value(plan, section, key, value));
                for printed in plans.filter_map(|text| read(&text, "example.toml").ok()) {
                    let again = read(&printed, "printed.toml");
                    let again = again.unwrap_or_else(|error| panic!("{error}\n{printed}"));
                    assert_eq!(again, printed, "{} = {value}", key.name);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen >= 20, "only {seen} plans were right");
}

#[test]
fn documented_plans_are_right() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let blocks: Vec<_> =
        page.split("```toml\n").skip(1).map(|b| b.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 3);
    for block in blocks {
        read(block, "docs/plans.md").unwrap_or_else(|errors| panic!("{errors}\n{block}"));
    }
}
