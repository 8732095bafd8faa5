"""The command ``assignlab``.

Every command imports what it needs when it is called: help, a check of the set-up or a refused
parameter does not wait for numba or Spark.
"""

import os
import shlex
import sys
from functools import wraps
from pathlib import Path

import click

import assignlab
from assignlab.advice import happening
from assignlab.errors import INTERRUPTED, AssignlabError, refuse_unknown
from assignlab.releases import NEWEST, NEWEST_LINE, of_kafka

AT_ONCE = 50
"""The first so many documents, where they are small, are answered without the compiler; for more it pays."""


class Commands(click.Group):
    """Commands of which a refusal is told in one line, with exit code 2, and an interrupt with 130."""

    def invoke(self, context):
        """Run a command; what it refuses, misses here or cannot open or write is told on stderr,
        exit code 2."""
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise  # a reader that has enough, such as head
        except (AssignlabError, ImportError, OSError) as refusal:
            complain(refusal)
            sys.exit(2)
        except KeyboardInterrupt:
            # 1, which click would say, is an answer of many a command.
            complain("interrupted")
            sys.exit(INTERRUPTED)


def complain(text):
    """Say on stderr why a command cannot go on."""
    click.echo(f"assignlab: {text}", err=True)


def flag(name, text, *named):
    """An option that is given or not."""
    return click.option(name, *named, is_flag=True, help=text)


def choice(name, words, *named, default, text=None):
    """An option that takes one of these words."""
    kind = click.Choice(words)
    return click.option(name, *named, type=kind, default=default, show_default=True, help=text)


def count(name, default, text=None, least=1):
    """An option that takes a whole number from ``least`` on."""
    return click.option(
        name, type=click.IntRange(least), default=default, show_default=True, help=text
    )


def seed(default=0):
    """The option ``--seed``, a whole number of 0 or more."""
    return count("--seed", default, least=0)


def seconds(name, text):
    """An option that takes seconds, more than 0."""

    def refuse(_context, _parameter, value):
        if value is not None and not value <= 1e9:  # nor NaN
            raise AssignlabError(f"{name}: expected at most 1e9 seconds, got {value:g}")
        return value

    above_0 = click.FloatRange(0, min_open=True)
    return click.option(name, type=above_0, callback=refuse, metavar="SECONDS", help=text)


def file(*names, text, exists=False):
    """An option that takes the path of a file."""
    path = click.Path(exists=exists, dir_okay=False, path_type=Path)
    return click.option(*names, type=path, metavar="FILE", help=text)


def only(*names, default, metavar="NAME", more=""):
    """An option that names what is meant, once or several times."""
    text = f"Only this one; may be given several times [default: {default}].{more}"
    return click.option(*names, multiple=True, metavar=metavar, help=text)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(assignlab.__version__)
def main():
    """Partition-assignment strategies of message queues, exact, swept and studied."""


@main.command()
def doctor():
    """Check what is needed to run here; one line per problem, with its remedy."""
    from assignlab.local.doctor import report
    from assignlab.local.project import project

    sys.exit(report(str(project())))


@main.command()
@click.argument("strategies", nargs=-1, metavar="[STRATEGY]...")
def warm(strategies):
    """Compile strategies once, so that no run waits for it; all of them where none is named.

    Exit code: 0, 1 if one cannot be played; its line says why.
    """
    from assignlab import warm

    _refuse_unknown(*strategies)
    sys.exit(bool(warm.main(strategies)))


