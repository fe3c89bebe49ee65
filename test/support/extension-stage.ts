/** Real Pis that have this extension, each with an agent directory of its own, and one scripted model for all. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type FakeLlm, startFakeLlm } from "./fake-llm.ts";
import { makeAgentDir, type PiEvent, type PiRpc, type PiRun, runPi, startPiRpc } from "./pi-host.ts";
import { type PiTui, startPiTui } from "./pi-tui.ts";

/** The folder of this package: what `pi -e` is given. */
export const EXTENSION = fileURLToPath(new URL("../..", import.meta.url));

/** One Pi: its folders and what it wrote down. */
export interface Place {
	readonly agentDir: string;
	readonly cwd: string;
}

export interface PiSettings {
	/** The block `a2a` of settings.json. */
	readonly a2a?: object;
	readonly settings?: object;
	readonly env?: NodeJS.ProcessEnv;
	readonly args?: readonly string[];
	/** Of an earlier Pi, to start again in its place. */
	readonly place?: Place;
}

export interface ExtensionStage {
	readonly llm: FakeLlm;
	/** A new agent directory and an empty working folder. */
	place(options?: PiSettings): Promise<Place>;
	rpc(options?: PiSettings): Promise<PiRpc & { readonly place: Place }>;
	tui(options?: PiSettings): Promise<PiTui & { readonly place: Place }>;
	/** Print mode; `args` may say `--mode json`. */
	once(prompt: string, options?: PiSettings): Promise<PiRun>;
	/** Ends every Pi and removes every folder. */
	end(): Promise<void>;
}

/** Nothing is running yet but the model. */
export async function openExtensionStage(): Promise<ExtensionStage> {
	const root = await mkdtemp(join(tmpdir(), "a2a-stage-"));
	const llm = await startFakeLlm();
	const ends: (() => Promise<unknown>)[] = [];
	let count = 0;

	async function place({ a2a, settings }: PiSettings = {}): Promise<Place> {
		const name = `pi-${++count}`;
		const cwd = await mkdtemp(join(root, `${name}-work-`));
		const all = { ...settings, ...(a2a ? { a2a } : {}) };
		return { agentDir: makeAgentDir({ llmUrl: llm.url, dir: join(root, name), settings: all }), cwd };
	}
	const argsOf = (options: PiSettings) => ["--no-session", "-e", EXTENSION, ...(options.args ?? [])];

	return {
		llm,
		place,
		async rpc(options = {}) {
			const at = options.place ?? (await place(options));
			const pi = await startPiRpc({ ...at, args: argsOf(options), ...(options.env ? { env: options.env } : {}) });
			ends.push(() => pi.stop());
			return Object.assign(pi, { place: at });
		},
		async tui(options = {}) {
			const at = options.place ?? (await place(options));
			const pi = await startPiTui({ ...at, args: argsOf(options), ...(options.env ? { env: options.env } : {}) });
			ends.push(() => pi.stop());
			return Object.assign(pi, { place: at });
		},
		async once(prompt, options = {}) {
			const at = options.place ?? (await place(options));
			const args = ["-p", ...argsOf(options), prompt];
			return runPi({ ...at, args, timeoutMs: 60_000, ...(options.env ? { env: options.env } : {}) });
		},
		async end() {
			await Promise.all(ends.map((end) => end()));
			await llm.close();
			await rm(root, { recursive: true, force: true });
		},
	};
}

/** Texts that the extension showed by `notify`, oldest first. */
export const notices = (pi: PiRpc): string[] =>
	pi.uiRequests.filter((request) => request.method === "notify").map((request) => String(request.message));

/** Runs a command and gives what it showed, once it shows something that matches `what`. */
export async function ask(pi: PiRpc, command: string, what: RegExp = /./): Promise<string> {
	const before = pi.uiRequests.length;
	await pi.command({ type: "prompt", message: command });
	const found = await pi.waitForUi(
		(request) => pi.uiRequests.indexOf(request) >= before && request.method === "notify" && what.test(request.message),
		30_000,
	);
	return String(found.message);
}

/** Starts the server of a Pi and gives its URL. */
export async function serve(pi: PiRpc): Promise<string> {
	const said = await ask(pi, "/a2a-server start", /listening|not start/);
	const url = /Agent Card: (http:\/\/\S+?\/)\.well-known/.exec(said)?.[1];
	if (!url) throw new Error(said);
	return url;
}

/** The result of the last call of a tool in `events`. */
export function toolResult(
	events: readonly PiEvent[],
	name: string,
): { text: string; isError: boolean; details: unknown } {
	const end = events.findLast((event) => event.type === "tool_execution_end" && event.toolName === name);
	if (!end) throw new Error(`${name} was not called`);
	const content: { text?: string }[] = end.result.content ?? [];
	return {
		text: content.map((part) => part.text ?? "").join(""),
		isError: end.isError === true,
		details: end.result.details,
	};
}

/** Waits until `holds`, at most `timeoutMs`. */
export async function until(holds: () => boolean, what: string, timeoutMs = 30_000): Promise<void> {
	for (const end = Date.now() + timeoutMs; Date.now() < end; await pause(20)) if (holds()) return;
	throw new Error(`${what}: not in ${timeoutMs} ms`);
}
