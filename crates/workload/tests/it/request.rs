//! URLs, headers, templates, lists and the order of requests.

use std::path::Path;

use plimsoll_units::ParseError;
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::random::Stream;
use plimsoll_workload::request::{
    Alias, Credentials, Order, Picker, RenderState, Request, RequestError, Requests, Template, Url,
    Zipf, bearer, parse_header, parse_method,
};
use proptest::prelude::*;

fn url(text: &str) -> Url {
    Url::parse(text).expect("a sound URL")
}

fn shares(of: u32) -> impl Iterator<Item = Share> {
    (0..of).map(move |index| Share { index, of })
}

fn requests(len: usize, order: Order) -> Requests {
    let list = (0..len).map(|n| Request::new(url(&format!("http://h/{n}")))).collect();
    Requests { list, order }
}

#[test]
fn urls_are_split_into_what_a_driver_needs() {
    let plain = url("http://Example.COM:8080/a/b?c=d#e");
    assert_eq!((plain.scheme.name, plain.host.as_str(), plain.port), ("http", "example.com", 8080));
    assert_eq!(plain.target, "/a/b?c=d");
    assert_eq!((plain.unix, plain.credentials), (None, None));
    let cases = [
        ("https://h", "h", 443, "/", "h"),
        ("HTTP://h:/x", "h", 80, "/x", "h"),
        ("http://h?q", "h", 80, "/?q", "h"),
        ("http://[2001:DB8::1]:81/", "2001:db8::1", 81, "/", "[2001:db8::1]:81"),
        ("https://[::1]", "::1", 443, "/", "[::1]"),
        ("http://127.0.0.1:80/é b".trim_end_matches(" b"), "127.0.0.1", 80, "/%C3%A9", "127.0.0.1"),
        ("http://a_b-c.d/x{}|^\"", "a_b-c.d", 80, "/x{}|^\"", "a_b-c.d"),
    ];
    for (text, host, port, target, authority) in cases {
        let found = url(text);
        assert_eq!((found.host.as_str(), found.port), (host, port), "{text}");
        assert_eq!((found.target.as_str(), found.authority().as_str()), (target, authority));
        assert_eq!(url(&found.to_string()), found, "{text}");
    }
}

#[test]
fn unix_sockets_have_their_path_percent_encoded() {
    let found = url("http+unix://%2Frun%2Fmy%20app.sock/path?x");
    assert_eq!(found.unix.as_deref(), Some(Path::new("/run/my app.sock")));
    assert_eq!((found.host.as_str(), found.target.as_str()), ("localhost", "/path?x"));
    assert_eq!(url(&found.to_string()), found);
    for wrong in ["http+unix:///run/x.sock", "http+unix://run/", "http+unix://%2Fa%00b/"] {
        assert!(Url::parse(wrong).is_err(), "{wrong}");
    }
    let long = format!("http+unix://%2F{}/", "x".repeat(107));
    assert!(Url::parse(&long).is_err());
}

#[test]
fn a_wrong_url_is_pointed_at_with_a_hint() {
    let error = |text: &str| Url::parse(text).expect_err("a wrong URL");
    let bare = error("localhost:8080");
    assert_eq!(bare.hint.as_deref(), Some("put the scheme first: http://localhost:8080/"));
    let path = error("h/x");
    assert_eq!(path.hint.as_deref(), Some("put the scheme first: http://h/x"));
    let cases = [
        ("", 0, 0),
        ("htp://h/", 0, 3),
        ("ftp://h/", 0, 3),
        ("http://", 7, 0),
        ("http://:80/", 7, 0),
        ("http://h:0/", 9, 1),
        ("http://h:65536/", 9, 5),
        ("http://h:8x/", 9, 2),
        ("http://h/a b", 10, 1),
        ("http://h/a\r\nX: y", 10, 1),
        ("http://h/\0", 9, 1),
        ("http://h!/", 8, 1),
        ("http://bücher.example/", 8, 2),
        ("http://1.2.3.4.5/", 7, 9),
        ("http://[::1/", 7, 4),
        ("http://[::g]/", 8, 3),
        ("http://[::1]x/", 12, 1),
        ("http://::1/", 7, 3),
        ("http://h/{{uid}}", 11, 3),
        ("http://h/{{uuid", 9, 6),
        ("http://h{{uuid}}/", 8, 1),
    ];
    for (text, at, len) in cases {
        let error = error(text);
        assert_eq!((error.at, error.len), (at, len), "{text}: {error}");
    }
    assert_eq!(error("htp://h/").hint.as_deref(), Some("write http"));
    assert_eq!(error("http://::1/").hint.as_deref(), Some("write [::1]"));
}

