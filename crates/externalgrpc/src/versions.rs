//! What was replaced as the protocol grew. Whoever writes fills the old field and the new one, whoever reads takes the new
//! one where there is one: so neither has to know with which version of Cluster Autoscaler it speaks.

use std::time::Duration;

use jiff::Timestamp;

use crate::wire::{
    KubernetesDuration, NodeGroupAutoscalingOptions, NodeGroupTemplateNodeInfoResponse,
    PricingNodePriceRequest, PricingPodPriceRequest,
};

const NANOS: i128 = 1_000_000_000;

/// Why a request names no span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpanError {
    /// One end is missing.
    #[error("the request does not say from when to when")]
    Open,
    /// One end is no moment between the years -9999 and 9999.
    #[error("{seconds} s and {nanos} ns after 1970 is not a moment")]
    NoMoment {
        /// What the request says.
        seconds: i64,
        /// What the request says.
        nanos: i32,
    },
    /// The ends are the wrong way round.
    #[error("the request's time ends before it begins")]
    Backwards,
}

impl PricingNodePriceRequest {
    /// For how long the node is to be priced.
    pub fn span(&self) -> Result<Duration, SpanError> {
        span((self.start_time, self.end_time), (self.start_timestamp, self.end_timestamp))
    }
}

impl PricingPodPriceRequest {
    /// For how long the pod is to be priced.
    pub fn span(&self) -> Result<Duration, SpanError> {
        span((self.start_time, self.end_time), (self.start_timestamp, self.end_timestamp))
    }

    /// The pod, as Kubernetes encodes it. Empty if the request has none.
    pub fn encoded_pod(&self) -> &[u8] {
        if self.pod_bytes.is_empty() { &self.pod } else { &self.pod_bytes }
    }
}

type Ends = (Option<prost_types::Timestamp>, Option<prost_types::Timestamp>);

fn span(old: Ends, new: Ends) -> Result<Duration, SpanError> {
    let ends = if new == (None, None) { old } else { new };
    let (Some(start), Some(end)) = ends else { return Err(SpanError::Open) };
    let span = moment(end)?.duration_since(moment(start)?);
    span.try_into().map_err(|_| SpanError::Backwards)
}

fn moment(time: prost_types::Timestamp) -> Result<Timestamp, SpanError> {
    Timestamp::new(time.seconds, time.nanos)
        .map_err(|_| SpanError::NoMoment { seconds: time.seconds, nanos: time.nanos })
}

impl NodeGroupTemplateNodeInfoResponse {
    /// An answer with a node that was encoded as Kubernetes does it.
    pub fn with_node(encoded: Vec<u8>) -> Self {
        Self { node_info: encoded.clone(), node_bytes: encoded }
    }

    /// The node, as Kubernetes encodes it. Empty if the answer has none.
    pub fn encoded_node(&self) -> &[u8] {
        if self.node_bytes.is_empty() { &self.node_info } else { &self.node_bytes }
    }
}

impl NodeGroupAutoscalingOptions {
    /// Whether whoever wrote this knows how long a node may take to join. Cluster Autoscaler before 1.29 does not, and takes
    /// any options in which it misses that for a time of zero.
    pub fn know_time_to_join(&self) -> bool {
        self.max_node_provision_time.is_some() || self.max_node_provision_duration.is_some()
    }

    /// The same with every span of time in its old and in its new field. Where they differ, the new one holds.
    #[must_use]
    pub fn in_both_forms(mut self) -> Self {
        in_both_forms(&mut self.scale_down_unneeded_time, &mut self.scale_down_unneeded_duration);
        in_both_forms(&mut self.scale_down_unready_time, &mut self.scale_down_unready_duration);
        in_both_forms(&mut self.max_node_provision_time, &mut self.max_node_provision_duration);
        self
    }
}

fn in_both_forms(old: &mut Option<KubernetesDuration>, new: &mut Option<prost_types::Duration>) {
    match (&old, &new) {
        (_, Some(new)) => *old = Some(new.into()),
        (Some(span), None) => *new = Some(span.into()),
        (None, None) => {}
    }
}

impl From<&prost_types::Duration> for KubernetesDuration {
    /// What is longer than Kubernetes can write, 292 years, becomes as long as that.
    fn from(span: &prost_types::Duration) -> Self {
        let nanos = i128::from(span.seconds) * NANOS + i128::from(span.nanos);
        let limit = if nanos < 0 { i64::MIN } else { i64::MAX };
        Self { duration: i64::try_from(nanos).unwrap_or(limit) }
    }
}

impl From<&KubernetesDuration> for prost_types::Duration {
    fn from(span: &KubernetesDuration) -> Self {
        const NANOS: i64 = 1_000_000_000;
        Self { seconds: span.duration / NANOS, nanos: (span.duration % NANOS) as i32 }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prost_types::Timestamp;

    use super::SpanError;
    use crate::wire::{KubernetesDuration, NodeGroupAutoscalingOptions, PricingNodePriceRequest};

    fn at(seconds: i64) -> Timestamp {
        Timestamp { seconds, nanos: 0 }
    }

    #[test]
    fn a_span_is_read_from_the_old_fields_and_from_the_new_ones() {
        let old = PricingNodePriceRequest {
            start_time: Some(at(100)),
            end_time: Some(at(160)),
            ..Default::default()
        };
        assert_eq!(old.span(), Ok(Duration::from_secs(60)));
        let both =
            PricingNodePriceRequest { start_timestamp: Some(at(100)), end_timestamp: Some(at(130)), ..old };
        assert_eq!(both.span(), Ok(Duration::from_secs(30)));
    }

    #[test]
    fn what_is_no_span_is_refused() {
        let request = |start, end| PricingNodePriceRequest {
            start_timestamp: start,
            end_timestamp: end,
            ..Default::default()
        };
        assert_eq!(request(None, None).span(), Err(SpanError::Open));
        assert_eq!(request(Some(at(1)), None).span(), Err(SpanError::Open));
        assert_eq!(request(Some(at(2)), Some(at(1))).span(), Err(SpanError::Backwards));
        let far = request(Some(at(i64::MIN)), Some(at(i64::MAX))).span();
        assert_eq!(far, Err(SpanError::NoMoment { seconds: i64::MAX, nanos: 0 }));
        let odd = request(Some(at(1)), Some(Timestamp { seconds: 1, nanos: i32::MAX })).span();
        assert_eq!(odd, Err(SpanError::NoMoment { seconds: 1, nanos: i32::MAX }));
    }

    #[test]
    fn each_form_of_a_duration_is_made_from_the_other() {
        let (old, new) = (90_500_000_000, prost_types::Duration { seconds: 90, nanos: 500_000_000 });
        let options = NodeGroupAutoscalingOptions {
            scale_down_unneeded_time: Some(KubernetesDuration { duration: old }),
            max_node_provision_duration: Some(new),
            ..Default::default()
        };
        let options = options.in_both_forms();
        assert_eq!(options.scale_down_unneeded_duration, Some(new));
        assert_eq!(options.max_node_provision_time, Some(KubernetesDuration { duration: old }));
        assert_eq!((options.scale_down_unready_time, options.scale_down_unready_duration), (None, None));
    }

    #[test]
    fn a_duration_that_is_too_long_becomes_the_longest() {
        let span = |seconds| KubernetesDuration::from(&prost_types::Duration { seconds, nanos: 0 }).duration;
        assert_eq!((span(i64::MAX), span(i64::MIN)), (i64::MAX, i64::MIN));
    }
}
