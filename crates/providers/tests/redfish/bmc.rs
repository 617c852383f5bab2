//! A BMC of our own, which is as strict as the strictest and as slow and forgetful as it is told to be. It has what the
//! emulator lacks: sessions, versions that have to be named, a boot target that holds once, tasks, lists of what may be asked.

use std::collections::{BTreeMap, BTreeSet};
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State as Extracted;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::serve::Listener;
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::effects::Effects;
use crate::host::System;
use crate::lab::{PASSWORD, USERNAME};

/// A BMC with some systems.
#[derive(Debug)]
pub struct Bmc {
    pub address: String,
    /// Who vouches for it, as PEM.
    pub authority: String,
    pub effects: Arc<Effects>,
    state: Mutex<State>,
}

#[derive(Debug)]
pub struct State {
    pub systems: BTreeMap<String, System>,
    pub password: String,
    /// Sessions that are open, and how many there ever were.
    pub sessions: BTreeSet<String>,
    pub logins: usize,
    /// Whether there are sessions at all.
    pub has_sessions: bool,
    /// Whether it answers by and by.
    pub has_tasks: bool,
    /// What such tasks end with.
    pub tasks_end: &'static str,
    tasks: BTreeMap<String, usize>,
    /// What goes wrong with which calls: `look`, `boot`, `reset` or `login`, and of which system.
    pub faults: BTreeMap<(&'static str, String), Fault>,
    /// What was done to power, in words.
    pub deeds: Vec<String>,
    /// What was asked in a way in which it may not be.
    pub complaints: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It takes no notice and never answers.
    Hangs,
    /// It does as it is told, and the answer is lost.
    LosesAnswer,
    /// It refuses.
    Answers(u16),
}

impl Bmc {
    pub async fn start(ids: &[&str]) -> Arc<Self> {
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let key = certified.signing_key.serialize_der().try_into().unwrap();
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let state = State {
            systems: ids.iter().map(|&id| (id.to_owned(), System::new())).collect(),
            password: PASSWORD.to_owned(),
            sessions: BTreeSet::new(),
            logins: 0,
            has_sessions: true,
            has_tasks: false,
            tasks_end: "Completed",
            tasks: BTreeMap::new(),
            faults: BTreeMap::new(),
            deeds: Vec::new(),
            complaints: Vec::new(),
        };
        let bmc = Arc::new(Self {
            address: format!("https://{}", listener.local_addr().unwrap()),
            authority: certified.cert.pem(),
            effects: Arc::default(),
            state: Mutex::new(state),
        });
        let app = Router::new().fallback(handle).with_state(Arc::clone(&bmc));
        let listener = Secure { listener, acceptor: TlsAcceptor::from(Arc::new(config)) };
        // It ends with the test's runtime.
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        bmc
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn change(&self, id: &str, change: impl FnOnce(&mut System)) {
        change(self.state().systems.get_mut(id).unwrap());
    }

    pub fn fault(&self, call: &'static str, id: &str, fault: Fault) {
        self.state().faults.insert((call, id.to_owned()), fault);
    }

    pub fn heal(&self) {
        self.state().faults.clear();
    }

    /// The hosts that are on, or will be.
    pub fn on(&self) -> Vec<String> {
        let state = self.state();
        let is_on = |system: &System| system.pending.map_or(system.power, |(_, power)| power) == "On";
        state.systems.iter().filter(|(_, system)| is_on(system)).map(|(id, _)| id.clone()).collect()
    }

    /// A specification of its hosts.
    pub fn spec(&self) -> Value {
        let ids: Vec<String> = self.state().systems.keys().cloned().collect();
        let host = |id: &String| json!({"name": id, "address": self.address, "systemID": id});
        json!({
            "credentialsSecretRef": {"name": "bmc"},
            "tls": {"caBundle": self.authority},
            "powerTimeout": "10m",
            "joinTimeout": "10m",
            "hosts": ids.iter().map(host).collect::<Vec<_>>(),
        })
    }
}

struct Secure {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Secure {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = self.listener.accept().await.unwrap();
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

async fn handle(
    Extracted(bmc): Extracted<Arc<Bmc>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().trim_end_matches('/').to_owned();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let (call, id) = match (method.as_str(), parts.as_slice()) {
        ("GET", ["redfish", "v1", "Systems", id]) => ("look", *id),
        ("PATCH", ["redfish", "v1", "Systems", id]) => ("boot", *id),
        ("POST", ["redfish", "v1", "odd", "place", id, "reset"]) => ("reset", *id),
        ("POST", ["redfish", "v1", "Sessions"]) => ("login", ""),
        _ => ("", ""),
    };
    let fault = bmc.state().faults.get(&(call, id.to_owned())).copied();
    match fault {
        Some(Fault::Hangs) => pending::<()>().await,
        Some(Fault::Answers(status)) => {
            return failure(StatusCode::from_u16(status).unwrap(), &format!("as told, {PASSWORD}"));
        }
        Some(Fault::LosesAnswer) | None => {}
    }
    let answer = bmc.state().answer(call, id, &method, &path, &headers, &body);
    bmc.effects.happened().await;
    if fault == Some(Fault::LosesAnswer) {
        pending::<()>().await;
    }
    answer
}

impl State {
    fn answer(
        &mut self,
        call: &str,
        id: &str,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Response {
        if path == "/redfish/v1" {
            return self.root();
        }
        let is_json = headers.get("content-type").is_some_and(|kind| kind == "application/json");
        let body: Value = match serde_json::from_slice(body) {
            Ok(body) if is_json => body,
            _ if body.is_empty() => Value::Null,
            _ => return self.complain("the body is not said to be JSON"),
        };
        if call == "login" {
            return self.log_in(&body);
        }
        if !self.lets_in(headers) {
            return failure(StatusCode::UNAUTHORIZED, &format!("{PASSWORD} is no password of {USERNAME}"));
        }
        if let Some(session) = path.strip_prefix("/redfish/v1/Sessions/") {
            self.sessions.remove(session);
            return StatusCode::NO_CONTENT.into_response();
        }
        if let Some(task) = path.strip_prefix("/redfish/v1/Tasks/") {
            return self.task(task);
        }
        if path == "/redfish/v1/Systems" {
            let member = |id: &String| json!({"@odata.id": format!("/redfish/v1/Systems/{id}")});
            return answer(&json!({"Members": self.systems.keys().map(member).collect::<Vec<_>>()}));
        }
        if let Some(id) =
            path.strip_prefix("/redfish/v1/odd/place/").and_then(|rest| rest.strip_suffix("/info"))
        {
            let allowed = self.systems[id].allowed.clone();
            return answer(&json!({"Parameters": [{"Name": "ResetType", "AllowableValues": allowed}]}));
        }
        if !self.systems.contains_key(id) {
            return failure(StatusCode::NOT_FOUND, "there is no such resource");
        }
        match call {
            "look" => self.look(id),
            "boot" => self.boot(id, headers, &body),
            "reset" => self.reset(id, &body),
            _ => self.complain(&format!("there is no {method} {path}")),
        }
    }

    fn root(&self) -> Response {
        let mut root = json!({"RedfishVersion": "1.20.1", "Systems": {"@odata.id": "/redfish/v1/Systems"}});
        if self.has_sessions {
            root["Links"] = json!({"Sessions": {"@odata.id": "/redfish/v1/Sessions"}});
        }
        answer(&root)
    }

    fn log_in(&mut self, body: &Value) -> Response {
        if body != &json!({"UserName": USERNAME, "Password": self.password}) {
            return failure(StatusCode::UNAUTHORIZED, &format!("wrong: {body}"));
        }
        self.logins += 1;
        let token = format!("canary-of-a-token-{}", self.logins);
        self.sessions.insert(token.clone());
        let mut response = answer(&json!({}));
        *response.status_mut() = StatusCode::CREATED;
        let location = HeaderValue::from_str(&format!("/redfish/v1/Sessions/{token}")).unwrap();
        response.headers_mut().insert("location", location);
        response.headers_mut().insert("x-auth-token", HeaderValue::from_str(&token).unwrap());
        response
    }

    fn lets_in(&self, headers: &HeaderMap) -> bool {
        if self.has_sessions {
            let token = headers.get("x-auth-token").and_then(|token| token.to_str().ok());
            return token.is_some_and(|token| self.sessions.contains(token));
        }
        let pair = base64::Engine::encode(
            &base64::prelude::BASE64_STANDARD,
            format!("{USERNAME}:{}", self.password),
        );
        headers.get("authorization").is_some_and(|given| *given == *format!("Basic {pair}"))
    }

    fn look(&mut self, id: &str) -> Response {
        let system = self.systems.get_mut(id).unwrap();
        system.tick();
        let mut response = answer(&system.show(id));
        response.headers_mut().insert("etag", HeaderValue::from_str(&system.etag()).unwrap());
        response
    }

    fn boot(&mut self, id: &str, headers: &HeaderMap, body: &Value) -> Response {
        let Some(if_match) = headers.get("if-match") else {
            return failure(StatusCode::PRECONDITION_REQUIRED, "name the version");
        };
        let system = self.systems.get_mut(id).unwrap();
        if *if_match != *system.etag() {
            return failure(StatusCode::PRECONDITION_FAILED, "it has changed");
        }
        let target = body["Boot"]["BootSourceOverrideTarget"].as_str().unwrap_or_default().to_owned();
        let expected =
            json!({"Boot": {"BootSourceOverrideTarget": target, "BootSourceOverrideEnabled": "Once"}});
        if *body != expected || !["Pxe", "UefiHttp"].contains(&target.as_str()) {
            return self.complain(&format!("what is that to boot: {body}"));
        }
        (system.target, system.enabled) = (target, "Once".to_owned());
        system.version += 1;
        self.accepted()
    }

    fn reset(&mut self, id: &str, body: &Value) -> Response {
        let system = self.systems.get_mut(id).unwrap();
        let kind = body["ResetType"].as_str().unwrap_or_default().to_owned();
        let allowed = system.allowed.as_ref().is_none_or(|allowed| allowed.contains(&kind.as_str()));
        if *body != json!({"ResetType": kind}) || !allowed {
            return self.complain(&format!("what is that to do: {body}"));
        }
        self.deeds.push(format!("{kind} {id}"));
        let power = match kind.as_str() {
            "On" | "ForceOn" if system.power == "On" => return failure(StatusCode::CONFLICT, "it is on"),
            "On" | "ForceOn" => Some("On"),
            "GracefulShutdown" if system.is_deaf => None,
            "GracefulShutdown" | "ForceOff" => Some("Off"),
            _ => {
                system.become_("On");
                None
            }
        };
        if let Some(power) = power {
            system.pending = Some((system.inertia, power));
        }
        self.accepted()
    }

    fn accepted(&mut self) -> Response {
        if !self.has_tasks {
            return StatusCode::NO_CONTENT.into_response();
        }
        let task = format!("{}", self.tasks.len());
        let location = HeaderValue::from_str(&format!("/redfish/v1/Tasks/{task}")).unwrap();
        self.tasks.insert(task, 2);
        let mut response = StatusCode::ACCEPTED.into_response();
        response.headers_mut().insert("location", location);
        response
    }

    fn task(&mut self, task: &str) -> Response {
        match self.tasks.get_mut(task) {
            None => failure(StatusCode::NOT_FOUND, "there is no such task"),
            Some(0) => {
                answer(&json!({"TaskState": self.tasks_end, "Messages": [{"Message": "a fuse blew"}]}))
            }
            Some(left) => {
                *left -= 1;
                StatusCode::ACCEPTED.into_response()
            }
        }
    }

    fn complain(&mut self, what: &str) -> Response {
        self.complaints.push(what.to_owned());
        failure(StatusCode::BAD_REQUEST, what)
    }
}

fn answer(body: &Value) -> Response {
    ([("content-type", "application/json")], body.to_string()).into_response()
}

fn failure(status: StatusCode, words: &str) -> Response {
    let message = json!([{"MessageId": "Base.1.0.GeneralError", "Message": words}]);
    let body = json!({"error": {"code": "Base.1.0.GeneralError", "message": "see", "@Message.ExtendedInfo": message}});
    (status, [("content-type", "application/json")], body.to_string()).into_response()
}
