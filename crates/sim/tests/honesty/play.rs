use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use windlass_sim::api::Server;
use windlass_testkit::eventually;

use super::bodies::{Kind, Thing};
use super::compare::{difference, restricted};
use super::generate::{Sequence, Step, sequence, setting};
use super::named::Memory;
use super::request::Request;
use super::servers::{Answer, ask_real, ask_simulated, watch_real, watch_simulated};

/// Plays a sequence on both servers; the number of requests that were answered the same way, or how they differ.
pub async fn play(client: Client, seed: u64) -> Result<usize, String> {
    let sequence = sequence(seed);
    let now: Timestamp = "2026-03-04T05:06:07Z".parse().unwrap();
    let mut server = Server::new(seed);
    let mut table = Table { client, server: &mut server, now, memories: <(Memory, Memory)>::default() };
    table.set(&sequence).await;
    let begin = table.versions(&sequence).await;
    for (number, step) in sequence.steps.iter().enumerate() {
        if let Err(why) = table.play(step).await {
            let request = &step.request;
            let body = request.body.as_ref().map(ToString::to_string).unwrap_or_default();
            return Err(format!(
                "request {number}: {} {} {:?} {} {body}\n  {why}",
                request.method, request.path, request.query, request.content_type
            ));
        }
    }
    table.compare_watches(&sequence, &begin).await?;
    Ok(sequence.steps.len())
}

/// Has the server begin to keep what watches need of each kind, which it does at the first request for it.
pub async fn warm_up(client: &Client) {
    for kind in [Kind::Claim, Kind::Pool, Kind::Node, Kind::Pod, Kind::Lease, Kind::Budget, Kind::Namespace] {
        let thing = Thing::new(kind, String::new(), "default");
        eventually("the list", Duration::from_secs(30), async || {
            match ask_real(client, &Request::new("GET", &thing.collection)).await {
                Answer { status: 200, .. } => Ok(()),
                answer => Err(format!("{answer:?}")),
            }
        })
        .await;
    }
    let marker = json!({"metadata": {"name": "marker"}});
    ask_real(client, &Request::new("POST", "/api/v1/namespaces").body(marker)).await;
}

struct Table<'a> {
    client: Client,
    server: &'a mut Server,
    now: Timestamp,
    memories: (Memory, Memory),
}

impl Table<'_> {
    async fn set(&mut self, sequence: &Sequence) {
        let [namespace, account] = setting(&sequence.namespace);
        for request in [&namespace, &account] {
            let answer = ask_real(&self.client, request).await;
            assert_eq!(answer.status, 201, "{answer:?}");
        }
        let answer = ask_simulated(self.server, &namespace, self.now);
        assert_eq!(answer.status, 201, "{answer:?}");
    }

    /// The versions of both servers at the beginning.
    async fn versions(&mut self, sequence: &Sequence) -> (String, String) {
        let list = Request::new("GET", &sequence.things[0].collection).ask("limit", "1");
        let version =
            |answer: Answer| answer.body["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
        let real = version(ask_real(&self.client, &list).await);
        (real, version(ask_simulated(self.server, &list, self.now)))
    }

    async fn play(&mut self, step: &Step) -> Result<(), String> {
        let Step { thing, request } = step;
        if self.takes_too_long(step) {
            return Ok(());
        }
        let real = ask_real(&self.client, &self.memories.0.fill(request)).await;
        let simulated = ask_simulated(self.server, &self.memories.1.fill(request), self.now);
        let path = thing.path();
        for (memory, answer) in [(&mut self.memories.0, &real), (&mut self.memories.1, &simulated)] {
            if answer.status < 300 {
                memory.learn(&path, &answer.body);
            }
        }
        let memories = (&mut self.memories.0, &mut self.memories.1);
        match difference(&real, &simulated, memories, thing.is_ours()) {
            Some(difference) => Err(difference),
            None => nominations(&real, &simulated),
        }
    }

    /// The real server tries for ten seconds whether a precondition of an eviction that no budget can hold up comes to
    /// hold.
    fn takes_too_long(&self, step: &Step) -> bool {
        let request = self.memories.1.fill(&step.request);
        let body = request.body.unwrap_or_default();
        let Some(wanted) = body.pointer("/deleteOptions/preconditions/uid").and_then(Value::as_str) else {
            return false;
        };
        let mut pods = self.server.iter("Pod");
        pods.any(|pod| pod.name() == step.thing.name && pod.uid() != wanted)
    }

    /// What watches that began before the sequence have told.
    async fn compare_watches(&mut self, sequence: &Sequence, begin: &(String, String)) -> Result<(), String> {
        let mut seen: Vec<&str> = Vec::new();
        for thing in &sequence.things {
            if seen.contains(&thing.collection.as_str()) {
                continue;
            }
            seen.push(&thing.collection);
            self.compare_watch(thing, sequence, begin).await?;
        }
        Ok(())
    }

    async fn compare_watch(
        &mut self,
        thing: &Thing,
        sequence: &Sequence,
        begin: &(String, String),
    ) -> Result<(), String> {
        let is_shared = matches!(thing.kind, Kind::Claim | Kind::Pool | Kind::Node | Kind::Namespace);
        let watch = Request::new("GET", &thing.collection).ask("watch", "true").ask("timeoutSeconds", "30");
        let selector = if is_shared { format!("sequence={}", sequence.label) } else { "app".to_owned() };
        let watch = watch.ask("labelSelector", selector);
        let of = |version: &str| watch.clone().ask("resourceVersion", version);
        let simulated = watch_simulated(self.server, &of(&begin.1), self.now);
        let real = watch_real(&self.client, &of(&begin.0), simulated.len()).await;
        let real: Vec<Value> = if thing.is_ours() || real.len() != simulated.len() {
            real
        } else {
            real.iter().zip(&simulated).map(|(real, simulated)| restricted(real, simulated)).collect()
        };
        let (real, simulated) = (json!(real), json!(simulated));
        let named = (self.memories.0.named(&real), self.memories.1.named(&simulated));
        if named.0 == named.1 {
            return Ok(());
        }
        Err(format!(
            "a watch of {}\n  the real server: {}\n  the simulated one: {}",
            thing.collection, named.0, named.1
        ))
    }
}

/// Who has nominated a pod, which is all that is compared of managed fields.
fn nominations(real: &Answer, simulated: &Answer) -> Result<(), String> {
    let nominators = |answer: &Answer| -> Vec<Value> {
        let entries = answer.body["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        let nominate = |entry: &Value| entry.pointer("/fieldsV1/f:status/f:nominatedNodeName").is_some();
        entries.into_iter().filter(nominate).map(|entry| entry["manager"].clone()).collect()
    };
    // When a pod is bound its nomination goes, and the real server does not take note of that in the managed fields.
    if real.body["status"].get("nominatedNodeName").is_none() || nominators(real) == nominators(simulated) {
        return Ok(());
    }
    Err(format!("nominated by {:?} and by {:?}", nominators(real), nominators(simulated)))
}
