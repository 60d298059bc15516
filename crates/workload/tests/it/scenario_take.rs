//! What is taken from answers: by pointer, expression, selector, header and cookie; unpacking.

use flate2::Compression;
use flate2::write::GzEncoder;
use plimsoll_workload::scenario::Held;
use plimsoll_workload::scenario::cookies::Jar;
use plimsoll_workload::scenario::take::{Answer, Headers, Take, Which};
use plimsoll_workload::scenario::unpack::{UnpackError, unpack};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::io::Write as _;

const URL: &str = "http://shop.example/cart?x=1";

fn answer(body: &str) -> Answer<'_> {
    Answer::new(200, Headers::default(), body.as_bytes(), URL)
}

/// What is found by one who never has to choose.
fn found(take: &Take, body: &str) -> Option<Value> {
    drawn(take, &answer(body), |_| panic!("nothing to draw"))
}

/// What is found, as a value of JSON.
fn drawn(take: &Take, answer: &Answer<'_>, draw: impl FnOnce(usize) -> usize) -> Option<Value> {
    Some(match take.find(answer, draw)? {
        Held::Nothing => Value::Null,
        Held::Text(text) => Value::String(text.into()),
        Held::Json(text) => serde_json::from_str(&text).unwrap(),
    })
}

fn css(selector: &str, attribute: Option<&str>, body: &str) -> Option<String> {
    let take = Take::css(selector, attribute).unwrap();
    found(&take, body).map(|value| value.as_str().unwrap().to_owned())
}

/// What stands within scripts and their like is text up to their own end (WHATWG HTML, 13.2.5).
#[test]
fn what_is_text_has_no_elements() {
    let right = "<input name=tok value=RIGHT>";
    for name in ["script", "style", "textarea", "title", "iframe", "xmp", "noembed", "noframes"] {
        for within in [
            r#"var s = "<input name=tok value=WRONG>";"#,
            "<!-- --><b><input name=tok value=WRONG></b>",
            "</b><input name=tok value=WRONG></scrip>",
        ] {
            let page = format!("<form><{name} a=b>{within}</{name}\n>{right}</form>");
            let taken = css("form input[name=tok]", Some("value"), &page);
            assert_eq!(taken.as_deref(), Some("RIGHT"), "{page}");
        }
        // Its own text is what it says, and its end is one of its name.
        let page = format!("<{name} id=a>1 < 2 <p>x</p></{name}><p>y</p>");
        assert_eq!(css("#a", None, &page).as_deref(), Some("1 < 2 <p>x</p>"), "{name}");
        assert_eq!(css("p", None, &page).as_deref(), Some("y"), "{name}");
        assert_eq!(css("p", None, &format!("<{name}><p>x</p>")), None, "{name} has no end");
    }
    let script = r#"<script><!-- <script> "</script>" <p>WRONG</p> --></script><p>RIGHT</p>"#;
    assert_eq!(css("p", None, script).as_deref(), Some("RIGHT"));
    let title = "<title>a &amp; b</title><script>a &amp; b</script>";
    assert_eq!(css("title", None, title).as_deref(), Some("a & b"));
    assert_eq!(css("script", None, title).as_deref(), Some("a &amp; b"));
    let drawn = "<svg><title><g id=a>x</g></title><style><g id=b>y</g></style></svg><p>z</p>";
    assert_eq!(css("#b", None, drawn).as_deref(), Some("y"));
    assert_eq!(css("p", None, drawn).as_deref(), Some("z"));
    let without = "<noscript><input name=tok value=1></noscript>";
    assert_eq!(css("input", Some("value"), without).as_deref(), Some("1"));
}

