//! How it was counted: what the simulation leaves out, what each step costs, and what the figures
//! mean.

use plimsoll_cache::cluster::Leg;

use super::messages;
use super::shown::Shown;
use crate::document::Block;
use plimsoll_draw::chart::unit::micros;

/// The notes that concern these clusters.
pub(super) fn block(shown: &Shown<'_>) -> Block {
    let fixed = |(word, text): (&str, &str)| (word.to_owned(), text.to_owned());
    let mut all = vec![fixed(SIMPLIFIED), ("Latency model".to_owned(), latency(shown))];
    all.extend([if shown.is_sized() { BYTES } else { MISSES }, ASKED].map(fixed));
    if shown.any(messages) {
        all.push(fixed(MESSAGES));
    }
    if shown.any(|of| of.messages.digests) {
        all.push(fixed(DIGESTS));
    }
    all.extend([DUPLICATES, FULL].map(fixed));
    if shown.any(|of| of.stale_hits + of.confirmed + of.changed) {
        all.push(fixed(LIVES));
    }
    if shown.all.iter().any(|(_, cell)| cell.file.moves.iter().any(Option::is_some)) {
        all.push(fixed(MOVES));
    }
    if !shown.is_sized() {
        all.push(fixed(NO_SIZES));
    }
    Block::Notes(all)
}

/// What each way costs.
fn latency(shown: &Shown<'_>) -> String {
    let latency = shown.about.latency.unwrap_or_default();
    let leg = |(name, leg): (&str, Leg)| {
        let rate = plimsoll_draw::chart::unit::Unit::Bytes.show(leg.bytes_per_s);
        format!("{name} {} and {rate}/s", micros(leg.first_ns as f64 / 1e3))
    };
    let legs = [
        ("memory", latency.memory),
        ("disk", latency.disk),
        ("sibling", latency.sibling),
        ("parent", latency.parent),
        ("origin", latency.origin),
    ];
    format!(
        "Time to the first byte, and bytes a second after that: {}. A response time is the sum of \
         its steps: what comes from a sibling or a parent also costs that one's memory, disk or \
         way to the origin.",
        legs.map(leg).join("; ")
    )
}

const SIMPLIFIED: (&str, &str) = (
    "What is simplified",
    "Requests are served one after the other: none waits for another, and none is merged with one \
     for the same object that is on its way. All siblings are equally far from each other, and so \
     are all parents. No message is lost.",
);

const MISSES: (&str, &str) = (
    "Misses",
    "A miss is an answer that came from the origin, whether a node fetched it or its parent.",
);

const BYTES: (&str, &str) = (
    "Misses and bandwidth saved",
    "A miss is an answer that came from the origin, whether a node fetched it or its parent. The \
     byte miss ratio weighs each by the size of its object. Bandwidth saved is the rest: of the \
     bytes that clients got, those that the origin did not send.",
);

const ASKED: (&str, &str) = (
    "Who is asked",
    "A sibling gives what it holds and fetches nothing for others; a parent fetches what it has \
     not. With ICP and HTCP all of them are asked at every miss: a hit costs the answerer's time \
     to the first byte, and if none has it, the slowest of those asked was waited for. Without a \
     protocol, parents take turns; with CARP the URL's hash chooses the parent.",
);

const MESSAGES: (&str, &str) = (
    "Messages",
    "Queries, answers and digests between caches, in the bytes that Squid 5.7 sends: an ICP query \
     is 25 bytes and the URL, its answer 21 and the URL (RFC 2186); HTCP tests and their answers \
     have Squid's layout of RFC 2756; a digest has 128 bytes and its Bloom filter (Cache Digest, \
     version 5). Headers of UDP, TCP and IP, and answers that carry objects, are not counted.",
);

const DIGESTS: (&str, &str) = (
    "Digests",
    "A digest is what a member held when it was made, as a Bloom filter of MD5 keys. A false hit \
     is an object that it promises and the member has not: since evicted, or bits of others. A \
     missed chance is an object that a neighbour holds and no digest tells of.",
);

const DUPLICATES: (&str, &str) = (
    "Duplicates",
    "An object that n nodes hold at the end is n − 1 duplicates; what parents hold is not counted. \
     They are room that the cluster cannot use for other objects, and answers that a node gives \
     without asking.",
);

const FULL: (&str, &str) = (
    "Full spools",
    "Every replay begins with empty caches. A spool is full once it holds 95% of its capacity. \
     Until the last one is, the state is transient, and what comes after it is counted apart.",
);

const LIVES: (&str, &str) = (
    "Objects that change",
    "A copy is fresh for some time after it came or was confirmed. A stale hit is an answer from a \
     fresh copy whose object had changed by then. A copy that is no longer fresh costs the \
     origin's time to the first byte to be confirmed, and is a miss where the object has changed.",
);

const MOVES: (&str, &str) = (
    "Objects that move",
    "Where a hash chooses the member, one that joins or leaves sends some objects to another \
     member, which has to fetch them anew. Where in the list it joins or leaves makes a difference \
     with Squid's variant of CARP.",
);

const NO_SIZES: (&str, &str) = (
    "Sizes",
    "The trace has no sizes: every object counts one byte, so response times are little more than \
     times to the first byte.",
);
