/**
 * Runs a real Pi from a test, headless: over RPC (`startPiRpc`) or once in print or json mode (`runPi`). Which of the
 * two supported versions is named by the environment variable PI_HOST. The interactive mode is in `pi-tui.ts`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type FakeModel, piModelsJson } from "./fake-llm.ts";

export interface PiCommand {
	readonly version: string;
	readonly node: string;
	readonly cli: string;
}

const root = fileURLToPath(new URL("../..", import.meta.url));
const second = join(root, "test/hosts/pi1/node_modules");

/** The supported hosts: which Node runs which command line. */
export const PI = {
	"0.73.1": {
		version: "0.73.1",
		node: process.execPath,
		cli: join(root, "node_modules/@mariozechner/pi-coding-agent/dist/cli.js"),
	},
	"1.6.0": {
		version: "1.6.0",
		node: join(second, ".bin/node"),
		cli: join(second, "@earendil-works/pi-coding-agent/dist/bundle/cli.js"),
	},
} satisfies { readonly [version: string]: PiCommand };

/** The Pi that this run of the tests is about. */
export function piUnderTest(): PiCommand {
	const version = process.env.PI_HOST ?? "0.73.1";
	const command = Object.values(PI).find((each) => each.version === version);
	if (!command) throw new Error(`PI_HOST is ${version}; known are ${Object.keys(PI).join(" and ")}`);
	return command;
}

/** A private agent directory with models.json and settings.json; the same files serve both versions. */
export function makeAgentDir(options: {
	readonly llmUrl: string;
	readonly dir?: string;
	readonly settings?: object;
	readonly models?: readonly FakeModel[];
}): string {
	const dir = options.dir ?? mkdtempSync(join(tmpdir(), "pi-agent-"));
	mkdirSync(dir, { recursive: true });
	writeFileSync(join(dir, "models.json"), JSON.stringify(piModelsJson(options.llmUrl, options.models), null, 2));
	const settings = {
		defaultProvider: "fake",
		defaultModel: options.models?.[0]?.id ?? "scripted",
		quietStartup: true,
		enableInstallTelemetry: false,
		...options.settings,
	};
	writeFileSync(join(dir, "settings.json"), JSON.stringify(settings, null, 2));
	return dir;
}

/** Environment for a Pi that touches neither the network nor the user's own Pi files. */
export function piEnv(agentDir: string, extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
	const { PI_SESSION_ID, PI_SESSION_FILE, PI_CODING_AGENT, AI_AGENT, ...own } = process.env;
	// Settings of whoever runs the tests must not reach the extension under test.
	for (const name of Object.keys(own)) if (name.startsWith("A2A_")) delete own[name];
	return {
		...own,
		PI_CODING_AGENT_DIR: agentDir,
		PI_OFFLINE: "1",
		PI_SKIP_VERSION_CHECK: "1",
		PI_TELEMETRY: "0",
		...extra,
	};
}

const started = new Set<ChildProcess>();
// A test that failed half way must not leave its Pi behind.
process.on("exit", () => {
	for (const child of started) child.kill("SIGKILL");
});

function own(child: ChildProcess): Promise<number | string> {
	started.add(child);
	return new Promise((resolve) => {
		child.on("error", (error) => resolve(error.message));
		child.on("exit", (code, signal) => {
			started.delete(child);
			resolve(code ?? signal ?? "unknown");
		});
	});
}

/** One line of what Pi writes in RPC or json mode. */
export interface PiEvent {
	readonly type: string;
	// biome-ignore lint/suspicious/noExplicitAny: records of two Pi versions, read by tests field by field
	readonly [field: string]: any;
}

/** Calls `take` for each line. Splits on LF only: U+2028 and U+2029 are legal inside JSON strings. */
function lines(take: (record: PiEvent) => void): (chunk: string) => void {
	let buffer = "";
	return (chunk) => {
		buffer += chunk;
		for (let end = buffer.indexOf("\n"); end >= 0; end = buffer.indexOf("\n")) {
			const line = buffer.slice(0, end).replace(/\r$/, "");
			buffer = buffer.slice(end + 1);
			if (line) take(parse(line));
		}
	};
}

