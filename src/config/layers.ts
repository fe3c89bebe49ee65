/** Where values come from, weakest first: settings files, `.env.local`, the environment. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { errorCode } from "../lib/errno.ts";
import { oneLine } from "../lib/text.ts";
import { readEnvFile } from "./env-file.ts";
import { dig, isObject, own, parseJson } from "./json.ts";
import { found } from "./key-kinds.ts";
import { type KeyName, ROWS } from "./keys.ts";
import { nearest, strangers } from "./nearest.ts";

export type LayerName = "default" | "user" | "project" | "env-file" | "env";

/** A value as it was written; what it means is the row's business. */
export interface Raw {
	readonly value: unknown;
	/** The variable that holds it. */
	readonly variable?: string;
}

export interface Layer {
	readonly name: LayerName;
	/** The file; the environment has none. */
	readonly file?: string;
	readonly values: ReadonlyMap<KeyName, Raw>;
	/** What is wrong with the layer itself. */
	readonly remarks: readonly Remark[];
}

/** Something about a layer that belongs to no key. */
export interface Remark {
	/** Place below `a2a`, or the name of a variable; empty for the whole file. */
	readonly at: string;
	readonly level: "warning" | "hint";
	/** What stands there; of a whole file with its verb. */
	readonly found?: string;
	readonly expected: string;
}

export interface LayersInput {
	/** The host's own folder, such as `~/.pi/agent`. */
	readonly agentDir: string;
	readonly cwd: string;
	readonly env: Readonly<Record<string, string | undefined>>;
	/** Whether the host trusts the repository in `cwd`; without it no file of the repository is read. */
	readonly projectTrusted: boolean;
}

const PATHS = ROWS.map(([, row]) => row.path);
/** `server`, `discovery`, `discovery.local`, … */
const GROUPS = [
	...new Set(PATHS.flatMap((path) => path.split(".").map((_, at, words) => words.slice(0, at).join(".")))),
];
const VARIABLES = ROWS.flatMap(([, row]) => row.env ?? []);
const NO_KEY = "a key that the documentation names";
/** A file full of other things should not fill the screen. */
const MOST_STRANGERS = 20;
/** Settings are kilobytes; a megabyte is something else. */
const LARGEST = 1024 * 1024;

/** The settings file of the user: the one that edits go to. */
export const userSettings = (agentDir: string): string => resolve(agentDir, "settings.json");

/** All layers but the defaults, weakest first. Never throws: a file that cannot be read is a remark. */
export async function readLayers(input: LayersInput): Promise<readonly Layer[]> {
	const user = userSettings(input.agentDir);
	const project = resolve(input.cwd, ".pi", "settings.json");
	const local = resolve(input.agentDir, ".env.local");
	const [fromUser, fromProject, fromLocal] = await Promise.all([
		settingsLayer("user", user),
		// Where the agent's folder is the project's own `.pi`, the file has been read already.
		input.projectTrusted && project !== user ? settingsLayer("project", project) : undefined,
		envFileLayer(local),
	]);
	return [fromUser, ...(fromProject ? [fromProject] : []), fromLocal, envLayer(input.env)];
}

/** The text of a small regular file; `undefined` when there is none. */
async function readSmall(path: string): Promise<string | undefined> {
	try {
		// Opening a named pipe would wait for a writer.
		const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
		try {
			const info = await file.stat();
			if (!info.isFile()) throw new Error("it is not a file");
			if (info.size > LARGEST) throw new Error("it is larger than a megabyte");
			return (await file.readFile("utf8")).replace(/^\ufeff/, "");
		} finally {
			await file.close();
		}
	} catch (error) {
		if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return undefined;
		throw error;
	}
}

function unreadable(error: unknown): Remark {
	const reason = errorCode(error) ?? (error instanceof Error ? error.message : String(error));
	return { at: "", level: "warning", found: `is not readable (${reason})`, expected: "a file that can be read" };
}