@main.command()
@click.argument("notebooks", nargs=-1, metavar="[NOTEBOOK]...")
@choice(
    "--scale", ["smoke", "study", "full"], default="study", text="Which folder of params/ to use."
)
@click.option(
    "-p", "--parameter", "passed", nargs=2, multiple=True, metavar="NAME VALUE",
    help="Set a parameter of the named notebooks; lists as YAML: -p strategies '[range, sticky]'. Such "
    "runs have folders of their own.",
)  # fmt: skip
@click.option(
    "--grid", multiple=True, metavar="NAME=VALUE,VALUE",
    help="Run with each of these values, every combination of several: --grid seed=1,2 "
    "--grid strategies='[range],[sticky]'.",
)  # fmt: skip
@file("--matrix", exists=True, text="The same from a YAML file of 'name: [value, value]' lines.")
@count("--jobs", 1, "Notebooks at a time; each sweep uses all cores by itself.")
@seconds("--timeout", "Longest time for one notebook, at most 1e9.")
@click.option(
    "--resume/--force", default=True, show_default=True,
    help="Skip notebooks whose results are complete and unchanged, or run them again.",
)  # fmt: skip
@flag(
    "--compile-ahead",
    "Have what notebooks need compiled while the first one runs, as make study does.",
)
@flag("--list", "List notebooks, parameters and state only.", "listing")
@click.option(
    "--outputs", type=click.Path(file_okay=False), envvar="ASSIGNLAB_OUTPUTS", metavar="DIR",
    help="Where the results go [default: $ASSIGNLAB_OUTPUTS, or outputs of the project].",
)  # fmt: skip
@click.option(
    "--tables", envvar="ASSIGNLAB_TABLES", metavar="URI",
    help="Where the tables of sweeps go: a folder, or a store that Spark's executors can write, "
    "hdfs://host/tables [default: beside the results].",
)  # fmt: skip
@click.option(
    "--project", "root", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
    help="The folder that has notebooks/ and params/.",
)  # fmt: skip
def run(notebooks, scale, passed, grid, matrix, jobs, outputs, tables, root, listing, **how):
    """Run notebooks through Papermill; all of them where none is named.

    Exit code: 0 if every notebook completed and left its results, 1 if not, 2 if a parameter or a
    name was refused before anything started.
    """
    from assignlab import runner
    from assignlab.local.doctor import folder_problem
    from assignlab.local.project import TABLES_VARIABLE, folder_named, is_uri, project

    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows its code.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    root = (root or project()).resolve()
    try:
        place = runner.Place(root, folder_named(outputs or str(root / "outputs")), scale)
        if tables:
            local = None if is_uri(tables) else folder_named(tables)
            os.environ[TABLES_VARIABLE] = str(local or tables.rstrip("/"))
            if local and (problem := folder_problem(str(local), "--tables")):
                raise runner.Refused([problem])
        plans = runner.plan(place, notebooks, passed, runner.read_axes(grid, matrix))
    except ValueError as refusal:
        for line in getattr(refusal, "lines", [str(refusal)]):
            complain(line)
        sys.exit(2)
    if listing:
        runner.print_list(place, plans)
        return
    if problem := folder_problem(str(place.folder)):
        complain(problem)
        sys.exit(2)
    try:
        sys.exit(runner.run(place, plans, jobs, **how))
    except OSError as error:
        complain(error)
        sys.exit(1)


@main.command()
@click.argument("notebook")
@click.argument("table")
@click.argument(
    "folders", nargs=-1, type=click.Path(exists=True, path_type=Path), metavar="[FOLDER]..."
)
@file("--to", "target", text="A .csv or .parquet file to write [default: CSV on standard output].")
def collect(notebook, table, folders, target):
    """Make one table of what many runs left: TABLE of NOTEBOOK, parameters as columns.

    Every complete run below the folders [default: outputs of the project] goes in; its parameters
    stand in columns param_NAME. Exit code: 2 if there is no such run or table.
    """
    from assignlab.local.project import outputs
    from assignlab.runner import collecting

    try:
        frame = collecting.collect(notebook, table, folders or [outputs()])
        collecting.write(frame, target)
    except ValueError as error:
        complain(error)
        sys.exit(2)


@main.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), metavar="COPY_TO")
def notebooks(folder):
    """Copy the notebooks and their parameter files to a folder of yours.

    Exit code: 0 if they are there, 2 if a file of that name was there before.
    """
    from assignlab.runner.collection import copy_to

    count = copy_to(folder)
    # Without --project an editable installation runs its own.
    click.echo(
        f"{count} files copied; now: cd {shlex.quote(str(folder))} && assignlab run --project ."
    )


