"""Writes docs/gallery from the outputs of the study: small pictures, and what they answer.

``make docs`` calls it. A notebook's entry is renewed where `outputs` has a complete run of it at
scale study, and stays as it is elsewhere; ``python docs/gallery.py FOLDER`` takes the runs below
another folder, of any scale, and the captions say which.
"""

import json
import sys
from pathlib import Path

from assignlab.local.project import outputs
from assignlab.runner.page import number_of

FOLDER = Path(__file__).parent / "gallery"
CAPTIONS = FOLDER / "captions.json"
WIDTH, COLORS = 900, 160
FIRST = "02_imbalance_and_topic_count", "gap_equal_subscriptions"
"""The picture that the project's README begins with."""
TIMED = {"16_kafkas_grid"}
"""Notebooks whose answers have measured times in them: no two runs say the same."""


def renew(runs: Path) -> None:
    """Take over pictures and captions of all complete runs of the study in a folder."""
    captions = read()
    for name, (folder, picture, caption) in complete(runs).items():
        shrink(folder / f"{picture}.png", FOLDER / f"{name}.png")
        if name == FIRST[0]:
            shrink(folder / f"{FIRST[1]}.png", FOLDER.parent / "imbalance.png")
        captions[name] = caption
    text = json.dumps(captions, indent=1, sort_keys=True, ensure_ascii=False)
    CAPTIONS.write_text(text + "\n", encoding="utf-8")


def complete(runs: Path) -> dict[str, tuple[Path, str, dict]]:
    """Of all complete runs of the study in a folder, by notebook: folder, picture and caption."""
    found = {}
    for path in sorted(runs.glob("*/run.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        picture = record.get("picture")
        whole = record["status"] == "completed" and not record.get("passed")
        if not whole or not (path.parent / f"{picture}.png").is_file():
            continue
        told = {result["name"]: result["text"] for result in record["results"]}
        caption = {
            "title": f"{number_of(record['notebook'])} {record['title']}".strip(),
            "short": record["short"],
            "alt": told[picture],
            "scale": record["scale"],
        }
        found[record["notebook"]] = path.parent, picture, caption
    return found


def stale(runs: Path) -> list[str]:
    """The notebooks of which the runs in a folder say something else than the gallery."""
    kept = read()
    return [
        name
        for name, (*_, caption) in complete(runs).items()
        if name not in TIMED and caption != kept.get(name)
    ]


def read() -> dict[str, dict]:
    """Notebook -> title, short answer, alt text and scale of its picture."""
    return json.loads(CAPTIONS.read_text(encoding="utf-8")) if CAPTIONS.is_file() else {}


def shrink(picture: Path, target: Path) -> None:
    """A picture of few colours and at most 900 pixels, for the repository."""
    from PIL import Image

    with Image.open(picture) as image:
        image = image.convert("RGB")
        image.thumbnail((WIDTH, 4 * WIDTH))
        image.quantize(COLORS).save(target, optimize=True)


def page() -> str:
    """The gallery, for its README."""
    parts = [
        f"## {caption['title']}\n\n{caption['short']}\n\n![{caption['alt']}]({name}.png)\n\n"
        f"Scale {caption['scale']}; [the notebook](../../notebooks/{name}.ipynb)."
        for name, caption in sorted(read().items())
    ]
    return "\n\n".join(parts)


def strip() -> str:
    """Three pictures, for the project's README."""
    chosen = [name for name in PREFERRED if name in read()][:3]
    lines = [
        f"| {' | '.join(read()[name]['title'] for name in chosen)} |",
        "|---" * len(chosen) + "|",
    ]
    cells = (f"![{read()[name]['title']}](docs/gallery/{name}.png)" for name in chosen)
    lines += [f"| {' | '.join(cells)} |", f"| {' | '.join(read()[n]['short'] for n in chosen)} |"]
    return "\n".join(lines)


PREFERRED = [
    "02_imbalance_and_topic_count",
    "03_moves_across_rebalances",
    "11_eager_cooperative_kip848",
    "05_museum_of_faults",
    "09_lifecycle_and_generations",
    "01_strategies_by_example",
]
"""Notebooks whose pictures the README shows, the first three that there are."""

if __name__ == "__main__":
    renew(Path(sys.argv[1]) if len(sys.argv) > 1 else outputs() / "study")
