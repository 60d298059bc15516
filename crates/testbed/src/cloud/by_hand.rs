//! What is asked of a cloud again, and when, by time that is moved by hand: a server that answers
//! by a script, over a real connection.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{API_VERSION, Cloud, CloudError, Order, Surroundings, Where};
use crate::time::Clock;
use crate::time::hand::Hand;

/// What a script answers: a status and a body.
pub(crate) type Said = (u16, String);

/// A cloud that answers by a script, and when it was asked for what.
pub(crate) struct Scripted {
    pub(crate) at: Where,
    pub(crate) hand: &'static Hand,
    asked: Arc<Mutex<Vec<(String, Duration)>>>,
}

impl Scripted {
    /// One whose script is told the number of the request, from 0, and what it asks for.
    pub(crate) fn begin(
        hand: &'static Hand,
        script: impl FnMut(usize, &str) -> Said + Send + 'static,
    ) -> Self {
        Self::of_account(hand, Some("123456789012"), script)
    }

    /// As [`Scripted::begin`], of an account that is told or not, without asking the script.
    pub(crate) fn of_account(
        hand: &'static Hand,
        account: Option<&'static str>,
        mut script: impl FnMut(usize, &str) -> Said + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}/", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&asked);
        std::thread::spawn(move || {
            let mut number = 0;
            for mut stream in listener.incoming().flatten() {
                let Some(action) = action_of(&mut stream) else { continue };
                let (status, body) = match (action.as_str(), account) {
                    ("GetCallerIdentity", Some(of)) => {
                        (200, format!("<R><Account>{of}</Account></R>"))
                    }
                    ("GetCallerIdentity", None) => refused(403, "AccessDenied"),
                    _ => {
                        let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
                        notes.push((action.clone(), hand.now()));
                        drop(notes);
                        number += 1;
                        script(number - 1, &action)
                    }
                };
                let length = body.len();
                let head = format!("HTTP/1.1 {status} So\r\nContent-Length: {length}\r\n\r\n");
                let _ = stream.write_all((head + &body).as_bytes());
            }
        });
        let (region, api_version) = ("eu-central-1".to_owned(), API_VERSION.to_owned());
        let at = Where { endpoint: Some(endpoint), region, api_version, profile: None };
        Self { at, hand, asked }
    }

    pub(crate) fn cloud(&self) -> Cloud {
        Cloud::new(self.at.clone(), SURROUNDINGS).unwrap().timed(self.hand.time())
    }

    /// What it was asked for so far, and when.
    pub(crate) fn asked(&self) -> Vec<(String, Duration)> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Credentials that open nothing, and a wall clock that stands still.
pub(crate) const SURROUNDINGS: Surroundings = Surroundings {
    environment: |name| {
        ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].contains(&name).then(|| "none".to_owned())
    },
    now_ns: || 1_800_000_000_000_000_000,
};

