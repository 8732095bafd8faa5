"""The command ``assignlab``.

Every command imports what it needs when it is called: help, a check of the set-up or a refused
parameter does not wait for numba or Spark.
"""

import sys
from pathlib import Path

import click

import assignlab


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(assignlab.__version__)
def main():
    """Partition-assignment strategies of message queues, exact, swept and studied."""


@main.command()
def doctor():
    """Check what is needed to run here; one line per problem, with its remedy."""
    from assignlab.doctor import report
    from assignlab.study import project

    sys.exit(report(str(project())))


@main.command()
def warm():
    """Compile the strategies once, so that no run waits for it."""
    from assignlab.warm import main as warm_all

    warm_all()


@main.command()
@click.argument("notebooks", nargs=-1, metavar="[NOTEBOOK]...")
@click.option(
    "--scale",
    type=click.Choice(["smoke", "study", "full"]),
    default="study",
    show_default=True,
    help="Which folder of params/ to use.",
)
@click.option(
    "-p",
    "--parameter",
    "passed",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="Set a parameter of the named notebooks; lists as YAML: -p members '[2, 4]'.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Notebooks at a time; each sweep uses all cores by itself.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Longest time for one notebook.",
)
@click.option(
    "--resume/--force",
    default=True,
    show_default=True,
    help="Skip notebooks whose results are complete and unchanged, or run them again.",
)
@click.option("--list", "listing", is_flag=True, help="List notebooks, parameters and state only.")
@click.option(
    "--outputs",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the results go [default: outputs of the project].",
)
@click.option(
    "--project",
    "root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="The folder that has notebooks/ and params/.",
)
def run(notebooks, scale, passed, jobs, timeout, resume, listing, outputs, root):
    """Run notebooks through Papermill; all of them where none is named.

    Exit code: 0 if every notebook completed and left its results, 1 if not, 2 if a parameter or a
    name was refused before anything started.
    """
    from assignlab import runner
    from assignlab.doctor import folder_problem
    from assignlab.study import project

    root = (root or project()).resolve()
    place = runner.Place(root, (outputs or root / "outputs").resolve(), scale)
    try:
        plans = runner.plan(place, notebooks, passed)
    except runner.Refused as refusal:
        for line in refusal.lines:
            click.echo(f"assignlab: {line}", err=True)
        sys.exit(2)
    if listing:
        runner.print_list(place, plans)
        return
    if problem := folder_problem(str(place.outputs)):
        click.echo(f"assignlab: {problem}", err=True)
        sys.exit(2)
    sys.exit(runner.run(place, plans, jobs=jobs, timeout=timeout, resume=resume))


@main.command()
@click.option("--strategy", metavar="NAME", help="Answer every document with this strategy.")
@click.option(
    "--input",
    "source",
    type=click.File("rb"),
    default="-",
    metavar="FILE",
    help="JSON lines to read [default: standard input].",
)
def assign(strategy, source):
    """Read one group document per line, write one assignment per line.

    Exit code: 0 if every document was understood, 1 if not (the other lines are answered), 2 if
    the strategy does not exist.
    """
    from assignlab import assignors
    from assignlab.document import converse
    from assignlab.errors import UnknownName

    if strategy is not None:
        try:
            assignors.get(strategy)
        except UnknownName as error:
            click.echo(f"assignlab: {error}", err=True)
            sys.exit(2)
    failures = converse(
        iter(source.readline, b""),
        lambda text: print(text, flush=True),
        lambda text: print(f"assignlab: {text}", file=sys.stderr, flush=True),
        strategy,
    )
    sys.exit(1 if failures else 0)


@main.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
)
def strategies(form):
    """List the strategies: name, system, versions, protocol, sticky or not, source."""
    from assignlab import assignors

    click.echo(assignors.table(form))


@main.command()
@click.option(
    "--histories",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Random histories per strategy; each has several states.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--strategy",
    "chosen",
    multiple=True,
    metavar="NAME",
    help="Only this one; may be given several times [default: all that have an original].",
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="So many strategies at a time, each with originals of its own.",
)
def verify(histories, seed, chosen, jobs):
    """Play fresh random histories through our strategies and the live originals, and compare.

    Needs Java 17 and Maven, which fetches the originals' jars. Exit code: 0 without a difference,
    1 with one, 2 if a name is unknown or the originals cannot be run.
    """
    from assignlab import assignors
    from assignlab import verify as comparison
    from assignlab.errors import UnknownName
    from assignlab.oracle import OriginalsUnavailable, has_original

    def progress(strategy, done):
        if sys.stderr.isatty() or done % 100 == 0:
            print(
                f"\r{strategy}: {done}/{histories} histories", end="", file=sys.stderr, flush=True
            )

    names = chosen or [name for name in assignors.names() if has_original(name)]
    different = False
    try:
        if jobs > 1:
            reports = comparison.run_many(names, histories, seed, jobs)
        else:
            reports = comparison.run(names, histories, seed, progress)
        for report in reports:
            print(file=sys.stderr)
            click.echo(report.line())
            for difference in report.differences:
                different = True
                click.echo(comparison.show(difference))
    except (UnknownName, OriginalsUnavailable, KeyError) as error:
        click.echo(f"assignlab: {error.args[0]}", err=True)
        sys.exit(2)
    sys.exit(1 if different else 0)


@main.command()
@click.option(
    "--assignments",
    type=click.IntRange(1),
    default=10_000,
    show_default=True,
    help="Assignments over all strategies together.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--strategy",
    "chosen",
    multiple=True,
    metavar="NAME",
    help="Only this one; may be given several times [default: all].",
)
@click.option("--step", type=click.IntRange(0), help="Play one state of one strategy again.")
@click.option(
    "--defects",
    "plant",
    is_flag=True,
    help="Plant defects in right answers, and show which checker notices them.",
)
def fuzz(assignments, seed, chosen, step, plant):
    """Play random histories through the strategies and check every promise they give.

    Exit code: 0 if all promises are kept, apart from the faults that the originals are known for,
    1 if not, 2 if a name is unknown.
    """
    from assignlab import assignors
    from assignlab import fuzz as fuzzing
    from assignlab.errors import UnknownName

    try:
        names = [assignors.get(name).name for name in chosen] or assignors.names()
    except UnknownName as error:
        click.echo(f"assignlab: {error}", err=True)
        sys.exit(2)
    if plant:
        click.echo(fuzzing.defects_table(fuzzing.plant(seed=seed)))
        return
    if step is not None:
        if len(names) != 1:
            raise click.UsageError("--step needs one --strategy")
        sys.exit(fuzzing.show_step(names[0], seed, step, click.echo))
    sys.exit(fuzzing.show(names, assignments, seed, click.echo))
