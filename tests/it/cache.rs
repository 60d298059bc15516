//! `plimsoll cache`: the result's shape, exact counts of the reference trace, traces of every
//! format that mean the same, every bad input.

use crate::place::Place;
use crate::program::PLIMSOLL;
use plimsoll_testing::Weight;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A shop's requests: two objects of 4 are asked for again and again.
const SHOP: &str = "\
time_s,object,size,client
0,/home,5000,a
0,/logo,20000,a
1,/home,5000,b
1,/shoes,9000,b
2,/logo,20000,a
2,/hats,7000,a
3,/home,5000,b
3,/shoes,9000,b
4,/logo,20000,a
5,/home,5000,b
";

fn simulated(place: &Place, trace: &Path, more: &[&str]) -> Value {
    let all = [&["cache", "simulate", "--trace", trace.to_str().unwrap(), "--json"], more].concat();
    place.plimsoll(&all).ended_with(0).json()
}

/// The misses of each result.
fn misses(result: &Value) -> Vec<u64> {
    let results = result["results"].as_array().unwrap();
    results.iter().map(|cell| cell["misses"].as_u64().unwrap()).collect()
}

/// The reference trace, of this many requests.
fn reference(place: &Place, requests: &str, name: &str) -> PathBuf {
    let path = place.path(name);
    let output = path.to_str().unwrap();
    let all = ["cache", "trace", "reference", "--requests", requests, "-o", output];
    place.plimsoll(&all).ended_with(0);
    path
}

#[test]
fn the_result_has_its_shape_and_adds_up() {
    let place = Place::weighing(Weight::COMPUTES);
    let trace = place.write("shop.csv", SHOP);
    let more = ["--policy", "lru,gdsf", "--size", "2obj,30kB,50%", "--skip", "4", "--bound"];
    let result = simulated(&place, &trace, &more);
    assert_eq!(
        (result["schema"].as_u64(), result["warnings"].as_array().unwrap().len()),
        (Some(1), 0)
    );
    let about = &result["trace"];
    assert_eq!(about["requests"], 10);
    assert_eq!(about["objects"], 4);
    assert_eq!(about["footprint_bytes"], 41_000);
    assert!(about["compile_cpu_s"].as_f64().unwrap() >= 0.0);
    let results = result["results"].as_array().unwrap();
    let named: Vec<_> = results
        .iter()
        .map(|cell| (cell["policy"].as_str().unwrap(), cell["size"].as_str().unwrap()))
        .collect();
    let sizes = ["2obj", "30kB", "50%"];
    let wanted: Vec<_> =
        ["lru", "gdsf"].into_iter().flat_map(|p| sizes.map(|size| (p, size))).collect();
    assert_eq!(named, wanted);
    let capacities = [(2, "objects"), (30_000, "bytes"), (20_500, "bytes")];
    for (number, cell) in results.iter().enumerate() {
        let (capacity, unit) = capacities[number % 3];
        assert_eq!(
            (cell["capacity"].as_u64(), cell["unit"].as_str()),
            (Some(capacity), Some(unit))
        );
        assert_eq!((cell["requests"].as_u64(), cell["shared_pass"].as_u64()), (Some(10), Some(1)));
        assert_eq!(cell["requested_bytes"], 105_000);
        let ratio = cell["misses"].as_f64().unwrap() / 10.0;
        assert!((cell["miss_ratio"].as_f64().unwrap() - ratio).abs() < 1e-12);
        assert!(cell["missed_bytes"].as_u64().unwrap() >= 41_000);
        assert!(cell["evictions"].as_u64().unwrap() < cell["misses"].as_u64().unwrap());
        assert_eq!(cell["after_skip"]["requests"], 6);
        assert!(cell["cpu_s"].as_f64().unwrap() >= 0.0);
    }
    let bounds = result["bounds"].as_array().unwrap();
    assert_eq!(bounds.len(), 3);
    for bound in bounds {
        let of = |cell: &&Value| {
            (&cell["capacity"], &cell["unit"]) == (&bound["capacity"], &bound["unit"])
        };
        for cell in results.iter().filter(of) {
            assert!(bound["misses"].as_u64() <= cell["misses"].as_u64(), "{bound} {cell}");
            assert!(bound["missed_bytes"].as_u64() <= cell["missed_bytes"].as_u64());
        }
    }
}

