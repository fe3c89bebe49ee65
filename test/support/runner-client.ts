/** A real Pi with the runner fixture in it, and turns sent to it. */
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunEvent } from "../../src/agent/runner.ts";
import type { Usage } from "../../src/agent/usage.ts";
import { type FakeLlm, type FakeModel, startFakeLlm } from "./fake-llm.ts";
import { makeAgentDir, type PiRpc, startPiRpc } from "./pi-host.ts";

export const fixture = (name: string) => fileURLToPath(new URL(`../hosts/fixtures/${name}`, import.meta.url));

export interface Ask {
	readonly text?: string;
	readonly parts?: readonly object[];
	readonly context?: string;
	readonly caller?: string;
	readonly taskId?: string;
	readonly resumed?: boolean;
	readonly accepts?: readonly string[];
}

export interface Told {
	/** All but what was used, which is in `usage`. */
	readonly events: readonly RunEvent[];
	readonly usage: Usage | undefined;
	/** Milliseconds since the epoch at which each event left the runner. */
	readonly at: readonly number[];
	/** The text events joined, as a reader that honours `restart` has it in the end. */
	readonly text: string;
	/** The last event, when it is an ending. */
	readonly ending: RunEvent | undefined;
}

export interface RunnerHost {
	readonly pi: PiRpc;
	readonly port: number;
	turn(
		ask: Ask,
		options?: { readonly signal?: AbortSignal; readonly onEvent?: (event: RunEvent) => void },
	): Promise<Told>;
	// biome-ignore lint/suspicious/noExplicitAny: the fixture's own answer
	state(): Promise<any>;
	close(): Promise<void>;
	stop(): Promise<number | string>;
}

const ENDINGS = ["completed", "failed", "rejected", "input-required", "auth-required"];

function told(lines: readonly { at: number; event: RunEvent }[]): Told {
	let text = "";
	let usage: Usage | undefined;
	for (const { event } of lines) {
		if (event.type === "usage") usage = event.usage;
		if (event.type === "text") text += event.delta;
		if (event.type === "restart") text = "";
	}
	const last = lines.at(-1)?.event;
	const ending = last && ENDINGS.includes(last.type) ? last : undefined;
	const shown = lines.filter(({ event }) => event.type !== "usage");
	return { events: shown.map((line) => line.event), usage, at: shown.map((line) => line.at), text, ending };
}

function send(
	port: number,
	path: string,
	body: object | undefined,
	options: { readonly signal?: AbortSignal; readonly onLine?: (line: string) => void } = {},
): Promise<string> {
	return new Promise((resolve, reject) => {
		const method = body ? "POST" : "GET";
		const { signal } = options;
		const call = request(
			{ host: "127.0.0.1", port, path, method, agent: false, ...(signal ? { signal } : {}) },
			(response) => {
				let [all, rest] = ["", ""];
				response.setEncoding("utf8").on("data", (piece: string) => {
					all += piece;
					const lines = (rest + piece).split("\n");
					rest = lines.pop() ?? "";
					for (const line of lines) options.onLine?.(line);
				});
				response.on("end", () => resolve(all)).on("error", reject);
			},
		);
		call.on("error", reject);
		call.end(body ? JSON.stringify(body) : undefined);
	});
}

/** Starts a Pi with the runner in it. */
export async function startRunnerHost(options: {
	readonly agentDir: string;
	readonly cwd: string;
	readonly args?: readonly string[];
	readonly env?: NodeJS.ProcessEnv;
}): Promise<RunnerHost> {
	const args = ["--no-session", "-e", fixture("runner-host.ts"), ...(options.args ?? [])];
	const pi = await startPiRpc({ ...options, args });
	const ready = await pi.waitForUi((ui) => ui.method === "notify" && /^runner listens/.test(ui.message));
	const port = Number(/\d+$/.exec(ready.message)?.[0]);
	return {
		pi,
		port,
		async turn(ask, { signal, onEvent } = {}) {
			const lines: { at: number; event: RunEvent }[] = [];
			const onLine = (line: string) => {
				const entry = JSON.parse(line) as { at: number; event: RunEvent };
				lines.push(entry);
				onEvent?.(entry.event);
			};
			await send(port, "/run", { context: "ctx-1", ...ask }, { onLine, ...(signal ? { signal } : {}) });
			return told(lines);
		},
		state: async () => JSON.parse(await send(port, "/state", undefined)),
		close: async () => void (await send(port, "/close", {})),
		stop: () => pi.stop(),
	};
}

/** Folders, model and hosts of one test; `end` gives everything back. */
export interface Stage {
	readonly llm: FakeLlm;
	readonly agentDir: string;
	readonly cwd: string;
	start(options?: { readonly args?: readonly string[]; readonly env?: NodeJS.ProcessEnv }): Promise<RunnerHost>;
	end(): Promise<void>;
}

/** Prepares a stage. `settings` go into the user's settings.json; retries there are quick. */
export async function openStage(
	options: { readonly settings?: object; readonly models?: readonly FakeModel[] } = {},
): Promise<Stage> {
	const llm = await startFakeLlm();
	const [dir, cwd] = await Promise.all([mkdtemp(join(tmpdir(), "a2a-agent-")), mkdtemp(join(tmpdir(), "a2a-work-"))]);
	const agentDir = makeAgentDir({
		llmUrl: llm.url,
		dir,
		settings: { retry: { maxRetries: 2, baseDelayMs: 20 }, ...options.settings },
		...(options.models ? { models: options.models } : {}),
	});
	const hosts: RunnerHost[] = [];
	return {
		llm,
		agentDir,
		cwd,
		async start(more = {}) {
			const host = await startRunnerHost({ agentDir, cwd, ...more });
			hosts.push(host);
			return host;
		},
		async end() {
			await Promise.all(hosts.map((host) => host.stop()));
			await llm.close();
			for (const path of [agentDir, cwd]) await rm(path, { recursive: true, force: true });
		},
	};
}
