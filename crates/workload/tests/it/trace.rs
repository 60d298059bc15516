//! Traces: every form of file, every mistake, and what is made of them.

use plimsoll_units::failure::told;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_workload::schedule::{Piece, Schedule, Shape};
use plimsoll_workload::trace::{Moment, RowKind, Trace, TraceError, TraceOptions};
use proptest::prelude::*;

const S: u64 = 1_000_000_000;
const MINUTE: Option<Duration> = Some(Duration::from_secs(60));

fn read(text: &str) -> Result<Trace, TraceError> {
    Trace::from_reader(text.as_bytes(), "test.csv", None)
}

fn trace(text: &str) -> Trace {
    read(text).unwrap_or_else(|error| panic!("{error}"))
}

fn made(trace: &Trace, options: &TraceOptions) -> Schedule {
    trace.schedule(options).unwrap_or_else(|error| panic!("{error}")).0
}

fn points(trace: &Trace) -> Vec<(u64, f64)> {
    trace.points().iter().map(|point| (point.offset_ns, point.rate_per_s)).collect()
}

fn level(rate: f64, seconds: u64) -> Piece {
    Piece { shape: Shape::Constant { rate }, duration_ns: seconds * S }
}

fn moment(text: &str) -> Option<Moment> {
    Some(Moment::parse(text).unwrap_or_else(|error| panic!("{error}")))
}

/// A file of the folder of real data; none, and says so, where the folder is absent.
fn shared(test: &str, file: &str) -> Option<PathBuf> {
    plimsoll_testing::shared(test, &format!("data/traces/{file}"))
}

#[test]
fn rates_and_counts_in_every_unit_of_time() {
    for text in [
        "time,rate\n0,10\n60,20\n120,5\n",
        "time_s,count\n1000,600\n1060,1200\n1120,300\n",
        "minute,requests\n7,600\n8,1200\n9,300",
        "hour_of_day,hits\n0,600\n0.016666666666666666667,1200\n0.033333333333333333334,300",
        "minute_local,requests,imputed\n1995-08-28 00:00,600,0\n1995-08-28 00:01,1200,0\n\
         1995-08-28 00:02,300,1\n",
        "\u{feff}requests;timestamp\r\n# a comment\r\n\r\n600;1995-08-28T23:59:00Z\r\n\
         1200;1995-08-29T00:00:00Z\r\n300;1995-08-29T00:01:00Z",
        "time_ms\trequests_per_min\n0\t600\n60000\t1200\n120000\t300\n",
        "\"time\",\"rps\"\n\"0\",\"10\"\n\"60\",\"20\"\n\"120\",\"5\"\n",
    ] {
        let trace = trace(text);
        let found = points(&trace);
        assert_eq!(found.len(), 3, "{text}");
        for (found, expected) in found.iter().zip([(0, 10.0), (60 * S, 20.0), (120 * S, 5.0)]) {
            assert!(found.0.abs_diff(expected.0) <= 1, "{text}: {found:?}");
            assert!((found.1 - expected.1).abs() < 1e-6, "{text}: {found:?}");
        }
        assert!(trace.duration_ns().abs_diff(180 * S) <= 2, "{text}");
    }
}

#[test]
fn one_count_a_line_needs_an_interval() {
    let text = "# requests a minute\n600\n1200\n300\n";
    let trace = Trace::from_reader(text.as_bytes(), "x", MINUTE).unwrap();
    assert_eq!(points(&trace), [(0, 10.0), (60 * S, 20.0), (120 * S, 5.0)]);
    let headed = Trace::from_reader(format!("requests\n{text}").as_bytes(), "x", MINUTE).unwrap();
    assert_eq!(headed, trace);
    assert!(matches!(read(text), Err(TraceError::NoInterval { .. })));
    assert!(matches!(read("time,rate\n0,1\n"), Err(TraceError::NoInterval { .. })));
    assert!(Trace::from_reader("time,rate\n0,1\n".as_bytes(), "x", MINUTE).is_ok());
    // A single row lasts the unit that its column names.
    assert_eq!(points(&self::trace("minute,requests\n1995-08-28 00:00,30\n")), [(0, 0.5)]);
    assert_eq!(self::trace("time_s,count\n0,7\n").duration_ns(), S);
    let none = Trace::from_reader(text.as_bytes(), "x", Some(Duration::ZERO));
    assert!(matches!(none, Err(TraceError::Option { .. })));
}

