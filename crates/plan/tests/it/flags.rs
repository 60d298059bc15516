//! Flags: what they win over, what they join, and that a plan of flags alone equals the same plan
//! as a text.

use std::path::PathBuf;
use std::time::Duration;

use plimsoll_plan::{
    Connections, Given, Length, LoadShape, Plan, RateSource, RequestSource, Setting, Written,
};
use plimsoll_workload::arrivals::Arrivals;
use plimsoll_workload::distribution::Distribution;

fn flag(key: &str, value: &str) -> Setting {
    Setting::new(key, value, format!("--{key}"))
}

fn with(text: &str, flags: &[(&str, &str)]) -> Plan {
    let settings: Vec<_> = flags.iter().map(|(key, value)| flag(key, value)).collect();
    crate::parse_with(text, "plans/day.toml", &settings).unwrap_or_else(|e| panic!("{e}"))
}

const RATE: &str = r#"
[target]
url = "http://127.0.0.1:8080/"
headers = { Accept = "text/html", X-A = ["1", "2"] }
resolve = ["a.test:80:127.0.0.1"]

[load]
rate = "500/s"
for = "30s"
arrivals = "poisson"
timeout = "3s"
"#;

#[test]
fn flags_alone_say_what_a_text_says() {
    let settings: Vec<_> = [
        ("target.url", "http://127.0.0.1:8080/"),
        ("target.headers", "Accept: text/html"),
        ("target.headers", "X-A:1"),
        ("target.headers", "x-a: 2"),
        ("target.resolve", "a.test:80:127.0.0.1"),
        ("load.rate", "500/s"),
        ("load.for", "30s"),
        ("load.arrivals", "poisson"),
        ("load.timeout", "3s"),
    ]
    .map(|(key, value)| flag(key, value))
    .into();
    assert_eq!(crate::assemble(&settings).unwrap(), crate::parse(RATE, "plan.toml").unwrap());
}

/// Two factors, of a key and with levels of several, and two policies beside.
const FACTORS: &str = r#"
[factor]
"load.users" = [16, 64, 256]
[factor.crowd]
few = { load = { timeout = "1s" }, "load.drain" = "2s" }
many = { "load.timeout" = "9s" }
[target]
url = "http://127.0.0.1:8080/"
[load]
users = 1
for = "30s"
"#;

#[test]
fn a_flag_for_a_factor_chooses_its_levels() {
    let levels = |plan: &Plan| -> Vec<String> {
        plan.factors.iter().map(|of| format!("{} {}", of.key, of.levels.join(" "))).collect()
    };
    let all = ["load.users 16 64 256", "crowd few many"];
    assert_eq!(levels(&with(FACTORS, &[])), all);
    for value in ["64, 16", "[64, 16]", "['64', \"16\"]"] {
        for key in ["factor.load.users", "factor.\"load.users\""] {
            assert_eq!(levels(&with(FACTORS, &[(key, value)])), ["load.users 64 16", all[1]]);
        }
    }
    let turned = with(FACTORS, &[("factor.crowd", "many,few")]);
    assert_eq!(levels(&turned), [all[0], "crowd many few"]);
    // What reads the plan as it is printed finds the same.
    assert_eq!(crate::parse(&turned.to_toml(), "plan.toml").unwrap().factors, turned.factors);

    // A constraint says nothing of levels that are not there.
    let text = format!(
        "[experiment]\nconstraints = ['crowd = many needs load.users = 64, 256', \
         'load.users = 16 excludes crowd = few']\n{FACTORS}"
    );
    let said = |flags: &[(&str, &str)]| -> Vec<String> {
        let plan = with(&text, flags);
        plan.experiment.unwrap().constraints.iter().map(ToString::to_string).collect()
    };
    let excludes = "load.users = 16 excludes crowd = few";
    assert_eq!(said(&[("factor.crowd", "few")]), [excludes]);
    assert_eq!(said(&[("factor.load.users", "64, 128")]), ["crowd = many needs load.users = 64"]);
    let flags = [flag("factor.load.users", "16,32")];
    let told = crate::parse_with(&text, "plan.toml", &flags).unwrap_err().to_string();
    assert!(told.contains("a level of `load.users`, found `64`"), "{told}");

    // One alone is one, too.
    let one = with(FACTORS, &[("factor.crowd", "['few']"), ("factor.load.users", "[9]")]);
    assert_eq!(levels(&one), ["load.users 9", "crowd few"]);
    assert_eq!(one.factors[1].keys(), ["load.timeout", "load.drain"]);
}