function parse(line: string): PiEvent {
	try {
		return JSON.parse(line) as PiEvent;
	} catch {
		return { type: "not_json", line };
	}
}

/** What a finished print or json run left. */
export interface PiRun {
	readonly code: number | string;
	readonly stdout: string;
	readonly stderr: string;
	/** Milliseconds from start to exit. */
	readonly ms: number;
}

/** Runs Pi once, with standard input closed, and waits for its end (bounded by `timeoutMs`, then killed). */
export async function runPi(options: {
	readonly pi?: PiCommand;
	readonly agentDir: string;
	readonly cwd: string;
	readonly args: readonly string[];
	readonly env?: NodeJS.ProcessEnv;
	readonly timeoutMs?: number;
}): Promise<PiRun> {
	const pi = options.pi ?? piUnderTest();
	const begun = Date.now();
	const child = spawn(pi.node, [pi.cli, ...options.args], {
		cwd: options.cwd,
		env: piEnv(options.agentDir, options.env),
		stdio: ["ignore", "pipe", "pipe"],
	});
	const exited = own(child);
	let [stdout, stderr] = ["", ""];
	child.stdout.setEncoding("utf8").on("data", (piece: string) => {
		stdout += piece;
	});
	child.stderr.setEncoding("utf8").on("data", (piece: string) => {
		stderr += piece;
	});
	const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? 30_000);
	const code = await exited;
	clearTimeout(timer);
	return { code, stdout, stderr, ms: Date.now() - begun };
}

export interface PiPrompt {
	/** Text of the last assistant message. */
	readonly text: string;
	readonly events: readonly PiEvent[];
}

/** A Pi in RPC mode. */
export interface PiRpc {
	readonly pid: number;
	readonly events: readonly PiEvent[];
	/** Requests for the user interface: notify, setStatus, select and so on. */
	readonly uiRequests: readonly PiEvent[];
	readonly stderr: string;
	/** Resolves with the exit code, or the signal that ended it. */
	readonly exited: Promise<number | string>;
	/** The same once it has ended. */
	readonly exitCode: number | string | undefined;
	/** Answers select, confirm, input and editor; cancelled when not set. */
	onUi: ((request: PiEvent) => object) | undefined;
	/** Sees every event as it arrives. */
	onEvent: ((event: PiEvent) => void) | undefined;
	/** Sends a command; the data of its response. */
	command(record: { readonly type: string; readonly [field: string]: unknown }, timeoutMs?: number): Promise<PiEvent>;
	/** Sends a prompt (a slash command counts) and waits until Pi is idle again. */
	prompt(message: string, extra?: object): Promise<PiPrompt>;
	/** The first user interface request that `pick` accepts, now or within `timeoutMs`. */
	waitForUi(pick: (request: PiEvent) => boolean, timeoutMs?: number): Promise<PiEvent>;
	/** Closes standard input, waits, then insists; gives the exit code. */
	stop(graceMs?: number): Promise<number | string>;
	/** SIGKILL, as a crash would. */
	kill(): Promise<number | string>;
}

const DIALOGS = ["select", "confirm", "input", "editor"];

