//! The way between a replica and the API server: requests take time, fail, get lost on the way there or back, and watches
//! lag and break off. What arrives is answered by the [`Server`](crate::api::Server) at that moment.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::client::Body;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tower::{BoxError, Service};
use windlass_testkit::invariants::Writer;

use crate::api::{Caller, Reply, Watch};
use crate::history::{Failure, Side};
use crate::trouble::Aim;
use crate::world::{ReplicaId, State, World};

/// How long a client waits for an answer before it takes the connection for dead.
const DEAD_CONNECTION: Duration = Duration::from_secs(70);

type Answer = Result<Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError>;

/// A replica's connection to the API server.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) world: Arc<World>,
    pub(crate) replica: ReplicaId,
}

/// What befalls a request.
enum Passage {
    /// It is sent after it has been held up for so long.
    Departs(Duration, Option<Failure>),
    /// It fails after so long, without having arrived.
    Fails(Duration),
    /// Its sender is no more.
    Void,
}

/// What there is for the sender when a request has arrived.
enum Arrival {
    Answered(Reply, Duration),
    Refused(u16, Duration),
    Lost(Duration),
    Void,
}

impl Service<Request<Body>> for Wire {
    type Response = Response<UnsyncBoxBody<Bytes, BoxError>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let wire = self.clone();
        let reads = *request.method() == Method::GET;
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let request = Request::from_parts(head, body.collect_bytes().await?);
            let (held, failure) = match wire.world.with(|state| wire.depart(state, &request)) {
                Passage::Departs(held, failure) => (held, failure),
                Passage::Fails(after) => {
                    sleep(after).await;
                    return Err("connection refused".into());
                }
                Passage::Void => return std::future::pending().await,
            };
            // What waits for its turn is dropped when its sender hangs up.
            sleep(held).await;
            if reads {
                return wire.send(request, failure).await;
            }
            // What is on its way arrives, whether or not its sender still waits for the answer.
            tokio::spawn(async move { wire.send(request, failure).await }).await?
        })
    }
}

impl Wire {
    async fn send(self, request: Request<Bytes>, failure: Option<Failure>) -> Answer {
        sleep(self.world.with(|state| state.latency(5))).await;
        let (reply, back) = match self.world.with(|state| self.arrive(state, &request, failure)) {
            Arrival::Answered(reply, back) => (reply, back),
            Arrival::Refused(status, back) => {
                sleep(back).await;
                return plain(status, refusal(status));
            }
            Arrival::Lost(after) => {
                sleep(after).await;
                return Err("connection reset by peer".into());
            }
            Arrival::Void => return std::future::pending().await,
        };
        sleep(back).await;
        match reply {
            Reply::Answer { status, body } => plain(status, body),
            Reply::Watch(watch) => Ok(self.stream(watch)),
        }
    }

    fn depart(&self, state: &mut State, request: &Request<Bytes>) -> Passage {
        if !state.is_alive(self.replica) {
            return Passage::Void;
        }
        let number = self.replica.number;
        if !state.trouble.api_answers(number, Instant::now()) {
            state.court.count("request into an outage");
            let at_once = state.rng.bool();
            return Passage::Fails(if at_once { state.latency(50) } else { Duration::from_secs(5) });
        }
        let failure = state.trouble.replicas[number].take_failure(aim(request));
        match failure {
            Some(Failure::Unsent) => {
                state.court.count("request never sent");
                Passage::Fails(state.latency(50))
            }
            Some(Failure::Slow) => {
                state.court.count("slow request");
                Passage::Departs(Duration::from_millis(state.rng.u64(2_000..20_000)), None)
            }
            failure => Passage::Departs(Duration::ZERO, failure),
        }
    }

    fn arrive(&self, state: &mut State, request: &Request<Bytes>, failure: Option<Failure>) -> Arrival {
        let reads = *request.method() == Method::GET;
        if reads && !state.is_alive(self.replica) {
            return Arrival::Void;
        }
        let back = state.latency(5);
        if let Some(Failure::Refused(status)) = failure {
            state.court.count_status(status);
            return Arrival::Refused(status, back);
        }
        if let Some(Failure::Late | Failure::LateChange) = failure {
            let changes = failure == Some(Failure::LateChange);
            state.court.count(if changes { "change after a time-out" } else { "effect after a time-out" });
            self.handle_later(state, request.clone());
            return Arrival::Refused(504, back);
        }
        let side = if is_effect(request) { self.world.effect(state, self.replica) } else { None };
        if side == Some(Side::Before) {
            return Arrival::Void;
        }
        let reply = self.handle(state, request);
        match failure {
            _ if side == Some(Side::After) => Arrival::Void,
            Some(Failure::AnswerLost) => {
                state.court.count("answer lost after success");
                let patient = state.rng.u8(..) < 64;
                Arrival::Lost(if patient { DEAD_CONNECTION } else { back })
            }
            _ => Arrival::Answered(reply, back),
        }
    }

    /// Has the API server answer a request.
    fn handle(&self, state: &mut State, request: &Request<Bytes>) -> Reply {
        let caller = Caller { writer: Writer::Windlass, agent: "windlass" };
        let reply = state.server.handle(caller, request, self.world.time.now());
        let (number, method) = (self.replica.number, request.method());
        if let Reply::Answer { status, .. } = &reply
            && *method != Method::GET
            && !request.uri().path().contains("/leases")
        {
            state.trace.note(|| format!("replica {number} {method} {}: {status}", request.uri()));
        }
        reply
    }

