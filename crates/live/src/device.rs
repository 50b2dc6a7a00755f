//! A network device by its index, which does not change when it is renamed: its setting, and the attached programs.

#![allow(unsafe_code, reason = "the query of tcx is not in libbpf-rs")]

use libbpf_rs::{ProgramAttachType, libbpf_sys};
use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use serde::{Deserialize, Serialize};

use crate::{Outcome, namespaces};

/// Netlink errors for a missing device.
const NOT_THERE: [i32; 2] = [libc::ENODEV, libc::ENXIO];
/// Upper bound of the number of programs at one hook of a device.
const PROGRAMS_MOST: usize = 64;

/// A device of the calling thread's network namespace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Device {
    pub index: u32,
    /// The name when it was read.
    pub name: String,
    /// `gso_max_segs`: the most segments in a buffer for the device.
    pub segments: u32,
}

impl Device {
    /// The device with this name.
    pub fn named(name: &str) -> Outcome<Self> {
        let mut ask = LinkMessage::default();
        ask.attributes.push(LinkAttribute::IfName(name.to_owned()));
        Self::get(ask)?.ok_or_else(|| format!("no network device {name:?} in this network namespace").into())
    }

    /// The device with this index; `None` if there is none.
    pub fn numbered(index: u32) -> Outcome<Option<Self>> {
        let mut ask = LinkMessage::default();
        ask.header.index = index;
        Self::get(ask)
    }

    fn get(ask: LinkMessage) -> Outcome<Option<Self>> {
        let Some(RouteNetlinkMessage::NewLink(link)) = request(RouteNetlinkMessage::GetLink(ask), 0)? else {
            return Ok(None);
        };
        let mut device = Self { index: link.header.index, name: String::new(), segments: 0 };
        for attribute in link.attributes {
            match attribute {
                LinkAttribute::IfName(name) => device.name = name,
                LinkAttribute::GsoMaxSegs(segments) => device.segments = segments,
                _ => {}
            }
        }
        Ok(Some(device))
    }

    /// Sets `gso_max_segs`, and verifies it.
    pub fn set_segments(&mut self, segments: u32) -> Outcome<()> {
        let mut change = LinkMessage::default();
        change.header.index = self.index;
        change.attributes.push(LinkAttribute::GsoMaxSegs(segments));
        request(RouteNetlinkMessage::SetLink(change), NLM_F_ACK)?;
        let now = Self::numbered(self.index)?.ok_or_else(|| format!("{} has gone", self.name))?;
        if now.segments != segments {
            return Err(format!("gso_max_segs of {} stays at {}, not {segments}", self.name, now.segments).into());
        }
        *self = now;
        Ok(())
    }

    /// True if this tcx link is attached to the device.
    pub fn has(&self, link: u32) -> bool {
        [ProgramAttachType::TcxIngress, ProgramAttachType::TcxEgress].into_iter().any(|end| {
            let (mut programs, mut links) = ([0; PROGRAMS_MOST], [0; PROGRAMS_MOST]);
            let mut query = libbpf_sys::bpf_prog_query_opts {
                sz: size_of::<libbpf_sys::bpf_prog_query_opts>() as _,
                prog_ids: programs.as_mut_ptr(),
                link_ids: links.as_mut_ptr(),
                ..Default::default()
            };
            query.__bindgen_anon_1.count = PROGRAMS_MOST as u32;
            // SAFETY: the pointers are to a whole structure and to as many numbers as it says.
            let failed = unsafe { libbpf_sys::bpf_prog_query_opts(self.index as i32, end as u32, &raw mut query) } != 0;
            !failed && links.contains(&link)
        })
    }

    /// The device with this link in any network namespace, which the calling thread enters; `None` if no process is in
    /// that namespace.
    pub fn with_link(index: u32, link: u32) -> Outcome<Option<Self>> {
        let home = namespaces::own()?;
        for namespace in namespaces::all()? {
            namespaces::enter(&namespace)?;
            if let Some(device) = Self::numbered(index)?.filter(|device| device.has(link)) {
                return Ok(Some(device));
            }
        }
        namespaces::enter(&home)?;
        Ok(None)
    }
}

/// The kernel's reply to an rtnetlink request; `None` if there is no such device.
fn request(message: RouteNetlinkMessage, flags: u16) -> Outcome<Option<RouteNetlinkMessage>> {
    let mut packet = NetlinkMessage::from(message);
    packet.header.flags = NLM_F_REQUEST | flags;
    packet.finalize();
    let mut bytes = vec![0; packet.buffer_len()];
    packet.serialize(&mut bytes);
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&bytes, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    match NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)?.payload {
        NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
        NetlinkPayload::Error(error) if error.code.is_none_or(|code| NOT_THERE.contains(&-code.get())) => Ok(None),
        NetlinkPayload::Error(error) => Err(format!("netlink: {}", error.to_io()).into()),
        other => Err(format!("netlink: {other:?}").into()),
    }
}
