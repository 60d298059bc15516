//! Whole tables: with all columns, with one, with lines that cannot be read, cut off, too long.

use std::io::Cursor;
use std::path::Path;

use super::*;
use crate::trace::{Names, SizeTable};

fn read_text(text: &[u8], columns: Option<&str>) -> Result<(Trace, ReadSummary), TraceError> {
    let reader = Cursor::new(text.to_vec());
    let input = Input::new(reader, Path::new("t.csv"), Some(text.len() as u64))?;
    let columns = columns.map(|columns| columns.parse().unwrap());
    read(input, columns.as_ref(), &Limits { requests: 1000, name_bytes: 100_000 })
}

#[test]
fn all_columns() {
    let text = "time_ms;client;key;bytes;status\r\n1000;a;x;5;200\r\n2500;b;y;;200\r\n\
                1900;a;x;7;206\r\n9000;a;z;0;304\r\n";
    let (trace, told) = read_text(text.as_bytes(), None).unwrap();
    assert_eq!(trace.requests(), [0, 1, 0, 2]);
    assert_eq!(trace.seconds(), Some(&[0, 1, 1, 8][..]));
    assert_eq!(trace.clients(), Some(&[0, 1, 0, 0][..]));
    assert_eq!(trace.sizes(), Some(&SizeTable::Narrow(vec![7, 0, 0])));
    assert_eq!(trace.names(), &Names::Text { bytes: b"xyz".to_vec(), ends: vec![1, 2, 3] });
    assert_eq!((told.requests_without_size, told.objects_without_size), (2, 2));
    assert_eq!((told.sizes_differ, told.out_of_order, told.lines), (1, 1, 5));
    assert_eq!(told.passed_over, ["status"]);
    assert_eq!(told.warnings().len(), 4);
}

#[test]
fn one_column_of_numbers() {
    let (trace, told) = read_text(b"object\n7\n9\n7", None).unwrap();
    assert_eq!((trace.requests(), trace.names()), (&[0, 1, 0][..], &Names::Numbers(vec![7, 9])));
    assert!(trace.sizes().is_none() && trace.seconds().is_none() && trace.clients().is_none());
    assert_eq!(told.warnings(), [""; 0]);
}

#[test]
fn sizes_that_are_all_zero_are_none() {
    let (trace, told) = read_text(b"object,size\n7,0\n9,0\n", None).unwrap();
    assert!(trace.sizes().is_none());
    assert_eq!(told.requests_without_size, 2);
}

#[test]
fn some_lines_may_be_unreadable() {
    let mut text = "time,object,size\n".to_owned() + &"1,a,2\n".repeat(50);
    text += "1,a,much\nnoon,a,2\n1,,2\n1,a\n1,a,281474976710657\n";
    let (trace, told) = read_text(text.as_bytes(), None).unwrap();
    assert_eq!((trace.len(), told.unreadable, told.lines), (50, 5, 56));
    let first = told.first_unreadable.as_ref().unwrap();
    assert_eq!((first.line, first.text.as_str()), (52, "1,a,much"));
    assert!(told.warnings()[0].contains("5 of 56 lines"), "{:?}", told.warnings());
    text += "1,a\n";
    let error = read_text(text.as_bytes(), None).unwrap_err().to_string();
    assert!(error.contains("6 of 57") && error.contains("line 52"), "{error}");
}

#[test]
fn sizes_of_zero_and_of_more_than_anything() {
    let text = "object,size\n".to_owned() + &"a,2\n".repeat(30);
    let text = text + "b,0\nc,281474976710656\nd,9223372036854775808\n";
    let (trace, told) = read_text(text.as_bytes(), None).unwrap();
    assert_eq!(trace.sizes(), Some(&SizeTable::Wide(vec![2, 0, 1 << 48])));
    assert_eq!((told.unreadable, told.objects_without_size), (1, 1));
    let why = told.first_unreadable.map(|first| (first.line, first.why));
    assert_eq!(why, Some((34, "a size above 2^48 bytes")));
}

#[test]
fn a_size_column_of_text_is_an_error() {
    let text = "time,object,size\n1,a,big\n2,b,small\n";
    let error = read_text(text.as_bytes(), None).unwrap_err().to_string();
    assert!(error.contains("2 of 3") && error.contains("a size that is no"), "{error}");
}

#[test]
fn long_lines_are_unreadable_and_no_more() {
    let text = format!("object\n{}\n{}", "a\n".repeat(30), "x".repeat(200_000));
    let (trace, told) = read_text(text.as_bytes(), None).unwrap();
    assert_eq!((trace.len(), told.unreadable), (30, 1));
}

#[test]
fn limits_hold() {
    let error = read_text("5\n".repeat(1001).as_bytes(), None).unwrap_err().to_string();
    assert!(error.contains("at most 1000 requests"), "{error}");
    let names = format!("{}\n{}\n", "x".repeat(60_000), "y".repeat(60_000));
    let error = read_text(names.as_bytes(), None).unwrap_err().to_string();
    assert!(error.contains("at most 100000 bytes of names"), "{error}");
}

#[test]
fn every_cut_is_an_error_or_a_shorter_trace() {
    let text = b"# time_s,object,size\n0,a,737\n0,bc,248\n2,a,567\n";
    let mut before = 0;
    for len in 0..=text.len() {
        // A cut within the last size leaves a smaller one: a table has no end that could be missed.
        match read_text(&text[..len], None) {
            Ok((trace, _)) => {
                assert!(trace.len() >= before && trace.len() <= 3, "{len}");
                before = trace.len();
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    assert_eq!(before, 3);
}

#[test]
fn users_may_say_what_columns_are() {
    let (trace, _) = read_text(b"7,x,1,9\n8,y,1,9\n", Some("time,-,size,object")).unwrap();
    assert_eq!((trace.distinct(), trace.seconds()), (1, Some(&[0, 1][..])));
}

/// The manual names every word that is known.
#[test]
fn the_manual_has_all_names() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cache.md");
    let page = std::fs::read_to_string(page).unwrap();
    for name in LOOKUPS.into_iter().chain(columns::names()) {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}
