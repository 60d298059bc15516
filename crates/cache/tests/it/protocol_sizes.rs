//! Bytes that a simulation counts are bytes that are written.

use plimsoll_cache::protocol::digest::Digest;
use plimsoll_cache::protocol::htcp::{self, Detail, Specifier};
use plimsoll_cache::protocol::{icp, sizes};

#[test]
fn sizes_are_those_of_what_is_encoded() {
    for length in [0, 1, 28, 200, 3_000] {
        let url = vec![b'u'; length];
        let length = length as u64;
        let query = icp::Message::query(1, &url);
        assert_eq!(sizes::icp_query(length), query.encoded_bytes() as u64);
        for body in [icp::Body::Hit, icp::Body::Miss, icp::Body::Denied] {
            assert_eq!(sizes::icp_answer(length), query.answer(body).encoded_bytes() as u64);
        }
        let headers = b"Host: origin.example\r\n";
        let request = Specifier { method: b"HEAD", url: &url, version: b"1.1", headers };
        let body = htcp::Body::Test { answer: true, request };
        let test = htcp::Message { transaction: 1, body, authentication: None };
        let wanted = test.encoded_bytes() as u64;
        assert_eq!(sizes::htcp_query(4, length, 3, headers.len() as u64), wanted);
        let detail = Detail { response: b"Age: 1\r\n", entity: &url, cache: b"" };
        let hit = test.answer(htcp::Body::Hit(detail)).encoded_bytes() as u64;
        assert_eq!(sizes::htcp_hit(8 + length), hit);
        let miss = test.answer(htcp::Body::Miss(Detail::default()));
        assert_eq!((sizes::htcp_miss(), miss.encoded_bytes()), (20, 20));
    }
    for capacity in [1, 452, 10_000] {
        let mut document = Vec::new();
        Digest::new(capacity, 5).unwrap().encode(&mut document);
        assert_eq!(sizes::digest_document(capacity, 5), document.len() as u64);
    }
}
