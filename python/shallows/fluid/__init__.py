"""The fluid world: congestion control as delay-differential equations.

A model is one file: its symbols, its equations marked `@equations`, and a `Model` that holds its
parameters in SI units and a `System` that names its states and delayed values. From that the solvers
take everything: `Model.fixed_point`, `linear.linearise` (margins, roots), `trajectory.trajectory`,
`maps.margin_map`. To add one, write such a file and add its class to `MODELS`.
`published` holds what a paper's figures really computed; `dcqcn_cycles` and `expresspass_rounds` are
discrete models, of convergence only.
"""

from shallows.fluid.dcqcn import Dcqcn
from shallows.fluid.dcqcn_pi import DcqcnPi
from shallows.fluid.dctcp import Dctcp
from shallows.fluid.dx import Dx
from shallows.fluid.hpcc import Hpcc
from shallows.fluid.model import Model
from shallows.fluid.nscc import Nscc
from shallows.fluid.patched_timely import PatchedTimely
from shallows.fluid.patched_timely_pi import PatchedTimelyPi
from shallows.fluid.powertcp import PowerTcp
from shallows.fluid.swift import Swift
from shallows.fluid.theta_powertcp import ThetaPowerTcp
from shallows.fluid.timely import Timely

MODELS = {
    model.name: model
    for model in (
        *(Dcqcn, Timely, PatchedTimely, DcqcnPi, PatchedTimelyPi, Dctcp, Dx),
        *(Swift, Hpcc, PowerTcp, ThetaPowerTcp, Nscc),
    )
}

__all__ = [
    "MODELS",
    "Dcqcn",
    "DcqcnPi",
    "Dctcp",
    "Dx",
    "Hpcc",
    "Model",
    "Nscc",
    "PatchedTimely",
    "PatchedTimelyPi",
    "PowerTcp",
    "Swift",
    "ThetaPowerTcp",
    "Timely",
]
