//! A client of the EC2 Query API: few calls, each signed, bounded in size and time, and repeated
//! with growing pauses where the cloud is too busy or does not answer.
//!
//! Source: *Amazon EC2 API Reference* (docs.aws.amazon.com/AWSEC2): Query API, error codes, paging.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use plimsoll_net::http::client::{Answer, Ask, Dial, Limits};
use plimsoll_net::tls::Tls;
use plimsoll_net::url::Url;
use plimsoll_units::failure::chain;
use plimsoll_units::hash::{fnv_1a, mix};

use super::account::Account;
use super::answer::{Filter, Rented, all_match, http_date_s, is_plain};
use super::credentials::{Credentials, Keys};
use super::error::CloudError;
use super::sign::{Scope, Unsigned, escape, headers, stamp};
use super::xml::Element;
use crate::time::{Deadline, Time};

/// The version of the API that is spoken where a plan names none.
pub const API_VERSION: &str = "2016-11-15";
/// From this version on instances get their tags as they are started.
const TAGS_AT_START: &str = "2016-11-15";
/// From this version on answers come in pages.
const PAGES: &str = "2014-02-01";
/// From this version on there are tags and filters.
const TAGS: &str = "2010-08-31";
/// The service, as requests are signed for it.
const EC2: &str = "ec2";
/// How many instances a page has at most.
pub(super) const PAGE: &str = "100";
/// No list has more pages.
pub(super) const MOST_PAGES: usize = 1000;
/// How long one request may take.
const ONE: Duration = Duration::from_secs(20);
/// How long a call may take with all its repetitions.
const CALL: Duration = Duration::from_secs(120);
/// The longest answer.
const ANSWER: usize = 8 << 20;
/// The first pause, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(15));
/// From which difference on a clock is told to be wrong, seconds.
const SKEW_S: i64 = 240;

/// Where a cloud is, as plans and ledgers have it. No secret is in it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Where {
    /// The endpoint, with its path; Amazon's of the region where none is named.
    pub endpoint: Option<String>,
    /// The region.
    pub region: String,
    /// The version of the API.
    pub api_version: String,
    /// The profile whose credentials are used; else those of the environment.
    pub profile: Option<String>,
}

impl Where {
    /// The URL that is asked.
    ///
    /// # Errors
    /// No URL; one that would carry credentials in the open.
    pub fn url(&self) -> Result<Url, CloudError> {
        self.url_of(EC2)
    }

    /// The URL that a service is asked at.
    pub(super) fn url_of(&self, service: &str) -> Result<Url, CloudError> {
        let own = || format!("https://{service}.{}.amazonaws.com/", self.region);
        let text = self.endpoint.clone().unwrap_or_else(own);
        let wrong = |why: &str| CloudError::Wrong(format!("use the endpoint {text}: {why}"));
        let url = Url::parse(&text).map_err(|error| wrong(&error.to_string()))?;
        if !url.secure && !is_near(&url.host) {
            return Err(wrong(
                "plain http is taken only on loopback and in our namespaces; say https://",
            ));
        }
        if url.path.contains('?') {
            return Err(wrong("expected no query"));
        }
        Ok(url)
    }

    /// What the API of this version can do.
    fn can(&self, since: &str) -> bool {
        self.api_version.as_str() >= since
    }

    /// Whether instances have tags.
    #[must_use]
    pub fn has_tags(&self) -> bool {
        self.can(TAGS)
    }
}

/// As people read it.
impl std::fmt::Display for Where {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.endpoint {
            Some(endpoint) => write!(f, "{} at {endpoint}", self.region),
            None => f.write_str(&self.region),
        }
    }
}

/// Whether a host is this one, or in the networks that namespaces of test-beds are in.
fn is_near(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(of)) => {
            let [a, b, ..] = of.octets();
            of.is_loopback() || (a == 10 && (64..128).contains(&b))
        }
        Ok(IpAddr::V6(of)) => of.is_loopback(),
        Err(_) => host == "localhost",
    }
}

/// What clouds are asked with: the environment, for credentials, and the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings {
    /// The value of an environment variable.
    pub environment: fn(&str) -> Option<String>,
    /// Tells nanoseconds since 1970.
    pub now_ns: fn() -> u64,
}

