//! Clients that are broken or mean no good: each gets its answer or none, and the server goes on.

use std::io::{Read as _, Write as _};

use crate::support::live::{Live, options, reason, said, text, trusting};

/// The status of the first answer; 0 if there is none.
fn status(answer: &str) -> u16 {
    answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()).unwrap_or(0)
}

fn still_answers(live: &Live) {
    assert_eq!(live.get("/nearest").status, 200);
    assert_eq!(live.announce(&said("alive", "alive.example", "192.0.2.77")).status, 204);
    assert_eq!(live.listed("alive.example")["host"], "alive.example");
}

#[test]
fn a_head_of_more_than_16_kib_is_refused() {
    let live = Live::start(options());
    let field = |bytes: usize| {
        format!("GET /nearest HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "y".repeat(bytes))
    };
    let refused = live.raw(field(20_000).as_bytes());
    assert_eq!(status(&refused), 431, "{refused}");
    let many = "X: y\r\n".repeat(1000);
    let refused = live.raw(format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n").as_bytes());
    assert_eq!(status(&refused), 431, "{refused}");
    let target = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "z".repeat(100_000));
    let refused = live.raw(target.as_bytes());
    assert!([414, 431].contains(&status(&refused)), "{refused}");
    // Without an end, too.
    let refused = live.raw(&[b'G'; 40_000]);
    assert!([400, 431].contains(&status(&refused)), "{refused}");
    still_answers(&live);
}

#[test]
fn what_is_not_http_ends_its_connection_only() {
    let live = Live::start(options());
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /nearest HTTP/3.7\r\n\r\n",
        b"GET  /nearest HTTP/1.1\r\n\r\n",
        b"G\xffT / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHo st: a\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"POST /v1/heartbeat HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/heartbeat HTTP/1.1\r\nContent-Length: 1x\r\n\r\n",
        b"POST /v1/heartbeat HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /v1/heartbeat HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}}",
        b"POST /v1/heartbeat HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n{}",
        b"POST /v1/heartbeat HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let answer = live.raw(bytes);
        let status = status(&answer);
        assert!(status == 0 || (400..600).contains(&status), "{bytes:?}: {answer}");
    }
    still_answers(&live);
}