/** Starts Pi in RPC mode and waits until it answers. */
export async function startPiRpc(options: {
	readonly pi?: PiCommand;
	readonly agentDir: string;
	readonly cwd: string;
	readonly args?: readonly string[];
	readonly env?: NodeJS.ProcessEnv;
}): Promise<PiRpc> {
	const pi = options.pi ?? piUnderTest();
	const child = spawn(pi.node, [pi.cli, "--mode", "rpc", ...(options.args ?? [])], {
		cwd: options.cwd,
		env: piEnv(options.agentDir, options.env),
		stdio: ["pipe", "pipe", "pipe"],
	});
	const exited = own(child);
	const [events, uiRequests]: [PiEvent[], PiEvent[]] = [[], []];
	const waiting = new Map<string, (response: PiEvent) => void>();
	let [stderr, sequence] = ["", 0];
	// Writing to a Pi that has just exited is no fault of the test.
	child.stdin.on("error", () => undefined);
	const send = (record: object) => child.stdin.write(`${JSON.stringify(record)}\n`);
	child.stderr.setEncoding("utf8").on("data", (piece: string) => {
		stderr += piece;
	});
	child.stdout.setEncoding("utf8").on(
		"data",
		lines((record) => {
			const waiter = record.type === "response" ? waiting.get(record.id) : undefined;
			if (waiter) {
				waiting.delete(record.id);
				waiter(record);
			} else if (record.type === "extension_ui_request") {
				uiRequests.push(record);
				if (!DIALOGS.includes(record.method)) return;
				send({ type: "extension_ui_response", id: record.id, ...(host.onUi?.(record) ?? { cancelled: true }) });
			} else {
				events.push(record);
				host.onEvent?.(record);
			}
		}),
	);

	const host: PiRpc = {
		pid: child.pid ?? -1,
		events,
		uiRequests,
		exited,
		onUi: undefined,
		onEvent: undefined,
		get stderr() {
			return stderr;
		},
		get exitCode() {
			return child.exitCode ?? child.signalCode ?? undefined;
		},
		command(record, timeoutMs = 30_000) {
			const id = `c${++sequence}`;
			return new Promise((resolve, reject) => {
				const fail = (what: string) => reject(new Error(`${record.type}: ${what}; stderr: ${stderr.slice(-800)}`));
				const timer = setTimeout(() => fail(`no answer in ${timeoutMs} ms`), timeoutMs);
				waiting.set(id, (response) => {
					clearTimeout(timer);
					if (response.success) resolve(response.data ?? {});
					else fail(String(response.error));
				});
				void exited.then((code) => {
					clearTimeout(timer);
					fail(`pi exited with ${code}`);
				});
				send({ ...record, id });
			});
		},
		async prompt(message, extra = {}) {
			const from = events.length;
			await host.command({ type: "prompt", message, ...extra }, 120_000);
			// Idle is being idle twice: 0.73.1 has no event for the real end of a run.
			for (let quiet = 0, i = 0; quiet < 2 && i < 4000; i++) {
				const state = await host.command({ type: "get_state" });
				quiet = state.isStreaming || state.isCompacting || state.pendingMessageCount ? 0 : quiet + 1;
				if (quiet < 2) await pause(quiet ? 150 : 20);
			}
			const seen = events.slice(from);
			const last = seen.findLast((event) => event.type === "message_end" && event.message.role === "assistant");
			const content: { type: string; text?: string }[] = last?.message.content ?? [];
			const text = content.map((part) => (part.type === "text" ? (part.text ?? "") : "")).join("");
			return { text, events: seen };
		},
		async waitForUi(pick, timeoutMs = 10_000) {
			for (const end = Date.now() + timeoutMs; Date.now() < end; ) {
				const found = uiRequests.find(pick);
				if (found) return found;
				await pause(10);
			}
			throw new Error(`no such request to the user interface in ${timeoutMs} ms; stderr: ${stderr.slice(-800)}`);
		},
		async stop(graceMs = 5000) {
			child.stdin.end();
			const term = setTimeout(() => child.kill("SIGTERM"), graceMs);
			const kill = setTimeout(() => child.kill("SIGKILL"), graceMs + 3000);
			const code = await exited;
			clearTimeout(term);
			clearTimeout(kill);
			return code;
		},
		kill() {
			child.kill("SIGKILL");
			return exited;
		},
	};
	try {
		await host.command({ type: "get_state" });
	} catch (error) {
		child.kill("SIGKILL");
		throw error;
	}
	return host;
}