/// What is to be started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Order {
    /// The image.
    pub image: String,
    /// The instance type.
    pub kind: String,
    /// The key pair for people who look into it.
    pub key_pair: Option<String>,
    /// The security group, by its id (`sg-…`) or its name.
    pub security_group: Option<String>,
    /// The zone within the region.
    pub zone: Option<String>,
    /// What its image executes when it starts.
    pub user_data: String,
    /// Its tags.
    pub tags: Vec<(String, String)>,
    /// What makes a repeated order the same one: at most 64 characters.
    pub token: String,
}

/// A cloud.
pub struct Cloud {
    at: Where,
    /// The service that is asked: `ec2`.
    service: &'static str,
    url: Url,
    credentials: Credentials,
    keys: Mutex<Option<Keys>>,
    /// Whose a key is, where that was asked.
    account: Mutex<Option<(String, AccountTold)>>,
    dial: Box<dyn Dial>,
    now_ns: fn() -> u64,
    /// What its pauses and limits are counted by.
    time: Time,
}

/// An account, and why its cloud did not tell it.
type AccountTold = (Account, Option<String>);

/// A list of parameters of a request.
pub(super) type Parameters = Vec<(String, String)>;

pub(super) fn parameter(name: &str, value: &str) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

impl Cloud {
    /// A cloud that nothing was asked of yet.
    ///
    /// # Errors
    /// An endpoint that cannot be used; certificates that cannot be read.
    pub fn new(at: Where, surroundings: Surroundings) -> Result<Self, CloudError> {
        Self::of_service(at, EC2, surroundings)
    }

    /// Another service of a cloud, whose version is that of `at`.
    pub(super) fn of_service(
        at: Where,
        service: &'static str,
        surroundings: Surroundings,
    ) -> Result<Self, CloudError> {
        let Surroundings { environment, now_ns } = surroundings;
        let url = at.url_of(service)?;
        let ca = environment("AWS_CA_BUNDLE").filter(|file| !file.is_empty());
        let dial: Box<dyn Dial> = if url.secure {
            let tls = Tls::new(ca.as_deref().map(std::path::Path::new), None);
            Box::new(tls.map_err(|error| CloudError::Wrong(chain(&error)))?)
        } else {
            Box::new(plimsoll_net::http::client::Plain)
        };
        let credentials = Credentials { environment, profile: at.profile.clone() };
        let (keys, account, time) = (Mutex::default(), Mutex::default(), Time::HOST);
        Ok(Self { at, service, url, credentials, keys, account, dial, now_ns, time })
    }

    /// Another service, asked with the same credentials.
    pub(super) fn of_same(&self, at: Where, service: &'static str) -> Result<Self, CloudError> {
        let (environment, now_ns) = (self.credentials.environment, self.now_ns);
        Ok(Self::of_service(at, service, Surroundings { environment, now_ns })?.timed(self.time))
    }

    /// The name of the key at hand.
    pub(super) fn key_id(&self) -> Result<String, CloudError> {
        Ok(self.keys(false)?.id)
    }

    pub(super) fn known_account(&self, key: &str) -> Option<AccountTold> {
        let held = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().filter(|(of, _)| of == key).map(|(_, told)| told.clone())
    }

    pub(super) fn knows_account(&self, key: String, told: AccountTold) {
        *self.account.lock().unwrap_or_else(PoisonError::into_inner) = Some((key, told));
    }

    /// The same cloud, whose pauses and limits are counted by another clock.
    #[must_use]
    pub fn timed(self, time: Time) -> Self {
        Self { time, ..self }
    }

    /// A limit that begins now.
    pub(crate) fn within(&self, limit: Duration) -> Deadline {
        self.time.within(limit)
    }

    /// Where it is.
    #[must_use]
    pub fn at(&self) -> &Where {
        &self.at
    }

    /// Whether what is made gets its tags as it is made.
    pub(super) fn tags_at_start(&self) -> bool {
        self.at.can(TAGS_AT_START)
    }

    /// Looks for credentials. Nothing is asked of the cloud.
    ///
    /// # Errors
    /// Where there are none.
    pub fn check_credentials(&self) -> Result<(), CloudError> {
        self.keys(false).map(drop)
    }

    fn keys(&self, anew: bool) -> Result<Keys, CloudError> {
        let mut held = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let now_s = (self.now_ns)() / 1_000_000_000;
        if let Some(keys) = held.as_ref().filter(|keys| !anew && !keys.end_soon(now_s)) {
            return Ok(keys.clone());
        }
        let found = self.credentials.find()?;
        *held = Some(found.clone());
        Ok(found)
    }