#[test]
fn one_content_length_twice_is_one_or_none() {
    let live = Live::start(trusting());
    let body = said("secret-1", "one.example", "192.0.2.10").to_string();
    let length = body.len();
    let other = length + 17;
    let twice = format!(
        "POST /v1/heartbeat HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
         Content-Length: {length}\r\nContent-Length: {other}\r\n\r\n{body}"
    );
    assert_eq!(status(&live.raw(twice.as_bytes())), 400);
    // A length and chunks: what chunks say counts (RFC 9112, 6.3), or nothing does.
    let both = format!(
        "POST /v1/heartbeat HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 4\r\n\
         Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
    );
    let answer = live.raw(both.as_bytes());
    assert!([204, 400].contains(&status(&answer)), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    still_answers(&live);
}

#[test]
fn a_body_in_chunks_is_bounded_as_any_other() {
    let live = Live::start(trusting());
    let head = "POST /v1/heartbeat HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
        Transfer-Encoding: chunked\r\n\r\n";
    let body = said("secret-1", "one.example", "192.0.2.10").to_string();
    let mut good = head.to_owned();
    for chunk in body.as_bytes().chunks(7) {
        good += &format!("{:x}\r\n{}\r\n", chunk.len(), String::from_utf8_lossy(chunk));
    }
    assert_eq!(status(&live.raw(format!("{good}0\r\n\r\n").as_bytes())), 204);
    let long = format!("{head}{}", format!("400\r\n{}\r\n", " ".repeat(1024)).repeat(9));
    let answer = live.raw(format!("{long}0\r\n\r\n").as_bytes());
    assert_eq!(status(&answer), 413, "{answer}");
    assert!(answer.contains("\"reason\":\"too_long\""), "{answer}");
    // It need not end before it is refused.
    let answer = live.raw(long.as_bytes());
    assert_eq!(status(&answer), 413, "{answer}");
    // Neither need one begin that says that it will be too long.
    let said = b"POST /v1/heartbeat HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n{";
    let answer = live.raw(said);
    assert_eq!(status(&answer), 413, "{answer}");
    let state =
        b"PUT /v1/caches/0123456789abcdef/state HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\
        Transfer-Encoding: chunked\r\n\r\n";
    let long = [&state[..], b"200\r\n", &[b' '; 512], b"\r\n0\r\n\r\n"].concat();
    assert_eq!(status(&live.raw(&long)), 400);
    still_answers(&live);
}

#[test]
fn a_client_that_is_slow_or_goes_away_holds_nobody_up() {
    let live = Live::start(options());
    let mut slow: Vec<_> = (0..40).map(|_| live.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /v1/health HTTP/1.1\r\nHost: a\r\nConnec").unwrap();
    }
    // Bodies that never come, and clients that are gone before their answer.
    let mut waiting = live.connect();
    waiting.write_all(b"POST /v1/heartbeat HTTP/1.1\r\nContent-Length: 100\r\n\r\n{").unwrap();
    for _ in 0..20 {
        let mut gone = live.connect();
        gone.write_all(b"POST /v1/heartbeat HTTP/1.1\r\nContent-Length: 100\r\n\r\n{").unwrap();
        drop(gone);
        let mut gone = live.connect();
        gone.write_all(b"GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        drop(gone);
    }
    still_answers(&live);
    for mut stream in slow {
        stream.write_all(b"tion: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(status(&answer), 200, "{answer}");
    }
    still_answers(&live);
}

#[test]
fn requests_in_one_go_are_answered_in_order() {
    let live = Live::start(trusting());
    let body = said("secret-1", "one.example", "192.0.2.10").to_string();
    let length = body.len();
    let answers = live.raw(
        format!(
            "GET /v1/ready HTTP/1.1\r\nHost: a\r\n\r\n\
             POST /v1/heartbeat HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{body}\
             GET /x HTTP/1.1\r\nHost: a\r\n\r\n\
             GET /nearest HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        .as_bytes(),
    );
    let statuses: Vec<&str> =
        answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
    assert_eq!(statuses, ["503", "204", "404", "200"], "{answers}");
    still_answers(&live);
}

#[test]
fn targets_of_every_form_have_an_answer() {
    let live = Live::start(options());
    for (line, expected) in [
        ("GET http://elsewhere.example/nearest", 200),
        ("GET http://elsewhere.example", 200),
        ("GET https://a:443/v1/nearest?n=3", 200),
        ("GET //nearest", 404),
        ("GET /nearest#x", 200),
        ("GET /../nearest", 404),
        ("GET /%6eearest", 404),
        ("GET /nearest?", 200),
        ("GET /nearest?n=\u{e9}", 200),
        ("OPTIONS *", 404),
        ("OPTIONS /nearest", 405),
        ("CONNECT elsewhere.example:443", 405),
        ("TRACE /nearest", 405),
        ("BREW /v1/nearest", 405),
        ("get /nearest", 405),
    ] {
        let head = format!("{line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let answer = live.raw(head.as_bytes());
        assert_eq!(status(&answer), expected, "{line}: {answer}");
    }
    // HTTP/1.0 without a host.
    assert!(live.raw(b"GET /nearest HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 200"));
    still_answers(&live);
}

#[test]
fn header_values_need_not_be_text() {
    let live = Live::start(options());
    let ask = |method: &str, target: &str, field: &[u8], body: &str| {
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n",
            body.len()
        );
        live.raw(&[head.as_bytes(), field, b"\r\n\r\n", body.as_bytes()].concat())
    };
    for field in [
        &b"X-Forwarded-For: \xff\xfe"[..],
        b"X-Forwarded-For: 203.0.113.9, \xff",
        b"X-Forwarded-For: ",
        b"If-None-Match: \xff",
        b"If-None-Match: *",
        b"User-Agent: \x80",
        b"Cookie: \xff\xff",
    ] {
        for target in ["/nearest", "/v1/nearest", "/v1/caches"] {
            let answer = ask("GET", target, field, "");
            assert!([200, 304].contains(&status(&answer)), "{field:?}: {answer}");
        }
    }
    let body = said("secret-1", "one.example", "192.0.2.10").to_string();
    let answer = ask("POST", "/v1/heartbeat", b"X-Forwarded-For: \xff", &body);
    assert_eq!(status(&answer), 403, "{answer}");
    still_answers(&live);
}

#[test]
fn a_query_that_is_nonsense_is_told_so() {
    let live = Live::start(options());
    let longest = format!("ip={}", "1".repeat(8000));
    for query in [
        "ip=x",
        "ip=300.1.1.1",
        "ip=1.2.3",
        "ip=%00",
        "ip=%ff%fe",
        "ip=::1%25eth0",
        "ip=[::1]",
        "ip=127.0.0.1:80",
        "ip=%",
        "ip=%4",
        "ip=1.2.3.4&ip=1.2.3.5",
        "n=0",
        "n=101",
        "n=-1",
        "n=+5",
        "n=5.0",
        "n=99999999999999999999999",
        "n=%35%00",
        "cloud=%3Cscript%3E",
        "cloud=a/b",
        "type=Squid",
        "type=squid,varnish",
        &longest,
    ] {
        let answer = live.get(&format!("/v1/nearest?{query}"));
        assert_eq!(reason(&answer, 400), "range", "{query}");
        assert!(!text(&answer).contains('<'), "{query}");
    }
    for query in
        ["ip=", "n=", "n=5&x=y", "&&&", "=", "ip=0.0.0.0", "ip=::", "n=%35", "ip=::ffff:1.2.3.4"]
    {
        assert_eq!(live.get(&format!("/v1/nearest?{query}")).status, 200, "{query}");
    }
    for path in ["/nearest/99999999999999999999999999", "/nearest/0", "/all/9", "/99999999999/"] {
        assert!([200, 404].contains(&live.get(path).status), "{path}");
    }
    still_answers(&live);
}