class Lines(click.File):
    """A file; - is standard input, unless that is closed."""

    def convert(self, value, parameter, context):
        """The open file."""
        if value == "-" and sys.stdin is None:
            self.fail("standard input is closed", parameter, context)
        return super().convert(value, parameter, context)


documents = click.option(
    "--input", "source", type=Lines("rb"), default="-", metavar="FILE",
    help="JSON lines to read [default: standard input].",
)  # fmt: skip


@main.command()
@click.option("--strategy", metavar="NAME", help="Answer every document with this strategy.")
@documents
def assign(strategy, source):
    """Read one group document per line, write one assignment per line.

    Exit code: 0 if every document was understood, 1 if not (the other lines are answered), 2 if
    the strategy does not exist.
    """
    from assignlab.assignors.answer import solve

    _refuse_unknown(strategy)
    first = iter(range(AT_ONCE))

    def reply(document):
        return solve(document, strategy, at_once=next(first, None) is not None)

    sys.exit(_converse(source, reply))


@main.command()
@click.option("--strategy", metavar="NAME", help="Add what this strategy gives, and its regrets.")
@documents
def optimum(strategy, source):
    """Read one group document per line, write its optimum per line, proven.

    Least sum of squares of partitions per member, then fewest moves against the claims (owned);
    and the front, every pair of the two that no assignment beats in both. Exit codes as assign's.
    """
    from assignlab.replay.beside import solve

    _refuse_unknown(strategy)
    sys.exit(_converse(source, lambda document: solve(document, strategy)))


def _refuse_unknown(*strategies):
    """UnknownName where one of the names is no strategy's; None names none."""
    from assignlab import assignors

    for strategy in strategies:
        if strategy is not None:
            assignors.get(strategy)


def _converse(source, reply_to):
    """Answer the lines of a file; the exit code."""
    from assignlab.assignors.answer import converse
    from assignlab.compiled import tell_compiling

    tell_compiling(complain)
    failures = converse(
        iter(source.readline, b""),
        lambda text: print(text, flush=True),
        lambda text: print(f"assignlab: {text}", file=sys.stderr, flush=True),
        reply_to,
    )
    return 1 if failures else 0


@main.command()
@choice("--format", ["text", "markdown", "json"], "form", default="text")
def strategies(form):
    """List the strategies: name, system, versions, protocol, sticky or not, source."""
    from assignlab import assignors

    click.echo(assignors.table(form))


@main.command()
@count("--histories", 100, "Random histories per strategy; each has several states.")
@seed()
@only("--strategy", "chosen", default="all that have an original")
@count("--jobs", 1, "So many strategies at a time, each with originals of its own.")
def verify(histories, seed, chosen, jobs):
    """Play fresh random histories through our strategies and the live originals, and compare.

    Needs Java 17 and Maven, which fetches the originals' jars. Exit code: 0 without a difference,
    1 with one or where an original gave no answer in time, 2 if a name is unknown or the originals
    cannot be run.
    """
    from assignlab.proof import verify as comparison
    from assignlab.proof.originals import known

    def progress(strategy, done):
        if sys.stderr.isatty() or done % 100 == 0:
            print(
                f"\r{strategy}: {done}/{histories} histories", end="", file=sys.stderr, flush=True
            )

    failed = False
    if jobs > 1:
        reports = comparison.compare_many(chosen or known(), histories, seed, jobs)
    else:
        reports = comparison.compare(chosen or known(), histories, seed, progress)
    for report in reports:
        print(file=sys.stderr)
        click.echo(report.line())
        failed |= bool(report.differences or report.timed_out)
        for difference in report.differences:
            click.echo(comparison.show(difference))
    sys.exit(1 if failed else 0)


