"""Environment variables that others must not choose for a program.

An agent names variables for its login in a terminal, and a registry entry names variables for the
agent. Most are harmless settings. Some make a program load code, read another configuration, or
talk to another machine, which gives control to the party that chose them. Those are rejected; a
user who wants one sets it by name.

The list goes by name, since the value does not show what a variable does. It is a net, not a wall:
it covers what shells, loaders, interpreters, package runners, compilers, git and TLS libraries
obey.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A valid variable name; excludes exported shell functions, named `BASH_FUNC_name%%`."""
_PREFIXES = (
    *("LD_", "DYLD_", "MALLOC_", "GLIBC_"),  # loaders and the C library
    *("BASH", "KSH", "ZSH", "FISH_"),
    *("PYTHON", "PERL", "RUBY", "GEM_", "BUNDLE_", "LUA_", "PHP", "JULIA_", "DOTNET_", "CORECLR_"),
    *("NODE_", "NPM_", "YARN_", "PNPM_", "BUN_", "DENO_", "UV_", "PIP_", "PIPX_", "CONDA_"),
    *("JAVA_", "JDK_", "_JAVA_", "CARGO_", "RUSTC", "GIT_", "SSH_", "GPG_", "SUDO_"),
    *("XDG_", "SSL_", "OPENSSL_", "CURL_", "DOCKER_", "PARLEY_", "NIX_", "MISE_", "ASDF_"),
    *("COREPACK_", "ELECTRON_", "TS_NODE_", "ERL_", "ELIXIR_", "R_", "NVIM_", "SYSTEMD_"),
    *("GTK_", "GIO_", "GST_", "QT_", "CLOUDSDK_"),
    *("CMAKE_", "GCC_", "DISTUTILS_", "SETUPTOOLS_"),  # package runners build what they install
)
_NAMES = frozenset(
    {
        *("PATH", "PATHEXT", "COMSPEC", "SHELL", "ENV", "IFS", "CDPATH", "FPATH", "ZDOTDIR"),
        *("PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "SHELLOPTS", "INPUTRC"),
        *("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "SYSTEMROOT", "WINDIR"),
        *("EDITOR", "VISUAL", "PAGER", "BROWSER", "MANPAGER", "MANOPT"),
        *("LESS", "LESSOPEN", "LESSCLOSE", "LESSKEY", "LESSKEYIN", "VIM", "VIMINIT", "VIMRUNTIME"),
        *("GOFLAGS", "GOPROXY", "GOENV", "GOROOT", "GOPATH", "GOTOOLCHAIN"),
        *("CC", "CXX", "CPP", "LD", "LDSHARED", "AR", "AS", "RANLIB", "MAKE", "MAKEFILES"),
        *("CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "RUSTFLAGS", "CPATH", "COMPILER_PATH"),
        *("LIBPATH", "SHLIB_PATH", "LIBRARY_PATH", "PKG_CONFIG", "PKG_CONFIG_PATH"),
        *("VSCODE_INSPECTOR_OPTIONS", "FZF_DEFAULT_COMMAND", "RIPGREP_CONFIG_PATH"),
        *("EXINIT", "MYVIMRC", "EMACSLOADPATH", "CLASSPATH"),
        *("GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "RES_OPTIONS", "RESOLV_HOST_CONF"),
        *("TERMINFO", "TERMINFO_DIRS", "TERMCAP"),
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "WGETRC"),
        *("MAKEFLAGS", "MAVEN_OPTS", "GRADLE_OPTS", "JAVA_OPTS", "TCLLIBPATH", "PSMODULEPATH"),
        *("NETRC", "GNUPGHOME", "KRB5_CONFIG", "AZURE_CONFIG_DIR", "VOLTA_HOME"),
        *("DBUS_SESSION_BUS_ADDRESS", "LIBGL_DRIVERS_PATH", "VK_ICD_FILENAMES"),
        *("REQUESTS_CA_BUNDLE", "KUBECONFIG", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
    }
)


def dangerous_variables(variables: Mapping[str, str]) -> list[str]:
    """Return the sorted names of the variables that others must not choose."""
    return sorted(name for name, value in variables.items() if _is_refused(name, value))


def _is_refused(name: str, value: str) -> bool:
    upper = name.upper()  # some systems ignore case, and proxy variables exist in both
    is_function = value.lstrip().startswith("() {")  # old shells run the code after it
    return (
        not _NAME.fullmatch(name)
        or upper in _NAMES
        or upper.startswith(_PREFIXES)
        or is_function
        or "\0" in value
    )
