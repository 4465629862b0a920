//! Sorted lists as maps and sets, for short ones and for those that grow at their end.
//!
//! A `BTreeMap` costs seven kilobytes of code for every pair of types; this costs a few hundred bytes. A look-up takes
//! as long; an insertion in the middle moves all later items. Use a `BTreeMap` for many keys in no order.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Bound, Index, RangeBounds};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::order;

/// A map in the order of its keys.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortedMap<K, V>(Vec<(K, V)>);

/// A set in the order of its items.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortedSet<K>(SortedMap<K, ()>);

/// The place of a key, which may have a value.
pub struct Entry<'a, K, V> {
    items: &'a mut Vec<(K, V)>,
    key: K,
    place: Result<usize, usize>,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// Returns the value, and makes one if there is none.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        let place = match self.place {
            Ok(place) => place,
            Err(place) => {
                self.items.insert(place, (self.key, make()));
                place
            }
        };
        &mut self.items[place].1
    }

    /// Returns the value, and stores this one if there is none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// Returns the value, and stores the default if there is none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<K, V> SortedMap<K, V> {
    /// Creates an empty map.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Keys and values, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// Keys and values, in order, to change the values.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.0.iter().map(|(_, value)| value)
    }

    /// The values, in the order of their keys, to change them.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// The values, in the order of their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> {
        self.0.into_iter().map(|(_, value)| value)
    }

    /// The keys, in order.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> {
        self.0.into_iter().map(|(key, _)| key)
    }

    /// The first key and its value.
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.0.first().map(|(key, value)| (key, value))
    }

    /// The last key and its value.
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.0.last().map(|(key, value)| (key, value))
    }

    /// Removes the last key and returns it with its value.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        self.0.pop()
    }

    /// Keeps the entries for which `keep` returns `true`.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        match self.0.last() {
            // Keys that grow at the end need no search.
            Some((last, _)) if last.borrow() < key => Err(self.0.len()),
            _ => self.0.binary_search_by(|(at, _)| at.borrow().cmp(key)),
        }
    }

    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(&self.0[place].1)
    }

    /// The value of a key, to change it.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(&mut self.0[place].1)
    }

    /// Returns `true` if the map has this key.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Sets the value of a key and returns the old one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.0[place].1, value)),
            Err(place) => {
                self.0.insert(place, (key, value));
                None
            }
        }
    }

    /// Removes a key and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.place(key).ok()?;
        Some(self.0.remove(place).1)
    }

    /// The place of a key.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let place = self.place(&key);
        Entry {
            items: &mut self.0,
            key,
            place,
        }
    }

    /// Keys and values from one key to another, in order.
    pub fn range(
        &self,
        range: impl RangeBounds<K>,
    ) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator {
        let from = match range.start_bound() {
            Bound::Included(key) => self.0.partition_point(|(at, _)| at < key),
            Bound::Excluded(key) => self.0.partition_point(|(at, _)| at <= key),
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(key) => self.0.partition_point(|(at, _)| at <= key),
            Bound::Excluded(key) => self.0.partition_point(|(at, _)| at < key),
            Bound::Unbounded => self.0.len(),
        };
        self.0[from..to.max(from)]
            .iter()
            .map(|(key, value)| (key, value))
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    /// Of equal keys the last one counts.
    fn from_iter<I: IntoIterator<Item = (K, V)>>(items: I) -> Self {
        let mut all: Vec<(K, V)> = items.into_iter().collect();
        if !all.is_sorted_by(|a, b| a.0 < b.0) {
            order::sort_by(&mut all, |a, b| a.0.cmp(&b.0));
            // Of two equal keys the later one gives its value to the earlier one and goes.
            all.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                if same {
                    std::mem::swap(later, kept);
                }
                same
            });
        }
        Self(all)
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(items: [(K, V); N]) -> Self {
        items.into_iter().collect()
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, items: I) {
        for (key, value) in items {
            self.insert(key, value);
        }
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = std::iter::Map<std::slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().map(|(key, value)| (key, value))
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter =
        std::iter::Map<std::slice::IterMut<'a, (K, V)>, fn(&'a mut (K, V)) -> (&'a K, &'a mut V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        let Ok(place) = self.place(key) else {
            panic!("there is no such key");
        };
        &self.0[place].1
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for SortedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<K, V>(SortedMap<K, V>);

        impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
            type Value = SortedMap<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(
                mut self,
                mut map: A,
            ) -> Result<SortedMap<K, V>, A::Error> {
                while let Some((key, value)) = map.next_entry()? {
                    self.0.insert(key, value);
                }
                Ok(self.0)
            }
        }

        deserializer.deserialize_map(Entries(SortedMap::new()))
    }
}

