/**
 * `npm run test:interop`: the official Python SDK of A2A as a client of our server and as a server for our client, in
 * versions 1.0 and 0.3. The SDK goes into a virtual environment below `node_modules/.cache`, which is kept. Not part of
 * `npm test`: it needs `python3` and, the first time, the network.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { PeerReply } from "../../src/peers/reply.ts";
import { PeerError } from "../../src/peers/reply.ts";
import { ourClient } from "../support/our-client.ts";
import { startUs, type Us } from "../support/sdk-us.ts";
import { type Pair, PYTHON_PAIRS, pairName, TRIALS } from "./pairs.ts";
import { OPERATION_TRIALS, startHooks } from "./trials.ts";

const SDK = "1.3.0";
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const say = (line: string) => void process.stdout.write(`${line}\n`);
const run = promisify(execFile);

/** The interpreter of the virtual environment, made when it is not there. Ends the process when it cannot be. */
async function python(): Promise<string> {
	const found = spawnSync("python3", ["-c", "import sys, venv, ensurepip; print(sys.version_info >= (3, 10))"]);
	if (found.error || found.status !== 0 || !found.stdout.toString().startsWith("True")) {
		say(
			"SKIPPED: the Python interop tests need python3 (3.10 or later, with venv and pip) in PATH, and it is missing.",
		);
		process.exit(1);
	}
	const folder = here(`../../node_modules/.cache/a2a-python-${SDK}`);
	const bin = join(folder, process.platform === "win32" ? "Scripts" : "bin", "python");
	if (existsSync(join(folder, "ready"))) return bin;
	say(`Installing a2a-sdk ${SDK} …`);
	await run("python3", ["-m", "venv", "--clear", folder]);
	await run(bin, ["-m", "pip", "install", "--quiet", `a2a-sdk[http-server]==${SDK}`, "uvicorn"]);
	await run(bin, ["-c", `open(${JSON.stringify(join(folder, "ready"))}, "w").close()`]);
	return bin;
}

/** Lines of a child's output. Its errors go to ours. */
function start(bin: string, args: readonly string[]): { child: ChildProcess; lines: AsyncIterable<string> } {
	const child = spawn(bin, args, { stdio: ["pipe", "pipe", "inherit"] });
	return { child, lines: createInterface({ input: child.stdout }) };
}

let total = 0;
let failures = 0;
function report(part: string, line: string): void {
	total += 1;
	if (!line.startsWith("ok ")) failures += 1;
	say(`${part}: ${line}`);
}

async function asClient(bin: string, version: string, more: { token?: string; binding?: string } = {}): Promise<void> {
	const { token, binding = "JSONRPC" } = more;
	const part = `python ${version} over ${binding}${token ? " with a token" : ""}`;
	const us = await startUs(token ? { token } : {});
	try {
		const options = ["--version", version, "--binding", binding, ...(token ? ["--token", token] : [])];
		const { child, lines } = start(bin, [here("python/client.py"), us.url, ...options]);
		const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
		let count = 0;
		for await (const line of lines) {
			count += 1;
			report(`${part} → us`, line);
		}
		if ((await ended) !== 0 || count === 0) report(`${part} → us`, "not ok: the client broke off");
	} finally {
		await us.close();
	}
}

/** What we ask the Python server for, and what is to come of it. */
const CASES: { readonly [name: string]: (us: Us) => Promise<unknown> } = {
	async "gets the answer"(us) {
		same((await call(us, "echo hello")).text, "hello");
	},
	async "puts chunks together"(us) {
		same((await call(us, "chunks 3")).text, "chunk-0;chunk-1;chunk-2;");
	},
	async "takes a message for an answer"(us) {
		const reply = await call(us, "message hi there");
		same([reply.state, reply.text], ["MESSAGE", "hi there"]);
	},
	async "takes the words of the last status"(us) {
		same((await call(us, "quiet all is well")).text, "all is well");
	},
	async "hands on a question and answers it"(us) {
		const asked = await call(us, "ask");
		same(asked.question, "Which colour?");
		const reply = await call(us, "blue", { contextId: asked.contextId });
		same([reply.taskId, reply.text], [asked.taskId, "You said: blue"]);
	},
	async "says why a task failed"(us) {
		same((await refused(call(us, "fail"))).message, "peer: the task failed: It did not work.");
	},
	async "says why a task was rejected"(us) {
		same((await refused(call(us, "reject"))).message, "peer: the task was rejected: I will not do this.");
	},
	async "dispatches a task and asks for it later"(us) {
		const sent = await call(us, "slow 300", { detached: true });
		same(sent.running, true);
		const reply = await us.outbound.status("peer", sent.taskId ?? "", { signal: never(), waitMs: 5_000 });
		same(reply.text, "slept 300");
	},
	async "asks for a task that is not there in vain"(us) {
		const error = await refused(us.outbound.status("peer", "nobody", { signal: never() }));
		same(/does not know this task/.test(error.hint ?? ""), true);
	},
	async "cancels when the caller stops"(us) {
		const controller = new AbortController();
		setTimeout(() => controller.abort(), 500);
		const error = await refused(call(us, "slow 20000", { signal: controller.signal }));
		same(/was stopped/.test(error.message), true);
		return error.message;
	},
};

