"""The official Python SDK as the client of our server.

    client.py URL [--token TOKEN] [--version 0.3] [--binding HTTP+JSON] [--trials OPERATION,OPERATION]

With `--trials` it runs those of `trials.py` instead of its own. Prints one line for each thing tried: "ok NAME", or "not ok NAME: WHY".
"""

import argparse
import asyncio
import time

import httpx

from trials import Trials, run

from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers import get_artifact_text, get_message_text, new_text_message
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError

S = TaskState.Name


def request(text, **ids):
    return SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER, **ids))


class Seen:
    """What the answer to a message amounts to."""

    def __init__(self):
        self.task_id = self.context_id = self.state = self.message = None
        self.artifacts = {}
        self.status_text = ""
        self.kinds = []

    def take(self, item):
        kind = item.WhichOneof("payload")
        self.kinds.append(kind)
        value = getattr(item, kind)
        if kind == "message":
            self.message = get_message_text(value)
        elif kind == "task":
            self.task(value)
        else:
            self.task_id, self.context_id = value.task_id, value.context_id
            if kind == "status_update":
                self.state = S(value.status.state)
                self.status_text = get_message_text(value.status.message)
            else:
                text = get_artifact_text(value.artifact, "")
                name = value.artifact.artifact_id
                self.artifacts[name] = self.artifacts.get(name, "") + text if value.append else text
        return self

    def task(self, task):
        self.task_id, self.context_id, self.state = task.id, task.context_id, S(task.status.state)
        self.status_text = get_message_text(task.status.message)
        self.artifacts = {each.artifact_id: get_artifact_text(each, "") for each in task.artifacts}
        return self

    @property
    def text(self):
        return "".join(self.artifacts.values())


async def say(client, text, **ids):
    seen = Seen()
    async for item in client.send_message(request(text, **ids)):
        seen.take(item)
    return seen


async def raises(kind, awaitable):
    try:
        await awaitable
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")


def same(got, wanted):
    assert got == wanted, f"{got!r} instead of {wanted!r}"


class Cases:
    def __init__(self, card, http, binding):
        self.card = card

        def client(**more):
            return ClientFactory(ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], **more)).create(card)

        self.streaming = client()
        self.plain = client(streaming=False)
        self.polling = client(streaming=False, polling=True)

    async def reads_the_card(self):
        same(self.card.name, "pi")
        same([skill.id for skill in self.card.skills], ["directives"])

    async def gets_the_task_from_a_blocking_send(self):
        seen = await say(self.plain, "echo hello")
        same((seen.state, seen.text, seen.kinds), ("TASK_STATE_COMPLETED", "hello", ["task"]))

    async def gets_a_direct_message(self):
        same((await say(self.plain, "message hi there")).message, "hi there")
        same((await say(self.streaming, "message hi there")).message, "hi there")

    async def gets_a_stream(self):
        seen = await say(self.streaming, "chunks 3")
        same((seen.state, seen.text, seen.kinds[0]), ("TASK_STATE_COMPLETED", "chunk-0;chunk-1;chunk-2;", "task"))
        assert seen.kinds.count("artifact_update") == 3, seen.kinds

    async def polls_for_the_end(self):
        seen = await say(self.polling, "slow 300")
        assert seen.state in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"), seen.state
        end = time.monotonic() + 5
        while seen.state != "TASK_STATE_COMPLETED" and time.monotonic() < end:
            await asyncio.sleep(0.05)
            seen.task(await self.plain.get_task(GetTaskRequest(id=seen.task_id)))
        same(seen.text, "slept 300 ms")

    async def subscribes_to_a_task(self):
        seen = await say(self.polling, "slow 300")
        async for item in self.streaming.subscribe(SubscribeToTaskRequest(id=seen.task_id)):
            seen.take(item)
        same((seen.state, seen.text), ("TASK_STATE_COMPLETED", "slept 300 ms"))

    async def answers_a_question(self):
        for client in (self.plain, self.streaming):
            asked = await say(client, "ask")
            same((asked.state, asked.status_text), ("TASK_STATE_INPUT_REQUIRED", "What is the answer?"))
            done = await say(client, "forty-two", task_id=asked.task_id, context_id=asked.context_id)
            same((done.task_id, done.state), (asked.task_id, "TASK_STATE_COMPLETED"))
            assert "forty-two" in done.text, done.text

    async def reads_why_a_task_did_not_go_well(self):
        for word, state in (("fail", "TASK_STATE_FAILED"), ("reject", "TASK_STATE_REJECTED")):
            for client in (self.plain, self.streaming):
                seen = await say(client, word)
                same(seen.state, state)
                assert seen.status_text.endswith("as asked"), seen.status_text

    async def cancels_a_task(self):
        seen = await say(self.polling, "slow 20000")
        task = await self.plain.cancel_task(CancelTaskRequest(id=seen.task_id))
        same(S(task.status.state), "TASK_STATE_CANCELED")

    async def lists_its_tasks(self):
        seen = await say(self.plain, "echo listed")
        listed = await self.plain.list_tasks(ListTasksRequest(context_id=seen.context_id, include_artifacts=True))
        same([(task.id, get_artifact_text(task.artifacts[0])) for task in listed.tasks], [(seen.task_id, "listed")])

    async def gets_errors_by_name(self):
        client = self.plain
        await raises(TaskNotFoundError, client.get_task(GetTaskRequest(id="nobody")))
        await raises(TaskNotFoundError, client.cancel_task(CancelTaskRequest(id="nobody")))
        await raises(TaskNotFoundError, say(client, "hello", task_id="nobody"))
        await raises(TaskNotFoundError, say(self.streaming, "hello", task_id="nobody"))
        done = await say(client, "echo done")
        await raises(TaskNotCancelableError, client.cancel_task(CancelTaskRequest(id=done.task_id)))
        await raises(UnsupportedOperationError, say(client, "more", task_id=done.task_id))
        await raises(UnsupportedOperationError, say(self.streaming, "more", task_id=done.task_id))


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--token")
    parser.add_argument("--version", default="1.0")
    parser.add_argument("--binding", default="JSONRPC")
    parser.add_argument("--trials")
    args = parser.parse_args()
    headers = {"Authorization": f"Bearer {args.token}"} if args.token else {}
    async with httpx.AsyncClient(headers=headers, timeout=20) as http:
        card = await A2ACardResolver(http, args.url).get_agent_card()
        kept = [each for each in card.supported_interfaces if each.protocol_version.startswith(args.version)]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)
        cases = Cases(card, http, args.binding)
        if args.trials:
            return await run(Trials(cases.streaming, cases.plain, cases.polling), args.trials.split(","))
        # 0.3 has no list of tasks.
        skipped = ["lists_its_tasks"] if args.version == "0.3" else []
        for name in [each for each in vars(Cases) if not each.startswith("_") and each not in skipped]:
            try:
                await getattr(cases, name)()
                print("ok", name.replace("_", " "), flush=True)
            except Exception as error:  # noqa: BLE001
                why = " ".join(f"{type(error).__name__} {error}".split())
                print(f"not ok {name.replace('_', ' ')}: {why}", flush=True)


asyncio.run(main())