#[test]
fn a_row_without_a_value_is_a_request() {
    let text = "TIMESTAMP,Tokens,Made\n2023-11-16 18:15:46.5,3,1\n2023-11-16 18:15:46.5,4,1\n\
                2023-11-16 18:15:47.4,3,1\n2023-11-16 18:15:49.6,3,1\n";
    let trace = trace(text);
    assert_eq!(points(&trace), [(0, 3.0), (S, 0.0), (2 * S, 0.0), (3 * S, 1.0)]);
    let (schedule, notes) = trace.schedule(&TraceOptions::default()).unwrap();
    assert_eq!((schedule.total(), notes.kind), (4, RowKind::Request));
    let wide = Trace::from_reader(text.as_bytes(), "x", Some(Duration::from_secs(2))).unwrap();
    assert_eq!(points(&wide), [(0, 1.5), (2 * S, 0.5)]);
}

/// The same rows, however their times are written, give the same trace; what was taken for what is
/// said once, and not where the trace says it itself.
#[test]
fn times_in_every_notation_make_the_same_trace() {
    let expected = points(&trace("time_s,count\n0,600\n60,1200\n"));
    for (header, times, remark) in [
        ("Time", ["2026-03-03 08:00:00", "2026-03-03 08:01:00"], None),
        ("timestamp", ["1772524800", "1772524860"], Some("seconds since 1970")),
        ("timestamp", ["1772524800000", "1772524860000"], Some("milliseconds since 1970")),
        ("ts", ["1772524800000000", "1772524860000000"], Some("microseconds since 1970")),
        ("ts", ["1772524800000000000", "1772524860000000000"], Some("nanoseconds since 1970")),
        ("date", ["20260303080000", "20260303080100"], Some("YYYYMMDDhhmmss")),
        ("time_ms", ["0", "60000"], None),
        ("time", ["0", "60"], Some("taken for seconds")),
        ("minute", ["5", "6"], None),
    ] {
        let text = format!("{header},count\n{},600\n\"{}\",1200\n", times[0], times[1]);
        let trace = trace(&text);
        assert_eq!(points(&trace), expected, "{text}");
        let remarks = trace.remarks().join("; ");
        assert!(remarks.contains(remark.unwrap_or_default()), "{text}: {remarks}");
        assert_eq!(trace.remarks().len(), usize::from(remark.is_some()), "{remarks}");
    }
    // One kind of time in a trace: what looks like another is refused, not read as such.
    for (text, message) in [
        ("date,count\n20260303080000,1\n202603030801,2\n", "a date in digits, as before"),
        ("date,count\n20260303080000,1\n2026-03-03 08:01,2\n", "a date in digits, as before"),
        ("time,count\n1772524800000,1\n2026-03-03 08:01,2\n", "a number, as before"),
    ] {
        let shown = read(text).expect_err(text).to_string();
        assert!(shown.contains("line 3") && shown.contains(message), "{shown}");
    }
}

#[test]
fn a_column_that_may_be_rate_or_count_is_refused_until_it_is_said() {
    for text in ["\"Time\",\"Value\"\n0,12.5\n10,10\n", "time,A-series\n0,12.5\n10,10\n"] {
        let shown = told(&read(text).expect_err(text));
        assert!(shown.contains("--columns time,rate") && shown.contains("--columns time,count"));
        let given = |columns: &str| {
            Trace::from_reader_as(text.as_bytes(), "x", None, Some(columns)).expect(columns)
        };
        assert_eq!(points(&given("time,rate")), [(0, 12.5), (10 * S, 10.0)]);
        assert_eq!(points(&given("time,count")), [(0, 1.25), (10 * S, 1.0)]);
        assert_eq!(points(&given("time_ms,rate"))[1].0, S / 100);
        assert!(given("time_s,rate").remarks().is_empty());
    }
    // Without a header the first line is a row.
    let bare = Trace::from_reader_as(&b"0;x;5\n60000;y;6\n"[..], "x", None, Some("time_ms,-,rate"));
    assert_eq!(points(&bare.expect("a trace")), [(0, 5.0), (60 * S, 6.0)]);
    let requests = trace("time,url\n0,/a\n0,/b\n1,/a\n");
    assert!(requests.remarks()[1].contains("one request"), "{:?}", requests.remarks());
    let wrong = Trace::from_reader_as(&b"0,1\n"[..], "x", None, Some("time,foo"));
    assert!(matches!(wrong, Err(TraceError::Columns { .. })));
}

