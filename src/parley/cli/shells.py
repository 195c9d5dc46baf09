"""Completion scripts for bash, zsh and fish, written from what can stand where.

Each finds its place in the line in the same way: the first word is the command, the next one that
is an action of it is the action; after `--` there is another program's command line. Words that
come from the user's configuration are single words of letters, digits, - and _.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

__all__ = ["SHELLS", "Option", "Place", "Value"]


class Value(Struct, frozen=True):
    """What may be given."""

    kind: str = ""
    """`agents`, `chains`, `files`, `dirs`, or nothing that is known."""
    words: Sequence[str] = ()
    """The only words that are taken."""


class Option(Struct, frozen=True):
    """An option."""

    names: list[str]
    help: str
    value: Value | None = None
    """What it takes; None: nothing."""


class Place(Struct, frozen=True, kw_only=True):
    """What can follow a command or an action of it."""

    path: str
    """The words before it, as `agents add`; empty at the front."""
    options: list[Option]
    actions: Mapping[str, str] = {}
    """Words that lead to another place, and what each does."""
    values: list[Value] = []
    """What else is taken, one after the other."""

    @property
    def value(self) -> Value:
        """What is taken here; of several the first that is known."""
        return next((each for each in self.values if each != Value()), Value())


def _steps(places: Sequence[Place]) -> list[tuple[str, str]]:
    """Return which word leads from which place to which."""
    return [
        (f"{place.path}/{word}", f"{place.path} {word}".strip())
        for place in places
        for word in place.actions
    ]


def _step_cases(places: Sequence[Place]) -> str:
    """Return the same as cases that bash and zsh understand."""
    return "\n".join(
        f"            ({shlex.quote(at)}) place={shlex.quote(to)} ;;" for at, to in _steps(places)
    )


def _option_cases(places: Sequence[Place], complete: Callable[[Value], str]) -> str:
    """Return the cases of what follows an option that takes a value."""
    cases: list[str] = []
    for place in places:
        for option in place.options:
            if option.value is not None:
                at = "|".join(shlex.quote(f"{place.path} {name}") for name in option.names)
                cases.append(f"        ({at}) {complete(option.value)}; return ;;")
    return "\n".join(cases)


# bash

_BASH = """\
# Completion of `parley` for bash: write it to
# ~/.local/share/bash-completion/completions/parley
_parley_words() {{ COMPREPLY=($(compgen -W "$1" -- "$cur")); }}
_parley_names() {{ _parley_words "$(command parley completion --words "$1" 2>/dev/null)"; }}
_parley_paths() {{
    local IFS=$'\\n'
    COMPREPLY=($(compgen "$1" -- "$cur"))
    compopt -o filenames 2>/dev/null
}}
_parley() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} place="" i
    COMPREPLY=()
    if [[ $cur == "=" ]]; then cur=""
    elif [[ $prev == "=" ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$place/${{COMP_WORDS[i]}}" in
            */--)
                if [[ $prev == -- ]]; then _parley_paths -c; else _parley_paths -f; fi
                return ;;
{steps}
        esac
    done
    case "$place $prev" in
{options}
    esac
    case "$place/$cur" in
{words}
    esac
}}
complete -F _parley parley
"""


def _bash(places: Sequence[Place]) -> str:
    words: list[str] = []
    for place in places:
        names = " ".join(name for each in place.options for name in each.names)
        words.append(f"        {shlex.quote(place.path)}/-*) _parley_words {shlex.quote(names)} ;;")
        if place.actions:
            value = f"_parley_words {shlex.quote(' '.join(place.actions))}"
        else:
            value = _bash_value(place.value)
        words.append(f"        {shlex.quote(place.path)}/*) {value} ;;")
    options = _option_cases(places, _bash_value)
    return _BASH.format(steps=_step_cases(places), options=options, words="\n".join(words))


def _bash_value(value: Value) -> str:
    if value.words:
        return f"_parley_words {shlex.quote(' '.join(value.words))}"
    kinds = {"files": "_parley_paths -f", "dirs": "_parley_paths -d"}
    return kinds.get(value.kind, f"_parley_names {value.kind}" if value.kind else ":")


# zsh

_ZSH = """\
#compdef parley
# Completion of `parley` for zsh: write it to a file _parley in a directory of $fpath.
_parley_names() {{ compadd -- ${{(f)"$(command parley completion --words $1 2>/dev/null)"}} }}
_parley() {{
    local place="" prev=${{words[CURRENT-1]}} i
    local -a found
    for ((i = 2; i < CURRENT; i++)); do
        case "$place/${{words[i]}}" in
            (*/--) _normal; return ;;
{steps}
        esac
    done
    case "$place $prev" in
{options}
    esac
    case "$place/${{words[CURRENT]}}" in
{words}
    esac
}}
if [[ "${{funcstack[1]}}" == _parley ]]; then _parley "$@"; else compdef _parley parley; fi
"""


def _zsh(places: Sequence[Place]) -> str:
    words: list[str] = []
    for place in places:
        entries = [(name, each.help) for each in place.options for name in each.names]
        words.append(f"        ({shlex.quote(place.path)}/-*) {_zsh_list('option', entries)} ;;")
        value = _zsh_value(place.value)
        if place.actions:
            value = _zsh_list("command", list(place.actions.items()))
        words.append(f"        ({shlex.quote(place.path)}/*) {value} ;;")
    options = _option_cases(places, _zsh_value)
    return _ZSH.format(steps=_step_cases(places), options=options, words="\n".join(words))


def _zsh_list(kind: str, entries: list[tuple[str, str]]) -> str:
    items = " ".join(shlex.quote(f"{word}:{_plain(text)}") for word, text in entries)
    return f"found=({items}); _describe {kind} found"


def _zsh_value(value: Value) -> str:
    if value.words:
        return f"compadd -- {shlex.join(value.words)}"
    kinds = {"files": "_files", "dirs": "_files -/"}
    return kinds.get(value.kind, f"_parley_names {value.kind}" if value.kind else ":")


# fish

_FISH = """\
# Completion of `parley` for fish: write it to ~/.config/fish/completions/parley.fish
function __parley_at
    set -l place ''
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        switch "$place/$word"
            case '*/--'
                return 1
{steps}
        end
    end
    test "$place" = "$argv[1]"
