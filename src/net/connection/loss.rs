//! The share of the other end's datagrams that were lost, derived from packet counters.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;

/// Datagrams per measurement window.
const WINDOW: u64 = 128;
/// The first window is shorter: until it has ended nothing is sent twice.
const WINDOW_FIRST: u64 = 16;
/// Number of windows that count together: at 2 % loss a single window often shows none.
const WINDOWS: usize = 8;

/// Recent loss.
#[derive(Clone, Debug, Default)]
pub(super) struct Loss {
    /// The totals sent and received when the last window ended.
    ended_at: (u64, u64),
    /// Datagrams sent and received in the last windows.
    windows: ArrayVec<(u64, u64), WINDOWS>,
    per_mille: Option<u16>,
}

impl Loss {
    /// Per mille; `None` before the first window has ended.
    pub(super) const fn per_mille(&self) -> Option<u16> {
        self.per_mille
    }

    /// The other end has sent `sent` datagrams in all, of which `arrived` have arrived.
    pub(super) fn observe(&mut self, sent: u64, arrived: u64) {
        let all = (sent, arrived);
        let (sent, arrived) = (sent.saturating_sub(self.ended_at.0), arrived.saturating_sub(self.ended_at.1));
        if sent < if self.per_mille.is_none() { WINDOW_FIRST } else { WINDOW } {
            return;
        }
        self.ended_at = all;
        if self.windows.is_full() {
            self.windows.remove(0);
        }
        self.windows.push((sent, arrived));
        let share = |sent: u64, arrived: u64| {
            let lost = sent.saturating_sub(arrived).saturating_mul(1000);
            lost.checked_div(sent).unwrap_or(0) as u16
        };
        let total = |of: fn(&(u64, u64)) -> u64| self.windows.iter().map(of).sum();
        // The onset of loss shows at once; its end shows once the windows have expired.
        self.per_mille =
            Some(share(sent, arrived).max(share(total(|window| window.0), total(|window| window.1))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::protection::{OpeningRoom, PacketProtection};

    #[test]
    fn loss_is_known_after_sixteen_datagrams_and_then_over_windows_of_128() {
        let mut loss = Loss::default();
        loss.observe(15, 15);
        assert_eq!(loss.per_mille(), None);
        loss.observe(16, 15);
        assert_eq!(loss.per_mille(), Some(62));
        loss.observe(16 + 127, 15 + 127);
        assert_eq!(loss.per_mille(), Some(62));
        loss.observe(16 + 128, 15 + 128);
        assert_eq!(loss.per_mille(), Some(6));
    }

    #[test]
    fn loss_is_the_share_of_counters_that_never_arrived() {
        let (mut there, mut here, mut loss) =
            (PacketProtection::plaintext(2, 1), PacketProtection::plaintext(1, 2), Loss::default());
        for n in 0..1280 {
            let sealed = there.seal(5, &[]);
            if n % 10 != 0 {
                here.open(sealed.bytes(), &mut OpeningRoom::new()).expect("new");
            }
            let (sent, arrived) = here.arrivals();
            loss.observe(sent, arrived);
        }
        let lost = loss.per_mille().expect("ten windows have passed");
        assert!((85..=110).contains(&lost), "{lost} per mille");
    }
}
