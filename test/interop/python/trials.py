"""One trial for each operation, as `trials.ts` has them, by the client of the official Python SDK.

Prints "ok OPERATION" or "not ok OPERATION: WHY" for each; `client.py` holds the rest.
"""

import asyncio
import json

from a2a.helpers import get_artifact_text, new_text_message
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
    TaskState,
)

DONE = "TASK_STATE_COMPLETED"


def same(got, wanted):
    assert got == wanted, f"{got!r} instead of {wanted!r}"


def asking(text):
    return SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))


def state(task):
    return TaskState.Name(task.status.state)


def text(task):
    return "".join(get_artifact_text(each, "") for each in task.artifacts)


async def last_task(client, request):
    """The task at the end of what the client yields, folded."""
    task = None
    async for item in client.send_message(request):
        kind = item.WhichOneof("payload")
        assert kind == "task", kind
        task = item.task
    return task


async def follow(stream):
    """State, text and number of artifact updates of a stream."""
    texts, at, updates = {}, None, 0
    async for item in stream:
        kind = item.WhichOneof("payload")
        value = getattr(item, kind)
        if kind == "task":
            at = state(value)
            texts = {each.artifact_id: get_artifact_text(each, "") for each in value.artifacts}
        elif kind == "status_update":
            at = state(value)
        else:
            updates += 1
            name, piece = value.artifact.artifact_id, get_artifact_text(value.artifact, "")
            texts[name] = texts.get(name, "") + piece if value.append else piece
    return at, "".join(texts.values()), updates


class Hook:
    """A receiver of push notifications on a free port."""

    def __init__(self):
        self.completed = asyncio.get_running_loop().create_future()

    async def start(self):
        self.server = await asyncio.start_server(self.take, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/hook"

    async def take(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        lines = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        body = json.loads(await reader.readexactly(int(lines["content-length"])))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        if '"state": "task_state_completed"' in json.dumps(body).lower() or '"state": "completed"' in json.dumps(body).lower():
            if not self.completed.done():
                self.completed.set_result(lines)


class Trials:
    def __init__(self, streaming, plain, polling):
        self.streaming, self.plain, self.polling = streaming, plain, polling

    async def SendMessage(self):
        task = await last_task(self.plain, asking("echo état 🧪 ok"))
        same((state(task), text(task)), (DONE, "état 🧪 ok"))

    async def SendStreamingMessage(self):
        at, words, updates = await follow(self.streaming.send_message(asking("chunks 3")))
        same((at, words), (DONE, "chunk-0;chunk-1;chunk-2;"))
        assert updates >= 3, updates

    async def GetTask(self):
        sent = await last_task(self.plain, asking("echo kept"))
        task = await self.plain.get_task(GetTaskRequest(id=sent.id))
        same((task.id, task.context_id, state(task), text(task)), (sent.id, sent.context_id, DONE, "kept"))

    async def ListTasks(self):
        sent = await last_task(self.plain, asking("echo listed"))
        await last_task(self.plain, asking("echo of another context"))
        page = await self.plain.list_tasks(ListTasksRequest(context_id=sent.context_id, include_artifacts=True))
        same(([task.id for task in page.tasks], page.total_size), ([sent.id], 1))
        same(text(page.tasks[0]), "listed")

    async def CancelTask(self):
        begun = await last_task(self.polling, asking("slow 20000"))
        same(state(await self.plain.cancel_task(CancelTaskRequest(id=begun.id))), "TASK_STATE_CANCELED")

    async def SubscribeToTask(self):
        begun = await last_task(self.polling, asking("slow 400"))
        at, words, _ = await follow(self.streaming.subscribe(SubscribeToTaskRequest(id=begun.id)))
        assert at == DONE and words.startswith("slept 400"), (at, words)

    async def configured(self, url="http://127.0.0.1:9/hook", ms=20000):
        begun = await last_task(self.polling, asking(f"slow {ms}"))
        wanted = TaskPushNotificationConfig(task_id=begun.id, id="c1", url=url, token="tok-1")
        made = await self.plain.create_task_push_notification_config(wanted)
        same(made.url, url)
        return begun.id, made.id

    async def stop(self, task_id):
        await self.plain.cancel_task(CancelTaskRequest(id=task_id))

    async def CreateTaskPushNotificationConfig(self):
        task_id, _ = await self.configured()
        await self.stop(task_id)

    async def GetTaskPushNotificationConfig(self):
        task_id, name = await self.configured()
        got = await self.plain.get_task_push_notification_config(
            GetTaskPushNotificationConfigRequest(task_id=task_id, id=name)
        )
        same((got.id, got.url), (name, "http://127.0.0.1:9/hook"))
        await self.stop(task_id)

    async def listed(self, task_id):
        page = await self.plain.list_task_push_notification_configs(
            ListTaskPushNotificationConfigsRequest(task_id=task_id)
        )
        return [each.id for each in page.configs]

    async def ListTaskPushNotificationConfigs(self):
        task_id, name = await self.configured()
        same(await self.listed(task_id), [name])
        await self.stop(task_id)

    async def DeleteTaskPushNotificationConfig(self):
        task_id, name = await self.configured()
        await self.plain.delete_task_push_notification_config(
            DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=name)
        )
        same(await self.listed(task_id), [])
        await self.stop(task_id)

    async def PushDelivery(self):
        hook = Hook()
        task_id, _ = await self.configured(await hook.start(), 600)
        headers = await asyncio.wait_for(hook.completed, 10)
        same(headers.get("x-a2a-notification-token"), "tok-1")
        same(state(await self.plain.get_task(GetTaskRequest(id=task_id))), DONE)
        hook.server.close()

    async def GetExtendedAgentCard(self):
        card = await self.plain.get_extended_agent_card(GetExtendedAgentCardRequest())
        same([skill.id for skill in card.skills], ["directives"])


async def run(trials, names):
    """Each of `names` once; prints how it went."""
    for name in names:
        try:
            await getattr(trials, name)()
            print("ok", name, flush=True)
        except Exception as error:  # noqa: BLE001
            why = " ".join(f"{type(error).__name__} {error}".split())
            print(f"not ok {name}: {why}", flush=True)
