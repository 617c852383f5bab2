//! Asking the server what it offers.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Node;
use tracing::warn;
use windlass_core::model::OfferingKey;
use windlass_core::{Price, Text};
use windlass_externalgrpc::wire::{ExternalGrpcNode, NodeGroup};

use super::ExternalGrpc;
use super::catalogue::{Catalogue, Group};
use super::failure::{Failure, FailureKind};
use super::template::Template;
use crate::ProviderError;

/// How many groups are asked about at the same time.
const AT_ONCE: usize = 8;
/// No machine costs as much in an hour, so a number beyond is none.
const TOO_MUCH: f64 = 1e9;

impl ExternalGrpc {
    /// Asks for all groups. Those that cannot be used are left out, which is logged when it is new.
    pub(super) async fn ask_catalogue(&self) -> Result<Arc<Catalogue>, ProviderError> {
        let groups = self.client.groups().await?;
        let read = stream::iter(groups).map(|group| self.ask_group(group)).buffered(AT_ONCE);
        let read: Vec<(Text, Result<Group, String>)> = read.try_collect().await?;
        let (mut used, mut left_out) = (Vec::new(), BTreeMap::new());
        for (id, group) in read {
            match group {
                Ok(group) => used.push(group),
                Err(why) => _ = left_out.insert(id, why),
            }
        }
        let catalogue = Arc::new(Catalogue::new(used, left_out));
        let mut known = self.catalogue.lock().unwrap_or_else(PoisonError::into_inner);
        for (group, why) in &catalogue.left_out {
            if known.as_ref().and_then(|known| known.left_out.get(group)) != Some(why) {
                warn!(provider = %self.name, %group, why, "a node group is not used");
            }
        }
        *known = Some(Arc::clone(&catalogue));
        match catalogue.left_out.iter().next() {
            Some((group, why)) if catalogue.offers.is_empty() => {
                let message = format!("none of the server's node groups can be used; group {group}: {why}");
                Err(ProviderError::InvalidConfiguration { message })
            }
            _ => Ok(catalogue),
        }
    }

    /// What there is of an offering, as last heard, or as asked for now if it was never heard of.
    pub(super) async fn offer(&self, key: &OfferingKey) -> Result<(Arc<Catalogue>, Group), ProviderError> {
        let known = self.catalogue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let known = match known {
            Some(known) if known.offers.contains_key(key) => known,
            _ => self.ask_catalogue().await?,
        };
        match known.offers.get(key).cloned() {
            Some(group) => Ok((known, group)),
            None => {
                let OfferingKey { instance_type, zone, capacity_type } = key;
                let message = format!("there is no {instance_type} in {zone} as {capacity_type}");
                Err(ProviderError::InsufficientCapacity { message })
            }
        }
    }

    /// Reads one group, or says why it is not used. What may pass is an error of the whole.
    async fn ask_group(&self, group: NodeGroup) -> Result<(Text, Result<Group, String>), ProviderError> {
        let id: Text = group.id.as_str().into();
        let node = match self.client.template(&id).await {
            Ok(node) => node,
            Err(failure) => return Ok((id, Err(lasting(failure)?))),
        };
        let template = match Template::read(&node, &id, self.capacity_type) {
            Ok(template) => template,
            Err(why) => return Ok((id, Err(format!("its template cannot be used: {why}")))),
        };
        let target = match self.client.target(&id).await {
            Ok(target) => target,
            Err(failure) => return Ok((id, Err(lasting(failure)?))),
        };
        let price = match self.ask_price(&id, &node).await? {
            Ok(price) => price,
            Err(why) => return Ok((id, Err(why))),
        };
        Ok((id.clone(), Ok(Group { id, template, price, max: group.max_size, target })))
    }

    async fn ask_price(&self, group: &str, node: &Node) -> Result<Result<Price, String>, ProviderError> {
        let labels = node.metadata.labels.clone().unwrap_or_default();
        let priced = ExternalGrpcNode {
            provider_id: node.spec.as_ref().and_then(|spec| spec.provider_id.clone()).unwrap_or_default(),
            name: format!("template-node-for-{group}"),
            labels: labels.into_iter().collect(),
            annotations: node.metadata.annotations.clone().unwrap_or_default().into_iter().collect(),
        };
        let why = match self.client.price(priced, self.clock.now()).await {
            Ok(dollars) => match price(dollars) {
                Some(price) => return Ok(Ok(price)),
                None => format!("the server's price of it is {dollars}"),
            },
            Err(failure) if failure.kind == FailureKind::Unimplemented => {
                "the server has no prices".to_owned()
            }
            Err(failure) => lasting(failure)?,
        };
        let stated = self.prices.get(group).or(self.default_price.as_ref());
        Ok(stated.copied().ok_or_else(|| format!("{why}; give it one in prices, or a defaultPrice")))
    }
}

/// What the server said about one group, unless it may be otherwise a moment later.
fn lasting(failure: Failure) -> Result<String, ProviderError> {
    match failure.kind {
        FailureKind::Lost => Err(failure.error),
        _ if matches!(
            failure.error,
            ProviderError::Unauthorized { .. } | ProviderError::Throttled { .. }
        ) =>
        {
            Err(failure.error)
        }
        _ => Ok(failure.words()),
    }
}

/// Dollars for an hour as a price, if they are one.
fn price(dollars: f64) -> Option<Price> {
    #[expect(clippy::cast_possible_truncation, reason = "it is far below 2^63")]
    (0.0..TOO_MUCH).contains(&dollars).then(|| Price::from_micros((dollars * 1e6).round() as i64))
}

#[cfg(test)]
mod tests {
    use windlass_core::Price;

    use super::price;

    #[test]
    fn only_a_price_is_taken_for_one() {
        assert_eq!((price(0.192), price(0.0)), (Some(Price::from_micros(192_000)), Some(Price::ZERO)));
        for wrong in [-0.1, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(price(wrong), None, "{wrong}");
        }
    }
}
