//! The keys of a scenario's tables: what each means, and what it takes.
//!
//! One place a key: the reader refuses by these lists what is none of them, and the schema for
//! editors is made of them.

use plimsoll_workload::scenario::{Compress, Each, OnFailure, RowOrder};

use crate::describe::Describe as _;
use crate::scenario::shape::{Key, Naming, Shape, Table, Verb, key};
use crate::takes::word;

/// The verb of that name.
pub(super) fn verb(name: &str) -> Option<&'static Verb> {
    VERBS.iter().find(|verb| verb.key.name == name)
}

const NAME: Key = key!("name", "What its figures are reported under.", Shape::Line);
const ON_FAILURE: Key = key!(
    "on_failure",
    "What a failed step means: the user's end (the default), nothing more, or the run's end.",
    Shape::Words(|| word::<OnFailure>().schema()),
);
const HEADERS: Key = key!(
    "headers",
    "Headers; a list of values is several lines.",
    Shape::Names(Naming::Free, &Shape::OneOrMore(&Shape::Text)),
);
const PAIRS: Shape = Shape::Names(Naming::Free, &Shape::OneOrMore(&Shape::Text));
const QUERY: Key = key!("query", "Pairs behind the path, encoded.", PAIRS);
const TAKE_KEY: Key = key!(
    "take",
    "What is taken from the answer: variables for the steps that follow.",
    Shape::Names(Naming::Variable, &Shape::Table(&TAKE)),
);
const CHECK_KEY: Key =
    key!("check", "What has to hold of the answer; else the step fails.", Shape::Table(&CHECK));
const ON: Key =
    key!("on", "The connection, by the name that `as` gave it where it was opened.", Shape::Line);
const BINARY: Key = key!(
    "binary",
    "Sends a binary message: the text's own bytes, or those that it encodes (\"base64\").",
    Shape::Either(&[Shape::Switch, Shape::Word("base64")]),
);
const EXPECT_ABOUT: &str = "The messages that are awaited: one, or a list in any order.";
const EXPECT_KEY: Key = key!("expect", EXPECT_ABOUT, Shape::OneOrMore(&Shape::Table(&EXPECT)));
const FOLLOW: Shape = Shape::Whole(0, super::ask::MOST_REDIRECTS);
const STEPS: &str = "The steps within it.";
const TIME_AT: &str = "Where the time stands in the message, in the unit of the key's name.";

/// The bodies, of which a step has one at most.
pub(super) const BODIES: [&str; 5] = ["body", "body_file", "json", "form", "multipart"];

/// What may stand beside the verbs of HTTP.
const ASK: Table = Table {
    keys: &[
        NAME,
        ON_FAILURE,
        HEADERS,
        QUERY,
        key!("body", "The body: a text.", Shape::Text),
        key!("body_file", "The body: the bytes of a file.", Shape::Line),
        key!("json", "The body: JSON, compact and in the file's order.", Shape::Any),
        key!("form", "The body: a form, in the file's order.", PAIRS),
        key!(
            "multipart",
            "The body: a form with files (RFC 7578).",
            Shape::Names(Naming::Free, &Shape::Either(&[Shape::Text, Shape::Table(&PART)])),
        ),
        TAKE_KEY,
        CHECK_KEY,
        key!("follow", "How many redirects are followed.", FOLLOW),
        key!("keep", "How much of the answer is kept to take from and to check.", Shape::Parsed),
    ],
    at_most_one: &BODIES,
    ..Table::NONE
};

/// What may stand beside `connect`.
const CONNECT: Table = Table {
    keys: &[
        NAME,
        ON_FAILURE,
        HEADERS,
        QUERY,
        TAKE_KEY,
        CHECK_KEY,
        key!("as", "The connection's name, where there are several.", Shape::Name),
        key!(
            "protocols",
            "The protocols within the messages that are offered.",
            Shape::OneOrMore(&Shape::Text),
        ),
        key!(
            "compress",
            "Whether compression is offered, of each message alone or with those before.",
            Shape::Words(|| word::<Compress>().schema()),
        ),
        key!(
            "reconnect",
            "Opens the connection again when it is lost; the waits grow from `first` to `most`.",
            Shape::Either(&[Shape::Switch, Shape::Table(&RECONNECT)]),
        ),
    ],
    ..Table::NONE
};

