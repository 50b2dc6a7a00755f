//! Parameters of the catalog in the fixed-point numbers of the cores.

use shallows_cc::parameter::Values;

use crate::cores::{DctcpParams, DxParams, InigoParams, InigoReceiverParams, PACKET};

/// Shares and gains are multiples of 2^-20.
const SHARE_BITS: u32 = 20;
/// Thresholds and increases are multiples of 2^-16.
const PART_BITS: u32 = 16;

/// A share or a gain as a multiple of 2^-`bits`.
fn fixed(share: f64, bits: u32) -> u32 {
    (share * f64::from(1_u32 << bits) + 0.5) as u32
}

/// Refuses parameters that the cores do not have.
fn without(flags: &[&str], values: &Values) -> Result<(), String> {
    match flags.iter().find(|flag| values.flag(flag)) {
        Some(flag) => Err(format!("cc.{flag} = true: expected false, because no algorithm for the kernel has it")),
        None => Ok(()),
    }
}

/// Parameters of DCTCP.
///
/// # Errors
/// A sentence for a parameter that the core does not have.
pub fn dctcp(values: &Values) -> Result<DctcpParams, String> {
    without(&["ns2"], values)?;
    Ok(DctcpParams {
        g: fixed(values.get("g"), SHARE_BITS),
        alpha: fixed(values.get("alpha"), SHARE_BITS),
        min_window: (values.get("min_window") * PACKET as f64) as u64,
    })
}

/// Parameters of DX.
///
/// # Errors
/// A sentence for a parameter that the core does not have.
pub fn dx(values: &Values) -> Result<DxParams, String> {
    without(&["as_printed"], values)?;
    Ok(DxParams { headroom_ns: (values.get("headroom") * 1e9 + 0.5) as u32, unused: 0 })
}

/// Parameters of Inigo's sender.
///
/// # Errors
/// A sentence for a parameter that the core does not have.
pub fn inigo(values: &Values) -> Result<InigoParams, String> {
    without(&["published", "ecn", "by_packets", "as_printed"], values)?;
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

/// Parameters of Inigo's receiver.
///
/// # Errors
/// A sentence for a parameter that the core does not have.
pub fn inigo_receiver(values: &Values) -> Result<InigoReceiverParams, String> {
    without(&["tsecr", "ce"], values)?;
    Ok(InigoReceiverParams {
        threshold: fixed(values.get("threshold"), PART_BITS),
        g: fixed(values.get("g"), SHARE_BITS),
        sub_window: values.get("sub_window") as u32,
        initial: values.get("initial") as u32,
        tick_us: ((values.get("resolution") * 1e6 + 0.5) as u32).max(1),
        mark: values.flag("mark").into(),
    })
}
