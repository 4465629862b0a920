//! Sorts with code that is compiled once.
//!
//! The compiler makes the standard library's sorts anew, three kilobytes each, for every type and every comparison.
//! This module sorts numbers, with a comparison behind a pointer, and then moves the items. It is slower by a small
//! factor, so code that sorts many numbers at a time uses the standard library's sorts.

use std::cmp::Ordering;

/// Sorts as `sort_by` of slices does: equals keep their order.
pub fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut order = sorted(items.len(), &mut |a, b| compare(&items[a], &items[b]));
    arrange(&mut order, &mut |a, b| items.swap(a, b));
}

/// Sorts as `sort_by_key` of slices does: equals keep their order.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// Sorts by the items' own order.
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Returns the indices of the items in sorted order.
fn sorted(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..length).collect();
    // Many lists are sorted already, which costs one look at each item.
    order.sort_by(|a, b| compare(*a, *b));
    order
}

/// Moves the items: the item for place `n` is at `order[n]`.
fn arrange(order: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for place in 0..order.len() {
        // The item of an earlier place was swapped away; its own entry says where.
        let mut from = order[place];
        while from < place {
            from = order[from];
        }
        order[place] = from;
        if from != place {
            swap(place, from);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// I2: the result agrees with the standard library's, equal items in their old order.
        #[test]
        fn it_sorts_as_slices_do(items in proptest::collection::vec((0u8..6, any::<u16>()), 0..60)) {
            let (mut ours, mut usual) = (items.clone(), items.clone());
            sort_by_key(&mut ours, |item| item.0);
            usual.sort_by_key(|item| item.0);
            prop_assert_eq!(&ours, &usual);
            let (mut ours, mut usual) = (items.clone(), items);
            sort(&mut ours);
            usual.sort_unstable();
            prop_assert_eq!(ours, usual);
        }
    }
}
