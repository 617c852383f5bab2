//! The fake on the wire: HTTPS on loopback.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::response::Response;
use axum::serve::Listener;
use futures::stream;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::Shared;
use super::calls::Call;
use super::faults::Fault;
use super::schema::Parameters;

const MOST: usize = 8 << 20;

/// Connections that have come about.
pub(super) struct Secured {
    pub listener: TcpListener,
    pub acceptor: TlsAcceptor,
}

impl Listener for Secured {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.listener.accept().await else { continue };
            // Who does not like the certificate goes away, and the next one is listened to.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// Answers a request.
pub(super) async fn answer(shared: Arc<Shared>, request: Request) -> Result<Response, Infallible> {
    let method = request.method().to_string();
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MOST).await.unwrap_or_default();
    let header =
        |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let path = parts.uri.path().trim_start_matches("/api2/json").trim_matches('/').to_owned();
    let path: Vec<String> = path.split('/').map(unescape).collect();
    let mut parameters = pairs(parts.uri.query().unwrap_or_default());
    let content_type = header(CONTENT_TYPE);
    let file = match content_type.split_once("boundary=") {
        Some((_, boundary)) => form(&body, boundary, &mut parameters),
        None => {
            parameters.extend(pairs(&String::from_utf8_lossy(&body)));
            None
        }
    };
    let fault = shared.faults.next();
    let answered = {
        let mut world = shared.world();
        world.tick();
        world.requests.push(format!("{method} {}", path.join("/")));
        if let Some(flaw) = shared.schema.and_then(|schema| schema.flaw(&method, &path, &parameters)) {
            world.violations.push(format!("{method} {}: {flaw}", path.join("/")));
        }
        let token = header(AUTHORIZATION);
        let token = token.strip_prefix("PVEAPIToken=").and_then(|token| token.split_once('='));
        let known =
            token.filter(|(id, secret)| world.tokens.get(*id).is_some_and(|token| token.secret == *secret));
        match (known, fault) {
            (None, _) => {
                Err((401, format!("invalid token value {}!", token.map_or("", |(_, secret)| secret))))
            }
            (_, Some(Fault::Locked)) => {
                Err((500, "can't lock file '/var/lock/qemu-server/lock-1.conf' - got timeout\n".to_owned()))
            }
            (_, Some(Fault::Unreachable)) => Err((596, "Connection timed out".to_owned())),
            (Some((id, _)), fault) => {
                let path = path.iter().map(String::as_str).collect();
                let answer =
                    world.answer(&Call { token: id, method: &method, path, parameters: &parameters, file });
                if let (Some(Fault::TaskFails), Ok(Value::String(upid))) = (fault, &answer)
                    && let Some(task) = world.tasks.get_mut(upid)
                {
                    task.failure = Some("command failed: got signal 9".to_owned());
                }
                answer
            }
        }
    };
    shared.faults.answered().await;
    Ok(if fault == Some(Fault::Lost) { broken() } else { response(answered) })
}

fn response(answer: super::calls::Answer) -> Response {
    let (status, body, reason) = match answer {
        Ok(data) => (200, json!({ "data": data }), None),
        // Older versions say what is wrong beside the status alone, newer ones in the body too.
        Err((status, words)) if status == 403 => (status, json!({"data": null}), Some(words)),
        Err((status, words)) => (status, json!({"data": null, "message": words}), Some(words)),
    };
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let reason =
        reason.and_then(|reason| hyper::ext::ReasonPhrase::try_from(reason.trim().as_bytes().to_vec()).ok());
    if let Some(reason) = reason {
        response.extensions_mut().insert(reason);
    }
    response
}

/// An answer that breaks off.
fn broken() -> Response {
    let parts: [Result<Bytes, std::io::Error>; 2] =
        [Ok(Bytes::from_static(b"{\"da")), Err(std::io::ErrorKind::ConnectionReset.into())];
    Response::new(Body::from_stream(stream::iter(parts)))
}

fn pairs(text: &str) -> Parameters {
    let pair = |part: &str| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (unescape(&key.replace('+', " ")), unescape(&value.replace('+', " ")))
    };
    text.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads a form in several parts: fields become parameters, and what has a file name is the file.
fn form(body: &[u8], boundary: &str, parameters: &mut Parameters) -> Option<Vec<u8>> {
    let separator = format!("--{boundary}");
    let mut file = None;
    let mut rest = &body[find(body, separator.as_bytes())? + separator.len()..];
    while let Some(end) = find(rest, separator.as_bytes()) {
        let (part, after) = (&rest[..end], &rest[end + separator.len()..]);
        if let Some(split) = find(part, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&part[..split]).into_owned();
            let contents = part[split + 4..].strip_suffix(b"\r\n").unwrap_or(&part[split + 4..]);
            let quoted =
                |key: &str| Some(head.split_once(&format!("{key}=\""))?.1.split('"').next()?.to_owned());
            match (quoted(" name"), quoted("filename")) {
                (Some(name), Some(file_name)) => {
                    parameters.push((name, file_name));
                    file = Some(contents.to_vec());
                }
                (Some(name), None) => parameters.push((name, String::from_utf8_lossy(contents).into_owned())),
                (None, _) => {}
            }
        }
        rest = after;
    }
    file
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
