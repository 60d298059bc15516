//! Bad input ends with 2 or 4 and one clear message, before any load is sent.

use crate::place::Place;
use crate::recording::Recording;
use plimsoll_testing::Weight;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

/// What every load of these tests is asked for where nothing else is at fault.
const GENTLY: [&str; 4] = ["--rate", "5/s", "--for", "1s"];

/// Runs `plimsoll load` against a server that must not be asked anything; returns nothing but the
/// verdict that it ended with 2 and said these parts.
#[track_caller]
fn refused(place: &Place, arguments: &[&str], parts: &[&str]) {
    let server = Recording::start();
    let url = server.url();
    let mut all = vec![url.as_str()];
    all.extend(arguments);
    place.load(&all).ended_with(2).says(parts);
    assert!(server.asked().is_empty(), "something was sent: {:?}", server.asked());
    assert!(place.runs("runs").is_empty(), "a run folder was left");
}

#[test]
fn an_unreachable_target() {
    let place = Place::weighing(Weight::WAITS);
    // A port that is held, so that nobody else listens on it, and refuses.
    let held = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&held, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = SocketAddrV4::try_from(getsockname(&held).unwrap()).unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let done = place.load(&[&[url.as_str()], &GENTLY[..]].concat()).ended_with(4);
    let endpoint = format!("failed to connect to 127.0.0.1:{port}: Connection refused");
    done.says(&[&endpoint, "hint: is the server running, and on this port?"]);
    assert!(place.runs("runs").is_empty(), "a run folder was left");

    let url = "http+unix://%2Fnowhere%2Fserver.sock/";
    let done = place.load(&[&[url], &GENTLY[..]].concat()).ended_with(4);
    done.says(&["failed to connect to /nowhere/server.sock: No such file"]);

    let url = "http://no-such-host.invalid/";
    let done = place.load(&[&[url], &GENTLY[..]].concat()).ended_with(4);
    done.says(&["failed to find the address of `no-such-host.invalid`: "]);
}

#[test]
fn a_bare_one_is_no_share() {
    let place = Place::weighing(Weight::WAITS);
    let shop = place.write("shop.csv", "time_s,object,size\n0,/a,5\n1,/b,5\n2,/a,5\n");
    let shop = shop.to_str().unwrap();
    let pool = "[load]\nrate = '5/s'\nfor = '1m'\n[pool]\n[instance]\nservice = 'exp:70ms'\n\
                [billing]\n[policy.one]\nkind = 'fixed'\n";
    let pool = place.write("pool.toml", pool);
    let pool = pool.to_str().unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["target", "--errors", "1"], "--errors"),
        (&["target", "--errors", "1.0"], "--errors"),
        (&["compare", "a", "b", "--tolerance", "1"], "--tolerance"),
        (&["cache", "mrc", "--trace", shop, "--rate", "1"], "--rate"),
        (&["cache", "simulate", "--trace", shop, "--size", "1obj", "--skip", "1.0"], "--skip"),
        (
            &["cache", "simulate", "--trace", shop, "--size", "1obj", "--admit", "random:1"],
            "--admit",
        ),
        (&["capacity", "http://h.invalid/", "--slo", "p90<1s", "--precision", "1"], "--precision"),
        (&["tune", pool, "--subject-to", "lost<1"], "--subject-to"),
        (&["simulate", pool, "--set", "pool.metric_noise=1"], "metric_noise"),
    ];
    for (arguments, flag) in cases {
        let done = place.plimsoll(arguments).ended_with(2);
        done.says(&[flag, "hint: ", "write 1", "%, or 100% if it is a share of 1"]);
    }
}

#[test]
fn a_wrong_unit_with_the_accepted_ones() {
    let place = Place::weighing(Weight::WAITS);
    let cases: [(&[&str], &[&str]); 6] = [
        (&["--rate", "500", "--for", "1s"], &["--rate: ", "`500`", "/s, /m and /h", "^^^"]),
        (&["--rate", "500/d", "--for", "1s"], &["--rate: ", "`500/d`", "/s, /m and /h"]),
        (&["--rate", "5/s", "--for", "10"], &["--for: ", "`10`", "ns, us, ms, s, m, h and d"]),
        (&["--schedule", "5/s for 1x"], &["--schedule: ", "`1x`", "ns, us, ms, s, m, h and d"]),
        (&["--schedule", "5..7/s in 1s"], &["--schedule: ", "`5`", "/s, /m and /h"]),
        (&["--slo", "p99<200", "--rate", "5/s", "--for", "1s"], &["--slo: ", "200"]),
    ];
    for (arguments, parts) in cases {
        refused(&place, arguments, parts);
    }
}

