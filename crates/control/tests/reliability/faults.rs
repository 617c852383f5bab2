//! What can go wrong between a controller and its API server: watches that fall silent, requests and answers that get
//! lost. It sits around the controller's client and sees every request.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;
use tower::{BoxError, Service};

/// A request of the controller's.
#[derive(Clone, Debug)]
pub struct Sent {
    pub method: Method,
    pub path: String,
    pub query: String,
    pub body: Value,
}

impl Sent {
    /// Whether the request is for this kind of object, by its plural.
    pub fn concerns(&self, kind: &str) -> bool {
        self.path.split('/').any(|part| part == kind)
    }

    /// Whether the request is to change something.
    pub fn changes(&self) -> bool {
        self.method != Method::GET
    }

    pub fn is_watch(&self) -> bool {
        self.query.split('&').any(|pair| pair == "watch=true")
    }
}

/// What becomes of a request.
pub enum Fate {
    Passes,
    /// It never arrives, and nobody says so.
    NeverSent,
    /// It does not arrive: the connection breaks.
    Broken,
    /// It arrives and has its effect, and the connection breaks before the answer is there.
    AnswerLost,
    /// It is sent once this has happened.
    SentAfter(BoxFuture<'static, ()>),
    /// It is answered once this has happened.
    AnsweredAfter(BoxFuture<'static, ()>),
}

type Decide = Box<dyn FnMut(&Sent) -> Fate + Send>;
type AnyBody = UnsyncBoxBody<Bytes, BoxError>;

/// The faults of one controller's connection, to be changed while it works.
#[derive(Clone)]
pub struct Faults(Arc<State>);

struct State {
    decide: Mutex<Decide>,
    log: Mutex<Vec<Sent>>,
    /// Whether the watches of a kind, by its plural, are silent.
    silent: Mutex<BTreeMap<String, watch::Sender<bool>>>,
    /// The valves of watches that never speak again.
    dead: Mutex<Vec<watch::Sender<bool>>>,
}

impl Default for Faults {
    fn default() -> Self {
        Self(Arc::new(State {
            decide: Mutex::new(Box::new(|_| Fate::Passes)),
            log: Mutex::default(),
            silent: Mutex::default(),
            dead: Mutex::default(),
        }))
    }
}

impl Faults {
    /// Puts the faults around a client.
    pub fn around(&self, client: Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        Client::new(Faulty { client, faults: self.clone() }, namespace)
    }

    /// Decides from now on what becomes of each request.
    pub fn decide(&self, decide: impl FnMut(&Sent) -> Fate + Send + 'static) {
        *self.0.decide.lock().unwrap() = Box::new(decide);
    }

    /// Lets all requests pass from now on.
    pub fn heal(&self) {
        self.decide(|_| Fate::Passes);
    }

    /// Makes the watches of a kind fall silent, or lets them speak again and say what they held back.
    pub fn silence(&self, kind: &str, silent: bool) {
        self.valve(kind).send_replace(silent);
    }

    /// Makes all watches that are open fall silent for good, as connections do whose other end is gone. New ones work.
    pub fn kill_open_watches(&self) {
        for kind in WATCHED {
            self.silence(kind, true);
        }
        let valves = std::mem::take(&mut *self.0.silent.lock().unwrap());
        self.0.dead.lock().unwrap().extend(valves.into_values());
    }

    /// Everything that was asked so far.
    pub fn log(&self) -> Vec<Sent> {
        self.0.log.lock().unwrap().clone()
    }

    /// How many requests there were of a kind with this method.
    pub fn count(&self, method: &Method, kind: &str) -> usize {
        self.log().iter().filter(|sent| sent.method == *method && sent.concerns(kind)).count()
    }

    fn valve(&self, kind: &str) -> watch::Sender<bool> {
        let mut valves = self.0.silent.lock().unwrap();
        valves.entry(kind.to_owned()).or_insert_with(|| watch::Sender::new(false)).clone()
    }
}

/// The plurals of what the controller watches.
pub const WATCHED: [&str; 11] = [
    "pods",
    "nodes",
    "daemonsets",
    "namespaces",
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses",
    "csinodes",
    "nodeproviders",
    "nodepools",
    "nodeclaims",
];

struct Faulty {
    client: Client,
    faults: Faults,
}

impl Service<Request<Body>> for Faulty {
    type Response = Response<AnyBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (client, faults) = (self.client.clone(), self.faults.clone());
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect_bytes().await?;
            let sent = Sent {
                method: parts.method.clone(),
                path: parts.uri.path().to_owned(),
                query: parts.uri.query().unwrap_or_default().to_owned(),
                body: serde_json::from_slice(&body).unwrap_or_default(),
            };
            faults.0.log.lock().unwrap().push(sent.clone());
            let fate = (*faults.0.decide.lock().unwrap())(&sent);
            let passing = client.send(Request::from_parts(parts, Body::from(body)));
            let response = match fate {
                Fate::Passes => passing.await?,
                Fate::NeverSent => std::future::pending().await,
                Fate::Broken => return Err("the connection is broken".into()),
                Fate::AnswerLost => {
                    // All of the answer, so that the effect has surely come about.
                    let _ = passing.await?.into_body().collect_bytes().await;
                    return Err("the connection broke before the answer".into());
                }
                Fate::SentAfter(wait) => {
                    wait.await;
                    passing.await?
                }
                Fate::AnsweredAfter(wait) => {
                    let (parts, body) = passing.await?.into_parts();
                    let body = body.collect_bytes().await?;
                    wait.await;
                    Response::from_parts(parts, Body::from(body))
                }
            };
            let watched = WATCHED.iter().find(|kind| sent.is_watch() && sent.concerns(kind));
            Ok(match watched {
                Some(kind) => response.map(|body| held_by(body, faults.valve(kind).subscribe())),
                None => response.map(|body| body.map_err(Into::into).boxed_unsync()),
            })
        })
    }
}

/// A body of which nothing is heard while the valve is shut.
fn held_by(body: Body, valve: watch::Receiver<bool>) -> AnyBody {
    let frames = stream::unfold((body, valve), async |(mut body, mut valve)| {
        let _ = valve.wait_for(|silent| !silent).await;
        let frame = body.frame().await?;
        let _ = valve.wait_for(|silent| !silent).await;
        Some((frame.map_err(BoxError::from), (body, valve)))
    });
    BodyExt::boxed_unsync(StreamBody::new(frames.boxed()))
}
