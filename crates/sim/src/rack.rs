//! The provider as a replica calls it: calls take time, fail, lose their answers and have their effects late.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep};
use windlass_api::NodeProviderSpec;
use windlass_core::Text;
use windlass_core::model::InstanceType;
use windlass_providers::{
    LaunchRequest, Machine, MachineTag, Provider, ProviderError, ProviderFactory, Termination,
};

use crate::cloud::Birth;
use crate::history::{Call, CallFault, Side};
use crate::world::{ReplicaId, State, World};

/// Longer than anyone waits for an answer.
const TOO_LONG: Duration = Duration::from_mins(5);

/// The cloud in one replica's hands.
#[derive(Clone)]
pub(crate) struct Rack {
    pub(crate) world: Arc<World>,
    pub(crate) replica: ReplicaId,
}

impl ProviderFactory for Rack {
    fn build(&self, _: &Text, _: &NodeProviderSpec) -> Result<Arc<dyn Provider>, ProviderError> {
        Ok(Arc::new(self.clone()))
    }
}

impl fmt::Debug for Rack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rack").field("replica", &self.replica).finish_non_exhaustive()
    }
}

type Answer<T> = Result<T, ProviderError>;

impl Rack {
    /// Sends a call, lets it arrive, and brings the answer back.
    async fn call<T>(
        &self,
        call: Call,
        detail: String,
        arrive: impl FnOnce(&mut State, Option<CallFault>) -> Answer<T>,
    ) -> Answer<T> {
        let there = self.world.with(|state| state.is_alive(self.replica).then(|| state.latency(100)));
        let Some(there) = there else { return std::future::pending().await };
        sleep(there).await;
        let arrived = self.world.with(|state| {
            let changes = matches!(call, Call::Launch | Call::Terminate);
            let side = changes.then(|| self.world.effect(state, self.replica)).flatten();
            if side == Some(Side::Before) {
                return None;
            }
            let fault = state.trouble.take_call(call);
            state.court.count_call(call, fault);
            let answer = match fault {
                Some(CallFault::Refused) => Err(ProviderError::transient("500 internal error")),
                Some(CallFault::Throttled) => Err(ProviderError::Throttled {
                    message: "slow down".to_owned(),
                    retry_after: Some(Duration::from_secs(5)),
                }),
                _ => arrive(state, fault),
            };
            state.trace.note(|| {
                let outcome = answer.as_ref().map_or_else(ToString::to_string, |_| "ok".to_owned());
                format!("replica {} calls {call:?} {detail} ({fault:?}): {outcome}", self.replica.number)
            });
            let back = match fault {
                Some(CallFault::Slow) => TOO_LONG,
                _ => state.latency(100),
            };
            (side.is_none()).then_some((answer, fault, back))
        });
        let Some((answer, fault, back)) = arrived else { return std::future::pending().await };
        sleep(back).await;
        match fault {
            Some(CallFault::AnswerLost | CallFault::Late) => {
                Err(ProviderError::transient("the connection was reset"))
            }
            _ => answer,
        }
    }

    /// Sees a call through that changes something, whether or not its caller is still there.
    async fn see_through<T: Send + 'static>(
        call: impl Future<Output = Answer<T>> + Send + 'static,
    ) -> Answer<T> {
        tokio::spawn(call).await.unwrap_or_else(|error| Err(ProviderError::transient(error)))
    }
}

#[async_trait]
impl Provider for Rack {
    fn kind(&self) -> &'static str {
        "sim"
    }

    async fn instance_types(&self) -> Answer<Vec<InstanceType>> {
        self.call(Call::Offers, String::new(), |state, _| Ok(state.cloud.instance_types(Instant::now())))
            .await
    }

    async fn launch(&self, request: &LaunchRequest) -> Answer<Machine> {
        let (rack, request) = (self.clone(), request.clone());
        Self::see_through(async move {
            let detail = format!("{} for {}", request.offering.instance_type, request.tag.claim_name);
            let today = rack.world.time.now();
            let launch = |state: &mut State, fault| {
                let late = fault == Some(CallFault::Late);
                let never_joins = state.trouble.never_join > 0;
                let appears_in = if late { Duration::from_secs(45) } else { Duration::ZERO };
                let (cloud, rng) = (&mut state.cloud, &mut state.rng);
                // What was launched before is found, however little is left.
                if fault == Some(CallFault::NoCapacity) && !cloud.has(&request.tag, Instant::now()) {
                    let message = "there is none left".to_owned();
                    return Err(ProviderError::InsufficientCapacity { message });
                }
                let birth = Birth { appears_in, never_joins };
                let launched = cloud.launch(&request, birth, rng, Instant::now(), today);
                if never_joins && launched.is_ok() {
                    state.trouble.never_join -= 1;
                    state.court.count("machine that never joins");
                }
                launched
            };
            rack.call(Call::Launch, detail, launch).await
        })
        .await
    }

    async fn terminate(&self, provider_id: &str, tag: &MachineTag) -> Answer<Termination> {
        let (rack, id, tag) = (self.clone(), provider_id.to_owned(), tag.clone());
        Self::see_through(async move {
            let terminate = |state: &mut State, fault| {
                let now = Instant::now();
                match fault {
                    Some(CallFault::Late) => {
                        state.cloud.terminate_late(&id, &tag, now + Duration::from_secs(45), now);
                        Ok(Termination::UnderWay)
                    }
                    Some(CallFault::Denied) => Err(ProviderError::NotFound { provider_id: id.clone() }),
                    _ => {
                        let takes = Duration::from_millis(state.rng.u64(1_000..20_000));
                        state.cloud.terminate(&id, &tag, takes, now)
                    }
                }
            };
            rack.call(Call::Terminate, id.clone(), terminate).await
        })
        .await
    }

    async fn get(&self, provider_id: &str) -> Answer<Machine> {
        let get = |state: &mut State, fault| match fault {
            Some(CallFault::Denied) => Err(ProviderError::NotFound { provider_id: provider_id.to_owned() }),
            _ => state.cloud.get(provider_id, Instant::now()),
        };
        self.call(Call::Get, provider_id.to_owned(), get).await
    }

    async fn list(&self) -> Answer<Vec<Machine>> {
        let list = |state: &mut State, fault| match fault {
            Some(CallFault::Denied) => Ok(Vec::new()),
            _ => Ok(state.cloud.list(Instant::now())),
        };
        self.call(Call::List, String::new(), list).await
    }
}
