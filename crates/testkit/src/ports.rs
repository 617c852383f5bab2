//! Ports for servers that are told theirs on the command line.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// A free loopback port below the range systems hand out for outgoing connections. Nothing but a server takes one of
/// those, so a server that is stopped can be started again on its port.
pub(crate) fn free_port() -> io::Result<u16> {
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..64 {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, fastrand::u16(20_000..32_000))) {
            Ok(listener) => return Ok(listener.local_addr()?.port()),
            Err(error) => last = error,
        }
    }
    Err(last)
}
