use windlass_core::Stock;

use crate::index::Index;

/// What providers have, less what was claimed and is not launched yet: of that they do not know.
pub(super) fn stock(index: &Index) -> Stock<'_> {
    let mut stock = Stock::default();
    for (provider, entry) in index.providers() {
        stock.add(provider, &entry.last_offer);
    }
    for claim in index.claims.model().values() {
        if let Some(pool) = index.pool(&claim.pool) {
            stock.promise(pool, claim);
        }
    }
    stock
}
