"""`python -m validation draw`: every measured figure in the form of the paper's, as a small PNG or as a vector file."""

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from validation.figures import draw

if TYPE_CHECKING:
    from validation.claim import Figure
    from validation.store import Sample

FORMATS = ("png", "svg", "pdf")
_COLOURS = 256
"""Size of a PNG's palette: enough for six curves and their blended edges, at half the size of full colour."""


def save(drawn: "Iterable[tuple[Figure, Sequence[Sample]]]", folder: Path, form: str = "png") -> list[Path]:
    """Writes FOLDER/FIGURE.FORM of each figure that has curves, and returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for figure, samples in drawn:
        picture = draw(figure, samples)
        if picture is None:
            continue
        path = folder / f"{figure.id}.{form}"
        if form == "png":
            path.write_bytes(_small(picture))
        else:
            picture.savefig(path, metadata={"Date": None} if form == "svg" else {"CreationDate": None})
        paths.append(path)
    return paths


def _small(picture: object) -> bytes:
    from PIL import Image

    full, small = BytesIO(), BytesIO()
    picture.savefig(full, dpi=110, metadata={"Software": None})  # type: ignore[attr-defined]
    with Image.open(full) as image:
        image.convert("RGB").quantize(_COLOURS).save(small, "png", optimize=True)
    return small.getvalue()
