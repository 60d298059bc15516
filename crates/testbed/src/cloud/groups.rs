//! Auto Scaling groups: which instances one has in service. Groups are looked at and never changed.
//!
//! Source: *Amazon EC2 Auto Scaling API Reference* (docs.aws.amazon.com):
//! DescribeAutoScalingGroups.

use super::answer::is_plain;
use super::client::{Cloud, MOST_PAGES, PAGE, Parameters, Surroundings, Where, parameter};
use super::error::CloudError;
use super::xml::Element;

/// The version of the API.
const VERSION: &str = "2011-01-01";
/// The service, as requests are signed for it.
const SERVICE: &str = "autoscaling";
/// What groups are asked for.
const ACTION: &str = "DescribeAutoScalingGroups";
/// The state of an instance that is to take requests; those that come, leave, or stand by are in
/// others.
const IN_SERVICE: &str = "InService";
/// How many groups are told where one is not there.
const SHOWN: usize = 8;
/// The longest name of a group.
const LONGEST: usize = 255;

/// A group, as its cloud tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    name: String,
    /// The ids of its instances that are in service.
    in_service: Vec<String>,
}

impl Group {
    /// Reads a member of `AutoScalingGroups`; `None` where it has no name that can be shown.
    fn read(of: &Element) -> Option<Self> {
        let name = of.at(&["AutoScalingGroupName"]);
        let is_name = (1..=LONGEST).contains(&name.len()) && !name.chars().any(char::is_control);
        let serves = |one: &&Element| one.at(&["LifecycleState"]) == IN_SERVICE;
        let ids = of.items("Instances").filter(serves).map(|one| one.at(&["InstanceId"]));
        let in_service = ids.filter(|id| is_plain(id)).map(str::to_owned).collect();
        is_name.then(|| Self { name: name.to_owned(), in_service })
    }
}

/// Reads a page of groups, and what asks for the next one: empty where there is none.
fn page(answer: &Element) -> Result<(Vec<Group>, String), CloudError> {
    let Some(of) = answer.get("DescribeAutoScalingGroupsResult") else {
        return Err(CloudError::Answer {
            action: ACTION.to_owned(),
            why: "it has no result".to_owned(),
        });
    };
    let groups = of.items("AutoScalingGroups").filter_map(Group::read).collect();
    Ok((groups, of.at(&["NextToken"]).to_owned()))
}

/// The Auto Scaling groups of a cloud.
pub(super) struct Groups(Cloud);

impl Groups {
    /// Groups of which nothing was asked yet. The version of the API is that of groups, whatever
    /// `at` names.
    ///
    /// # Errors
    /// As for [`Cloud::new`].
    pub(super) fn new(at: Where, surroundings: Surroundings) -> Result<Self, CloudError> {
        let at = Where { api_version: VERSION.to_owned(), ..at };
        Ok(Self(Cloud::of_service(at, SERVICE, surroundings)?))
    }