const SEND: &[Key] = &[BINARY, NAME, ON, EXPECT_KEY, ON_FAILURE];
const SUBSCRIBE: &[Key] = &[
    BINARY,
    NAME,
    ON,
    EXPECT_KEY,
    ON_FAILURE,
    key!("key", "What he subscribes to, as broadcasts say it.", Shape::Text),
];
const NOTHING: Table = Table::NONE;
const WITH_STEPS: Table =
    Table { keys: &[key!("steps", STEPS, Shape::Steps)], required: &["steps"], ..Table::NONE };

const fn ask(name: &'static str, about: &'static str) -> Verb {
    Verb { key: key!(name, about, Shape::Line), beside: ASK }
}

/// The verbs, all of them.
pub(super) static VERBS: [Verb; 17] = [
    ask("get", "Requests a path of the target by GET."),
    ask("post", "Requests a path of the target by POST."),
    ask("put", "Requests a path of the target by PUT."),
    ask("patch", "Requests a path of the target by PATCH."),
    ask("delete", "Requests a path of the target by DELETE."),
    ask("head", "Requests a path of the target by HEAD."),
    Verb {
        key: key!("think", "Waits: a distribution of times, such as exp:2s.", Shape::Parsed),
        beside: NOTHING,
    },
    Verb {
        key: key!(
            "loop",
            "Goes through `steps` so many times: 3, \"2..5\" or \"until the end\".",
            Shape::Parsed,
        ),
        beside: WITH_STEPS,
    },
    Verb {
        key: key!(
            "choose",
            "Goes one of several ways, by weight.",
            Shape::List(&Shape::Table(&WAY)),
        ),
        beside: NOTHING,
    },
    Verb {
        key: key!("if", "Goes through `then`, or through `else`.", Shape::Table(&CONDITION)),
        beside: Table {
            keys: &[
                key!("then", "The steps where the condition holds.", Shape::Steps),
                key!("else", "The steps where it does not.", Shape::Steps),
            ],
            required: &["then"],
            ..Table::NONE
        },
    },
    Verb {
        key: key!(
            "group",
            "Goes through `steps`, which are a transaction with figures of its own.",
            Shape::Line,
        ),
        beside: WITH_STEPS,
    },
    Verb {
        key: key!("call", "Goes through the steps of [scenario.NAME].", Shape::Line),
        beside: NOTHING,
    },
    Verb { key: key!("connect", "Opens a WebSocket.", Shape::Line), beside: CONNECT },
    Verb {
        key: key!("send", "Sends a message.", Shape::Text),
        beside: Table { keys: SEND, ..Table::NONE },
    },
    Verb {
        key: key!("subscribe", "Sends a message that makes the user a subscriber.", Shape::Text),
        beside: Table { keys: SUBSCRIBE, required: &["expect"], ..Table::NONE },
    },
    Verb { key: EXPECT_KEY, beside: Table { keys: &[NAME, ON, ON_FAILURE], ..Table::NONE } },
    Verb {
        key: key!("close", "Closes the WebSocket: true, or a code.", CODE),
        beside: Table { keys: &[ON], ..Table::NONE },
    },
];

/// A code by which a client may close.
const CODE: Shape =
    Shape::Either(&[Shape::True, Shape::Plain(1000, 1001), Shape::Plain(3000, 4999)]);