#[test]
fn a_path_with_placeholders_differs_from_request_to_request() {
    let mut state = RenderState::new(7, Share { index: 0, of: 1 });
    let request = Request::new(url("http://h/\u{e9}/{{counter}}?n={{random:5..5}}#{{uuid}}"));
    assert!(!request.is_static());
    assert_eq!(request.url.to_string(), "http://h/%C3%A9/{{counter}}?n={{random:5..5}}");
    let mut out = Vec::new();
    request.url.render_target(&mut state, &mut out);
    assert_eq!(out, b"/%C3%A9/0?n=5");
    state.next_request();
    let request = request.header("X: {{counter}}").expect("a header");
    let rendered =
        request.body(Template::parse("{{counter}}").expect("a body")).rendered(&mut state);
    assert!(rendered.is_static());
    assert_eq!(rendered.url.to_string(), "http://h/%C3%A9/1?n=5");
    assert_eq!(rendered.headers[0].1.as_static(), Some(&b"1"[..]));
    assert_eq!(rendered.body.as_ref().and_then(Template::as_static), Some(&b"1"[..]));
    // What a log or a server wrote was never meant so.
    assert!(url("http://h/").join("/{{uuid}}").is_err());
    let literal = Url::parse_literal("http://h/{{uuid}}").expect("a URL");
    assert_eq!((literal.target.as_str(), literal.template), ("/{{uuid}}", None));
}

