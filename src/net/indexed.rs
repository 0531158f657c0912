//! Tables in which every place that is asked for exists.

use alloc::boxed::Box;
use core::ops::{Index, IndexMut};

use crate::sim::{PLAYERS_MAX, PlayerId, Tick};

/// The last `N` of what is numbered: number `n` has the place `n % N`, and what had it before is gone.
#[derive(Clone, Debug)]
pub(super) struct Ring<T, const N: usize>(Box<[T]>);

impl<T, const N: usize> Ring<T, N> {
    /// Each place holds what `make` gives.
    pub(super) fn from_fn(make: impl FnMut() -> T) -> Self {
        const { assert!(N > 0, "a place at least") };
        Self(core::iter::repeat_with(make).take(N).collect())
    }

    /// All places; which is the oldest, the caller knows.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }
}

impl<T: Default, const N: usize> Default for Ring<T, N> {
    fn default() -> Self {
        Self::from_fn(T::default)
    }
}

impl<T, const N: usize> Index<usize> for Ring<T, N> {
    type Output = T;

    #[expect(clippy::indexing_slicing, reason = "it is made with N places, and never has another number")]
    fn index(&self, number: usize) -> &T {
        &self.0[number % N]
    }
}

impl<T, const N: usize> IndexMut<usize> for Ring<T, N> {
    #[expect(clippy::indexing_slicing, reason = "it is made with N places, and never has another number")]
    fn index_mut(&mut self, number: usize) -> &mut T {
        &mut self.0[number % N]
    }
}

impl<T, const N: usize> Index<Tick> for Ring<T, N> {
    type Output = T;

    fn index(&self, tick: Tick) -> &T {
        &self[tick.0 as usize]
    }
}

impl<T, const N: usize> IndexMut<Tick> for Ring<T, N> {
    fn index_mut(&mut self, tick: Tick) -> &mut T {
        &mut self[tick.0 as usize]
    }
}

/// One for each seat that a match may have.
#[derive(Clone, Debug, Default)]
pub(super) struct BySeat<T>([T; PLAYERS_MAX]);

impl<T> BySeat<T> {
    /// Each seat's is what `make` gives.
    pub(super) fn from_fn(mut make: impl FnMut() -> T) -> Self {
        Self(core::array::from_fn(|_| make()))
    }
}

impl<T> Index<PlayerId> for BySeat<T> {
    type Output = T;

    #[expect(
        clippy::indexing_slicing,
        reason = "what names a seat that no match has is refused when it is read"
    )]
    fn index(&self, player: PlayerId) -> &T {
        &self.0[player.index()]
    }
}

impl<T> IndexMut<PlayerId> for BySeat<T> {
    #[expect(
        clippy::indexing_slicing,
        reason = "what names a seat that no match has is refused when it is read"
    )]
    fn index_mut(&mut self, player: PlayerId) -> &mut T {
        &mut self.0[player.index()]
    }
}
