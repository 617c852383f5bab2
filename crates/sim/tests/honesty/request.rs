use serde_json::Value;

/// A request in which some things stand for what a server has said before: see [`crate::named`].
#[derive(Clone, Debug)]
pub struct Request {
    pub method: &'static str,
    pub path: String,
    pub query: Vec<(&'static str, String)>,
    pub content_type: &'static str,
    pub body: Option<Value>,
}

impl Request {
    pub fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), query: Vec::new(), content_type: "application/json", body: None }
    }

    pub fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    pub fn patch(mut self, kind: &'static str, body: Value) -> Self {
        self.content_type = kind;
        self.body(body)
    }

    pub fn ask(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }
}

pub const JSON: &str = "application/json-patch+json";
pub const MERGE: &str = "application/merge-patch+json";
pub const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub const APPLY: &str = "application/apply-patch+yaml";
