//! Exports, checked against what went in and against the `hdrhistogram` crate.

use plimsoll_runs::export::{Format, export, export_periods};
use plimsoll_runs::{Ended, ErrorKind, Phase, Run, RunWriter, Sink as _};

use crate::made::{self, MS};

fn exported(run: &Run, format: Format) -> String {
    let mut out = Vec::new();
    export(run, format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Two seconds: ten answers of 2 ms and three of 503; then nothing at all.
fn small(root: &std::path::Path) -> Run {
    let mut writer = RunWriter::create(root, &made::meta("small", 0, 2)).unwrap();
    let mut interval = made::second(0);
    made::answered(&mut interval, Phase::Measured, 10, 2 * MS, 1000);
    made::failed(&mut interval, Phase::Measured, 3, ErrorKind::Status);
    writer.interval(&interval).unwrap();
    let mut idle = made::second(1);
    idle.rtt_ns = 0;
    writer.interval(&idle).unwrap();
    writer.finish(made::end(Ended::Complete)).unwrap()
}

#[test]
fn csv_has_a_row_a_second_and_units_in_its_header() {
    let root = tempfile::tempdir().unwrap();
    let text = exported(&small(root.path()), Format::Csv);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{text}");
    let cell = |row: usize, name: &str| {
        let column = lines[0].iter().position(|header| *header == name);
        lines[row][column.unwrap_or_else(|| panic!("no column {name}"))]
    };
    for (name, first, second) in [
        ("start_s", "0.0", "1.0"),
        ("len_s", "1.0", "1.0"),
        ("phase", "measured", "measured"),
        ("offered", "13", "0"),
        ("completed", "13", "0"),
        ("succeeded", "10", "0"),
        ("failed_status", "3", "0"),
        ("failed_check", "0", "0"),
        ("status", "200:10 503:3", ""),
        ("received_bytes", "2000", "0"),
        ("response_max_us", "10000.0", ""),
        ("lateness_max_us", "1.0", ""),
        ("tcp_round_trip_us", "30.0", ""),
        ("busy_share", "0.25", "0.25"),
        ("behind", "false", "false"),
        ("availability", "up", ""),
    ] {
        assert_eq!((cell(1, name), cell(2, name)), (first, second), "{name}");
    }
}

#[test]
fn json_holds_the_summary_and_the_same_seconds() {
    let root = tempfile::tempdir().unwrap();
    let run = small(root.path());
    let value: serde_json::Value = serde_json::from_str(&exported(&run, Format::Json)).unwrap();
    assert_eq!(value["summary"], serde_json::to_value(run.summary().unwrap()).unwrap());
    let seconds = value["intervals"].as_array().unwrap();
    assert_eq!(seconds.len(), 2);
    assert_eq!(seconds[0]["status"], serde_json::json!({"200": 10, "503": 3}));
    assert_eq!(seconds[0]["offered"], 13);
    assert!(seconds[1]["response_p99_us"].is_null());
    let header = exported(&run, Format::Csv);
    let columns: Vec<&str> = header.lines().next().unwrap().split(',').collect();
    let mut keys: Vec<&str> = seconds[0].as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let mut sorted = columns.clone();
    sorted.sort_unstable();
    assert_eq!(keys, sorted);
}

#[test]
fn a_run_without_a_second_exports_too() {
    let root = tempfile::tempdir().unwrap();
    let writer = RunWriter::create(root.path(), &made::meta("none", 0, 2)).unwrap();
    let run = writer.finish(made::end(Ended::Interrupted)).unwrap();
    assert_eq!(exported(&run, Format::Csv).lines().count(), 1);
    let value: serde_json::Value = serde_json::from_str(&exported(&run, Format::Json)).unwrap();
    assert_eq!(value["intervals"], serde_json::json!([]));
    assert!(exported(&run, Format::Hgrm).contains("Total count    =            0"));
}

/// A run whose one second has these response times.
fn of_values(root: &std::path::Path, values: &[(u64, u64)]) -> Run {
    let mut writer = RunWriter::create(root, &made::meta("values", 0, 1)).unwrap();
    let mut interval = made::second(0);
    for &(value, n) in values {
        made::answered(&mut interval, Phase::Measured, n, value, 0);
    }
    writer.interval(&interval).unwrap();
    writer.finish(made::end(Ended::Complete)).unwrap()
}

#[test]
fn hgrm_tells_the_levels_that_the_reference_tells() {
    // Counts whose sums are prime: the reference reckons in shares, and we as its Java original
    // in percent, so the two may round a level that is met exactly to different sides.
    let mut spread: Vec<(u64, u64)> = (0..5000).map(|n| (MS + n * n * 97, n % 4 + 1)).collect();
    spread.push((MS, 3));
    for values in [spread, vec![(2 * MS, 1)], vec![(MS, 91), (5 * MS, 9), (900 * MS, 1)]] {
        let root = tempfile::tempdir().unwrap();
        let run = of_values(root.path(), &values);
        let mut reference = hdrhistogram::Histogram::<u64>::new_with_max(1 << 43, 3).unwrap();
        for &(value, n) in &values {
            reference.record_n(value, n).unwrap();
        }
        let mut before = 0;
        let mut theirs = Vec::new();
        for step in reference.iter_quantiles(5) {
            before += step.count_since_last_iteration();
            #[expect(clippy::cast_precision_loss, reason = "below 2^44")]
            let ms = step.value_iterated_to() as f64 / 1e6;
            let level = step.quantile_iterated_to();
            let mut line = format!("{ms:12.3} {level:2.12} {before:10}");
            if level < 1.0 {
                line += &format!(" {:14.2}", 1.0 / (1.0 - level));
            }
            theirs.push(line);
        }
        let text = exported(&run, Format::Hgrm);
        let ours: Vec<&str> =
            text.lines().skip(2).take_while(|line| !line.starts_with('#')).collect();
        assert_eq!(ours, theirs);
    }
}

#[test]
fn hgrm_has_the_references_frame() {
    let root = tempfile::tempdir().unwrap();
    let text = exported(&of_values(root.path(), &[(2 * MS, 10)]), Format::Hgrm);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "       Value     Percentile TotalCount 1/(1-Percentile)");
    assert_eq!(lines[1], "");
    assert_eq!(lines[2], "       2.001 0.000000000000         10           1.00");
    assert_eq!(lines[3], "       2.001 1.000000000000         10");
    assert_eq!(lines[4], "#[Mean    =        2.000, StdDeviation   =        0.000]");
    assert_eq!(lines[5], "#[Max     =        2.001, Total count    =           10]");
    assert_eq!(lines[6], "#[Buckets =           34, SubBuckets     =         2048]");
    assert_eq!(lines.len(), 7);
}

#[test]
fn formats_have_names_and_hints() {
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
    }
    let error = "jsn".parse::<Format>().unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `json`?"));
    assert!(error.to_string().contains("samples-jsonl or samples-parquet"), "{error}");
}

