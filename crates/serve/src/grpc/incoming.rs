use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::Stream;
use futures::stream::unfold;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::{debug, warn};

use super::certificates::Certificates;

/// How long a caller may take to prove who it is.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many callers may be about to. Those beyond wait until one of them is done.
const AT_ONCE: usize = 512;
/// How long to wait when no connection can be accepted, as when too many files are open.
const PAUSE: Duration = Duration::from_secs(1);

/// The callers that have proved who they are. They do so beside each other: one that is slow holds up nobody.
pub(super) fn authenticated(
    listener: TcpListener,
    certificates: Certificates,
) -> impl Stream<Item = Result<TlsStream<TcpStream>, Infallible>> {
    unfold((listener, certificates, JoinSet::new()), |(listener, certificates, mut handshakes)| async move {
        loop {
            tokio::select! {
                Some(done) = handshakes.join_next() => {
                    if let Ok(Some(stream)) = done {
                        return Some((Ok(stream), (listener, certificates, handshakes)));
                    }
                }
                accepted = listener.accept(), if handshakes.len() < AT_ONCE => match accepted {
                    Ok((stream, caller)) => {
                        handshakes.spawn(handshake(stream, caller, certificates.current()));
                    }
                    Err(error) => {
                        warn!(%error, "cannot accept a connection for gRPC");
                        sleep(PAUSE).await;
                    }
                },
            }
        }
    })
}

async fn handshake(
    stream: TcpStream,
    caller: SocketAddr,
    config: Arc<ServerConfig>,
) -> Option<TlsStream<TcpStream>> {
    // Answers are small, and someone waits for each.
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%caller, %error, "cannot set TCP_NODELAY");
    }
    match timeout(PATIENCE, TlsAcceptor::from(config).accept(stream)).await {
        Ok(Ok(stream)) => Some(stream),
        // So does a probe that only looks whether someone listens.
        Ok(Err(error)) if error.kind() == ErrorKind::UnexpectedEof => {
            debug!(%caller, "a caller of gRPC left without a word");
            None
        }
        Ok(Err(error)) => {
            warn!(%caller, %error, "refused a caller of gRPC");
            None
        }
        Err(_) => {
            warn!(%caller, "a caller of gRPC did not say in time who it is");
            None
        }
    }
}