end
complete -c parley -f
{lines}
"""


def _fish(places: Sequence[Place]) -> str:
    steps = [
        f"            case {shlex.quote(at)}\n                set place {shlex.quote(to)}"
        for at, to in _steps(places)
    ]
    lines: list[str] = []
    for place in places:
        at = f'complete -c parley -n "__parley_at {shlex.quote(place.path)}"'
        for word, text in place.actions.items():
            lines.append(f"{at} -a {word} -d {shlex.quote(_plain(text))}")
        if value := _fish_value(place.value):
            lines.append(f"{at} {value}")
        for option in place.options:
            names = [f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names]
            takes = "" if option.value is None else f" -r {_fish_value(option.value)}".rstrip()
            lines.append(f"{at} {' '.join(names)}{takes} -d {shlex.quote(_plain(option.help))}")
    return _FISH.format(steps="\n".join(steps), lines="\n".join(lines))


def _fish_value(value: Value) -> str:
    if value.words:
        return f"-f -a {shlex.quote(' '.join(value.words))}"
    kinds = {"": "", "files": "-F", "dirs": "-f -a '(__fish_complete_directories)'"}
    names = f"-f -a '(command parley completion --words {value.kind} 2>/dev/null)'"
    return kinds.get(value.kind, names)


def _plain(text: str) -> str:
    """Return a help text without what means something to a shell's list."""
    return " ".join(text.replace(":", ",").replace("'", "").replace("%%", "%").split())


SHELLS: dict[str, Callable[[Sequence[Place]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""The function that writes the script of each shell."""
