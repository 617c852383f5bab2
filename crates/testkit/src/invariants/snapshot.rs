use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde_json::Value;

use super::settled::{difference, settled};

/// Things that nobody should touch, as they were at some time.
pub struct Foreign {
    client: Client,
    things: Vec<Thing>,
}

struct Thing {
    resource: ApiResource,
    namespace: Option<String>,
    name: String,
    before: Value,
}

impl Foreign {
    /// Begins with nothing.
    pub fn new(client: Client) -> Self {
        Self { client, things: Vec::new() }
    }

    /// Remembers an object as it is on the API server now.
    pub async fn capture<K>(&mut self, object: &K) -> kube::Result<()>
    where
        K: Resource<DynamicType = ()>,
    {
        let resource = ApiResource::erase::<K>(&());
        let (namespace, name) = (object.namespace(), object.name_any());
        let mut thing = Thing { resource, namespace, name, before: Value::Null };
        let found = thing.api(&self.client).get(&thing.name).await?;
        thing.before = thing.settled(&found);
        self.things.push(thing);
        Ok(())
    }

    /// Panics if any of the objects is gone or differs in anything that Kubernetes itself does not change.
    pub async fn assert_unchanged(&self) -> kube::Result<()> {
        let differences = self.differences().await?;
        assert!(differences.is_empty(), "foreign things were touched:\n{}", differences.join("\n"));
        Ok(())
    }

    /// What has become of the objects that are not as they were.
    pub async fn differences(&self) -> kube::Result<Vec<String>> {
        let mut differences = Vec::new();
        for thing in &self.things {
            let found = thing.api(&self.client).get_opt(&thing.name).await?;
            let difference = match found {
                Some(found) => difference(&thing.before, &thing.settled(&found)),
                None => Some("is gone".to_owned()),
            };
            differences
                .extend(difference.map(|what| format!("{} {}: {what}", thing.resource.kind, thing.name)));
        }
        Ok(differences)
    }
}

impl Thing {
    fn api(&self, client: &Client) -> Api<DynamicObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }

    fn settled(&self, object: &DynamicObject) -> Value {
        settled(&self.resource.kind, serde_json::to_value(object).unwrap_or_default())
    }
}