async function settingsLayer(name: "user" | "project", file: string): Promise<Layer> {
	const remarks: Remark[] = [];
	const values = new Map<KeyName, Raw>();
	try {
		const block = a2aBlock((await readSmall(file)) ?? "", remarks);
		for (const stranger of strangers(block, PATHS).slice(0, MOST_STRANGERS)) {
			const near = nearest(stranger.path, PATHS) ?? nearest(stranger.path, GROUPS);
			const at = oneLine(stranger.path, 80);
			if (stranger.group)
				remarks.push({
					at,
					level: "warning",
					found: found(stranger.value, true),
					expected: "an object",
				});
			// The value of a misspelled key may be a token: it is not shown.
			else remarks.push({ at, level: "hint", expected: near ?? NO_KEY });
		}
		for (const [key, row] of ROWS) {
			const value = dig(block, row.path.split("."));
			if (value !== undefined) values.set(key, { value });
		}
	} catch (error) {
		remarks.push(unreadable(error));
	}
	return { name, file, values, remarks };
}

/** The `a2a` object of a settings file. The host treats an empty file as one without settings. */
function a2aBlock(text: string, remarks: Remark[]): object {
	const none = {};
	if (text.trim() === "") return none;
	const settings = parseSettings(text, remarks);
	if (settings === undefined) return none;
	if (!isObject(settings)) {
		remarks.push({ at: "", level: "warning", found: `is ${found(settings, true)}`, expected: "an object" });
		return none;
	}
	const block = own(settings, "a2a");
	if (isObject(block)) return block;
	if (block !== undefined && block !== null)
		remarks.push({ at: "a2a", level: "warning", found: found(block, true), expected: "an object" });
	return none;
}

/** The host reads strict JSON; comments and trailing commas are forgiven here, so that the message can say so. */
function parseSettings(text: string, remarks: Remark[]): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return parseRelaxed(text, remarks);
	}
}

function parseRelaxed(text: string, remarks: Remark[]): unknown {
	try {
		const { value } = parseJson(text);
		remarks.push({
			at: "",
			level: "hint",
			found: "has comments or trailing commas",
			expected: "plain JSON: Pi itself does not read this file",
		});
		return value;
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		remarks.push({ at: "", level: "warning", found: `is not JSON (${reason})`, expected: "a JSON object" });
		return undefined;
	}
}

async function envFileLayer(file: string): Promise<Layer> {
	try {
		const { variables, faults } = readEnvFile((await readSmall(file)) ?? "");
		const layer = variableLayer("env-file", variables);
		return { ...layer, file, remarks: [...faults.map(lineRemark), ...layer.remarks] };
	} catch (error) {
		return { name: "env-file", file, values: new Map(), remarks: [unreadable(error)] };
	}
}

const lineRemark = (fault: { readonly line: number; readonly name: string }): Remark => ({
	at: fault.name,
	level: "warning",
	found: `line ${fault.line}`,
	expected: "NAME=value, quotes closed",
});

function envLayer(env: LayersInput["env"]): Layer {
	const ours = Object.entries(env).filter(([name]) => name.startsWith("A2A_"));
	return variableLayer("env", new Map(ours.map(([name, value]) => [name, value ?? ""])));
}

function variableLayer(name: "env-file" | "env", variables: ReadonlyMap<string, string>): Layer {
	const values = new Map<KeyName, Raw>();
	for (const [key, row] of ROWS) {
		const text = row.env === undefined ? "" : (variables.get(row.env) ?? "");
		// An empty variable is one that is not set, as in a shell.
		if (row.env !== undefined && text.trim() !== "")
			values.set(key, { value: row.kind.parse(row.secret ? text : text.trim()), variable: row.env });
	}
	// Other programs have variables of this prefix as well: only a near miss is worth a word.
	const unknown = [...variables.keys()].filter((variable) => !VARIABLES.includes(variable));
	const remarks = unknown.flatMap((variable): Remark[] => {
		const near = nearest(variable, VARIABLES);
		return near ? [{ at: variable, level: "hint", expected: near }] : [];
	});
	return { name, values, remarks };
}
