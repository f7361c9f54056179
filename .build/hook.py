"""Puts the manual page and scripts for shells into a wheel, and compiles its hot modules with mypyc.

See CONTRIBUTING.md, "Wheels".

Compiling takes a minute or two, which nobody waits for who only wants to try it: a wheel is pure unless
`SEEKWARC_COMPILE=1` asks for more. Who asks gets the compiled package or the reason why not, never the
pure one without a word. Editable installs are always pure, so that edits take effect, and have no `share`.

The manual page and the scripts are made by importing the command, which needs what the package needs.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SCRIPT = Path(__file__).with_name("compile_modules.py")
SHARE = Path(__file__).with_name("share_files.py")


class CompileHook(BuildHookInterface[Any]):
    """The build hook that hatchling calls for a wheel."""

    def dependencies(self) -> list[str]:
        """Return what has to be installed for the build; a compiler only where it will be used."""
        compiler = list(self.config["requires"]) if self._is_asked_for and not self._missing() else []
        return [*self.metadata.core.dependencies, *compiler]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make what is shared, compile the modules, and add what was made to the wheel."""
        if version == "editable":
            self.app.display_info("seekwarc: building the pure wheel: the install is editable")
            return
        self._share(build_data)
        if not self._is_asked_for:
            self.app.display_info("seekwarc: building the pure wheel: SEEKWARC_COMPILE=1 is not set")
            return
        if problem := self._missing() or self._compile(build_data):
            self.app.abort(
                f"seekwarc: SEEKWARC_COMPILE=1 is set, but {problem}. "
                "The pure package is installed without SEEKWARC_COMPILE."
            )
        self.app.display_info(f"seekwarc: building the compiled wheel of {len(self._modules)} modules")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Remove what was made, which the wheel now holds."""
        for folder in self._folders:
            folder.cleanup()

    @property
    def _folders(self) -> list[tempfile.TemporaryDirectory[str]]:
        return self.__dict__.setdefault("_made", [])  # type: ignore[no-any-return]

    def _new_folder(self) -> Path:
        folder = tempfile.TemporaryDirectory(prefix="seekwarc-build-", ignore_cleanup_errors=True)
        self._folders.append(folder)
        return Path(folder.name)

    def _share(self, build_data: dict[str, Any]) -> None:
        """Add the manual page and the scripts that complete words, or say why not."""
        folder = self._new_folder()
        environment = os.environ | {"PYTHONPATH": self.root, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, str(SHARE), str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, check=False)  # noqa: S603
        if done.returncode:
            reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            self.app.display_warning(f"seekwarc: building without a manual page: {reason}")
            return
        made = (path for path in folder.rglob("*") if path.is_file())
        shared = {str(path): f"share/{path.relative_to(folder).as_posix()}" for path in made}
        build_data["shared_data"].update(sorted(shared.items()))

    @property
    def _modules(self) -> list[str]:
        return list(self.config["modules"])

    @property
    def _is_asked_for(self) -> bool:
        return os.environ.get("SEEKWARC_COMPILE", "") not in ("", "0")

    def _missing(self) -> str | None:
        """Return what is missing here to compile, None where it is worth trying."""
        if platform.python_implementation() != "CPython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
            return "mypyc supports only CPython with its global lock"
        header = Path(sysconfig.get_path("include"), "Python.h")
        if not header.exists() and not Path(sysconfig.get_path("platinclude"), "Python.h").exists():
            return f"{header} is missing"
        # On Windows only setuptools knows where to look for the compiler.
        if sys.platform != "win32":
            compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
            if shutil.which(compiler) is None:
                return f"the C compiler {compiler} is missing"
        return None

    def _compile(self, build_data: dict[str, Any]) -> str | None:
        """Compile the modules in a temporary folder; return what went wrong."""
        work = self._new_folder()
        shutil.copytree(Path(self.root, "seekwarc"), work / "seekwarc")
        command = [sys.executable, str(SCRIPT), *self._modules]
        # In a process of its own: mypyc ends the one that it fails in.
        done = subprocess.run(command, cwd=work, capture_output=True, check=False)  # noqa: S603
        if done.returncode:
            lines = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines() or [
                "no message"
            ]
            self.app.display_debug("\n".join(lines))
            return f"mypyc failed: {lines[-1]}"
        made = {str(path): str(path.relative_to(work / "made")) for path in (work / "made").rglob("*.*")}
        build_data["force_include"].update(made)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        return None
