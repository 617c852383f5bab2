//! What is logged on a test's thread, which is where all of its controller runs.

use std::io;
use std::sync::{Arc, Mutex};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::EnvFilter;

/// All that was logged.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Writes down everything until the guard is dropped.
    pub fn listen(&self) -> DefaultGuard {
        let log = self.clone();
        let everything = EnvFilter::new("windlass_control=trace,windlass_providers=trace,kube=trace,warn");
        let subscriber =
            tracing_subscriber::fmt().with_env_filter(everything).with_writer(move || log.clone());
        tracing::subscriber::set_default(subscriber.finish())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