const never = () => new AbortController().signal;
const call = (us: Us, text: string, more: object = {}): Promise<PeerReply> =>
	us.outbound.call("peer", text, { signal: never(), ...more });

function same(got: unknown, wanted: unknown): void {
	const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
	if (a !== b) throw new Error(`${a} instead of ${b}`);
}

async function refused(calling: Promise<unknown>): Promise<PeerError> {
	const error = await calling.then(
		(reply) => new Error(`an answer: ${JSON.stringify(reply)}`),
		(reason: unknown) => reason,
	);
	if (error instanceof PeerError) return error;
	throw error;
}

/** Starts the SDK's server; `use` is given its URL, undefined when it did not start. */
async function withServer(
	bin: string,
	options: readonly string[],
	use: (url: string | undefined) => Promise<void>,
): Promise<void> {
	const { child, lines } = start(bin, [here("python/server.py"), ...options]);
	const first = await lines[Symbol.asyncIterator]().next();
	try {
		await use(first.done ? undefined : first.value);
	} finally {
		child.stdin?.end();
		if (child.exitCode === null) await new Promise((resolve) => child.once("close", resolve));
	}
}

/** Reports what `attempt` comes to. */
async function attempted(part: string, name: string, attempt: () => Promise<unknown>): Promise<void> {
	const problem = await attempt().then(
		() => undefined,
		(error: Error) => error.message.replace(/\s+/g, " "),
	);
	report(part, problem === undefined ? `ok ${name}` : `not ok ${name}: ${problem}`);
}

async function asServer(bin: string, version: string, streaming: boolean): Promise<void> {
	const part = `us → python ${version}${streaming ? "" : " without streaming"}`;
	const options = ["--version", version, ...(streaming ? [] : ["--no-streaming"])];
	await withServer(bin, options, async (url) => {
		if (url === undefined) return report(part, "not ok: the server did not start");
		const us = await startUs({ peers: { peer: { url } } });
		try {
			for (const [name, attempt] of Object.entries(CASES)) await attempted(part, name, () => attempt(us));
		} finally {
			await us.close();
		}
	});
}

/** Every trial that a pair can have. */
async function asPair(bin: string, pair: Pair): Promise<void> {
	const part = pairName(pair);
	const trials = TRIALS.filter((trial) => pair.lacks?.[trial] === undefined);
	const options = ["--version", pair.version, "--binding", pair.binding];
	if (pair.server === "us") {
		const us = await startUs({ token: "token-of-ours" });
		const asked = [us.url, ...options, "--token", "token-of-ours", "--trials", trials.join(",")];
		const { child, lines } = start(bin, [here("python/client.py"), ...asked]);
		const ended = new Promise((resolve) => child.once("close", resolve));
		const ran: string[] = [];
		for await (const line of lines) {
			ran.push(line);
			report(part, line);
		}
		await ended;
		await us.close();
		if (ran.length !== trials.length) report(part, `not ok: ${trials.length - ran.length} trials did not run`);
		return;
	}
	await withServer(bin, options, async (url) => {
		if (url === undefined) return report(part, "not ok: the server did not start");
		const hooks = await startHooks();
		const client = await ourClient(url);
		for (const trial of trials) await attempted(part, trial, () => OPERATION_TRIALS[trial](client.driver, hooks));
		client.close();
		hooks.close();
	});
}

// The server keeps no process alive, and closing it may wait for a webhook.
const stay = setInterval(() => undefined, 2 ** 30);
const bin = await python();
for (const version of ["1.0", "0.3"]) {
	await asClient(bin, version);
	for (const streaming of [true, false]) await asServer(bin, version, streaming);
}
await asClient(bin, "1.0", { binding: "HTTP+JSON" });
await asClient(bin, "0.3", { binding: "HTTP+JSON" });
await asClient(bin, "1.0", { token: "token-of-ours" });
for (const pair of PYTHON_PAIRS) await asPair(bin, pair);
say(`${total - failures} passing\n${failures} failing`);
clearInterval(stay);
process.exitCode = failures === 0 ? 0 : 1;