/// Neither rounded nor in another order: what a user sends on is what he was told.
#[test]
fn what_is_taken_of_json_is_what_is_written_there() {
    let body = r#"{"id": 9007199254740993, "big": 18446744073709551616, "price": 10.00, "n": 1e3,
        "o": {"z": 1, "a": 10.50}, "list": [1.0, {"b": 2, "a": 1e2}]}"#;
    let written = |take: Take| match take.find(&answer(body), |_| panic!("nothing to draw")) {
        Some(Held::Json(text)) => text.into_string(),
        other => panic!("{other:?}"),
    };
    for (pointer, text) in [
        ("/id", "9007199254740993"),
        ("/big", "18446744073709551616"),
        ("/price", "10.00"),
        ("/n", "1e3"),
        ("/o", r#"{"z": 1, "a": 10.50}"#),
        ("/list/1/a", "1e2"),
    ] {
        assert_eq!(written(Take::json(pointer).unwrap()), text, "{pointer}");
    }
    let last = Take::json("/list").unwrap().which(Which::Last);
    assert_eq!(written(last), r#"{"b": 2, "a": 1e2}"#);
}

#[test]
fn json_pointers() {
    // RFC 6901, section 5.
    let body = r#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8,"n":null,"o":{"p":1.5}}"#;
    for (pointer, expected) in [
        ("/foo", json!(["bar", "baz"])),
        ("/foo/0", json!("bar")),
        ("/", json!(0)),
        ("/a~1b", json!(1)),
        ("/c%d", json!(2)),
        ("/m~0n", json!(8)),
        ("/o", json!({ "p": 1.5 })),
    ] {
        assert_eq!(found(&Take::json(pointer).unwrap(), body), Some(expected), "{pointer}");
    }
    for nothing in ["/foo/2", "/x", "/foo/-", "/foo/00", "/n"] {
        assert_eq!(found(&Take::json(nothing).unwrap(), body), None, "{nothing}");
    }
    assert_eq!(found(&Take::json("").unwrap(), "7"), Some(json!(7)));
    assert_eq!(found(&Take::json("").unwrap(), "7 8"), None);
    let last = Take::json("/foo").unwrap().which(Which::Last);
    assert_eq!(found(&last, body), Some(json!("baz")));
    let any = Take::json("/foo").unwrap().which(Which::Random);
    assert_eq!(drawn(&any, &answer(body), |of| of - 2), Some(json!("bar")));
    assert_eq!(found(&any, r#"{"foo":[]}"#), None);
    for (wrong, at) in [("foo", 0), ("/a~2", 2), ("/a~", 2)] {
        assert_eq!(Take::json(wrong).unwrap_err().at, at, "{wrong}");
    }
    assert!(Take::json("a.b").unwrap_err().hint.unwrap().contains("/a/b"));
}

#[test]
fn regular_expressions() {
    let body = "id=1; id=22; id=333; end";
    let take = |pattern: &str| Take::regex(pattern).unwrap();
    assert_eq!(found(&take(r"id=(\d+)"), body), Some(json!("1")));
    assert_eq!(found(&take(r"id=\d\d"), body), Some(json!("id=22")));
    assert_eq!(found(&take(r"x(y)|end"), body), Some(json!("end")));
    assert_eq!(found(&take(r"id=(\d+)").which(Which::Number(3)), body), Some(json!("333")));
    assert_eq!(found(&take(r"id=(\d+)").which(Which::Number(4)), body), None);
    assert_eq!(found(&take(r"id=(\d+)").which(Which::Number(0)), body), None);
    assert_eq!(found(&take(r"id=(\d+)").which(Which::Last), body), Some(json!("333")));
    let any = take(r"id=(\d+)").which(Which::Random);
    for (index, expected) in ["1", "22", "333"].into_iter().enumerate() {
        let draw = |of: usize| {
            assert_eq!(of, 3);
            index
        };
        assert_eq!(drawn(&any, &answer(body), draw), Some(json!(expected)));
    }
    assert_eq!(found(&take("nothing").which(Which::Random), body), None);
    assert_eq!(found(&take("nothing").default(json!(5)), body), Some(json!(5)));
    let bytes = Answer::new(200, Headers::default(), b"a=\xff\xfe;", URL);
    assert_eq!(drawn(&take("(?-u:a=([^;]*))"), &bytes, |_| 0), Some(json!("\u{fffd}\u{fffd}")));
    let error = Take::regex("a(b").unwrap_err();
    assert!(error.hint.unwrap().contains("unclosed group"));
    assert!(Take::regex(r"\w{1000}{1000}").unwrap_err().wanted.contains("4 MiB"));
}

#[test]
fn selectors() {
    let page = "<!doctype html><title>Shop &amp; more</title><body id=top>\
        <form action='/login'><input type=hidden name=token value='a&quot;b'>\
        <input name='user'></form><ul class='list big'><li>one<li class=x>two <b>and</b>\n half\
        <li><ul><li>inner</ul></ul><p>first<div>second</div><a href=/a lang=en-GB>A</a>\
        <a HREF='/b?c'>B</a><script>if (a<b) '<i>no</i>'</script><i>yes</i>";
    for (selector, attribute, expected) in [
        ("input[name=token]", Some("value"), Some("a\"b")),
        ("form input", Some("value"), Some("a\"b")),
        ("FORM > input[type=\"hidden\"]", Some("VALUE"), Some("a\"b")),
        ("input[name=user]", Some("value"), None),
        ("title", None, Some("Shop & more")),
        ("#top .x", None, Some("two and half")),
        (".list.big > li", None, Some("one")),
        ("li li", None, Some("inner")),
        ("ul > li > ul > li", None, Some("inner")),
        ("body > li", None, None),
        ("p", None, Some("first")),
        ("p div", None, None),
        ("a[href^='/b']", None, Some("B")),
        ("a[href$='c']", Some("href"), Some("/b?c")),
        ("a[href*='b']", None, Some("B")),
        ("a[lang|=en]", None, Some("A")),
        ("a[class~=x]", None, None),
        ("ul[class~=big] b", None, Some("and")),
        ("a[href*='']", None, None),
        ("i", None, Some("yes")),
        ("nothing, i", None, Some("yes")),
        ("*", Some("action"), Some("/login")),
    ] {
        assert_eq!(css(selector, attribute, page).as_deref(), expected, "{selector}");
    }
}

#[test]
fn one_of_several_elements() {
    let page = "<ul><li>a<li>b<li>c<ul><li>d</ul></ul>";
    let take = Take::css("li", None).unwrap();
    let text = |value: Option<Value>| value.map(|value| value.as_str().unwrap().to_owned());
    for (which, expected) in [
        (Which::Number(2), Some("b")),
        (Which::Number(3), Some("cd")),
        (Which::Number(5), None),
        (Which::Last, Some("d")),
    ] {
        let found = found(&take.clone().which(which), page);
        assert_eq!(text(found).as_deref(), expected, "{which:?}");
    }
    let any = take.which(Which::Random);
    for (index, expected) in ["a", "b", "cd", "d"].into_iter().enumerate() {
        let draw = |of: usize| {
            assert_eq!(of, 4);
            index
        };
        assert_eq!(text(drawn(&any, &answer(page), draw)).as_deref(), Some(expected));
    }
    assert_eq!(found(&any, "<p>"), None);
}

#[test]
fn headers_and_cookies() {
    let headers: [(&[u8], &[u8]); 4] = [
        (b"Location", b"/next"),
        (b"set-cookie", b"sid=1; Path=/"),
        (b"Set-Cookie", b"sid=2; Path=/"),
        (b"X-N", b"a"),
    ];
    let mut jar = Jar::default();
    jar.set(b"sid=9; Path=/", "shop.example", "/", 0).unwrap();
    jar.set(b"old=8; Path=/cart", "shop.example", "/", 0).unwrap();
    let answer = Answer::new(302, Headers(&headers), b"", URL).with_jar(&jar, 0);
    let find = |take: Take| drawn(&take, &answer, |of| of - 1);
    assert_eq!(find(Take::header("location")), Some(json!("/next")));
    assert_eq!(find(Take::header("nothing")), None);
    assert_eq!(find(Take::header("set-cookie").which(Which::Random)), Some(json!("sid=2; Path=/")));
    assert_eq!(find(Take::cookie("sid")), Some(json!("1")));
    assert_eq!(find(Take::cookie("sid").which(Which::Last)), Some(json!("2")));
    assert_eq!(find(Take::cookie("old")), Some(json!("8")));
    assert_eq!(find(Take::cookie("nothing")), None);
}

#[test]
fn words_for_which() {
    assert_eq!(Which::parse("last").unwrap(), Which::Last);
    assert_eq!(Which::parse("random").unwrap(), Which::Random);
    assert!(Which::parse("lst").unwrap_err().hint.unwrap().contains("last"));
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn answers_are_unpacked_within_bounds() {
    let text = b"some text, some text, some text".repeat(100);
    let mut room = vec![1, 2, 3];
    assert_eq!(unpack(b"", &text, 1 << 20, &mut room).unwrap(), text);
    assert_eq!(unpack(b" GZIP ", &packed(&text), 1 << 20, &mut room).unwrap(), text);
    let both = [packed(b"one "), packed(b"two")].concat();
    assert_eq!(unpack(b"x-gzip", &both, 100, &mut room).unwrap(), b"one two");
    assert_eq!(unpack(b"gzip", &packed(&text), text.len(), &mut room).unwrap(), text);
    for (encoding, body) in [(&b""[..], text.clone()), (b"gzip", packed(&text))] {
        let refused = unpack(encoding, &body, text.len() - 1, &mut room);
        assert!(matches!(refused, Err(UnpackError::TooLong { .. })), "{refused:?}");
    }
    let cut = &packed(&text)[..30];
    assert!(matches!(unpack(b"gzip", cut, 1 << 20, &mut room), Err(UnpackError::Damaged(_))));
    let refused = unpack(b"br", &text, 1 << 20, &mut room).unwrap_err();
    assert!(refused.to_string().contains("`br`"), "{refused}");
}

#[test]
fn a_bomb_costs_no_more_than_what_is_kept() {
    let bomb = packed(&vec![0; 50_000_000]);
    assert!(bomb.len() < 1 << 20);
    let mut room = Vec::new();
    let refused = unpack(b"gzip", &bomb, 1 << 20, &mut room);
    assert!(matches!(refused, Err(UnpackError::TooLong { keep: 1_048_576 })));
    assert!(room.capacity() <= 4 << 20, "{}", room.capacity());
}

proptest! {
    /// Any page and any selector: it ends, and what is found was there.
    #[test]
    fn any_page_is_read(
        page in prop::collection::vec(any::<u8>(), 0..300),
        tags in "(<(/?)(p|li|ul|td|tr|table|input|b) ?(id=a|class=b)?>x?){0,40}",
        selector in "[a-c#.\\[\\]=> ,*lip]{1,12}",
    ) {
        for body in [&page, tags.as_bytes(), &packed(&page)] {
            let answer = Answer::new(200, Headers::default(), body, URL);
            for attribute in [None, Some("id")] {
                let Ok(take) = Take::css(&selector, attribute) else { continue };
                for which in [Which::Number(1), Which::Number(3), Which::Last, Which::Random] {
                    let found = drawn(&take.clone().which(which), &answer, |of| of / 2);
                    prop_assert!(attribute.is_none() || found.is_none_or(|v| v == json!("a")));
                }
            }
            let mut room = Vec::new();
            let _ = unpack(b"gzip", body, 1000, &mut room);
            let _ = Take::json("/0").unwrap().find(&answer, |_| 0);
        }
    }

    /// The number of elements that a random choice is among is that of those that can be taken.
    #[test]
    fn every_element_can_be_taken(tags in "(<(/?)(p|li|ul|b|input)( id=a)?>){0,30}") {
        let take = Take::css("li, p b, ul > b", None).unwrap();
        let mut count = 0;
        take.clone().which(Which::Random).find(&answer(&tags), |of| {
            count = of;
            0
        });
        for number in 1..=count {
            let number = Which::Number(u32::try_from(number).unwrap());
            prop_assert!(found(&take.clone().which(number), &tags).is_some());
        }
        let beyond = Which::Number(u32::try_from(count + 1).unwrap());
        prop_assert!(found(&take.which(beyond), &tags).is_none());
    }
}
