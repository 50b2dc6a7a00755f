//! Facts about the law of an algorithm that its parts do not show. The Python package reads them where it explains a run, chooses
//! settings, or refuses a world; nothing there names an algorithm.

/// When the base round trip of a flow is the smallest that it has measured, so that it takes a queue that stays for a longer path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeastRtt {
    /// Always.
    Always,
    /// If this parameter, a flag, is set.
    If(&'static str),
    /// If this parameter, a flag, is not set.
    Unless(&'static str),
    /// Never: it has no base round trip, or is told it.
    Never,
}

/// Facts about the law of an algorithm. A file states them beginning with what its sender reacts to: [`Traits::on_queues`],
/// [`Traits::on_load`] or [`Traits::on_delays`].
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// Whether it reacts to delay: to how long packets take. A machine in real time adds to that.
    pub reacts_to_delay: bool,
    /// Whether it reacts to the load of links, with or without a queue: to records, rates, or marks of a virtual queue.
    pub reacts_to_load: bool,
    /// When its base round trip is the smallest that it has measured.
    pub least_rtt: LeastRtt,
    /// Whether its rate returns after a cut by timers, which on fast links leaves many packets between two increases.
    pub returns_by_timer: bool,
    /// Whether it keeps queues up to a target delay of `base_target`, `per_hop` a switch and `fs_range`, as Swift, for which buffers
    /// have room.
    pub has_target_queue: bool,
    /// The algorithm that has a point to which the shares of flows return, if it has none itself.
    pub corrected_by: Option<&'static str>,
    /// n and the source: a step threshold below 1/n of the bandwidth-delay product leaves the link idle.
    pub least_threshold: Option<(u32, &'static str)>,
    /// The parameter that sets how fast a flow takes free bandwidth, and the source of its default.
    pub step: Option<(&'static str, &'static str)>,
    /// Whether its data has the code point ECT(1), the identifier of L4S (RFC 9331), and not ECT(0).
    pub ect1: bool,
    /// Whether another program sets its window and pace ([`Sender::adopt`](crate::sender::Sender::adopt)), and may react to anything.
    pub is_driven: bool,
    /// The flag by which a channel of high priority measures its base round trip, and the time between two probes, 0 if there are none.
    pub probes: Option<(&'static str, &'static str)>,
    /// The rate of hosts in bit/s at which defaults that follow the network are those of the catalog.
    pub reference_bps: Option<u64>,
}

impl Traits {
    const NONE: Self = Self {
        reacts_to_delay: false,
        reacts_to_load: false,
        least_rtt: LeastRtt::Never,
        returns_by_timer: false,
        has_target_queue: false,
        corrected_by: None,
        least_threshold: None,
        step: None,
        ect1: false,
        is_driven: false,
        probes: None,
        reference_bps: None,
    };

    /// Traits of a sender that reacts to losses, and to marks of the queues that its packets meet, or to nothing.
    #[must_use]
    pub const fn on_queues() -> Self {
        Self::NONE
    }

    /// Traits of a sender that reacts to the load of links, and not to delays.
    #[must_use]
    pub const fn on_load() -> Self {
        Self { reacts_to_load: true, ..Self::NONE }
    }

    /// Traits of a sender that reacts to delays.
    #[must_use]
    pub const fn on_delays() -> Self {
        Self { reacts_to_delay: true, ..Self::NONE }
    }

    /// Traits of a sender whose window and pace another program sets. What is not known counts as what asks for more care.
    #[must_use]
    pub const fn of_a_program() -> Self {
        Self { reacts_to_delay: true, reacts_to_load: true, least_rtt: LeastRtt::Always, is_driven: true, ..Self::NONE }
    }

    /// Adds when its base round trip is the smallest that it has measured.
    #[must_use]
    pub const fn least_rtt(self, least_rtt: LeastRtt) -> Self {
        Self { least_rtt, ..self }
    }

    /// Adds that its rate returns after a cut by timers.
    #[must_use]
    pub const fn returns_by_timer(self) -> Self {
        Self { returns_by_timer: true, ..self }
    }

    /// Adds that it keeps queues up to the target delay of Swift.
    #[must_use]
    pub const fn has_target_queue(self) -> Self {
        Self { has_target_queue: true, ..self }
    }

    /// Adds that shares of its flows return to no point, and which algorithm corrects that.
    #[must_use]
    pub const fn corrected_by(self, name: &'static str) -> Self {
        Self { corrected_by: Some(name), ..self }
    }

    /// Adds that a step threshold below 1/`n` of the bandwidth-delay product leaves the link idle.
    #[must_use]
    pub const fn least_threshold(self, n: u32, source: &'static str) -> Self {
        Self { least_threshold: Some((n, source)), ..self }
    }

    /// Adds the parameter that sets how fast a flow takes free bandwidth, and the source of its default.
    #[must_use]
    pub const fn step(self, parameter: &'static str, source: &'static str) -> Self {
        Self { step: Some((parameter, source)), ..self }
    }

    /// Adds that its data has the code point ECT(1).
    #[must_use]
    pub const fn ect1(self) -> Self {
        Self { ect1: true, ..self }
    }

    /// Adds the flag by which probes measure its base round trip, and the time between two.
    #[must_use]
    pub const fn probes(self, flag: &'static str, interval: &'static str) -> Self {
        Self { probes: Some((flag, interval)), ..self }
    }

    /// Adds the rate of hosts at which defaults that follow the network are those of the catalog.
    #[must_use]
    pub const fn reference_gbps(self, gbps: u64) -> Self {
        Self { reference_bps: Some(gbps * 1_000_000_000), ..self }
    }
}
