import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import ts from "typescript";

/**
 * Who may import whom: folders, or single files. `type:` allows types only. Files directly in `src` are `app`, but for
 * `index.ts`. A folder may always import itself, except that one binding may not import another.
 */
const MAY_IMPORT: { readonly [part: string]: readonly string[] } = {
	protocol: [],
	// The two casts of ids live beside the types, and ids are minted in lib.
	lib: ["protocol/types.ts"],
	config: ["type:protocol", "lib"],
	tasks: ["protocol", "lib"],
	guard: ["protocol", "lib"],
	agent: ["protocol", "lib", "tasks", "guard"],
	bindings: ["protocol", "lib", "guard", "bindings/binding.ts"],
	peers: ["protocol", "lib", "guard", "bindings"],
	app: ["protocol", "lib", "config", "tasks", "guard", "agent", "bindings", "peers"],
	// A runner frames what a peer wrote before a model reads it, scrubs why a run failed and keeps to the policy for the
	// caller: all are the guard's.
	pi: [
		...["app", "config", "protocol", "lib", "type:agent", "type:tasks", "type:peers"],
		...["guard/inbound.ts", "guard/redact.ts", "guard/peer-policy.ts"],
	],
	cli: ["config", "protocol", "lib", "guard/audit-chain.ts", "bindings/mailbox"],
	index: ["pi"],
};

/** What a binding may take from another: the gateway's channel delivers HTTP requests. */
const BETWEEN_BINDINGS: { readonly [binding: string]: readonly string[] } = {
	gateway: ["bindings/http/handler.ts", "bindings/http/fetch.ts"],
};

/** The modules of Node that a folder may import; folders that are not here may import any. */
const NODE: { readonly [part: string]: readonly string[] } = {
	protocol: [],
	tasks: [],
	agent: [],
	guard: ["crypto", "net", "dns", "dns/promises"],
	index: [],
};

const HOST = /^(@mariozechner\/pi-[a-z-]+|@sinclair\/typebox)$/;

interface Import {
	readonly from: string;
	readonly types: boolean;
	readonly dynamic: boolean;
}

/** A file of `src`, taken apart. */
interface File {
	/** Such as `lib/files.ts`. */
	readonly name: string;
	readonly part: string;
	readonly lines: number;
	readonly imports: readonly Import[];
	/** What habits forbid, as `line: what`. */
	readonly found: { readonly [what in Forbidden]: readonly number[] };
	readonly text: string;
}

const FORBIDDEN = [
	"any",
	"non-null assertion",
	"module-level let",
	"console",
	"fetch",
	"empty catch",
	"cast to an id",
	"@ts-ignore",
	"import.meta.dirname",
	"enum, namespace or parameter property",
] as const;
type Forbidden = (typeof FORBIDDEN)[number];

const src = new URL("../src/", import.meta.url);

function partOf(name: string): string {
	if (name === "index.ts") return "index";
	return name.includes("/") ? name.slice(0, name.indexOf("/")) : "app";
}

