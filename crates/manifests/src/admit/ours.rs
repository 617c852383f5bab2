use windlass_api::{
    FaultEffect, NodeClaim, NodeProvider, NodeProviderSpec, ProviderSource, SimulatedProvider,
};

use crate::fault::Flaw;

/// A provider as it would be admitted.
pub(crate) fn provider(provider: NodeProvider) -> Result<NodeProvider, Flaw> {
    let flaw = |field: &str, flaw: Option<String>| flaw.map_or(Ok(()), |flaw| Err(Flaw::new(field, flaw)));
    match provider.spec.source() {
        Some(ProviderSource::Simulated(given)) => simulated(given)?,
        Some(ProviderSource::ExternalGrpc(given)) => {
            flaw("spec.externalGrpc", given.flaw().map(str::to_owned))?;
        }
        Some(ProviderSource::Proxmox(given)) => flaw("spec.proxmox", given.flaw())?,
        None => return Err(Flaw::new("spec", NodeProviderSpec::NO_SOURCE)),
    }
    Ok(provider)
}

fn simulated(simulated: &SimulatedProvider) -> Result<(), Flaw> {
    if simulated.catalogue.is_some() != simulated.instance_types.is_empty() {
        let message = "give either the name of a built-in catalogue or a list of instanceTypes";
        return Err(Flaw::new("spec.simulated", message));
    }
    for (number, fault) in simulated.faults.iter().enumerate() {
        let field = format!("spec.simulated.faults[{number}]");
        let errs = matches!(fault.effect, FaultEffect::Error | FaultEffect::ErrorAfterEffect);
        if errs != fault.error.is_some() {
            return Err(Flaw::new(field, "effects Error and ErrorAfterEffect need error, and only they do"));
        }
        let late =
            matches!(fault.effect, FaultEffect::SlowAnswer | FaultEffect::NotReady | FaultEffect::Vanish);
        if late != fault.after.is_some() {
            let message = "effects SlowAnswer, NotReady and Vanish need after, and only they do";
            return Err(Flaw::new(field, message));
        }
    }
    Ok(())
}

/// A claim as it would be admitted. What the API server has given it in another cluster does not count here.
pub(crate) fn claim(mut claim: NodeClaim) -> NodeClaim {
    claim.metadata.resource_version = None;
    if claim.metadata.uid.is_none() {
        claim.metadata.uid.clone_from(&claim.metadata.name);
    }
    claim
}
