//! Samples of a sound or a note, while they are played.

/// Position in samples that are being played.
#[derive(Clone, Copy)]
pub(super) struct Voice {
    samples: &'static [[u8; 2]],
    /// Gain of the left and right channel.
    pub(super) sides: [f32; 2],
    /// Position in the file, in samples times 2^32.
    at: u64,
    step: u64,
}

impl Voice {
    /// Builds a voice at the first sample, which advances by `step` samples a frame.
    pub(super) fn new(samples: &'static [[u8; 2]], sides: [f32; 2], step: f64) -> Self {
        Self { samples, sides, at: 0, step: (step * 2_f64.powi(32)) as u64 }
    }

    /// Adds the next samples, interpolated between two of the file, with a gain that grows by `slope` a frame. Returns
    /// false at the end of the file.
    pub(super) fn add_to(&mut self, out: &mut [[f32; 2]], gain: f32, slope: f32) -> bool {
        let mut gain = gain;
        for sum in out {
            let Some(sample) = self.next() else { return false };
            sum[0] += sample * gain * self.sides[0];
            sum[1] += sample * gain * self.sides[1];
            gain += slope;
        }
        true
    }

    fn next(&mut self) -> Option<f32> {
        let place = (self.at >> 32) as usize;
        let &[a, b] = self.samples.get(place..)?.first_chunk()?;
        let share = (self.at & 0xffff_ffff) as f32 / 4_294_967_296.0;
        self.at += self.step;
        let value = |bytes: [u8; 2]| f32::from(i16::from_le_bytes(bytes)) / 32_768.0;
        Some(value(a) + (value(b) - value(a)) * share)
    }

    /// Returns the number of samples left.
    pub(super) const fn left(&self) -> usize {
        self.samples.len().saturating_sub((self.at >> 32) as usize)
    }
}