function read(name: string, text: string): File {
	const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
	const imports: Import[] = [];
	const found = Object.fromEntries(FORBIDDEN.map((what) => [what, [] as number[]])) as Record<Forbidden, number[]>;
	const note = (what: Forbidden, node: ts.Node) =>
		found[what].push(source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1);

	function visit(node: ts.Node): void {
		if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
			const { moduleSpecifier: specifier } = node;
			const clause = ts.isImportDeclaration(node) ? node.importClause : undefined;
			const named = ts.isImportDeclaration(node) ? clause?.namedBindings : node.exportClause;
			const only = ts.isImportDeclaration(node) ? clause?.isTypeOnly === true : node.isTypeOnly;
			const each =
				named && (ts.isNamedImports(named) || ts.isNamedExports(named))
					? named.elements.length > 0 && named.elements.every((element) => element.isTypeOnly) && !clause?.name
					: false;
			if (specifier && ts.isStringLiteral(specifier))
				imports.push({ from: specifier.text, types: only || each, dynamic: false });
		}
		if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal))
			imports.push({ from: node.argument.literal.text, types: true, dynamic: false });
		if (ts.isCallExpression(node)) {
			const { expression, arguments: given } = node;
			if (expression.kind === ts.SyntaxKind.ImportKeyword) {
				const [specifier] = given;
				imports.push({
					from: specifier && ts.isStringLiteral(specifier) ? specifier.text : "(computed)",
					types: false,
					dynamic: true,
				});
			}
			if (/^(globalThis\.)?fetch$/.test(expression.getText(source))) note("fetch", node);
		}
		if (node.kind === ts.SyntaxKind.AnyKeyword) note("any", node);
		if (ts.isNonNullExpression(node)) note("non-null assertion", node);
		if (ts.isVariableStatement(node) && node.parent === source && !(node.declarationList.flags & ts.NodeFlags.Const))
			note("module-level let", node);
		if (ts.isPropertyAccessExpression(node)) {
			if (/^(globalThis\.)?console$/.test(node.expression.getText(source))) note("console", node);
			if (/^import\.meta\.(dirname|filename)$/.test(node.getText(source))) note("import.meta.dirname", node);
		}
		if (ts.isCatchClause(node) && node.block.statements.length === 0) note("empty catch", node);
		if (ts.isAsExpression(node) && /^(TaskId|ContextId|MailboxId)$/.test(node.type.getText(source)))
			note("cast to an id", node);
		const property = ts.isParameter(node) && ts.isParameterPropertyDeclaration(node, node.parent);
		if (ts.isEnumDeclaration(node) || ts.isModuleDeclaration(node) || property)
			note("enum, namespace or parameter property", node);
		ts.forEachChild(node, visit);
	}
	visit(source);
	for (const match of text.matchAll(/@ts-(ignore|nocheck|expect-error)|biome-ignore/g))
		found["@ts-ignore"].push(text.slice(0, match.index).split("\n").length);
	return { name, part: partOf(name), lines: text.split("\n").length - 1, imports, found, text };
}

/** The file of `src` that a relative import names. */
const target = (file: File, from: string): string => posix.normalize(posix.join(posix.dirname(file.name), from));

/** Why `file` may not import `each`, or nothing. */
function offence(file: File, each: Import): string | undefined {
	const { part } = file;
	if (each.from.startsWith("node:")) {
		const allowed = NODE[part];
		return allowed && !allowed.includes(each.from.slice(5)) ? "no such module of Node here" : undefined;
	}
	if (!each.from.startsWith(".")) {
		if (HOST.test(each.from)) return part === "pi" || part === "index" ? undefined : "only pi names the host";
		if (each.from === "bonjour-service") return file.name === "peers/sources/mdns.ts" ? undefined : "only mdns.ts";
		return "no package";
	}
	const to = target(file, each.from);
	if (to.startsWith("..")) return "outside of src";
	if (!to.endsWith(".ts")) return "must be written with .ts";
	const into = partOf(to);
	if (into === part && part !== "bindings") return undefined;
	const binding = (name: string) => /^bindings\/([^/]+)\//.exec(name)?.[1];
	if (into === "bindings" && part === "bindings") {
		const own = binding(file.name);
		if (own === undefined || binding(to) === own || binding(to) === undefined) return undefined;
		return BETWEEN_BINDINGS[own]?.includes(to) ? undefined : "one binding may not import another";
	}
	const allows = (entry: string) => {
		const types = entry.startsWith("type:");
		const name = types ? entry.slice(5) : entry;
		return (!types || each.types) && (name === into || name === to || to.startsWith(`${name}/`));
	};
	return MAY_IMPORT[part]?.some(allows)
		? undefined
		: `${part} may import only ${MAY_IMPORT[part]?.join(", ") || "nothing"}`;
}