@main.command()
@count("--assignments", 10_000, "Assignments over all strategies together.")
@seed()
@only("--strategy", "chosen", default="all")
@click.option("--step", type=click.IntRange(0), help="Play one state of one strategy again.")
@flag(
    "--defects",
    "Plant defects in right answers, of eight strategies unless told, and show which checker notices them.",
    "plant",
)
@flag(
    "--hunt",
    "Count rebalances that never end, throw, take many rounds or starve a member; the smallest.",
)
@flag("--ask", "Ask the originals about every group that is said never to end (Java, Maven).")
def fuzz(assignments, seed, chosen, step, plant, hunt, ask):
    """Play random histories through the strategies and check every promise they give.

    Exit code: 0 if all promises are kept, apart from the faults that the originals are known for,
    and with --ask if no original answers; 1 if not, 2 if a name is unknown.
    """
    from assignlab import assignors
    from assignlab.proof import fuzz as fuzzing

    hunts = {"--hunt": hunt and not ask, "--ask": ask}
    source = click.get_current_context().get_parameter_source("assignments")
    told = source is click.core.ParameterSource.COMMANDLINE and not (hunt or ask)
    given = {"--step": step is not None, "--defects": plant, **hunts, "--assignments": told}
    alone = [option for option, is_there in given.items() if is_there]
    if len(alone) > 1:
        raise click.UsageError(f"{alone[0]} and {alone[1]} exclude each other")
    if ask or hunt:
        from assignlab.published import mishaps
    if ask:
        sys.exit(mishaps.show_asked(chosen or mishaps.looping(), assignments, seed, click.echo) > 0)
    names = [assignors.get(name).name for name in chosen] or assignors.names()
    if plant:
        planted = fuzzing.plant(names if chosen else fuzzing.PLANTED_IN, seed=seed)
        click.echo(fuzzing.defects_table(planted))
        return
    if hunt:
        mishaps.show(names, assignments, seed, click.echo)
        return
    if step is not None:
        if len(names) != 1:
            raise click.UsageError("--step needs one --strategy")
        sys.exit(fuzzing.show_step(names[0], seed, step, click.echo))
    sys.exit(fuzzing.show(names, assignments, seed, click.echo))


@main.group()
def proof():
    """How we know: ask the originals, record their answers, put ours before Kafka's tests.

    Most need Java 17 and Maven; exit code 2 where the originals cannot be run. See also verify and fuzz.
    """


@proof.command()
@flag("--quick", "Leave out what asserts nothing.")
@flag("--defects", "Plant defects too, a run for each.", "all_defects")
@click.option("--defect", "planted", multiple=True, metavar="NAME", help="Plant only this one.")
def judge(quick, all_defects, planted):
    """Let Kafka's own tests judge our assignments; exit code 1 if a case fails."""
    from assignlab.proof import judge as kafkas_tests

    sys.exit(kafkas_tests.main(quick, list(kafkas_tests.DEFECTS) if all_defects else planted))


@proof.command()
@click.argument("strategies", nargs=-1, metavar="[STRATEGY]...")
@count("--states", 2400, "States per strategy; histories are played to their ends.")
@seed(20261120)
@click.option("--folder", type=click.Path(path_type=Path), help="[default: tests/golden]")
def golden(strategies, states, seed, folder):
    """Record the originals' answers anew, for some strategies or all."""
    from assignlab.proof import golden as vectors
    from assignlab.proof.originals import known

    vectors.main(strategies or known(), states, seed, folder or vectors.FOLDER)


@proof.command()
@click.argument("names", nargs=-1, metavar="[EXHIBIT]...")
@flag("--record", "Record the answers anew.")
def museum(names, record):
    """Ask every release about some exhibits of the museum, or all; exit code 1 if an answer has changed.

    With --record the newest release that shows the fault is asked about smaller groups first: exit
    code 2 if one of them shows it, too.
    """
    from assignlab.published import museum as exhibits

    sys.exit(exhibits.main(names, record, click.echo))


@proof.command()
@flag("--record", "Record the answers anew.")
def scorecard(record):
    """Ask the originals about the scorecard's claims; exit code 1 if an answer has changed."""
    from assignlab.published import scorecard as claims

    sys.exit(claims.main(record))