#[test]
fn gzip_is_found_by_its_first_bytes() {
    let text = "time,rate\n0,10\n60,20\n";
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let unpacked = Trace::from_reader(packed.as_slice(), "test.csv", None).unwrap();
    assert_eq!(unpacked, trace(text));
    let cut = Trace::from_reader(&packed[..packed.len() - 9], "test.csv.gz", None);
    assert!(matches!(cut, Err(TraceError::Read { .. })), "{cut:?}");
}

#[test]
fn each_mistake_names_file_and_line() {
    for (text, line, message) in [
        ("time,rate\n0,1\n\n60,x\n", 4, "expected a number, found `x`"),
        ("time,rate\n0,-1\n", 2, "expected a number from zero upwards, found `-1`"),
        ("time,rate\n0,nan\n", 2, "expected a number from zero upwards, found `nan`"),
        ("time,rate\n0,inf\n", 2, "expected a number from zero upwards, found `inf`"),
        ("time,rate\n0,1\n60,1\n30,1\n", 4, "expected a later time than that of the row before"),
        ("time,rate\n0,1\n0,1\n", 3, "expected a later time than that of the row before"),
        ("time,rate\nnoon,1\n", 2, "expected a time as a number or as a date-time"),
        ("time,rate\n0,1\n1995-08-28,1\n", 3, "expected a number, as before"),
        ("time,rate\n1995-08-28,1\n0,1\n", 3, "expected a date-time, as in the rows before"),
        ("time,rate\n0\n", 2, "expected at least 2 columns, found `0`"),
        ("0,1\n60,2\n", 1, "expected a header with a time and a rate or a count"),
        ("a,b\n", 1, "expected a header with a time and a rate or a count"),
        ("time,reqests\n0,1\n", 1, "is `reqests` meant to be `requests`?"),
        ("# x\n# y\n1\n-2\n", 4, "expected a number from zero upwards, found `-2`"),
        ("5\nx\n", 2, "expected a number, found `x`"),
    ] {
        let error = Trace::from_reader(text.as_bytes(), "day.csv", MINUTE).expect_err(text);
        let shown = told(&error);
        assert!(shown.starts_with(&format!("day.csv, line {line}: ")), "{text}: {shown}");
        assert!(shown.contains(message), "{text}: {shown}");
    }
    for text in ["", "\n\n# nothing\n", "time,rate\n", "requests\n"] {
        let error = Trace::from_reader(text.as_bytes(), "day.csv", MINUTE).expect_err(text);
        assert!(matches!(error, TraceError::Empty { .. }), "{text}: {error}");
    }
    let long = format!("time,rate\n{}\n", "1".repeat(70_000));
    assert!(read(&long).unwrap_err().to_string().contains("line 2: expected a line of at most"));
    let bytes = Trace::from_reader(&b"time,rate\n0,1\n\xff\xfe,1\n"[..], "x", None).unwrap_err();
    assert!(bytes.to_string().contains("line 3: expected text in UTF-8"), "{bytes}");
    let missing = Trace::read("/nowhere/at all.csv".as_ref(), None).unwrap_err();
    assert!(missing.to_string().contains("/nowhere/at all.csv"));
}

#[test]
fn held_by_default_lines_when_asked() {
    let trace = trace("time,rate\n0,10\n60,20\n120,5\n");
    let held = made(&trace, &TraceOptions::default());
    let pieces: Vec<Piece> = held.pieces().collect();
    assert_eq!(pieces, [level(10.0, 60), level(20.0, 60), level(5.0, 60)]);
    let lines = TraceOptions { interpolate: true, ..TraceOptions::default() };
    let pieces: Vec<Piece> = made(&trace, &lines).pieces().collect();
    let line = |from, to| Piece { shape: Shape::Linear { from, to }, duration_ns: 60 * S };
    assert_eq!(pieces, [line(10.0, 20.0), line(20.0, 5.0), level(5.0, 60)]);
    // A line is cut at the rate it has there.
    let cut = TraceOptions { from: moment("30s"), to: moment("90s"), ..lines };
    let pieces: Vec<Piece> = made(&trace, &cut).pieces().collect();
    let shapes = [Shape::Linear { from: 15.0, to: 20.0 }, Shape::Constant { rate: 20.0 }];
    assert_eq!(pieces, shapes.map(|shape| Piece { shape, duration_ns: 30 * S }));
}

