//! Paths of single flows, where these do not follow from the numbers of the flows.

columns! {
    /// A flow whose path switches choose by another number than its own: flows of one queue pair have the same.
    #[derive(Copy, PartialEq, Eq)]
    pub struct PathHash as "PathHashes" in PathHashColumns {
        /// The flow.
        flow: u32,
        /// The number that switches hash.
        hash: u32,
    }
}

columns! {
    /// A link of the route that the data of a flow takes in place of a path that switches choose.
    #[derive(Copy, PartialEq, Eq)]
    pub struct RouteLink as "Routes" in RouteColumns {
        /// The flow.
        flow: u32,
        /// The link. Those of a flow are in order, from its sender to its receiver.
        link: u32,
    }
}
