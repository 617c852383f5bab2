use serde_json::{Map, Value};
use windlass_core::Quantity;

use crate::fault::{Flaw, join};

/// Checks the quantities of an object of Kubernetes' own and writes them as text: like the API server, people write
/// `cpu: 2`, but the types know only text.
pub(super) fn settle(kind: &str, value: &mut Value) -> Result<(), Flaw> {
    if matches!(kind, "Node" | "PersistentVolume" | "PersistentVolumeClaim") {
        for part in ["spec", "status"] {
            for list in ["capacity", "allocatable"] {
                if let Some(Value::Object(list_of)) = value.get_mut(part).and_then(|part| part.get_mut(list))
                {
                    settle_all(list_of).map_err(|flaw| flaw.within(list).within(part))?;
                }
            }
        }
    }
    walk(value)
}

fn walk(value: &mut Value) -> Result<(), Flaw> {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), &mut *value) {
                    ("metadata" | "status", _) => continue,
                    ("resources", Value::Object(resources)) => {
                        for list in ["requests", "limits"] {
                            if let Some(Value::Object(amounts)) = resources.get_mut(list) {
                                settle_all(amounts).map_err(|flaw| flaw.within(list).within(name))?;
                            }
                        }
                    }
                    ("overhead", Value::Object(amounts)) => {
                        settle_all(amounts).map_err(|flaw| flaw.within(name))?;
                    }
                    ("divisor" | "sizeLimit", amount @ (Value::Number(_) | Value::String(_))) => {
                        settle_one(amount).map_err(|message| Flaw::new(name.as_str(), message))?;
                    }
                    _ => {}
                }
                walk(value).map_err(|flaw| flaw.within(name))?;
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter_mut().enumerate() {
                walk(item).map_err(|flaw| flaw.within(&format!("[{number}]")))?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn settle_all(amounts: &mut Map<String, Value>) -> Result<(), Flaw> {
    for (name, amount) in amounts {
        settle_one(amount).map_err(|message| Flaw::new(join("", name), message))?;
    }
    Ok(())
}

fn settle_one(amount: &mut Value) -> Result<(), String> {
    let text = match &*amount {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        other => format!("{other}"),
    };
    let quantity: Quantity = text.parse().map_err(|error: windlass_core::QuantityError| error.to_string())?;
    if quantity.milli() < 0 {
        return Err(format!("{text} is negative: write 0 or more"));
    }
    *amount = Value::String(text);
    Ok(())
}