@proof.command()
@click.argument("strategies", nargs=-1, metavar="[STRATEGY]...")
@count("--histories", 150)
@seed(1)
def versions(strategies, histories, seed):
    """Compare every release with the one before; of a name with a release (sticky@3.0) all releases."""
    from assignlab.proof import versions as releases

    releases.main(strategies or releases.compared(), histories, seed)


@proof.command()
@click.argument(
    "kinds", nargs=-1, type=click.Choice(["range", "roundrobin", "sticky", "cooperative-sticky"])
)
@count("--histories", 40)
@seed(1)
def clients(kinds, histories, seed):
    """Compare assignors of one name in several clients with Java's."""
    from assignlab.proof import clients as others

    others.main(kinds or others.KINDS, histories, seed)


@proof.command()
@click.argument("name")
def defects(name):
    """Answer group documents as assign does, with a planted defect."""
    from assignlab.proof import defects as planted

    planted.main(name)


@proof.command()
@click.argument("names", nargs=-1, metavar="[PARTITIONER]...")
@flag("--check", "Compare ours on fresh histories instead.")
@seed(1)
@count("--records", 3000, "Records per partitioner.")
def partitioners(names, check, seed, records):
    """Record the answers of the original partitioners anew, or check ours."""
    from assignlab.proof import partitioner_originals

    sys.exit(partitioner_originals.main(names, check, seed, records))


@proof.command()
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option("--broker", "brokers", multiple=True, metavar="RELEASE", help="Only of this release.")
@flag("--record", "Record real groups anew: Java, Maven, minutes.")
def reality(scenarios, brokers, record):
    """Hold recorded groups of a real broker against the timeline; exit code 1 if the list of known
    differences is not right."""
    from assignlab.reality import known

    sys.exit(known.main(list(scenarios), list(brokers), record, click.echo))


@proof.command("random-groups")
@click.option("--broker", "release", default=NEWEST, metavar="RELEASE", show_default=True)
@seed(1)
@count("--groups", 20, "Groups, each of a seed.")
@file("--to", text="Keep the recordings there, as JSON lines.")
def random_groups(release, seed, groups, to):
    """Hold random groups on a real broker against the timeline: Java, Maven, minutes.

    A group follows from its seed: --seed SEED --groups 1 plays one of them again. Exit code 1 if
    the timeline says something else anywhere.
    """
    from assignlab.reality import drawn

    sys.exit(drawn.main(release, seed, groups, to, click.echo))


@main.group()
def group():
    """Read, explain and play your own group.

    SOURCE is a file or - for standard input; several add to each other. docs/your-group.md says
    which commands give which text. --bootstrap-server asks the cluster itself.

    Exit code: 1 if a text is not understood, or no group in it can be asked (of several, those that
    cannot are told on stderr; show and survey say why in their answer, and end with 0); 2 if a text
    cannot be opened, or an option is refused.
    """


def sources(command):
    """What groups are read from: texts, or a cluster as Kafka's own tools ask it, or both."""

    @click.argument("texts", nargs=-1, metavar="[SOURCE]...")
    @click.option("--bootstrap-server", metavar="HOST:PORT,...", help="Ask this cluster.")
    @file("--command-config", text="Properties for it: SASL, TLS.")
    @only("--group", "groups", default="all groups")
    @wraps(command)
    def read_from(texts, bootstrap_server, command_config, groups, **values):
        from assignlab.advice.commands import Sources
        from assignlab.compiled import tell_compiling

        if bootstrap_server is not None:
            from assignlab.groups import Live

            texts = [*texts, Live(bootstrap_server, command_config, groups)]
        elif command_config is not None:
            raise click.UsageError("--command-config goes with --bootstrap-server")
        elif not texts:
            raise click.UsageError("Missing argument 'SOURCE...', or --bootstrap-server.")
        tell_compiling(complain)
        return command(Sources(texts, groups), **values)

    return read_from


def _told(as_json=False, html=None):
    from assignlab.advice.commands import Told

    return Told(click.echo, complain, as_json, html)


