//! Access logs: formats in a server's own words, several files, hosts and paths, traces written
//! anew, and the short path from a log to instances and cost.

use crate::place::Place;
use crate::recording::Recording;
use plimsoll_testing::Weight;
use serde_json::Value;
use std::fmt::Write as _;

/// A log in a format of somebody's own.
const OWN: &str = "\
20/Nov/2026:05:00:00 +0000|192.0.2.1|shop.example|GET /v1/a?session=1 HTTP/1.1|200
20/Nov/2026:05:00:01 +0000|192.0.2.1|shop.example|GET /v1/a?session=2 HTTP/1.1|200
a line of another program
20/Nov/2026:05:00:01 +0000|192.0.2.2|blog.example|GET /v1/b HTTP/1.1|200
";

#[test]
fn a_log_in_a_servers_own_words_becomes_a_trace_and_a_list() {
    let place = Place::weighing(Weight::WAITS);
    place.write("own.log", OWN);
    let nginx = "$time_local|$remote_addr|$host|$request|$status";
    let apache = "%{%d/%b/%Y:%T %z}t|%a|%v|%r|%>s";
    for format in [nginx, apache] {
        let arguments = [
            "trace",
            "from-log",
            "own.log",
            "--log-format",
            format,
            "--urls",
            "urls.csv",
            "--rewrite",
            r"[?&]session\=[^&]*=",
            "--rewrite",
            "^/v1/=/v2/",
            "-o",
            "day.csv",
        ];
        let done = place.plimsoll(&arguments).ended_with(0);
        done.says(&["3 requests in 2 s", "line 3: a line of another program"]);
        let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
        assert_eq!(read("urls.csv"), "url,count\n/v2/a,2\n/v2/b,1\n", "{format}");
        assert_eq!(read("day.csv"), "time_s,count\n0,1\n1,2\n", "{format}");
    }
    for (option, text, parts) in [
        ("--log-format", "$time_local $reqest", ["`$reqest`", "$request"]),
        ("--log-format", "$host$request $time_local", ["`$request`", "between"]),
        ("--log-format", "%h %r", ["%h %r", "time"]),
        ("--rewrite", "^/(=/", ["regular expression", "unclosed group"]),
    ] {
        let wrong = ["trace", "from-log", "own.log", option, text];
        place.plimsoll(&wrong).ended_with(2).says(&parts);
    }
    let other = ["trace", "from-log", "own.log", "--log-format", "%t %r"];
    place.plimsoll(&other).ended_with(2).says(&["lines of the format `%t %r`", "20/Nov/2026"]);
}

#[test]
fn several_logs_are_replayed_as_one_with_their_hosts_and_rewritten_paths() {
    let place = Place::new();
    let server = Recording::start();
    let line = |second: u32, host: &str, path: &str| {
        format!(
            "{host}:443 h - - [20/Nov/2026:05:00:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 1\n"
        )
    };
    // The newer one is named first.
    place.write("access.log", line(2, "a.example", "/v1/c") + &line(3, "b.example", "/v1/d"));
    place.write("access.log.1", line(0, "a.example", "/v1/a") + &line(1, "b.example", "/v1/b"));
    let url = server.url();
    let logs = [url.as_str(), "--replay", "access.log", "--replay", "access.log.1"];
    let more = ["--rewrite", "^/v1/=/v2/", "--speed", "10", "--connections", "1"];
    let told = place.load(&[&logs[..], &more, &["--check"]].concat()).ended_with(0);
    assert!(told.out.contains("name 2 hosts, such as a.example"), "{}", told.out);
    let keep = [&logs[..], &more, &["--keep-host", "--json"]].concat();
    let json = place.load(&keep).ran().json();
    assert_eq!(json["offered"], 4, "{json}");
    let asked = server.asked();
    let last = &asked[asked.len() - 4..];
    let found: Vec<(String, String)> = last
        .iter()
        .map(|one| (one.line().to_owned(), one.header("host").unwrap_or_default().to_owned()))
        .collect();
    let expected = [("a", "a"), ("b", "b"), ("c", "a"), ("d", "b")]
        .map(|(path, host)| (format!("GET /v2/{path}"), format!("{host}.example")));
    assert_eq!(found, expected);
    // A plan says the same, a log alone or several.
    let plan = format!(
        "[target]\nurl = \"{url}\"\n[target.replay]\nfile = [\"access.log\", \"access.log.1\"]\n\
         keep_host = true\nrewrite = \"^/v1/=/v2/\"\nspeed = 10\n\
         format = '%v:%p %h %l %u %t \"%r\" %>s %b'\n"
    );
    place.write("plan.toml", plan);
    let plan = place.plimsoll(&["load", "plan.toml", "--print-plan"]).ended_with(0);
    plan.prints(&["keep_host = true", "^/v1/=/v2/", "access.log.1", "%v:%p"]);
    let json = place.load(&["plan.toml", "--json"]).ran().json();
    assert_eq!(json["offered"], 4, "{json}");
    let asked = server.asked();
    let again: Vec<&str> =
        asked[asked.len() - 4..].iter().map(super::recording::Asked::line).collect();
    assert_eq!(again, ["GET /v2/a", "GET /v2/b", "GET /v2/c", "GET /v2/d"]);
}

