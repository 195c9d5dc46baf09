"""Environment variables that others must not choose."""

from __future__ import annotations

import pytest

from parley._env_vars import dangerous_variables


@pytest.mark.requirement("SAFE-USER-03")
@pytest.mark.parametrize(
    "name",
    [
        *("LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PATH", "Path", "BASH_ENV", "ENV", "IFS", "PS4"),
        *("BASH_FUNC_ls%%", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT"),
        *("GIT_SSH_COMMAND", "GIT_CONFIG_COUNT", "JAVA_TOOL_OPTIONS", "EDITOR", "PAGER", "BROWSER"),
        *("https_proxy", "ALL_PROXY", "SSL_CERT_FILE", "npm_config_registry", "HOME", "ZDOTDIR"),
        *("XDG_CONFIG_HOME", "PARLEY_TOKEN", "SSH_ASKPASS", "GCONV_PATH", "A-B", "A B", "", "A=B"),
        *("CLOUDSDK_PYTHON", "ELECTRON_RUN_AS_NODE", "GOFLAGS", "LESSKEYIN", "MAKEFLAGS", "R_HOME"),
        *("CC", "CXX", "LDFLAGS", "RUSTFLAGS", "CMAKE_C_COMPILER", "GCC_EXEC_PREFIX", "LIBPATH"),
    ],
)
def test_a_variable_that_runs_code_or_leads_elsewhere_is_refused(name: str) -> None:
    assert dangerous_variables({name: "x", "LOGIN_MODE": "1"}) == [name]


@pytest.mark.parametrize(
    "name",
    [
        *("LOGIN_MODE", "ANTHROPIC_API_KEY", "NO_COLOR", "TERM", "LANG", "DEBUG", "PORT", "_x1"),
        *("GOOGLE_API_KEY", "MANAGER_URL", "LESSON", "VIMEO_ID"),
    ],
)
def test_a_setting_is_not_refused(name: str) -> None:
    assert dangerous_variables({name: "1"}) == []


def test_a_function_of_a_shell_is_refused_whatever_it_is_called() -> None:
    assert dangerous_variables({"HARMLESS": "() { :; }; echo run"}) == ["HARMLESS"]
    assert dangerous_variables({"NUL": "a\0b"}) == ["NUL"]
