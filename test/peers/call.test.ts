import assert from "node:assert/strict";
import { manualClock } from "../../src/lib/clock.ts";
import { ACCEPTED_OUTPUT_MODES } from "../../src/peers/call.ts";
import { PeerError, type PeerReply, type Progress } from "../../src/peers/reply.ts";
import { SAFE_RETRY_EXTENSION } from "../../src/protocol/card.ts";
import { contextId, taskId } from "../../src/protocol/types.ts";
import { CUT, chunk, Lost, made, Numbered, RpcError, said, silence, status, task } from "../support/scripted-peer.ts";
import { Bench, call, until } from "./rig.ts";

async function* stream(...items: (unknown | Promise<unknown>)[]): AsyncGenerator<unknown> {
	for (const item of items) yield await item;
}

const failure =
	(pattern: RegExp, facts: Partial<PeerError> = {}) =>
	(error: unknown): boolean => {
		assert.ok(error instanceof PeerError, String(error));
		assert.match(error.message, pattern);
		assert.doesNotMatch(error.message, /\n/);
		for (const [key, value] of Object.entries(facts)) assert.equal(error[key as keyof PeerError], value, key);
		return true;
	};

describe("peers/call", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.end());

	it("streams where the peer can: the text so far and what the peer does arrive while it works", async () => {
		const SendStreamingMessage = () =>
			stream(
				{ task: task("SUBMITTED") },
				status("WORKING", "⚙ read README.md"),
				chunk("Hel"),
				chunk("lo ", true),
				chunk("you", true),
				status("COMPLETED"),
			);
		const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage } });
		const progress: Progress[] = [];
		const reply = await call(await bench.rig(), peer, { onProgress: (each) => progress.push(each) });
		assert.equal(reply.text, "Hello you");
		assert.equal(reply.state, "TASK_STATE_COMPLETED");
		assert.equal(reply.running, false);
		assert.equal(reply.taskId, "t1");
		assert.equal(reply.contextId, "c1");
		assert.deepEqual(
			progress.map((each) => each.text),
			["", "", "Hel", "Hello ", "Hello you", "Hello you"],
		);
		assert.equal(progress[1]?.activity, "⚙ read README.md");
		assert.deepEqual(
			peer.received.map((each) => each.method),
			["SendStreamingMessage"],
		);
	});

	it("does not follow a task into thousands of artifacts, and puts together only the text that is looked at", async () => {
		const pieces = Array.from({ length: 1_001 }, (_, n) => ({
			artifactUpdate: { taskId: "t1", contextId: "c1", artifact: { artifactId: `a${n}`, parts: [{ text: "x" }] } },
		}));
		const SendStreamingMessage = () => stream({ task: task("WORKING") }, ...pieces);
		const GetTask = () => task("FAILED", {}, "too much");
		const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage, GetTask } });
		const progress: Progress[] = [];
		const calling = call(await bench.rig(), peer, { onProgress: (each) => progress.push(each) });
		await assert.rejects(calling, failure(/more than 1000 artifacts|too much/));
		assert.equal(typeof Object.getOwnPropertyDescriptor(progress.at(-1), "text")?.get, "function");
	});

	it("asks for one reply where the peer cannot stream, and sends the message as it is", async () => {
		const SendMessage = () => ({ task: task("COMPLETED", made("done")) });
		const peer = await bench.peer({ answers: { SendMessage } });
		const reply = await call(await bench.rig(), peer, {
			text: "état 🧪",
			contextId: contextId("c1"),
			taskId: taskId("t1"),
			metadata: { "pi/hops": 2 },
		});
		assert.equal(reply.text, "done");
		const { message, configuration } = peer.of("SendMessage")[0];
		assert.deepEqual(
			{ ...message, messageId: "" },
			{
				messageId: "",
				role: "ROLE_USER",
				parts: [{ text: "état 🧪" }],
				contextId: "c1",
				taskId: "t1",
				metadata: { "pi/hops": 2 },
			},
		);
		assert.deepEqual(configuration, { acceptedOutputModes: ACCEPTED_OUTPUT_MODES });
	});

	it("gives a direct message as it is, without a task", async () => {
		const answer = { message: said("hi", { contextId: "c7" }) };
		for (const streaming of [false, true]) {
			const peer = await bench.peer({
				streaming,
				answers: { SendMessage: () => answer, SendStreamingMessage: () => stream(answer) },
			});
			const reply = await call(await bench.rig(), peer);
			assert.equal(reply.state, "MESSAGE");
			assert.equal(reply.text, "hi");
			assert.equal(reply.contextId, "c7");
			assert.equal(reply.taskId, undefined);
			assert.equal(reply.running, false);
		}
	});

	it("takes the reply from the status message, or from the history, of a task without artifacts", async () => {
		const history = [said("asked", { role: "ROLE_USER" }), said("from the history")];
		const answers = [{ task: task("COMPLETED", {}, "from the status") }, { task: task("COMPLETED", { history }) }];
		const peer = await bench.peer({ answers: { SendMessage: (_, nth) => answers[nth] } });
		const rig = await bench.rig();
		assert.equal((await call(rig, peer)).text, "from the status");
		assert.equal((await call(rig, peer)).text, "from the history");
	});

	it("says so when a completed task brought nothing", async () => {
		const peer = await bench.peer({ answers: { SendMessage: () => ({ task: task("COMPLETED") }) } });
		const reply = await call(await bench.rig(), peer);
		assert.equal(reply.text, "");
		assert.deepEqual(reply.notes, ["The peer completed the task without any output."]);
	});

	// R012
	for (const [state, word] of [
		["FAILED", "failed"],
		["REJECTED", "was rejected"],
		["CANCELED", "was canceled"],
	] as const) {
		it(`throws when the task ${word}, with the reason, streamed or not`, async () => {
			const ended = task(state, {}, "quota used up");
			const answers = { SendMessage: () => ({ task: ended }), SendStreamingMessage: () => stream({ task: ended }) };
			for (const streaming of [false, true]) {
				const peer = await bench.peer({ streaming, answers });
				const facts = { state: `TASK_STATE_${state}`, taskId: taskId("t1"), contextId: contextId("c1") } as const;
				await assert.rejects(
					call(await bench.rig(), peer),
					failure(new RegExp(`worker: the task ${word}: quota used up`), facts),
				);
			}
		});
	}

	it("throws without a reason when there is none", async () => {
		const peer = await bench.peer({ answers: { SendMessage: () => ({ task: task("REJECTED") }) } });
		await assert.rejects(call(await bench.rig(), peer), failure(/was rejected, without a reason/));
	});

	// R015, R046
	it("waits on when the first reply is a task that has only begun: by polls", async () => {
		const states = ["SUBMITTED", "WORKING", "COMPLETED"];
		const GetTask = (_: unknown, nth: number) => task(states[nth] ?? "", nth === 2 ? made("hello") : { artifacts: [] });
		const peer = await bench.peer({ answers: { SendMessage: () => ({ task: task("SUBMITTED") }), GetTask } });
		const reply = await call(await bench.rig(), peer);
		assert.equal(reply.text, "hello");
		assert.deepEqual(peer.of("GetTask"), [{ id: "t1" }, { id: "t1" }, { id: "t1" }]);
	});

	// R015
	it("waits on when the first reply is a task that has only begun: by a stream", async () => {
		const SendStreamingMessage = () =>
			stream({ task: task("SUBMITTED") }, { task: task("WORKING") }, chunk("hello"), status("COMPLETED"));
		const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage } });
		assert.equal((await call(await bench.rig(), peer)).text, "hello");
	});

	// R007
	it("asks for one reply when the peer says it streams and then refuses to", async () => {
		const answers = {
			SendStreamingMessage: () => {
				throw new RpcError(-32004, "no streaming here");
			},
			SendMessage: () => ({ task: task("COMPLETED", made("done")) }),
		};
		const peer = await bench.peer({ streaming: true, answers });
		const reply = await call(await bench.rig(), peer);
		assert.equal(reply.text, "done");
		const ids = peer.received.map((each) => each.params.message.messageId);
		assert.equal(ids[0], ids[1], "it is the same message");
	});

	it("gives a peer's own error with its text, and what to do", async () => {
		const peer = await bench.peer({
			answers: {
				SendMessage: () => {
					throw new RpcError(-32053, "three are running");
				},
			},
		});
		await assert.rejects(call(await bench.rig(), peer), (error: unknown) => {
			assert.ok(error instanceof PeerError && failure(/three are running/)(error));
			assert.match(error.hint ?? "", /later/);
			return true;
		});
	});

	// R047
	it("gives one line for a reply that is neither a task nor a message", async () => {
		const peer = await bench.peer({
			answers: { SendMessage: () => ({ Task: { id: "x", parts: [{ text: "hello" }] } }) },
		});
		await assert.rejects(call(await bench.rig(), peer), failure(/neither|task/i));
	});

	// R053
	it("keeps text that is appended to an artifact that was never opened", async () => {
		const SendStreamingMessage = () =>
			stream({ task: task("WORKING") }, chunk("kept", true, "new"), status("COMPLETED"));
		const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage } });
		assert.equal((await call(await bench.rig(), peer)).text, "kept");
	});

	// R058
	it("keeps the metadata and the name that come with an appended chunk", async () => {
		const update = (append: boolean, more: object) => ({
			artifactUpdate: {
				taskId: "t1",
				contextId: "c1",
				append,
				artifact: { artifactId: "a1", parts: [{ text: "x" }], ...more },
			},
		});
		const SendStreamingMessage = () =>
			stream(
				{ task: task("WORKING") },
				update(false, { metadata: { x: 1 } }),
				update(true, { metadata: { y: 2 }, name: "report.md" }),
				status("COMPLETED"),
			);
		const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage } });
		const [artifact] = (await call(await bench.rig(), peer)).artifacts;
		assert.deepEqual(artifact?.metadata, { x: 1, y: 2 });
		assert.equal(artifact?.name, "report.md");
	});

	describe("a question of the peer", () => {
		// R054
		it("is handed back at once, though the stream stays open", async () => {
			const SendStreamingMessage = () =>
				stream({ task: task("WORKING") }, chunk("so far"), status("INPUT_REQUIRED", "pick one"), silence());
			const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage } });
			const reply = await call(await bench.rig(), peer);
			assert.equal(reply.question, "pick one");
			assert.equal(reply.text, "so far");
			assert.equal(reply.state, "TASK_STATE_INPUT_REQUIRED");
			assert.equal(reply.running, false);
			await until(() => peer.open() === 0, "the stream is let go");
		});

		it("is surfaced when later events follow it in the same breath", async () => {
			const SendStreamingMessage = () =>
				stream({ task: task("WORKING") }, status("INPUT_REQUIRED", "pick one"), chunk("later"), status("COMPLETED"));
			const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage } });
			assert.equal((await call(await bench.rig(), peer)).question, "pick one");
		});

		describe("that the message answers", () => {
			const before = { task: task("INPUT_REQUIRED", {}, "pick one") };
			const answer = { taskId: taskId("t1"), contextId: contextId("c1") };

			it("is not taken for a new one where the stream begins with it", async () => {
				const SendStreamingMessage = () => stream(before, status("WORKING"), chunk("done"), status("COMPLETED"));
				const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage } });
				assert.equal((await call(await bench.rig(), peer, answer)).text, "done");
			});

			it("makes room for the next one", async () => {
				const SendStreamingMessage = () => stream(before, status("INPUT_REQUIRED", "and a size"));
				const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage } });
				assert.equal((await call(await bench.rig(), peer, answer)).question, "and a size");
			});

			it("is asked for again where the stream says nothing else", async () => {
				const answers = {
					SendStreamingMessage: () => stream(before),
					GetTask: () => task("INPUT_REQUIRED", {}, "once more"),
				};
				const peer = await bench.peer({ streaming: true, answers });
				assert.equal((await call(await bench.rig(), peer, answer)).question, "once more");
			});

			it("is not taken for a new one by a call that does not wait", async () => {
				const peer = await bench.peer({ answers: { SendMessage: () => before } });
				const reply = await call(await bench.rig(), peer, { ...answer, detached: true });
				assert.equal(reply.question, undefined);
				assert.equal(reply.running, true);
			});
		});

		it("is one for authorisation too", async () => {
			const peer = await bench.peer({
				answers: { SendMessage: () => ({ task: task("AUTH_REQUIRED", {}, "log in at …") }) },
			});
			assert.equal((await call(await bench.rig(), peer)).question, "log in at …");
		});
	});

	describe("a stream that ends before its task", () => {
		const working = { task: task("WORKING") };

		// R009
		it("uses a last event without its blank line, when it is whole", async () => {
			const SendStreamingMessage = (_: unknown) =>
				stream(
					working,
					`data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: { task: task("COMPLETED", made("end")) } })}`,
					CUT,
				);
			const peer = await bench.peer({
				streaming: true,
				answers: { SendStreamingMessage },
			});
			assert.equal((await call(await bench.rig(), peer)).text, "end");
		});

		// R009
		it("asks for the task and reports what it finds", async () => {
			for (const end of [CUT, 'data: {"jsonrpc":"2.0","id":1,"resu']) {
				const answers = {
					SendStreamingMessage: () => stream(working, end),
					GetTask: () => task("COMPLETED", made("found")),
				};
				const peer = await bench.peer({ streaming: true, answers });
				const reply = await call(await bench.rig(), peer);
				assert.equal(reply.text, "found");
				assert.match(reply.notes.join(), /stream broke off/);
			}
		});

		it("reports the failure that it finds", async () => {
			const answers = { SendStreamingMessage: () => stream(working), GetTask: () => task("FAILED", {}, "crashed") };
			const peer = await bench.peer({ streaming: true, answers });
			await assert.rejects(call(await bench.rig(), peer), failure(/failed: crashed/));
		});

		it("subscribes again and goes on with the text where the task still works", async () => {
			const answers = {
				SendStreamingMessage: () => stream(working, chunk("Hel"), CUT),
				GetTask: () => task("WORKING", made("Hell")),
				SubscribeToTask: () => stream({ task: task("WORKING", made("Hell")) }, chunk("o", true), status("COMPLETED")),
			};
			const peer = await bench.peer({ streaming: true, answers });
			assert.equal((await call(await bench.rig(), peer)).text, "Hello");
		});

		it("polls when subscribing does not work", async () => {
			const answers = {
				SendStreamingMessage: () => stream(working, CUT),
				GetTask: (_: unknown, nth: number) => (nth < 3 ? task("WORKING") : task("COMPLETED", made("at last"))),
				SubscribeToTask: () => {
					throw new RpcError(-32004, "not here");
				},
			};
			const peer = await bench.peer({ streaming: true, answers });
			assert.equal((await call(await bench.rig(), peer)).text, "at last");
			assert.equal(peer.of("SubscribeToTask").length, 1);
		});

		// R009
		it("says that the stream broke, with the task's id, when the peer cannot be asked", async () => {
			const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage: () => stream(working, CUT) } });
			const facts = { taskId: taskId("t1"), contextId: contextId("c1") };
			await assert.rejects(call(await bench.rig(), peer), failure(/stream broke off/, facts));
		});

		// R013
		it("takes a message that answers the task, and learns the state from the task", async () => {
			const answered = { message: said("done", { taskId: "t1", contextId: "c1" }) };
			const answers = { SendStreamingMessage: () => stream(working, answered, CUT), GetTask: () => task("COMPLETED") };
			const peer = await bench.peer({ streaming: true, answers });
			const reply = await call(await bench.rig(), peer);
			assert.equal(reply.text, "done");
			assert.equal(reply.state, "TASK_STATE_COMPLETED");
		});

		it("gives that message also when the state cannot be learned, and says so", async () => {
			const answered = { message: said("done", { taskId: "t1", contextId: "c1" }) };
			const peer = await bench.peer({
				streaming: true,
				answers: { SendStreamingMessage: () => stream(working, answered) },
			});
			const reply = await call(await bench.rig(), peer);
			assert.equal(reply.text, "done");
			assert.match(reply.notes.join(), /state of its task could not be read/);
		});

		it("finds its task by the message when the stream brought nothing at all", async () => {
			const answers = {
				SendStreamingMessage: () => stream(),
				ListTasks: () => ({
					tasks: [
						task("COMPLETED", { id: "old", history: [said("x", { messageId: "other" })] }),
						task("COMPLETED", { ...made("mine"), history: [peer.of("SendStreamingMessage")[0].message] }),
					],
					nextPageToken: "",
					pageSize: 10,
					totalSize: 2,
				}),
			};
			const peer = await bench.peer({ streaming: true, answers });
			const reply = await call(await bench.rig(), peer, { contextId: contextId("c1") });
			assert.equal(reply.text, "mine");
			assert.equal(peer.of("ListTasks")[0].contextId, "c1");
		});

		it("never calls an empty stream a success", async () => {
			const peer = await bench.peer({ streaming: true, answers: { SendStreamingMessage: () => stream() } });
			await assert.rejects(call(await bench.rig(), peer), failure(/closed the stream without a word/));
		});
	});

	describe("a stream whose events have ids", () => {
		const begin = () =>
			stream(new Numbered("t1:1", { task: task("WORKING") }), new Numbered("t1:2", chunk("Hel")), CUT);

		it("is gone on with after the last of them when it breaks: nothing is lost, nothing comes twice", async () => {
			const SubscribeToTask = (_: unknown, nth: number) =>
				nth === 0
					? stream(new Numbered("t1:3", chunk("lo ", true)), CUT)
					: stream(new Numbered("t1:4", chunk("you", true)), new Numbered("t1:5", status("COMPLETED")));
			const answers = { SendStreamingMessage: begin, SubscribeToTask };
			const peer = await bench.peer({ streaming: true, answers });
			const reply = await call(await bench.rig(), peer);
			assert.deepEqual([reply.text, reply.state], ["Hello you", "TASK_STATE_COMPLETED"]);
			assert.deepEqual(
				peer.received.map(({ method, headers }) => [method, headers["last-event-id"]]),
				[
					["SendStreamingMessage", undefined],
					["SubscribeToTask", "t1:2"],
					["SubscribeToTask", "t1:3"],
				],
			);
		});

		it("is given up for the task itself when the peer does not go on with it", async () => {
			const GetTask = () => task("COMPLETED", made("Hello"));
			for (const error of [new RpcError(-32004, "it has ended"), new RpcError(-32603, "oops")]) {
				const SubscribeToTask = () => {
					throw error;
				};
				const peer = await bench.peer({
					streaming: true,
					answers: { SendStreamingMessage: begin, SubscribeToTask, GetTask },
				});
				assert.equal((await call(await bench.rig(), peer)).text, "Hello");
				assert.equal(peer.of("SubscribeToTask").length, 1);
			}
		});
	});

	describe("a message whose reply is lost", () => {
		const lost = () => {
			throw new Lost();
		};
		const found = (tasks: readonly object[]) => () => ({ tasks, nextPageToken: "", pageSize: 10, totalSize: 1 });
		const context = { contextId: contextId("c1") };

		it("is looked for in the peer's list, where sending it again might do its work twice", async () => {
			const ListTasks = () => {
				const [{ message }] = peer.of("SendMessage");
				return found([task("COMPLETED", { ...made("done"), history: [message] })])();
			};
			const peer = await bench.peer({ answers: { SendMessage: lost, ListTasks } });
			const reply = await call(await bench.rig({ retryAttempts: 3 }), peer, context);
			assert.equal(reply.text, "done");
			assert.match(reply.notes.join(), /reply was lost/);
			assert.equal(peer.of("SendMessage").length, 1);
		});

		it("and that is not found there is said to be in doubt", async () => {
			for (const streaming of [false, true]) {
				const answers = { SendMessage: lost, SendStreamingMessage: lost, ListTasks: found([]) };
				const peer = await bench.peer({ streaming, answers });
				const ending = call(await bench.rig({ retryAttempts: 3 }), peer, context);
				await assert.rejects(ending, failure(/Whether the peer got the message and works on it is not known/));
				assert.equal(peer.received.filter(({ method }) => method !== "ListTasks").length, 1);
			}
		});

		it("is sent again, the same, to a peer that knows it again", async () => {
			const answers = {
				SendMessage: (_: unknown, nth: number) => (nth === 0 ? lost() : { task: task("COMPLETED", made("done")) }),
			};
			const card = { capabilities: { extensions: [SAFE_RETRY_EXTENSION] } };
			const peer = await bench.peer({ card, answers });
			assert.equal((await call(await bench.rig({ retryAttempts: 1 }), peer, context)).text, "done");
			const [first, second] = peer.of("SendMessage");
			assert.deepEqual(first, second);
		});
	});

	describe("our own limit", () => {
		const shape = (reply: PeerReply) => ({
			state: reply.state,
			running: reply.running,
			taskId: reply.taskId,
			contextId: reply.contextId,
		});
		const stillRunning = { state: "TASK_STATE_WORKING", running: true, taskId: "t1", contextId: "c1" };
		const list = () => ({ tasks: [task("WORKING")], nextPageToken: "", pageSize: 1, totalSize: 1 });

		// R055, R027
		for (const [mode, streaming, answers, waits] of [
			["one reply", false, { SendMessage: silence, ListTasks: list }, "SendMessage"],
			[
				"a stream",
				true,
				{ SendStreamingMessage: () => stream({ task: task("WORKING") }, silence()) },
				"SendStreamingMessage",
			],
			["polls", false, { SendMessage: () => ({ task: task("WORKING") }), GetTask: silence }, "GetTask"],
			[
				"a subscription",
				true,
				{
					SendStreamingMessage: () => stream({ task: task("WORKING") }),
					GetTask: () => task("WORKING"),
					SubscribeToTask: () => stream({ task: task("WORKING") }, silence()),
				},
				"SubscribeToTask",
			],
		] as const) {
			it(`gives the same reply with ${mode}: still running, ids, what to do`, async () => {
				const clock = manualClock();
				const peer = await bench.peer({ streaming, answers });
				const ending = call(await bench.rig({ clock }), peer, { contextId: contextId("c1"), timeoutMs: 1000 }, clock);
				await until(() => peer.of(waits).length > 0, `the peer has ${waits}`);
				await clock.advance(1000);
				const reply = await ending;
				assert.deepEqual(shape(reply), stillRunning);
				assert.match(reply.notes.join(), /Still running: no end within 1 s.*task id/);
				assert.equal(clock.pending, 0, "no timer is left");
			});
		}

		it("says so when the peer named no task and none is found", async () => {
			const clock = manualClock();
			const peer = await bench.peer({ answers: { SendMessage: silence } });
			const ending = call(await bench.rig({ clock }), peer, { contextId: contextId("c1"), timeoutMs: 1000 }, clock);
			await until(() => peer.of("SendMessage").length > 0, "the message has arrived");
			await clock.advance(1000);
			const reply = await ending;
			assert.deepEqual(shape(reply), {
				state: "TASK_STATE_UNSPECIFIED",
				running: true,
				taskId: undefined,
				contextId: "c1",
			});
			assert.match(reply.notes.join(), /No answer within 1 s.*may still be working/);
		});
	});

	describe("a task that takes five hours", () => {
		const HOURS_MS = 5 * 3_600_000;
		const STEP_MS = 100_000;
		const done = task("COMPLETED", made("at last"));

		for (const [how, timeoutMs] of [
			["a limit of six hours", 6 * 3_600_000],
			["no limit", 0],
		] as const)
			for (const mode of ["one reply", "a stream that only says that it lives", "polls"] as const) {
				it(`is waited for with ${mode} and ${how}`, async function () {
					this.timeout(20_000);
					const clock = manualClock();
					const end = clock.now() + HOURS_MS;
					let told: (() => void) | undefined;
					const step = () => new Promise<void>((resolve) => (told = resolve));
					async function* beating() {
						yield { task: task("WORKING") };
						while (clock.now() < end) {
							await step();
							yield ": keep-alive\n\n";
						}
						yield { task: done };
					}
					const whole = async () => {
						while (clock.now() < end) await step();
						return { task: done };
					};
					const peer = await bench.peer({
						streaming: mode.startsWith("a stream"),
						answers: {
							SendMessage: () => (mode === "polls" ? { task: task("WORKING") } : whole()),
							SendStreamingMessage: beating,
							GetTask: () => (clock.now() < end ? task("WORKING") : done),
						},
					});
					const rig = await bench.rig({ clock, config: { worker: peer.url } });
					let reply: PeerReply | undefined;
					const signal = new AbortController().signal;
					const ending = rig.outbound.call("worker", "go", { signal, timeoutMs }).then((value) => {
						reply = value;
					});
					await until(() => peer.received.length > 0, "the message has arrived");
					while (!reply && clock.now() < end + HOURS_MS) {
						await clock.advance(STEP_MS);
						told?.();
						// What goes over the wire takes real time.
						await new Promise((resolve) => setTimeout(resolve, 5));
					}
					await ending;
					assert.deepEqual([reply?.text, reply?.running], ["at last", false]);
					assert.ok(clock.now() >= end);
					assert.equal(clock.pending, 0, "no timer is left");
				});
			}
	});

	describe("stopping", () => {
		// Esc
		it("cancels the task at the peer and throws", async () => {
			const controller = new AbortController();
			const answers = {
				SendStreamingMessage: () => stream({ task: task("WORKING") }, silence()),
				CancelTask: () => task("CANCELED"),
			};
			const peer = await bench.peer({ streaming: true, answers });
			const ending = call(await bench.rig(), peer, { signal: controller.signal, onProgress: () => controller.abort() });
			await assert.rejects(
				ending,
				failure(/the call was stopped\. The peer was told to stop task t1\./, {
					taskId: taskId("t1"),
					state: "TASK_STATE_CANCELED",
				}),
			);
			assert.deepEqual(peer.of("CancelTask"), [{ id: "t1" }]);
		});

		it("finds the task first when the peer has not named it yet", async () => {
			const controller = new AbortController();
			const answers = {
				SendMessage: silence,
				ListTasks: () => ({ tasks: [task("WORKING")], nextPageToken: "", pageSize: 1, totalSize: 1 }),
				CancelTask: () => task("CANCELED"),
			};
			const peer = await bench.peer({ answers });
			const ending = call(await bench.rig(), peer, { contextId: contextId("c1"), signal: controller.signal });
			await until(() => peer.of("SendMessage").length > 0, "the message has arrived");
			controller.abort();
			await assert.rejects(ending, failure(/told to stop task t1/));
		});

		it("does not wait for a peer that does not answer the cancellation", async () => {
			const clock = manualClock();
			const controller = new AbortController();
			const answers = { SendStreamingMessage: () => stream({ task: task("WORKING") }, silence()), CancelTask: silence };
			const peer = await bench.peer({ streaming: true, answers });
			const rig = await bench.rig({ clock });
			const ending = call(rig, peer, { signal: controller.signal, onProgress: () => controller.abort() }, clock);
			const refused = assert.rejects(ending, failure(/may go on at the peer.*\(no answer within 2 s\)/));
			await until(() => peer.of("CancelTask").length > 0, "the peer was asked");
			await clock.advance(2000);
			await refused;
			assert.equal(clock.pending, 0);
		});

		it("says when the task had ended already", async () => {
			const controller = new AbortController();
			const answers = {
				SendStreamingMessage: () => stream({ task: task("WORKING") }, silence()),
				CancelTask: () => {
					throw new RpcError(-32002, "ended");
				},
			};
			const peer = await bench.peer({ streaming: true, answers });
			const ending = call(await bench.rig(), peer, { signal: controller.signal, onProgress: () => controller.abort() });
			await assert.rejects(ending, failure(/Task t1 had already ended/));
		});
	});

	describe("detached", () => {
		it("returns with the ids as soon as the peer has accepted, without a stream", async () => {
			const peer = await bench.peer({ streaming: true, answers: { SendMessage: () => ({ task: task("WORKING") }) } });
			const reply = await call(await bench.rig(), peer, { detached: true });
			assert.equal(peer.of("SendMessage")[0].configuration.returnImmediately, true);
			assert.equal(reply.running, true);
			assert.equal(reply.taskId, "t1");
			assert.equal(peer.received.length, 1);
		});

		it("falls through to the reply when the peer blocks, or was quick", async () => {
			const peer = await bench.peer({ answers: { SendMessage: () => ({ task: task("COMPLETED", made("done")) }) } });
			const reply = await call(await bench.rig(), peer, { detached: true });
			assert.equal(reply.running, false);
			assert.equal(reply.text, "done");
		});
	});

	it("reports every exchange, redacted, and polls only when they bring news", async () => {
		const token = ["ghp", "1234567890abcdefghijklmnopqrstuvwxyz"].join("_");
		const GetTask = (_: unknown, nth: number) => (nth < 3 ? task("WORKING") : task("COMPLETED", made("x")));
		const peer = await bench.peer({ answers: { SendMessage: () => ({ task: task("SUBMITTED") }), GetTask } });
		const rig = await bench.rig();
		await call(rig, peer, { text: `use ${token}` });
		assert.deepEqual(
			rig.exchanges.map(({ operation, state, taskId, error }) => [operation, state, taskId, error]),
			[
				["SendMessage", "TASK_STATE_SUBMITTED", "t1", undefined],
				["GetTask", "TASK_STATE_WORKING", "t1", undefined],
				["GetTask", "TASK_STATE_COMPLETED", "t1", undefined],
			],
		);
		assert.match(rig.exchanges[0]?.preview ?? "", /^use \[redacted/);
		assert.doesNotMatch(JSON.stringify(peer.received[0]?.params), new RegExp(token));
	});
});
