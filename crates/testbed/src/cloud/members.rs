//! The instances that somebody else has at a cloud: those of an Auto Scaling group, or those with a
//! tag. They are looked at; no request that changes anything is made for them.

use std::collections::BTreeMap;

use super::answer::{Filter, Rented};
use super::client::{Cloud, Surroundings, Where};
use super::error::CloudError;
use super::groups::Groups;

/// How many instances are asked for by their ids in one request.
const AT_ONCE: usize = 100;
/// The most instances that are followed.
const MOST: usize = 10_000;

/// Whose instances are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    /// Those of the Auto Scaling group of this name.
    Group(String),
    /// Those with a tag of this key and value.
    Tag(String, String),
}

/// The running instances of a group, or with a tag.
pub struct Members {
    cloud: Cloud,
    by: By,
}

/// How instances are found.
enum By {
    /// The group tells their ids.
    Group(Box<Groups>, String),
    /// The cloud knows their tags.
    Tag(Filter),
}

impl Members {
    /// Instances of which nothing was asked yet. `scaling` is the endpoint of the Auto Scaling API,
    /// where it is another one than that of `at`.
    ///
    /// # Errors
    /// An endpoint that cannot be used; a tag at a cloud that has none.
    pub fn new(
        whose: Whose,
        (at, scaling): (Where, Option<String>),
        surroundings: Surroundings,
    ) -> Result<Self, CloudError> {
        let by = match whose {
            Whose::Group(name) => {
                let endpoint = scaling.or_else(|| at.endpoint.clone());
                let at = Where { endpoint, ..at.clone() };
                By::Group(Box::new(Groups::new(at, surroundings)?), name)
            }
            Whose::Tag(..) if !at.has_tags() => {
                return Err(CloudError::Wrong(format!(
                    "follow a tag: the version {} of the API has no tags",
                    at.api_version
                )));
            }
            Whose::Tag(key, value) => By::Tag(Filter::tag(&key, &value)),
        };
        Ok(Self { cloud: Cloud::new(at, surroundings)?, by })
    }

    /// Where the cloud is.
    #[must_use]
    pub fn at(&self) -> &Where {
        self.cloud.at()
    }

    /// Looks for the first time: a request is repeated where that may help, until that is ended.
    ///
    /// # Errors
    /// Credentials that cannot be had; a group that there is not, with those that there are; where
    /// the cloud refuses, or does not answer in time.
    pub fn begin(&self, is_ended: &dyn Fn() -> bool) -> Result<Vec<Rented>, CloudError> {
        self.cloud.check_credentials()?;
        match (self.running(is_ended), &self.by) {
            (Err(CloudError::NoGroup { name, region, .. }), By::Group(groups, _)) => {
                Err(CloudError::NoGroup { name, region, others: groups.some() })
            }
            (found, _) => found,
        }
    }

    /// Looks once more, without repeating anything.
    ///
    /// # Errors
    /// As for [`Members::begin`].
    pub fn look(&self) -> Result<Vec<Rented>, CloudError> {
        self.running(&|| true)
    }

    fn running(&self, is_ended: &dyn Fn() -> bool) -> Result<Vec<Rented>, CloudError> {
        let runs = Filter::new("instance-state-name", &["running"]);
        let mut found = BTreeMap::new();
        let mut ask = |filter: Filter| -> Result<(), CloudError> {
            let some = self.cloud.described(&[filter, runs.clone()], is_ended)?;
            found.extend(some.into_iter().map(|of| (of.id.clone(), of)));
            within(found.len())
        };
        match &self.by {
            By::Tag(tag) => ask(tag.clone())?,
            By::Group(groups, name) => {
                let ids = groups.in_service(name, is_ended)?;
                within(ids.len())?;
                // A group without instances asks for none: a request without ids asks for all.
                for ids in ids.chunks(AT_ONCE) {
                    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
                    ask(Filter::new("instance-id", &ids))?;
                }
            }
        }
        Ok(found.into_values().collect())
    }
}