/// A level with a comma is one level where the plan has it, or in quotes.
#[test]
fn a_level_with_a_comma_is_one() {
    let text = "[target]\nurl = 'http://127.0.0.1:1/'\n[load]\nrate = '1/s'\nfor = '1s'\n[factor]\n\
                'target.headers.Accept-Encoding' = ['identity', 'gzip, br']\n";
    let levels = |value: &str| {
        let plan = with(text, &[("factor.target.headers.Accept-Encoding", value)]);
        plan.factors[0].levels.clone()
    };
    for one in ["gzip, br", "\"gzip, br\"", "['gzip, br']"] {
        assert_eq!(levels(one), ["gzip, br"], "{one}");
    }
    assert_eq!(levels("\"a, b\""), ["a, b"]);
    assert_eq!(levels("identity, gzip"), ["identity", "gzip"]);
    assert_eq!(levels("['gzip, br', 'identity']"), ["gzip, br", "identity"]);
}

/// A value under a factor would change nothing: its levels are what is tried.
#[test]
fn what_is_set_of_a_key_that_is_a_factor_is_refused() {
    let text = "[target]\nurl = 'http://127.0.0.1:1/'\n[load]\nrate = '1/s'\nfor = '1s'\n[factor]\n\
                'load.rate' = ['40/s', '60/s']\n";
    let set = Setting::from_pair("load.rate=99/s").unwrap();
    let refused = crate::parse_with(text, "plan.toml", &[set]);
    let told = refused.unwrap_err().to_string();
    for part in ["`load.rate` is a factor", "--set 'factor.load.rate=99/s'"] {
        assert!(told.contains(part), "{told}");
    }
    // What its level is set by is none.
    let level = Setting::level("load.rate", "60/s", "factor load.rate");
    assert!(crate::parse_with(text, "plan.toml", &[level]).is_ok());
    assert_eq!(with(text, &[("load.for", "2s")]).factors[0].levels.len(), 2);
}

#[test]
fn a_level_that_a_factor_does_not_have_is_told_with_those_that_it_has() {
    for (value, says) in [("mny", "did you mean `many`"), ("many,none at all", "few, many")] {
        let flags = [flag("factor.crowd", value)];
        let told = crate::parse_with(FACTORS, "plan.toml", &flags).unwrap_err().to_string();
        assert!(told.contains("expected levels of `crowd`") && told.contains(says), "{told}");
    }
    // A factor that the plan does not have is one more, as before.
    let told = crate::parse_with(FACTORS, "plan.toml", &[flag("factor.load.rat", "1,2")]);
    assert!(told.unwrap_err().to_string().contains("load.rat"));
}

#[test]
fn a_flag_wins_over_the_same_key_and_the_last_flag_over_the_first() {
    let plan =
        with(RATE, &[("load.rate", "5/s"), ("load.rate", "7/s"), ("seed", "18446744073709551615")]);
    let LoadShape::Open { source: RateSource::Constant { rate_per_s, length }, arrivals } =
        plan.load.shape
    else {
        panic!("{plan:?}")
    };
    assert!((rate_per_s - 7.0).abs() < 1e-12);
    let half_a_minute = Length::Lasting(Duration::from_secs(30));
    assert_eq!((length, arrivals), (half_a_minute, Arrivals::Poisson));
    assert_eq!((plan.seed, plan.load.timeout), (u64::MAX, Duration::from_secs(3)));
}

