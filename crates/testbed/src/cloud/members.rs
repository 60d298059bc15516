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
    Group(Groups, String),
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
                By::Group(Groups::new(Where { endpoint, ..at.clone() }, surroundings)?, name)
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

    #[test]
    fn too_many_are_refused() {
        assert!(within(MOST).is_ok());
        assert!(within(MOST + 1).is_err());
    }
}