#[test]
fn a_schedule_below_zero() {
    let place = Place::weighing(Weight::WAITS);
    let below = "it cannot be below zero";
    refused(&place, &["--schedule", "10/s..-1/s in 3s"], &["--schedule: ", "`-1/s`", below]);
    refused(&place, &["--schedule", "-1/s for 3s"], &["--schedule: ", "`-1/s`", below]);
    refused(&place, &["--rate", "-5/s", "--for", "1s"], &["--rate: ", "`-5/s`", below]);
    refused(&place, &["--rate", "5/s", "--for", "-1s"], &["--for: ", "`-1s`"]);
    refused(
        &place,
        &["--schedule", "0/s for 3s"],
        &["expected a schedule of at least one request"],
    );
}

#[test]
fn a_trace_that_is_empty_or_unsorted_or_missing() {
    let place = Place::weighing(Weight::WAITS);
    place.write("empty.csv", "");
    place.write("head.csv", "time_s,rate\n");
    place.write("unsorted.csv", "time_s,rate\n0,1\n5,1\n3,2\n");
    place.write("below.csv", "time_s,rate\n0,1\n5,-1\n");
    place.write("word.csv", "time_s,rate\n0,1\n5,many\n");
    let cases: [(&str, &[&str]); 6] = [
        ("empty.csv", &["empty.csv has no rows", "needs a header such as time_s,rate"]),
        ("head.csv", &["head.csv has no rows"]),
        ("unsorted.csv", &["unsorted.csv, line 4: ", "`3`", "sort the rows by time"]),
        ("below.csv", &["below.csv, line 3: ", "-1"]),
        ("word.csv", &["word.csv, line 3: ", "`many`"]),
        ("missing.csv", &["missing.csv", "No such file"]),
    ];
    for (file, parts) in cases {
        refused(&place, &["--trace", file], parts);
        // The same file is refused by the command that looks at traces, in the same words.
        place.plimsoll(&["trace", "info", file]).ended_with(2).says(parts);
    }
}

#[test]
fn a_list_of_nothing() {
    let place = Place::weighing(Weight::WAITS);
    place.write("none.txt", "# nothing\n\n");
    place.write("wrong.txt", "/a\nftp://host/\n");
    let with = |file| [&["--urls", file], &GENTLY[..]].concat();
    let nothing = ["expected at least one URL, found none in none.txt", "path on each line"];
    refused(&place, &with("none.txt"), &nothing);
    refused(&place, &with("wrong.txt"), &["wrong.txt:2:1: ", "ftp"]);
    refused(&place, &with("missing.txt"), &["missing.txt", "No such file"]);

    place.write("empty.log", "");
    place.write("unreadable.log", "one\ntwo\nthree\n");
    refused(&place, &["--replay", "empty.log"], &["found no lines in empty.log"]);
    refused(&place, &["--replay", "unreadable.log"], &["unreadable.log"]);
}

#[test]
fn a_plan_with_mistakes() {
    let place = Place::weighing(Weight::WAITS);
    place.write(
        "unknown.toml",
        "[target]\nurl = \"http://127.0.0.1:1/\"\n[load]\nrate = \"5/s\"\nfor = \"1s\"\nwarmup = \"1s\"\n",
    );
    place.load(&["unknown.toml"]).ended_with(2).says(&[
        "unknown.toml:6:1: unknown key `warmup` in [load]",
        "6 | warmup = \"1s\"\n    | ^^^^^^",
        "hint: did you mean `warm_up`?",
    ]);
    place.write(
        "several.toml",
        "[target]\nurl = \"http://127.0.0.1:1/\"\n[load]\nrate = \"5\"\nfor = 1\n",
    );
    place.load(&["several.toml"]).ended_with(2).says(&[
        "several.toml:4:9: expected a rate",
        "4 | rate = \"5\"\n    |         ^",
        "several.toml:5:7: ",
        "5 | for = 1\n    |       ^",
    ]);
    place.write("broken.toml", "[target\n");
    place.load(&["broken.toml"]).ended_with(2).says(&["broken.toml:1:"]);
    place.load(&["missing.toml"]).ended_with(2).says(&["read the plan missing.toml: No such file"]);
    place.load(&[]).ended_with(2).says(&["error: "]);
    place.load(&["http://127.0.0.1:1/", "--set", "load.rat=5/s"]).ended_with(2).says(&["rate"]);
}