def telling(command):
    """How the answer is told: as text, as JSON, as a page."""

    @flag("--json", "As JSON, one array of groups.", "as_json")
    @file("--html", text="As a page that stands alone.")
    @wraps(command)
    def tell(*texts, as_json, html, **values):
        if as_json and html is not None:
            raise click.UsageError("--json or --html FILE, not both")
        return command(*texts, told=_told(as_json, html), **values)

    return tell


@group.command("document")
@sources
def group_document(sources):
    """Print the groups that the sources tell of as group documents, one per line."""
    from assignlab.advice import commands

    sys.exit(commands.documents(sources, _told()))


@group.command("show")
@sources
@click.option("--then", multiple=True, metavar="LATER", help="The same text, taken later: rates.")
@seconds("--apart", "How much later; needed with --then.")
@telling
def group_show(sources, then, apart, told):
    """Show the groups that the sources tell of: sizes, gap, idle members, topics, load.

    And the law behind the gap, and which strategies and releases would have given exactly this.
    """
    from assignlab.advice import commands

    if then and apart is None:
        raise click.UsageError("--then needs --apart SECONDS: no text says when it was taken")
    if apart is not None and not then:
        raise click.UsageError("--apart goes with --then LATER")
    later = commands.Later(then, apart) if then else None
    sys.exit(commands.show_groups(sources, told, later))


def _settings(release, given):
    """The group's own settings: those of the release, changed by NAME=VALUE."""
    from assignlab.advice.pauses import settings

    of_kafka(release)  # or it is refused
    values = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"--set {text}: expected NAME=VALUE")
        if name in values:
            raise click.UsageError(f"--set {text}: {name} is set before, to {values[name]}")
        values[name] = value
    return settings(release, values)


release = click.option(
    "--release", default=NEWEST_LINE, show_default=True, metavar="RELEASE",
    help="Kafka's release: its strategies and default settings.",
)  # fmt: skip
given = click.option(
    "--set", "given", multiple=True, metavar="NAME=VALUE",
    help="A setting of the group's own: session.timeout.ms=10000.",
)  # fmt: skip
one_strategy = click.option("--strategy", metavar="NAME", help="Instead of the group's own.")


@group.command("replicas")
@sources
@count("--up-to", happening.UP_TO, "The most members to look at.")
@one_strategy
@release
@given
@telling
def group_replicas(sources, up_to, strategy, release, given, told):
    """For every number of members: fullest, emptiest, idle, moves and pause of each step."""
    from assignlab.advice import commands, replicas

    config = _settings(release, given)
    _refuse_unknown(strategy)
    sys.exit(commands.ask(sources, told, replicas.report, up_to, strategy, release, config))


@group.command("what-if")
@sources
@only("--strategy", "chosen", default="the group's own and those it could change to")
@only(
    "--event", "events", metavar="EVENT", default="all",
    more=f" The events: {', '.join(happening.NAMES)}.",
)  # fmt: skip
@release
@given
@telling
def group_what_if(sources, chosen, events, release, given, told):
    """What events and changes would do: balance, moves, avoidable ones, rounds, time without owner.

    Where the text names no strategy, the first --strategy is the group's own.
    """
    from assignlab.advice import commands, what_if

    refuse_unknown("event", events, happening.NAMES)
    config = _settings(release, given)
    _refuse_unknown(*chosen)
    sys.exit(commands.ask(sources, told, what_if.report, chosen, events, release, config))


@group.command("recommend")
@sources
@one_strategy
@release
@given
@telling
def group_recommend(sources, strategy, release, given, told):
    """What to set, as lines to paste; why, what it costs, what is not known."""
    from assignlab.advice import commands, recommend

    config = _settings(release, given)
    _refuse_unknown(strategy)
    sys.exit(commands.ask(sources, told, recommend.report, release, config, strategy))


@group.command("survey")
@sources
@release
@click.option("--spark/--no-spark", default=None, help="Play on Spark [default: from 1000 groups].")
@telling
def group_survey(sources, release, spark, told):
    """Rank the groups of a whole cluster by what another strategy would gain."""
    from assignlab.advice import commands, survey

    of_kafka(release)
    sys.exit(commands.ask_all(sources, told, survey.report, release, spark))