impl<K> SortedSet<K> {
    /// Creates an empty set.
    pub const fn new() -> Self {
        Self(SortedMap::new())
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if there are no items.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The items, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator {
        self.0.keys()
    }

    /// The first item.
    pub fn first(&self) -> Option<&K> {
        self.0.first_key_value().map(|(key, ())| key)
    }

    /// The last item.
    pub fn last(&self) -> Option<&K> {
        self.0.last_key_value().map(|(key, ())| key)
    }

    /// Keeps the items for which `keep` returns `true`.
    pub fn retain(&mut self, mut keep: impl FnMut(&K) -> bool) {
        self.0.retain(|key, ()| keep(key));
    }
}

impl<K: Ord> SortedSet<K> {
    /// Returns `true` if the set has this item.
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(item)
    }

    /// Adds an item. Returns `true` if it is new.
    pub fn insert(&mut self, item: K) -> bool {
        self.0.insert(item, ()).is_none()
    }

    /// Removes an item. Returns `true` if it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.remove(item).is_some()
    }

    /// The items from one to another, in order.
    pub fn range(&self, range: impl RangeBounds<K>) -> impl DoubleEndedIterator<Item = &K> {
        self.0.range(range).map(|(key, ())| key)
    }
}

impl<K> Default for SortedSet<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug> fmt::Debug for SortedSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<K: Ord> FromIterator<K> for SortedSet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(items: I) -> Self {
        Self(items.into_iter().map(|item| (item, ())).collect())
    }
}

impl<K: Ord, const N: usize> From<[K; N]> for SortedSet<K> {
    fn from(items: [K; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<K: Ord> Extend<K> for SortedSet<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

impl<'a, K: Ord + Copy + 'a> Extend<&'a K> for SortedSet<K> {
    fn extend<I: IntoIterator<Item = &'a K>>(&mut self, items: I) {
        for item in items {
            self.insert(*item);
        }
    }
}

impl<K> IntoIterator for SortedSet<K> {
    type Item = K;
    type IntoIter = std::iter::Map<std::vec::IntoIter<(K, ())>, fn((K, ())) -> K>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(item, ())| item)
    }
}

impl<'a, K> IntoIterator for &'a SortedSet<K> {
    type Item = &'a K;
    type IntoIter = std::iter::Map<std::slice::Iter<'a, (K, ())>, fn(&'a (K, ())) -> &'a K>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.0.iter().map(|(item, ())| item)
    }
}

impl<K: Serialize> Serialize for SortedSet<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de, K: Deserialize<'de> + Ord> Deserialize<'de> for SortedSet<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<K>(SortedSet<K>);

        impl<'de, K: Deserialize<'de> + Ord> Visitor<'de> for Items<K> {
            type Value = SortedSet<K>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                mut self,
                mut items: A,
            ) -> Result<SortedSet<K>, A::Error> {
                while let Some(item) = items.next_element()? {
                    self.0.insert(item);
                }
                Ok(self.0)
            }
        }

        deserializer.deserialize_seq(Items(SortedSet::new()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// I2: this map and the standard library's have the same content after the same changes.
        #[test]
        fn it_is_as_a_tree(
            first in proptest::collection::vec((0u8..20, any::<u8>()), 0..30),
            steps in proptest::collection::vec((0u8..4, 0u8..20, any::<u8>()), 0..60),
        ) {
            let mut ours: SortedMap<u8, u8> = first.iter().copied().collect();
            let mut usual: BTreeMap<u8, u8> = first.iter().copied().collect();
            for (step, key, value) in steps {
                match step {
                    0 => prop_assert_eq!(ours.insert(key, value), usual.insert(key, value)),
                    1 => prop_assert_eq!(ours.remove(&key), usual.remove(&key)),
                    2 => prop_assert_eq!(ours.entry(key).or_insert(value), usual.entry(key).or_insert(value)),
                    _ => prop_assert_eq!(ours.get(&key), usual.get(&key)),
                }
                let (from, to) = (key.min(value), key.max(value));
                prop_assert!(ours.range(from..=to).eq(usual.range(from..=to)));
                prop_assert!(ours.range(key..).eq(usual.range(key..)));
                prop_assert!(ours.range(..key).eq(usual.range(..key)));
            }
            prop_assert!(ours.iter().eq(usual.iter()));
            let text = serde_json::to_string(&usual).unwrap();
            prop_assert_eq!(serde_json::to_string(&ours).unwrap(), &*text);
            prop_assert_eq!(serde_json::from_str::<SortedMap<u8, u8>>(&text).unwrap(), ours);
            let (ours, usual): (SortedSet<u8>, BTreeSet<u8>) =
                (first.iter().map(|(k, _)| *k).collect(), first.iter().map(|(k, _)| *k).collect());
            prop_assert_eq!(format!("{ours:?}"), format!("{usual:?}"));
            prop_assert!(ours.into_iter().eq(usual));
        }
    }
}
