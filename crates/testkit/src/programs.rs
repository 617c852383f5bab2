//! Which program plays which part of the control plane.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use crate::binary::controlplane_binary;
use crate::error::PlaneUnavailable;

/// A program of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// The store behind the API server.
    Etcd,
    /// The API server.
    ApiServer,
    /// The scheduler.
    Scheduler,
    /// The controllers of the built-in kinds.
    ControllerManager,
    /// The simulation of kubelets.
    Kwok,
    /// The command line client; it is not kept running.
    Kubectl,
}

impl Component {
    const ALL: [Self; 6] =
        [Self::Etcd, Self::ApiServer, Self::Scheduler, Self::ControllerManager, Self::Kwok, Self::Kubectl];

    /// The name its binary usually has.
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::Scheduler => "kube-scheduler",
            Self::ControllerManager => "kube-controller-manager",
            Self::Kwok => "kwok",
            Self::Kubectl => "kubectl",
        }
    }

    pub(crate) fn names() -> [&'static str; 6] {
        Self::ALL.map(Self::name)
    }
}

/// A binary, and the argument that makes it the component when it is several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) subcommand: Option<&'static str>,
}

/// The programs of one control plane.
#[derive(Debug)]
pub(crate) struct Programs(BTreeMap<Component, Program>);

impl Programs {
    /// Takes what `KUBEBUILDER_ASSETS` offers, the variable other controllers' tests use to choose a version of
    /// Kubernetes, and our own binary for the rest.
    pub(crate) fn find() -> Result<Self, PlaneUnavailable> {
        Self::choose(env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from).as_deref(), controlplane_binary)
    }

    fn choose(
        assets: Option<&Path>,
        ours: impl FnOnce() -> Result<PathBuf, PlaneUnavailable>,
    ) -> Result<Self, PlaneUnavailable> {
        let mut programs = BTreeMap::new();
        if let Some(assets) = assets {
            for component in Component::ALL {
                let path = assets.join(component.name());
                if path.is_file() {
                    programs.insert(component, Program { path, subcommand: None });
                }
            }
        }
        if programs.len() < Component::ALL.len() {
            let ours = ours()?;
            for component in Component::ALL {
                let subcommand = Some(component.name());
                programs.entry(component).or_insert_with(|| Program { path: ours.clone(), subcommand });
            }
        }
        Ok(Self(programs))
    }

    pub(crate) fn get(&self, component: Component) -> &Program {
        &self.0[&component]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assets(components: &[Component]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for component in components {
            std::fs::write(folder.path().join(component.name()), "").unwrap();
        }
        folder
    }

    #[test]
    fn our_binary_fills_in_for_what_the_assets_lack() {
        let folder = assets(&[Component::Etcd, Component::ApiServer]);
        let programs = Programs::choose(Some(folder.path()), || Ok(PathBuf::from("/ours"))).unwrap();
        assert_eq!(
            *programs.get(Component::Etcd),
            Program { path: folder.path().join("etcd"), subcommand: None }
        );
        assert_eq!(
            *programs.get(Component::Kwok),
            Program { path: PathBuf::from("/ours"), subcommand: Some("kwok") }
        );
    }

    #[test]
    fn nothing_is_built_when_the_assets_have_everything() {
        let folder = assets(&Component::ALL);
        assert!(Programs::choose(Some(folder.path()), || Err(PlaneUnavailable::NoCache)).is_ok());
        assert!(Programs::choose(None, || Err(PlaneUnavailable::NoCache)).is_err());
    }
}
