//! A small proxy before `moto_server`, which stands for clouds as they are: it refuses, falls
//! silent, tells pages of two, knows a repeated order by its token; and behind each instance that
//! moto only pretends, it has a real server on an address of loopback of its own.

use crate::place::{Place, Target, test_name};
use crate::program::{Going, wait_for};
use plimsoll_testing::{free_port, program, skip};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What happens to a request instead of, or after, its being handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is refused by this word.
    Refused(&'static str),
    /// It is done, and its answer is lost.
    Unanswered,
}

/// What a cloud is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As Amazon's: tags, filters, pages of two.
    New,
    /// Below a path, by an older version: neither tags, nor filters, nor pages.
    Old,
}

/// What it has seen, and what is to go wrong.
#[derive(Default)]
pub(crate) struct Books {
    /// The actions that were asked for, with their parameters, in order.
    pub(crate) asked: Vec<(String, BTreeMap<String, String>)>,
    /// What is to happen to the next requests for an action.
    pub(crate) faults: Vec<(&'static str, Fault)>,
    /// How many seconds its clock is before ours.
    pub(crate) skew_s: i64,
    /// So often images are told to be pending still.
    pub(crate) pending_images: u32,
    /// The answers to orders by their tokens.
    orders: BTreeMap<String, Vec<u8>>,
    /// The address of each instance, by its id, and what moto says in its place.
    places: BTreeMap<String, (String, Vec<String>)>,
}

/// The proxy, with moto behind it.
pub(crate) struct Cloud<'a> {
    place: &'a Place,
    _moto: Going,
    port: u16,
    kind: Kind,
    books: Arc<Mutex<Books>>,
    servers: Arc<Mutex<BTreeMap<String, Option<Target>>>>,
}

/// The path of the older kind.
const PATH: &str = "/services/compute";
/// The port of instances, as their recipe has it.
pub(crate) static PORT: LazyLock<u16> = LazyLock::new(free_port);
/// Tells addresses of instances apart.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// The program that pretends to be a cloud; `None`, and reported, where it is not installed.
pub(crate) fn moto() -> Option<String> {
    if let Ok(named) = std::env::var("PLIMSOLL_MOTO") {
        return Some(named);
    }
    let peer = plimsoll_testing::python_peers().join("moto_server");
    let found = if peer.is_file() { Some(peer) } else { program("moto_server") };
    if found.is_none() {
        skip(&test_name(), "moto: no moto_server (make test-tools, or PLIMSOLL_MOTO)");
    }
    found.map(|path| path.display().to_string())
}

impl<'a> Cloud<'a> {
    pub(crate) fn start(place: &'a Place, moto: &str, kind: Kind) -> Self {
        let free = free_port();
        let number = free.to_string();
        let mut going = place.start(place.command(moto, &["-H", "127.0.0.1", "-p", &number]));
        wait_for("moto to listen", || {
            assert!(!going.has_ended(), "{}", going.err());
            TcpStream::connect(("127.0.0.1", free)).ok()
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let books: Arc<Mutex<Books>> = Arc::default();
        let cloud = Self { place, _moto: going, port, kind, books, servers: Arc::default() };
        let books = Arc::clone(&cloud.books);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let books = Arc::clone(&books);
                std::thread::spawn(move || serve(stream, free, kind, &books));
            }
        });
        cloud
    }

    /// Where it is, as plans have it.
    pub(crate) fn endpoint(&self) -> String {
        let path = if self.kind == Kind::Old { PATH } else { "/" };
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next requests for an action go wrong.
    pub(crate) fn will(&self, action: &'static str, faults: &[Fault]) {
        self.books().faults.extend(faults.iter().map(|fault| (action, *fault)));
    }

    /// Starts servers behind instances that have none yet, and ends those of instances that are
    /// gone. Asked again and again while a plan is executed.
    pub(crate) fn serves(&self) {
        let living = self.serves_new();
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, target) in servers.iter_mut() {
            let lives = living.get(id).is_some_and(|state| state == "running");
            if let Some(target) = target.take_if(|_| !lives) {
                drop(target.end());
            }
        }
    }

    /// Starts servers behind instances that have none yet. Returns the state of each instance.
    pub(crate) fn serves_new(&self) -> BTreeMap<String, String> {
        let living = self.states();
        let places: Vec<(String, String)> =
            self.books().places.iter().map(|(id, (at, _))| (id.clone(), at.clone())).collect();
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, address) in places {
            let lives = living.get(&id).is_some_and(|state| state == "running");
            if lives && !servers.contains_key(&id) {
                let at = format!("{address}:{}", *PORT);
                let target = Target::start(self.place, &at, &["--service-time", "const:2ms"]);
                servers.insert(id, Some(target));
            }
        }
        living
    }

    /// The state of each instance, by its id.
    pub(crate) fn states(&self) -> BTreeMap<String, String> {
        let text = self.ask("Action=DescribeInstances&Version=2016-11-15&By=the-test");
        let mut states = BTreeMap::new();
        for part in text.split("<instanceId>").skip(1) {
            let id = part.split('<').next().unwrap();
            let state = between(part, "<instanceState>", "</instanceState>").unwrap();
            states.insert(id.to_owned(), between(state, "<name>", "<").unwrap().to_owned());
        }
        states
    }

    /// How many instances run, or begin to.
    pub(crate) fn living(&self) -> usize {
        let is_living = |state: &&String| ["pending", "running"].contains(&state.as_str());
        self.states().values().filter(is_living).count()
    }

    /// Starts instances of somebody else.
    pub(crate) fn others(&self, count: u32) {
        (0..count).for_each(|number| drop(self.order(&format!("others-{number}"))));
    }

    /// Starts an instance as somebody else would, by a token. Returns its id.
    pub(crate) fn order(&self, token: &str) -> String {
        let answer = self.ask(&format!(
            "Action=RunInstances&Version=2016-11-15&ImageId=ami-12c6146b&MinCount=1&MaxCount=1\
             &InstanceType=m1.small&ClientToken={token}"
        ));
        between(&answer, "<instanceId>", "<").unwrap().to_owned()
    }

    /// Ends an instance as somebody else would.
    pub(crate) fn terminate(&self, id: &str) {
        self.ask(&format!("Action=TerminateInstances&Version=2016-11-15&InstanceId.1={id}"));
    }

    /// Asks as somebody else would.
    pub(crate) fn ask(&self, body: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let length = body.len();
        let head =
            format!("POST /by-the-test HTTP/1.1\r\nHost: t\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }
}

/// What stands between two texts.
fn between<'t>(text: &'t str, from: &str, to: &str) -> Option<&'t str> {
    let rest = &text[text.find(from)? + from.len()..];
    Some(&rest[..rest.find(to)?])
}