/// The file.
pub(super) static TOP: Table = Table {
    keys: &[
        key!("name", "What the scenario is called.", Shape::Line),
        key!(
            "label",
            "What tells users apart in figures, filled in when each arrives.",
            Shape::Line
        ),
        key!(
            "hosts",
            "The servers beside the target that may be asked.",
            Shape::List(&Shape::Parsed)
        ),
        ON_FAILURE,
        key!("keep", "How much of each answer is kept to take from and to check.", Shape::Parsed),
        key!("follow", "How many redirects each step follows that says nothing else.", FOLLOW),
        key!("clock", "How the server is asked for its time.", Shape::Table(&CLOCK)),
        key!(
            "vars",
            "Variables, and what they hold at the beginning.",
            Shape::Names(Naming::Variable, &Shape::Text),
        ),
        key!(
            "data",
            "Data files, whose columns are {{NAME.COLUMN}}.",
            Shape::Names(Naming::Variable, &Shape::Table(&DATA)),
        ),
        key!("step", "What a user does, step by step.", Shape::Steps),
        key!(
            "on_message",
            "Rules for the messages that no step expects.",
            Shape::List(&Shape::Table(&RULE)),
        ),
        key!(
            "scenario",
            "Steps that others call by their name.",
            Shape::Names(Naming::Name, &Shape::Table(&CALLED)),
        ),
    ],
    required: &["step"],
    ..Table::NONE
};

/// `[data.NAME]`.
pub(super) static DATA: Table = Table {
    keys: &[
        key!("file", "The file: CSV with a row of names.", Shape::Line),
        key!(
            "each",
            "Who has a row: each user (the default), or each step.",
            Shape::Words(|| word::<Each>().schema()),
        ),
        key!(
            "order",
            "The order of the rows: as in the file, drawn, or each row once.",
            Shape::Words(|| word::<RowOrder>().schema()),
        ),
    ],
    required: &["file"],
    ..Table::NONE
};

/// `[scenario.NAME]`.
pub(super) static CALLED: Table =
    Table { keys: &[key!("steps", STEPS, Shape::Steps)], required: &["steps"], ..Table::NONE };

/// A way to choose.
pub(super) static WAY: Table = Table {
    keys: &[
        key!("weight", "How often it is gone, beside the weights of the others.", Shape::Positive),
        key!("steps", STEPS, Shape::Steps),
    ],
    required: &["weight", "steps"],
    ..Table::NONE
};

/// What `if` asks.
pub(super) static CONDITION: Table = Table {
    keys: &[
        key!("var", "The variable.", Shape::Line),
        key!("is", "Whether it is this.", Shape::Text),
        key!("matches", "Whether this regular expression matches it.", Shape::Parsed),
        key!("set", "Whether it has a value.", Shape::Switch),
    ],
    required: &["var"],
    at_most_one: &["is", "matches", "set"],
    is_one_needed: true,
    ..Table::NONE
};

/// A part of a form with files.
pub(super) static PART: Table = Table {
    keys: &[key!("file", "The file.", Shape::Line), key!("type", "Its media type.", Shape::Line)],
    required: &["file"],
    ..Table::NONE
};

/// What can be taken from.
pub(super) const SOURCES: [&str; 5] = ["json", "regex", "css", "header", "cookie"];

/// A variable that is taken.
pub(super) static TAKE: Table = Table {
    keys: &[
        key!("json", "From JSON: where it stands.", Shape::Pointer),
        key!("regex", "From text: a regular expression, and its first group.", Shape::Parsed),
        key!("css", "From HTML: a CSS selector.", Shape::Parsed),
        key!("header", "From a header.", Shape::Parsed),
        key!("cookie", "From a cookie.", Shape::Parsed),
        key!("attribute", "Of what `css` finds, this attribute.", Shape::Line),
        key!(
            "which",
            "Which one of several: a number from 1, `last` or `random`.",
            Shape::Either(&[Shape::Whole(1, u32::MAX as u64), Shape::Line]),
        ),
        key!(
            "default",
            "What stands for what is not found; without it the step fails.",
            Shape::Text
        ),
    ],
    at_most_one: &SOURCES,
    is_one_needed: true,
    goes_with: &[("attribute", "css")],
    ..Table::NONE
};

const JSON_TESTS: Key = key!(
    "json",
    "Values of JSON by their places; { min, max, exists } are bounds.",
    Shape::Names(Naming::Pointer, &Shape::BoundsOrValue),
);
const CONTAINS: Key = key!("contains", "Texts that are in it.", Shape::OneOrMore(&Shape::Text));
const NOT_CONTAINS: Key =
    key!("not_contains", "Texts that are not in it.", Shape::OneOrMore(&Shape::Text));