#[test]
fn cuts_by_date_or_by_offset() {
    let trace =
        trace("minute,requests\n1995-09-06 05:00,60\n1995-09-06 05:01,120\n1995-09-06 05:02,180\n");
    let cut = |from: &str, to: &str| {
        let options =
            TraceOptions { from: moment(from), to: moment(to), ..TraceOptions::default() };
        trace.schedule(&options).map(|(schedule, _)| schedule.to_string())
    };
    assert_eq!(cut("1995-09-06 05:01", "1995-09-06 05:03").unwrap(), "2/s for 1m, 3/s for 1m");
    assert_eq!(cut("30s", "2m1s").unwrap(), "1/s for 30s, 2/s for 1m, 3/s for 1s");
    assert_eq!(cut("1995-09-06 05:00:30", "90s").unwrap(), "1/s for 30s, 2/s for 30s");
    for (from, to, which) in [
        ("1995-09-06 04:59", "1995-09-06 05:02", "from 1995-09-06 04:59"),
        ("0s", "1995-09-06 05:04", "to 1995-09-06 05:04"),
        ("0s", "4m", "to 4m"),
        ("2m", "1m", "to 1m"),
        ("3m", "3m", "to 3m"),
    ] {
        let shown = cut(from, to).unwrap_err().to_string();
        assert!(shown.contains(&format!("cannot cut test.csv {which}:")), "{shown}");
        assert!(shown.contains("from 1995-09-06 05:00 to 1995-09-06 05:03"), "{shown}");
    }
    let undated = read("time,rate\n0,1\n60,2\n").unwrap();
    let options = TraceOptions { from: moment("1995-09-06"), ..TraceOptions::default() };
    let shown = undated.schedule(&options).unwrap_err().to_string();
    assert!(shown.contains("for 2m and has no dates"), "{shown}");
}

#[test]
fn scale_maps_the_least_and_the_greatest_rate() {
    let trace = trace("time,rate\n0,10\n1,20\n2,15\n3,1000\n");
    let options =
        TraceOptions { scale: Some((35.0, 600.0)), to: moment("3s"), ..TraceOptions::default() };
    assert_eq!(made(&trace, &options).to_string(), "35/s for 1s, 600/s for 1s, 317.5/s for 1s");
    let flat = read("time,rate\n0,7\n1,7\n").unwrap();
    let error = flat.schedule(&TraceOptions { to: None, ..options.clone() }).unwrap_err();
    assert!(error.to_string().contains("always 7/s"), "{error}");
    let single = TraceOptions { scale: Some((9.0, 9.0)), ..TraceOptions::default() };
    assert_eq!(made(&flat, &single).to_string(), "9/s for 2s");
}

#[test]
fn speed_compresses_time_and_leaves_rates() {
    let trace = trace("time,rate\n0,10\n60,20\n120,5\n");
    let options = TraceOptions { speed: 60.0, ..TraceOptions::default() };
    assert_eq!(made(&trace, &options).to_string(), "10/s for 1s, 20/s for 1s, 5/s for 1s");
    let slow = TraceOptions { speed: 0.5, ..TraceOptions::default() };
    assert_eq!(made(&trace, &slow).to_string(), "10/s for 2m, 20/s for 2m, 5/s for 2m");
    // A seventh of a second has no exact nanoseconds; the ends do not drift.
    let rows: String = (0..1000).map(|s| format!("{s},{}\n", s % 2 + 1)).collect();
    let long = read(&format!("time,rate\n{rows}")).unwrap();
    let seventh = TraceOptions { speed: 7.0, ..TraceOptions::default() };
    assert_eq!(made(&long, &seventh).duration_ns(), 142_857_142_857);
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let options = TraceOptions { speed, ..TraceOptions::default() };
        assert!(matches!(trace.schedule(&options), Err(TraceError::Option { .. })), "{speed}");
    }
    let gone = TraceOptions { speed: 1e300, ..TraceOptions::default() };
    assert!(matches!(trace.schedule(&gone), Err(TraceError::Schedule { .. })));
}

#[test]
fn a_drop_is_replaced_by_the_interval_before_it() {
    // 24 is below a quarter of 100; the 20 after it is not below a quarter of 24, as the trace has
    // it, so a fall that lasts is not filled to the end; 5 is below a quarter of 25.
    let trace = trace("time,rate\n0,100\n1,24\n2,20\n3,25\n4,5\n5,90\n");
    let options = TraceOptions { fill_drops: Some(0.25), ..TraceOptions::default() };
    let (schedule, notes) = trace.schedule(&options).unwrap();
    assert_eq!(schedule.to_string(), "100/s for 2s, 20/s for 1s, 25/s for 2s, 90/s for 1s");
    assert_eq!((notes.filled, notes.rows), (2, 6));
    // Scaling sees what was filled: 20 is the least rate.
    let scaled = TraceOptions { scale: Some((1.0, 2.0)), ..options };
    assert_eq!(made(&trace, &scaled).rate_at(2 * S).to_bits(), 1.0_f64.to_bits());
    let wrong = TraceOptions { fill_drops: Some(1.5), ..TraceOptions::default() };
    assert!(matches!(trace.schedule(&wrong), Err(TraceError::Option { .. })));
}

