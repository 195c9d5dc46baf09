"""Choose where an agent's model calls go (a draft of the protocol)."""

import asyncio

import parley
from parley import Agent, Turn
from parley.agent import AgentConnection
from parley.schema import v2

agent = Agent("chooser")
providers = {
    id: v2.ProviderInfo(provider_id=id, supported=["openai"], required=id == "main")
    for id in ("main", "spare")
}


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say("Hello!")


@agent.list_providers
async def list_providers(connection: AgentConnection) -> list[v2.ProviderInfo]:
    return list(providers.values())


@agent.set_provider
async def set_provider(request: v2.SetProviderRequest, connection: AgentConnection) -> None:
    print("from now on", request.provider_id, "is at", request.base_url)


@agent.disable_provider
async def disable_provider(provider_id: str, connection: AgentConnection) -> None:
    del providers[provider_id]


async def main() -> None:
    async with parley.connect(agent) as client:
        for provider in await client.list_providers():
            print(provider.provider_id, provider.supported, provider.current)
        await client.set_provider(
            v2.SetProviderRequest(
                provider_id="main", api_type="openai", base_url="https://models.example.com/v1"
            )
        )
        await client.disable_provider("spare")
        print("left:", [each.provider_id for each in await client.list_providers()])


if __name__ == "__main__":
    asyncio.run(main())