/// The action of a request whose connection is closed behind it.
fn action_of(stream: &mut TcpStream) -> Option<String> {
    let (mut text, mut bytes) = (String::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut bytes).ok().filter(|read| *read > 0)?;
        text.push_str(&String::from_utf8_lossy(&bytes[..read]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        if body.len() >= length.unwrap_or(0usize) {
            let action = body.split('&').find_map(|pair| pair.strip_prefix("Action="));
            return action.map(str::to_owned);
        }
    }
}

pub(crate) fn refused(status: u16, code: &str) -> Said {
    let error = format!("<Error><Code>{code}</Code><Message>so</Message></Error>");
    (status, format!("<Response><Errors>{error}</Errors></Response>"))
}

/// One instance of a state, as a list of them.
pub(crate) fn instance(state: &str) -> Said {
    let state = format!("<instanceState><name>{state}</name></instanceState>");
    let of =
        format!("<item><instanceId>i-1</instanceId>{state}<ipAddress>10.0.0.1</ipAddress></item>");
    let set = format!("<instancesSet>{of}</instancesSet>");
    (200, format!("<R><reservationSet><item>{set}</item></reservationSet>{set}</R>"))
}

/// A list without an instance or an image.
pub(crate) fn none() -> Said {
    (200, "<R/>".to_owned())
}

fn image(state: &str) -> Said {
    let of = format!("<item><imageId>ami-1</imageId><imageState>{state}</imageState></item>");
    (200, format!("<R><imagesSet>{of}</imagesSet></R>"))
}

const NEVER: &dyn Fn() -> bool = &|| false;

/// The pauses grow from a fifth of a second to a quarter of a minute, half of each by chance; no
/// request begins when two minutes have passed.
#[test]
fn a_busy_cloud_is_asked_again_with_growing_pauses_for_two_minutes() {
    let busy = Scripted::begin(Hand::new(), |_, _| refused(503, "RequestLimitExceeded"));
    let error = busy.cloud().describe(&[]).unwrap_err();
    assert_eq!(error.code(), "RequestLimitExceeded");
    let times: Vec<Duration> = busy.asked().into_iter().map(|(_, at)| at).collect();
    let doubled = (0..).map(|power| Duration::from_millis(200) * (1 << power));
    let pauses = doubled.take(7).chain(std::iter::repeat(Duration::from_secs(15)));
    let mut longest = Duration::ZERO;
    for (two, pause) in times.windows(2).zip(pauses) {
        let waited = two[1] - two[0];
        assert!(waited >= pause / 2 && waited <= pause, "{waited:?} for {pause:?}");
        longest = longest.max(pause);
    }
    let (last, most) = (*times.last().unwrap(), Duration::from_secs(120));
    assert!(last <= most && last + longest >= most, "asked last after {last:?}");
    assert_eq!(busy.hand.now(), last, "nobody waits for what is not asked");
}

#[test]
fn what_a_cloud_refuses_for_good_is_not_asked_again() {
    for code in ["AuthFailure", "UnauthorizedOperation", "InvalidParameterValue"] {
        let sure = Scripted::begin(Hand::new(), move |_, _| refused(400, code));
        assert_eq!(sure.cloud().describe(&[]).unwrap_err().code(), code);
        assert_eq!((sure.asked().len(), sure.hand.now()), (1, Duration::ZERO), "{code}");
    }
}

#[test]
fn a_user_who_ends_it_waits_for_no_pause() {
    let busy = Scripted::begin(Hand::new(), |_, _| refused(503, "RequestLimitExceeded"));
    let error = busy.cloud().run(&Order::default(), &|| true).unwrap_err();
    assert_eq!(error.code(), "RequestLimitExceeded");
    assert_eq!((busy.asked().len(), busy.hand.now()), (1, Duration::ZERO));
}

/// An order of which it is not known whether it was taken: instances with its token are looked for
/// before it is repeated, and where there is one it is not.
#[test]
fn an_order_is_repeated_only_where_no_instance_has_its_token() {
    for taken in [false, true] {
        let cloud = Scripted::begin(Hand::new(), move |number, _| match number {
            0 => refused(500, "InternalError"),
            1 if !taken => none(),
            _ => instance("pending"),
        });
        let of = cloud.cloud().run(&Order::default(), NEVER).unwrap();
        assert_eq!(of.id, "i-1");
        let asked: Vec<String> = cloud.asked().into_iter().map(|(action, _)| action).collect();
        let all = ["RunInstances", "DescribeInstances", "RunInstances"];
        assert_eq!(asked, all[..if taken { 2 } else { 3 }]);
    }
}

#[test]
fn an_image_that_its_cloud_does_not_know_is_waited_for_a_minute() {
    for there_s in [0, 30, 59, 90] {
        let hand = Hand::new();
        let cloud = Scripted::begin(hand, move |_, _| {
            if hand.now() < Duration::from_secs(there_s) { none() } else { image("available") }
        });
        let made = cloud.cloud().image_is_made("ami-1", NEVER);
        let is_known = there_s < 60;
        assert_eq!(made.is_ok(), is_known, "{there_s}: {made:?}");
        if !is_known {
            assert!(matches!(made, Err(CloudError::Gone { .. })), "{made:?}");
            assert!(hand.now() > Duration::from_secs(60), "{:?}", hand.now());
        }
    }
}

/// This host stands still for more than a minute while the cloud is asked for the first time.
#[test]
fn an_image_is_not_gone_because_this_host_stood_still() {
    let hand = Hand::new();
    let cloud = Scripted::begin(hand, move |number, _| {
        if number > 0 {
            return image("available");
        }
        hand.passes(Duration::from_secs(90));
        none()
    });
    cloud.cloud().image_is_made("ami-1", NEVER).unwrap();
    assert_eq!(cloud.asked().len(), 2);
}

#[test]
fn an_image_that_is_never_made_is_given_up_after_an_hour() {
    let hand = Hand::new();
    let cloud = Scripted::begin(hand, |_, _| image("pending"));
    let given_up = cloud.cloud().image_is_made("ami-1", NEVER).unwrap_err();
    assert!(matches!(given_up, CloudError::TooLong { .. }), "{given_up}");
    let last = cloud.asked().last().unwrap().1;
    let hour = Duration::from_secs(3600);
    assert!(last >= hour && last <= hour + Duration::from_secs(15), "{last:?}");
}
