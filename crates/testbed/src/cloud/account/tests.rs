//! Whose account it is that asks, as its cloud tells it or not.

use super::*;
use crate::cloud::by_hand::{Scripted, none};
use crate::time::hand::Hand;

#[test]
fn the_account_is_the_clouds_word_or_the_keys_name() {
    for account in [Some("123456789012"), None] {
        let cloud = Scripted::of_account(Hand::new(), account, |_, _| none());
        let (found, why) = cloud.cloud().account().unwrap();
        match account {
            Some(number) => {
                assert_eq!((found, why), (Account::Number(number.to_owned()), None));
            }
            None => {
                assert_eq!(found, Account::Key("none".to_owned()));
                assert!(why.is_some_and(|why| why.contains("AccessDenied")));
            }
        }
    }
}

#[test]
fn only_two_numbers_are_surely_two_accounts() {
    let (number, key) =
        (|of: &str| Account::Number(of.to_owned()), |of: &str| Account::Key(of.to_owned()));
    assert!(number("1").is_surely_not(&number("2")));
    for (one, other) in [(number("1"), number("1")), (number("1"), key("a")), (key("a"), key("b"))]
    {
        assert!(!one.is_surely_not(&other) && !other.is_surely_not(&one));
    }
    let text = serde_json::to_string(&number("1")).unwrap();
    assert_eq!(text, "{\"number\":\"1\"}");
}
