//! The page of clusters of caches: its charts, every figure of its tables, odd comparisons, hostile
//! texts.

use plimsoll_cache::cluster::{Counts, Source};
use plimsoll_cache::trace::{Names, Trace};
use plimsoll_runs::FigureRow;

use crate::made_clusters::{Made, many, three, without_sizes};
use crate::page::{HOSTILE, checked};
use crate::parser::{Page, parse};

fn has(page: &Page, id: &str) -> bool {
    page.values("id").any(|known| known == id)
}

/// The texts of a table of a page, row by row, heads first.
fn table(page: &str, id: &str) -> Vec<Vec<String>> {
    let (_, after) = page.split_once(&format!(" id=\"{id}\">")).expect(id);
    let (table, _) = after.split_once("</table>").unwrap();
    let plain = |cell: &str| {
        let (_, inside) = cell.split_once('>').unwrap();
        parse(&format!("<!DOCTYPE html>\n<p>{inside}</p>")).text
    };
    let cells = |row: &str| -> Vec<String> {
        let row = row.replace("</td>", "</th>").replace("<td", "<th");
        row.split("</th>")
            .filter_map(|cell| cell.split_once("<th"))
            .map(|(_, c)| plain(c))
            .collect()
    };
    table.split("<tr>").skip(1).map(cells).collect()
}

/// A column of a table, without its head.
fn column(table: &[Vec<String>], head: &str) -> Vec<String> {
    let place = table[0].iter().position(|found| found == head).expect(head);
    table[1..].iter().map(|row| row[place].clone()).collect()
}

/// The number at the beginning of a text, in the unit that follows it: ms are 0.001, % are 0.01.
fn number(text: &str) -> f64 {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.trim_start().split([' ', '/']).next().unwrap();
    let factor = match unit {
        "%" => 0.01,
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        "kB" => 1e3,
        "" | "B" | "s" | "lowest" | "requests" => 1.0,
        other => panic!("a unit that is not known: {other:?} in {text:?}"),
    };
    digits.replace(',', "").parse::<f64>().expect(text) * factor
}

/// Whether a text has a value, to three digits; small shares have three places of a per cent.
fn reads(text: &str, value: f64) {
    let found = number(text);
    let slack: f64 = if text.contains('%') { 0.5001e-5 } else { 0.0 };
    assert!((found - value).abs() <= slack.max(0.0051 * value.abs()), "{text:?} of {value}");
}

/// Whether a text has a percentile of the response time: a dash where fewer than ten lie beyond.
fn reads_percentile(text: &str, counts: &Counts, quantile: f64) {
    match counts.response_percentile(quantile) {
        Some(ns) => reads(text, ns as f64 / 1e9),
        None => assert_eq!(text, "–", "{quantile}"),
    }
}

/// A few clusters.
pub(crate) fn golden() -> plimsoll_report::Document {
    three().document()
}

/// A figure that clusters are compared by.
type Figure = fn(&Counts) -> f64;

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

fn each(made: &Made) -> impl Iterator<Item = (usize, &Counts)> {
    made.all.iter().map(|one| &one.counts).enumerate()
}

#[test]
fn it_has_all_sections_charts_and_tables() {
    let page = checked(&three().page());
    let sections =
        ["cells", "sources", "trade", "response", "course", "sizes", "members", "counting"];
    let charts = ["from", "from-bytes", "response-trade", "message-trade", "response-0"];
    let others = ["course-0", "sizes-0", "members-0", "members-2", "steady-table", "moves-table"];
    for id in sections.into_iter().chain(charts).chain(others) {
        assert!(has(&page, id), "{id}");
    }
    for text in [
        "mesh or hierarchy",
        "600 requests of day.csv to 50 objects with 47.8 kB, simulated through 3 clusters",
        "2 lines could not be read",
        "Lowest mean response time",
        "A mesh · none",
        "on the front",
        "every spool full after",
        "nodes = 3, protocol = carp, policy = lru",
        "its spool has become full",
        "memory 20.0 µs and 10 GB/s; disk 200 µs and 500 MB/s",
        "An object that n nodes hold at the end is n − 1 duplicates",
    ] {
        assert!(page.text.contains(text), "{text}");
    }
    // What never came up has no column, and no note.
    for text in ["stale hits", "missed chances", "refused", "Objects that change"] {
        assert!(!page.text.contains(text), "{text}");
    }
}