#[test]
fn counts_that_are_missing_are_zero_and_counted() {
    let trace = trace("minute,requests\n0,60\n1,60\n2,120\n6,60\n7,60\n");
    let (schedule, notes) = trace.schedule(&TraceOptions::default()).unwrap();
    assert_eq!(notes.missing, 3);
    assert_eq!(schedule.to_string(), "1/s for 2m, 2/s for 1m, 0/s for 3m, 1/s for 2m");
    // One that is missing is one zero; rates are held, as they are rates.
    let one = self::trace("minute,requests\n0,60\n1,60\n3,60\n");
    assert_eq!(
        made(&one, &TraceOptions::default()).to_string(),
        "1/s for 2m, 0/s for 1m, 1/s for 1m"
    );
    let rates = self::trace("time,rate\n0,10\n60,20\n240,5\n");
    let (schedule, notes) = rates.schedule(&TraceOptions::default()).unwrap();
    assert_eq!(
        (schedule.to_string().as_str(), notes.missing),
        ("10/s for 1m, 20/s for 3m, 5/s for 1m", 0)
    );
}

/// The published day: 6 September 1995, 05:00 to 05:00, sums to 22.18 million at 35..600.
#[test]
fn clarknet_day_sums_to_what_was_published() {
    let test = "clarknet_day_sums_to_what_was_published";
    let Some(path) = shared(test, "clarknet_1min.csv.gz") else { return };
    let trace = Trace::read(&path, None).unwrap();
    assert_eq!(trace.points().len(), 20_160);
    assert_eq!(trace.start(), moment("1995-08-28 00:00"));
    let options = TraceOptions {
        scale: Some((35.0, 600.0)),
        from: moment("1995-09-06 05:00"),
        to: moment("1995-09-07 05:00"),
        fill_drops: Some(0.25),
        ..TraceOptions::default()
    };
    let (schedule, notes) = trace.schedule(&options).unwrap();
    assert_eq!((notes.rows, notes.filled, notes.missing), (1440, 0, 0));
    assert_eq!(schedule.duration_ns(), 86_400 * S);
    // 22,181,945.9 by an independent sum over the file.
    assert_eq!(schedule.total(), 22_181_945);
    assert!((schedule.peak() - 600.0).abs() < 1e-9);
    // The quarter hours that ship as a profile are this day's.
    let quarter =
        |n: u64| schedule.cumulative((n + 1) * 900 * S) - schedule.cumulative(n * 900 * S);
    let profile = plimsoll_workload::profile::Profile::clarknet_day();
    for (n, mean) in (0..).zip(profile.means_per_s()) {
        assert!((quarter(n) / 900.0 - mean).abs() <= 0.5 + 1e-9, "quarter hour {n}");
    }
    let fast = TraceOptions { speed: 60.0, ..options };
    let fast = trace.schedule(&fast).unwrap().0;
    assert_eq!((fast.duration_ns(), fast.total()), (1_440 * S, 369_699));
    // The whole file: 13 drops, each below a quarter of the minute before as the file has it, as
    // counted independently. (A fourteenth is so only below what a drop was filled with.)
    let whole = TraceOptions { fill_drops: Some(0.25), ..TraceOptions::default() };
    let (whole, notes) = trace.schedule(&whole).unwrap();
    assert_eq!(notes.filled, 13);
    assert_eq!(whole.duration_ns(), 14 * 86_400 * S);
}

#[test]
fn nasa_minutes_and_seconds_hold_the_same_requests() {
    let test = "nasa_minutes_and_seconds_hold_the_same_requests";
    let Some(path) = shared(test, "nasa_jul95_1min.csv.gz") else { return };
    let (schedule, _) =
        Trace::read(&path, None).unwrap().schedule(&TraceOptions::default()).unwrap();
    assert_eq!(schedule.total(), 1_891_714);
    let Some(path) = shared(test, "nasa_jul95_1s.txt.gz") else { return };
    let trace = Trace::read(&path, Some(Duration::from_secs(1))).unwrap();
    let (schedule, _) = trace.schedule(&TraceOptions::default()).unwrap();
    assert_eq!((schedule.total(), schedule.duration_ns()), (1_891_714, 2_381_545 * S));
    assert!((schedule.peak() - 20.0).abs() < 1e-12);
    assert!(matches!(Trace::read(&path, None), Err(TraceError::NoInterval { .. })));
}

