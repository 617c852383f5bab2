//! The two servers.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;
use windlass_sim::api::{Caller, Reply, Server, Watch};
use windlass_testkit::invariants::Writer;

use super::request::Request;

pub const AGENT: &str = "honesty";

/// What a server has answered.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

fn wire(request: &Request) -> http::Request<Bytes> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(request.query.iter().map(|(name, value)| (*name, value.as_str())));
    let body = request.body.as_ref().map(|body| Bytes::from(body.to_string())).unwrap_or_default();
    http::Request::builder()
        .method(request.method)
        .uri(format!("{}?{}", request.path, query.finish()))
        .header(http::header::CONTENT_TYPE, request.content_type)
        .header(http::header::USER_AGENT, format!("{AGENT}/1"))
        .body(body)
        .unwrap()
}

fn read(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}

pub async fn ask_real(client: &Client, request: &Request) -> Answer {
    let response = client.send(wire(request).map(Body::from)).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    Answer { status, body: read(&body) }
}

pub fn ask_simulated(server: &mut Server, request: &Request, now: Timestamp) -> Answer {
    let caller = Caller { writer: Writer::Other, agent: AGENT };
    match server.handle(caller, &wire(request), now) {
        Reply::Answer { status, body } => Answer { status, body: read(&body) },
        Reply::Watch(_) => panic!("{request:?} is a watch"),
    }
}

/// What a watch of the simulated server tells up to now.
pub fn watch_simulated(server: &mut Server, request: &Request, now: Timestamp) -> Vec<Value> {
    let caller = Caller { writer: Writer::Other, agent: AGENT };
    let Reply::Watch(watch) = server.handle(caller, &wire(request), now) else {
        panic!("{request:?} is no watch")
    };
    let mut watch: Watch = watch;
    let lines = server.next_events(&mut watch, server.version()).unwrap();
    lines.iter().map(|line| read(line)).collect()
}

/// What a watch of the real server tells: as many events as are expected, and any that come on top within a moment.
pub async fn watch_real(client: &Client, request: &Request, expected: usize) -> Vec<Value> {
    let response = client.send(wire(request).map(Body::from)).await.unwrap();
    let mut stream = response.into_body().into_data_stream();
    let (mut text, mut events) = (Vec::new(), 0);
    loop {
        let patience = if events < expected { Duration::from_secs(10) } else { Duration::from_millis(150) };
        match timeout(patience, stream.next()).await {
            Ok(Some(Ok(data))) => {
                events += data.split(|byte| *byte == b'\n').count() - 1;
                text.extend_from_slice(&data);
            }
            _ => break,
        }
    }
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(read).collect()
}