    /// Sends one request.
    fn once(&self, action: &str, with: &Parameters, keys: &Keys) -> Result<Element, CloudError> {
        let all = [parameter("Action", action), parameter("Version", &self.at.api_version)];
        let pairs = all.iter().chain(with);
        let body: Vec<String> =
            pairs.map(|(name, value)| format!("{}={}", escape(name), escape(value))).collect();
        let body = body.join("&");
        let (host, content_type) = (self.url.authority(), "application/x-www-form-urlencoded");
        let at = stamp((self.now_ns)());
        let scope = Scope { region: &self.at.region, service: self.service, at: &at };
        let of = Unsigned {
            method: "POST",
            path: &self.url.path,
            query: &[],
            host: &host,
            content_type: Some(content_type),
            body: body.as_bytes(),
        };
        let signed = headers(&of, scope, keys);
        let signed: Vec<(&str, &str)> = signed.iter().map(|(a, b)| (*a, b.as_str())).collect();
        let ask = Ask {
            method: "POST",
            url: &self.url,
            headers: &signed,
            body: body.as_bytes(),
            ipv6: None,
        };
        let answer = ask.send(&*self.dial, Limits { total: ONE, answer_bytes: ANSWER });
        let answer = answer.map_err(|error| CloudError::Silent {
            endpoint: host.clone(),
            action: action.to_owned(),
            why: chain(&error),
        })?;
        self.read(action, &answer)
    }

    fn read(&self, action: &str, answer: &Answer) -> Result<Element, CloudError> {
        let text = String::from_utf8_lossy(&answer.body);
        let read = Element::read(&text);
        if answer.status == 200 {
            let wrong = |why: String| CloudError::Answer { action: action.to_owned(), why };
            return read.map_err(|error| wrong(error.to_string()));
        }
        let error = read.ok();
        let part = |name: &str| {
            let found = error.as_ref().and_then(|of| of.find(name));
            // What a cloud says is shown: one line of it, that is no longer than a few.
            let text = found.map(|of| of.text.trim().to_owned()).unwrap_or_default();
            text.chars().filter(|c| !c.is_control()).take(300).collect::<String>()
        };
        let (mut code, mut message) = (part("Code"), part("Message"));
        if code.is_empty() {
            code = match answer.status {
                501 => "NotImplemented",
                500.. => "HTTP",
                _ => "Refused",
            }
            .to_owned();
            message = format!("the status {}", answer.status);
        }
        let is_of_time = ["AuthFailure", "RequestExpired", "SignatureDoesNotMatch"];
        let skew_s = answer
            .header("date")
            .and_then(http_date_s)
            .map(|theirs_s| theirs_s - ((self.now_ns)() / 1_000_000_000).cast_signed())
            .filter(|skew_s| skew_s.abs() > SKEW_S && is_of_time.contains(&code.as_str()));
        Err(CloudError::Refused { action: action.to_owned(), code, message, skew_s })
    }

    /// Asks, and once more with new credentials where those at hand have expired.
    pub(super) fn ask(&self, action: &str, with: &Parameters) -> Result<Element, CloudError> {
        let keys = self.keys(false)?;
        match self.once(action, with, &keys) {
            Err(error) if error.of_credentials() == Some("they have expired") => {
                let anew = self.keys(true)?;
                if anew == keys { Err(error) } else { self.once(action, with, &anew) }
            }
            answer => answer,
        }
    }

