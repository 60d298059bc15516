//! Headers through the whole of both implementations, in memory: fields that we encode are those
//! that `h2` decodes, and its answers are read as they were meant.

use super::served::wait_for;
use http::{HeaderName, HeaderValue, Response};
use plimsoll_load::driver::{Driver, Event, Fate, Slot};
use plimsoll_load::http1::encode::Head;
use plimsoll_load::http2::Http2;
use plimsoll_workload::arrivals::Share;
use plimsoll_workload::request::{RenderState, Request, Requests, Template, Url};
use proptest::prelude::*;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

type Fields = Vec<(String, Vec<u8>)>;

/// Sends the requests in turn, each answered by a status and fields; gives what the server read,
/// and what was made of its answers.
async fn exchange(
    list: Vec<Request>,
    answers: Vec<(u16, Fields)>,
    table: u32,
) -> (Vec<(String, Fields)>, Vec<u16>) {
    let (mut near, far) = tokio::io::duplex(1 << 16);
    let count = answers.len();
    let server = tokio::spawn(async move {
        let mut builder = h2::server::Builder::new();
        builder.max_header_list_size(1 << 20).header_table_size(table);
        let mut connection = builder.handshake::<_, bytes::Bytes>(far).await.unwrap();
        let (mut read, mut answers) = (Vec::new(), answers.into_iter());
        while let Some(request) = connection.accept().await {
            let (request, mut respond) = request.unwrap();
            let fields = request.headers().iter();
            let fields = fields.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
            read.push((format!("{} {}", request.method(), request.uri()), fields.collect()));
            let Some((status, fields)) = answers.next() else { break };
            let mut response = Response::builder().status(status).body(()).unwrap();
            for (name, value) in fields {
                let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
                response.headers_mut().append(name, HeaderValue::from_bytes(&value).unwrap());
            }
            respond.send_response(response, true).unwrap();
        }
        read
    });
    let mut requests = Requests::one(list[0].clone());
    requests.list = list;
    let head = Head { user_agent: "plimsoll".into(), host: None, close: false, proxy: None };
    let render = RenderState::new(1, Share { index: 0, of: 1 });
    let length = u32::try_from(requests.list.len()).unwrap();
    let mut driver = Http2::new(Arc::new(requests), head, render, 100, false);
    let mut out = Vec::new();
    let mut connection = driver.open(&mut out);
    let (mut statuses, mut events) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; 4096];
    for slot in 0..u32::try_from(count).unwrap() {
        let mut made = Vec::new();
        let bytes = driver.request(&mut connection, Slot(slot), slot % length, &mut made);
        out.extend_from_slice(bytes);
        while statuses.len() <= slot as usize {
            near.write_all(&out).await.unwrap();
            out.clear();
            let n = near.read(&mut buffer).await.unwrap();
            assert!(n > 0, "the server has closed");
            let fate = driver.receive(&mut connection, &buffer[..n], &mut out, &mut events);
            assert_eq!(fate, Fate::Keep);
            for event in events.drain(..) {
                match event {
                    Event::Done { slot: done, code, .. } if done == Slot(slot) => {
                        statuses.push(code);
                    }
                    Event::FirstByte(_) => {}
                    other => panic!("{other:?}"),
                }
            }
        }
    }
    drop(near);
    (server.await.unwrap(), statuses)
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z][a-z0-9-]{0,30}".prop_map(|name| format!("x-{name}")),
        1 => prop::sample::select(vec![
            "accept-encoding", "cache-control", "cookie", "etag", "x-api-key", "referer", "age",
        ]).prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[ -~]{0,60}".prop_map(|text| text.trim().as_bytes().to_vec()),
        "[ -~]{300,2000}".prop_map(|text| text.trim().as_bytes().to_vec()),
        prop::collection::vec(0x80u8..=0xff, 0..40),
    ]
}

fn fields() -> impl Strategy<Value = Fields> {
    prop::collection::vec((name(), value()), 0..8)
}

fn sorted(mut fields: Fields) -> Fields {
    // A stable order by name: values of one name keep theirs.
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn both_ends_agree(
        asked in prop::collection::vec(("[a-zA-Z0-9/._~-]{0,40}", fields()), 1..4),
        answered in prop::collection::vec((200u16..600, fields()), 1..12),
        table in prop::sample::select(vec![0u32, 64, 200, 4096, 65_536]),
    ) {
        let list: Vec<Request> = asked.iter().map(|(path, fields)| {
            let url = Url::parse(&format!("http://test.example/{path}")).unwrap();
            let mut request = Request::new(url);
            let values = fields.iter().map(|(name, value)| {
                (name.clone(), Template::literal(value.clone()))
            });
            request.headers.extend(values);
            request
        }).collect();
        let expected: Vec<u16> = answered.iter().map(|(status, _)| *status).collect();
        let (read, statuses) = wait_for(exchange(list.clone(), answered, table));
        prop_assert_eq!(statuses, expected);
        for (at, (line, got)) in read.into_iter().enumerate() {
            let (asked, request) = (&asked[at % list.len()], &list[at % list.len()]);
            prop_assert_eq!(line, format!("GET http://test.example{}", request.url.target));
            let mut wanted = asked.1.clone();
            wanted.push(("user-agent".into(), b"plimsoll".to_vec()));
            wanted.push(("accept".into(), b"*/*".to_vec()));
            prop_assert_eq!(sorted(got), sorted(wanted));
        }
    }
}