#[test]
fn traces_are_scaled_cut_and_resampled_without_losing_a_request() {
    let place = Place::weighing(Weight::WAITS);
    place.write("day.csv", "time_s,rate\n0,10\n60,40\n120,20\n180,0\n240,0\n");
    let info = |name: &str| place.plimsoll(&["trace", "info", name, "--json"]).ended_with(0).json();
    let make = |words: &[&str]| {
        place.plimsoll(&[&["trace"], words, &["-o", "new.csv"]].concat()).ended_with(0);
        info("new.csv")
    };
    let doubled = make(&["scale", "day.csv", "--by", "2"]);
    assert_eq!((&doubled["requests"], &doubled["duration_s"]), (&8400.into(), &300.0.into()));
    let mapped = make(&["scale", "day.csv", "--to", "5/s..25/s"]);
    for (bound, rate) in [("min", 5.0), ("max", 25.0)] {
        let found = mapped["rate_per_s"][bound].as_f64().unwrap();
        assert!((found - rate).abs() < 1e-6, "{mapped}");
    }
    let cut = make(&["scale", "day.csv", "--from", "1m", "--until", "3m", "--speed", "2"]);
    assert_eq!((&cut["requests"], &cut["duration_s"]), (&1800.into(), &60.0.into()));
    for every in ["90s", "1s", "2m"] {
        let made = make(&["resample", "day.csv", "--every", every]);
        let requests = made["requests"].as_u64().unwrap();
        // A rate that is no decimal number may cost the last request.
        assert!((4199..=4200).contains(&requests), "{every}: {made}");
    }
    let printed = place.plimsoll(&["trace", "resample", "day.csv", "--every", "2m"]).ended_with(0);
    assert_eq!(printed.out, "time_s,rate_per_s\n0,25\n120,10\n240,0\n");
    place.plimsoll(&["trace", "scale", "day.csv"]).ended_with(2).says(&["--by", "--speed"]);
    for every in ["0s", "5m"] {
        place.plimsoll(&["trace", "resample", "day.csv", "--every", every]).ended_with(2);
    }
}

/// Half an hour of a shop that gets busier: 2 to 30 requests a second.
fn busy_log() -> String {
    let mut log = String::new();
    for second in 0..1800_u32 {
        for request in 0..2 + second / 64 {
            let (minute, rest) = (second / 60, second % 60);
            let _ = writeln!(
                log,
                "192.0.2.1 - - [20/Nov/2026:05:{minute:02}:{rest:02} +0000] \
                 \"GET /{} HTTP/1.1\" 200 512",
                request % 7
            );
        }
    }
    log
}

/// The figures of each policy, but for what it took to simulate them.
fn figures(of: &Value) -> Vec<(String, String)> {
    let policies = of["policies"].as_array().unwrap_or_else(|| panic!("no policies: {of}"));
    let figure = |policy: &Value| (policy["label"].to_string(), policy.to_string());
    policies.iter().map(figure).collect()
}

