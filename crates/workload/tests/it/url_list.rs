//! Lists of URLs: what is a URL, what a weight, and what neither.

use std::path::Path;

use plimsoll_workload::request::{RequestError, Url, UrlListReader};
use proptest::prelude::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn lists_of_urls_are_read() {
    let base = url("http://h:81/ignored");
    let reader = UrlListReader { base: Some(&base), commas: true };
    let text =
        "\u{feff}# a list\n\n/a\r\n  /b,2.5\n/c,d\n\"/e,5\"\n\"/f,\"\"5\",3\nhttps://i/\t1e3\n/g 7";
    let error = reader.text(text, "list").expect_err("a blank in a path");
    assert_eq!(
        error.to_string(),
        "list:9:3: expected a URL without blanks or control characters, found ` `"
    );
    let list = reader.text(&text.replace("/g 7", "/g"), "list").expect("a sound list");
    let shown: Vec<String> = list.urls.iter().map(ToString::to_string).collect();
    let expected = ["/a", "/b", "/c,d", "/e,5", "/f,\"5"].map(|path| format!("http://h:81{path}"));
    assert_eq!(shown[..5], expected);
    assert_eq!(shown[5..], ["https://i/", "http://h:81/g"]);
    assert_eq!(list.weights.as_deref(), Some(&[1.0, 2.5, 1.0, 1.0, 3.0, 1000.0, 1.0][..]));
    let plain = reader.text("URL,count\n/a\n/b", "list").expect("a sound list");
    assert_eq!((plain.urls.len(), plain.weights), (2, None));
}

/// The URLs of a list as paths, and its weights.
fn listed(text: &str, commas: bool) -> (Vec<String>, Option<Vec<f64>>, bool) {
    let base = url("http://h/");
    let list = UrlListReader { base: Some(&base), commas }.text(text, "list").expect(text);
    let urls = list.urls.iter().map(|url| url.target.clone()).collect();
    (urls, list.weights, list.note.is_some())
}

#[test]
fn only_what_sets_a_weight_apart_makes_one() {
    let is = |text: &str, commas: bool, urls: &[&str], weights: Option<&[f64]>, note: bool| {
        let urls: Vec<String> = urls.iter().map(|url| (*url).to_owned()).collect();
        assert_eq!(listed(text, commas), (urls, weights.map(<[f64]>::to_vec), note), "{text}");
    };
    let commas = "/tiles?bbox=1.2,3.4\n/items?ids=11,12,13\n";
    is(commas, false, &["/tiles?bbox=1.2,3.4", "/items?ids=11,12,13"], None, true);
    is(commas, true, &["/tiles?bbox=1.2", "/items?ids=11,12"], Some(&[3.4, 13.0]), false);
    is("/a,5\n/b\n", false, &["/a,5", "/b"], None, false);
    is("/a\t5\n/b,7\n", false, &["/a", "/b,7"], Some(&[5.0, 1.0]), false);
    is(
        "url,weight\n/a,5\n\"/b,7\",2\n/c\n",
        false,
        &["/a", "/b,7", "/c"],
        Some(&[5., 2., 1.]),
        false,
    );
    is("\"Path\",\"Hits\"\n/a,5\n", false, &["/a"], Some(&[5.0]), false);
    is("url\tcount\n/a,b\t5\n", false, &["/a,b"], Some(&[5.0]), false);
    is("url,weight\n/a,2\n/b,\n", false, &["/a", "/b"], Some(&[2.0, 1.0]), false);
    is("url\n/a,5\n", false, &["/a,5"], None, false);
    is("\"/a,5\",3\n", false, &["/a,5"], Some(&[3.0]), false);
    is("/a,0\n/b,1\n", true, &["/a", "/b"], Some(&[0.0, 1.0]), false);
    let base = url("http://h/");
    let reader = UrlListReader { base: Some(&base), commas: false };
    let refused = |text: &str| reader.text(text, "list").expect_err(text).to_string();
    assert!(refused("url,weight\n/a?b=1,2,3\n").contains("list:2:1: expected two columns"));
    let hint = reader.text("url;weight\n/a;2\n", "list").expect_err("no heading");
    let RequestError::Line { error, .. } = hint else { panic!("{hint}") };
    assert!(error.hint.unwrap().contains("url,weight"));
    assert!(refused("/a\t0\n/b\t0\n").contains("at least one weight above zero"));
}

proptest! {
    /// Lines that are URLs and nothing else are asked for as they stand, however they end.
    #[test]
    fn a_line_without_a_mark_is_the_whole_url(
        lines in prop::collection::vec("/[!-\"$-z|~]{0,30}", 1..20)
    ) {
        let urls: Vec<&String> = lines.iter().filter(|line| !line.contains("{{")).collect();
        prop_assume!(!urls.is_empty());
        let text: String = urls.iter().map(|line| format!("{line}\n")).collect();
        let (found, weights, _) = listed(&text, false);
        prop_assert!(found.iter().eq(urls), "{found:?}");
        prop_assert_eq!(weights, None);
    }
}

#[test]
fn a_wrong_line_of_a_list_is_named() {
    let base = url("http://h/");
    let with = UrlListReader { base: Some(&base), commas: true };
    let at = |reader: UrlListReader<'_>, text: &str| match reader.text(text, "list") {
        Err(RequestError::Line { line, error, .. }) => Some((line, error.at)),
        _ => None,
    };
    assert_eq!(at(with, "/a\nlocalhost:80"), Some((2, 0)));
    assert_eq!(at(with, "/a,-1"), Some((1, 3)));
    assert_eq!(at(with, "/a,inf"), Some((1, 3)));
    assert_eq!(at(with, "/a\tx"), Some((1, 3)));
    assert_eq!(at(with, "\"/a"), Some((1, 0)));
    assert_eq!(at(with, "\"/a\"x"), Some((1, 4)));
    assert_eq!(at(with, "  \"http://h:0/\",1"), Some((1, 12)));
    assert_eq!(at(UrlListReader { base: None, commas: true }, "/a"), Some((1, 0)));
    for nothing in ["", "\n\n# nothing\n", "url,count\n"] {
        let error = with.text(nothing, "list").expect_err("nothing");
        assert!(matches!(error, RequestError::NoUrls { .. }), "{error}");
        assert!(error.to_string().contains("list"));
    }
    let missing = with.file(Path::new("/nonexistent/list")).expect_err("no file");
    assert!(missing.to_string().contains("/nonexistent/list"));
}

#[test]
fn a_list_in_a_file_is_read_as_its_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("urls");
    std::fs::write(&path, "http://h/a\t1\nhttp://h/b\t2").expect("a file");
    let reader = UrlListReader { base: None, commas: false };
    let from_file = reader.file(&path).expect("a sound list");
    assert_eq!(from_file, reader.text("http://h/a\t1\nhttp://h/b\t2", "x").expect("a sound list"));
    std::fs::write(&path, vec![b'x'; 1_000_000]).expect("a file");
    assert!(matches!(reader.file(&path), Err(RequestError::Line { line: 1, .. })));
    std::fs::write(&path, b"http://h/a\n\xff\xfe").expect("a file");
    assert!(matches!(reader.file(&path), Err(RequestError::Line { line: 2, .. })));
}