/** The first circle of imports that exist at run time, as names. */
function circle(files: readonly File[]): string[] | undefined {
	const byName = new Map(files.map((file) => [file.name, file]));
	const done = new Set<string>();
	function walk(name: string, way: readonly string[]): string[] | undefined {
		if (way.includes(name)) return [...way.slice(way.indexOf(name)), name];
		const file = byName.get(name);
		if (!file || done.has(name)) return undefined;
		for (const each of file.imports) {
			if (each.types || each.dynamic || !each.from.startsWith(".")) continue;
			const found = walk(target(file, each.from), [...way, name]);
			if (found) return found;
		}
		done.add(name);
		return undefined;
	}
	for (const file of files) {
		const found = walk(file.name, []);
		if (found) return found;
	}
	return undefined;
}

describe("the architecture", () => {
	const files = readdirSync(src, { recursive: true, encoding: "utf8" })
		.map((name) => name.replaceAll("\\", "/"))
		.filter((name) => name.endsWith(".ts"))
		.map((name) => read(name, readFileSync(new URL(name, src), "utf8")));

	/** Where the habit is broken, except in files that `allowed` lets through. */
	const offenders = (what: Forbidden, allowed: (file: File) => boolean = () => false) =>
		files.filter((file) => !allowed(file)).flatMap((file) => file.found[what].map((line) => `${file.name}:${line}`));

	it("every folder is known", () => {
		const unknown = files.filter((file) => MAY_IMPORT[file.part] === undefined);
		assert.deepEqual(
			unknown.map((file) => file.name),
			[],
		);
	});

	it("imports go one way", () => {
		const wrong = files.flatMap((file) =>
			file.imports.flatMap((each) => {
				const why = offence(file, each);
				return why ? [`${file.name} imports ${each.from}: ${why}`] : [];
			}),
		);
		assert.deepEqual(wrong, []);
	});

	it("no file imports itself by a detour", () => {
		assert.deepEqual(circle(files), undefined);
	});

	it("only what Pi loads first is loaded lazily: index.ts and pi/extension.ts, and the optional package", () => {
		const lazy = files
			.filter((file) => !["index.ts", "pi/extension.ts"].includes(file.name))
			.flatMap((file) => file.imports.filter((each) => each.dynamic).map((each) => `${file.name}: ${each.from}`))
			.filter((each) => !/^peers\/sources\/mdns\.ts: bonjour-service$/.test(each));
		assert.deepEqual(lazy, []);
	});

	it("protocol is pure: no time, chance, process or I/O", () => {
		const impure =
			/\b(process|setTimeout|setInterval|setImmediate|queueMicrotask|globalThis|performance|crypto|Buffer|require)\b\s*[.(]|\bDate\.now|new Date\(\)|Math\.random/;
		const wrong = files
			.filter((file) => file.part === "protocol")
			.flatMap((file) => {
				const code = file.text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, "");
				const match = impure.exec(code);
				return match ? [`${file.name}: ${match[0]}`] : [];
			});
		assert.deepEqual(wrong, []);
	});

	it("no file is longer than 300 lines", () => {
		assert.deepEqual(
			files.filter((file) => file.lines > 300).map((file) => `${file.name}: ${file.lines}`),
			[],
		);
	});

	for (const what of ["any", "non-null assertion", "module-level let", "empty catch", "fetch", "@ts-ignore"] as const)
		it(`no ${what}`, () => assert.deepEqual(offenders(what), []));

	it("console belongs to cli and pi/ui.ts", () => {
		assert.deepEqual(
			offenders("console", (file) => file.part === "cli" || file.name === "pi/ui.ts"),
			[],
		);
	});

	it("ids are cast in protocol/types.ts only", () => {
		assert.deepEqual(
			offenders("cast to an id", (file) => file.name === "protocol/types.ts"),
			[],
		);
	});

	it("nothing that types cannot be stripped from, and nothing that Pi's loader lacks", () => {
		assert.deepEqual(offenders("enum, namespace or parameter property"), []);
		assert.deepEqual(offenders("import.meta.dirname"), []);
	});

	describe("finds what it looks for", () => {
		const offences = (name: string, text: string) => {
			const file = read(name, text);
			return file.imports.filter((each) => offence(file, each) !== undefined).map((each) => each.from);
		};

		it("imports against the direction, as values, as types, re-exported and at run time", () => {
			for (const [name, text, wrong] of [
				["protocol/x.ts", 'import { a } from "../lib/text.ts"', true],
				["protocol/x.ts", 'import "node:fs"', true],
				["lib/x.ts", 'import type { Task } from "../protocol/types.ts"', false],
				["lib/x.ts", 'import { ERRORS } from "../protocol/errors.ts"', true],
				["config/x.ts", 'import { type Task } from "../protocol/types.ts"', false],
				["config/x.ts", 'import { type Task, taskId } from "../protocol/types.ts"', true],
				["config/x.ts", 'export { taskId } from "../protocol/types.ts"', true],
				["tasks/x.ts", 'import { KEYS } from "../config/keys.ts"', true],
				["tasks/x.ts", 'let x: import("../config/keys.ts").Config', true],
				["guard/x.ts", 'import { randomBytes } from "node:crypto"', false],
				["guard/x.ts", 'import { readFile } from "node:fs/promises"', true],
				["bindings/http/x.ts", 'import { a } from "../mailbox/box.ts"', true],
				["bindings/http/x.ts", 'import { a } from "./fetch.ts"', false],
				["bindings/gateway/x.ts", 'import { a } from "../http/fetch.ts"', false],
				["bindings/gateway/x.ts", 'import { a } from "../http/gate.ts"', true],
				["pi/x.ts", 'import type { Runner } from "../agent/runner.ts"', false],
				["pi/x.ts", 'import { run } from "../agent/run.ts"', true],
				["pi/x.ts", 'import { Type } from "@sinclair/typebox"', false],
				["app.ts", 'import { a } from "./pi/host.ts"', true],
				["peers/x.ts", 'import { a } from "@mariozechner/pi-coding-agent"', true],
				["peers/x.ts", 'await import("../app.ts")', true],
				["peers/x.ts", 'import a from "ws"', true],
				["peers/x.ts", 'import { a } from "./y.js"', true],
				["peers/x.ts", 'import { a } from "../../test/x.ts"', true],
			] as const)
				assert.equal(offences(name, text).length, wrong ? 1 : 0, `${name}: ${text}`);
		});

		it("each forbidden thing", () => {
			for (const [what, text] of [
				["any", "const x = y as any"],
				["non-null assertion", "const x = y!"],
				["module-level let", "let x = 1"],
				["console", 'console.log("x")'],
				["fetch", 'await fetch("x")'],
				["empty catch", "try { a() } catch { /* best effort */ }"],
				["cast to an id", "const x = y as TaskId"],
				["@ts-ignore", "// @ts-ignore\nx()"],
				["import.meta.dirname", "const x = import.meta.dirname"],
				["enum, namespace or parameter property", "class A { constructor(readonly a: number) {} }"],
			] as const)
				assert.equal(read("lib/x.ts", text).found[what].length, 1, what);
			const fine = read("lib/x.ts", "const any = 1; function f() { let x = a.fetch(any); return x != y }\n");
			assert.deepEqual(Object.values(fine.found).flat(), []);
		});

		it("circles", () => {
			const a = read("lib/a.ts", 'import { b } from "./b.ts"');
			const types = read("lib/b.ts", 'import type { A } from "./a.ts"');
			const values = read("lib/b.ts", 'import { a } from "./a.ts"');
			assert.equal(circle([a, types]), undefined);
			assert.deepEqual(circle([a, values]), ["lib/a.ts", "lib/b.ts", "lib/a.ts"]);
		});
	});
});