#[test]
fn the_table_of_all_has_the_figures_that_were_counted() {
    let made = three();
    let found = table(&made.page(), "cells-table");
    let of = |head: &str| column(&found, head);
    for (at, counts) in each(&made) {
        let origin = Source::Origin as usize;
        let bytes = share(counts.bytes[origin], counts.requested_bytes);
        let messages = counts.messages.queries + counts.messages.answers + counts.messages.digests;
        let held: u64 = counts.nodes.iter().map(|node| node.held).sum();
        let requests = counts.requests;
        for (head, value) in [
            ("miss ratio", share(counts.answers[origin], requests)),
            ("byte miss ratio", bytes),
            ("bandwidth saved", 1.0 - bytes),
            ("from siblings", share(counts.answers[Source::Sibling as usize], requests)),
            ("from parents", share(counts.answers[Source::Parent as usize], requests)),
            ("messages a request", share(messages, requests)),
            ("their bytes a request", share(counts.messages.bytes, requests)),
            ("duplicates", share(counts.duplicates, held)),
            ("false hits", counts.false_hits as f64),
            ("mean response", counts.response_ns.mean().unwrap() / 1e9),
        ] {
            reads(&of(head)[at], value);
        }
        reads_percentile(&of("p50")[at], counts, 0.5);
        reads_percentile(&of("p99")[at], counts, 0.99);
    }
    assert_eq!(of("cluster"), ["A mesh · none", "B mesh · icp", "C hierarchy · carp"]);
}

#[test]
fn the_lowest_of_each_measure_is_marked_and_no_other() {
    let made = three();
    let found = table(&made.page(), "cells-table");
    let measures: [(&str, Figure); 3] = [
        ("miss ratio", Counts::miss_ratio),
        ("byte miss ratio", Counts::byte_miss_ratio),
        ("mean response", |of| of.response_ns.mean().unwrap()),
    ];
    for (head, value) in measures {
        let least = each(&made).map(|(_, counts)| value(counts)).fold(f64::INFINITY, f64::min);
        let marked: Vec<bool> =
            column(&found, head).iter().map(|text| text.contains("lowest")).collect();
        let wanted: Vec<bool> = each(&made).map(|(_, counts)| value(counts) <= least).collect();
        assert_eq!(wanted, marked, "{head}");
    }
    let chips = found.iter().flatten().filter(|text| text.contains("lowest")).count();
    assert_eq!(chips, 3);
}

#[test]
fn the_bars_are_as_long_as_what_was_counted() {
    let made = three();
    let page = made.page();
    for (id, counted) in [("from", 0), ("from-bytes", 1)] {
        let found = table(&page, &format!("{id}-table"));
        for (at, counts) in each(&made) {
            let (of, all) = match counted {
                0 => (&counts.answers, counts.requests),
                _ => (&counts.bytes, counts.requested_bytes),
            };
            for (source, head) in
                ["memory", "disk", "sibling", "parent", "origin"].iter().enumerate()
            {
                let text = &column(&found, head)[at];
                let (count, rest) = text.split_once(" (").unwrap();
                assert_eq!(count.replace(',', ""), of[source].to_string(), "{head}");
                reads(rest.trim_end_matches(')'), share(of[source], all));
            }
        }
        // As many bars as there are shares above nothing, each as wide as its share.
        let (_, figure) = page.split_once(&format!("id=\"{id}\">")).unwrap();
        let (figure, _) = figure.split_once("</figure>").unwrap();
        let widths: f64 = figure
            .split("<rect class=\"part ")
            .skip(1)
            .map(|rect| rect.split_once("width=\"").unwrap().1.split_once('%').unwrap().0)
            .map(|width| width.parse::<f64>().unwrap())
            .sum();
        assert!((widths - 300.0).abs() < 0.1, "{widths}");
    }
}