#[test]
fn a_secret_that_was_left_out() {
    let place = Place::weighing(Weight::WAITS);
    let server = Recording::start();
    let url = server.url();
    let load = [&[url.as_str(), "--bearer", "s3cret-t0ken"], &GENTLY[..]].concat();
    let printed = place.load(&[&load[..], &["--print-plan"]].concat()).ended_with(0).out;
    assert!(!printed.contains("s3cret-t0ken"), "{printed}");
    place.write("printed.toml", &printed);
    place.load(&["printed.toml"]).ended_with(2).says(&["leaves out target.bearer", "hint: put"]);
    assert!(server.asked().is_empty());

    let arguments = [&["--bearer-env", "PLIMSOLL_TEST_UNSET"], &GENTLY[..]].concat();
    refused(&place, &arguments, &["variable `PLIMSOLL_TEST_UNSET`: it is not set"]);
}

#[test]
fn a_url_without_scheme() {
    let place = Place::weighing(Weight::WAITS);
    let done = place.load(&["127.0.0.1:80", "--rate", "5/s", "--for", "1s"]).ended_with(2);
    done.says(&["`127.0.0.1:80`", "hint: put the scheme first: http://127.0.0.1:80/"]);
    let done = place.load(&["ftp://127.0.0.1/", "--rate", "5/s", "--for", "1s"]).ended_with(2);
    done.says(&["ftp"]);
}

#[test]
fn a_command_that_is_not_known() {
    let place = Place::weighing(Weight::WAITS);
    place.plimsoll(&["laod"]).ended_with(2).says(&["'laod'", "'load'"]);
    place.plimsoll(&["load", "--rat", "5/s"]).ended_with(2).says(&["--rat", "--rate"]);
    place.plimsoll(&[]).ended_with(2);
    let help = place.plimsoll(&["load", "--help"]).ended_with(0);
    assert!(help.out.contains("--rate"), "{}", help.out);
    let version = place.plimsoll(&["--version"]).ended_with(0);
    assert_eq!(version.out, format!("plimsoll {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_port_in_use() {
    let place = Place::weighing(Weight::WAITS);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let wanted = format!("listen on {address}");
    place.plimsoll(&["target", "--listen", &address]).ended_with(4).says(&[&wanted, "in use"]);

    let server = Recording::start();
    let url = server.url();
    let arguments = [&[url.as_str(), "--prometheus", &address], &GENTLY[..]].concat();
    let parts = [&format!("serve figures at {address}: "), "in use", "another --prometheus"];
    place.load(&arguments).ended_with(4).says(&parts);
    assert!(server.asked().is_empty());
}

#[test]
fn too_few_descriptors() {
    let place = Place::weighing(Weight::WAITS);
    let server = Recording::start();
    let url = server.url();
    let script = "ulimit -n 100 && exec \"$@\"";
    let load = [crate::program::PLIMSOLL, "load", &url, "--rate", "5/s", "--for", "1s"];
    let arguments = [&["-c", script, "sh"], &load[..], &["--connections", "64..2000"]].concat();
    let done = place.start(place.command("sh", &arguments)).wait().ended_with(2);
    done.says(&[
        "2000 connections",
        "this process may have 100",
        "hint: ask for fewer connections, or raise the hard limit",
        "ulimit -Hn",
    ]);
    let needed = done.err.split("open ").nth(1).and_then(|rest| rest.split(' ').next());
    let needed: u64 = needed.unwrap().parse().unwrap();
    assert!((2001..2200).contains(&needed), "{needed}");
    assert!(server.asked().is_empty(), "something was sent");
    assert!(place.runs("runs").is_empty(), "a run folder was left");

    // The number it names is enough.
    let script = format!("ulimit -n {needed} && exec \"$@\"");
    let arguments = [&["-c", &script, "sh"], &load[..], &["--connections", "64..2000"]].concat();
    place.start(place.command("sh", &arguments)).wait().ran();
}

#[test]
fn a_broker_that_is_said_wrongly() {
    let place = Place::weighing(Weight::WAITS);
    let server = ["shoal", "server", "--listen", "127.0.0.1:0", "--for", "1s"];
    let empty = place.write("empty", "\n");
    let empty = empty.to_str().unwrap();
    for (arguments, parts) in [
        (&["--amqp", "amqp://me:s3cr3t@b"][..], &["--amqp-password-file", "SHOAL_AMQP"][..]),
        (&["--amqp", "http://broker"], &["amqp[s]://[USER@]HOST[:PORT][/VHOST]"]),
        (&["--amqp", "amqp://b", "--amqp-password-file", empty], &["no password in"]),
        (&["--amqp", "amqp://b", "--amqp-ca", empty], &["say nothing without amqps"]),
        (&["--amqp", "amqps://b", "--amqp-ca", empty], &["no certificate in"]),
        (&["--amqp-cloud", "here"], &["--amqp <URL>"]),
    ] {
        let done = place.plimsoll(&[&server[..], arguments].concat()).ended_with(2);
        done.says(parts);
        assert!(!done.err.contains("s3cr3t"), "{}", done.err);
    }
}
