//! Matches in virtual time as the tests of campaigns begin with them.

use campaign::CampaignOptions;
use game::data;
use lab::Shard;
use net::{Architecture, InputDelay};
use sim::TickRate;
use transport::LinkSpec;

/// In which nothing goes wrong.
pub(crate) fn options(matches: u32, seed: u64, ticks: u32) -> CampaignOptions {
    CampaignOptions {
        architecture: Architecture::P2p,
        matches,
        seed,
        ticks,
        tick_rate: TickRate::HZ_60,
        peers: None,
        rules: data::rules("standard").expect("built in"),
        maps: [data::map("standard").expect("built in"), data::map("quad").expect("built in")],
        controller: None,
        is_fair: false,
        input_delay: InputDelay::Auto,
        link: LinkSpec::default(),
        has_faults: false,
        has_byzantine: false,
        shard: Shard::WHOLE,
        inject: None,
        trace: None,
        jobs: 2,
    }
}