#[test]
fn a_flag_displaces_what_excludes_it_in_the_file() {
    let closed = with(RATE, &[("load.users", "8"), ("load.think", "exp:1s")]);
    assert_eq!(
        closed.load.shape,
        LoadShape::Closed {
            users: 8,
            think: Distribution::Exponential { mean_ns: 1_000_000_000 },
            length: Length::Lasting(Duration::from_secs(30)),
        }
    );
    assert_eq!(closed.load.connections, Connections::fixed(8));
    let scheduled = with(RATE, &[("load.schedule", "5/s for 1m")]);
    assert!(matches!(
        scheduled.load.shape,
        LoadShape::Open { source: RateSource::Schedule(_), arrivals: Arrivals::Poisson }
    ));
    let users = "[target]\nurl = 'http://h/'\nbasic = 'a:b'\n[load]\nusers = 3\nfor = '1s'\nthink = 'exp:1s'\n";
    let open = with(users, &[("load.rate", "5/s"), ("target.bearer_env", "TOKEN")]);
    assert!(matches!(open.load.shape, LoadShape::Open { .. }));
    assert_eq!(open.load.connections, Connections::fixed(64));
    assert_eq!(open.target.auth, Some(plimsoll_plan::Auth::BearerEnv("TOKEN".into())));
}

#[test]
fn lists_and_headers_of_flags_replace_and_join() {
    let flags = [
        ("target.headers", "x-a: 3"),
        ("target.headers.X-B", "4"),
        ("target.headers", "X-B: 5"),
        ("target.resolve", "b.test:80:127.0.0.2"),
        ("target.resolve", "c.test:80:[::1]"),
    ];
    let plan = with(RATE, &flags);
    let headers: Vec<_> = plan
        .target
        .headers
        .iter()
        .map(|h| (h.name.as_str(), std::str::from_utf8(h.value.as_static().unwrap()).unwrap()))
        .collect();
    assert_eq!(headers, [("Accept", "text/html"), ("x-a", "3"), ("X-B", "4"), ("X-B", "5")]);
    let hosts: Vec<_> = plan.target.resolve.iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["b.test:80:127.0.0.2", "c.test:80:[::1]"]);
}

#[test]
fn a_table_may_be_shortened_and_its_details_set() {
    let text = "[target]\nurl = 'http://h/'\n[load]\ntrace = 'day.csv'\n";
    let plan = with(text, &[("load.trace.speed", "60"), ("load.trace.scale", "35/s..600/s")]);
    let LoadShape::Open { source: RateSource::Trace(trace), .. } = &plan.load.shape else {
        panic!("{plan:?}")
    };
    assert_eq!(trace.files, [PathBuf::from("plans/day.csv")]);
    let plan = with(text, &[("load.trace.speed", "60"), ("load.trace", "other.csv")]);
    assert_eq!(plan.files(), [PathBuf::from("other.csv")]);
    let plan = with(RATE, &[("load.profile", "clarknet-day"), ("load.profile.speed", "60")]);
    assert!(matches!(
        plan.load.shape,
        LoadShape::Open { source: RateSource::Profile(_), arrivals: Arrivals::Poisson }
    ));
}

#[test]
fn files_of_levels_are_those_of_the_plan() {
    let text = "[target]\nurl = 'http://h/'\nurls = 'some.txt'\n[load]\nusers = 1\nfor = '1s'\n";
    for (setting, file, merged) in [
        (Setting::level("target.urls", "more.txt", "factor pages"), "plans/more.txt", "more.txt"),
        (Setting::new("target.urls", "more.txt", "--set"), "more.txt", "/here/more.txt"),
    ] {
        let settings = [setting];
        let plan = crate::parse_with(text, "plans/day.toml", &settings).unwrap();
        assert_eq!(plan.files(), [PathBuf::from(file)]);
        let of = Written::text(text, "plans/day.toml", &settings);
        let all = of.merged("/here".as_ref(), &[]).unwrap();
        assert!(all.contains(&format!("urls = \"{merged}\"")), "{all}");
        assert!(all.contains("folder = \"/here/plans\""), "{all}");
    }
}

#[test]
fn files_of_the_plan_are_in_its_folder_and_files_of_flags_in_the_working_folder() {
    let text = "[target]\nurl = 'http://h/'\nurls = 'urls.csv'\nca = '/etc/ca.pem'\n\
                [load]\nusers = 1\nfor = '1s'\n";
    let plan = with(text, &[("target.body_file", "body.json")]);
    let files: Vec<PathBuf> =
        ["plans/urls.csv", "body.json", "/etc/ca.pem"].map(PathBuf::from).into();
    assert_eq!(plan.files(), files);
    let printed = crate::parse(&plan.to_toml(), "printed.toml").unwrap();
    assert_eq!(Plan { folder: plan.folder.clone(), ..printed }, plan);
    let kept = plan.to_toml_from(std::path::Path::new("/home/me"));
    let again = crate::parse(&kept, "runs/1/plan.toml").unwrap();
    assert_eq!(again.files()[0], PathBuf::from("/home/me/plans/urls.csv"));
}

