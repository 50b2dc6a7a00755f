"""What `shallows fit` prints and draws."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from shallows.results.summary import finite
from shallows.units import SIZE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from shallows.fit.search import Fit, Value


def lines(found: "Fit") -> list[str]:
    """The report of one table."""
    in_a_row = f"{found.messages.max():.0f} messages in a row"
    traffic = f"traffic[{found.traffic}] ({found.kind})"
    shown = [
        f"table       {found.table.name}, {len(found.sizes)} rows, for {traffic}",
        f"cost        {_interval(found.cost, 'us')} for each of {in_a_row}",
        f"rate        {_interval(found.share, '')} of the scenario's",
        "size             measured us   predicted us   error",
    ]
    for size, measured, predicted in zip(found.sizes, found.measured, found.predicted, strict=True):
        error = predicted / measured - 1
        shown.append(f"{SIZE.text(int(size)):<12} {measured:15.2f} {predicted:14.2f} {error:+7.1%}")
    if found.held_out is not None:
        shown.append(
            f"held out    every second size is predicted from the others within {found.held_out:.1%}"
        )
    return shown + [f"note        {text}" for text in found.notes]


def as_json(found: "Fit") -> object:
    """The same numbers for other programs: times in us, intervals of 95 %."""
    values = {name: asdict(getattr(found, name)) for name in ("cost", "share")}
    rows = zip(found.sizes, found.measured, found.predicted, strict=True)
    sizes = [
        {"size_bytes": int(size), "measured_us": float(measured), "predicted_us": float(predicted)}
        for size, measured, predicted in rows
    ]
    about = {"test": found.table.test, "traffic": found.traffic, "kind": found.kind}
    numbers = {**values, "messages": int(found.messages.max()), "held_out": found.held_out}
    return finite({**about, **numbers, "sizes": sizes, "notes": found.notes})


def _interval(value: "Value", unit: str) -> str:
    space = f" {unit}" if unit else ""
    return f"{value.value:.4g}{space} ({value.low:.4g} to {value.high:.4g}, 95 %)"


def figure(found: "Sequence[Fit]", size: float = 5.2) -> "Figure":
    """Measured and predicted times, and those without costs, against the size; `size` inches wide."""
    from shallows.plot import Drawing

    drawn = Drawing((size, 3.3 * len(found)))
    with drawn.styled():
        axes = drawn.subplots(len(found), squeeze=False)[:, 0]
        for ax, one in zip(axes, found, strict=True):
            draw(ax, one)
            if len(found) > 1:
                ax.set_title(one.kind)
    return drawn


def draw(ax: "Axes", found: "Fit") -> None:
    """Draw the times on logarithmic axes."""
    from shallows.plot import COLOURS, DASHES
    from shallows.plot.style import bytes_text, logarithmic

    ax.plot(found.sizes, found.measured, "o", color=COLOURS[0], label="measured", markersize=4)
    ax.plot(found.sizes, found.predicted, color=COLOURS[1], linestyle=DASHES[0], label="predicted")
    ax.plot(found.sizes, found.free, color=COLOURS[2], linestyle=DASHES[1], label="without costs")
    logarithmic(ax.xaxis, bytes_text)
    logarithmic(ax.yaxis)
    ax.set(xlabel="size", ylabel="time (us)")
    ax.legend()
