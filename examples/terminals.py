"""A client that runs commands for agents of version 1, after asking."""

import asyncio
from asyncio.subprocess import PIPE, STDOUT, Process

import parley
from parley.schema import v1
from parley.testing.demo import demo_agent


class Terminals:
    def __init__(self) -> None:
        self._processes: dict[str, Process] = {}
        self._outputs: dict[str, bytearray] = {}
        self._readers: dict[str, asyncio.Task[None]] = {}

    async def create_terminal(self, request: v1.CreateTerminalRequest) -> v1.CreateTerminalResponse:
        print("$", request.command, *request.args)  # a real client asks the user here
        process = await asyncio.create_subprocess_exec(
            request.command, *request.args, cwd=request.cwd, stdout=PIPE, stderr=STDOUT
        )
        id = f"terminal-{process.pid}"
        self._processes[id], self._outputs[id] = process, bytearray()
        self._readers[id] = asyncio.create_task(self._read(id, process))
        return v1.CreateTerminalResponse(terminal_id=id)

    async def _read(self, id: str, process: Process) -> None:
        assert process.stdout is not None
        while data := await process.stdout.read(4096):
            self._outputs[id] += data
        await process.wait()

    async def wait_for_terminal_exit(
        self, request: v1.WaitForTerminalExitRequest
    ) -> v1.WaitForTerminalExitResponse:
        await asyncio.shield(self._readers[request.terminal_id])
        code = self._processes[request.terminal_id].returncode
        return v1.WaitForTerminalExitResponse(exit_code=code)

    def terminal_output(self, request: v1.TerminalOutputRequest) -> v1.TerminalOutputResponse:
        output = self._outputs[request.terminal_id].decode(errors="replace")
        return v1.TerminalOutputResponse(output=output, truncated=False)

    def kill_terminal(self, request: v1.KillTerminalRequest) -> None:
        if self._processes[request.terminal_id].returncode is None:
            self._processes[request.terminal_id].kill()

    async def release_terminal(self, request: v1.ReleaseTerminalRequest) -> None:
        self.kill_terminal(v1.KillTerminalRequest(session_id="", terminal_id=request.terminal_id))
        await self._readers.pop(request.terminal_id)


async def main() -> None:
    async with parley.connect(demo_agent(), versions=(1,), terminals=Terminals()) as client:
        print(await (await client.new_session()).ask("term"))


if __name__ == "__main__":
    asyncio.run(main())
