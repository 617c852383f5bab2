//! What is logged on a test's thread, which is where all of its controller runs.

use std::io;
use std::sync::{Arc, Mutex};

use tracing::Dispatch;
use tracing::dispatcher::{DefaultGuard, set_default};
use tracing_subscriber::EnvFilter;

/// All that was logged.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Writes down everything until what it returns is dropped.
    ///
    /// The second dispatcher hears nothing. While there is but one, what other threads log first is taken for something that
    /// nobody listens to.
    pub fn listen(&self) -> (Dispatch, DefaultGuard) {
        let second = Dispatch::new(tracing_subscriber::registry());
        let log = self.clone();
        let everything = EnvFilter::new("windlass_control=trace,windlass_providers=trace,kube=trace,warn");
        let subscriber =
            tracing_subscriber::fmt().with_env_filter(everything).with_writer(move || log.clone());
        (second, set_default(&Dispatch::new(subscriber.finish())))
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