#[test]
fn a_replay_has_its_own_times_unless_others_are_given() {
    let text = "[target]\nurl = 'http://h/'\nreplay = 'access.log.gz'\n";
    let plan = with(text, &[]);
    assert!(matches!(plan.target.asked, RequestSource::Replay(_)));
    assert!(matches!(plan.load.shape, LoadShape::Replay));
    let plan = with(text, &[("load.users", "3"), ("load.for", "1m")]);
    assert!(matches!(plan.load.shape, LoadShape::Closed { users: 3, .. }));
}

#[test]
fn a_pair_is_a_setting() {
    let setting = Setting::from_pair("load.rate = 500/s").unwrap();
    assert_eq!(setting, Setting::new("load.rate", "500/s", "--set load.rate"));
    assert!(Setting::from_pair("load.rate").is_err());
    assert!(Setting::from_pair("=5").is_err());
}

#[test]
fn what_is_missing_is_missing_from_the_command_line() {
    let errors = crate::assemble(&[]).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "the command line: expected `url`, found none\n\
         hint: for example http://127.0.0.1:8080/\n\n\
         the command line: expected one of --rate, --users, --schedule, --trace and --profile, \
         found none\nhint: for example --rate 100/s --for 30s, or --users 50 --for 30s"
    );
    let error = &errors.errors[0];
    assert_eq!((error.at.line, error.at.column), (None, None));
}

#[test]
fn an_example_for_the_command_line_is_one_word_to_a_shell() {
    let without = |settings: &[(&str, &str)]| {
        let settings: Vec<_> = settings.iter().map(|(key, value)| flag(key, value)).collect();
        crate::assemble(&settings).unwrap_err().to_string()
    };
    let url = ("target.url", "http://h/");
    let hint = "hint: for example --rate 100/s, or --users 50";
    assert!(without(&[url, ("load.requests", "9")]).ends_with(hint));
    assert!(without(&[url, ("load.for", "9s")]).ends_with(hint));
    let users = without(&[url, ("load.users", "9")]);
    assert!(users.ends_with("hint: for example --for 30s"), "{users}");
}

#[test]
fn a_time_alone_is_a_constant_time_to_think() {
    let think = |time| {
        let url = ("target.url", "http://h/");
        let users = [url, ("load.users", "1"), ("load.for", "1s"), ("load.think", time)];
        crate::assemble(&users.map(|(key, value)| flag(key, value))).unwrap()
    };
    assert_eq!(think("1s"), think("const:1s"));
}

#[test]
fn flags_of_a_store_say_what_a_text_says() {
    let settings: Vec<_> = [
        ("target.url", "redis://127.0.0.1/3"),
        ("store.workload", "update-heavy"),
        ("store.records", "100k"),
        ("store.value_size", "exp:1KiB"),
        ("store.keys", "hotset:20%,80%"),
        ("load.rate", "5k/s"),
        ("load.for", "10s"),
    ]
    .map(|(key, value)| flag(key, value))
    .into();
    let text = "[target]\nurl = 'redis://127.0.0.1:6379/3'\n[store]\nworkload = 'balanced'\n\
                records = 100000\nvalue_size = 'exp:1024B'\nkeys = 'hotset:0.2,0.8'\n\
                [load]\nrate = '5000/s'\nfor = '10s'\n";
    let plan = crate::assemble(&settings).unwrap();
    assert_eq!(plan, crate::parse(text, "plan.toml").unwrap());
    assert_eq!(plan.load.streams, 1, "one command at a time, unless one says so");
    let workload = plan.store.unwrap().workload();
    assert_eq!((workload.records, workload.mix.read()), (100_000, 500_000));
    // What a store has no use for is not printed, and a store's own is.
    let printed = crate::parse(text, "plan.toml").unwrap().to_toml();
    assert!(printed.contains("[store]\nworkload = \"balanced\"\n"), "{printed}");
    assert!(!printed.contains("http = ") && !printed.contains("method = "), "{printed}");
}

