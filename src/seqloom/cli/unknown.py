"""Usage errors as sentences: an option that does not exist names the nearest one that does."""

from collections.abc import Iterable

import click

LISTS_ALL = "({} --help lists all)"
SEEN = "seqloom.cli.seen"  # in a context: which task, model and size the command line names


def usage_sentence(wrong: click.ClickException) -> str:
    """What click found wrong with the words of a command."""
    ctx = wrong.ctx if isinstance(wrong, click.UsageError) else None
    path = ctx.command_path if ctx is not None else "seqloom"
    task = ctx.meta.get(SEEN, (None,))[0] if ctx is not None else None
    path = f"{path} {task}" if task else path
    lists_all = LISTS_ALL.format(path)
    if isinstance(wrong, click.NoSuchOption):
        meant = nearest_option(wrong.option_name, options_of(ctx))
        return f"unknown option {wrong.option_name}.{f' Did you mean {meant}?' if meant else ''} {lists_all}"
    if isinstance(wrong, click.MissingParameter) and wrong.param is not None:
        return f"{name_of(wrong.param, ctx)} is missing. ({path} --help says what goes there)"
    if isinstance(wrong, click.BadParameter) and wrong.param is not None:
        return f"{name_of(wrong.param, ctx)}: {lowered(wrong.message)} {lists_all}"
    return f"{lowered(wrong.format_message())} {lists_all}"


def lowered(message: str) -> str:
    """As the middle of a sentence, with its full stop.

    >>> lowered("Option '--out' requires an argument"), lowered("No such command 'rn'. Did you mean 'runs'?")
    ("option '--out' requires an argument.", "no such command 'rn'. Did you mean 'runs'?")
    """
    return f"{message[:1].lower()}{message[1:].rstrip('.')}{'' if message.endswith('?') else '.'}"


def name_of(param: click.Parameter, ctx: click.Context | None) -> str:
    """As it stands on the command line."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return param.make_metavar(ctx).strip("[].") if ctx is not None else str(param.name)


def options_of(ctx: click.Context | None) -> list[str]:
    """All options of a command."""
    if ctx is None:
        return []
    params = [param for param in ctx.command.get_params(ctx) if isinstance(param, click.Option)]
    return [name for param in params for name in (*param.opts, *param.secondary_opts)]


def nearest_option(wrong: str, options: Iterable[str]) -> str | None:
    """The option that was likely meant: one that looks like it, or what its name is called here.

    >>> nearest_option("--dry-rum", ["--dry-run", "--out"])
    '--dry-run'
    """
    from seqloom.spec.near import near
    from seqloom.tasks.keys import all_keys, nearest

    there = list(options)
    if match := near(wrong, there):
        return match
    name = wrong.lstrip("-").lower()
    key = nearest(name.removeprefix("no-").replace("-", "_"))
    meant = all_keys()[key].option if key is not None else None
    if meant is None or key is None or meant not in there:
        return None
    return f"--no-{meant[2:]}" if name.startswith("no-") and all_keys()[key].kind is bool else meant