/// Counts of libcachesim 0.3.5 (GDSF: October 2024) for the reference trace of ten million
/// requests; here of one million, made once by the same programs, where they are the same.
#[test]
fn the_reference_trace_has_exact_counts() {
    let place = Place::weighing(Weight::COMPUTES);
    let trace = reference(&place, "1M", "zipf.plt");
    let policies = ["--policy", "fifo,lru,sieve,lfu", "--size", "962obj"];
    let result = simulated(&place, &trace, &policies);
    let one = misses(&result);
    // An independent count: FIFO and LRU by plain lists, over the same trace as a table.
    let table = place.path("again.oracleGeneral.bin");
    let (from, to) = (trace.to_str().unwrap(), table.to_str().unwrap());
    place.plimsoll(&["cache", "trace", "compile", from, "-o", to]).ended_with(0);
    let bytes = std::fs::read(&table).unwrap();
    assert_eq!(bytes.len(), 24_000_000);
    let name = |record: &[u8]| u64::from_le_bytes(record[4..12].try_into().unwrap());
    let asked: Vec<u64> = bytes.chunks_exact(24).map(name).collect();
    assert_eq!(asked[0], 0x89df_db46_4317_fa1f);
    assert_eq!(one[..2], [plain(&asked, 962, false), plain(&asked, 962, true)]);
    assert_eq!(misses(&simulated(&place, &table, &policies)), one);
}

/// Misses of FIFO, or of LRU, by ordered sets.
fn plain(asked: &[u64], capacity: usize, lru: bool) -> u64 {
    let mut since = std::collections::BTreeMap::new();
    let mut order = std::collections::BTreeMap::new();
    let mut misses = 0;
    for (at, &object) in asked.iter().enumerate() {
        match since.get(&object).copied() {
            Some(before) if lru => {
                order.remove(&before);
                since.insert(object, at);
                order.insert(at, object);
            }
            Some(_) => {}
            None => {
                misses += 1;
                if since.len() == capacity {
                    let (_, oldest) = order.pop_first().unwrap();
                    since.remove(&oldest);
                }
                since.insert(object, at);
                order.insert(at, object);
            }
        }
    }
    misses
}

#[test]
fn a_trace_means_the_same_in_every_format() {
    let place = Place::weighing(Weight::COMPUTES);
    let table = place.write("shop.csv", SHOP);
    let log: String = SHOP
        .lines()
        .skip(1)
        .map(|line| {
            let [time, object, size, client] = line.split(',').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let second = 1_700_000_000 + time.parse::<u64>().unwrap();
            format!(
                "{second}.000 12 10.0.0.{} TCP_MISS/200 {size} GET http://shop{object} - \
                 HIER_DIRECT/10.1.1.1 text/html\n",
                u8::from(client == "b") + 1
            )
        })
        .collect();
    let log = place.write("access.log", &log);
    let compiled = place.path("shop.plt");
    let (from, to) = (table.to_str().unwrap(), compiled.to_str().unwrap());
    place.plimsoll(&["cache", "trace", "compile", from, "-o", to]).ended_with(0);
    let policies = ["--policy", "lru,gdsf,sieve,s3fifo,squid-heap-lfuda", "--size", "30kB,3obj"];
    let wanted = misses(&simulated(&place, &table, &policies));
    for trace in [&log, &compiled] {
        assert_eq!(misses(&simulated(&place, trace, &policies)), wanted, "{}", trace.display());
    }
    let info = |path: &Path| {
        let all = ["cache", "trace", "info", path.to_str().unwrap(), "--json"];
        place.plimsoll(&all).ended_with(0).json()
    };
    let (of_table, of_log) = (info(&table), info(&log));
    for key in ["popularity", "sizes", "reuse_distance", "times", "clients"] {
        assert_eq!(of_table[key], of_log[key], "{key}");
    }
    assert_eq!(of_table["clients"]["count"], 2);
}

