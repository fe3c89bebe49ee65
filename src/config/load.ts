/** From layers to one configuration: merged key by key, every value with its origin, every mistake with a word about it. */
import { settle } from "./checks.ts";
import { type Fault, found, type Report } from "./key-kinds.ts";
import { type Config, type KeyName, ROWS, type Values } from "./keys.ts";
import { type Layer, type LayerName, type LayersInput, type Raw, readLayers, userSettings } from "./layers.ts";
import { fallbackOf, type Row } from "./row.ts";
import { type Unresolved, withSecrets } from "./secret-refs.ts";
import { originText, showConfig } from "./show.ts";

/** Where a value comes from. */
export interface Origin {
	readonly layer: LayerName;
	/** The file, unless the layer has none. */
	readonly file?: string;
	/** The variable, if it came from one. */
	readonly name?: string;
}

/** Something about the configuration that its owner should know. */
export interface Problem {
	/** Path of the file, or `environment`. */
	readonly file: string;
	/** Path of the key such as `server.port` or `peers.alice.url`, or a variable's name when no key is meant. */
	readonly key: string;
	/** What stands there: one short line, secrets masked. Absent when there is nothing to show. */
	readonly value?: string;
	/** Completes "expected …". */
	readonly expected: string;
	/**
	 * `hint`: nothing was lost. `warning`: something written there has no effect. `error`: a value that keeps callers
	 * out has no effect, so a server would stand more open than was meant and should not start.
	 */
	readonly level: "hint" | "warning" | "error";
	/** All of it in one sentence. */
	readonly text: string;
}

export interface Loaded {
	readonly config: Config;
	/** Every value by key, those of the single gateway included, as the settings panel shows them. */
	readonly values: Values;
	readonly origins: ReadonlyMap<KeyName, Origin>;
	readonly problems: readonly Problem[];
	/** Every value with its origin, secrets masked, then the problems: plain text for `/a2a-config show`. */
	show(): string;
}

export interface LoadInput extends LayersInput {
	/** Name of this machine, the default of `server.agentName`. */
	readonly hostname: string;
	/** False: secrets stay references; nothing is run for them. */
	readonly secrets?: boolean;
}

const ENVIRONMENT = "environment";
const DEFAULT: Origin = { layer: "default" };

/** Reads the configuration. Never throws: what cannot be read or used is a problem, and the next weaker layer counts. */
export async function loadConfig(input: LoadInput): Promise<Loaded> {
	const layers = await readLayers(input);
	const problems: Problem[] = [];
	for (const layer of layers)
		for (const { at, level, found: value, expected } of layer.remarks)
			problems.push(problem({ file: layer.file ?? ENVIRONMENT, key: at, level, expected, value }));

	const values: { [key: string]: unknown } = {};
	const origins = new Map<KeyName, Origin>();
	/** Origins of the entries of maps, by path: layers may each have given some. */
	const entryOrigins = new Map<string, Origin>();
	for (const [key, row] of ROWS) {
		const merged = merge(key, row, fallbackOf(row, input), layers, input.agentDir, problems);
		values[key] = merged.value;
		origins.set(key, merged.origin);
		for (const [name, origin] of merged.entries) entryOrigins.set(`${row.path}.${name}`, origin);
	}
	const originAt = (path: string): Origin => {
		const key = ROWS.find(([, row]) => isAt(path, row.path))?.[0];
		return (key && origins.get(key)) ?? DEFAULT;
	};
	const written = settle(values as Values, input, ({ at, also, found: value, ...finding }) => {
		const origin = [at, also ?? at].map(originAt).find((each) => each !== DEFAULT) ?? DEFAULT;
		problems.push(problem({ file: origin.file ?? ENVIRONMENT, key: at, name: origin.name, value, ...finding }));
	});
	for (const name of Object.keys(written.gateways))
		if (!entryOrigins.has(`discovery.gateways.${name}`))
			entryOrigins.set(`discovery.gateways.${name}`, originAt("discovery.gateway.url"));
	const unresolved = ({ at, found: value, expected }: Unresolved) => {
		const origin = entryOrigins.get(at) ?? originAt(at);
		const level = ROWS.some(([, { path, guards }]) => guards && isAt(at, path)) ? "error" : "warning";
		problems.push(problem({ file: origin.file ?? ENVIRONMENT, key: at, name: origin.name, level, value, expected }));
	};
	const config = input.secrets === false ? written : await withSecrets(written, input.env, unresolved);
	const shown = { ...values, ...written };
	return {
		config,
		values: values as Values,
		origins,
		problems,
		show: () => showConfig(shown, (path) => entryOrigins.get(path) ?? originAt(path), problems),
	};
}