    /// Has the API server answer a request when its sender has long been told that it took too long.
    fn handle_later(&self, state: &mut State, request: Request<Bytes>) {
        let (wire, delay) = (self.clone(), Duration::from_millis(state.rng.u64(500..20_000)));
        tokio::spawn(async move {
            sleep(delay).await;
            wire.world.with(|state| wire.handle(state, &request));
        });
    }

    /// What a watch tells, from the version that it was asked from.
    fn stream(self, watch: Watch) -> Response<UnsyncBoxBody<Bytes, BoxError>> {
        let kind = watch.kind().kind;
        let deadline = Instant::now() + watch.timeout();
        let (news, cuts) = self
            .world
            .with(|state| (state.subscribe(kind), state.trouble.replicas[self.replica.number].cuts(kind)));
        let telling =
            Telling { wire: self, watch, news, cuts, deadline, rest: VecDeque::new(), ended: false };
        let body = StreamBody::new(stream::unfold(telling, Telling::next));
        Response::new(body.boxed_unsync())
    }
}

/// A watch under way.
struct Telling {
    wire: Wire,
    watch: Watch,
    news: watch::Receiver<u64>,
    cuts: usize,
    deadline: Instant,
    /// What the API server has sent and has yet to arrive.
    rest: VecDeque<Bytes>,
    ended: bool,
}

/// What a watch has to say when it looks.
enum News {
    Lines(Bytes),
    Nothing,
    /// Nothing before this time.
    Later(Instant),
    BrokenOff,
    Void,
}

impl Telling {
    async fn next(mut self) -> Option<(Result<Frame<Bytes>, BoxError>, Self)> {
        loop {
            if self.ended {
                return None;
            }
            let world = self.wire.world.clone();
            if !self.rest.is_empty() {
                let delay = world.with(|state| state.latency(10));
                sleep(delay).await;
            }
            let wait = match world.with(|state| self.look(state)) {
                News::Lines(lines) => return Some((Ok(Frame::data(lines)), self)),
                News::Nothing => self.deadline,
                News::Later(then) => then.min(self.deadline),
                News::BrokenOff => {
                    self.ended = true;
                    return Some((Err("connection reset by peer".into()), self));
                }
                News::Void => std::future::pending().await,
            };
            tokio::select! {
                biased;
                changed = self.news.changed(), if wait >= self.deadline => {
                    changed.ok()?;
                    let delay = world.with(|state| state.latency(10));
                    sleep(delay).await;
                }
                () = sleep_until(wait) => {
                    if wait >= self.deadline {
                        self.ended = true;
                        let bookmark = world.with(|state| state.server.bookmark(&self.watch));
                        return bookmark.map(|line| (Ok(Frame::data(line)), self));
                    }
                }
            }
        }
    }

    /// Some of what is on its way: much of it comes in several pieces, and whoever watches may act between them.
    fn some(&mut self, state: &mut State) -> Bytes {
        let whole = self.rest.len();
        let count = if whole > 1 && state.rng.bool() { state.rng.usize(1..=whole) } else { whole };
        let lines: Vec<Bytes> = self.rest.drain(..count).collect();
        lines.concat().into()
    }

    fn look(&mut self, state: &mut State) -> News {
        let (number, now) = (self.wire.replica.number, Instant::now());
        let kind = self.watch.kind().kind;
        if !state.is_alive(self.wire.replica) {
            return News::Void;
        }
        let trouble = &state.trouble.replicas[number];
        if trouble.cuts(kind) > self.cuts || !state.trouble.api_answers(number, now) {
            state.court.count("watch cut");
            return News::BrokenOff;
        }
        if let Some(until) = trouble.lags_until(kind, now) {
            state.court.count("watch held up");
            return News::Later(until);
        }
        if !self.rest.is_empty() {
            return News::Lines(self.some(state));
        }
        let visible = state.server.version();
        match state.server.next_events(&mut self.watch, visible) {
            Ok(lines) if lines.is_empty() => News::Nothing,
            Ok(lines) => {
                self.rest.extend(lines);
                News::Lines(self.some(state))
            }
            Err(gone) => {
                state.court.count("watch told 410");
                self.ended = true;
                News::Lines(gone.line())
            }
        }
    }
}

fn aim(request: &Request<Bytes>) -> Aim {
    match *request.method() {
        Method::GET => Aim::Reads,
        _ if !is_effect(request) => Aim::Reports,
        Method::POST => Aim::Makes,
        _ => Aim::Changes,
    }
}

/// A change to the cluster that a claim's life consists of; what only reports is left out.
fn is_effect(request: &Request<Bytes>) -> bool {
    let reports = ["/leases", "/events", "/nodepools", "/nodeproviders"];
    let path = request.uri().path();
    *request.method() != Method::GET && !reports.iter().any(|part| path.contains(part))
}

fn plain(status: u16, body: Bytes) -> Answer {
    let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
    Ok(Response::builder().status(status).body(body)?)
}

/// What the API server says when it cannot serve a request.
fn refusal(status: u16) -> Bytes {
    let reason = match status {
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        _ => "Timeout",
    };
    let body = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "the simulated API server is in trouble", "reason": reason, "code": status,
    });
    body.to_string().into()
}