    /// The ids of the instances that a group has in service. Nothing is repeated any more where
    /// that is ended.
    ///
    /// # Errors
    /// Where there is no such group; where the cloud refuses, or does not answer.
    pub(super) fn in_service(
        &self,
        name: &str,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<Vec<String>, CloudError> {
        let named = [parameter("AutoScalingGroupNames.member.1", name)];
        let mut token = String::new();
        for _ in 0..MOST_PAGES {
            let (groups, next) = self.page(&named, &token, is_ended)?;
            // A cloud that does not know the condition tells all.
            if let Some(group) = groups.into_iter().find(|of| of.name == name) {
                return Ok(group.in_service);
            }
            if next.is_empty() {
                let (name, region) = (name.to_owned(), self.0.at().to_string());
                return Err(CloudError::NoGroup { name, region, others: Vec::new() });
            }
            token = next;
        }
        Err(CloudError::Answer {
            action: ACTION.to_owned(),
            why: format!("it goes on after {MOST_PAGES} pages"),
        })
    }

    /// The names of some groups, for who has named one that is not there.
    pub(super) fn some(&self) -> Vec<String> {
        let groups = self.page(&[], "", &|| true).map(|(groups, _)| groups).unwrap_or_default();
        groups.into_iter().map(|of| of.name).take(SHOWN).collect()
    }

    fn page(
        &self,
        named: &[(String, String)],
        token: &str,
        is_ended: &dyn Fn() -> bool,
    ) -> Result<(Vec<Group>, String), CloudError> {
        let mut with: Parameters = named.to_vec();
        with.push(parameter("MaxRecords", PAGE));
        if !token.is_empty() {
            with.push(parameter("NextToken", token));
        }
        self.0.call((ACTION, &with), page, |_| Ok(None), is_ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(groups: &str, next: &str) -> String {
        format!(
            "<DescribeAutoScalingGroupsResponse \
             xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\">\
             <DescribeAutoScalingGroupsResult><AutoScalingGroups>{groups}</AutoScalingGroups>{next}\
             </DescribeAutoScalingGroupsResult></DescribeAutoScalingGroupsResponse>"
        )
    }

    fn group(name: &str, instances: &[(&str, &str)]) -> String {
        let one = |(id, state): &(&str, &str)| {
            format!(
                "<member><InstanceId>{id}</InstanceId><LifecycleState>{state}</LifecycleState>\
                 <HealthStatus>Healthy</HealthStatus></member>"
            )
        };
        let instances: String = instances.iter().map(one).collect();
        format!(
            "<member><AutoScalingGroupName>{name}</AutoScalingGroupName>\
             <Instances>{instances}</Instances><Tags/></member>"
        )
    }

    fn read(text: &str) -> Result<(Vec<Group>, String), String> {
        let element = Element::read(text).map_err(|error| error.to_string())?;
        page(&element).map_err(|error| error.to_string())
    }

    #[test]
    fn only_instances_in_service_count() {
        let states = [
            ("i-1", "InService"),
            ("i-2", "Pending"),
            ("i-3", "Terminating:Wait"),
            ("i-4", "Standby"),
            ("i-5", "InService"),
        ];
        let (groups, next) = read(&answer(&group("web &amp; more", &states), "")).unwrap();
        assert_eq!((groups.len(), next.as_str()), (1, ""));
        assert_eq!(groups[0].name, "web & more");
        assert_eq!(groups[0].in_service, ["i-1", "i-5"]);
    }

    #[test]
    fn an_empty_list_is_no_group_and_a_token_asks_for_more() {
        assert_eq!(read(&answer("", "")), Ok((Vec::new(), String::new())));
        let (groups, next) =
            read(&answer(&group("a", &[]), "<NextToken>t=&lt;</NextToken>")).unwrap();
        assert_eq!((groups[0].in_service.len(), next.as_str()), (0, "t=<"));
    }

    #[test]
    fn what_is_no_answer_or_no_id_is_not_taken() {
        assert!(read("<ErrorResponse/>").is_err());
        assert!(read("<DescribeAutoScalingGroupsResponse>").is_err());
        let bad = [("i-1; reboot", "InService"), ("", "InService"), ("../i", "InService")];
        let (groups, _) = read(&answer(&group("a", &bad), "")).unwrap();
        assert_eq!(groups[0].in_service, Vec::<String>::new());
        for name in ["", "a\u{1}b", &"x".repeat(256)] {
            let (groups, _) = read(&answer(&group(name, &[]), "")).unwrap();
            assert_eq!(groups, [], "{name:?}");
        }
    }

    #[test]
    fn any_bytes_end_in_groups_or_an_error() {
        let whole = answer(&group("a", &[("i-1", "InService")]), "<NextToken>n</NextToken>");
        for at in 0..whole.len() {
            for byte in [b'<', b'>', b'&', b'/', 0] {
                let mut bytes = whole.as_bytes().to_vec();
                bytes[at] = byte;
                let text = String::from_utf8(bytes).unwrap();
                for (groups, _) in [read(&text), read(&text[..at])].into_iter().flatten() {
                    assert!(groups.iter().flat_map(|of| &of.in_service).all(|id| is_plain(id)));
                }
            }
        }
    }

    #[test]
    fn groups_are_asked_at_a_place_of_their_own() {
        let at = Where {
            endpoint: None,
            region: "eu-central-1".to_owned(),
            api_version: "2016-11-15".to_owned(),
            profile: None,
        };
        let surroundings = Surroundings { environment: |_| None, now_ns: || 0 };
        let groups = Groups::new(at, surroundings).unwrap();
        assert_eq!(groups.0.at().api_version, VERSION);
        let url = groups.0.at().url_of(SERVICE).unwrap();
        assert_eq!(url.host, "autoscaling.eu-central-1.amazonaws.com");
    }
}