#[test]
fn series_in_periods_are_their_least_mean_greatest_sum_and_number() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(root.path(), &made::meta("series", 0, 200)).unwrap();
    // Three minutes of a sample every half second, of two instances and of none.
    for half in 0..360_u64 {
        let at_ns = half * 500 * MS;
        let value = half as f64;
        writer.series("cpu", &[("instance", "web-1"), ("mode", "user")], at_ns, value).unwrap();
        writer.series("cpu", &[("instance", "web-2"), ("mode", "user")], at_ns, -value).unwrap();
        if half < 100 {
            writer.series("load", &[], at_ns, 2.0).unwrap();
        }
    }
    let run = writer.finish(made::end(Ended::Complete)).unwrap();
    let mut out = Vec::new();
    export_periods(&run, std::time::Duration::from_secs(60), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains("host_")).collect();
    assert_eq!(lines[0], "cell,instance,series,labels,start_s,min,mean,max,sum,count");
    // The second minute: samples 120 to 239.
    let user = "\"{\"\"mode\"\":\"\"user\"\"}\"";
    let wanted = format!("0,web-1,cpu,{user},60.0,120.0,179.5,239.0,21540.0,120");
    assert!(lines.contains(&wanted.as_str()), "{text}");
    assert!(lines.contains(&"0,,load,,0.0,2.0,2.0,2.0,200.0,100"), "{text}");
    assert_eq!(lines.len(), 1 + 3 + 3 + 1, "{text}");
}
