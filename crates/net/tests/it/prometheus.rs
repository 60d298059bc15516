//! Pages for Prometheus: what is written is read again, and what is no sample is counted.

use plimsoll_net::prometheus::{Page, Sample, parse};
use proptest::prelude::*;

/// Reads a page of one sample.
fn one(text: &str) -> Sample<'_> {
    let parsed = parse(text, 10);
    assert_eq!((parsed.samples.len(), parsed.unread, parsed.beyond), (1, 0, 0), "{text:?}");
    parsed.samples.into_iter().next().unwrap()
}

#[test]
fn samples_are_read_as_the_format_has_them() {
    for (text, name, labels, value) in [
        ("up 1", "up", vec![], 1.0),
        ("node:rate:sum\t-0.5e3  1395066363000\r\n", "node:rate:sum", vec![], -500.0),
        ("a{} 2", "a", vec![], 2.0),
        ("a { b = \"c\" , } 2", "a", vec![("b", "c")], 2.0),
        (r#"a{b="x\\y\"z\n",c=""} 3"#, "a", vec![("b", "x\\y\"z\n"), ("c", "")], 3.0),
        ("a{le=\"+Inf\"} 4 # {id=\"7\"} 0.5 1.5", "a", vec![("le", "+Inf")], 4.0),
        ("a{b=\"ü, } # é\"} 5", "a", vec![("b", "ü, } # é")], 5.0),
    ] {
        let sample = one(text);
        assert_eq!(sample.name, name);
        let found = sample.labels.iter().map(|(name, text)| (*name, text.as_ref()));
        let found: Vec<(&str, &str)> = found.collect();
        assert_eq!(found, labels, "{text:?}");
        assert!((sample.value - value).abs() < 1e-9, "{text:?}: {}", sample.value);
    }
    assert!(one("a NaN").value.is_nan());
    assert!(one("a +Inf").value.is_infinite() && one("a -Inf").value < 0.0);
}

#[test]
fn lines_that_are_no_samples_are_counted() {
    for text in [
        "a",
        "a b",
        "1a 1",
        "a{b} 1",
        "a{b=c} 1",
        "a{b=\"c} 1",
        "a{b=\"c\" 1",
        "a{b=\"\\q\"} 1",
        "a{b=\"1\",b=\"2\"} 1",
        "a{b=\"1\"c=\"2\"} 1",
        "a 1 2 3",
        "a 1 x",
        "{b=\"c\"} 1",
        "a-b 1",
        "a{1=\"c\"} 1",
        "a{b:c=\"d\"} 1",
        "a{,} 1",
        "é 1",
    ] {
        let page = format!("# comment\nup 1\n{text}\n\nup 2\n");
        let parsed = parse(&page, 10);
        let found = (parsed.samples.len(), parsed.unread, parsed.first_unread);
        assert_eq!(found, (2, 1, 3), "{text:?}");
    }
    let long = "x".repeat(2000);
    assert_eq!(parse(&format!("a{{b=\"{long}\"}} 1\n{long} 1"), 10).unread, 2);
}

#[test]
fn what_is_beyond_the_most_is_counted() {
    let parsed = parse("a 1\nb 2\nc 3\n", 2);
    assert_eq!((parsed.samples.len(), parsed.beyond, parsed.unread), (2, 1, 0));
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(
        name in "[a-zA-Z_:][a-zA-Z0-9_:]{0,20}",
        labels in
            proptest::collection::btree_map("[a-zA-Z_][a-zA-Z0-9_]{0,9}", "(?s).{0,20}", 0..5),
        value in any::<f64>(),
    ) {
        let labels: Vec<(&str, &str)> =
            labels.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let mut page = Page::default();
        page.sample(&name, &labels, value);
        let text = page.text();
        let sample = one(&text);
        prop_assert_eq!(sample.name, name);
        let found: Vec<(&str, &str)> =
            sample.labels.iter().map(|(name, text)| (*name, text.as_ref())).collect();
        prop_assert_eq!(found, labels);
        prop_assert!(sample.value.to_bits() == value.to_bits() || value.is_nan());
    }

    #[test]
    fn any_text_is_read_to_its_end(
        text in "(?s)([a-z{}=\"\\\\,# 0-9\n.]|.){0,300}", most in 0_usize..5,
    ) {
        let parsed = parse(&text, most);
        prop_assert!(parsed.samples.len() <= most);
        let understood = parsed.samples.len() + parsed.beyond;
        prop_assert!(understood + parsed.unread <= text.lines().count());
    }
}