/// Refuses what would be too many.
fn within(count: usize) -> Result<(), CloudError> {
    match count <= MOST {
        true => Ok(()),
        false => Err(CloudError::Wrong(format!("follow {count} instances: at most {MOST} can be"))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn members(whose: Whose, endpoint: &str, version: &str) -> Result<Members, CloudError> {
        let at = Where {
            endpoint: Some(endpoint.to_owned()),
            region: "us-east-1".to_owned(),
            api_version: version.to_owned(),
            profile: None,
        };
        let environment = |name: &str| (name == "AWS_EC2_METADATA_DISABLED").then(|| "true".into());
        Members::new(whose, (at, None), Surroundings { environment, now_ns: || 0 })
    }

    #[test]
    fn what_cannot_be_followed_is_refused_before_anything_is_asked() {
        let (group, tag) = (Whose::Group("web".into()), Whose::Tag("role".into(), "web".into()));
        for whose in [group.clone(), tag.clone()] {
            let far = members(whose, "http://cloud.example/", "2016-11-15").err().unwrap();
            assert!(far.to_string().contains("plain http"), "{far}");
        }
        let old = members(tag, "http://127.0.0.1:1/", "2009-11-30").err().unwrap();
        assert!(old.to_string().contains("has no tags"), "{old}");
        let without = members(group, "http://127.0.0.1:1/", "2016-11-15").unwrap();
        let error = without.begin(&|| false).unwrap_err();
        assert!(matches!(error, CloudError::Credentials(_)), "{error}");
    }

    /// Answers each request by what it is given: the number of the request, and its body. Returns
    /// where it listens, and how many requests there were.
    fn server(
        answers: impl Fn(usize, &str) -> (u16, String) + Send + 'static,
    ) -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = format!("http://{}/", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (mut read, mut block) = (Vec::new(), [0; 4096]);
                // The body is shorter than a block, and ends what is sent.
                while !String::from_utf8_lossy(&read).contains("Action=") {
                    let got = stream.read(&mut block).unwrap();
                    read.extend_from_slice(&block[..got]);
                }
                let number = count.fetch_add(1, Ordering::SeqCst);
                let (status, text) = answers(number, &String::from_utf8_lossy(&read));
                let length = text.len();
                let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n");
                // Who has read enough has gone.
                let _ = stream.write_all(format!("{head}{text}").as_bytes());
            }
        });
        (at, asked)
    }

    fn groups(ids: &[&str], next: &str) -> String {
        let one = |id: &&str| {
            format!(
                "<member><InstanceId>{id}</InstanceId>\
                 <LifecycleState>InService</LifecycleState></member>"
            )
        };
        let all: String = ids.iter().map(one).collect();
        format!(
            "<R><DescribeAutoScalingGroupsResult><AutoScalingGroups><member>\
             <AutoScalingGroupName>blue</AutoScalingGroupName><Instances>{all}</Instances>\
             </member></AutoScalingGroups><NextToken>{next}</NextToken>\
             </DescribeAutoScalingGroupsResult></R>"
        )
    }

    fn group(name: &str, at: &str) -> Members {
        let environment = |name: &str| {
            let is_key = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"].contains(&name);
            is_key.then(|| "key-of-the-test".to_owned())
        };
        let whose = Whose::Group(name.to_owned());
        let (endpoint, region) = (Some(at.to_owned()), "us-east-1".to_owned());
        let at = Where { endpoint, region, api_version: "2016-11-15".into(), profile: None };
        Members::new(whose, (at, None), Surroundings { environment, now_ns: || 0 }).unwrap()
    }

    #[test]
    fn a_look_repeats_nothing_and_the_first_one_does() {
        let refuses = "<R><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></R>";
        let (at, asked) = server(move |number, _| match number {
            0..3 => (503, refuses.to_owned()),
            _ => (200, groups(&[], "")),
        });
        let members = group("blue", &at);
        let error = members.look().unwrap_err();
        assert_eq!((error.code(), asked.load(Ordering::SeqCst)), ("RequestLimitExceeded", 1));
        // A group without instances has none, and no request asks for all that there are.
        assert_eq!(members.begin(&|| false).unwrap(), []);
        assert_eq!(asked.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn only_what_was_asked_for_is_taken() {
        let (at, _) = server(|_, body| match body.contains("Action=DescribeAutoScalingGroups") {
            true => (200, groups(&["i-1", "i-2", "i-3"], "")),
            false => {
                let one = |id: &str, state: &str| {
                    format!(
                        "<item><instanceId>{id}</instanceId><instanceState><name>{state}</name>\
                         </instanceState><ipAddress>127.0.0.1</ipAddress></item>"
                    )
                };
                // One that stops, one that nobody asked for, and one twice.
                let all = [("i-1", "running"), ("i-2", "stopping"), ("i-9", "running")];
                let all: String = all.iter().chain(&all[..1]).map(|(id, of)| one(id, of)).collect();
                let set = format!("<item><instancesSet>{all}</instancesSet></item>");
                (200, format!("<R><reservationSet>{set}</reservationSet></R>"))
            }
        });
        let found = group("blue", &at).look().unwrap();
        let ids: Vec<&str> = found.iter().map(|of| of.id.as_str()).collect();
        assert_eq!(ids, ["i-1"]);
    }

    #[test]
    fn a_list_without_an_end_is_an_error() {
        let (at, asked) = server(|_, _| (200, groups(&[], "more")));
        let error = group("green", &at).look().unwrap_err().to_string();
        assert!(error.contains("it goes on after 1000 pages"), "{error}");
        assert_eq!(asked.load(Ordering::SeqCst), 1000);
        let (at, _) = server(|_, _| (200, "<a/>".repeat(3_000_000)));
        assert!(group("green", &at).look().is_err());
    }

    #[test]
    fn too_many_are_refused() {
        assert!(within(MOST).is_ok());
        assert!(within(MOST + 1).is_err());
    }
}