/// Reads a message of HTTP: its head, and its body.
fn message(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut read, mut block) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = read.windows(4).position(|of| of == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            let length: usize = length.unwrap_or(0);
            if read.len() >= end + 4 + length {
                return Some((head, read[end + 4..end + 4 + length].to_vec()));
            }
        }
        match stream.read(&mut block) {
            Ok(0) => return None,
            Ok(count) => read.extend_from_slice(&block[..count]),
            // A wait with a limit ends when the process goes on after it was stopped.
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

fn decoded(text: &str) -> String {
    let bytes = plimsoll_net::url::percent_decode(text.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

fn answer(stream: &mut TcpStream, status: &str, date: Option<&str>, body: &[u8]) {
    let date = date.map_or_else(String::new, |date| format!("Date: {date}\r\n"));
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{date}Content-Length: {length}\r\n\r\n");
    let _ = stream.write_all(&[head.as_bytes(), body].concat());
}

fn refuse(stream: &mut TcpStream, code: &str, date: Option<&str>) {
    let status = if code == "RequestLimitExceeded" { "503 Busy" } else { "400 No" };
    let text = format!(
        "<?xml version=\"1.0\"?><Response><Errors><Error><Code>{code}</Code>\
         <Message>said by the test</Message></Error></Errors><RequestID>r</RequestID></Response>"
    );
    answer(stream, status, date, text.as_bytes());
}

/// An older cloud's word against what it does not know.
fn too_new(with: &BTreeMap<String, String>, path: &str) -> Option<&'static str> {
    let action = with.get("Action").map_or("", String::as_str);
    let is_new = |name: &String| {
        name.starts_with("Filter.")
            || name.starts_with("TagSpecification.")
            || name == "MaxResults"
            || name == "NextToken"
    };
    match () {
        () if path != PATH => Some("NotFound"),
        () if with.get("Version").is_none_or(|of| of.as_str() > "2010") => Some("NoSuchVersion"),
        () if action == "CreateTags" => Some("InvalidAction"),
        () if with.keys().any(is_new) => Some("UnknownParameter"),
        () => None,
    }
}

/// Pages of two; and moto knows no filter by token: who asks chooses again.
fn as_moto_knows(with: &mut BTreeMap<String, String>, is_of_test: bool) {
    with.entry("MaxResults".to_owned()).and_modify(|most| "2".clone_into(most));
    with.retain(|name, _| name != "By");
    // It tells all groups, one on a page: who asks chooses.
    if with.remove("AutoScalingGroupNames.member.1").is_some() && !is_of_test {
        with.insert("MaxRecords".to_owned(), "1".to_owned());
    }
    if with.get("Filter.1.Name").is_some_and(|of| of == "client-token") {
        with.retain(|name, _| !name.starts_with("Filter.1."));
    }
}

fn serve(mut stream: TcpStream, moto: u16, kind: Kind, books: &Mutex<Books>) -> Option<()> {
    let (head, body) = message(&mut stream)?;
    let path = head.split_whitespace().nth(1)?.to_owned();
    let text = String::from_utf8_lossy(&body).into_owned();
    let mut with: BTreeMap<String, String> = text
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect();
    let action = with.get("Action")?.clone();
    let is_of_test = path == "/by-the-test";
    let lock = || books.lock().unwrap_or_else(PoisonError::into_inner);
    let mut fault = None;
    if !is_of_test {
        let mut books = lock();
        books.asked.push((action.clone(), with.clone()));
        let at = books.faults.iter().position(|(of, _)| *of == action);
        fault = at.map(|at| books.faults.remove(at).1);
        let skewed = (books.skew_s != 0).then(|| http_date(books.skew_s));
        drop(books);
        if let Some(Fault::Refused(code)) = fault {
            refuse(&mut stream, code, skewed.as_deref());
            return None;
        }
        assert!(head.contains("AWS4-HMAC-SHA256 Credential=AKID"), "{head}");
        assert!(head.contains(&format!("/{}/aws4_request", service(&with))), "{head}");
        if let Some(code) = too_new(&with, &path).filter(|_| kind == Kind::Old) {
            refuse(&mut stream, code, None);
            return None;
        }
    }
    let token = with.get("ClientToken").cloned().unwrap_or_default();
    let known = lock().orders.get(&token).cloned();
    let whole = match known {
        Some(whole) => whole,
        None => {
            as_moto_knows(&mut with, is_of_test);
            handed_on(moto, &with)?
        }
    };
    let mut text = String::from_utf8_lossy(&whole).into_owned();
    if action == "RunInstances" && !token.is_empty() {
        let mut books = lock();
        books.orders.insert(token, whole);
        take_place(&mut books, &text);
    }
    if action == "DescribeInstances" {
        take_places(&mut lock(), &text);
    }
    if action == "DescribeImages" && !is_of_test && lock().pending_images > 0 {
        lock().pending_images -= 1;
        text = text.replace(">available<", ">pending<");
    }
    for (address, own) in lock().places.values() {
        for of in own {
            text = text.replace(&format!(">{of}<"), &format!(">{address}<"));
        }
    }
    if fault == Some(Fault::Unanswered) {
        return None;
    }
    let status = if text.contains("<Errors>") || text.contains("<ErrorResponse") {
        "400 No"
    } else {
        "200 OK"
    };
    answer(&mut stream, status, None, text.as_bytes());
    Some(())
}

/// Gives a new instance an address of loopback of its own.
fn take_place(books: &mut Books, text: &str) -> Option<()> {
    let id = between(text, "<instanceId>", "<")?.to_owned();
    let own = [between(text, "<privateIpAddress>", "<")?, between(text, "<publicIp>", "<")?];
    place(books, &id, own);
    Some(())
}

/// Gives one to each that was started otherwise.
fn take_places(books: &mut Books, text: &str) {
    for part in text.split("<instanceId>").skip(1) {
        let id = part.split('<').next().unwrap_or_default();
        let own = ["<privateIpAddress>", "<ipAddress>"].map(|name| between(part, name, "<"));
        if let [Some(private), Some(public)] = own {
            place(books, id, [private, public]);
        }
    }
}

fn place(books: &mut Books, id: &str, own: [&str; 2]) {
    if books.places.contains_key(id) {
        return;
    }
    let own = own.map(str::to_owned).to_vec();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let part = std::process::id() % 200 + 20;
    let address = format!("127.{part}.{}.{}", number / 250, number % 250 + 1);
    books.places.insert(id.to_owned(), (address, own));
}

/// The service that a request is for.
fn service(with: &BTreeMap<String, String>) -> &'static str {
    let version = with.get("Version").map_or("", String::as_str);
    match version {
        "2011-01-01" => "autoscaling",
        "2011-06-15" => "sts",
        _ => "ec2",
    }
}

/// Asks moto; returns the body of its answer.
fn handed_on(moto: u16, with: &BTreeMap<String, String>) -> Option<Vec<u8>> {
    let escaped = |text: &str| {
        let one = |byte: u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        };
        text.bytes().map(one).collect::<String>()
    };
    let pairs: Vec<String> =
        with.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
    let body = pairs.join("&");
    let scope = format!("Credential=AKID/20260101/us-east-1/{}/aws4_request", service(with));
    let head = format!(
        "POST / HTTP/1.1\r\nHost: ec2.us-east-1.amazonaws.com\r\nConnection: close\r\n\
         Authorization: AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=x\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(("127.0.0.1", moto)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    message(&mut stream).map(|(_, body)| body)
}

/// Now, so many seconds later, as HTTP has it.
fn http_date(later_s: i64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let s = now.as_secs().cast_signed() + later_s;
    let (year, month, day) = plimsoll_units::civil::date(s.div_euclid(86_400));
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let of_day = s.rem_euclid(86_400);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let month = months[month as usize - 1];
    format!("Mon, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}