#[test]
fn a_log_leads_to_instances_and_cost_by_a_plan_that_says_the_same() {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("access.log", busy_log());
    let short = [
        "simulate",
        "access.log",
        "--service",
        "exp:70ms",
        "--policy",
        "hpa",
        "--policy",
        "big: fixed start=4",
        "--price",
        "0.17",
        "--slo",
        "p99<2s",
        "--replications",
        "2",
        "--json",
    ];
    let done = place.plimsoll(&short);
    done.says(&["access.plan.toml is the plan to start from", "plimsoll run access.plan.toml"]);
    let code = done.code().unwrap();
    assert!([0, 3].contains(&code), "{code}: {}", done.err);
    let direct = done.json();
    let plan = std::fs::read_to_string(place.path("access.plan.toml")).unwrap();
    for part in ["file = \"access.log\"", "service = \"exp:70ms\"", "price = 0.17", "repeat = 2"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    // The plan as it stands gives the same, by the command and by `run`.
    let of_plan =
        place.plimsoll(&["simulate", "access.plan.toml", "--json"]).ended_with(code).json();
    assert_eq!(figures(&of_plan), figures(&direct));
    let run = ["run", "access.plan.toml", "--simulated", "--quiet", "--json"];
    let ran = place.plimsoll(&run);
    assert!([Some(0), Some(3)].contains(&ran.code()), "{}", ran.err);
    let ran = ran.json();
    for policy in direct["policies"].as_array().unwrap() {
        let cells: Vec<&Value> = ran["cells"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|cell| cell["factors"]["policy"] == policy["label"])
            .collect();
        assert_eq!(cells.len(), 2, "{ran}");
        for figure in ["cost", "offered", "served", "instance_hours"] {
            let sum: f64 = cells.iter().map(|cell| cell["figures"][figure].as_f64().unwrap()).sum();
            let expected = policy[figure].as_f64().unwrap();
            assert!(
                (sum / 2.0 - expected).abs() <= 1e-9 * expected.abs(),
                "{figure}: {sum} {policy}"
            );
        }
        assert!(policy["cost"].as_f64().unwrap() > 0.0, "{policy}");
    }
    // The same again is the same plan; another never takes its place.
    place.plimsoll(&short).ended_with(code).says(&["access.plan.toml is the plan as before"]);
    let other =
        ["simulate", "access.log", "--service", "exp:50ms", "--policy", "hpa", "--print-plan"];
    place.plimsoll(&other).ended_with(0).prints(&["service = \"exp:50ms\""]);
    assert!(!place.path("access.2.plan.toml").exists(), "nothing is written by --print-plan");
    let other = ["simulate", "access.log", "--service", "exp:50ms", "--policy", "hpa", "--quiet"];
    place.plimsoll(&other).says(&["access.2.plan.toml is the plan to start from"]);
    assert_eq!(std::fs::read_to_string(place.path("access.plan.toml")).unwrap(), plan);
}

#[test]
fn what_a_plan_needs_and_no_log_says_is_asked_for() {
    let place = Place::weighing(Weight::WAITS);
    place.write("access.log", busy_log());
    for (more, part) in [
        (&["--policy", "hpa"][..], "--service exp:70ms"),
        (&["--service", "exp:70ms"], "--policy hpa"),
        (&["--service", "exp:70ms", "--policy", "hpa", "--rate", "5/s"], "the log says how much"),
    ] {
        place.plimsoll(&[&["simulate", "access.log"], more].concat()).ended_with(2).says(&[part]);
    }
    let left: Vec<_> = std::fs::read_dir(place.path("."))
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter(|name| name.ends_with(".plan.toml"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The log of two servers, one of them packed, beside that of both.
#[test]
fn several_logs_lead_to_one_plan_that_names_them_all() {
    let place = Place::weighing(Weight::COMPUTES);
    let whole = busy_log();
    let of = |server: usize| -> String {
        let lines = whole.split_inclusive('\n').enumerate();
        lines.filter(|(at, _)| at % 2 == server).map(|(_, line)| line).collect()
    };
    place.write("both.log", &whole);
    place.write("web1.log", of(0));
    place.write("web2.log", of(1));
    let packed = std::process::Command::new("gzip").arg(place.path("web1.log")).status().unwrap();
    assert!(packed.success());
    let more = ["--service", "exp:70ms", "--policy", "hpa", "--price", "0.17", "--json"];
    let simulated =
        |logs: &[&str]| place.plimsoll(&[&["simulate"], logs, &more[..]].concat()).ended_with(0);
    let several = simulated(&["web2.log", "web1.log.gz"]);
    several.says(&["web2.plan.toml is the plan to start from"]);
    let several = several.json();
    assert_eq!(figures(&several), figures(&simulated(&["both.log"]).json()));
    let plan = std::fs::read_to_string(place.path("web2.plan.toml")).unwrap();
    assert!(plan.contains("file = [\"web2.log\", \"web1.log.gz\"]"), "{plan}");
    // `run` takes that plan, and so do loads take a trace of several logs.
    let run = ["run", "web2.plan.toml", "--simulated", "--quiet", "--json"];
    let ran = place.plimsoll(&run).ended_with(0).json();
    for figure in ["cost", "offered", "served"] {
        let run = ran["cells"][0]["figures"][figure].as_f64().unwrap();
        let direct = several["policies"][0][figure].as_f64().unwrap();
        assert!((run - direct).abs() <= 1e-9 * direct, "{figure}: {run} {direct}");
    }
    let traced = ["load", "http://127.0.0.1:9/", "--trace", "web2.log", "--trace", "web1.log.gz"];
    let printed = place.plimsoll(&[&traced[..], &["--print-plan"]].concat()).ended_with(0);
    printed.prints(&["web2.log", "web1.log.gz"]);
    // The plan that was made is left out where a pattern means it, too; another one is refused.
    place.write("own.toml", &plan);
    for (inputs, part) in [
        (["web2.log", "own.toml"], "simulate own.toml beside others"),
        (["web2.log", "-"], "simulate - beside others"),
        (["web2.log", "nowhere.log"], "nowhere.log"),
    ] {
        place
            .plimsoll(&[&["simulate"], &inputs[..], &more[..]].concat())
            .ended_with(2)
            .says(&[part]);
    }
    let wrong = [&traced[..], &["--columns", "time,rate", "--print-plan"]].concat();
    place.plimsoll(&wrong).ended_with(2).says(&["`columns` goes with one trace"]);
}