const MATCHES: Key = key!("matches", "A regular expression that matches it.", Shape::Parsed);

/// What has to hold of an answer.
pub(super) static CHECK: Table = Table {
    keys: &[
        key!("status", "The statuses that are right, such as \"200, 301-303\".", Shape::Parsed),
        CONTAINS,
        NOT_CONTAINS,
        MATCHES,
        JSON_TESTS,
        key!("header", "Texts that headers have.", Shape::Names(Naming::Free, &Shape::Text)),
        key!("time", "A bound of its time, such as \"<300ms\".", Shape::Parsed),
    ],
    ..Table::NONE
};

/// What a message is.
pub(super) static MESSAGE: Table =
    Table { keys: &[JSON_TESTS, CONTAINS, NOT_CONTAINS, MATCHES], ..Table::NONE };

/// Bounds of a value of JSON.
pub(super) static BOUNDS: Table = Table {
    keys: &[
        key!("min", "The least it may be.", Shape::Number),
        key!("max", "The most it may be.", Shape::Number),
        key!("exists", "Whether it is there.", Shape::Switch),
    ],
    ..Table::NONE
};

/// An entry of `expect`.
pub(super) static EXPECT: Table = Table {
    keys: &[
        NAME,
        JSON_TESTS,
        CONTAINS,
        NOT_CONTAINS,
        MATCHES,
        key!("within", "The longest time from sending.", Shape::Parsed),
        key!("count", "So many messages.", Shape::Whole(1, super::exchange::MOST_MESSAGES)),
        TAKE_KEY,
    ],
    ..Table::NONE
};

/// `[[on_message]]`.
pub(super) static RULE: Table = Table {
    keys: &[
        NAME,
        ON,
        key!("when", "The messages that it is for; without it all.", Shape::Table(&MESSAGE)),
        TAKE_KEY,
        key!("send", "The message that answers.", Shape::Text),
        BINARY,
        key!("broadcast", "Takes it for a broadcast, and measures it.", Shape::Table(&BROADCAST)),
        key!("close", "Closes the connection then: true, or a code.", CODE),
    ],
    goes_with: &[("binary", "send")],
    ..Table::NONE
};

/// The waits of `reconnect`.
pub(super) static RECONNECT: Table = Table {
    keys: &[
        key!("first", "The bound of the first wait.", Shape::Parsed),
        key!("most", "The bound that it doubles up to.", Shape::Parsed),
    ],
    ..Table::NONE
};

/// What is measured of a broadcast.
pub(super) static BROADCAST: Table = Table {
    keys: &[
        key!("published_ns", TIME_AT, Shape::Pointer),
        key!("published_us", TIME_AT, Shape::Pointer),
        key!("published_ms", TIME_AT, Shape::Pointer),
        key!("published_s", TIME_AT, Shape::Pointer),
        key!("sequence", "Where its number stands.", Shape::Pointer),
        key!("key", "Where it says what it is of.", Shape::Pointer),
        key!("skipped", "Where it says how many before it were left out.", Shape::Pointer),
    ],
    at_most_one: &["published_ns", "published_us", "published_ms", "published_s"],
    ..Table::NONE
};

/// `[clock]`.
pub(super) static CLOCK: Table = Table {
    keys: &[
        key!("send", "The message that asks.", Shape::Text),
        key!("answer", "The message that answers.", Shape::Table(&MESSAGE)),
        ON,
        key!("every", "How often it is asked.", Shape::Parsed),
        key!("time_ns", TIME_AT, Shape::Pointer),
        key!("time_us", TIME_AT, Shape::Pointer),
        key!("time_ms", TIME_AT, Shape::Pointer),
        key!("time_s", TIME_AT, Shape::Pointer),
    ],
    required: &["send", "answer"],
    at_most_one: &["time_ns", "time_us", "time_ms", "time_s"],
    is_one_needed: true,
    ..Table::NONE
};
