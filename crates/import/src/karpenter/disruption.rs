use windlass_api::{ConsolidationPolicy, Disruption, LimitedDuration, Repair};
use windlass_manifests::Flaw;

use super::budgets;
use crate::fields::Fields;
use crate::remark::Remarks;

/// How and when nodes go, with what Karpenter does where nothing is said. It counts neither what each move saves nor how long
/// a node has not been ready.
pub(super) fn disruption(mut fields: Fields, remarks: &mut Remarks) -> Result<Disruption, Flaw> {
    let made = Disruption {
        consolidation_policy: policy(&mut fields, remarks)?,
        min_savings_per_move: "0".to_owned(),
        consolidate_after: fields
            .duration_or_never("consolidateAfter", remarks)?
            .unwrap_or(LimitedDuration::seconds(0)),
        budgets: budgets::budgets(&mut fields, remarks)?,
        repair: Repair { after: Some(LimitedDuration::Never), ..Repair::default() },
        ..Disruption::default()
    };
    fields.tell_unknown(remarks);
    Ok(made)
}

fn policy(fields: &mut Fields, remarks: &mut Remarks) -> Result<ConsolidationPolicy, Flaw> {
    let name = "consolidationPolicy";
    let path = fields.path(name);
    match fields.text(name)?.as_deref() {
        Some("WhenEmpty") => Ok(ConsolidationPolicy::WhenEmpty),
        Some("WhenEmptyOrUnderutilized") | None => Ok(ConsolidationPolicy::WhenEmptyOrUnderutilized),
        Some("Balanced") => {
            let message = "Balanced becomes WhenEmptyOrUnderutilized: raise minSavingsPerMove from 0 until nodes go as seldom \
                           as they should";
            remarks.left_out(path, message);
            Ok(ConsolidationPolicy::WhenEmptyOrUnderutilized)
        }
        Some(other) => {
            let other: String = other.chars().take(100).collect();
            let message = format!("{other:?} is none of WhenEmpty, WhenEmptyOrUnderutilized, Balanced");
            Err(Flaw::new(path, message))
        }
    }
}
