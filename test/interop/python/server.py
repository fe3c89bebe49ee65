"""A server of the official Python SDK, whose agent does what the first word of a message says.

    server.py [--version 0.3] [--no-streaming] [--binding HTTP+JSON]

Prints its URL when it listens; ends with its standard input.
"""

import argparse
import asyncio
import logging
import socket
import sys

import httpx
import uvicorn

from starlette.applications import Starlette

from a2a.helpers import new_task, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, TaskState


class Directives(AgentExecutor):
    async def execute(self, context, event_queue):
        words = context.get_user_input()
        word, _, rest = words.partition(" ")
        if word == "message":
            await event_queue.enqueue_event(new_text_message(rest, context_id=context.context_id))
            return
        ids = (context.task_id, context.context_id)
        updater = TaskUpdater(event_queue, *ids)

        def said(text):
            return updater.new_agent_message([new_text_part(text)])

        async def made(name, text, **more):
            await updater.add_artifact([new_text_part(text)], artifact_id=name, **more)

        resumed = context.current_task is not None
        if not resumed:
            state = TaskState.TASK_STATE_SUBMITTED
            await event_queue.enqueue_event(new_task(*ids, state, history=[context.message]))
        await updater.start_work()
        if resumed:
            await made("answer", f"You said: {words}")
        elif word == "ask":
            return await updater.requires_input(said("Which colour?"))
        elif word == "fail":
            return await updater.failed(said("It did not work."))
        elif word == "reject":
            return await updater.reject(said("I will not do this."))
        elif word == "quiet":
            return await updater.complete(said(rest))
        elif word == "chunks":
            for n in range(int(rest)):
                await made("chunks", f"chunk-{n};", append=n > 0, last_chunk=n == int(rest) - 1)
        elif word == "slow":
            await asyncio.sleep(int(rest) / 1000)
            await made("slow", f"slept {rest}")
        else:
            await made("reply", rest)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def main():
    logging.disable()
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", default="1.0")
    parser.add_argument("--no-streaming", action="store_true")
    parser.add_argument("--binding", default="JSONRPC")
    args = parser.parse_args()
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    card = AgentCard(
        name="Directive agent on the official Python SDK",
        description="Does what the first word says.",
        version="1.2.3",
        supported_interfaces=[
            AgentInterface(
                url=f"{url}rpc" if args.binding == "JSONRPC" else f"{url}rest",
                protocol_binding=args.binding,
                protocol_version=args.version,
            )
        ],
        capabilities=AgentCapabilities(
            streaming=not args.no_streaming, push_notifications=True, extended_agent_card=True
        ),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="directives", name="Directives", description="Follows.", tags=["test"])],
    )
    async def anywhere(_url):
        return True  # the receivers of the tests are on loopback

    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Directives(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs, push_url_validator=anywhere),
        push_url_validator=anywhere,
        extended_agent_card=card,
    )
    routes = (
        create_agent_card_routes(card)
        + create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True)
        + create_rest_routes(handler, path_prefix="/rest", enable_v0_3_compat=True)
    )
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="critical", lifespan="off"))

    async def serve():
        async def leave():
            await asyncio.to_thread(sys.stdin.read)
            server.should_exit = server.force_exit = True

        leaving = asyncio.create_task(leave())
        async def tell():
            while not server.started:
                await asyncio.sleep(0.01)
            print(url, flush=True)

        telling = asyncio.create_task(tell())
        await server.serve(sockets=[listening])
        leaving.cancel()
        telling.cancel()

    asyncio.run(serve())


main()
