use std::collections::BTreeSet;

use windlass_manifests::{Document, Fault, Flaw};

use super::VERSION;
use crate::fields::Fields;
use crate::head::Head;
use crate::remark::Remarks;

/// Which pools there are and which of them are managed.
#[derive(Debug, Default)]
pub(crate) struct Smithy {
    has_control_plane: bool,
    managed: BTreeSet<Id>,
    pools: BTreeSet<Id>,
}

/// A namespace and a name.
type Id = (String, String);

/// Whether KubeNodeSmith manages a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Managed {
    Yes,
    No,
    /// Nothing that was read says so.
    Unknown,
}

impl Smithy {
    pub(crate) fn of(documents: &[Document]) -> Result<Self, Fault> {
        let mut smithy = Self::default();
        for document in documents.iter().filter(|document| document.version == VERSION) {
            let seen = smithy.see(document);
            seen.map_err(|flaw| document.fault(flaw))?;
        }
        Ok(smithy)
    }

    fn see(&mut self, document: &Document) -> Result<(), Flaw> {
        let object = || Fields::of("", document.value.clone());
        match document.kind.as_str() {
            "NodeSmithPool" => {
                let Head { name, namespace, .. } = Head::take(&mut object()?)?;
                self.pools.insert((namespace, name));
            }
            "NodeSmithControlPlane" => {
                let plane = read(object()?, &mut Remarks::on(document))?;
                if !plane.head.is_going {
                    self.has_control_plane = true;
                    let namespace = plane.head.namespace;
                    self.managed.extend(plane.pools.into_iter().map(|(_, name)| (namespace.clone(), name)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn manages(&self, namespace: &str, name: &str) -> Managed {
        match (self.has_control_plane, self.managed.contains(&(namespace.to_owned(), name.to_owned()))) {
            (false, _) => Managed::Unknown,
            (true, true) => Managed::Yes,
            (true, false) => Managed::No,
        }
    }
}

/// A control plane that was read: the pools in it with the path of each.
struct ControlPlane {
    head: Head,
    pools: Vec<(String, String)>,
}

fn read(mut object: Fields, remarks: &mut Remarks) -> Result<ControlPlane, Flaw> {
    let head = Head::take(&mut object)?;
    let mut spec = object.inner("spec")?;
    let paths = spec.path("pools");
    let pools = spec.texts("pools")?.into_iter().enumerate();
    let pools = pools.map(|(number, name)| (format!("{paths}[{number}]"), name)).collect();
    spec.tell_unknown(remarks);
    object.tell_unknown(remarks);
    Ok(ControlPlane { head, pools })
}

/// Tells of the pools of a control plane that are not there. What it says of the others is in the pools that are made.
pub(crate) fn control_plane(object: Fields, smithy: &Smithy, remarks: &mut Remarks) -> Result<(), Flaw> {
    let ControlPlane { head, pools } = read(object, remarks)?;
    for (path, name) in pools {
        if !smithy.pools.contains(&(head.namespace.clone(), name.clone())) {
            remarks.left_out(
                path,
                format!("there is no NodeSmithPool {name:?} among what was read: import it too"),
            );
        }
    }
    Ok(())
}
