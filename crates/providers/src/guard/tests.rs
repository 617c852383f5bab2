use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use fastrand::Rng;
use futures::future::join_all;
use tokio::time::{Instant, sleep};
use windlass_core::model::InstanceType;

use super::{GuardSettings, Guarded};
use crate::{ErrorKind, LaunchRequest, Machine, MachineTag, Provider, ProviderError, Termination};

/// Answers with these errors one after the other and then well, each time after so long.
#[derive(Debug, Default)]
struct Scripted {
    errors: Mutex<VecDeque<ProviderError>>,
    takes: Duration,
    calls: AtomicUsize,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

impl Scripted {
    fn failing(errors: impl IntoIterator<Item = ProviderError>) -> Arc<Self> {
        Arc::new(Self { errors: Mutex::new(errors.into_iter().collect()), ..Self::default() })
    }

    fn taking(takes: Duration) -> Arc<Self> {
        Arc::new(Self { takes, ..Self::default() })
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    async fn answer(&self) -> Result<(), ProviderError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let under_way = self.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(under_way, Ordering::Relaxed);
        sleep(self.takes).await;
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        self.errors.lock().unwrap().pop_front().map_or(Ok(()), Err)
    }
}

#[async_trait]
impl Provider for Scripted {
    fn kind(&self) -> &'static str {
        "scripted"
    }

    async fn instance_types(&self) -> Result<Vec<InstanceType>, ProviderError> {
        self.answer().await.map(|()| Vec::new())
    }

    async fn launch(&self, _: &LaunchRequest) -> Result<Machine, ProviderError> {
        unreachable!("these tests launch nothing")
    }

    async fn terminate(&self, _: &str, _: &MachineTag) -> Result<Termination, ProviderError> {
        self.answer().await.map(|()| Termination::Gone)
    }

    async fn get(&self, provider_id: &str) -> Result<Machine, ProviderError> {
        self.answer().await?;
        Err(ProviderError::NotFound { provider_id: provider_id.to_owned() })
    }

    async fn list(&self) -> Result<Vec<Machine>, ProviderError> {
        self.answer().await.map(|()| Vec::new())
    }
}

fn guarded(inner: &Arc<Scripted>) -> Guarded {
    Guarded::new(Arc::clone(inner) as Arc<dyn Provider>, GuardSettings::default(), Rng::with_seed(7))
}

fn tag() -> MachineTag {
    MachineTag { cluster_id: "c".into(), claim_uid: "u".into(), claim_name: "n".into(), pool: "p".into() }
}

fn throttled(seconds: u64) -> ProviderError {
    ProviderError::Throttled {
        message: "slow down".to_owned(),
        retry_after: Some(Duration::from_secs(seconds)),
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_fails_for_now_is_tried_again() {
    let inner = Scripted::failing([ProviderError::transient("a"), ProviderError::transient("b")]);
    guarded(&inner).list().await.unwrap();
    assert_eq!(inner.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_read_is_given_up_after_so_many_tries() {
    let inner = Scripted::failing((0..9).map(ProviderError::transient));
    assert_eq!(guarded(&inner).instance_types().await, Err(ProviderError::transient("2")));
    assert_eq!(inner.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_changes_something_is_tried_once() {
    let inner = Scripted::failing([ProviderError::transient("a")]);
    let error = guarded(&inner).terminate("id", &tag()).await.unwrap_err();
    assert_eq!((error.kind(), inner.calls()), (ErrorKind::Transient, 1));
}

#[tokio::test(start_paused = true)]
async fn an_error_that_will_not_pass_is_not_tried_again() {
    let inner = Scripted::failing([]);
    let error = guarded(&inner).get("id").await.unwrap_err();
    assert_eq!((error.kind(), inner.calls()), (ErrorKind::NotFound, 1));
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_asks_for_a_pause_gets_it_unless_it_is_too_long() {
    let inner = Scripted::failing([throttled(5)]);
    let start = Instant::now();
    guarded(&inner).list().await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 5);

    let inner = Scripted::failing([throttled(3600)]);
    assert_eq!(guarded(&inner).list().await, Err(throttled(3600)));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_has_failed_for_now() {
    let inner = Scripted::taking(Duration::from_hours(1));
    let start = Instant::now();
    let error = guarded(&inner).terminate("id", &tag()).await.unwrap_err();
    assert_eq!(error, ProviderError::transient("timed out after 60s"));
    assert_eq!(start.elapsed().as_secs(), 60);
}

#[tokio::test(start_paused = true)]
async fn no_more_calls_are_under_way_than_allowed() {
    let inner = Scripted::taking(Duration::from_secs(1));
    let guarded = guarded(&inner);
    let answers = join_all((0..100).map(|_| guarded.list())).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!((inner.calls(), inner.most.load(Ordering::Relaxed)), (100, 32));
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_and_differ_and_follow_from_the_seed() {
    let pauses = |seed| {
        let inner = Scripted::failing([]);
        let guarded = Guarded::new(
            inner,
            GuardSettings { attempts: 99, ..GuardSettings::default() },
            Rng::with_seed(seed),
        );
        let error = ProviderError::transient("a");
        [1, 2, 3, 40].map(|tries| guarded.pause(&error, tries).unwrap().as_millis())
    };
    let [first, second, third, late] = pauses(1);
    assert!((250..=500).contains(&first) && (500..=1000).contains(&second), "{first} {second}");
    assert!((1000..=2000).contains(&third) && (5000..=10_000).contains(&late), "{third} {late}");
    assert_eq!(pauses(1), pauses(1));
    assert_ne!(pauses(1), pauses(2));
}