#[test]
fn members_and_the_steady_state_read_as_they_were_counted() {
    let made = three();
    let page = made.page();
    for (at, counts) in each(&made) {
        let found = table(&page, &format!("members-table-{at}"));
        let members: Vec<_> = counts.nodes.iter().chain(&counts.parents).collect();
        for (place, member) in members.iter().enumerate() {
            let exact = [
                ("requests", member.requests),
                ("given to siblings", member.given),
                ("evictions", member.evictions),
                ("held at the end", member.held),
                ("spool full after", member.full.unwrap().request as u64 + 1),
            ];
            for (head, value) in exact {
                assert_eq!(number(&column(&found, head)[place]) as u64, value, "{head}");
            }
            let steady = member.steady.unwrap();
            for (head, value) in [
                ("hit ratio", share(member.hits, member.requests)),
                ("byte hit ratio", share(member.hit_bytes, member.requested_bytes)),
                ("hit ratio when steady", share(steady.hits, steady.requests)),
                ("from the origin", share(member.origin, member.requests)),
            ] {
                reads(&column(&found, head)[place], value);
            }
        }
        assert_eq!(found.len(), members.len() + 1);
        let row = &table(&page, "steady-table")[at + 1];
        let steady = counts.steady.unwrap();
        assert_eq!(row[1], "300 requests (50%, 4s)");
        let (all, after) = (counts.answers[4], steady.answers[4]);
        reads(&row[2], share(all, 600));
        reads(&row[3], share(all - after, 300));
        reads(&row[4], share(after, 300));
        let (all, after) = (counts.bytes[4], steady.bytes[4]);
        reads(&row[5], share(all, counts.requested_bytes));
        reads(&row[6], share(all - after, counts.requested_bytes - steady.requested_bytes));
        reads(&row[7], share(after, steady.requested_bytes));
    }
}

#[test]
fn courses_sizes_and_quantiles_read_as_they_were_counted() {
    let made = three();
    let page = made.page();
    let (course, sizes) = (table(&page, "course-table-0"), table(&page, "sizes-table-0"));
    let (quantiles, trade) =
        (table(&page, "quantiles-table"), table(&page, "response-trade-table"));
    for (at, counts) in each(&made) {
        assert_eq!(course.len(), counts.course.len() + 1);
        for (row, &(requests, misses)) in course[1..].iter().zip(&counts.course) {
            reads(&row[at + 1], share(misses, requests));
        }
        for (row, class) in sizes[1..].iter().zip(&counts.by_size) {
            reads(&row[1], share(class.total.requests, 600));
            reads(&row[at + 3], share(class.total.misses, class.total.requests));
        }
        for (head, quantile) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99.9", 0.999)] {
            reads_percentile(&column(&quantiles, head)[at], counts, quantile);
        }
        let name = &column(&quantiles, "cluster")[at];
        let row = trade[1..].iter().find(|row| row[0] == *name).unwrap();
        reads(&row[1], counts.response_ns.mean().unwrap() / 1e9);
        reads(&row[2], counts.byte_miss_ratio());
    }
    assert_eq!(course[1][0], "0 to 30");
    assert_eq!(column(&sizes, "size"), ["10 B to 100 B", "100 B to 1 kB", "1 kB to 10 kB"]);
    // The last point of the cumulative curve has all answers.
    let curve = table(&page, "response-table-0");
    assert!(curve.last().unwrap()[1..].iter().all(|text| text == "100%"), "{curve:?}");
}

#[test]
fn replications_have_their_means_and_intervals() {
    let mut made = three();
    assert!(!has(&checked(&made.page()), "replications-table"), "not of one replication");
    for (one, by) in made.all.iter_mut().zip([1.0, 2.0, 0.0]) {
        let misses = one.counts.miss_ratio();
        // Three replications: the middle one is the first's, the others are as far on both sides.
        let other = |sign: f64| {
            vec![
                FigureRow::new("miss_ratio", misses + sign * by / 5.0),
                FigureRow::new("messages_per_request", one.counts.messages_per_request()),
            ]
        };
        one.others = vec![other(1.0), other(-1.0)];
    }
    let page = made.page();
    assert!(checked(&page).text.contains("Means over 3 replications"));
    let found = table(&page, "replications-table");
    let misses = column(&found, "miss ratio");
    for ((one, text), by) in made.all.iter().zip(&misses).zip([1.0_f64, 2.0, 0.0]) {
        reads(&text[..=text.find('%').unwrap()], one.counts.miss_ratio());
        // Student's 97.5% quantile of two degrees of freedom, over √3.
        let half = 4.302_652_7 / 3f64.sqrt() * by / 5.0;
        match by {
            0.0 => assert!(text.ends_with("no spread"), "{text}"),
            _ => {
                let (_, high) = text.split_once(" to ").unwrap();
                reads(high, (one.counts.miss_ratio() + half).min(1.0));
            }
        }
    }
    // A share is not below none.
    assert!(misses[1].contains("%0% to "), "{}", misses[1]);
}

