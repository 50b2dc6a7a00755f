//! Parameters of the catalog in the fixed point of the cores.

use shallows_cc::parameter::Values;

use crate::cores::{DctcpParams, DxParams, InigoParams, InigoReceiverParams, PACKET};

/// Shares and gains are in 2^20ths.
const SHARE_BITS: u32 = 20;
/// Thresholds and increases are in 65536ths.
const PART_BITS: u32 = 16;

/// A share or a gain in 2^`bits` parts.
fn fixed(share: f64, bits: u32) -> u32 {
    (share * f64::from(1_u32 << bits) + 0.5) as u32
}

/// Refuses what the integers do not have.
fn without(flags: &[&str], values: &Values) -> Result<(), String> {
    match flags.iter().find(|flag| values.flag(flag)) {
        Some(flag) => Err(format!("no algorithm for the kernel has {flag}")),
        None => Ok(()),
    }
}

/// Of DCTCP.
///
/// # Errors
/// A sentence where they ask for what the core does not have.
pub fn dctcp(values: &Values) -> Result<DctcpParams, String> {
    without(&["ns2"], values)?;
    Ok(DctcpParams {
        g: fixed(values.get("g"), SHARE_BITS),
        alpha: fixed(values.get("alpha"), SHARE_BITS),
        min_window: (values.get("min_window") * PACKET as f64) as u64,
    })
}

/// Of DX.
///
/// # Errors
/// None.
pub fn dx(values: &Values) -> Result<DxParams, String> {
    Ok(DxParams { headroom_ns: (values.get("headroom") * 1e9 + 0.5) as u32, unused: 0 })
}

/// Of Inigo's sender.
///
/// # Errors
/// A sentence where they ask for what the core does not have.
pub fn inigo(values: &Values) -> Result<InigoParams, String> {
    without(&["published", "ecn", "by_packets"], values)?;
    let sub_window = values.get("sub_window") as u32;
    let least = 2048_u32.div_ceil(sub_window.max(1));
    Ok(InigoParams {
        threshold: fixed(values.get("threshold"), PART_BITS),
        g: fixed(values.get("g"), SHARE_BITS),
        alpha: fixed(values.get("alpha"), SHARE_BITS),
        least_alpha: if sub_window > 1 { (least + least % 2) << (SHARE_BITS - 10) } else { 0 },
        sub_window,
        increase: fixed(values.get("increase"), PART_BITS),
        samples: values.get("samples") as u32,
        dilation: values.flag("dilation").into(),
    })
}

/// Of Inigo's receiver.
///
/// # Errors
/// A sentence where they ask for what the core does not have.
pub fn inigo_receiver(values: &Values) -> Result<InigoReceiverParams, String> {
    without(&["tsecr"], values)?;
    Ok(InigoReceiverParams {
        threshold: fixed(values.get("threshold"), PART_BITS),
        g: fixed(values.get("g"), SHARE_BITS),
        sub_window: values.get("sub_window") as u32,
        initial: values.get("initial") as u32,
        tick_us: ((values.get("resolution") * 1e6 + 0.5) as u32).max(1),
        mark: values.flag("mark").into(),
    })
}
