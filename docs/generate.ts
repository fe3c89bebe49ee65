/**
 * `npm run docs`: writes the tables between `<!-- table:NAME -->` and `<!-- /table -->` in README.md and docs/*.md from
 * the rows that the code itself uses.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { configTable, envTable, table } from "../src/config/docs.ts";
import { COMMANDS, type CommandName, usage } from "../src/pi/commands.ts";
import { TOOLS } from "../src/pi/tools.ts";
import { ERRORS } from "../src/protocol/errors.ts";
import { JS_PAIRS, type Pair, PYTHON_PAIRS, TRIALS } from "../test/interop/pairs.ts";

function toolsTable(): string {
	const body = Object.values(TOOLS).map((tool) => [`\`${tool.signature}\``, tool.summary]);
	return table(["Tool", "What it does"], body);
}

function commandsTable(): string {
	const names = Object.keys(COMMANDS) as CommandName[];
	return table(
		["Command", "What it does"],
		names.map((name) => [`\`${usage(name)}\``, COMMANDS[name].summary]),
	);
}

function errorsTable(): string {
	const body = Object.entries(ERRORS).map(([name, row]) => [
		`\`${name}\``,
		String(row.jsonrpc),
		String(row.http),
		row.message,
	]);
	return table(["Error", "JSON-RPC", "HTTP", "Meaning"], body);
}

/** One row for each thing tried, one column for each pair. `them` or `us`: whose server is called. */
function pairsTable(server: Pair["server"]): string {
	const pairs = [...JS_PAIRS, ...PYTHON_PAIRS].filter((pair) => pair.server === server);
	const heads = pairs.map(({ peer, version, binding }) => `${peer}, ${version}, ${binding}`);
	return table(
		["", ...heads],
		TRIALS.map((trial) => [`\`${trial}\``, ...pairs.map(({ lacks }) => (lacks?.[trial] ? "–" : "✓"))]),
	);
}

/** Every table that a document can ask for. */
export const TABLES: { readonly [name: string]: () => string } = {
	keys: configTable,
	env: envTable,
	tools: toolsTable,
	commands: commandsTable,
	errors: errorsTable,
	callers: () => pairsTable("us"),
	peers: () => pairsTable("them"),
};

const MARKED = /(<!-- table:([a-z-]+) -->\n)(?:(?!<!--)[\s\S])*?(<!-- \/table -->)/g;

/** The names of the tables that a text asks for, in order. */
export function tablesIn(text: string): string[] {
	return [...text.matchAll(/<!-- table:([a-z-]+) -->/g)].map(([, name]) => name ?? "");
}

/** The text with every table as it should be. Throws when it asks for one that does not exist. */
export function withTables(text: string): string {
	return text.replace(MARKED, (_, open: string, name: string, close: string) => {
		const make = TABLES[name];
		if (!make) throw new Error(`there is no table "${name}"`);
		return `${open}\n${make()}\n\n${close}`;
	});
}

/** The documents that may have tables. */
export function documents(): URL[] {
	const root = new URL("../", import.meta.url);
	const guides = readdirSync(new URL("docs/", root)).filter((name) => name.endsWith(".md"));
	return [new URL("README.md", root), ...guides.map((name) => new URL(`docs/${name}`, root))];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	for (const document of documents()) {
		const before = readFileSync(document, "utf8");
		const after = withTables(before);
		if (after === before) continue;
		writeFileSync(document, after);
		process.stdout.write(`wrote the tables of ${fileURLToPath(document)}\n`);
	}
}
