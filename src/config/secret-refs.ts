/** Secrets that are not written down: `$VAR` or `${VAR}` for a variable, `!command` for what a command prints. */
import { spawn } from "node:child_process";
import type { Config } from "./keys.ts";

export type Reference =
	| { readonly from: "variable"; readonly name: string }
	| { readonly from: "command"; readonly command: string };

/** What `text` refers to; `undefined` for a secret that stands there itself. */
export function referenceIn(text: string): Reference | undefined {
	const variable = /^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})$/.exec(text);
	if (variable) return { from: "variable", name: variable[1] ?? variable[2] ?? "" };
	const command = text.startsWith("!") ? text.slice(1).trim() : "";
	return command === "" ? undefined : { from: "command", command };
}

/** A reference as it may be shown: a command may have a secret among its words. */
export function shownReference(reference: Reference): string {
	return reference.from === "variable" ? `(from $${reference.name})` : "(from a command)";
}

type Environment = Readonly<Record<string, string | undefined>>;

const LIMIT_MS = 10_000;
const MOST_BYTES = 64 * 1024;
const USABLE = /^[\x21-\x7e]{1,4096}$/;

/** What a command of the shell prints. Throws an error that says what went wrong, without a word of what it printed. */
function outputOf(command: string, env: Environment, limitMs: number): Promise<string> {
	return new Promise((resolve, reject) => {
		// A group of its own, so that all that it starts ends with it.
		const grouped = process.platform !== "win32";
		const child = spawn(command, {
			shell: true,
			env: { ...env },
			stdio: ["ignore", "pipe", "ignore"],
			detached: grouped,
			windowsHide: true,
		});
		const chunks: Buffer[] = [];
		let bytes = 0;
		function end(why: string): void {
			clearTimeout(timer);
			child.stdout.destroy();
			reject(new Error(why));
			if (child.pid === undefined || child.exitCode !== null) return;
			try {
				if (grouped) process.kill(-child.pid, "SIGKILL");
				else child.kill();
			} catch (error) {
				// It ended by itself in this moment.
				if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
			}
		}
		const timer = setTimeout(() => end(`it took longer than ${limitMs / 1000} s`), limitMs);
		child.stdout.on("data", (chunk: Buffer) => {
			bytes += chunk.length;
			if (bytes > MOST_BYTES) end("it printed too much");
			else chunks.push(chunk);
		});
		child.on("error", () => end("it could not be started"));
		child.on("close", (code, signal) => {
			clearTimeout(timer);
			if (code === 0) resolve(Buffer.concat(chunks).toString("utf8"));
			else reject(new Error(code === null ? `it was ended by ${signal}` : `it ended with exit code ${code}`));
		});
	});
}

/** The secret that is meant. Throws an error with one line that says why there is none. */
export async function lookUp(reference: Reference, env: Environment, limitMs = LIMIT_MS): Promise<string> {
	const fromVariable = reference.from === "variable";
	const text = fromVariable ? env[reference.name] : await outputOf(reference.command, env, limitMs);
	const secret = text?.trim() ?? "";
	if (secret === "") throw new Error(fromVariable ? `the variable ${reference.name} is not set` : "it printed nothing");
	if (!USABLE.test(secret)) throw new Error("it gives more than one word of visible characters");
	return secret;
}

/** A reference that led to nothing. */
export interface Unresolved {
	/** Path of the key. */
	readonly at: string;
	readonly found: string;
	/** Completes "expected …". */
	readonly expected: string;
}

/** `config` with every reference replaced by what it leads to; what leads nowhere is reported and counts as not set. */
export async function withSecrets(
	config: Config,
	env: Environment,
	report: (fault: Unresolved) => void,
): Promise<Config> {
	async function one(at: string, text: string | undefined): Promise<string | undefined> {
		const reference = text === undefined ? undefined : referenceIn(text);
		if (reference === undefined) return text;
		try {
			return await lookUp(reference, env);
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			const expected = `${reference.from === "command" ? "a command that prints" : "a variable with"} the token; ${why}`;
			report({ at, found: shownReference(reference), expected });
			return undefined;
		}
	}
	async function each<T>(
		map: Readonly<Record<string, T>>,
		resolved: (value: T, name: string) => Promise<T | undefined>,
	): Promise<Readonly<Record<string, T>>> {
		const found = await Promise.all(
			Object.entries(map).map(async ([name, value]) => [name, await resolved(value, name)] as const),
		);
		const values: Record<string, T> = Object.create(null);
		for (const [name, value] of found) if (value !== undefined) values[name] = value;
		return values;
	}

	const [sharedToken = "", pushSecret = "", peerTokens, peers, gateways] = await Promise.all([
		one("server.sharedToken", config.sharedToken),
		one("server.pushSecret", config.pushSecret),
		each(config.peerTokens, (token, name) => one(`server.peerTokens.${name}`, token)),
		each(config.peers, async ({ token: written, ...peer }, name) => {
			const token = await one(`peers.${name}.auth.token`, written);
			return token === undefined ? peer : { ...peer, token };
		}),
		each(config.gateways, async ({ token: written, upstreamToken: upstreamWritten, ...gateway }, name) => {
			const [token, upstreamToken] = await Promise.all([
				one(`discovery.gateways.${name}.token`, written),
				one(`discovery.gateways.${name}.upstreamToken`, upstreamWritten),
			]);
			return {
				...gateway,
				...(token === undefined ? {} : { token }),
				...(upstreamToken === undefined ? {} : { upstreamToken }),
			};
		}),
	]);
	return { ...config, sharedToken, pushSecret, peerTokens, peers, gateways };
}