#[test]
fn one_cluster_has_a_page_without_comparisons() {
    let mut made = three();
    made.all.truncate(1);
    let page = checked(&made.page());
    for text in ["simulated through one cluster", "Nothing to weigh"] {
        assert!(page.text.contains(text), "{text}");
    }
    assert!(page.values("class").all(|class| !class.starts_with("chip")), "nothing is the lowest");
    assert!(!page.text.contains("marked") && !page.text.contains("Lowest"));
}

#[test]
fn a_trace_without_sizes_has_no_bytes() {
    let page = checked(&without_sizes(three()).page());
    for id in ["sizes", "from-bytes"] {
        assert!(!has(&page, id), "{id}");
    }
    for text in ["byte miss ratio", "bandwidth saved", "byte hit ratio"] {
        assert!(!page.text.contains(text), "{text}");
    }
    assert!(page.text.contains("The trace has no sizes") && page.text.contains("to 50 objects,"));
}

#[test]
fn no_request_and_none_that_fills_up_have_a_page() {
    let mut made = three();
    for one in &mut made.all {
        (one.counts.full, one.counts.steady) = (None, None);
        for member in one.counts.nodes.iter_mut().chain(&mut one.counts.parents) {
            (member.full, member.steady) = (None, None);
        }
    }
    let page = checked(&made.page());
    assert!(page.text.contains("No cluster became full") && !page.text.contains("has become full"));
    let mut empty = three();
    empty.trace = Trace::new(Vec::new(), Names::Numbers(Vec::new())).unwrap();
    for one in &mut empty.all {
        one.counts = Counts::default();
    }
    assert!(checked(&empty.page()).text.contains("0 requests of day.csv"));
}

#[test]
fn a_hundred_clusters_stay_below_two_megabytes_and_fold_their_details() {
    let page = many(100).page();
    let parsed = checked(&page);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert_eq!(table(&page, "cells-table").len(), 101);
    assert_eq!(table(&page, "from-table").len() + table(&page, "from-table-rest").len(), 102);
    assert!(parsed.text.contains("Drawn are the 8 with the lowest miss ratios of 50"));
    assert!(has(&parsed, "course-1") && !has(&parsed, "course-2"));
    assert!(has(&parsed, "members-table-99"));
    assert_eq!(parsed.values("id").filter(|id| id.starts_with("members-course-table")).count(), 12);
    assert!(parsed.text.contains("CV near") || parsed.text.contains("CV far"));
}

#[test]
fn of_very_many_clusters_those_with_the_fewest_misses_are_shown() {
    let mut made = many(201);
    made.all[7].counts.answers = [0, 0, 0, 0, 600];
    let page = made.page();
    assert_eq!(table(&page, "cells-table").len(), 201);
    assert!(page.contains("These are the 200 with the lowest miss ratios of 201"));
    assert!(!page.contains("digest 7<"));
}

#[test]
fn hostile_names_stay_text() {
    let plain = checked(&three().page());
    let mut hostile = three();
    hostile.name = format!("name {HOSTILE}");
    hostile.warnings = vec![format!("warning {HOSTILE}")];
    for one in &mut hostile.all {
        one.name = format!("cluster {HOSTILE}");
        one.label = format!("label {HOSTILE}");
        one.levels[0].1 = format!("level {HOSTILE}");
    }
    let page = checked(&hostile.page());
    assert_eq!((page.count("script"), page.elements.len()), (1, plain.elements.len()));
    let seen = HOSTILE.replace(['\u{202e}', '\0'], "\u{fffd}");
    for what in ["name", "warning", "cluster", "level"] {
        assert!(page.text.contains(&format!("{what} {seen}")), "{what}");
    }
}

#[test]
#[ignore = "writes pages to look at"]
fn make_pages_of_clusters_to_look_at() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut one = three();
    one.all.truncate(1);
    let made = [
        ("clusters-three", three()),
        ("clusters-one", one),
        ("clusters-hundred", many(100)),
        ("clusters-without-sizes", without_sizes(three())),
    ];
    for (name, made) in made {
        std::fs::write(folder.join(format!("{name}.html")), made.page()).unwrap();
    }
}
