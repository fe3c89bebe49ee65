#!/usr/bin/env node
/** `a2a-audit`: checks that the audit log is whole, and shows lines of it. */
import { realpathSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadConfig } from "../config/load.ts";
import { unchained, verifier } from "../guard/audit-chain.ts";
import { oneLine } from "../lib/text.ts";
import { isObject } from "../protocol/json.ts";
import { EXIT, Exit, read, run, type Terminal } from "./args.ts";
import { linesOf, logFiles } from "./audit-files.ts";

const USAGE = `a2a-audit verify [file]
a2a-audit tail [options] [file]

Checks that nobody has altered, removed or inserted a line of the audit log, or shows its newest lines.

  [file]           the log (default: a2a_audit.jsonl in Pi's folder); its rotated files .1, .2, … are read with it

  --lines N        how many lines tail shows (default: 20; 0: all)
  --peer NAME      only lines about this peer or caller
  --errors         only lines about something that failed or was refused
  --since TIME     only lines from then on: 2026-01-31, 2026-01-31T12:00Z, or 30m, 12h, 7d ago
  --json           prints JSON, one object on a line
  --help           prints this

Exit codes: 0 the log is whole; 1 it is not, and the first place is named; 2 wrong arguments, or no such log.`;

const OPTIONS = {
	lines: { type: "string" },
	peer: { type: "string" },
	errors: { type: "boolean" },
	since: { type: "string" },
	json: { type: "boolean" },
	help: { type: "boolean", short: "h" },
} as const;

/** The log that is meant, and how many rotated files are kept of it. */
async function logOf(given: string | undefined, { env, cwd }: Terminal): Promise<{ path: string; keep: number }> {
	const agentDir = env.PI_CODING_AGENT_DIR?.replace(/^~(?=\/|$)/, homedir()) || join(homedir(), ".pi", "agent");
	const asked = { agentDir, cwd, env: { ...env }, projectTrusted: false, hostname: hostname(), secrets: false };
	const { config } = await loadConfig(asked);
	const path = given === undefined ? join(agentDir, "a2a_audit.jsonl") : resolve(cwd, given);
	return { path, keep: config.auditKeep };
}

async function check(files: readonly string[], keep: number, json: boolean, { out }: Terminal): Promise<number> {
	// As long as fewer are there than are kept, nothing was rotated away.
	const verifying = verifier(files.length <= keep);
	for await (const { file, number, text } of linesOf(files)) verifying.take(file, number, text);
	const verdict = verifying.verdict();
	const { lines, writers, older, torn, broken } = verdict;
	if (json) out(JSON.stringify({ ...verdict, whole: broken === undefined, files: files.length }));
	else {
		const count = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`;
		const more = [
			older > 0 ? `${count(older, "line")} from before there was a chain` : "",
			torn > 0 ? `${count(torn, "line")} cut short by a crash` : "",
		].filter(Boolean);
		out(
			[`${count(lines, "line")} by ${count(writers, "writer")} in ${count(files.length, "file")}`, ...more].join(", "),
		);
		out(broken ? `${broken.file}:${broken.line}: ${broken.why}` : "whole");
	}
	return broken ? EXIT.failed : EXIT.ok;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds since the epoch. Throws an `Exit`. */
function timeOf(text: string, now: number): number {
	const [, number, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
	const at = number === undefined ? Date.parse(text) : now - Number(number) * (UNITS[unit] ?? 0);
	if (Number.isNaN(at)) throw new Exit(EXIT.usage, `--since ${oneLine(text, 40)}: expected a date, or 30m, 12h, 7d`);
	return at;
}

interface Filter {
	readonly peer?: string | undefined;
	readonly errors?: boolean | undefined;
	readonly since: number;
}

type Fields = Readonly<Record<string, unknown>>;

function passes(entry: Fields, { peer, errors, since }: Filter): boolean {
	const { time, caller, state } = entry;
	if (peer !== undefined && entry.peer !== peer && caller !== peer && caller !== `peer:${peer}`) return false;
	const failed = entry.error !== undefined || /FAILED|REJECTED/.test(String(state));
	return (!errors || failed) && !(Date.parse(String(time)) < since);
}

function textOf(entry: Fields): string {
	const { time, direction, peer, operation, state, taskId, durationMs, error, preview } = entry;
	const fields = [
		time,
		direction === "out" ? "→" : "←",
		peer,
		operation,
		state,
		taskId,
		durationMs === undefined ? undefined : `${durationMs} ms`,
		error === undefined ? undefined : `error: ${error}`,
		preview,
	];
	return oneLine(fields.filter((field) => field !== undefined).join("  "), 1_000);
}

async function show(
	files: readonly string[],
	filter: Filter,
	most: number,
	json: boolean,
	{ out }: Terminal,
): Promise<number> {
	const put = (entry: object) => out(json ? JSON.stringify(entry) : textOf(entry as Fields));
	let newest: object[] = [];
	for await (const { text } of linesOf(files)) {
		const entry = parsed(text);
		if (!entry || !passes(entry as Fields, filter)) continue;
		if (most === 0) put(entry);
		else newest.push(entry);
		if (newest.length > 2 * most) newest = newest.slice(-most);
	}
	for (const entry of newest.slice(-most || newest.length)) put(entry);
	return EXIT.ok;
}

/** Nothing for a line that a crash cut short. */
function parsed(text: string): object | undefined {
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) ? unchained(value) : undefined;
	} catch {
		return undefined;
	}
}

/** The command. Gives its exit code; throws an `Exit`. */
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
	const { values, positionals } = read(argv, OPTIONS, USAGE);
	if (values.help) {
		terminal.out(USAGE);
		return EXIT.ok;
	}
	const [command, given, ...rest] = positionals;
	if ((command !== "verify" && command !== "tail") || rest.length > 0) throw new Exit(EXIT.usage, USAGE);
	const { lines = "20", peer, errors, since, json = false } = values;
	if (!/^\d{1,7}$/.test(lines)) throw new Exit(EXIT.usage, `--lines ${oneLine(lines, 40)}: expected a whole number`);
	const filter = { peer, errors, since: since === undefined ? Number.NEGATIVE_INFINITY : timeOf(since, Date.now()) };
	const { path, keep } = await logOf(given, terminal);
	const files = await logFiles(path);
	if (files.length === 0) throw new Exit(EXIT.usage, `There is no log at ${path}`);
	return command === "verify" ? check(files, keep, json, terminal) : show(files, filter, Number(lines), json, terminal);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await run(main);