#[test]
fn the_curve_of_lru_is_its_single_runs() {
    let place = Place::weighing(Weight::COMPUTES);
    let trace = reference(&place, "100k", "zipf.plt");
    let sizes = "10obj,100obj,1000obj,10%,50%";
    let single = simulated(&place, &trace, &["--policy", "lru,sieve", "--size", sizes]);
    let path = trace.to_str().unwrap();
    let page = place.path("curve.html");
    let all = ["cache", "mrc", "--trace", path, "--policy", "lru,sieve", "--size", sizes, "--json"];
    let all = [&all[..], &["--report", page.to_str().unwrap()]].concat();
    let curves = place.plimsoll(&all).ended_with(0).json();
    for (number, cell) in single["results"].as_array().unwrap().iter().enumerate() {
        let point = &curves["curves"][number / 5]["points"][number % 5];
        assert_eq!(point["capacity"], cell["capacity"]);
        assert_eq!(point["reliable"], true);
        for key in ["miss_ratio", "byte_miss_ratio"] {
            let [of_curve, of_run] = [&point[key], &cell[key]].map(|of| of.as_f64().unwrap());
            assert!((of_curve - of_run).abs() < 1e-9, "{key}: {point} {cell}");
        }
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Miss-ratio curves of zipf.plt") && page.contains("<svg"));
    let sampled = ["cache", "mrc", "--trace", path, "--rate", "10%", "--size", "50obj"];
    let told = place.plimsoll(&sampled).ended_with(0).out;
    assert!(told.contains("the sample is too small"), "{told}");
}

#[test]
fn the_report_shows_policies_sizes_and_courses() {
    let place = Place::weighing(Weight::WAITS);
    let trace = place.write("<shop>.csv", SHOP);
    let page = place.path("caches.html");
    let more = ["--policy", "lru,sieve", "--size", "2obj,3obj", "--report", page.to_str().unwrap()];
    let _ = simulated(&place, &trace, &more);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("Caches for &lt;shop&gt;.csv") && !page.contains("<shop>"));
    for part in ["Over sizes", "Over the trace", "How it was counted", "lowest"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn bad_input_is_one_clear_error() {
    let place = Place::weighing(Weight::WAITS);
    let trace = place.write("shop.csv", SHOP);
    let trace = trace.to_str().unwrap();
    let bare = place.write("bare.csv", "object\n1\n2\n1\n");
    let bare = bare.to_str().unwrap();
    let refused = |more: &[&str], wanted: &str| {
        let all = [&["cache", "simulate", "--trace"], more].concat();
        let told = place.plimsoll(&all).ended_with(2).err;
        assert_eq!(told.matches("error:").count(), 1, "{told}");
        assert!(told.contains(wanted), "{told}");
    };
    refused(&["none.csv"], "read the trace none.csv");
    refused(&[trace, "--policy", "lur"], "did you mean lru?");
    refused(&[trace, "--policy", "lru:k=2"], "expected no setting");
    refused(&[trace, "--size", "0"], "nothing fits");
    refused(&[trace, "--size", "9223372036854775808"], "2^63 - 1");
    refused(&[trace, "--size", "0.001%"], "at least 1 byte");
    refused(&[bare, "--size", "10MB"], "write 962obj or 10%obj");
    refused(&[trace, "--admit", "first"], "an admission filter");
    refused(&[trace, "--skip", "10"], "fewer than the trace's 10 requests");
    refused(&[trace, "--format", "xml"], "a trace format");
    refused(&[trace, "--columns", "time,time,object"], "--columns");
    // A cache smaller than every object: a miss each, which is no error.
    let path = Path::new(trace);
    let small = simulated(&place, path, &["--policy", "lru,gdsf,arc", "--size", "1kB"]);
    assert_eq!(misses(&small), [10, 10, 10]);
    // A compiled trace that was cut.
    let compiled = reference(&place, "1k", "cut.plt");
    let bytes = std::fs::read(&compiled).unwrap();
    std::fs::write(&compiled, &bytes[..bytes.len() - 7]).unwrap();
    refused(&[compiled.to_str().unwrap()], "cut.plt");
}

/// What is said of a trace, in the table and in `--json` alike; it is read, or refused with 2.
fn told_of(place: &Place, trace: &Path, more: &[&str]) -> (Value, String) {
    let path = trace.to_str().unwrap();
    let all = [&["cache", "simulate", "--trace", path, "--size", "100obj"], more].concat();
    let table = place.plimsoll(&all).ended_with(0).out;
    let result = place.plimsoll(&[&all[..], &["--json"]].concat()).ended_with(0).json();
    for warning in result["warnings"].as_array().unwrap() {
        let note = format!("note: {}", warning.as_str().unwrap());
        assert!(table.contains(&note), "{note}\n{table}");
    }
    let warnings = result["warnings"].as_array().unwrap().iter();
    let warnings = warnings.map(|warning| warning.as_str().unwrap().to_owned());
    (result["trace"].clone(), warnings.collect::<Vec<_>>().join("\n"))
}

#[test]
fn what_is_left_out_or_taken_for_something_is_said() {
    let place = Place::weighing(Weight::WAITS);
    let read = |text: &str, more: &[&str], requests: u64, objects: u64, said: &[&str]| {
        let trace = place.write("t.txt", text);
        let (about, warnings) = told_of(&place, &trace, more);
        let found = (about["requests"].as_u64(), about["objects"].as_u64());
        assert_eq!(found, (Some(requests), Some(objects)), "{text}");
        for said in said {
            assert!(warnings.contains(said), "{said}: {warnings}");
        }
    };
    read("1 1 120\n2 2 64\n3 1 120\n", &[], 3, 2, &["times are taken for seconds"]);
    read("time object size\n0 a 10\n1 b 20\n2 a 10\n", &[], 3, 2, &[]);
    let operations =
        "timestamp_s,op,key,key_size\n0,PUT,a,1\n1,GET,a,1\n2,DELETE,a,1\n3,gets,a,1\n";
    let left_out = "2 rows are no look-ups and were left out: 1 of DELETE, 1 of PUT";
    read(operations, &[], 2, 1, &[left_out, "columns passed over: `key_size`"]);
    read(operations, &["--columns", "time_s,-,key"], 4, 1, &[]);
    read(operations, &["--columns", "-,-,key,size"], 4, 1, &[]);
    read(operations, &["--columns", "-,op,key"], 2, 1, &[left_out]);
    let hosts = "host,path,bytes\none,/i,1\ntwo,/i,5\none,/i,1\ntwo,/i,5\n";
    read(hosts, &[], 4, 2, &["column host is taken for the host of objects"]);
    let clients = hosts.replace("path", "key").replace("/i", "i");
    read(&clients, &[], 4, 1, &["column host is taken for the client"]);
    read("time,key\n0,a\n1454345164500,b\n1454345165500,a\n", &[], 3, 2, &["milliseconds"]);
    read("key\n1\n2\n3\n4\n", &[], 4, 4, &["4 of 4 requests are the first to their object"]);
    let w3c = "#Version: 1.0\n#Fields: date time sc-bytes c-ip cs-method cs(Host) cs-uri-stem \
               sc-status\n2026-07-01\t12:00:00\t10\t192.0.2.1\tGET\th\t/a\t200\n\
               2026-07-01\t12:00:01\t10\t192.0.2.1\tGET\th\t/a\t200\n\
               2026-07-01\t12:00:02\t5\t192.0.2.2\tPOST\th\t/form\t200\n";
    read(w3c, &[], 2, 1, &["left out: 1 of POST", "`sc-status`"]);
    let squid =
        "1795629599.011 4 192.0.2.0 TCP_MISS/200 500 GET http://h/find? - HIER_DIRECT/h t\n";
    read(&squid.repeat(3), &[], 3, 1, &["3 requests have a URL that ends in `?`"]);
    let errors = "1795629599.011 0 192.0.2.9 NONE_NONE/0 -1 GET http://h/b - HIER_NONE/- -\n";
    read(&format!("{squid}{errors}"), &[], 1, 1, &["1 lines are no requests to a cache"]);
}

#[test]
fn what_is_no_trace_is_refused_by_its_name() {
    let place = Place::weighing(Weight::WAITS);
    let refused = |name: &str, text: &[u8], wanted: &[&str]| {
        let path = place.path(name);
        std::fs::write(&path, text).unwrap();
        let all = ["cache", "trace", "info", path.to_str().unwrap()];
        let told = place.plimsoll(&all).ended_with(2).err;
        assert_eq!(told.matches("error:").count(), 1, "{told}");
        for wanted in wanted {
            assert!(told.contains(wanted), "{wanted}: {told}");
        }
    };
    refused("prose.txt", b"once upon a time\nthere was\nthe end\n", &["text", "--columns object"]);
    refused("words.txt", b"once\nupon a time\nthere was\nthe end\n", &["blanks where a line"]);
    refused("a.csv", b"time|object\n0|a\n1|b\n", &["columns between `|`", "tr '|' ','"]);
    refused("b.csv", b"time,object\r0,a\r1,b\r", &["lines that end in CR alone"]);
    refused("c.jsonl", b"{\"time\":1,\"object\":\"a\"}\n", &["JSON", "jq"]);
    let squid = "Dec  4 03:31:46 edge1 (squid-1): 1449196306.934 45 192.0.2.24 TCP_HIT/200 2253 \
                 GET http://a.example/x - HIER_NONE/- text/html\n";
    let wanted = ["a squid access log with a head", "sed -E 's/^([^ ]+ +){5}//'"];
    refused("d.log", squid.repeat(3).as_bytes(), &wanted);
    let record = |second: u32, next: i64| {
        [&second.to_le_bytes()[..], &[7; 12], &next.to_le_bytes()].concat()
    };
    let falls = [record(5, 2), record(4, -1)].concat();
    refused("e.bin", &falls, &["time falls at record 1", "--format oracleGeneral"]);
    refused("f.csv", b"op,key\nPUT,a\nPUT,b\n", &["2 of PUT"]);
}

#[test]
fn sizes_and_samples_that_hold_nothing_are_said() {
    let place = Place::weighing(Weight::COMPUTES);
    let rows = (0..1_000).map(|at| if at % 2 == 0 { "/small,50\n" } else { "/big,1000\n" });
    let text = format!("path,size\n{}", rows.collect::<String>());
    let trace = place.write("two.csv", &text);
    let path = trace.to_str().unwrap();
    // Below the largest object, the curve is the single runs.
    let sizes = "60,500,1000,1100";
    let curve = ["cache", "mrc", "--trace", path, "--in", "bytes", "--size", sizes, "--json"];
    let curve = place.plimsoll(&curve).ended_with(0).json();
    let runs = simulated(&place, &trace, &["--size", sizes]);
    let points = curve["curves"][0]["points"].as_array().unwrap();
    for (point, run) in points.iter().zip(runs["results"].as_array().unwrap()) {
        assert_eq!(point["miss_ratio"], run["miss_ratio"], "{point}");
        assert_eq!(point["byte_miss_ratio"], run["byte_miss_ratio"], "{point}");
    }
    assert_eq!(points[0]["miss_ratio"], 0.501);
    // A plain number is bytes.
    let small = simulated(&place, &trace, &["--size", "10"]);
    let note = small["warnings"][0].as_str().unwrap();
    let wanted =
        "no object fits a size of 10 (10 B): the smallest has 50 B; a plain number is bytes";
    assert!(note.starts_with(wanted), "{note}");
    let all = ["cache", "mrc", "--trace", path, "--size", "10"];
    assert!(place.plimsoll(&all).ended_with(0).out.contains("10obj a cache of 10 objects"));
    // A sample of nothing says nothing.
    let none = ["cache", "mrc", "--trace", path, "--policy", "lru,sieve", "--rate", "0.000001%"];
    let none = [&none[..], &["--size", "10obj,500"]].concat();
    let found = place.plimsoll(&[&none[..], &["--json"]].concat()).ended_with(0).json();
    for curve in found["curves"].as_array().unwrap() {
        for point in curve["points"].as_array().unwrap() {
            assert!(point["miss_ratio"].is_null() && point["byte_miss_ratio"].is_null());
        }
    }
    let shown = place.plimsoll(&none).ended_with(0).out;
    assert!(shown.contains('–') && shown.contains("takes none of the 2 objects"), "{shown}");
    // A filter by size looks at bytes, whatever is counted.
    let admit = ["--size", "10obj", "--admit", "max:100B"];
    assert_eq!(misses(&simulated(&place, &trace, &admit)), [501]);
    let refused = |trace: &str, more: &[&str], wanted: &str| {
        let all = [&["cache", "simulate", "--trace", trace], more].concat();
        let told = place.plimsoll(&all).ended_with(2).err;
        assert!(told.contains(wanted), "{told}");
    };
    let bare = place.write("bare.csv", "object\n1\n2\n1\n");
    refused(bare.to_str().unwrap(), &admit, "a trace with sizes for the admission filter");
    refused(path, &["--skip", "100%"], "fewer than the trace's 1000 requests");
}

/// What few requests cannot tell is a dash, and a copy is confirmed by the parent.
#[test]
fn percentiles_of_few_requests_are_dashes() {
    let place = Place::weighing(Weight::WAITS);
    place.write("few.csv", "timestamp_ms,object,size\n0,a,10\n5000,a,10\n9000,a,10\n20000,a,10\n");
    let plan = "[trace]\nfile = \"few.csv\"\nchanges = \"10m..20m\"\nfresh = \"1m\"\n[cluster]\n\
                nodes = 1\nsize = \"1kB\"\n";
    let plan = place.write("few.toml", plan);
    let all = ["cache", "simulate", plan.to_str().unwrap()];
    let result = place.plimsoll(&[&all[..], &["--json"]].concat()).ended_with(0).json();
    let times = &result["results"][0]["response_ms"];
    assert!(times["p50"].is_null() && times["p99"].is_null() && times["mean"].is_number());
    assert_eq!(result["results"][0]["misses"], 1);
    let table = place.plimsoll(&all).ended_with(0).out;
    assert!(table.lines().any(|line| line.trim_end().ends_with('–')), "{table}");
    // Of a trace, likewise: 21 requests have a median, and no more.
    let rows: String = (0..21).map(|at| format!("{at},/{at},{at}\n")).collect();
    let trace = place.write("few.csv", format!("time_s,path,size\n{rows}{rows}"));
    let all = ["cache", "trace", "info", trace.to_str().unwrap()];
    let info = place.plimsoll(&[&all[..], &["--json"]].concat()).ended_with(0).json();
    let sizes = &info["sizes"]["of_objects"];
    assert_eq!((&sizes["median"], &sizes["max"]), (&10.into(), &20.into()));
    assert!(sizes["p90"].is_null() && info["reuse_distance"]["p99"].is_null());
    let shown = place.plimsoll(&all).ended_with(0).out;
    assert!(shown.contains("10 B median, – p90, – p99, 20 B greatest"), "{shown}");
}

#[test]
fn caches_on_a_trace_are_compared_by_a_plan_as_by_flags() {
    let place = Place::weighing(Weight::COMPUTES);
    place.write("t.csv", "time,object,size\n1,1,5\n2,2,5\n3,1,5\n4,3,5\n5,2,5\n");
    let plan = "name = 'two'\n[trace]\nfile = 't.csv'\n[cache]\npolicy = ['lru', 'fifo']\n\
                size = ['1obj', '2obj']\nskip = 1\nby_size = true\n";
    place.write("caches.toml", plan);
    let json = |more: &[&str]| {
        let done = place.plimsoll(&[&["cache", "simulate"], more, &["--json"]].concat());
        let mut json = done.ended_with(0).json();
        json["trace"]["compile_cpu_s"] = serde_json::Value::Null;
        for result in json["results"].as_array_mut().unwrap() {
            result["cpu_s"] = serde_json::Value::Null;
        }
        json
    };
    let flags = ["--trace", "t.csv", "--policy", "lru,fifo", "--size", "1obj,2obj"];
    let flags = json(&[&flags[..], &["--skip", "1", "--by-size"]].concat());
    assert_eq!(json(&["caches.toml"]), flags);
    assert_eq!(flags["results"].as_array().unwrap().len(), 4);
    // What is kept says the same again, and a flag wins.
    let printed = place.plimsoll(&["cache", "simulate", "caches.toml", "--print-plan"]);
    place.write("printed.toml", printed.ended_with(0).out);
    assert_eq!(json(&["printed.toml"]), flags);
    let one = json(&["caches.toml", "--policy", "sieve", "--set", "cache.size=1obj"]);
    assert_eq!(one["results"][0]["policy"], "sieve");
    assert_eq!(one["results"].as_array().unwrap().len(), 1);
    place.write("wrong.toml", plan.replace("'fifo'", "'fifoo'"));
    let wrong = place.plimsoll(&["cache", "simulate", "wrong.toml"]).ended_with(2);
    wrong.says(&["wrong.toml:5:", "did you mean fifo?"]);
}

/// Three volumes, each block of each asked for once: no cache can answer any.
#[test]
fn a_block_of_two_volumes_is_two_objects() {
    let place = Place::weighing(Weight::COMPUTES);
    let rows: String = (0..300).map(|n| format!("{},{},4096,r,{n}\n", n % 3, n / 3 * 8)).collect();
    let misses_of = |text: String, more: &[&str]| {
        let trace = place.write("blocks.csv", text);
        misses(&simulated(
            &place,
            &trace,
            &[&["--policy", "lru", "--size", "400obj"], more].concat(),
        ))
    };
    let columns = |of: &str| format!("--columns={of},object,size,op,time_s");
    assert_eq!(misses_of(rows.clone(), &[&columns("volume")]), [300]);
    assert_eq!(misses_of(rows.clone(), &[&columns("-")]), [100]);
    assert_eq!(misses_of(format!("asu,lba,size,op,time_s\n{rows}"), &[]), [300]);
    // A host and its disk.
    let two: String = (0..8).map(|n| format!("h{},d{},{}\n", n % 2, n / 2 % 2, n / 4)).collect();
    assert_eq!(misses_of(two, &["--columns=volume,volume,object"]), [8]);
}

#[test]
fn file_times_of_windows_are_of_our_times() {
    let place = Place::weighing(Weight::COMPUTES);
    // 2007-02-22, 100 s from first to last.
    let rows: String = (0..101)
        .map(|n: u64| format!("{},a\n", 128_166_372_003_061_629 + n * 10_000_000))
        .collect();
    place.write("msr.csv", rows);
    let told = |columns: &str| {
        let info = ["cache", "trace", "info", "msr.csv", "--columns", columns];
        place.plimsoll(&info).ended_with(0).out
    };
    for columns in ["time,object", "time_100ns,object"] {
        let text = told(columns);
        assert!(text.contains("1 m 40 s"), "{columns}: {text}");
    }
}

/// Whoever waits for a trace that does not come is ended by an interrupt.
#[test]
fn an_interrupt_ends_what_waits_for_its_trace() {
    let place = Place::weighing(Weight::WAITS);
    place.start(place.command("mkfifo", &["waits"])).wait().ended_with(0);
    for words in
        [&["simulate", "--policy", "lru", "--size", "9obj"][..], &["mrc", "--policy", "lru"]]
    {
        let words = [&["cache"], words, &["--trace", "waits"]].concat();
        let going = place.start(place.command(PLIMSOLL, &words));
        let mut writer = std::fs::OpenOptions::new().write(true).open(place.path("waits")).unwrap();
        std::io::Write::write_all(&mut writer, b"object,size\na,1\n").unwrap();
        going.signal(rustix::process::Signal::INT);
        let done = going.wait();
        assert!(done.code().is_none(), "{words:?} ended by itself with {:?}", done.code());
        drop(writer);
    }
}
