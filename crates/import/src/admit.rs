use serde_json::{Map, Value};
use windlass_api::{NodePool, NodePoolSpec};
use windlass_manifests::{Flaw, Manifests, Source};

/// A pool as it is written down and would be admitted.
pub(crate) fn pool(pool: &NodePool) -> Result<Value, Flaw> {
    let mut written = value(pool)?;
    let usual = value(&NodePoolSpec::default())?;
    if let Some(Value::Object(spec)) = written.get_mut("spec") {
        // How nodes go is written out whole: there the defaults are not those of others.
        spec.retain(|name, value| name == "disruption" || usual.get(name) != Some(value));
        strip(spec);
    }
    admitted(written)
}

/// A provider as it would be admitted.
pub(crate) fn provider(provider: Value) -> Result<Value, Flaw> {
    admitted(provider)
}

fn value(of: &impl serde::Serialize) -> Result<Value, Flaw> {
    serde_json::to_value(of).map_err(|error| Flaw::new("", error.to_string()))
}

fn admitted(written: Value) -> Result<Value, Flaw> {
    let source = Source { name: String::new(), text: written.to_string() };
    Manifests::read([&source]).map_err(|fault| fault.flaw)?;
    Ok(written)
}

/// Takes out objects that say nothing.
fn strip(fields: &mut Map<String, Value>) {
    fields.retain(|_, value| match value {
        Value::Object(inner) => {
            strip(inner);
            !inner.is_empty()
        }
        _ => true,
    });
}
