"""Print a script that makes a shell complete verbs, options and file names.

seekwarc completion bash >> ~/.bashrc
seekwarc completion zsh > ~/.zfunc/_seekwarc      (a folder in $fpath)
seekwarc completion fish > ~/.config/fish/completions/seekwarc.fish

An installed wheel has these scripts in the `share` folder of its environment, and the manual page.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from seekwarc.cli.verbs import VERBS

__all__ = ["add_arguments", "run", "script"]

BASH: Final = """\
_seekwarc() {{
  local word=${{COMP_WORDS[COMP_CWORD]}}
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{verbs}" -- "$word"))
  elif [[ $word == -* ]]; then
    case ${{COMP_WORDS[1]}} in
{cases}
    esac
  fi
}}
complete -o default -F _seekwarc seekwarc
"""
BASH_CASE: Final = '      {verb}) COMPREPLY=($(compgen -W "{options}" -- "$word")) ;;'
ZSH: Final = """\
#compdef seekwarc
_seekwarc() {{
  local -a verbs options
  verbs=(
{verbs}
  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  case $words[2] in
{cases}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    compadd -- $options
  else
    _files
  fi
}}
if [[ $funcstack[1] == _seekwarc ]]; then
  _seekwarc "$@"
else
  compdef _seekwarc seekwarc
fi
"""
ZSH_CASE: Final = "    {verb}) options=({options}) ;;"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="bash|zsh|fish")


def run(options: argparse.Namespace) -> int:
    print(script(options.shell), end="")
    return 0


def script(shell: str) -> str:
    """Return the script for bash, zsh or fish. A wheel installs it too, where the shell looks for it."""
    texts = {verb.name: verb.text for verb in VERBS.values()}
    known = {verb.name: sorted(_long_options(verb.parser())) for verb in VERBS.values()}
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](texts, known)


def _long_options(parser: argparse.ArgumentParser) -> set[str]:
    found: set[str] = set()
    for action in parser._actions:  # noqa: SLF001 - argparse tells it in no other way
        found.update(name for name in action.option_strings if name.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            found.update(*map(_long_options, action.choices.values()))
    return found


def _bash(verbs: Mapping[str, str], options: Mapping[str, list[str]]) -> str:
    cases = [BASH_CASE.format(verb=verb, options=" ".join(options[verb])) for verb in verbs]
    return BASH.format(verbs=" ".join([*verbs, "help"]), cases="\n".join(cases))


def _zsh(verbs: Mapping[str, str], options: Mapping[str, list[str]]) -> str:
    described = [f"    {_quoted(f'{verb}:{text}')}" for verb, text in verbs.items()]
    cases = [ZSH_CASE.format(verb=verb, options=" ".join(options[verb])) for verb in verbs]
    return ZSH.format(verbs="\n".join(described), cases="\n".join(cases))


def _fish(verbs: Mapping[str, str], options: Mapping[str, list[str]]) -> str:
    lines = []
    for verb, text in verbs.items():
        lines.append(f"complete -c seekwarc -n __fish_use_subcommand -f -a {verb} -d {_quoted(text)}")
        seen = _quoted(f"__fish_seen_subcommand_from {verb}")
        lines += [f"complete -c seekwarc -n {seen} -l {name.removeprefix('--')}" for name in options[verb]]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)
