"""`parley tap install` and `uninstall`: the tap in the settings of an editor."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .actions import AddAction
from .reporting import Exit, Failure, is_terminal, say

__all__ = ["ACTIONS", "add_actions", "run"]

ACTIONS = ("install", "uninstall")
_EDITORS = ("zed", "jetbrains", "codecompanion", "avante")
_EXAMPLES = """\
examples:
  parley tap install zed opencode
  parley tap install jetbrains "My Agent" --yes
  parley tap install codecompanion opencode -- opencode acp

EDITOR is zed, jetbrains, or a plug-in of Neovim: codecompanion or avante. The
configuration of Neovim is a program, so the change is only shown.
"""


def add_actions(action: AddAction) -> None:
    """Add the actions to the command."""
    for name, what in (
        ("install", "put the tap before an agent in the settings of an editor"),
        ("uninstall", "take the tap away from an agent in the settings of an editor"),
    ):
        parser = action(name, what, _EXAMPLES)
        parser.add_argument("editor", metavar="EDITOR", choices=_EDITORS, help="the editor")
        parser.add_argument(
            "agent", metavar="AGENT", help="the name of the agent in these settings"
        )
        parser.add_argument("--settings", metavar="FILE", help="the file with the settings")
        parser.add_argument("--yes", action="store_true", help="change the file without asking")


def run(arguments: argparse.Namespace) -> int:
    """Show a change of the settings, and make it if the user agrees."""
    if arguments.editor in ("codecompanion", "avante"):
        return _show_lua(arguments)
    if arguments.after_dashes:
        raise Failure("the command of the agent is read from the settings", Exit.USAGE)
    from .editor_settings import SettingsFile, add_tap, remove_tap, settings_path
    from .jsonc import JsoncError

    path = Path(arguments.settings) if arguments.settings else settings_path(arguments.editor)
    file = SettingsFile(path)
    try:
        if arguments.action == "install":
            edit = add_tap(file.text, arguments.agent, this_parley())
        else:
            edit = remove_tap(file.text, arguments.agent)
    except JsoncError as error:
        raise Failure(f"{path} cannot be changed: {error}") from error
    if edit.text == file.text:
        state = "already recorded" if arguments.action == "install" else "not recorded"
        say(f"parley tap: {edit.agent} is {state}; nothing was changed")
        return Exit.DONE
    _show_diff(path, file.text, edit.text)
    if not arguments.yes and not _is_confirmed(path):
        say("parley tap: nothing was changed")
        return Exit.FAILED
    file.write(edit.text)
    done = "is recorded" if arguments.action == "install" else "is no longer recorded"
    say(f"parley tap: {edit.agent} {done} when {arguments.editor} starts it again")
    return Exit.DONE


def this_parley() -> list[str]:
    """Return the command that starts this Parley, wherever it is started."""
    from shutil import which  # every tap would have to wait for it

    program = which(sys.argv[0]) if Path(sys.argv[0]).name == "parley" else None
    if program is not None:
        return [str(Path(program).absolute())]
    from parley._interpreter import parley_command

    return parley_command()


def _show_diff(path: Path, before: str, after: str) -> None:
    from difflib import unified_diff

    from parley._display_text import sanitize_text

    from .paint import painted

    old, new = before.splitlines(), after.splitlines()
    colours = {"+": "green", "-": "red", "@": "cyan"}
    # Without the lines around, which often contain keys.
    for line in unified_diff(old, new, str(path), str(path), n=0, lineterm=""):
        print(painted(sanitize_text(line), colours.get(line[0], "")), flush=True)


def _is_confirmed(path: Path) -> bool:
    if not is_terminal():
        raise Failure("give --yes to change the file, since nobody can be asked", Exit.USAGE)
    answer = input(f"Change {path}? [y/N] ")
    return answer.strip().lower() in ("y", "yes")


def _show_lua(arguments: argparse.Namespace) -> int:
    command: Sequence[str] = arguments.after_dashes
    name: str = arguments.agent
    if arguments.action == "uninstall":
        print(f"Remove the tap of {name} from your configuration of Neovim, if it is there.")
        return Exit.DONE
    if not command:
        raise Failure("give the command of the agent, such as -- opencode acp", Exit.USAGE)
    words = [*this_parley(), "tap", "--name", name, "--", *command]
    text = _codecompanion(name, words) if arguments.editor == "codecompanion" else ""
    print(f"Add this to your configuration of Neovim:\n\n{text or _avante(name, words)}", end="")
    return Exit.DONE


def _codecompanion(name: str, words: Sequence[str]) -> str:
    return f"""\
require("codecompanion").setup({{
  adapters = {{
    acp = {{
      [{_lua(name)}] = function()
        return require("codecompanion.adapters").extend({_lua(name)}, {{
          commands = {{ default = {{ {", ".join(map(_lua, words))} }} }},
        }})
      end,
    }},
  }},
}})
"""


def _avante(name: str, words: Sequence[str]) -> str:
    return f"""\
require("avante").setup({{
  acp_providers = {{
    [{_lua(name)}] = {{
      command = {_lua(words[0])},
      args = {{ {", ".join(map(_lua, words[1:]))} }},
    }},
  }},
}})
"""


def _lua(text: str) -> str:
    """Return a string as Lua writes it."""
    escapes = {"\\": "\\\\", '"': '\\"'}
    characters = (
        escapes.get(each, each) if each.isprintable() else "".join(map(_lua_byte, each.encode()))
        for each in text
    )
    return f'"{"".join(characters)}"'


def _lua_byte(value: int) -> str:
    return f"\\{value:03}"