    /// Asks again, with growing pauses, as long as that may help and there is time. `between` is
    /// asked before each repetition: what it has found is the answer.
    pub(super) fn call<T>(
        &self,
        (action, with): (&str, &Parameters),
        read: impl Fn(&Element) -> Result<T, CloudError>,
        between: impl Fn(&CloudError) -> Result<Option<T>, CloudError>,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<T, CloudError> {
        let deadline = self.within(CALL);
        let mut pause = PAUSES.0;
        loop {
            let error = match self.ask(action, with).and_then(|answer| read(&answer)) {
                Ok(found) => return Ok(found),
                Err(error) => error,
            };
            let again = error.passes() || error.is_open();
            if !again || is_ended() || deadline.left() <= pause {
                return Err(error);
            }
            if let Some(found) = between(&error)? {
                return Ok(found);
            }
            self.wait(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Waits for a pause, half of it by chance, so that many who wait do not come back at once.
    pub(crate) fn wait(&self, pause: Duration) {
        let draw = mix((self.now_ns)() ^ fnv_1a(self.url.host.as_bytes())) % 1000;
        let share = 0.5 + 0.5 * draw as f64 / 1000.0;
        let waited = self.within(pause.mul_f64(share));
        while !waited.is_over() {
            waited.pause();
        }
    }

    /// Starts one instance. The same order, by its token, is never two instances: where it is not
    /// known whether it was taken, the cloud is asked for instances with that token first.
    ///
    /// # Errors
    /// Where the cloud refuses, or does not answer in time.
    pub fn run(&self, of: &Order, is_ended: &dyn Fn() -> bool) -> Result<Rented, CloudError> {
        let mut with = vec![
            parameter("ImageId", &of.image),
            parameter("InstanceType", &of.kind),
            parameter("MinCount", "1"),
            parameter("MaxCount", "1"),
            parameter("ClientToken", &of.token),
            parameter("InstanceInitiatedShutdownBehavior", "terminate"),
            parameter("UserData", &super::user_data::encoded(&of.user_data)),
        ];
        with.extend(of.key_pair.iter().map(|name| parameter("KeyName", name)));
        with.extend(of.zone.iter().map(|zone| parameter("Placement.AvailabilityZone", zone)));
        with.extend(of.security_group.iter().map(|group| {
            let by = if group.starts_with("sg-") { "SecurityGroupId.1" } else { "SecurityGroup.1" };
            parameter(by, group)
        }));
        let is_at_start = self.tags_at_start();
        if is_at_start && !of.tags.is_empty() {
            with.push(parameter("TagSpecification.1.ResourceType", "instance"));
            with.extend(tags_of("TagSpecification.1.Tag", &of.tags));
        }
        let read = |answer: &Element| {
            let one = answer.items("instancesSet").next().and_then(Rented::read);
            one.ok_or_else(|| CloudError::Answer {
                action: "RunInstances".to_owned(),
                why: "it names no instance".to_owned(),
            })
        };
        let taken = |error: &CloudError| match error.is_open() {
            true => Ok(self.of_token(&of.token)?.into_iter().find(Rented::costs)),
            false => Ok(None),
        };
        let mut found = self.call(("RunInstances", &with), read, taken, is_ended)?;
        if !is_at_start && self.at.has_tags() && self.tag(&found.id, &of.tags).is_ok() {
            found.tags.extend(of.tags.iter().cloned());
        }
        Ok(found)
    }

    /// Gives an instance, or an image, its tags.
    pub(super) fn tag(&self, id: &str, tags: &[(String, String)]) -> Result<(), CloudError> {
        let mut with = vec![parameter("ResourceId.1", id)];
        with.extend(tags_of("Tag", tags));
        self.call(("CreateTags", &with), |_| Ok(()), |_| Ok(None), &|| false)
    }

    /// The instances with a client token, those that have ended among them.
    ///
    /// # Errors
    /// As for [`Cloud::describe`].
    pub fn of_token(&self, token: &str) -> Result<Vec<Rented>, CloudError> {
        self.describe(&[Filter::new("client-token", &[token])])
    }

    /// The instances that hold all of these conditions, page by page. A cloud that knows no filters
    /// tells all, and they are chosen here.
    ///
    /// # Errors
    /// Where the cloud refuses, or does not answer in time.
    pub fn describe(&self, filters: &[Filter]) -> Result<Vec<Rented>, CloudError> {
        self.described(filters, &|| false)
    }

    /// As [`Cloud::describe`]; nothing is repeated any more where that is ended.
    pub(super) fn described(
        &self,
        filters: &[Filter],
        is_ended: &dyn Fn() -> bool,
    ) -> Result<Vec<Rented>, CloudError> {
        let asked = if self.at.has_tags() { filters } else { &[] };
        let found = match self.pages(asked, is_ended) {
            // A filter that this cloud does not know.
            Err(CloudError::Refused { code, .. })
                if !asked.is_empty()
                    && !code.contains("NotFound")
                    && (code.contains("Filter")
                        || code.contains("Invalid")
                        || code.contains("NotImplemented")
                        || code.contains("Unsupported")) =>
            {
                self.pages(&[], is_ended)?
            }
            Err(error) if error.code().starts_with("InvalidInstanceID") => Vec::new(),
            found => found?,
        };
        all_match(found, filters).map_err(CloudError::Wrong)
    }

    fn pages(
        &self,
        filters: &[Filter],
        is_ended: &dyn Fn() -> bool,
    ) -> Result<Vec<Rented>, CloudError> {
        let mut with = Vec::new();
        for (at, filter) in filters.iter().enumerate() {
            with.push(parameter(&format!("Filter.{}.Name", at + 1), &filter.name));
            with.extend(filter.values.iter().enumerate().map(|(number, value)| {
                parameter(&format!("Filter.{}.Value.{}", at + 1, number + 1), value)
            }));
        }
        if self.at.can(PAGES) {
            with.push(parameter("MaxResults", PAGE));
        }
        let (mut found, mut next) = (Vec::new(), String::new());
        for _ in 0..MOST_PAGES {
            let mut with = with.clone();
            if !next.is_empty() {
                with.push(parameter("NextToken", &next));
            }
            let read = |answer: &Element| {
                let reservations = answer.items("reservationSet");
                let page: Vec<Rented> = reservations
                    .flat_map(|of| of.items("instancesSet"))
                    .filter_map(Rented::read)
                    .collect();
                Ok((page, answer.at(&["nextToken"]).to_owned()))
            };
            let call = ("DescribeInstances", &with);
            let (page, more) = self.call(call, read, |_| Ok(None), is_ended)?;
            found.extend(page);
            if more.is_empty() {
                return Ok(found);
            }
            next = more;
        }
        Err(CloudError::Answer {
            action: "DescribeInstances".to_owned(),
            why: format!("it goes on after {MOST_PAGES} pages"),
        })
    }

    /// Ends an instance. Returns its state.
    ///
    /// # Errors
    /// One that the cloud does not know: it may be another account's, or too young
    /// (`CloudError::is_unknown`). Where the cloud refuses, or does not answer in time.
    pub fn terminate(&self, id: &str) -> Result<String, CloudError> {
        if !is_plain(id) {
            return Err(CloudError::Wrong(format!("end {id:?}: it is no id of an instance")));
        }
        let with = vec![parameter("InstanceId.1", id)];
        let read = |answer: &Element| {
            let one = answer.items("instancesSet").next();
            let state = one.map(|of| of.at(&["currentState", "name"]).to_owned());
            Ok(state.unwrap_or_default())
        };
        self.call(("TerminateInstances", &with), read, |_| Ok(None), &|| false)
    }
}

/// Tags as parameters below a name.
pub(super) fn tags_of(prefix: &str, tags: &[(String, String)]) -> Parameters {
    let of = |(at, (key, value)): (usize, &(String, String))| {
        let name = |what: &str| format!("{prefix}.{}.{what}", at + 1);
        [(name("Key"), key.clone()), (name("Value"), value.clone())]
    };
    tags.iter().enumerate().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(endpoint: &str) -> Where {
        let endpoint = (!endpoint.is_empty()).then(|| endpoint.to_owned());
        let (region, api_version) = ("eu-central-1".to_owned(), API_VERSION.to_owned());
        Where { endpoint, region, api_version, profile: None }
    }

    #[test]
    fn credentials_are_not_sent_in_the_open() {
        for near in ["http://127.0.0.1:5/a/b", "http://localhost/", "http://10.64.3.1/services"] {
            assert!(at(near).url().is_ok(), "{near}");
        }
        for far in ["http://10.0.0.1/", "http://example.com/", "http://10.128.0.1/", "ftp://a/"] {
            assert!(at(far).url().is_err(), "{far}");
        }
        let own = at("").url().unwrap();
        assert_eq!((own.secure, own.host.as_str()), (true, "ec2.eu-central-1.amazonaws.com"));
        assert_eq!(at("https://cloud.example:8443/services/compute").url().unwrap().port, 8443);
    }

    #[test]
    fn an_older_version_has_neither_pages_nor_tags() {
        let of = |version: &str| Where { api_version: version.to_owned(), ..at("") };
        let can = |of: &Where| [of.has_tags(), of.can(PAGES), of.can(TAGS_AT_START)];
        assert_eq!(can(&of("2009-11-30")), [false, false, false]);
        assert_eq!(can(&of("2013-02-01")), [true, false, false]);
        assert_eq!(can(&of(API_VERSION)), [true, true, true]);
    }
}
