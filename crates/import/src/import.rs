use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windlass_api::NodePool;
use windlass_manifests::{Document, Fault, Flaw};

use crate::fields::Fields;
use crate::head::Head;
use crate::kubenodesmith::Smithy;
use crate::remark::{Remark, Remarks};
use crate::{admit, karpenter, kubenodesmith};

/// What a person may say about an import.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The NodeProvider for Karpenter's pools. Without it each is to have one that is named like its node class.
    pub provider: Option<String>,
}

/// What came of an import.
#[derive(Debug, Default)]
pub struct Imported {
    /// What was made, each as a manifest that the API server takes: providers first, then pools.
    pub objects: Vec<Value>,
    /// What there is to say about it, in the order of what was read.
    pub remarks: Vec<Remark>,
    /// The names of the objects of other kinds, by kind.
    pub ignored: BTreeMap<String, Vec<String>>,
    /// How many objects were of kinds that are known here.
    pub known: usize,
}

impl Imported {
    /// The manifests as one document each.
    pub fn yaml(&self) -> Result<String, serde_saphyr::ser::Error> {
        let documents = self.objects.iter().map(serde_saphyr::to_string);
        documents.map(|text| text.map(|text| format!("---\n{text}"))).collect()
    }

    /// The manifests as a list that `kubectl` understands.
    pub fn list(&self) -> Value {
        json!({"apiVersion": "v1", "kind": "List", "items": self.objects})
    }
}

/// What an object stands for here.
enum Made {
    Provider(Value),
    Pool(Box<NodePool>),
    /// Something without which the rest is complete, or that the remarks are about.
    Nothing,
    /// It is of a kind that is not known.
    Unknown,
}

/// Makes Windlass' manifests of other autoscalers'. The first thing that cannot be read is an error.
pub fn import(documents: &[Document], options: &Options) -> Result<Imported, Fault> {
    let smithy = Smithy::of(documents)?;
    let mut imported = Imported::default();
    let (mut providers, mut pools, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for document in documents {
        let mut remarks = Remarks::on(document);
        let made = make(document, options, &smithy, &mut remarks).map_err(|flaw| document.fault(flaw))?;
        imported.known += usize::from(!matches!(made, Made::Unknown));
        match made {
            Made::Provider(provider) => {
                let name = provider.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
                let is_first = names.insert(("NodeProvider", name));
                providers.extend(settle(is_first, admit::provider(provider), &mut remarks));
            }
            Made::Pool(pool) => {
                let is_first = names.insert(("NodePool", pool.metadata.name.clone()));
                pools.extend(settle(is_first, admit::pool(&pool), &mut remarks));
            }
            Made::Nothing => {}
            Made::Unknown => {
                let kind = format!("{} ({})", document.kind, document.version);
                imported.ignored.entry(kind).or_default().push(name(document));
            }
        }
        imported.remarks.extend(remarks.into_vec());
    }
    imported.objects = providers.into_iter().chain(pools).collect();
    Ok(imported)
}

fn make(
    document: &Document,
    options: &Options,
    smithy: &Smithy,
    remarks: &mut Remarks,
) -> Result<Made, Flaw> {
    let fields = || Fields::of("", document.value.clone());
    Ok(match (document.version.as_str(), document.kind.as_str()) {
        ("karpenter.sh/v1", "NodePool") => {
            let Some((head, object)) = wanted(fields()?, remarks)? else { return Ok(Made::Nothing) };
            Made::Pool(Box::new(karpenter::pool(head, object, options.provider.as_deref(), remarks)?))
        }
        ("karpenter.sh/v1", "NodeClaim") => {
            karpenter::claim(fields()?, remarks)?;
            Made::Nothing
        }
        ("karpenter.sh/v1beta1", "NodePool" | "NodeClaim")
        | ("karpenter.sh/v1alpha5", "Provisioner" | "Machine") => {
            remarks.left_out(
                "apiVersion",
                "is of a version that Karpenter has left behind: convert the object to karpenter.sh/v1 first",
            );
            Made::Nothing
        }
        (kubenodesmith::VERSION, "NodeSmithProvider") => {
            let Some((head, object)) = wanted(fields()?, remarks)? else { return Ok(Made::Nothing) };
            kubenodesmith::provider(head, object, remarks)?.map_or(Made::Nothing, Made::Provider)
        }
        (kubenodesmith::VERSION, "NodeSmithPool") => {
            let Some((head, object)) = wanted(fields()?, remarks)? else { return Ok(Made::Nothing) };
            Made::Pool(Box::new(kubenodesmith::pool(head, object, smithy, remarks)?))
        }
        (kubenodesmith::VERSION, "NodeSmithControlPlane") => {
            kubenodesmith::control_plane(fields()?, smithy, remarks)?;
            Made::Nothing
        }
        (kubenodesmith::VERSION, "NodeSmithClaim") => {
            kubenodesmith::claim(fields()?, remarks)?;
            Made::Nothing
        }
        _ => Made::Unknown,
    })
}

/// The name of an object of which it is not known whether it is in a namespace.
fn name(document: &Document) -> String {
    let metadata = |field: &str| document.value.get("metadata")?.get(field)?.as_str();
    let name = metadata("name").unwrap_or("without a name");
    metadata("namespace").map_or_else(|| name.to_owned(), |namespace| format!("{namespace}/{name}"))
}

/// The head and the rest of an object of which something is to be made, if it is not on its way out.
fn wanted(mut object: Fields, remarks: &mut Remarks) -> Result<Option<(Head, Fields)>, Flaw> {
    let head = Head::take(&mut object)?;
    if head.is_going {
        remarks.left_out("", "is being deleted, so nothing was made of it");
        return Ok(None);
    }
    head.tell_marks(remarks);
    Ok(Some((head, object)))
}

/// What was made, if it can be used.
fn settle(is_first: bool, made: Result<Value, Flaw>, remarks: &mut Remarks) -> Option<Value> {
    match made {
        Ok(made) if is_first => return Some(made),
        Ok(_) => {
            let message = "is the name of an earlier object too, and here names are for the whole cluster: nothing was made \
                           of this one; rename it and import it again";
            remarks.left_out("metadata.name", message);
        }
        Err(Flaw { field, message }) => {
            let message = format!(
                "nothing was made of this object, for it would be refused here: {message}; change it and import it again"
            );
            remarks.left_out(field, message);
        }
    }
    None
}
