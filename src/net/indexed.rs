//! Tables that have an entry for every index they can be asked for.

use alloc::boxed::Box;
use core::ops::{Index, IndexMut};

use sim::{PLAYERS_MAX, PlayerId, Tick};

/// A ring of the last `N` numbered items: number `n` is in slot `n % N`, and overwrites the one before it.
#[derive(Clone, Debug)]
pub(super) struct Ring<T, const N: usize>(Box<[T]>);

impl<T, const N: usize> Ring<T, N> {
    /// Fills each slot with what `make` returns.
    pub(super) fn from_fn(make: impl FnMut() -> T) -> Self {
        const { assert!(N > 0, "at least one slot") };
        Self(core::iter::repeat_with(make).take(N).collect())
    }

    /// All slots, in no particular order of their numbers.
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

    #[expect(clippy::indexing_slicing, reason = "it always has N slots")]
    fn index(&self, number: usize) -> &T {
        &self.0[number % N]
    }
}

impl<T, const N: usize> IndexMut<usize> for Ring<T, N> {
    #[expect(clippy::indexing_slicing, reason = "it always has N slots")]
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

/// One value for each possible seat of a match.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BySeat<T>([T; PLAYERS_MAX]);

impl<T> BySeat<T> {
    /// Fills each seat's value with what `make` returns.
    pub(super) fn from_fn(mut make: impl FnMut() -> T) -> Self {
        Self(core::array::from_fn(|_| make()))
    }

    /// The values of all seats.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter()
    }

    /// The values of all seats, mutably.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}

impl<T> Index<PlayerId> for BySeat<T> {
    type Output = T;

    #[expect(
        clippy::indexing_slicing,
        reason = "messages with a seat out of range are rejected when decoded"
    )]
    fn index(&self, player: PlayerId) -> &T {
        &self.0[player.index()]
    }
}

impl<T> IndexMut<PlayerId> for BySeat<T> {
    #[expect(
        clippy::indexing_slicing,
        reason = "messages with a seat out of range are rejected when decoded"
    )]
    fn index_mut(&mut self, player: PlayerId) -> &mut T {
        &mut self.0[player.index()]
    }
}
