//! A printed plan is complete, and reads back as the same plan.

use plimsoll_workload::request::secrets::is_in_header;
use std::time::Duration;

use plimsoll_plan::{Length, LoadShape, PlanKind, RateSource, Search, Setting, kind_of};
use plimsoll_workload::arrivals::Arrivals;
use proptest::prelude::*;

/// One setting: a key and a value that is right for it.
fn one(
    key: &'static str,
    value: impl Strategy<Value = String> + 'static,
) -> BoxedStrategy<(String, String)> {
    value.prop_map(move |value| (key.to_owned(), value)).boxed()
}

/// The setting, or none.
fn maybe(
    key: &'static str,
    value: impl Strategy<Value = String> + 'static,
) -> BoxedStrategy<Vec<(String, String)>> {
    prop::option::of(one(key, value)).prop_map(|setting| setting.into_iter().collect()).boxed()
}

fn words(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(str::to_owned)
}

fn duration() -> impl Strategy<Value = String> {
    prop_oneof![
        (1u64..10_000_000_000_000).prop_map(|ns| format!("{ns}ns")),
        (1u32..5000).prop_map(|s| format!("{s}s")),
        (1u32..90).prop_map(|m| format!("1h{m}m")),
    ]
}

fn rate() -> impl Strategy<Value = String> {
    prop_oneof![
        (1.0f64..1e6).prop_map(|rate| format!("{rate}/s")),
        (1u32..100_000).prop_map(|rate| format!("{rate}/m")),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{1,20}", "\\PC{1,20}"]
        .prop_filter("not empty, no control characters", |t| !t.chars().any(char::is_control))
}

fn shape() -> impl Strategy<Value = Vec<(String, String)>> {
    let arrivals = || maybe("load.arrivals", words(&["even", "random", "poisson"]));
    let number = || (0.001f64..1000.0).prop_map(|n| n.to_string());
    let scale = || (1u32..100, 100u32..999).prop_map(|(a, b)| format!("{a}/m..{b}.25/s"));
    let piece = prop_oneof![
        (1u32..999, duration()).prop_map(|(a, d)| format!("{a}.5/s for {d}")),
        (1u32..999, 0u32..999, duration()).prop_map(|(a, b, d)| format!("{a}/s..{b}/s in {d}")),
    ];
    let think = prop_oneof![
        words(&["none", "const:1s", "uniform:1ms..9ms", "lognormal:5ms,0.8", "pareto:1.5,1ms..1s"]),
        duration().prop_map(|d| format!("exp:{d}")),
    ];
    let join = |parts: Vec<Vec<(String, String)>>| parts.concat();
    prop_oneof![
        (rate(), 60u32..999, arrivals()).prop_map(|(rate, s, more)| {
            let rate = [("load.rate".into(), rate), ("load.for".into(), format!("{s}s"))];
            [rate.to_vec(), more].concat()
        }),
        (prop::collection::vec(piece, 1..5), arrivals()).prop_map(|(pieces, more)| {
            // At least one request, whatever the pieces say.
            let schedule = format!("{}, 5/s for 1m", pieces.join(", "));
            [vec![("load.schedule".into(), schedule)], more].concat()
        }),
        (1u32..5000, duration(), maybe("load.think", think)).prop_map(|(users, time, more)| {
            let users = [("load.users".into(), users.to_string()), ("load.for".into(), time)];
            [users.to_vec(), more].concat()
        }),
        (
            one("load.trace", text()),
            arrivals(),
            maybe("load.trace.scale", scale()),
            maybe("load.trace.speed", number()),
            maybe("load.trace.interpolate", words(&["true", "false"])),
            maybe("load.trace.fill_drops", (0.0f64..1.0).prop_map(|share| share.to_string())),
            maybe("load.trace.counts_per", duration()),
            maybe("load.trace.columns", words(&["time,rate", "time_ms,-,count"])),
        )
            .prop_map(move |(a, b, c, d, e, f, g, h)| join(vec![
                vec![a],
                b,
                c,
                d,
                e,
                f,
                g,
                h
            ])),
        (maybe("load.profile.scale", scale()), maybe("load.profile.speed", number()), arrivals())
            .prop_map(move |(a, b, c)| {
                join(vec![vec![("load.profile".into(), "clarknet-day".into())], a, b, c])
            }),
    ]
}

fn target() -> impl Strategy<Value = Vec<(String, String)>> {
    let url = prop_oneof![
        "http://[a-z]{1,9}(:[1-9][0-9]{0,3})?(/[!-\"$-z]{0,9})?",
        "https://[a-z]{1,9}[.]test/[a-z?=&é]{0,9}",
        "http[+]unix://%2Frun%2F[a-z]{1,9}/[a-z]{0,5}",
        Just("http://[::1]:8080/".to_owned()),
    ];
    let asked = prop_oneof![
        Just(Vec::new()),
        (
            maybe("target.urls", text()),
            maybe(
                "target.order",
                words(&["uniform", "weighted", "zipf:0.1", "in-order", "zipf:1e-7"])
            ),
        )
            .prop_map(|(urls, order)| if urls.is_empty() {
                urls
            } else {
                [urls, order].concat()
            }),
        (
            one("target.replay", text()),
            maybe("target.replay.speed", (0.001f64..1000.0).prop_map(|n| n.to_string())),
            maybe("target.replay.format", words(&["common", "combined", "squid", "json"])),
        )
            .prop_map(|(file, speed, format)| [vec![file], speed, format].concat()),
    ];
    let body = prop_oneof![
        maybe("target.body", "\\PC{0,20}".prop_map(|t| t.replace('{', "{ "))),
        maybe("target.body", words(&["{{uuid}}", "\\{{", "a\n\t\"{{counter}}\"\u{7f}", "é🦀"])),
        maybe("target.body_file", text()),
    ];
    let name = "[A-Za-z!#$%&'*+^_`|~-]{1,12}";
    // What is secret is not written down.
    let is_open = |(name, value): &(String, String)| !is_in_header(&format!("X{name}"), value);
    let header =
        (name, "[!-z]{0,12}").prop_filter("no secret", is_open).prop_map(|(name, value)| {
            ("target.headers".to_owned(), format!("X{name}: {}", value.replace("{{", "")))
        });
    let resolve = prop_oneof![Just("a.test:80:127.0.0.1"), Just("B.test:443:::1")];
    (
        one("target.url", url),
        asked,
        body,
        prop::collection::vec(header, 0..4),
        prop::collection::vec(one("target.resolve", resolve.prop_map(str::to_owned)), 0..3),
        maybe("target.method", words(&["GET", "POST", "PURGE"])),
        maybe("target.basic_env", words(&["LOGIN"])),
        (
            maybe("target.host", "[a-z.]{1,9}"),
            maybe("target.ok", words(&["2xx", "200,304", "200..299,404", "5xx"])),
            maybe("target.follow", words(&["0", "7"])),
            maybe("target.addresses", words(&["first", "spread"])),
            maybe("load.from_address", words(&["127.0.0.1", "::1,10.0.0.1"])),
            maybe("target.insecure", words(&["true", "false"])),
            maybe("target.ca", text()),
            maybe("target.sni", "[a-z.]{1,9}"),
            prop_oneof![
                Just(Vec::new()),
                (one("target.cert", text()), one("target.key", text()))
                    .prop_map(|(cert, key)| vec![cert, key])
            ],
        ),
    )
        .prop_map(|(url, a, b, c, d, e, f, (g, h, m, n, o, i, j, k, l))| {
            [vec![url], a, b, c, d, e, f, g, h, i, j, k, l, m, n, o].concat()
        })
}

fn rest() -> impl Strategy<Value = Vec<(String, String)>> {
    let number = |low: u64, high: u64| (low..high).prop_map(|n| n.to_string());
    let http2 = (words(&["2", "auto"]), maybe("load.streams", number(1, 500)))
        .prop_map(|(http, streams)| [vec![("target.http".into(), http)], streams].concat());
    (
        prop_oneof![Just(Vec::new()), http2, maybe("target.http", words(&["1.1"]))],
        (
            maybe("load.warm_up", prop_oneof![duration(), Just("until steady".to_owned())]),
            maybe("load.start_when", words(&["memcached.hit_ratio >= 97% for 60s", "host.load<1"])),
            maybe("load.start_within", words(&["5m"])),
            maybe("load.ends_when", words(&["availability<99.9%", "errors>1% for 5s"])),
        )
            .prop_map(|(a, b, c, d)| [a, b, c, d].concat()),
        maybe("load.drain", duration()),
        maybe("load.connections", prop_oneof![number(1, 9999), Just("64..2k".to_owned())]),
        (
            maybe("load.connection", words(&["keep-alive", "per-request"])),
            maybe("load.tls_resumption", words(&["off", "on"])),
        )
            .prop_map(|(life, tls)| [life, tls].concat()),
        maybe("load.timeout", duration()),
        maybe("load.max_waiting", prop_oneof![number(0, 9999), Just(u64::MAX.to_string())]),
        (
            maybe("load.threads", words(&["1", "auto"])),
            (
                maybe("load.pacing", words(&["precise", "thrifty", "auto"])),
                maybe("load.traceparent", words(&["0%", "1%", "12.5%", "all"])),
            )
                .prop_map(|(pacing, traced)| [pacing, traced].concat()),
            maybe("load.stop_when", words(&["errors>50% for 5s", "p99.9>1.5s for 1m"])),
            maybe("load.patience", duration()),
            maybe(
                "measure.slo",
                words(&[
                    "p99<200ms",
                    "errors < 0.1%, rate>=5/s",
                    "lost<10",
                    "p99<9ms, instance.web*.cpu < 20% for 1.5s",
                ]),
            ),
            maybe("measure.samples", words(&["true", "false"])),
            maybe("name", text()),
            maybe("seed", prop_oneof![number(0, 99), Just(u64::MAX.to_string())]),
            maybe("repeat", number(1, 99)),
        ),
    )
        .prop_map(|(a, b, c, d, e, f, g, (h, i, j, k, l, m, n, o, p))| {
            [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p].concat()
        })
}

fn search() -> impl Strategy<Value = Vec<(String, String)>> {
    let share = || (1u32..50, 0u32..1000).prop_map(|(whole, part)| format!("{whole}.{part:03}%"));
    let near = prop_oneof![duration(), Just("off".to_owned())];
    let ladder = (
        Just(vec![("search.method".to_owned(), "ladder".to_owned())]),
        prop::collection::vec(one("search.first", rate()), 0..4),
    );
    let adaptive =
        (maybe("search.method", words(&["adaptive"])), maybe("search.sustain", duration()));
    let method = prop_oneof![
        ladder.prop_map(|(method, first)| [method, first].concat()),
        adaptive.prop_map(|(method, sustain)| [method, sustain].concat()),
    ];
    let rest = (
        maybe("search.window", (1u32..5000).prop_map(|s| format!("{s}s"))),
        maybe("search.tuning", share()),
        maybe("search.near_rtt", near),
        maybe("search.step_of", words(&["gap", "half"])),
        maybe("search.every", duration()),
        maybe("search.restarts", (1u32..1_000_000).prop_map(|n| n.to_string())),
        maybe(
            "search.price",
            (1u32..999_999_999).prop_map(|n| format!("{}/h", f64::from(n) / 1e4)),
        ),
    )
        .prop_map(|(a, b, c, d, e, f, g)| [a, b, c, d, e, f, g].concat());
    (
        one("search.start", rate()),
        maybe("search.max_rate", rate()),
        maybe("search.max_time", duration()),
        maybe("search.max_overload", duration()),
        maybe("search.calibrate", words(&["true", "false"])),
        maybe("search.precision", share()),
        method,
        rest,
    )
        .prop_map(|(a, b, c, d, e, f, g, h)| [vec![a], b, c, d, e, f, g, h].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_search_reads_back_the_same(search in search()) {
        let url = [("target.url".to_owned(), "http://h/".to_owned())];
        let settings: Vec<Setting> = url
            .into_iter()
            .chain(search)
            .map(|(key, value)| Setting::new(key, value, "--flag"))
            .collect();
        let plan = crate::assemble(&settings);
        prop_assert!(plan.is_ok(), "{}", plan.unwrap_err());
        let plan = plan.unwrap();
        let printed = plan.to_toml();
        prop_assert_eq!(kind_of(&printed), PlanKind::Search);
        let again = crate::parse(&printed, "printed.toml");
        prop_assert!(again.is_ok(), "{}\n{printed}", again.unwrap_err());
        let again = again.unwrap();
        prop_assert_eq!(&again, &plan, "{}", printed);
        prop_assert_eq!(again.to_toml(), printed);
    }

    #[test]
    fn any_plan_reads_back_the_same(
        (target, shape, rest, own_times) in (target(), shape(), rest(), any::<bool>()),
    ) {
        let replay = target.iter().any(|(key, _)| key == "target.replay");
        let said_by_log = ["target.method", "target.body", "target.body_file"];
        let is_unix =
            target.iter().any(|(key, url)| key == "target.url" && url.starts_with("http+unix"));
        let through = !is_unix && target.iter().any(|(key, _)| key == "target.through");
        let goes = |key: &str| match key {
            "target.through" => through,
            "target.addresses" => !through,
            _ => !replay || !said_by_log.contains(&key),
        };
        let shape = if replay && own_times { Vec::new() } else { shape };
        let settings: Vec<Setting> = [target, shape, rest]
            .concat()
            .into_iter()
            .filter(|(key, _)| goes(key))
            .map(|(key, value)| Setting::new(key, value, "--flag"))
            .collect();
        let plan = crate::assemble(&settings);
        prop_assert!(plan.is_ok(), "{}", plan.unwrap_err());
        let plan = plan.unwrap();
        let printed = plan.to_toml();
        let again = crate::parse(&printed, "printed.toml");
        prop_assert!(again.is_ok(), "{}\n{printed}", again.unwrap_err());
        let again = again.unwrap();
        prop_assert_eq!(&again, &plan, "{}", printed);
        prop_assert_eq!(again.to_toml(), printed);
    }
}

#[test]
fn committed_plans_are_right_and_print_what_is_committed() {
    let bless = std::env::var_os("PLIMSOLL_BLESS").is_some();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        seen += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let plan = crate::parse(&text, "plan.toml").unwrap_or_else(|e| panic!("{e}"));
        let printed = plan.to_toml();
        assert_eq!(crate::parse(&printed, "plan.toml").unwrap().to_toml(), printed);
        let golden = path.with_extension("printed");
        if bless {
            std::fs::write(&golden, &printed).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&golden).unwrap_or_default(), printed, "{golden:?}");
    }
    assert_eq!(seen, 10);
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_read() {
    let text = "\u{feff}[target]\r\nurl = \"http://h/\"\r\n[load]\r\nusers = 1\r\nfor = \"x\"\r\n";
    let errors = crate::parse(text, "p.toml").unwrap_err();
    assert_eq!(errors.errors.len(), 1);
    let at = &errors.errors[0].at;
    assert_eq!((at.line, at.column), (Some(5), Some(8)));
    assert_eq!(at.excerpt.as_ref().unwrap().text, "for = \"x\"");
}

#[test]
fn a_way_through_proxies_reads_back_the_same() {
    let text = "[target]\nurl = 'https://h/'\nhttp = '2'\nthrough = ['h:3128', 'http://[::1]:80']\n\
                through_env = 'LOGIN'\n[load]\nusers = 3\nfor = '1s'\n";
    let plan = crate::parse(text, "plan.toml").unwrap();
    let printed = plan.to_toml();
    assert!(printed.contains("through = [\"http://h:3128\", \"http://[::1]:80\"]"), "{printed}");
    assert_eq!(crate::parse(&printed, "printed.toml").unwrap().to_toml(), printed);
}

#[test]
fn defaults_are_filled_in() {
    let plan = crate::parse("target.url='http://h/'\n[load]\nrate='5/s'\nfor='1s'", "p").unwrap();
    assert_eq!((plan.seed, plan.repeat), (1, 1));
    assert_eq!(plan.load.timeout, Duration::from_secs(10));
    assert_eq!(plan.load.drain, Duration::from_secs(10));
    assert_eq!(plan.load.patience, Duration::from_secs(1));
    assert_eq!((plan.load.connections.start, plan.load.connections.most), (64, 64));
    assert_eq!(plan.target.method, "GET");
    assert!(plan.target.ok.contains(204) && !plan.target.ok.contains(304));
}

#[test]
fn a_load_for_ever_ends_after_a_day_or_what_it_says() {
    let day = Duration::from_secs(86_400);
    for (more, most) in [("", day), ("at_most = '8h'\n", day / 3)] {
        for shape in ["rate = '5/s'", "users = 3"] {
            let text =
                format!("[target]\nurl = 'http://h/'\n[load]\n{shape}\nfor = 'ever'\n{more}");
            let plan = crate::parse(&text, "p").unwrap();
            assert_eq!(plan.load.shape.length(), Some(Length::Ever(most)), "{text}");
            assert_eq!(crate::parse(&plan.to_toml(), "p").unwrap(), plan);
        }
    }
    // The length of a flag wins over all that the text says of a load for ever.
    let ever = "[target]\nurl = 'http://h/'\n[load]\nrate = '5/s'\nfor = 'ever'\nat_most = '8h'\n";
    let flag = Setting::new("load.for", "2s", "--for");
    let plan = crate::parse_with(ever, "p", std::slice::from_ref(&flag)).unwrap();
    assert_eq!(plan.load.shape.length(), Some(Length::Lasting(Duration::from_secs(2))));
    let both = [flag, Setting::new("load.at_most", "9h", "--at-most")];
    let told = crate::parse_with(ever, "p", &both).unwrap_err().to_string();
    assert!(told.contains("`at_most` goes with a load for ever"), "{told}");
}

#[test]
fn a_search_needs_no_load_and_a_load_no_search() {
    let target = "[target]\nurl = 'http://h/'\n";
    let plan = crate::parse(&format!("{target}[search]\nstart = '7/s'\n"), "p").unwrap();
    let search = plan.search.as_ref().unwrap();
    assert_eq!(search, &Search { start_per_s: 7.0, ..Search::default() });
    let length = Length::Lasting(Duration::from_secs(3600));
    let source = RateSource::Constant { rate_per_s: 7.0, length };
    assert_eq!(plan.load.shape, LoadShape::Open { source, arrivals: Arrivals::Poisson });
    // What a load's plan says of its rate is no matter of a search's.
    let loaded = format!("{target}[load]\nusers = 3\nfor = '1s'\ntimeout = '3s'\n");
    let flag = Setting::new("search.start", "7/s", "--start");
    let searched = crate::parse_with(&loaded, "p", std::slice::from_ref(&flag)).unwrap();
    assert_eq!((&searched.search, &searched.load.shape), (&plan.search, &plan.load.shape));
    assert_eq!(searched.load.timeout, Duration::from_secs(3));
    assert!(crate::parse(&loaded, "p").unwrap().search.is_none());
    let without = crate::parse(target, "p").unwrap_err().to_string();
    assert!(without.contains("one of `schedule`, `rate`"), "{without}");
    // A series after restarts is repeated so many times and once.
    let series = format!("{target}[search]\nrestarts = 4\n");
    assert_eq!(crate::parse(&series, "p").unwrap().repeat, 5);
    assert!(crate::parse(&format!("repeat = 4\n{series}"), "p").is_err());
}

#[test]
fn hosts_are_printed_as_they_are_read() {
    let text = "[target]\nurl = 'http://{{role.web.address}}/'\n[load]\nusers = 3\nfor = '1s'\n\
                [testbed]\nprovider = 'ssh'\nssh_config = 'config'\nhost_folder = '/srv/a'\n\
                [testbed.hosts]\na = '10.0.0.5'\n[testbed.hosts.b]\naddress = 'b.example'\n\
                serves = '10.0.0.6'\nroles = ['db']\ntags = ['fast', 'big']\nuser = 'me_2'\n\
                port = 2222\n[role.db]\nrecipe = 'redis'\n[role.web]\nrecipe = 'nginx'\n\
                hosts = ['a', 'b', 'a']\n";
    let plan = crate::parse(text, "plan.toml").unwrap();
    let counts: Vec<u32> = plan.roles.iter().map(|(_, role)| role.count).collect();
    assert_eq!(counts, [1, 3], "one on each host that is named");
    let testbed = plan.testbed.as_ref().unwrap();
    let of = |at: usize| testbed.hosts_of(&plan.roles[at].0, &plan.roles[at].1);
    assert_eq!((of(0), of(1)), (vec!["b"], vec!["a", "b", "a"]));
    let again = crate::parse(&plan.to_toml(), "printed.toml").unwrap();
    assert_eq!((&again.testbed, &again.roles), (&plan.testbed, &plan.roles));
}

#[test]
fn the_cloud_of_a_pool_that_follows_is_printed_as_it_is_read() {
    let plan = |follow: &str, cloud: &str| {
        format!(
            "[testbed]\n{cloud}[role.web]\nrecipe = 'nginx'\n[pool]\nrole = 'web'\n\
             follow = '{follow}'\n[instance]\nservice = 'exp:70ms'\n\
             [load]\nrate = '500/s'\nfor = '30m'\n[policy.calm]\nkind = 'fixed'\n"
        )
    };
    let cloud = "region = 'eu-west-1'\nendpoint = 'https://cloud.example/compute'\n\
                 scaling_endpoint = 'https://cloud.example/scaling'\nprofile = 'study'\n\
                 api_version = '2013-02-01'\n";
    for (follow, cloud) in [("asg:web", cloud), ("tag:role=web", cloud), ("asg:web", "")] {
        let read = crate::parse(&plan(follow, cloud), "plan.toml").unwrap();
        let again = crate::parse(&read.to_toml(), "printed.toml").unwrap();
        assert_eq!((&again.testbed, &again.elastic), (&read.testbed, &read.elastic));
        assert!(read.is_followed("web") && !read.is_followed("db"));
    }
    let refused = crate::parse(&plan("agents", cloud), "plan.toml").unwrap_err().to_string();
    assert!(refused.contains("or with a pool that follows a group or a tag"), "{refused}");
    let dear = crate::parse(&plan("asg:web", "max = 3\n"), "plan.toml").unwrap_err().to_string();
    assert!(dear.contains("`max` goes with the provider `ec2`"), "{dear}");
}
