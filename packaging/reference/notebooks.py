"""Pages of the notebooks on the site: their text, code and stored outputs, without a kernel."""

import base64
import json
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
MOVES = "In a notebook this cell has a widget that draws the figure anew. Here it is in its first position."


def pages():
    """{name of a page or of a picture: its Markdown, or its bytes}."""
    found = {}
    for path in sorted(FOLDER.glob("*.ipynb")):
        text, pictures = _page(path.stem, json.loads(path.read_text("utf-8")))
        found |= {f"notebooks/{path.stem}.md": text} | pictures
    return found


def linked(markdown):
    """The Markdown of a page with links to pages in place of links to notebooks."""
    return re.sub(r"(\]\((?:notebooks/)?[\w-]+)\.ipynb\)", r"\1.md)", markdown)


def _page(name, book):
    lines, pictures = [], {}
    for cell in book["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [linked(source), ""]
            continue
        lines += ["```python", source, "```", ""]
        if "interactive" in cell["metadata"].get("tags", ()):
            lines += [f"*{MOVES}*", ""]
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                picture = f"notebooks/{name}-{len(pictures) + 1}.png"
                pictures[picture] = base64.b64decode("".join(data["image/png"]))
                lines += [f"![Figure of the cell above]({Path(picture).name})", ""]
            else:
                text = "".join(output.get("text") or _text(data))
                lines += ["```text", text.rstrip("\n"), "```", ""]
    first = lines[0].partition("\n")
    lines[0] = f"{first[0]}\n\n[Download the notebook]({name}.ipynb){{ download }}\n{first[2]}"
    return "\n".join(lines), pictures


def _text(data):
    """What a value shows as text; a run shows its report as HTML."""
    html = "".join(data.get("text/html", ""))
    report = re.fullmatch(r"\s*<pre[^>]*>(.*?)</pre>\s*", html, re.DOTALL)
    if report:
        return (
            re.sub(r"<[^>]+>", "", report[1]).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        )
    return "".join(data.get("text/plain", ""))
