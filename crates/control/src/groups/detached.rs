//! Groups of an index that nobody keeps up to date: for measuring, and for tests.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use windlass_providers::{Clock, SystemClock};

use super::{Desk, PoolGroups};
use crate::controller::Bus;
use crate::events::events;
use crate::index::Index;
use crate::leader::Leadership;
use crate::{Metrics, Settings};

/// For longer than anybody asks.
const EVER: Duration = Duration::from_hours(24 * 365);

impl PoolGroups {
    /// The groups of an index, as the leader answers about them. There is nobody to carry out orders. To be called within a
    /// runtime.
    pub fn of_index(index: Index, settings: Settings) -> Self {
        let groups = Self::detached(index, settings);
        groups.lead();
        groups
    }

    /// The same while nobody leads.
    pub(super) fn detached(index: Index, settings: Settings) -> Self {
        let nobody =
            tower::service_fn(|_: Request<Body>| async { Ok::<_, Infallible>(Response::new(Body::empty())) });
        let (clock, metrics): (Arc<dyn Clock>, _) = (Arc::new(SystemClock), Metrics::default());
        let client = Client::new(nobody, "default");
        let (events, _) = events(client, clock.clone(), settings.identity.clone(), metrics.clone());
        let bus = Bus::new(events, metrics);
        *bus.index.lock() = index;
        Self::new(Arc::new(bus), Leadership::default(), Arc::new(settings), clock, Desk::default())
    }

    /// Leads from now on, with a desk that is open as long as the process lives.
    pub(super) fn lead(&self) {
        self.leadership.lead_until(Instant::now() + EVER);
        std::mem::forget(self.desk.open());
    }
}
