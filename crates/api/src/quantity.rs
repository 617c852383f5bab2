use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

/// A Kubernetes quantity as users write it: `4`, `"500m"`, `16Gi`. Unlike k8s-openapi's type it also takes a
/// plain number, which is what people put into YAML.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ApiQuantity(pub String);

impl ApiQuantity {
    /// The text of the quantity.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ApiQuantity {
    /// The schema of a map whose quantities are not negative. A CEL rule would say it in better words, but over many
    /// entries it costs more than the API server allows.
    pub(crate) fn map_of_non_negative(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "maxProperties": 64,
            "additionalProperties": {
                "x-kubernetes-int-or-string": true,
                "minimum": 0,
                "pattern": r"^\+?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
            },
        })
    }
}

impl fmt::Display for ApiQuantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ApiQuantity {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for ApiQuantity {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl<'de> Deserialize<'de> for ApiQuantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Number(serde_json::Number),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Text(text) => Self(text),
            Written::Number(number) => Self(number.to_string()),
        })
    }
}

impl JsonSchema for ApiQuantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-kubernetes-int-or-string": true,
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::ApiQuantity;

    #[test]
    fn a_plain_number_is_a_quantity() {
        let quantity: ApiQuantity = serde_json::from_str("4").unwrap();
        assert_eq!(quantity.as_str(), "4");
    }

    #[test]
    fn a_quantity_keeps_the_text_it_was_written_with() {
        let quantity: ApiQuantity = serde_json::from_str(r#""1500m""#).unwrap();
        assert_eq!(serde_json::to_string(&quantity).unwrap(), r#""1500m""#);
    }
}