#[test]
fn other_real_traces_are_read() {
    let schedule = |file: &str| {
        // What these call `value` is a count, which a header does not say.
        let columns = file.starts_with("nab/").then_some("time,count");
        let trace = Trace::read_as(&shared("other_real_traces_are_read", file)?, None, columns);
        let trace = trace.unwrap_or_else(|error| panic!("{error}"));
        Some(trace.schedule(&TraceOptions::default()).unwrap_or_else(|error| panic!("{error}")))
    };
    for (file, kind, rows, interval_s) in [
        ("wc98_may_1min.csv.gz", RowKind::Count, 44_790, 60),
        ("azure_llm_2023_conv.csv.gz", RowKind::Request, 3_502, 1),
        ("nab/nyc_taxi.csv", RowKind::Count, 10_320, 1800),
        ("nab/grok_asg_anomaly.csv", RowKind::Count, 4_621, 300),
        ("nab/twitter_volume_GOOG.csv", RowKind::Count, 15_842, 300),
    ] {
        let Some((schedule, notes)) = schedule(file) else { continue };
        assert_eq!((notes.kind, notes.rows), (kind, rows), "{file}");
        assert_eq!(notes.interval_ns, interval_s * S, "{file}");
        if kind == RowKind::Request {
            assert_eq!(schedule.total(), 19_366);
        }
    }
}

proptest! {
    /// Every line of a table is its header, a row, blank or a comment: each row is a point with its
    /// own rate, whatever stands around it and however its fields are separated and quoted.
    #[test]
    fn every_row_is_a_point_of_its_own(
        lines in prop::collection::vec((0..4_u8, 0..1000_u32), 2..40),
        separator in prop::sample::select(&[",", ";", "\t"][..]),
        given in any::<bool>(),
    ) {
        let mut text = format!("time_s{separator}note{separator}rate\n");
        let (mut expected, mut second) = (Vec::new(), 0);
        for (kind, number) in lines {
            match kind {
                0 => text.push('\n'),
                1 => text.push_str("# a comment, with commas\n"),
                _ => {
                    let note = if kind == 2 { "plain" } else { "\"a,b;c\td\"" };
                    text.push_str(&format!("\"{second}\"{separator}{note}{separator}{number}\n"));
                    expected.push((second * S, f64::from(number)));
                    second += 1 + u64::from(number % 3);
                }
            }
        }
        prop_assume!(expected.len() > 1);
        let columns = given.then_some("time_s,-,rate");
        let trace = Trace::from_reader_as(text.as_bytes(), "x", None, columns).expect("a trace");
        prop_assert_eq!(points(&trace), expected);
        prop_assert!(trace.remarks().is_empty());
    }

    /// Any bytes are a trace or an error, never a panic; plain and packed.
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        text in "(time|minute),(rate|requests)\n([0-9.,:\n -]|1995-09-0){0,80}",
    ) {
        for input in [bytes.as_slice(), text.as_bytes(), &[&[0x1f, 0x8b, 8][..], &bytes].concat()] {
            if let Ok(trace) = Trace::from_reader(input, "x", MINUTE) {
                let _ = trace.schedule(&TraceOptions { speed: 3.0, ..TraceOptions::default() });
            }
        }
    }

    /// Counts in, as many requests out, however the intervals lie.
    #[test]
    fn the_schedule_holds_the_counts(
        counts in prop::collection::vec(0..10_000_u32, 2..50),
        interval in 1..4_000_u32,
    ) {
        let rows: String =
            (0_u32..)
                .zip(&counts)
                .map(|(n, count)| format!("{},{count}\n", n * interval))
                .collect();
        let trace = read(&format!("time,count\n{rows}")).unwrap();
        let schedule = made(&trace, &TraceOptions::default());
        let sum: u64 = counts.iter().map(|&count| u64::from(count)).sum();
        prop_assert_eq!(schedule.total(), sum);
        prop_assert_eq!(schedule.duration_ns(), counts.len() as u64 * u64::from(interval) * S);
    }
}