#[test]
fn credentials_become_a_header_and_are_never_shown() {
    // The example of RFC 7617, section 2.
    let request = Request::new(url("http://Aladdin:open%20sesame@h/x"));
    let (name, value) = &request.headers[0];
    assert_eq!(name, "authorization");
    assert_eq!(value.as_static(), Some(&b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="[..]));
    let token = bearer("s3cret-token").expect("a sound token");
    assert_eq!(token.1.as_static(), Some(&b"Bearer s3cret-token"[..]));
    let request = request.bearer("s3cret-token").expect("a sound token");
    assert_eq!(request.headers.len(), 1, "the last authorization holds");
    let typed = Request::new(url("http://h/")).header("Cookie: s3cret").expect("a sound header");
    let mut pushed = typed.clone();
    pushed.headers = vec![("Authorization".to_owned(), Template::literal(b"s3cret".to_vec()))];
    let shown = format!(
        "{:?} {:?} {:?} {:?} {:?} {} {typed:?} {pushed:?}",
        request,
        token,
        Credentials::parse("me:s3cret"),
        url("http://me:s3cret@h/"),
        Url::parse("http://me:s3cret@h:x/"),
        url("http://me:s3cret@h/"),
    );
    assert!(!shown.contains("s3cret") && !shown.contains("sesame"), "{shown}");
    for wrong in [
        "me:s3cret@h/",
        "me:s3cret/@h/",
        "htpp://me:s3cret@h/",
        "http://me:s3cret@/",
        "//me:s3cret@h/",
        "http:/me:s3cret@h/",
        "http://me:s3cret/x@h/",
        "http://me:8/s3cret @h/",
        "http://s3cret?{{@h:80/",
    ] {
        let error = Url::parse(wrong).expect_err("a wrong URL");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
    for wrong in ["", "q x", "a\r\nX: y", "é"] {
        let error = bearer(wrong).expect_err("a wrong token");
        assert!(wrong.is_empty() || !error.to_string().contains(wrong), "{error}");
    }
    assert!(Credentials::new("a:b", "").is_err() && Credentials::new("a", "\n").is_err());
}

#[test]
fn credentials_of_one_server_are_not_told_to_another() {
    let names = |request: &Request| -> Vec<String> {
        request.headers.iter().map(|(name, _)| name.clone()).collect()
    };
    let like = Request::new(url("http://me:pw@h/")).header("a: b").expect("a sound header");
    assert_eq!(names(&like), ["authorization", "a"]);
    assert_eq!(names(&like.at(url("http://i/"))), ["a"]);
    assert_eq!(names(&like.at(like.url.join("/x").expect("a path"))), ["a", "authorization"]);
    let token = like.bearer("t").expect("a sound token");
    let other = token.at(url("http://you:pw@i/"));
    assert_eq!(other.headers, token.headers, "what was given explicitly stays");
}

#[test]
fn nothing_that_could_start_another_header_passes() {
    let (name, value) = parse_header("X-Trace:  a b\t ").expect("a sound header");
    assert_eq!((name.as_str(), value.as_static()), ("X-Trace", Some(&b"a b"[..])));
    let wrong = [
        ("no colon", 0),
        (": v", 0),
        ("a b: v", 1),
        ("a\r: v", 1),
        ("a: v\r\nb: w", 4),
        ("a: v\nb: w", 4),
        ("a: \0", 3),
        ("a: {{uid}}", 5),
        ("Content-Length: 3", 0),
        ("transfer-encoding: chunked", 0),
    ];
    for (text, at) in wrong {
        let error = parse_header(text).expect_err(text);
        assert_eq!(error.at, at, "{text:?}: {error}");
    }
    assert_eq!(parse_method("PROPFIND").as_deref(), Ok("PROPFIND"));
    let lower = parse_method("post").expect_err("lower case");
    assert!(lower.hint.is_some_and(|hint| hint.ends_with("write POST")));
    for wrong in ["", "GE T", "GET\r\n", "CONNECT", "GÉT"] {
        assert!(parse_method(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn templates_are_rendered() {
    let mut state = RenderState::new(1, Share { index: 1, of: 3 });
    let mut render = |text: &str| {
        let mut out = Vec::new();
        Template::parse(text).expect("a sound template").render(&mut state, &mut out);
        state.next_request();
        String::from_utf8(out).expect("text")
    };
    assert_eq!(render("a{{counter}}b{{ counter }}"), "a1b1");
    assert_eq!(render("{{counter}}"), "4");
    assert_eq!(render("\\{{counter}} {\"a\":{\"b\":1}}"), "{{counter}} {\"a\":{\"b\":1}}");
    assert_eq!(render(""), "");
    assert_eq!(render("{{random:7..7}}"), "7");
    let uuid = render("{{uuid}}");
    let form: Vec<usize> = uuid.split('-').map(str::len).collect();
    assert_eq!(form, [8, 4, 4, 4, 12], "{uuid}");
    assert_eq!(uuid.as_bytes()[14], b'4');
    assert!(b"89ab".contains(&uuid.as_bytes()[19]), "{uuid}");
    let two = render("{{uuid}}{{uuid}}");
    assert_ne!(two[..36], two[36..]);
    let error = |text: &str| -> ParseError { Template::parse(text).expect_err(text) };
    assert_eq!((error("ab{{x").at, error("ab{{x").len), (2, 3));
    assert_eq!(error("ab{{ count }}").hint.as_deref(), Some("write {{counter}}"));
    assert_eq!((error("ab{{ count }}").at, error("ab{{ count }}").len), (5, 5));
    assert!(error("{{random}}").hint.is_some_and(|hint| hint.contains("bounds")));
    assert!(error("{{random:5..1}}").hint.is_some_and(|hint| hint.contains("1..5")));
    assert!(error("{{random:1..x}}").hint.is_some());
}

#[test]
fn random_numbers_of_a_template_are_uniform_and_the_same_for_any_number_of_threads() {
    let template = Template::parse("{{random:1..6}}").expect("a sound template");
    let draw = |of: u32, n: usize| {
        let mut all = vec![Vec::new(); n];
        for share in shares(of) {
            let mut state = RenderState::new(42, share);
            for slot in all.iter_mut().skip(share.index as usize).step_by(of as usize) {
                template.render(&mut state, slot);
                state.next_request();
            }
        }
        all
    };
    let rolled = draw(1, 60_000);
    assert_eq!(rolled, draw(7, 60_000));
    let mut counts = [0_i64; 6];
    for roll in &rolled {
        counts[usize::from(roll[0] - b'1')] += 1;
    }
    // Each is binomial: 10,000 with a standard deviation of 91.
    assert!(counts.iter().all(|count| (count - 10_000).abs() < 460), "{counts:?}");
}

#[test]
fn orders_are_read_and_written() {
    let weights = [1.0, 2.0];
    for text in ["in-order", "round-robin", "uniform", "weighted", "zipf:0.8"] {
        assert_eq!(Order::parse(text, Some(&weights)).expect(text).to_string(), text);
    }
    let hint = |text: &str| Order::parse(text, None).expect_err(text).hint.unwrap_or_default();
    assert_eq!(hint("round-robbin"), "write round-robin");
    assert!(hint("weighted").contains("weight after each URL"));
    assert!(hint("zipf").contains("zipf:0.8"));
    for wrong in ["zipf:-1", "zipf:x", "zipf:inf", "zipf:NaN"] {
        assert_eq!(Order::parse(wrong, None).expect_err(wrong).at, 5);
    }
}

fn first(picker: &mut Picker, n: usize) -> Vec<u32> {
    std::iter::from_fn(|| picker.next()).take(n).collect()
}

#[test]
fn lists_in_order_end_and_round_robin_does_not() {
    let pick = |order, n| {
        let mut picker = Picker::new(&requests(3, order), 1, Share::WHOLE).expect("sound requests");
        first(&mut picker, n)
    };
    assert_eq!(pick(Order::InOrder, 9), [0, 1, 2]);
    assert_eq!(pick(Order::RoundRobin, 7), [0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn what_cannot_be_picked_from_is_refused() {
    let new = |len, order| Picker::new(&requests(len, order), 1, Share::WHOLE).map(|_| ());
    assert!(matches!(new(0, Order::Uniform), Err(RequestError::NoUrls { .. })));
    let few = new(3, Order::Weighted(vec![1.0]));
    assert!(matches!(few, Err(RequestError::WeightCount { wanted: 3, found: 1 })));
    for weights in [vec![1.0, -1.0], vec![0.0, 0.0], vec![1.0, f64::NAN], vec![1.0, f64::INFINITY]]
    {
        assert!(matches!(new(2, Order::Weighted(weights)), Err(RequestError::Weight { .. })));
    }
    for exponent in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(new(2, Order::Zipf(exponent)), Err(RequestError::Exponent { .. })));
    }
}

fn weight() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 1e-9..1e9_f64, 0.1..10.0_f64]
}

proptest! {
    #[test]
    fn the_shares_together_are_the_whole(
        len in 1_usize..50,
        of in 1_u32..9,
        seed: u64,
        kind in 0..5,
        exponent in 0.0..3.0_f64,
    ) {
        let order = match kind {
            0 => Order::InOrder,
            1 => Order::RoundRobin,
            2 => Order::Uniform,
            3 => Order::Weighted((1..=len).map(|n| n as f64).collect()),
            _ => Order::Zipf(exponent),
        };
        let requests = requests(len, order);
        let mut whole = Picker::new(&requests, seed, Share::WHOLE).expect("sound requests");
        let mut pickers: Vec<Picker> = shares(of)
            .map(|share| Picker::new(&requests, seed, share).expect("sound requests"))
            .collect();
        for n in 0..300 {
            let share = pickers[n % of as usize].next();
            prop_assert_eq!(whole.next(), share);
            prop_assert!(share.is_none_or(|index| (index as usize) < len));
        }
    }

    #[test]
    fn an_alias_table_gives_each_index_its_share(
        weights in prop::collection::vec(weight(), 1..40)
            .prop_filter("a weight", |weights| weights.iter().any(|w| *w > 0.0)),
    ) {
        // The table read at evenly spread points is the integral of what it draws.
        let alias = Alias::new(&weights).expect("sound weights");
        let points = 400_000_u64;
        let mut counts = vec![0_u64; weights.len()];
        for n in 0..points {
            counts[alias.pick(u64::MAX / points * n) as usize] += 1;
        }
        let sum: f64 = weights.iter().sum();
        for (count, weight) in counts.iter().zip(&weights) {
            let (found, wanted) = (*count as f64 / points as f64, weight / sum);
            prop_assert!((found - wanted).abs() < 2e-4, "{} for {}", found, wanted);
            prop_assert!(*weight > 0.0 || *count == 0);
        }
    }
}

#[test]
fn weights_of_any_size_keep_their_sum_finite() {
    let alias = Alias::new(&[f64::MAX, f64::MAX, 0.0]).expect("sound weights");
    let mut stream = Stream::named(1, "test");
    let mut counts = [0; 3];
    for _ in 0..10_000 {
        counts[alias.pick(stream.next_u64()) as usize] += 1;
    }
    assert_eq!(counts[2], 0);
    assert!((4_700..5_300).contains(&counts[0]), "{counts:?}");
}

/// Pearson's chi-square of draws against exact probabilities, cells with few expected ones joined.
fn chi_square(counts: &[u64], probabilities: &[f64]) -> (f64, f64) {
    let n: u64 = counts.iter().sum();
    let (mut sum, mut cells) = (0.0, 0.0_f64);
    let (mut found, mut expected) = (0.0, 0.0);
    for (count, p) in counts.iter().zip(probabilities) {
        found += *count as f64;
        expected += p * n as f64;
        if expected >= 10.0 {
            sum += (found - expected).powi(2) / expected;
            cells += 1.0;
            (found, expected) = (0.0, 0.0);
        }
    }
    sum += if expected > 0.0 { (found - expected).powi(2) / expected.max(1.0) } else { 0.0 };
    (sum, cells)
}

#[test]
fn zipf_draws_agree_with_the_exact_probabilities() {
    let mut stream = Stream::named(7, "zipf");
    for n in [1_u64, 2, 3, 10, 1000, 100_000] {
        for exponent in [0.0, 0.3, 0.7, 0.99, 1.0, 1.000_000_001, 1.2, 2.0, 4.0] {
            let mass: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-exponent)).collect();
            let sum: f64 = mass.iter().sum();
            let probabilities: Vec<f64> = mass.iter().map(|m| m / sum).collect();
            let zipf = Zipf::new(n, exponent).expect("a sound exponent");
            let mut counts = vec![0_u64; mass.len()];
            for _ in 0..200_000 {
                let rank = usize::try_from(zipf.sample(&mut stream)).expect("a small rank");
                counts[rank - 1] += 1;
            }
            let (sum, cells) = chi_square(&counts, &probabilities);
            // Mean: cells − 1; five standard deviations, sqrt(2 (cells − 1)), above it.
            let bound = cells + 5.0 * (2.0 * cells).sqrt() + 10.0;
            assert!(sum < bound, "n {n}, exponent {exponent}: {sum:.0} in {cells} cells");
        }
    }
}

#[test]
fn zipf_over_huge_ranges_stays_within_them() {
    let mut stream = Stream::named(7, "zipf");
    for n in [1 << 40, 1 << 60] {
        for exponent in [0.0, 0.5, 1.0, 1.5, 50.0] {
            let zipf = Zipf::new(n, exponent).expect("a sound exponent");
            assert!((0..2000).all(|_| (1..=n).contains(&zipf.sample(&mut stream))));
        }
    }
}

#[test]
fn picked_requests_follow_their_probabilities() {
    let n = 40;
    let weights: Vec<f64> = (0..n).map(|k| f64::from(k % 7)).collect();
    let zipf: Vec<f64> = (1..=n).map(|k| f64::from(k).powf(-0.8)).collect();
    let cases = [
        (Order::Uniform, vec![1.0; n as usize]),
        (Order::Weighted(weights.clone()), weights),
        (Order::Zipf(0.8), zipf),
    ];
    for (order, mass) in cases {
        let sum: f64 = mass.iter().sum();
        let probabilities: Vec<f64> = mass.iter().map(|m| m / sum).collect();
        let requests = requests(n as usize, order);
        let mut picker = Picker::new(&requests, 11, Share::WHOLE).expect("sound requests");
        let mut counts = vec![0_u64; n as usize];
        for index in first(&mut picker, 400_000) {
            counts[index as usize] += 1;
        }
        let (sum, cells) = chi_square(&counts, &probabilities);
        assert!(sum < cells + 5.0 * (2.0 * cells).sqrt(), "{:?}: {sum:.1}", requests.order);
    }
}

#[test]
fn picks_are_the_same_on_every_machine() {
    let picks = |order| {
        let requests = requests(1000, order);
        let mut picker = Picker::new(&requests, 2026, Share::WHOLE).expect("sound requests");
        first(&mut picker, 8)
    };
    let weights = (1..=1000).map(f64::from).collect();
    let found = [picks(Order::Uniform), picks(Order::Weighted(weights)), picks(Order::Zipf(0.8))];
    let golden = [
        [652, 128, 907, 203, 683, 597, 585, 324],
        [652, 835, 906, 902, 682, 596, 584, 968],
        [652, 128, 54, 203, 10, 5, 5, 0],
    ];
    assert_eq!(found.map(|picks| <[u32; 8]>::try_from(picks).expect("eight")), golden);
}