#[test]
fn a_merged_text_is_what_was_written_and_reads_back_the_same() {
    let text = "name = 'a'\n[target]\nurl = 'http://{{role.web.address}}/x'\n\
                basic = 'me:secret'\n[target.headers]\n\"X-A\" = '1'\n[load]\nusers = 3\n\
                for = '1s'\n[testbed]\n[role.web]\nrecipe = 'nginx'\nvars = { workers = 2 }\n\
                [role.web.sysctl]\nnet.core.somaxconn = 128\n[factor]\n\"load.users\" = [1, 2]\n";
    let settings = [
        Setting::new("load.users", "7", "--users"),
        Setting::new("role.web.sysctl.net.core.somaxconn", "256", "--set"),
        Setting::new("role.web.vars.keepalive", "0", "--set"),
    ];
    let of = Written::text(text, "plans/plan.toml", &settings);
    let merged = of.merged(std::path::Path::new("/home/me"), &["name", "factor"]).unwrap();
    assert!(!merged.contains("secret") && !merged.contains("factor"), "{merged}");
    assert!(
        merged.contains("{{role.web.address}}") && merged.contains("/home/me/plans"),
        "{merged}"
    );
    let read = |of: &Written<'_>| Plan::read(of, &crate::VOCABULARY).unwrap();
    let (first, again) = (read(&of), read(&Written::text(&merged, "plan.toml", &[])));
    let (_, web) = &again.roles[0];
    assert_eq!(web.sysctl["net.core.somaxconn"], "256");
    assert_eq!(web.vars["keepalive"], Given::Text("0".to_owned()));
    assert_eq!((&again.roles, &again.load), (&first.roles, &first.load));
    assert!(again.to_toml().contains("http://192.0.2.1/x"), "{}", again.to_toml());
}

/// What may be changed of servers that stand is no part of the frame; all else is, secrets by where
/// they come from among it.
#[test]
fn the_frame_of_a_test_bed_has_all_but_files_and_open_parameters() {
    let text = "[target]\nurl = 'http://{{role.web.address}}/'\n[load]\nusers = 3\nfor = '1s'\n\
                [testbed]\n[role.web]\nrecipe = 'nginx'\ncount = 1\n";
    let frame = |more: &str, settings: &[Setting]| {
        let text = format!("{text}{more}");
        let of = Written::text(&text, "plans/plan.toml", settings);
        of.frame(std::path::Path::new("/home/me")).unwrap()
    };
    let set = |key: &str, value: &str| [Setting::new(key, value, "--set")];
    let bare = frame("", &[]);
    assert!(bare.contains("recipe = \"nginx\"") && !bare.contains("users"), "{bare}");
    for same in [
        "vars = { workers = 2 }\n",
        "vars.keepalive = 0\n",
        "files = { 'a' = 'b' }\n",
        "[role.web.vars]\nworkers = 3\n[role.web.files]\n\"a.conf\" = 'c'\n",
        "[measure]\nslo = 'p99<1s'\n",
    ] {
        assert_eq!(frame(same, &[]), bare, "{same}");
    }
    assert_eq!(frame("", &set("role.web.vars.workers", "4")), bare);
    assert_eq!(frame("", &set("load.users", "4")), bare);
    let mut others = vec![
        bare.clone(),
        frame("", &set("role.web.count", "2")),
        frame("", &set("testbed.provider", "namespace")),
    ];
    for other in [
        "cpu = '20%'\n",
        "environment = { A = '1' }\n",
        "vars.password = { env = 'A' }\n",
        "vars.password = { env = 'B' }\n",
        "vars.password = { file = 'A' }\n",
        "vars.password = 'x{{env.A}}'\n",
        "[role.db]\nrecipe = 'redis'\n",
    ] {
        others.push(frame(other, &[]));
    }
    let count = others.len();
    others.sort();
    others.dedup();
    assert_eq!(others.len(), count, "{others:#?}");
}
