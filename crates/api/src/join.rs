use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a pool's machines become nodes of the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum JoinMethod {
    /// Their image joins by itself: what it needs for that is in it, or comes from the infrastructure.
    #[default]
    Image,
    /// Their user data tells them how. Each machine gets a bootstrap token of its own, which is good for nothing once the
    /// machine is a node.
    UserData,
}

impl JoinMethod {
    /// Whether the image does it, which need not be said.
    pub fn is_image(&self) -> bool {
        *self == Self::Image
    }
}

/// What a machine gets as its user data, with variables to be filled in. Kept out of everything that is printed: people
/// write secrets in it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct UserData(#[schemars(length(min = 1, max = 49152))] pub String);

impl fmt::Debug for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserData({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::UserData;

    #[test]
    fn user_data_is_not_in_what_is_printed_for_debugging() {
        assert_eq!(format!("{:?}", UserData("password: hunter2".to_owned())), "UserData(17 bytes)");
    }
}
