"""Where a model is: addresses that are none, paths that are added, certificates, the key."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.errors import ConfigError, ConnectFailed
from parley.nes.model import ModelEngine

from .model_server import Editor, saying, scripted

TEXT = "def total(items):\n    return su\n"
DONE = TEXT.replace("return su", "return sum(items)")


def test_an_address_and_a_format_must_fit_each_other() -> None:
    with pytest.raises(ConfigError, match=r"needs /v1/completions, not /v1/chat/completions"):
        ModelEngine("http://localhost/v1/chat/completions", "m", format="qwen")
    with pytest.raises(ConfigError, match=r"needs /v1/chat/completions, not /v1/completions"):
        ModelEngine("http://localhost/v1/completions", "m", format="chat")
    with pytest.raises(ConfigError, match=r"needs /v1/chat/completions, not /v1/edit/completions"):
        ModelEngine("http://localhost/v1/edit/completions", "m", format="chat")
    with pytest.raises(ConfigError, match=r"needs /v1/completions, not /v1/edit/completions"):
        ModelEngine("http://localhost/v1/edit/completions", "m", format="qwen")


@pytest.mark.parametrize("url", ["localhost:8080", "ws://localhost:8080", "http://", "//localhost"])
def test_an_address_of_a_model_is_one_of_http(url: str) -> None:
    with pytest.raises(ConfigError, match="begins with http:// or https://, as") as caught:
        ModelEngine(url, "m")
    assert "ws://" not in str(caught.value)


def test_an_address_that_cannot_be_read_or_has_a_password_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        ModelEngine("http://[", "m")
    with pytest.raises(ConfigError, match="--api-key-file") as caught:
        ModelEngine("http://me:hidden@localhost", "m")
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_certificates_that_are_not_there_are_noticed_at_once(scheme: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no file .* with certificates"):
        ModelEngine(f"{scheme}://localhost", "m", ca_file=tmp_path / "none.pem")


def test_a_key_goes_nowhere_without_tls_but_to_this_machine() -> None:
    with pytest.raises(ConnectFailed, match="without TLS") as caught:
        ModelEngine("http://models.example/v1", "m", api_key="s3cret-key")
    assert "s3cret-key" not in str(caught.value)
    ModelEngine("https://models.example/v1", "m", api_key="s3cret-key")


@pytest.mark.parametrize("path", ["", "/v1", "/v1/edit/completions"])
async def test_mercury_has_a_path_of_its_own_and_samples_as_it_likes(path: str) -> None:
    async with scripted(saying(f"```\n{DONE}\n```")) as server:
        editor = Editor(ModelEngine(f"{server.url}{path}", "mercury-edit-2"), TEXT)
        [proposal] = await editor.ask(1, 13)
        assert editor.after(proposal) == DONE
        editor.predictor.close()
    [asked] = server.requests
    assert asked.path == "/v1/edit/completions"
    assert asked.json.keys() == {"model", "stream", "messages"}
    [message] = asked.json["messages"]
    assert message["role"] == "user"
    assert message["content"].startswith("<|recently_viewed_code_snippets|>\n")


async def test_mercury_may_also_be_behind_a_usual_chat() -> None:
    async with scripted(saying("None")) as server:
        url = f"{server.url}/v1/chat/completions"
        editor = Editor(ModelEngine(url, "m", format="mercury"), TEXT)
        assert await editor.ask(1, 13) == []
        editor.predictor.close()
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].json["max_tokens"] > 0
