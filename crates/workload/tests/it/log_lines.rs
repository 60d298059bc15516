//! Access logs of any length that look like real ones and are the same each time: for the tests,
//! and for `examples/access_log_speed.rs`.

#![expect(clippy::cast_possible_truncation, reason = "small numbers of a generator")]

use std::fmt::Write as _;

use plimsoll_workload::access_log::Format;
use plimsoll_workload::random::Stream;
use plimsoll_workload::request::Zipf;

/// 2026-07-01T00:00:00Z.
pub(crate) const START: i64 = 1_782_864_000;

/// How many URLs the pages of the site have; one request in twenty asks for a search of its own.
const PAGES: u64 = 150_000;

const AGENTS: [&str; 4] = [
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/137.0.0.0 \
     Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like \
     Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (compatible; Examplebot/2.1; +http://example.com/bot.html)",
    "curl/8.14.1",
];

/// Writes line after line of one format.
pub(crate) struct LogLines {
    format: Format,
    stream: Stream,
    pages: Zipf,
    /// Requests a second.
    rate: f64,
    clock_s: f64,
    url: String,
    /// Whether the line that names the fields is written, of a format that has one.
    has_head: bool,
}

impl LogLines {
    /// Lines of a busy site: `rate` requests a second.
    pub(crate) fn new(format: Format, seed: u64, rate: f64) -> Self {
        let stream = Stream::named(seed, "log");
        let pages = Zipf::new(PAGES, 0.8).expect("a sound exponent");
        Self { format, stream, pages, rate, clock_s: 0.0, url: String::new(), has_head: false }
    }

    /// Appends the next line with its end.
    pub(crate) fn push(&mut self, out: &mut String) {
        self.clock_s += self.stream.exponential() / self.rate;
        // Logged when it ends: up to two seconds after it began, so not quite in order.
        let at = START as f64 + self.clock_s + self.stream.uniform() * 2.0;
        let (second, millis) = (at.floor() as i64, (at.fract() * 1000.0) as u32);
        let page = self.pages.sample(&mut self.stream);
        self.url.clear();
        let written = if self.stream.below(20) == 0 {
            let word = self.stream.next_u64();
            write!(self.url, "/search?q={word:x}&page={}", word % 9)
        } else {
            let section = ["articles", "images/products", "api/v2/items"][(page % 3) as usize];
            write!(
                self.url,
                "/{section}/{:05x}/{page}.html",
                page.wrapping_mul(2_654_435_761) >> 12
            )
        };
        written.expect("a string takes everything");
        let ip = self.stream.next_u64();
        let host = format!("10.{}.{}.{}", ip & 255, ip >> 8 & 255, ip >> 16 & 255);
        let method = if self.stream.below(30) == 0 { "POST" } else { "GET" };
        let size = 200 + self.stream.below(50_000);
        let agent = AGENTS[self.stream.below(4) as usize];
        let asked = ServedRequest { second, millis, host, method, url: &self.url, size, agent };
        if self.format == Format::W3c && !self.has_head {
            // The line that names the fields comes first.
            out.push_str("#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status\n");
            self.has_head = true;
        }
        out.push_str(&asked.line(self.format));
        out.push('\n');
    }
}

/// A request as its server knows it.
struct ServedRequest<'a> {
    second: i64,
    millis: u32,
    host: String,
    method: &'a str,
    url: &'a str,
    size: u64,
    agent: &'a str,
}

impl ServedRequest<'_> {
    /// The line that a server writes of it.
    fn line(&self, format: Format) -> String {
        let Self { second, millis, host, method, url, size, agent } = self;
        let common =
            || format!("{host} - - [{}] \"{method} {url} HTTP/1.1\" 200 {size}", clf(*second));
        match format {
            Format::Common => common(),
            Format::Combined => {
                format!("{} \"https://shop.example.com/articles/\" \"{agent}\"", common())
            }
            Format::Squid => format!(
                "{second}.{millis:03} {:6} {host} TCP_MISS/200 {size} {method} \
                 http://shop.example.com{url} - HIER_DIRECT/192.0.2.10 text/html",
                size % 997
            ),
            Format::Json => format!(
                "{{\"remote_addr\":\"{host}\",\"time_iso8601\":\"{}.{millis:03}+00:00\",\
                 \"request_method\":\"{method}\",\"request_uri\":\"{url}\",\"status\":200,\
                 \"body_bytes_sent\":{size},\"request_time\":0.{millis:03},\
                 \"tls\":{{\"version\":\"1.3\",\"ciphers\":[1,2]}},\
                 \"http_user_agent\":\"{agent}\"}}",
                iso(*second)
            ),
            Format::W3c => {
                let (stem, query) = url.split_once('?').unwrap_or((*url, "-"));
                let time = iso(*second).replace('T', " ");
                format!("{time} {host} {method} {stem} {query} 200")
            }
            Format::Haproxy => format!(
                "{host}:40001 [{}.{millis:03}] front back/s1 0/0/0/1/1 200 {size} - - ---- \
                 2/2/0/0/0 0/0 \"{method} {url} HTTP/1.1\"",
                &clf(*second)[..20]
            ),
            Format::Alb => format!(
                "h2 {}.{millis:03}000Z app/front/0 {host}:40001 198.51.100.7:443 0.001 0.015 \
                 0.000 200 200 120 {size} \"{method} https://shop.example.com:443{url} HTTP/2.0\" \
                 \"{agent}\" - -",
                iso(*second)
            ),
            Format::Wikibench => {
                let save = if *method == "GET" { "-" } else { "save" };
                format!("{size} {second}.{millis:03} http://shop.example.com{url} {save}")
            }
        }
    }
}

/// `2026-07-01T00:00:00`.
fn iso(second: i64) -> String {
    let (y, mo, d, h, mi, s) = civil(second);
    format!("{y}-{mo:02}-{d:02}T{h:02}:{mi:02}:{s:02}")
}

/// `01/Jul/2026:00:00:00 +0000`.
fn clf(second: i64) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (y, mo, d, h, mi, s) = civil(second);
    format!("{d:02}/{}/{y}:{h:02}:{mi:02}:{s:02} +0000", MONTHS[mo as usize - 1])
}

/// The date and time of a second after `START`, by counting days from July 2026 on.
fn civil(second: i64) -> (u32, u32, u32, i64, i64, i64) {
    let since = second - START;
    let (mut days, rest) = (since / 86_400, since % 86_400);
    let (mut year, mut month) = (2026, 7);
    loop {
        let leap = i64::from(year % 4 == 0);
        let length = match month {
            2 => 28 + leap,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if days < length {
            break;
        }
        days -= length;
        (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    }
    (year, month, days as u32 + 1, rest / 3600, rest / 60 % 60, rest % 60)
}