const isAt = (path: string, key: string): boolean => path === key || path.startsWith(`${key}.`);

interface Merged {
	readonly value: unknown;
	readonly origin: Origin;
	/** Of a map: where each entry comes from. */
	readonly entries: ReadonlyMap<string, Origin>;
}

/** One key through all layers. */
function merge(
	key: KeyName,
	row: Row<unknown>,
	fallback: unknown,
	layers: readonly Layer[],
	agentDir: string,
	problems: Problem[],
): Merged {
	let value = row.kind.entry ? Object.assign(Object.create(null), fallback) : fallback;
	let origin = DEFAULT;
	const entries = new Map<string, Origin>();
	const used = () => `${row.kind.show(value)} (${originText(origin)}) is used`;
	const faults: Parts[] = [];
	for (const layer of layers) {
		const raw = layer.values.get(key);
		if (raw === undefined || raw.value === null) continue;
		const file = layer.file ?? ENVIRONMENT;
		const base = { file, key: row.path, name: raw.variable } as const;
		if (layer.name === "project" && row.scope === "operator") {
			faults.push(refused(row, raw, base.file, agentDir));
			continue;
		}
		const read = row.kind.read(raw.value, faultsTo(row, base, faults));
		if (read === undefined) continue;
		const rank = (of: unknown) => row.kind.rank?.(of) ?? Number.NaN;
		if (layer.name === "project" && !(rank(read) <= rank(value))) {
			const most = `at most ${row.kind.show(value)}: in a repository's file ${row.why}`;
			faults.push({ ...base, level: "warning", value: found(raw.value, row.secret), expected: most });
			continue;
		}
		origin = originOf(layer, raw);
		if (row.kind.entry) {
			Object.assign(value as object, read);
			for (const name of Object.keys(read as object)) entries.set(name, origin);
		} else value = read;
	}
	// What is used instead is known only now. Of an entry or element it is plain: it is not there.
	for (const fault of faults)
		problems.push(problem(fault.key === row.path && !row.kind.entry ? { ...fault, instead: used() } : fault));
	return { value, origin, entries };
}

function originOf(layer: Layer, raw: Raw): Origin {
	return {
		layer: layer.name,
		...(layer.file ? { file: layer.file } : {}),
		...(raw.variable ? { name: raw.variable } : {}),
	};
}

interface Where {
	readonly file: string;
	readonly key: string;
	readonly name: string | undefined;
}

function faultsTo(row: Row<unknown>, where: Where, faults: Parts[]): Report {
	return ({ at, found: value, expected, hint }: Fault) => {
		const key = at ? `${where.key}.${at}` : where.key;
		const level = hint ? "hint" : row.guards ? "error" : "warning";
		faults.push({ ...where, key, level, value, expected });
	};
}

function refused(row: Row<unknown>, raw: Raw, file: string, agentDir: string): Parts {
	const expected = `this key in ${userSettings(agentDir)} only: a repository may not set it, because ${row.why}`;
	return { file, key: row.path, level: "warning", value: found(raw.value, row.secret), expected };
}

/** A problem without its sentence. */
interface Parts {
	readonly file: string;
	readonly key: string;
	/** The variable. */
	readonly name?: string | undefined;
	readonly level: Problem["level"];
	readonly value?: string | undefined;
	readonly expected: string;
	/** What counts in place of the bad value. */
	readonly instead?: string;
}

/** Adds the sentence. */
function problem({ file, key, name, level, value, expected, instead }: Parts): Problem {
	const subject = name ? `${name} (${key})` : key;
	// What a remark says of a whole file has its own verb.
	if (!subject) return { file, key, expected, level, text: `${file} ${value}, expected ${expected}` };
	const is = value !== undefined ? `is ${value}` : level === "hint" ? "is not known" : "is missing";
	const text = `${file}: ${subject} ${is}, expected ${expected}${instead ? `; ${instead}` : ""}`;
	return { file, key, ...(value === undefined ? {} : { value }), expected, level, text };
}
