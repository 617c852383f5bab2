//! Which template a host uses.

use windlass_api::ProxmoxClone;
use windlass_core::Text;

use super::Proxmox;
use super::cluster::{Cluster, Guest};
use crate::ProviderError;

/// A template, and whether machines of other hosts can be made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    pub vmid: u32,
    pub host: Text,
    pub is_shared: bool,
    /// The storages that its disks are on.
    pub storages: Vec<String>,
}

impl Proxmox {
    /// The templates of the name or id that the specification has.
    pub(super) async fn templates(
        &self,
        clone: &ProxmoxClone,
        cluster: &Cluster,
    ) -> Result<Vec<Template>, ProviderError> {
        let is_meant = |guest: &&Guest| {
            guest.is_template
                && !guest.is_container
                && (guest.name.as_deref() == Some(&clone.template)
                    || guest.vmid.to_string() == clone.template)
        };
        let mut templates = Vec::new();
        for guest in cluster.guests.iter().filter(is_meant) {
            let config = match self.client.config(&guest.host, guest.vmid).await {
                Ok(config) => config,
                // Others may have one too.
                Err(failure) if matches!(failure.error, ProviderError::Transient { .. }) => continue,
                Err(failure) => return Err(failure.error),
            };
            let storages: Vec<String> = config
                .volumes
                .iter()
                .filter_map(|volume| Some(volume.split_once(':')?.0.to_owned()))
                .collect();
            let is_shared = storages.iter().all(|storage| cluster.shared_storage.contains(storage));
            templates.push(Template { vmid: guest.vmid, host: guest.host.clone(), is_shared, storages });
        }
        Ok(templates)
    }
}

/// The template for a machine on this host: its own, or another's that it can reach.
pub(super) fn template_for<'a>(templates: &'a [Template], host: &str) -> Option<&'a Template> {
    let own = templates.iter().find(|template| *template.host == *host);
    own.or_else(|| templates.iter().find(|template| template.is_shared))
}

#[cfg(test)]
mod tests {
    use super::{Template, template_for};

    #[test]
    fn a_host_uses_its_own_template_before_one_on_shared_storage() {
        let template =
            |vmid, host: &str, is_shared| Template { vmid, host: host.into(), is_shared, storages: vec![] };
        let templates = [template(1, "a", true), template(2, "b", false)];
        let used = |host| template_for(&templates, host).map(|template| template.vmid);
        assert_eq!((used("a"), used("b"), used("c")), (Some(1), Some(2), Some(1)));
        assert_eq!(template_for(&templates[1..], "c"), None);
    }
}
