"""The tables of a scenario as written: validated, without defaults that depend on other tables."""

from shallows.base.table import Key, Table
from shallows.scenario.faults import Fault
from shallows.scenario.queues import Pool, PortTable, TrafficClass
from shallows.scenario.tables import HostTable, NetworkTable, RecordTable
from shallows.topology import Topology
from shallows.traffic import AlgorithmChoice, Traffic
from shallows.units import Duration, Name, Seed, Time


class Given(Table, frozen=True):
    """The tables of one run: network, hosts, algorithms and traffic."""

    name: Name = Key("scenario", description="name of the results")
    seed: Seed = Key(1, description="seed of everything random")
    duration: Duration = Key(description='time at which the run ends, or "until-done"')
    warmup: Time = Key("0s", description="time that the summary excludes")
    cooldown: Time = Key(
        "0s",
        description="time before the last arrival of open-loop traffic whose flows are not in statistics",
    )
    topology: Topology = Key(description="a table of a kind and its keys")
    network: NetworkTable = Key(default_factory=dict)
    hosts: HostTable = Key(default_factory=dict)
    cc: AlgorithmChoice = Key(None, description="an algorithm, or a table with its parameters")
    traffic: list[Traffic] = Key(min_length=1, description="a list of tables, each of a kind and its keys")
    faults: list[Fault] = Key(
        # pydantic would parse the documented signature of `list` itself
        default_factory=lambda: list[Fault](),
        description="tables of changes of links, with their times",
    )
    classes: list[TrafficClass] = Key(
        default_factory=lambda: list[TrafficClass](),
        description="tables of traffic classes in order of priority; by default one",
    )
    pools: list[Pool] = Key(
        default_factory=lambda: list[Pool](),
        description="tables of memory of each switch, to which classes refer",
    )
    ports: list[PortTable] = Key(
        default_factory=lambda: list[PortTable](),
        description="tables of other settings of some ports, such as those of a tier",
    )
    record: RecordTable = Key(default_factory=dict)
